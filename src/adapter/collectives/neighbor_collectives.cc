// SPDX-License-Identifier: BSD-3-Clause
// The wrappers of the collectives with the neighbours on a topology. They have no MPI_IN_PLACE. Arrays are as
// long as the process has neighbours, and may be null where it has none: language bindings and empty vectors
// give such. A program that finds the other persistent collectives believes that it may call these (mpi4py
// does), so there is a stand-in where the host has none.

#include "adapter/below/neighbors.h"
#include "adapter/collectives/block_arguments.h"
#include "adapter/collectives/collectives.h"
#include "adapter/collectives/wrapper.h"
#include "base/inline_array.h"

namespace unisono::adapter {
namespace {

// An error that is returned has been told to the communicator's error handler. Where the host has a function
// to call now, errors are left to that.
template <class AnyForm>
int find_neighbors(MPI_Comm comm, const AnyForm& form, NeighborCounts* neighbors) {
  if (!is_taking() && !form.is_holding()) return MPI_SUCCESS;
  if (!is_communicator(comm) && form.has_host_call()) return MPI_SUCCESS;
  const int error = count_neighbors(comm, neighbors);
  if (error != MPI_SUCCESS || neighbors->has_topology || form.has_host_call()) return error;
  // Without a topology the host complains here. (MPICH returns no error where a handler of the program's
  // has seen it.)
  int dimensions = 0;
  const int complaint = pmpi.Cartdim_get(comm, &dimensions);
  return complaint == MPI_SUCCESS ? MPI_ERR_TOPOLOGY : complaint;
}

// Blocks of one size, `blocks` of them: none need a place.
template <class Count>
bool set_even(runtime::BlockArguments* to, const void* buffer, Count count, MPI_Datatype type, int blocks) {
  if (buffer == MPI_IN_PLACE || !is_valid(count, type)) return false;
  const bool is_nowhere = buffer == nullptr && count != 0 && !may_be_at_bottom(type);
  if (is_nowhere && blocks != 0) return false;
  *to = one_block(buffer, is_nowhere ? Count{0} : count, type);
  return true;
}

template <class Count>
bool set_uneven(runtime::BlockArguments* to, const void* buffer, const Count* counts,
                const Displacement<Count>* places, MPI_Datatype type, int blocks) {
  if (buffer == MPI_IN_PLACE || !is_type(type)) return false;
  if (blocks != 0 && !are_valid(buffer, counts, places)) return false;
  *to = all_blocks(buffer, counts, places, type);
  return true;
}

// What a call of alltoallw gives for both sides, of one width: counts as wide as displacements. Blocks of the
// other side stand behind those of the first one.
class TypedBlocks {
 public:
  explicit TypedBlocks(int blocks)
      : counts_(static_cast<std::size_t>(blocks)), types_(static_cast<std::size_t>(blocks)) {}

  template <class Count>
  bool read(const void* buffer, const Count* given, const MPI_Aint* places, const MPI_Datatype* given_types,
            int blocks) {
    if (buffer == MPI_IN_PLACE) return false;
    if (blocks == 0) return true;
    if (given == nullptr || places == nullptr || given_types == nullptr) return false;
    for (int i = 0; i < blocks; ++i) {
      counts_[read_] = given[i];
      types_[read_++] = widen<host::Datatype>(given_types[i]);
    }
    return true;
  }
  const MPI_Count* counts() const { return counts_.data(); }
  const host::Datatype* types() const { return types_.data(); }
  std::size_t size() const { return types_.size(); }

 private:
  // As many as a stencil in three dimensions has.
  static constexpr std::size_t most_inline = 54;
  InlineArray<MPI_Count, most_inline> counts_;
  InlineArray<host::Datatype, most_inline> types_;
  std::size_t read_ = 0;
};

}  // namespace

template <class Count, class... Tail>
int neighbor_allgather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
                       MPI_Datatype out_type, MPI_Comm comm, Tail... tail) {
  constexpr Operation operation = Operation::neighbor_allgather;
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.neighbor_allgather, CallSite{operation, comm},
                     tail...);
  if (is_left<Tail...>(operation, comm))
    return run_left(
        UNISONO_HOST_CALL(neighbor_allgather, in, in_count, in_type, out, out_count, out_type, comm),
        tail...);
  NeighborCounts neighbors;
  if (const int error = find_neighbors(comm, form, &neighbors); error != MPI_SUCCESS) return error;
  in_type = form.hold(in_type);
  out_type = form.hold(out_type);
  const auto host_comm = form.host_comm(comm);
  const auto native =
      UNISONO_HOST_CALL(neighbor_allgather, in, in_count, in_type, out, out_count, out_type, host_comm.now());
  if (!is_taking() || !neighbors.has_topology) return form.leave(native);
  runtime::Call call = make_call(operation, comm);
  if (!set_even(&call.send_blocks, in, in_count, in_type, neighbors.out) ||
      !set_even(&call.recv_blocks, out, out_count, out_type, neighbors.in))
    return form.leave(native);
  return form.run(call, native);
}

