// SPDX-License-Identifier: BSD-3-Clause
// The GPU runtimes that the process has loaded: whose memory an address is, and copies out of it and into it.
// Nothing is loaded or initialized here. Most processes have none, and pay one look at a variable for it; a
// process may load one whenever it likes, which the preloaded library tells (src/preload/loads.S).
#pragma once

#include <atomic>
#include <cstddef>

namespace unisono::adapter {

class Gpu {
 public:
  enum class Kind : unsigned char { cuda, rocm, level_zero };

  explicit Gpu(Kind kind) : kind_(kind) {}
  virtual ~Gpu() = default;
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  Kind kind() const { return kind_; }
  // Has this process made use of a GPU?
  virtual bool is_used() = 0;
  // Is it memory that the host cannot read? Not so of managed memory, and of the host's own that is
  // registered.
  virtual bool holds(const void* address) = 0;
  // Both come back when all is copied. False where the runtime refuses.
  virtual bool copy_to_host(void* host, const void* device, std::size_t bytes) = 0;
  virtual bool copy_to_device(void* device, const void* host, std::size_t bytes) = 0;

 private:
  Kind kind_;
};

// Not 0: a library was loaded since the last look, or a GPU runtime is there. The preloaded library writes it
// as well.
extern std::atomic<unsigned char> is_gpu_to_be_looked_for;

// True where the process has loaded a GPU runtime.
bool look_for_gpus();
inline bool has_gpus() {
  return is_gpu_to_be_looked_for.load(std::memory_order_relaxed) != 0 && look_for_gpus();
}

// Whose memory it is; null: the host can read it.
Gpu* gpu_of(const void* address);

// Does this process use GPUs, and the MPI take their memory?
bool are_gpus_known_to_host();

}  // namespace unisono::adapter
