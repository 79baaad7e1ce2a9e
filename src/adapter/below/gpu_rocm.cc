// SPDX-License-Identifier: BSD-3-Clause
// AMD's: by the HIP runtime.
#include <dlfcn.h>

#include <type_traits>

#include "adapter/below/gpu_runtimes.h"

namespace unisono::adapter {
namespace {

using Result = int;
constexpr Result success = 0;
enum CopyKind : int { host_to_device = 1, device_to_host = 2 };
// The numbers of memory's types changed with this version.
constexpr int version_of_new_types = 60'000'000;

// The same in all versions so far, but for what comes behind.
struct Attributes {
  int type = 0;
  int device = 0;
  void* device_pointer = nullptr;
  void* host_pointer = nullptr;
  int is_managed = 0;
  unsigned flags = 0;
  unsigned char room_for_later_versions[64] = {};
};

struct Functions {
  Result (*pointer_get_attributes)(Attributes*, const void*) = nullptr;
  Result (*copy)(void*, const void*, std::size_t, CopyKind) = nullptr;
  Result (*stream_synchronize)(void*) = nullptr;
  Result (*get_version)(int*) = nullptr;
  Result (*get_count)(int*) = nullptr;
  Result (*primary_state)(int, unsigned*, int*) = nullptr;  // null: this version has it no more
  Result (*peek_error)() = nullptr;
  Result (*take_error)() = nullptr;
};

class Rocm final : public Gpu {
 public:
  explicit Rocm(const Functions& functions) : Gpu(Kind::rocm), call_(functions) {
    int version = 0;
    const bool has_new_types =
        call_.get_version(&version) != success || version >= version_of_new_types || version == 0;
    type_of_device_ = has_new_types ? 2 : 1;
  }

  bool is_used() override {
    int devices = 0;
    if (call_.get_count(&devices) != success) return false;
    if (call_.primary_state == nullptr) return devices > 0;
    for (int device = 0; device < devices; ++device) {
      unsigned flags = 0;
      int is_active = 0;
      if (call_.primary_state(device, &flags, &is_active) == success && is_active != 0) return true;
    }
    return false;
  }

  // The runtime remembers as an error that it does not know an address: the program must not find that one.
  bool holds(const void* address) override {
    const bool had_error = call_.peek_error() != success;
    Attributes found;
    if (call_.pointer_get_attributes(&found, address) != success) {
      if (!had_error) call_.take_error();
      return false;
    }
    return found.type == type_of_device_ && found.is_managed == 0;
  }

  bool copy_to_host(void* host, const void* device, std::size_t bytes) override {
    return call_.copy(host, device, bytes, device_to_host) == success;
  }

  bool copy_to_device(void* device, const void* host, std::size_t bytes) override {
    return call_.copy(device, host, bytes, host_to_device) == success &&
           call_.stream_synchronize(nullptr) == success;
  }

 private:
  Functions call_;
  int type_of_device_;
};

}  // namespace

std::unique_ptr<Gpu> find_rocm() {
  void* library = nullptr;
  for (const char* name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so.4"}) {
    library = loaded_library(name);
    if (library != nullptr) break;
  }
  if (library == nullptr) return nullptr;
  Functions found;
  const auto find = [library](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    return *function != nullptr;
  };
  const bool is_whole =
      find("hipPointerGetAttributes", &found.pointer_get_attributes) && find("hipMemcpy", &found.copy) &&
      find("hipStreamSynchronize", &found.stream_synchronize) &&
      find("hipRuntimeGetVersion", &found.get_version) && find("hipGetDeviceCount", &found.get_count) &&
      find("hipPeekAtLastError", &found.peek_error) && find("hipGetLastError", &found.take_error);
  find("hipDevicePrimaryCtxGetState", &found.primary_state);
  return is_whole ? std::make_unique<Rocm>(found) : nullptr;
}

}  // namespace unisono::adapter
