// SPDX-License-Identifier: BSD-3-Clause
// Intel's: SYCL has no interface of C, but its memory is Level Zero's. Contexts of one driver know each
// other's memory.
#include <dlfcn.h>

#include <cstdint>
#include <map>
#include <type_traits>
#include <vector>

#include "adapter/below/gpu_runtimes.h"
#include "base/mutex.h"

namespace unisono::adapter {
namespace {

using Result = int;
using Handle = void*;
constexpr Result success = 0;
enum StructureType : int { context_description = 0xd, queue_description = 0xe, memory_properties = 0x17 };
constexpr int type_of_device = 2;
constexpr int is_synchronous = 1;

struct ContextDescription {
  int type = context_description;
  const void* next = nullptr;
  std::uint32_t flags = 0;
};
struct QueueDescription {
  int type = queue_description;
  const void* next = nullptr;
  std::uint32_t ordinal = 0, index = 0, flags = 0;
  int mode = is_synchronous;
  int priority = 0;
};
struct Properties {
  int type = memory_properties;
  void* next = nullptr;
  int memory_type = 0;
  std::uint64_t id = 0, page_bytes = 0;
};

struct Functions {
  Result (*get_drivers)(std::uint32_t*, Handle*) = nullptr;
  Result (*get_devices)(Handle, std::uint32_t*, Handle*) = nullptr;
  Result (*make_context)(Handle, const ContextDescription*, Handle*) = nullptr;
  Result (*get_properties)(Handle, const void*, Properties*, Handle*) = nullptr;
  Result (*make_list)(Handle, Handle, const QueueDescription*, Handle*) = nullptr;
  Result (*copy)(Handle, void*, const void*, std::size_t, Handle, std::uint32_t, Handle*) = nullptr;
};

class LevelZero final : public Gpu {
 public:
  explicit LevelZero(const Functions& functions) : Gpu(Kind::level_zero), call_(functions) {}

  bool is_used() override {
    const LockGuard lock(mutex_);
    return begin();
  }

  bool holds(const void* address) override {
    const LockGuard lock(mutex_);
    return find(address).device != nullptr;
  }

  bool copy_to_host(void* host, const void* device, std::size_t bytes) override {
    return copy(host, device, bytes, device);
  }
  bool copy_to_device(void* device, const void* host, std::size_t bytes) override {
    return copy(device, host, bytes, device);
  }

 private:
  struct Place {
    Handle context = nullptr, device = nullptr;
  };

  // As soon as the program has initialized it, which is not done for it.
  bool begin() UNISONO_REQUIRES(mutex_) {
    if (!contexts_.empty()) return true;
    std::uint32_t count = 0;
    if (call_.get_drivers(&count, nullptr) != success || count == 0) return false;
    std::vector<Handle> drivers(count);
    if (call_.get_drivers(&count, drivers.data()) != success) return false;
    for (Handle driver : drivers) {
      std::uint32_t devices = 0;
      if (call_.get_devices(driver, &devices, nullptr) != success || devices == 0) continue;
      const ContextDescription description;
      Handle context = nullptr;
      if (call_.make_context(driver, &description, &context) == success) contexts_.push_back(context);
    }
    return !contexts_.empty();
  }

  Place find(const void* address) UNISONO_REQUIRES(mutex_) {
    if (!begin()) return {};
    for (Handle context : contexts_) {
      Properties properties;
      Handle device = nullptr;
      if (call_.get_properties(context, address, &properties, &device) == success &&
          properties.memory_type == type_of_device)
        return {context, device};
    }
    return {};
  }

  // Lists serve one thread at a time. Kept until the process ends.
  bool copy(void* to, const void* from, std::size_t bytes, const void* device) {
    const LockGuard lock(mutex_);
    const Place place = find(device);
    if (place.device == nullptr) return false;
    Handle& list = lists_[place.device];
    const QueueDescription description;
    if (list == nullptr && call_.make_list(place.context, place.device, &description, &list) != success) {
      list = nullptr;
      return false;
    }
    return call_.copy(list, to, from, bytes, nullptr, 0, nullptr) == success;
  }

  Functions call_;
  Mutex mutex_;
  std::vector<Handle> contexts_ UNISONO_GUARDED_BY(mutex_);
  std::map<Handle, Handle> lists_ UNISONO_GUARDED_BY(mutex_);  // by device
};

}  // namespace

std::unique_ptr<Gpu> find_level_zero() {
  void* library = loaded_library("libze_loader.so.1");
  if (library == nullptr) return nullptr;
  Functions found;
  const auto find = [library](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    return *function != nullptr;
  };
  const bool is_whole = find("zeDriverGet", &found.get_drivers) && find("zeDeviceGet", &found.get_devices) &&
                        find("zeContextCreate", &found.make_context) &&
                        find("zeMemGetAllocProperties", &found.get_properties) &&
                        find("zeCommandListCreateImmediate", &found.make_list) &&
                        find("zeCommandListAppendMemoryCopy", &found.copy);
  return is_whole ? std::make_unique<LevelZero>(found) : nullptr;
}

}  // namespace unisono::adapter
