// SPDX-License-Identifier: BSD-3-Clause
// NVIDIA's: by the driver's library, which the runtime library loads too, however a program is linked.
#include <dlfcn.h>

#include <cstdint>
#include <vector>

#include "adapter/below/gpu_runtimes.h"
#include "base/mutex.h"

namespace unisono::adapter {
namespace {

// As the driver's interface numbers them.
using Result = int;
using Context = void*;
using Address = unsigned long long;
constexpr Result success = 0;
enum Attribute : int { context = 1, memory_type = 2, is_managed = 8, device_ordinal = 9 };
constexpr unsigned type_of_device = 2;

struct Functions {
  Result (*pointer_get_attributes)(unsigned, Attribute*, void**, Address) = nullptr;
  Result (*copy_to_host)(void*, Address, std::size_t) = nullptr;
  Result (*copy_to_device)(Address, const void*, std::size_t) = nullptr;
  Result (*stream_synchronize)(void*) = nullptr;
  Result (*push)(Context) = nullptr;
  Result (*pop)(Context*) = nullptr;
  Result (*get_current)(Context*) = nullptr;
  Result (*get_count)(int*) = nullptr;
  Result (*primary_state)(int, unsigned*, int*) = nullptr;
  Result (*primary_retain)(Context*, int) = nullptr;
};

struct Pointer {
  Context context = nullptr;
  unsigned type = 0;
  unsigned is_managed = 0;
  int device = -1;
};

class Cuda final : public Gpu {
 public:
  explicit Cuda(const Functions& functions) : Gpu(Kind::cuda), call_(functions) {}

  // What an MPI does with the driver makes no context.
  bool is_used() override {
    Context current = nullptr;
    if (call_.get_current(&current) == success && current != nullptr) return true;
    int devices = 0;
    if (call_.get_count(&devices) != success) return false;
    for (int device = 0; device < devices; ++device) {
      unsigned flags = 0;
      int is_active = 0;
      if (call_.primary_state(device, &flags, &is_active) == success && is_active != 0) return true;
    }
    return false;
  }

  bool holds(const void* address) override {
    const Pointer found = look_at(address);
    return found.type == type_of_device && found.is_managed == 0;
  }

  bool copy_to_host(void* host, const void* device, std::size_t bytes) override {
    const Current current(*this, device);
    return current.is_set() && call_.copy_to_host(host, address_of(device), bytes) == success;
  }

  // What was copied may still be on its way when the copy returns.
  bool copy_to_device(void* device, const void* host, std::size_t bytes) override {
    const Current current(*this, device);
    return current.is_set() && call_.copy_to_device(address_of(device), host, bytes) == success &&
           call_.stream_synchronize(nullptr) == success;
  }

 private:
  static Address address_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

  Pointer look_at(const void* address) const {
    Pointer found;
    Attribute wanted[] = {context, memory_type, is_managed, device_ordinal};
    void* into[] = {&found.context, &found.type, &found.is_managed, &found.device};
    if (call_.pointer_get_attributes(4, wanted, into, address_of(address)) != success) return {};
    return found;
  }

  // The context in which the memory was made is this thread's for now: the thread that ends a call may have
  // none. Memory of a pool belongs to no context: then any of its device will do.
  class Current {
   public:
    Current(Cuda& cuda, const void* address) : cuda_(cuda) {
      const Pointer found = cuda.look_at(address);
      Context wanted = found.context != nullptr ? found.context : cuda.primary_of(found.device);
      is_set_ = wanted != nullptr && cuda.call_.push(wanted) == success;
    }
    ~Current() {
      Context popped = nullptr;
      if (is_set_) cuda_.call_.pop(&popped);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    bool is_set() const { return is_set_; }

   private:
    Cuda& cuda_;
    bool is_set_ = false;
  };

  // Kept until the process ends.
  Context primary_of(int device) {
    if (device < 0) return nullptr;
    const LockGuard lock(mutex_);
    if (primaries_.size() <= static_cast<std::size_t>(device))
      primaries_.resize(static_cast<std::size_t>(device) + 1);
    Context& primary = primaries_[static_cast<std::size_t>(device)];
    if (primary == nullptr && call_.primary_retain(&primary, device) != success) primary = nullptr;
    return primary;
  }

  Functions call_;
  Mutex mutex_;
  std::vector<Context> primaries_ UNISONO_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Gpu> find_cuda() {
  void* library = loaded_library("libcuda.so.1");
  if (library == nullptr) return nullptr;
  Functions found;
  const auto find = [library](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    return *function != nullptr;
  };
  const bool is_whole =
      find("cuPointerGetAttributes", &found.pointer_get_attributes) &&
      find("cuMemcpyDtoH_v2", &found.copy_to_host) && find("cuMemcpyHtoD_v2", &found.copy_to_device) &&
      find("cuStreamSynchronize", &found.stream_synchronize) && find("cuCtxPushCurrent_v2", &found.push) &&
      find("cuCtxPopCurrent_v2", &found.pop) && find("cuCtxGetCurrent", &found.get_current) &&
      find("cuDeviceGetCount", &found.get_count) &&
      find("cuDevicePrimaryCtxGetState", &found.primary_state) &&
      find("cuDevicePrimaryCtxRetain", &found.primary_retain);
  return is_whole ? std::make_unique<Cuda>(found) : nullptr;
}

}  // namespace unisono::adapter
