// SPDX-License-Identifier: BSD-3-Clause
// The wrappers of the operations on uneven blocks. Of an intercommunicator the arrays are as long as the
// other group is large: nothing is read of them here.
#include <vector>

#include "host/mpi/collectives.h"
#include "host/mpi/wrapper.h"

namespace unisono::host::mpi {
namespace {

bool is_type(MPI_Datatype type) {
  return type != MPI_DATATYPE_NULL && widen<std::uintptr_t>(type) != 0;
}

template <class Count>
runtime::BlockArguments one_block(const void* buffer, Count count, MPI_Datatype type) {
  runtime::BlockArguments blocks;
  blocks.buffer = const_cast<void*>(buffer);
  blocks.count = static_cast<std::size_t>(count);
  blocks.type = widen<Datatype>(type);
  return blocks;
}

template <class Count>
runtime::BlockArguments all_blocks(const void* buffer, const Count* counts, const Displacement<Count>* places,
                                   MPI_Datatype type) {
  static_assert(sizeof(Displacement<Count>) == sizeof(Count) && (sizeof(Count) == 4 || sizeof(Count) == 8));
  runtime::BlockArguments blocks;
  blocks.buffer = const_cast<void*>(buffer);
  blocks.counts = counts;
  blocks.displacements = places;
  blocks.are_large = sizeof(Count) == 8;
  blocks.type = widen<Datatype>(type);
  return blocks;
}

// A null array or type breaks MPI's rules.
template <class Count>
bool are_valid(const void* buffer, const Count* counts, const Displacement<Count>* places) {
  return buffer != MPI_IN_PLACE && counts != nullptr && places != nullptr;
}

bool is_same_buffer(const void* in, const void* out) {
  return is_rejected_alias(in, out, 1);
}

}  // namespace

template <class Count>
int allgatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts,
               const Displacement<Count>* places, MPI_Datatype out_type, MPI_Comm comm) {
  const auto native_call = [&] {
    if constexpr (std::is_same_v<Count, int>) {
      return pmpi.Allgatherv(in, in_count, in_type, out, counts, places, out_type, comm);
    } else {
      return large::allgatherv(in, in_count, in_type, out, counts, places, out_type, comm);
    }
  };
  if (!is_taking() || !is_communicator(comm)) return native_call();
  runtime::Call call = make_call(Operation::allgatherv, comm);
  call.is_in_place = in == MPI_IN_PLACE;
  if (!are_valid(out, counts, places) || !is_type(out_type) ||
      (!call.is_in_place && (!is_valid(in, in_count, in_type) || is_same_buffer(in, out)))) {
    return native_call();
  }
  if (!call.is_in_place) call.send_blocks = one_block(in, in_count, in_type);
  call.recv_blocks = all_blocks(out, counts, places, out_type);
  return run(call, native_call);
}

template <class Count>
int gatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts,
            const Displacement<Count>* places, MPI_Datatype out_type, int root, MPI_Comm comm) {
  const auto native_call = [&] {
    if constexpr (std::is_same_v<Count, int>) {
      return pmpi.Gatherv(in, in_count, in_type, out, counts, places, out_type, root, comm);
    } else {
      return large::gatherv(in, in_count, in_type, out, counts, places, out_type, root, comm);
    }
  };
  if (!is_taking() || !is_communicator(comm)) return native_call();
  const Root at(comm, root);
  runtime::Call call = make_call(Operation::gatherv, comm);
  call.is_in_place = at.is_here && in == MPI_IN_PLACE;
  if (!at.is_valid || (!call.is_in_place && !is_valid(in, in_count, in_type)) ||
      (at.is_here && (!are_valid(out, counts, places) || !is_type(out_type) || is_same_buffer(in, out)))) {
    return native_call();
  }
  call.root = root;
  if (!call.is_in_place) call.send_blocks = one_block(in, in_count, in_type);
  if (at.is_here) call.recv_blocks = all_blocks(out, counts, places, out_type);
  return run(call, native_call);
}

template <class Count>
int scatterv(const void* in, const Count* counts, const Displacement<Count>* places, MPI_Datatype in_type,
             void* out, Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm) {
  const auto native_call = [&] {
    if constexpr (std::is_same_v<Count, int>) {
      return pmpi.Scatterv(in, counts, places, in_type, out, out_count, out_type, root, comm);
    } else {
      return large::scatterv(in, counts, places, in_type, out, out_count, out_type, root, comm);
    }
  };
  if (!is_taking() || !is_communicator(comm)) return native_call();
  const Root at(comm, root);
  runtime::Call call = make_call(Operation::scatterv, comm);
  call.is_in_place = at.is_here && out == MPI_IN_PLACE;
  if (!at.is_valid || (!call.is_in_place && !is_valid(out, out_count, out_type)) ||
      (at.is_here && (!are_valid(in, counts, places) || !is_type(in_type) || is_same_buffer(in, out)))) {
    return native_call();
  }
  call.root = root;
  if (at.is_here) call.send_blocks = all_blocks(in, counts, places, in_type);
  if (!call.is_in_place) call.recv_blocks = one_block(out, out_count, out_type);
  return run(call, native_call);
}

