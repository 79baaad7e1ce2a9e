// SPDX-License-Identifier: BSD-3-Clause
// The wrappers of the operations on one vector, or on blocks of one length. wrapper.h says what a wrapper
// does.
#include "host/mpi/collectives.h"

#include "host/mpi/wrapper.h"

namespace unisono::host::mpi {

int barrier(MPI_Comm comm) {
  const auto native_call = [&] { return pmpi.Barrier(comm); };
  if (!is_taking() || !is_communicator(comm)) return native_call();
  return run(make_call(Operation::barrier, comm), native_call);
}

template <class Count>
int bcast(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  const auto native_call = [&] {
    return by_count<Count>([&] { return pmpi.Bcast(buffer, count, type, root, comm); },
                           [&] { return large::bcast(buffer, count, type, root, comm); });
  };
  if (!is_taking() || !is_communicator(comm) || !is_valid(buffer, count, type)) return native_call();
  if (!Root(comm, root).is_valid) return native_call();
  runtime::Call call = make_call(Operation::bcast, comm);
  call.root = root;
  set_send(&call, buffer, count, type);
  call.recv_buffer = buffer;
  return run(call, native_call);
}

template <class Count>
int reduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  const auto native_call = [&] {
    return by_count<Count>([&] { return pmpi.Reduce(in, out, count, type, op, root, comm); },
                           [&] { return large::reduce(in, out, count, type, op, root, comm); });
  };
  if (!is_taking() || !is_communicator(comm) || !is_valid(count, type) || !is_operator(op))
    return native_call();
  const Root at(comm, root);
  runtime::Call call = make_call(Operation::reduce, comm);
  call.is_in_place = at.is_here && (in == MPI_IN_PLACE || in == out);
  if (!at.is_valid || (!call.is_in_place && !is_valid(in, count, type)) ||
      (at.is_here && (!is_valid(out, count, type) || is_rejected_alias(in, out, count)))) {
    return native_call();
  }
  call.root = root;
  call.op = widen<Op>(op);
  set_send(&call, call.is_in_place ? nullptr : in, count, type);
  if (at.is_here) call.recv_buffer = out;
  return run(call, native_call);
}

template <class Count>
int allreduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const auto native_call = [&] {
    return by_count<Count>([&] { return pmpi.Allreduce(in, out, count, type, op, comm); },
                           [&] { return large::allreduce(in, out, count, type, op, comm); });
  };
  if (!is_taking() || !is_communicator(comm) || !is_operator(op) || !is_valid(out, count, type))
    return native_call();
  runtime::Call call = make_call(Operation::allreduce, comm);
  call.is_in_place = in == MPI_IN_PLACE || in == out;
  if ((!call.is_in_place && !is_valid(in, count, type)) || is_rejected_alias(in, out, count))
    return native_call();
  call.op = widen<Op>(op);
  set_send(&call, call.is_in_place ? nullptr : in, count, type);
  call.recv_buffer = out;
  return run(call, native_call);
}

template <class Count>
int gather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
           MPI_Datatype out_type, int root, MPI_Comm comm) {
  const auto native_call = [&] {
    return by_count<Count>(
        [&] { return pmpi.Gather(in, in_count, in_type, out, out_count, out_type, root, comm); },
        [&] { return large::gather(in, in_count, in_type, out, out_count, out_type, root, comm); });
  };
  if (!is_taking() || !is_communicator(comm)) return native_call();
  const Root at(comm, root);
  runtime::Call call = make_call(Operation::gather, comm);
  call.is_in_place = at.is_here && in == MPI_IN_PLACE;
  if (!at.is_valid || (!call.is_in_place && !is_valid(in, in_count, in_type)) ||
      (at.is_here && (!is_valid(out, out_count, out_type) || is_rejected_alias(in, out, out_count)))) {
    return native_call();
  }
  call.root = root;
  if (!call.is_in_place) set_send(&call, in, in_count, in_type);
  if (at.is_here) set_receive(&call, out, out_count, out_type);
  return run(call, native_call);
}

template <class Count>
int scatter(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
            MPI_Datatype out_type, int root, MPI_Comm comm) {
  const auto native_call = [&] {
    return by_count<Count>(
        [&] { return pmpi.Scatter(in, in_count, in_type, out, out_count, out_type, root, comm); },
        [&] { return large::scatter(in, in_count, in_type, out, out_count, out_type, root, comm); });
  };
  if (!is_taking() || !is_communicator(comm)) return native_call();
  const Root at(comm, root);
  runtime::Call call = make_call(Operation::scatter, comm);
  call.is_in_place = at.is_here && out == MPI_IN_PLACE;
  if (!at.is_valid || (!call.is_in_place && !is_valid(out, out_count, out_type)) ||
      (at.is_here && (!is_valid(in, in_count, in_type) || is_rejected_alias(in, out, in_count)))) {
    return native_call();
  }
  call.root = root;
  if (at.is_here) set_send(&call, in, in_count, in_type);
  if (!call.is_in_place) set_receive(&call, out, out_count, out_type);
  return run(call, native_call);
}

template <class Count>
int allgather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
              MPI_Datatype out_type, MPI_Comm comm) {
  const auto native_call = [&] {
    return by_count<Count>(
        [&] { return pmpi.Allgather(in, in_count, in_type, out, out_count, out_type, comm); },
        [&] { return large::allgather(in, in_count, in_type, out, out_count, out_type, comm); });
  };
  if (!is_taking() || !is_communicator(comm) || !is_valid(out, out_count, out_type)) return native_call();
  runtime::Call call = make_call(Operation::allgather, comm);
  call.is_in_place = in == MPI_IN_PLACE;
  if ((!call.is_in_place && !is_valid(in, in_count, in_type)) || is_rejected_alias(in, out, out_count)) {
    return native_call();
  }
  if (!call.is_in_place) set_send(&call, in, in_count, in_type);
  set_receive(&call, out, out_count, out_type);
  return run(call, native_call);
}

template <class Count>
int alltoall(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
             MPI_Datatype out_type, MPI_Comm comm) {
  const auto native_call = [&] {
    return by_count<Count>(
        [&] { return pmpi.Alltoall(in, in_count, in_type, out, out_count, out_type, comm); },
        [&] { return large::alltoall(in, in_count, in_type, out, out_count, out_type, comm); });
  };
  if (!is_taking() || !is_communicator(comm) || !is_valid(out, out_count, out_type)) return native_call();
  runtime::Call call = make_call(Operation::alltoall, comm);
  call.is_in_place = in == MPI_IN_PLACE;
  if ((!call.is_in_place && !is_valid(in, in_count, in_type)) || is_rejected_alias(in, out, out_count)) {
    return native_call();
  }
  if (!call.is_in_place) set_send(&call, in, in_count, in_type);
  set_receive(&call, out, out_count, out_type);
  return run(call, native_call);
}

#define UNISONO_INSTANTIATE(Count)                                                                          \
  template int bcast<Count>(void*, Count, MPI_Datatype, int, MPI_Comm);                                     \
  template int reduce<Count>(const void*, void*, Count, MPI_Datatype, MPI_Op, int, MPI_Comm);               \
  template int allreduce<Count>(const void*, void*, Count, MPI_Datatype, MPI_Op, MPI_Comm);                 \
  template int gather<Count>(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, int, MPI_Comm);  \
  template int scatter<Count>(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, int, MPI_Comm); \
  template int allgather<Count>(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, MPI_Comm);    \
  template int alltoall<Count>(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, MPI_Comm);
UNISONO_INSTANTIATE(int)
UNISONO_INSTANTIATE(MPI_Count)

}  // namespace unisono::host::mpi
