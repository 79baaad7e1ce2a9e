// SPDX-License-Identifier: BSD-3-Clause
// The wrappers of the operations on one vector, or on blocks of one length. wrapper.h says what a wrapper
// does.
#include "adapter/collectives/collectives.h"

#include "adapter/collectives/wrapper.h"

namespace unisono::adapter {

template <class... Tail>
int barrier(MPI_Comm comm, Tail... tail) {
  Form<Tail...> form(std::type_identity<int>{}, pmpi.barrier, CallSite{Operation::barrier, comm}, tail...);
  const auto host_comm = form.host_comm(comm);
  const auto native = [=](auto... more) {
    return host_function<int>(pmpi.barrier, comm, more...)(host_comm.now(), more...);
  };
  if (!is_taking() || !is_communicator(comm)) return form.leave(native);
  return form.run(make_call(Operation::barrier, comm), native);
}

template <class Count, class... Tail>
int bcast(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm, Tail... tail) {
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.bcast, CallSite{Operation::bcast, comm}, tail...);
  type = form.hold(type);
  const auto host_comm = form.host_comm(comm);
  const auto native = UNISONO_HOST_CALL(bcast, buffer, count, type, root, host_comm.now());
  if (!is_taking() || !is_communicator(comm) || !is_valid(count, type)) return form.leave(native);
  const Root at(comm, root);
  if (!at.is_valid) return form.leave(native);
  runtime::Call call = make_call(Operation::bcast, comm);
  call.root = root;
  set_send(&call, buffer, count, type);
  call.recv_buffer = buffer;
  if (!is_valid(buffer, count, type)) {
    if (!at.is_here) take_part<Tail...>(call, 1, count, type);
    return form.leave(native);
  }
  return form.run(call, native);
}

template <class Count, class... Tail>
int reduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
           Tail... tail) {
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.reduce, CallSite{Operation::reduce, comm}, tail...);
  type = form.hold(type);
  const auto host_comm = form.host_comm(comm);
  const auto native = UNISONO_HOST_CALL(reduce, in, out, count, type, op, root, host_comm.now());
  if (!is_taking() || !is_communicator(comm) || !is_valid(count, type) || !is_operator(op))
    return form.leave(native);
  const Root at(comm, root);
  runtime::Call call = make_call(Operation::reduce, comm);
  call.is_in_place = at.is_here && in == MPI_IN_PLACE;
  if (!at.is_valid || (!call.is_in_place && !is_valid(in, count, type))) return form.leave(native);
  call.root = root;
  call.op = widen<host::Op>(op);
  set_send(&call, call.is_in_place ? nullptr : in, count, type);
  if (at.is_here && (!is_valid(out, count, type) || is_rejected_alias(in, out, count, true))) {
    if (!call.is_in_place) take_part<Tail...>(call, 1, count, type);
    return form.leave(native);
  }
  if (at.is_here) call.recv_buffer = out;
  return form.run(call, native);
}

template <class Count, class... Tail>
int allreduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              Tail... tail) {
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.allreduce, CallSite{Operation::allreduce, comm},
                     tail...);
  type = form.hold(type);
  const auto host_comm = form.host_comm(comm);
  const auto native = UNISONO_HOST_CALL(allreduce, in, out, count, type, op, host_comm.now());
  if (!is_taking() || !is_communicator(comm) || !is_operator(op) || !is_valid(out, count, type))
    return form.leave(native);
  runtime::Call call = make_call(Operation::allreduce, comm);
  call.is_in_place = in == MPI_IN_PLACE;
  if ((!call.is_in_place && !is_valid(in, count, type)) || is_rejected_alias(in, out, count, true))
    return form.leave(native);
  call.op = widen<host::Op>(op);
  set_send(&call, call.is_in_place ? nullptr : in, count, type);
  call.recv_buffer = out;
  return form.run(call, native);
}

template <class Count, class... Tail>
int gather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
           MPI_Datatype out_type, int root, MPI_Comm comm, Tail... tail) {
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.gather, CallSite{Operation::gather, comm}, tail...);
  const MPI_Datatype given_in = in_type, given_out = out_type;
  in_type = form.hold(in_type, [=] { return in != MPI_IN_PLACE; });
  out_type = form.hold(out_type, [=] { return is_root_here(comm, root); });
  const auto host_comm = form.host_comm(comm);
  const auto native =
      UNISONO_HOST_CALL(gather, in, in_count, in_type, out, out_count, out_type, root, host_comm.now());
  if (!is_taking() || !is_communicator(comm)) return form.leave(native);
  const Root at(comm, root);
  runtime::Call call = make_call(Operation::gather, comm);
  call.is_in_place = at.is_here && in == MPI_IN_PLACE;
  if (!at.is_valid) return form.leave(native);
  call.root = root;
  if (!call.is_in_place && !is_valid(in, in_count, in_type)) {
    set_send(&call, nullptr, out_count, out_type);
    set_receive(&call, nullptr, out_count, out_type);
    if (at.is_here) take_part<Tail...>(call, at.size, out_count, out_type);
    return form.leave(native);
  }
  if (!call.is_in_place) set_send(&call, in, in_count, in_type);
  if (at.is_here &&
      (!is_valid(out, out_count, out_type) ||
       (!call.is_in_place && is_rejected_block(in, in_count, given_in, out, out_count, given_out, root)))) {
    set_receive(&call, nullptr, in_count, in_type);
    if (!call.is_in_place) take_part<Tail...>(call, at.size, in_count, in_type);
    return form.leave(native);
  }
  if (at.is_here) set_receive(&call, out, out_count, out_type);
  return form.run(call, native);
}

