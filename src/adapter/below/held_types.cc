// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/below/held_types.h"

#include <atomic>
#include <map>

#include "adapter/below/datatype.h"
#include "adapter/below/type_envelope.h"
#include "base/mutex.h"

namespace unisono::adapter {
namespace {

struct Held {
  int calls = 0;
  int frees = 0;  // by the program: as many as it has references, each of which looks alike in some hosts
};

Mutex mutex;
std::atomic<int> held_count{0};
std::map<std::uintptr_t, Held>& held_types() UNISONO_REQUIRES(mutex) {
  static auto* types = new std::map<std::uintptr_t, Held>;
  return *types;
}

// May the program free it? If not the host says so.
bool may_be_freed(MPI_Datatype type) {
  Lengths lengths;
  int combiner = MPI_COMBINER_NAMED;
  return get_envelope(type, &lengths, &combiner) == MPI_SUCCESS && !is_built_in(combiner);
}

}  // namespace

void HeldTypes::hold(MPI_Datatype type) {
  const auto handle = widen<std::uintptr_t>(type);
  if (handle == 0 || type == MPI_DATATYPE_NULL || is_predefined(type)) return;
  const LockGuard lock(mutex);
  ++held_types()[handle].calls;
  held_count.store(static_cast<int>(held_types().size()), std::memory_order_release);
  types_.push_back(type);
}

void HeldTypes::release() {
  while (!types_.empty()) {
    MPI_Datatype type = types_.back();
    types_.pop_back();
    int frees = 0;
    {
      const LockGuard lock(mutex);
      const auto found = held_types().find(widen<std::uintptr_t>(type));
      if (--found->second.calls != 0) continue;
      frees = found->second.frees;
      held_types().erase(found);
      held_count.store(static_cast<int>(held_types().size()), std::memory_order_release);
    }
    for (; frees > 0; --frees) {
      MPI_Datatype freed = type;
      end_type(&freed);
    }
  }
}

int type_free(MPI_Datatype* type) {
  if (held_count.load(std::memory_order_acquire) == 0 || type == nullptr) return end_type(type);
  const auto handle = widen<std::uintptr_t>(*type);
  const auto is_held = [handle] {
    const LockGuard lock(mutex);
    return held_types().contains(handle);
  };
  const auto leave_to_calls = [handle] {
    const LockGuard lock(mutex);
    const auto found = held_types().find(handle);
    if (found == held_types().end()) return false;
    ++found->second.frees;
    return true;
  };
  if (!is_held() || !may_be_freed(*type) || !leave_to_calls()) return end_type(type);
  *type = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

}  // namespace unisono::adapter