template <class Count, class... Tail>
int neighbor_allgatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts,
                        const Displacement<Count>* places, MPI_Datatype out_type, MPI_Comm comm,
                        Tail... tail) {
  constexpr Operation operation = Operation::neighbor_allgatherv;
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.neighbor_allgatherv, CallSite{operation, comm},
                     tail...);
  if (is_left<Tail...>(operation, comm))
    return run_left(
        UNISONO_HOST_CALL(neighbor_allgatherv, in, in_count, in_type, out, counts, places, out_type, comm),
        tail...);
  NeighborCounts neighbors;
  if (const int error = find_neighbors(comm, form, &neighbors); error != MPI_SUCCESS) return error;
  in_type = form.hold(in_type);
  out_type = form.hold(out_type);
  counts = form.hold_array(counts, neighbors.in);
  places = form.hold_array(places, neighbors.in);
  const auto host_comm = form.host_comm(comm);
  const auto native = UNISONO_HOST_CALL(neighbor_allgatherv, in, in_count, in_type, out, counts, places,
                                        out_type, host_comm.now());
  if (!is_taking() || !neighbors.has_topology) return form.leave(native);
  runtime::Call call = make_call(operation, comm);
  if (!set_even(&call.send_blocks, in, in_count, in_type, neighbors.out) ||
      !set_uneven(&call.recv_blocks, out, counts, places, out_type, neighbors.in))
    return form.leave(native);
  return form.run(call, native);
}

template <class Count, class... Tail>
int neighbor_alltoall(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
                      MPI_Datatype out_type, MPI_Comm comm, Tail... tail) {
  constexpr Operation operation = Operation::neighbor_alltoall;
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.neighbor_alltoall, CallSite{operation, comm}, tail...);
  if (is_left<Tail...>(operation, comm))
    return run_left(
        UNISONO_HOST_CALL(neighbor_alltoall, in, in_count, in_type, out, out_count, out_type, comm), tail...);
  NeighborCounts neighbors;
  if (const int error = find_neighbors(comm, form, &neighbors); error != MPI_SUCCESS) return error;
  in_type = form.hold(in_type);
  out_type = form.hold(out_type);
  const auto host_comm = form.host_comm(comm);
  const auto native =
      UNISONO_HOST_CALL(neighbor_alltoall, in, in_count, in_type, out, out_count, out_type, host_comm.now());
  if (!is_taking() || !neighbors.has_topology) return form.leave(native);
  runtime::Call call = make_call(operation, comm);
  if (!set_even(&call.send_blocks, in, in_count, in_type, neighbors.out) ||
      !set_even(&call.recv_blocks, out, out_count, out_type, neighbors.in))
    return form.leave(native);
  return form.run(call, native);
}

template <class Count, class... Tail>
int neighbor_alltoallv(const void* in, const Count* in_counts, const Displacement<Count>* in_places,
                       MPI_Datatype in_type, void* out, const Count* out_counts,
                       const Displacement<Count>* out_places, MPI_Datatype out_type, MPI_Comm comm,
                       Tail... tail) {
  constexpr Operation operation = Operation::neighbor_alltoallv;
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.neighbor_alltoallv, CallSite{operation, comm},
                     tail...);
  if (is_left<Tail...>(operation, comm))
    return run_left(UNISONO_HOST_CALL(neighbor_alltoallv, in, in_counts, in_places, in_type, out, out_counts,
                                      out_places, out_type, comm),
                    tail...);
  NeighborCounts neighbors;
  if (const int error = find_neighbors(comm, form, &neighbors); error != MPI_SUCCESS) return error;
  in_type = form.hold(in_type);
  out_type = form.hold(out_type);
  in_counts = form.hold_array(in_counts, neighbors.out);
  in_places = form.hold_array(in_places, neighbors.out);
  out_counts = form.hold_array(out_counts, neighbors.in);
  out_places = form.hold_array(out_places, neighbors.in);
  const auto host_comm = form.host_comm(comm);
  const auto native = UNISONO_HOST_CALL(neighbor_alltoallv, in, in_counts, in_places, in_type, out,
                                        out_counts, out_places, out_type, host_comm.now());
  if (!is_taking() || !neighbors.has_topology) return form.leave(native);
  runtime::Call call = make_call(operation, comm);
  if (!set_uneven(&call.send_blocks, in, in_counts, in_places, in_type, neighbors.out) ||
      !set_uneven(&call.recv_blocks, out, out_counts, out_places, out_type, neighbors.in))
    return form.leave(native);
  return form.run(call, native);
}

