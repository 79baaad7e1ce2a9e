// SPDX-License-Identifier: BSD-3-Clause
// The wrappers of the reductions whose result is not the same everywhere: scans, and scattered reductions.
#include "adapter/collectives/collectives.h"
#include "adapter/collectives/wrapper.h"

namespace unisono::adapter {
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

// Small ones are often left to the host, and take little longer than what finds that out.
template <class Count, class... Tail, class Native>
int run_reduction(Form<Tail...>* form, Operation operation, const Reduction<Count>& r, Native native) {
  if constexpr (sizeof...(Tail) == 0) {
    const runtime::Reduced reduced{static_cast<std::size_t>(r.count), widen<host::Datatype>(r.type),
                                   widen<host::Op>(r.op)};
    if (is_left(operation, r.comm, &reduced)) return run_left(native);
  }
  Place place{};
  const bool is_exscan = operation == Operation::exscan;
  if (!is_taking() || !is_communicator(r.comm) || (is_exscan && !find_place(r.comm, &place)))
    return form->leave(native);
  const bool has_result = !is_exscan || place.rank > 0;
  runtime::Call call = make_call(operation, r.comm);
  call.is_in_place = r.in == MPI_IN_PLACE || (r.in == r.out && !rejects_aliases);
  if (!is_operator(r.op) || !is_valid(r.count, r.type)) return form->leave(native);
  if (!call.is_in_place && !is_valid(r.in, r.count, r.type)) return form->leave(native);
  if (!call.is_in_place && is_rejected_alias(r.in, r.out, r.count)) return form->leave(native);
  if ((call.is_in_place || has_result) && !is_valid(static_cast<const void*>(r.out), r.count, r.type)) {
    return form->leave(native);
  }
  call.op = widen<host::Op>(r.op);
  set_send(&call, call.is_in_place ? nullptr : r.in, r.count, r.type);
  if (call.is_in_place || has_result) call.recv_buffer = r.out;
  return form->run(call, native);
}

}  // namespace

template <class Count, class... Tail>
int reduce_scatter_block(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                         Tail... tail) {
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.reduce_scatter_block,
                     CallSite{Operation::reduce_scatter_block, comm}, tail...);
  type = form.hold(type);
  const auto host_comm = form.host_comm(comm);
  const auto native = UNISONO_HOST_CALL(reduce_scatter_block, in, out, count, type, op, host_comm.now());
  return run_reduction<Count>(&form, Operation::reduce_scatter_block, {in, out, count, type, op, comm},
                              native);
}

template <class Count, class... Tail>
int scan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, Tail... tail) {
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.scan, CallSite{Operation::scan, comm}, tail...);
  type = form.hold(type);
  const auto host_comm = form.host_comm(comm);
  const auto native = UNISONO_HOST_CALL(scan, in, out, count, type, op, host_comm.now());
  return run_reduction<Count>(&form, Operation::scan, {in, out, count, type, op, comm}, native);
}

template <class Count, class... Tail>
int exscan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
           Tail... tail) {
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.exscan, CallSite{Operation::exscan, comm}, tail...);
  type = form.hold(type);
  const auto host_comm = form.host_comm(comm);
  const auto native = UNISONO_HOST_CALL(exscan, in, out, count, type, op, host_comm.now());
  return run_reduction<Count>(&form, Operation::exscan, {in, out, count, type, op, comm}, native);
}

#define UNISONO_INSTANTIATE_FORM(Count, ...)                                                \
  template int reduce_scatter_block<Count>(const void*, void*, Count, MPI_Datatype, MPI_Op, \
                                           MPI_Comm __VA_OPT__(, ) __VA_ARGS__);            \
  template int scan<Count>(const void*, void*, Count, MPI_Datatype, MPI_Op,                 \
                           MPI_Comm __VA_OPT__(, ) __VA_ARGS__);                            \
  template int exscan<Count>(const void*, void*, Count, MPI_Datatype, MPI_Op,               \
                             MPI_Comm __VA_OPT__(, ) __VA_ARGS__);
UNISONO_INSTANTIATE(int)
UNISONO_INSTANTIATE(MPI_Count)
#undef UNISONO_INSTANTIATE_FORM

}  // namespace unisono::adapter
