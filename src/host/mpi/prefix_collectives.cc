// SPDX-License-Identifier: BSD-3-Clause
// The wrappers of the reductions whose result is not the same everywhere: scans, and scattered reductions.
#include "host/mpi/collectives.h"
#include "host/mpi/wrapper.h"

namespace unisono::host::mpi {
namespace {

template <class Count>
struct Reduction {
  const void* in;
  void* out;
  Count count;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
};

// `has_result`: does this rank get any?
template <class Count, class Native>
int run_reduction(Operation operation, const Reduction<Count>& r, bool has_result, Native native_call) {
  runtime::Call call = make_call(operation, r.comm);
  call.is_in_place = r.in == MPI_IN_PLACE || (r.in == r.out && !rejects_aliases);
  if (!is_operator(r.op) || !is_valid(r.count, r.type)) return native_call();
  if (!call.is_in_place && !is_valid(r.in, r.count, r.type)) return native_call();
  if (!call.is_in_place && has_result && is_rejected_alias(r.in, r.out, r.count)) return native_call();
  if ((call.is_in_place || has_result) && !is_valid(static_cast<const void*>(r.out), r.count, r.type)) {
    return native_call();
  }
  call.op = widen<Op>(r.op);
  set_send(&call, call.is_in_place ? nullptr : r.in, r.count, r.type);
  if (call.is_in_place || has_result) call.recv_buffer = r.out;
  return run(call, native_call);
}

}  // namespace

template <class Count>
int reduce_scatter_block(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm) {
  const auto native_call = [&] {
    return by_count<Count>([&] { return pmpi.Reduce_scatter_block(in, out, count, type, op, comm); },
                           [&] { return large::reduce_scatter_block(in, out, count, type, op, comm); });
  };
  if (!is_taking() || !is_communicator(comm)) return native_call();
  return run_reduction<Count>(Operation::reduce_scatter_block, {in, out, count, type, op, comm}, true,
                              native_call);
}

template <class Count>
int scan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const auto native_call = [&] {
    return by_count<Count>([&] { return pmpi.Scan(in, out, count, type, op, comm); },
                           [&] { return large::scan(in, out, count, type, op, comm); });
  };
  if (!is_taking() || !is_communicator(comm)) return native_call();
  return run_reduction<Count>(Operation::scan, {in, out, count, type, op, comm}, true, native_call);
}

template <class Count>
int exscan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const auto native_call = [&] {
    return by_count<Count>([&] { return pmpi.Exscan(in, out, count, type, op, comm); },
                           [&] { return large::exscan(in, out, count, type, op, comm); });
  };
  Place place{};
  if (!is_taking() || !is_communicator(comm) || !find_place(comm, &place)) return native_call();
  return run_reduction<Count>(Operation::exscan, {in, out, count, type, op, comm}, place.rank > 0,
                              native_call);
}

#define UNISONO_INSTANTIATE(Count)                                                                     \
  template int reduce_scatter_block<Count>(const void*, void*, Count, MPI_Datatype, MPI_Op, MPI_Comm); \
  template int scan<Count>(const void*, void*, Count, MPI_Datatype, MPI_Op, MPI_Comm);                 \
  template int exscan<Count>(const void*, void*, Count, MPI_Datatype, MPI_Op, MPI_Comm);
UNISONO_INSTANTIATE(int)
UNISONO_INSTANTIATE(MPI_Count)

}  // namespace unisono::host::mpi