template <class Count, class... Tail>
int neighbor_alltoallw(const void* in, const Count* in_counts, const MPI_Aint* in_places,
                       const MPI_Datatype* in_types, void* out, const Count* out_counts,
                       const MPI_Aint* out_places, const MPI_Datatype* out_types, MPI_Comm comm,
                       Tail... tail) {
  constexpr Operation operation = Operation::neighbor_alltoallw;
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.neighbor_alltoallw, CallSite{operation, comm},
                     tail...);
  if (is_left<Tail...>(operation, comm))
    return run_left(UNISONO_HOST_CALL(neighbor_alltoallw, in, in_counts, in_places, in_types, out, out_counts,
                                      out_places, out_types, comm),
                    tail...);
  NeighborCounts neighbors;
  if (const int error = find_neighbors(comm, form, &neighbors); error != MPI_SUCCESS) return error;
  in_counts = form.hold_array(in_counts, neighbors.out);
  in_places = form.hold_array(in_places, neighbors.out);
  in_types = form.hold(in_types, neighbors.out);
  out_counts = form.hold_array(out_counts, neighbors.in);
  out_places = form.hold_array(out_places, neighbors.in);
  out_types = form.hold(out_types, neighbors.in);
  const auto host_comm = form.host_comm(comm);
  const auto native = UNISONO_HOST_CALL(neighbor_alltoallw, in, in_counts, in_places, in_types, out,
                                        out_counts, out_places, out_types, host_comm.now());
  if (!is_taking() || !neighbors.has_topology) return form.leave(native);
  TypedBlocks blocks(neighbors.out + neighbors.in);
  if (!blocks.read(in, in_counts, in_places, in_types, neighbors.out) ||
      !blocks.read(out, out_counts, out_places, out_types, neighbors.in))
    return form.leave(native);
  runtime::Call call = make_call(operation, comm);
  const host::Datatype* types = form.keep(blocks.types(), blocks.size());
  const MPI_Count* counts = form.hold_array(blocks.counts(), neighbors.out + neighbors.in);
  call.send_blocks = all_blocks<MPI_Count>(in, counts, in_places, MPI_BYTE);
  call.send_blocks.types = types;
  call.recv_blocks = all_blocks<MPI_Count>(out, counts + neighbors.out, out_places, MPI_BYTE);
  call.recv_blocks.types = types + neighbors.out;
  return form.run(call, native);
}

#define UNISONO_INSTANTIATE_FORM(Count, ...)                                                              \
  template int neighbor_allgather<Count>(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype,    \
                                         MPI_Comm __VA_OPT__(, ) __VA_ARGS__);                            \
  template int neighbor_allgatherv<Count>(const void*, Count, MPI_Datatype, void*, const Count*,          \
                                          const Displacement<Count>*, MPI_Datatype,                       \
                                          MPI_Comm __VA_OPT__(, ) __VA_ARGS__);                           \
  template int neighbor_alltoall<Count>(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype,     \
                                        MPI_Comm __VA_OPT__(, ) __VA_ARGS__);                             \
  template int neighbor_alltoallv<Count>(const void*, const Count*, const Displacement<Count>*,           \
                                         MPI_Datatype, void*, const Count*, const Displacement<Count>*,   \
                                         MPI_Datatype, MPI_Comm __VA_OPT__(, ) __VA_ARGS__);              \
  template int neighbor_alltoallw<Count>(const void*, const Count*, const MPI_Aint*, const MPI_Datatype*, \
                                         void*, const Count*, const MPI_Aint*, const MPI_Datatype*,       \
                                         MPI_Comm __VA_OPT__(, ) __VA_ARGS__);
UNISONO_INSTANTIATE(int)
UNISONO_INSTANTIATE(MPI_Count)
#undef UNISONO_INSTANTIATE_FORM

}  // namespace unisono::adapter