template <class Count>
int alltoallv(const void* in, const Count* in_counts, const Displacement<Count>* in_places,
              MPI_Datatype in_type, void* out, const Count* out_counts, const Displacement<Count>* out_places,
              MPI_Datatype out_type, MPI_Comm comm) {
  const auto native_call = [&] {
    if constexpr (std::is_same_v<Count, int>) {
      return pmpi.Alltoallv(in, in_counts, in_places, in_type, out, out_counts, out_places, out_type, comm);
    } else {
      return large::alltoallv(in, in_counts, in_places, in_type, out, out_counts, out_places, out_type, comm);
    }
  };
  if (!is_taking() || !is_communicator(comm)) return native_call();
  runtime::Call call = make_call(Operation::alltoallv, comm);
  call.is_in_place = in == MPI_IN_PLACE;
  if (!are_valid(out, out_counts, out_places) || !is_type(out_type) ||
      (!call.is_in_place &&
       (!are_valid(in, in_counts, in_places) || !is_type(in_type) || is_same_buffer(in, out)))) {
    return native_call();
  }
  if (!call.is_in_place) call.send_blocks = all_blocks(in, in_counts, in_places, in_type);
  call.recv_blocks = all_blocks(out, out_counts, out_places, out_type);
  return run(call, native_call);
}

template <class Count>
int alltoallw(const void* in, const Count* in_counts, const Displacement<Count>* in_places,
              const MPI_Datatype* in_types, void* out, const Count* out_counts,
              const Displacement<Count>* out_places, const MPI_Datatype* out_types, MPI_Comm comm) {
  const auto native_call = [&] {
    if constexpr (std::is_same_v<Count, int>) {
      return pmpi.Alltoallw(in, in_counts, in_places, in_types, out, out_counts, out_places, out_types, comm);
    } else {
      return large::alltoallw(in, in_counts, in_places, in_types, out, out_counts, out_places, out_types,
                              comm);
    }
  };
  Place place{};
  int is_inter = 0;
  if (!is_taking() || !is_communicator(comm) || !find_place(comm, &place) ||
      pmpi.Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter != 0) {
    return native_call();
  }
  runtime::Call call = make_call(Operation::alltoallw, comm);
  call.is_in_place = in == MPI_IN_PLACE;
  if (!are_valid(out, out_counts, out_places) || out_types == nullptr ||
      (!call.is_in_place &&
       (!are_valid(in, in_counts, in_places) || in_types == nullptr || is_same_buffer(in, out)))) {
    return native_call();
  }
  const auto size = static_cast<std::size_t>(place.size);
  std::vector<Datatype> types(2 * size);
  for (std::size_t i = 0; i < size; ++i) {
    if (!call.is_in_place) types[i] = widen<Datatype>(in_types[i]);
    types[size + i] = widen<Datatype>(out_types[i]);
  }
  if (!call.is_in_place) {
    call.send_blocks = all_blocks(in, in_counts, in_places, MPI_BYTE);
    call.send_blocks.types = types.data();
  }
  call.recv_blocks = all_blocks(out, out_counts, out_places, MPI_BYTE);
  call.recv_blocks.types = types.data() + size;
  return run(call, native_call);
}

template <class Count>
int reduce_scatter(const void* in, void* out, const Count* counts, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm) {
  const auto native_call = [&] {
    if constexpr (std::is_same_v<Count, int>) {
      return pmpi.Reduce_scatter(in, out, counts, type, op, comm);
    } else {
      return large::reduce_scatter(in, out, counts, type, op, comm);
    }
  };
  Place place{};
  int is_inter = 0;
  if (!is_taking() || !is_communicator(comm) || !find_place(comm, &place) ||
      pmpi.Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter != 0) {
    return native_call();
  }
  runtime::Call call = make_call(Operation::reduce_scatter, comm);
  call.is_in_place = in == MPI_IN_PLACE || (in == out && !rejects_aliases);
  if (out == MPI_IN_PLACE || counts == nullptr || !is_type(type) || !is_operator(op) ||
      (!call.is_in_place && is_same_buffer(in, out))) {
    return native_call();
  }
  call.op = widen<Op>(op);
  call.send_blocks = all_blocks<Count>(in, counts, nullptr, type);
  call.recv_blocks = one_block(out, counts[place.rank], type);
  return run(call, native_call);
}

#define UNISONO_INSTANTIATE(Count)                                                                          \
  template int allgatherv<Count>(const void*, Count, MPI_Datatype, void*, const Count*,                     \
                                 const Displacement<Count>*, MPI_Datatype, MPI_Comm);                       \
  template int gatherv<Count>(const void*, Count, MPI_Datatype, void*, const Count*,                        \
                              const Displacement<Count>*, MPI_Datatype, int, MPI_Comm);                     \
  template int scatterv<Count>(const void*, const Count*, const Displacement<Count>*, MPI_Datatype, void*,  \
                               Count, MPI_Datatype, int, MPI_Comm);                                         \
  template int alltoallv<Count>(const void*, const Count*, const Displacement<Count>*, MPI_Datatype, void*, \
                                const Count*, const Displacement<Count>*, MPI_Datatype, MPI_Comm);          \
  template int alltoallw<Count>(const void*, const Count*, const Displacement<Count>*, const MPI_Datatype*, \
                                void*, const Count*, const Displacement<Count>*, const MPI_Datatype*,       \
                                MPI_Comm);                                                                  \
  template int reduce_scatter<Count>(const void*, void*, const Count*, MPI_Datatype, MPI_Op, MPI_Comm);
UNISONO_INSTANTIATE(int)
UNISONO_INSTANTIATE(MPI_Count)

}  // namespace unisono::host::mpi
