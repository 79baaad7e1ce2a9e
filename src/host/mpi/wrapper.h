// SPDX-License-Identifier: BSD-3-Clause
// What all wrappers share. A wrapper looks whether its arguments are such that MPI's rules let the call go
// on, makes a runtime::Call of them, and calls the host where the runtime does not take it. Arguments that
// break a rule go to the host at once: its error handlers speak. The checks look only at what costs nothing;
// what else can be wrong (a freed communicator, an uncommitted type) the host finds when it is asked.
#pragma once

#include "base/clock.h"
#include "host/mpi/datatype.h"
#include "host/mpi/large.h"
#include "host/mpi/life.h"
#include "host/mpi/place.h"
#include "runtime/runtime.h"

namespace unisono::host::mpi {

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

inline bool is_communicator(MPI_Comm comm) {
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

inline bool is_operator(MPI_Op op) {
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

inline runtime::Call make_call(Operation operation, MPI_Comm comm) {
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

}  // namespace unisono::host::mpi
