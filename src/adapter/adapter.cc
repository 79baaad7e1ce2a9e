// SPDX-License-Identifier: BSD-3-Clause
// The adapter's one export: the table of wrappers that the preloaded library jumps through.
#include "adapter/below/datatype.h"
#include "adapter/below/functions.h"
#include "adapter/below/gpu.h"
#include "adapter/below/held_types.h"
#include "adapter/below/hints.h"
#include "adapter/collectives/collectives.h"
#include "adapter/communicator_calls.h"
#include "adapter/control.h"
#include "adapter/life.h"
#include "adapter/messages/message_calls.h"
#include "adapter/profile/call_profile.h"
#include "adapter/recording/recording.h"
#include "adapter/requests/requests.h"
#include "adapter/spawn.h"
#include "adapter/windows.h"
#include "base/mutex.h"
#include "preload/adapter_library.h"
#include "runtime/profile_exchange.h"

namespace unisono::adapter {
namespace {

template <class Function>
UnisonoFunction erase(Function* function) {
  return reinterpret_cast<UnisonoFunction>(function);
}

// What makes communicators.
void add_makers(UnisonoFunction* functions) {
  functions[unisono_slot_Comm_idup_with_info] = erase(comm_idup_with_info);
  functions[unisono_slot_Comm_create] = erase(comm_create);
  functions[unisono_slot_Comm_create_group] = erase(comm_create_group);
  functions[unisono_slot_Comm_split] = erase(comm_split);
  functions[unisono_slot_Comm_split_type] = erase(comm_split_type);
  functions[unisono_slot_Cart_create] = erase(cart_create);
  functions[unisono_slot_Cart_sub] = erase(cart_sub);
  functions[unisono_slot_Graph_create] = erase(graph_create);
  functions[unisono_slot_Dist_graph_create] = erase(dist_graph_create);
  functions[unisono_slot_Dist_graph_create_adjacent] = erase(dist_graph_create_adjacent);
  functions[unisono_slot_Intercomm_create] = erase(intercomm_create);
  functions[unisono_slot_Intercomm_merge] = erase(intercomm_merge);
  functions[unisono_slot_Comm_create_from_group] = erase(comm_create_from_group);
  functions[unisono_slot_Intercomm_create_from_groups] = erase(intercomm_create_from_groups);
  functions[unisono_slot_Comm_spawn] = erase(comm_spawn);
  functions[unisono_slot_Comm_spawn_multiple] = erase(comm_spawn_multiple);
}

// What starts and completes requests.
void add_requests(UnisonoFunction* functions) {
  functions[unisono_slot_Start] = erase(start);
  functions[unisono_slot_Startall] = erase(startall);
  functions[unisono_slot_Wait] = erase(wait);
  functions[unisono_slot_Waitall] = erase(waitall);
  functions[unisono_slot_Waitany] = erase(waitany);
  functions[unisono_slot_Waitsome] = erase(waitsome);
  functions[unisono_slot_Test] = erase(test);
  functions[unisono_slot_Testall] = erase(testall);
  functions[unisono_slot_Testany] = erase(testany);
  functions[unisono_slot_Testsome] = erase(testsome);
  functions[unisono_slot_Request_get_status] = erase(request_get_status);
  functions[unisono_slot_Request_get_status_any] = erase(request_get_status_any);
  functions[unisono_slot_Request_get_status_all] = erase(request_get_status_all);
  functions[unisono_slot_Request_get_status_some] = erase(request_get_status_some);
  functions[unisono_slot_Request_free] = erase(request_free);
  functions[unisono_slot_Cancel] = erase(cancel);
}

UnisonoAdapter make_adapter() {
  UnisonoAdapter adapter{};
  adapter.version = UNISONO_VERSION;
  adapter.slot_count = unisono_slot_count;
  adapter.set_enabled = set_enabled;
  adapter.is_active = is_active;
  adapter.set_algorithm = set_algorithm;
  adapter.decision = decision;
  adapter.decision_on = decision_on;
  adapter.distance = distance;
  adapter.operation_time = operation_time;
  adapter.region_begin = region_begin;
  adapter.region_end = region_end;
  adapter.has_loaded = reinterpret_cast<unsigned char*>(&is_gpu_to_be_looked_for);
  adapter.has_loaded_too = reinterpret_cast<unsigned char*>(&profile::has_loaded);
  UnisonoFunction* functions = adapter.functions;
  functions[unisono_slot_Init] = erase(init);
  functions[unisono_slot_Init_thread] = erase(init_thread);
  functions[unisono_slot_Finalize] = erase(finalize);
  functions[unisono_slot_Barrier] = erase(barrier<>);
  functions[unisono_slot_Ibarrier] = erase(barrier<MPI_Request*>);
  functions[unisono_slot_Barrier_init] = erase(barrier<MPI_Info, MPI_Request*>);
#define UNISONO_FORMS(Name, name)                                                   \
  functions[unisono_slot_##Name] = erase(name<int>);                                \
  functions[unisono_slot_I##name] = erase(name<int, MPI_Request*>);                 \
  functions[unisono_slot_##Name##_init] = erase(name<int, MPI_Info, MPI_Request*>); \
  functions[unisono_slot_##Name##_c] = erase(name<MPI_Count>);                      \
  functions[unisono_slot_I##name##_c] = erase(name<MPI_Count, MPI_Request*>);       \
  functions[unisono_slot_##Name##_init_c] = erase(name<MPI_Count, MPI_Info, MPI_Request*>);
  UNISONO_COLLECTIVES_WITH_COUNTS(UNISONO_FORMS)
#undef UNISONO_FORMS
  add_requests(functions);
  functions[unisono_slot_Win_test] = erase(win_test);
  functions[unisono_slot_Comm_free] = erase(comm_free);
  functions[unisono_slot_Comm_disconnect] = erase(comm_disconnect);
  functions[unisono_slot_Op_free] = erase(op_free);
  functions[unisono_slot_Type_free] = erase(type_free);
  functions[unisono_slot_Comm_set_info] = erase(comm_set_info);
  functions[unisono_slot_Comm_dup_with_info] = erase(comm_dup_with_info);
  functions[unisono_slot_Pcontrol] = erase(pcontrol);
  functions[unisono_slot_Comm_dup] = erase(comm_dup);
  add_makers(functions);
  return adapter;
}

}  // namespace
}  // namespace unisono::adapter

extern "C" __attribute__((visibility("default"))) const UnisonoAdapter* unisono_open_adapter(
    void* mpi_library, char* problem, std::size_t problem_bytes) {
  using namespace unisono::adapter;
  static unisono::Mutex mutex;
  static bool is_loaded UNISONO_GUARDED_BY(mutex) = false;
  static UnisonoAdapter adapter UNISONO_GUARDED_BY(mutex) = make_adapter();
  const unisono::LockGuard lock(mutex);
  if (!is_loaded) {
    if (!load_functions(mpi_library, problem, problem_bytes)) return nullptr;
    load_predefined();
    messages::add_wrappers(adapter.functions, start_both);
    if (recording::is_wanted()) recording::begin(adapter.functions);
    if (unisono::runtime::is_profile_wanted()) profile::begin(adapter.functions);
    is_loaded = true;
  }
  return &adapter;
}
