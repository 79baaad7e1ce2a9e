// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/communicators/freeing.h"

#include <algorithm>
#include <vector>

namespace unisono::runtime {
namespace {

std::vector<Freeing>& all_of_this_thread() {
  thread_local std::vector<Freeing> all;
  return all;
}

}  // namespace

Freeing* find_freeing(host::Comm handle) {
  std::vector<Freeing>& all = all_of_this_thread();
  const auto found = std::ranges::find(all, handle, &Freeing::handle);
  return found == all.end() ? nullptr : &*found;
}

Freeing& freeing_of(host::Comm handle) {
  if (Freeing* found = find_freeing(handle)) return *found;
  return all_of_this_thread().emplace_back(Freeing{.handle = handle});
}

void forget_freeing(host::Comm handle) {
  std::erase_if(all_of_this_thread(), [&](const Freeing& entry) { return entry.handle == handle; });
}

}  // namespace unisono::runtime