template <class Count, class... Tail>
int scatter(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
            MPI_Datatype out_type, int root, MPI_Comm comm, Tail... tail) {
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.scatter, CallSite{Operation::scatter, comm}, tail...);
  const MPI_Datatype given_in = in_type, given_out = out_type;
  in_type = form.hold(in_type, [=] { return is_root_here(comm, root); });
  out_type = form.hold(out_type, [=] { return out != MPI_IN_PLACE; });
  const auto host_comm = form.host_comm(comm);
  const auto native =
      UNISONO_HOST_CALL(scatter, in, in_count, in_type, out, out_count, out_type, root, host_comm.now());
  if (!is_taking() || !is_communicator(comm)) return form.leave(native);
  const Root at(comm, root);
  runtime::Call call = make_call(Operation::scatter, comm);
  call.is_in_place = at.is_here && out == MPI_IN_PLACE;
  if (!at.is_valid || (at.is_here && (!is_valid(in, in_count, in_type) ||
                                      (!call.is_in_place && is_rejected_block(out, out_count, given_out, in,
                                                                              in_count, given_in, root))))) {
    return form.leave(native);
  }
  call.root = root;
  if (at.is_here) set_send(&call, in, in_count, in_type);
  if (!call.is_in_place) set_receive(&call, out, out_count, out_type);
  if (!call.is_in_place && !is_valid(out, out_count, out_type)) {
    if (!at.is_here) take_part<Tail...>(call, 1, out_count, out_type);
    return form.leave(native);
  }
  return form.run(call, native);
}

template <class Count, class... Tail>
int allgather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
              MPI_Datatype out_type, MPI_Comm comm, Tail... tail) {
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.allgather, CallSite{Operation::allgather, comm},
                     tail...);
  const bool is_one_type = in_type == out_type;
  in_type = form.hold(in_type, [=] { return in != MPI_IN_PLACE; });
  out_type = form.hold(out_type);
  const auto host_comm = form.host_comm(comm);
  const auto native =
      UNISONO_HOST_CALL(allgather, in, in_count, in_type, out, out_count, out_type, host_comm.now());
  if (!is_taking() || !is_communicator(comm) || !is_valid(out, out_count, out_type))
    return form.leave(native);
  runtime::Call call = make_call(Operation::allgather, comm);
  call.is_in_place = in == MPI_IN_PLACE;
  if (!call.is_in_place &&
      (!is_valid(in, in_count, in_type) ||
       (is_one_type && is_rejected_block_of(comm, in, in_count, out, out_count, out_type)))) {
    return form.leave(native);
  }
  if (!call.is_in_place) set_send(&call, in, in_count, in_type);
  set_receive(&call, out, out_count, out_type);
  return form.run(call, native);
}

template <class Count, class... Tail>
int alltoall(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
             MPI_Datatype out_type, MPI_Comm comm, Tail... tail) {
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.alltoall, CallSite{Operation::alltoall, comm},
                     tail...);
  const bool is_one_type = in_type == out_type;
  in_type = form.hold(in_type, [=] { return in != MPI_IN_PLACE; });
  out_type = form.hold(out_type);
  const auto host_comm = form.host_comm(comm);
  const auto native =
      UNISONO_HOST_CALL(alltoall, in, in_count, in_type, out, out_count, out_type, host_comm.now());
  if (!is_taking() || !is_communicator(comm) || !is_valid(out, out_count, out_type))
    return form.leave(native);
  runtime::Call call = make_call(Operation::alltoall, comm);
  call.is_in_place = in == MPI_IN_PLACE;
  if (!call.is_in_place && (!is_valid(in, in_count, in_type) || (is_one_type && in_count == out_count &&
                                                                 is_rejected_alias(in, out, out_count)))) {
    return form.leave(native);
  }
  if (!call.is_in_place) set_send(&call, in, in_count, in_type);
  set_receive(&call, out, out_count, out_type);
  return form.run(call, native);
}

#define UNISONO_INSTANTIATE_FORM(Count, ...)                                                       \
  template int bcast<Count>(void*, Count, MPI_Datatype, int, MPI_Comm __VA_OPT__(, ) __VA_ARGS__); \
  template int reduce<Count>(const void*, void*, Count, MPI_Datatype, MPI_Op, int,                 \
                             MPI_Comm __VA_OPT__(, ) __VA_ARGS__);                                 \
  template int allreduce<Count>(const void*, void*, Count, MPI_Datatype, MPI_Op,                   \
                                MPI_Comm __VA_OPT__(, ) __VA_ARGS__);                              \
  template int gather<Count>(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, int,    \
                             MPI_Comm __VA_OPT__(, ) __VA_ARGS__);                                 \
  template int scatter<Count>(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, int,   \
                              MPI_Comm __VA_OPT__(, ) __VA_ARGS__);                                \
  template int allgather<Count>(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype,      \
                                MPI_Comm __VA_OPT__(, ) __VA_ARGS__);                              \
  template int alltoall<Count>(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype,       \
                               MPI_Comm __VA_OPT__(, ) __VA_ARGS__);
template int barrier(MPI_Comm);
template int barrier(MPI_Comm, MPI_Request*);
template int barrier(MPI_Comm, MPI_Info, MPI_Request*);
UNISONO_INSTANTIATE(int)
UNISONO_INSTANTIATE(MPI_Count)
#undef UNISONO_INSTANTIATE_FORM

}  // namespace unisono::adapter
