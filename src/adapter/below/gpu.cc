// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/below/gpu.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include "adapter/below/functions.h"
#include "adapter/below/gpu_runtimes.h"
#include "base/mutex.h"

namespace unisono::adapter {

constinit std::atomic<unsigned char> is_gpu_to_be_looked_for{1};

namespace {

// Another thread may be about to load what this one has just not found: some more looks follow each load.
constexpr int looks_after_a_load = 64;
// What the variable holds where there are some, and nothing was loaded since.
constexpr unsigned char gpus_are_known = 2;

constexpr std::size_t kinds = 3;
std::unique_ptr<Gpu> (*const finders[kinds])() = {find_cuda, find_rocm, find_level_zero};
// Filled once, and kept: a runtime that is found stays loaded.
std::atomic<Gpu*> gpus[kinds];

Mutex look_mutex;
unsigned long long loads_seen UNISONO_GUARDED_BY(look_mutex) = 0;
int looks_left UNISONO_GUARDED_BY(look_mutex) = looks_after_a_load;

// How many libraries the process has loaded in all.
unsigned long long loads() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        *static_cast<unsigned long long*>(into) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

bool has_any() {
  for (const auto& gpu : gpus) {
    if (gpu.load(std::memory_order_acquire) != nullptr) return true;
  }
  return false;
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) != "0" && *value != '\0';
}

// By what the MPI says of itself, or by the user's order to it. The program may have a function of the name.
bool is_known_to_host(Gpu::Kind kind) {
  using Query = int();
  const auto says_yes = [](const char* name) {
    auto* query = reinterpret_cast<Query*>(dlsym(RTLD_DEFAULT, name));
    if (query == nullptr) query = reinterpret_cast<Query*>(dlsym(pmpi.library, name));
    return query != nullptr && query() == 1;
  };
  if (is_set("MPICH_GPU_SUPPORT_ENABLED") || is_set("I_MPI_OFFLOAD")) return true;
  switch (kind) {
    case Gpu::Kind::cuda:
      return says_yes("MPIX_Query_cuda_support");
    case Gpu::Kind::rocm:
      return says_yes("MPIX_Query_rocm_support") || says_yes("MPIX_Query_hip_support");
    case Gpu::Kind::level_zero:
      return says_yes("MPIX_Query_ze_support");
  }
  return false;
}

}  // namespace

// Where nobody has loaded it dlopen would look for the file in all folders, which takes longer than this.
void* loaded_library(const char* name) {
  const std::string_view wanted = std::string_view(name).substr(0, std::string_view(name).find(".so"));
  const auto is_alike = [](dl_phdr_info* info, std::size_t, void* stem) {
    const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
    const std::string_view file = path.substr(path.rfind('/') + 1);
    return file.starts_with(*static_cast<const std::string_view*>(stem)) ? 1 : 0;
  };
  if (dl_iterate_phdr(is_alike, const_cast<std::string_view*>(&wanted)) == 0) return nullptr;
  return dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
}

// The variable is reset before the look: what is loaded meanwhile sets it again.
bool look_for_gpus() {
  if (is_gpu_to_be_looked_for.load(std::memory_order_relaxed) == gpus_are_known) return true;
  const LockGuard lock(look_mutex);
  is_gpu_to_be_looked_for.store(0, std::memory_order_seq_cst);
  const unsigned long long now = loads();
  if (now != loads_seen) {
    loads_seen = now;
    looks_left = looks_after_a_load;
    for (std::size_t i = 0; i < kinds; ++i) {
      if (gpus[i].load(std::memory_order_relaxed) == nullptr)
        gpus[i].store(finders[i]().release(), std::memory_order_release);
    }
  } else if (looks_left > 0) {
    --looks_left;
  }
  unsigned char nothing_new = 0;
  const unsigned char next = looks_left > 0 ? 1 : has_any() ? gpus_are_known : 0;
  is_gpu_to_be_looked_for.compare_exchange_strong(nothing_new, next);
  return has_any();
}

Gpu* gpu_of(const void* address) {
  for (const auto& entry : gpus) {
    Gpu* gpu = entry.load(std::memory_order_acquire);
    if (gpu != nullptr && gpu->holds(address)) return gpu;
  }
  return nullptr;
}

bool are_gpus_known_to_host() {
  if (!has_gpus()) return false;
  bool is_any_used = false;
  for (const auto& entry : gpus) {
    Gpu* gpu = entry.load(std::memory_order_acquire);
    if (gpu == nullptr || !gpu->is_used()) continue;
    if (!is_known_to_host(gpu->kind())) return false;
    is_any_used = true;
  }
  return is_any_used;
}

}  // namespace unisono::adapter
