// SPDX-License-Identifier: BSD-3-Clause
// A wrapper looks whether its arguments are such that MPI's rules let the call go on, makes a runtime::Call
// of them, and calls the host where the runtime does not take it. Arguments that break a rule go to the host
// at once: its error handlers speak. The checks look only at what costs nothing; what else can be wrong (a
// freed communicator, an uncommitted type) the host finds when it is asked.
#include "host/mpi/collectives.h"

#include "base/clock.h"
#include "host/mpi/datatype.h"
#include "host/mpi/large.h"
#include "host/mpi/life.h"
#include "host/mpi/place.h"
#include "runtime/runtime.h"

namespace unisono::host::mpi {
namespace {

template <class Native>
int run_timed(const runtime::Call& call, Native native_call) {
  const double before_s = now_s();
  const int result = native_call();
  runtime::native_finished(call, now_s() - before_s);
  return result;
}

template <class Native>
int run(const runtime::Call& call, Native native_call) {
  const Nested nested;
  int result = MPI_SUCCESS;
  switch (runtime::collective(call, &result)) {
    case runtime::Outcome::done:
      return result;
    case runtime::Outcome::native_timed:
      return run_timed(call, native_call);
    case runtime::Outcome::native:
      break;
  }
  return native_call();
}

// --- What MPI's rules say of the arguments ---

bool is_communicator(MPI_Comm comm) {
  return comm != MPI_COMM_NULL && widen<std::uintptr_t>(comm) != 0;
}

template <class Count>
bool is_valid(Count count, MPI_Datatype type) {
  return count >= 0 && type != MPI_DATATYPE_NULL && widen<std::uintptr_t>(type) != 0;
}

// A null buffer is MPI_BOTTOM, which only derived types with absolute addresses can use.
template <class Count>
bool is_valid(const void* buffer, Count count, MPI_Datatype type) {
  return is_valid(count, type) && buffer != MPI_IN_PLACE &&
         (buffer != nullptr || count == 0 || !is_predefined(type));
}

bool is_operator(MPI_Op op) {
  return op != MPI_OP_NULL && widen<std::uintptr_t>(op) != 0;
}

// This process and `root`: whether root is a rank of `comm`, and whether it is us. (Of an intercommunicator's
// roots some fail, others pass; either way the host serves the call.)
struct Root {
  Root(MPI_Comm comm, int root) {
    Place place{};
    if (!find_place(comm, &place)) return;
    is_valid = root >= 0 && root < place.size;
    is_here = root == place.rank;
  }
  bool is_valid = false;
  bool is_here = false;
};

// Equal send and receive buffers: an error to some hosts. Where the host computes, it is what the program
// meant by in place. Absolute addresses share MPI_BOTTOM without being equal.
template <class Count>
bool is_rejected_alias(const void* in, const void* out, Count count) {
  return rejects_aliases && in == out && in != MPI_BOTTOM && count > 0;
}

runtime::Call make_call(Operation operation, MPI_Comm comm) {
  runtime::Call call;
  call.operation = operation;
  call.comm = widen<Comm>(comm);
  return call;
}

template <class Count>
void set_send(runtime::Call* call, const void* buffer, Count count, MPI_Datatype type) {
  call->send_buffer = buffer;
  call->send_count = static_cast<std::size_t>(count);
  call->send_type = widen<Datatype>(type);
}

template <class Count>
void set_receive(runtime::Call* call, void* buffer, Count count, MPI_Datatype type) {
  call->recv_buffer = buffer;
  call->recv_count = static_cast<std::size_t>(count);
  call->recv_type = widen<Datatype>(type);
}

// Picks the host's function for the variant the program called.
template <class Count, class Small, class Large>
int by_count(Small small, Large with_large_counts) {
  if constexpr (std::is_same_v<Count, int>) {
    return small();
  } else {
    return with_large_counts();
  }
}

}  // namespace

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
