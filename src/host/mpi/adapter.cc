// SPDX-License-Identifier: BSD-3-Clause
// The adapter's one export: the table of wrappers that the preloaded library jumps through.
#include "entry/adapter.h"

#include <mutex>

#include "host/mpi/collectives.h"
#include "host/mpi/datatype.h"
#include "host/mpi/functions.h"
#include "host/mpi/life.h"

namespace unisono::host::mpi {
namespace {

template <class Function>
UnisonoFunction erase(Function* function) {
  return reinterpret_cast<UnisonoFunction>(function);
}

UnisonoAdapter make_adapter() {
  UnisonoAdapter adapter{};
  adapter.version = UNISONO_VERSION;
  adapter.slot_count = unisono_slot_count;
  adapter.set_enabled = set_enabled;
  adapter.is_active = is_active;
  UnisonoFunction* functions = adapter.functions;
  functions[unisono_slot_Init] = erase(init);
  functions[unisono_slot_Init_thread] = erase(init_thread);
  functions[unisono_slot_Finalize] = erase(finalize);
  functions[unisono_slot_Barrier] = erase(barrier);
  functions[unisono_slot_Bcast] = erase(bcast<int>);
  functions[unisono_slot_Reduce] = erase(reduce<int>);
  functions[unisono_slot_Allreduce] = erase(allreduce<int>);
  functions[unisono_slot_Gather] = erase(gather<int>);
  functions[unisono_slot_Scatter] = erase(scatter<int>);
  functions[unisono_slot_Allgather] = erase(allgather<int>);
  functions[unisono_slot_Alltoall] = erase(alltoall<int>);
  functions[unisono_slot_Reduce_scatter_block] = erase(reduce_scatter_block<int>);
  functions[unisono_slot_Scan] = erase(scan<int>);
  functions[unisono_slot_Exscan] = erase(exscan<int>);
  functions[unisono_slot_Allgatherv] = erase(allgatherv<int>);
  functions[unisono_slot_Reduce_scatter] = erase(reduce_scatter<int>);
  functions[unisono_slot_Alltoallv] = erase(alltoallv<int>);
  functions[unisono_slot_Alltoallw] = erase(alltoallw<int>);
  functions[unisono_slot_Gatherv] = erase(gatherv<int>);
  functions[unisono_slot_Scatterv] = erase(scatterv<int>);
  functions[unisono_slot_Bcast_c] = erase(bcast<MPI_Count>);
  functions[unisono_slot_Reduce_c] = erase(reduce<MPI_Count>);
  functions[unisono_slot_Allreduce_c] = erase(allreduce<MPI_Count>);
  functions[unisono_slot_Gather_c] = erase(gather<MPI_Count>);
  functions[unisono_slot_Scatter_c] = erase(scatter<MPI_Count>);
  functions[unisono_slot_Allgather_c] = erase(allgather<MPI_Count>);
  functions[unisono_slot_Alltoall_c] = erase(alltoall<MPI_Count>);
  functions[unisono_slot_Reduce_scatter_block_c] = erase(reduce_scatter_block<MPI_Count>);
  functions[unisono_slot_Scan_c] = erase(scan<MPI_Count>);
  functions[unisono_slot_Exscan_c] = erase(exscan<MPI_Count>);
  functions[unisono_slot_Allgatherv_c] = erase(allgatherv<MPI_Count>);
  functions[unisono_slot_Reduce_scatter_c] = erase(reduce_scatter<MPI_Count>);
  functions[unisono_slot_Alltoallv_c] = erase(alltoallv<MPI_Count>);
  functions[unisono_slot_Alltoallw_c] = erase(alltoallw<MPI_Count>);
  functions[unisono_slot_Gatherv_c] = erase(gatherv<MPI_Count>);
  functions[unisono_slot_Scatterv_c] = erase(scatterv<MPI_Count>);
  return adapter;
}

}  // namespace
}  // namespace unisono::host::mpi

extern "C" __attribute__((visibility("default"))) const UnisonoAdapter* unisono_open_adapter(
    void* mpi_library, char* problem, std::size_t problem_bytes) {
  using namespace unisono::host::mpi;
  static std::mutex mutex;
  static bool is_loaded = false;
  static const UnisonoAdapter adapter = make_adapter();
  const std::lock_guard<std::mutex> lock(mutex);
  if (!is_loaded) {
    if (!load_functions(mpi_library, problem, problem_bytes)) return nullptr;
    load_predefined();
    is_loaded = true;
  }
  return &adapter;
}
