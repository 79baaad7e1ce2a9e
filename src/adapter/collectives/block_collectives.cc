// SPDX-License-Identifier: BSD-3-Clause
// The wrappers of the operations on uneven blocks. Of an intercommunicator the arrays are as long as the
// other group is large: nothing is read of them here.
#include <algorithm>
#include <vector>

#include "adapter/collectives/block_arguments.h"
#include "adapter/collectives/collectives.h"
#include "adapter/collectives/wrapper.h"
#include "base/inline_array.h"

namespace unisono::adapter {
namespace {

// Of this rank's block among uneven ones: see is_rejected_block.
template <class Count>
bool is_rejected_place(const void* own, Count own_count, const void* all, const Count* counts,
                       const Displacement<Count>* places, MPI_Datatype type, MPI_Comm comm) {
  Place place{};
  return rejects_aliases && find_place(comm, &place) && is_intracommunicator(comm) && own_count != 0 &&
         counts[place.rank] != 0 && is_own_place(own, all, places[place.rank], type);
}

template <class Count>
bool is_nowhere(const void* buffer, const Count* counts, int size, MPI_Datatype type) {
  return buffer == nullptr && !may_be_at_bottom(type) &&
         std::any_of(counts, counts + size, [](Count count) { return count > 0; });
}

// The root's part of a gatherv that the host refuses, where it says how long the blocks are.
template <class... Tail, class Count>
void gather_to_nobody(const runtime::Call& call, int size, const Count* counts, MPI_Datatype type) {
  if (call.is_in_place || counts == nullptr || !is_type(type)) return;
  std::vector<Displacement<Count>> places;
  Displacement<Count> elements = 0;
  for (int i = 0; i < size; ++i) {
    if (counts[i] < 0) return;
    places.push_back(elements);
    elements += counts[i];
  }
  runtime::Call part = call;
  part.recv_blocks = all_blocks<Count>(nullptr, counts, places.data(), type);
  take_part_of_blocks<Tail...>(part, elements, type);
}

}  // namespace

template <class Count, class... Tail>
int allgatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts,
               const Displacement<Count>* places, MPI_Datatype out_type, MPI_Comm comm, Tail... tail) {
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.allgatherv, CallSite{Operation::allgatherv, comm},
                     tail...);
  const bool is_one_type = in_type == out_type;
  in_type = form.hold(in_type, [=] { return in != MPI_IN_PLACE; });
  out_type = form.hold(out_type);
  const int peers = form.held_peers(comm);
  counts = form.hold_array(counts, peers);
  places = form.hold_array(places, peers);
  const auto host_comm = form.host_comm(comm);
  const auto native =
      UNISONO_HOST_CALL(allgatherv, in, in_count, in_type, out, counts, places, out_type, host_comm.now());
  if (!is_taking() || !is_communicator(comm)) return form.leave(native);
  runtime::Call call = make_call(Operation::allgatherv, comm);
  call.is_in_place = in == MPI_IN_PLACE;
  if (!are_valid(out, counts, places) || !is_type(out_type) ||
      (!call.is_in_place &&
       (!is_valid(in, in_count, in_type) ||
        (is_one_type && is_rejected_place(in, in_count, out, counts, places, out_type, comm))))) {
    return form.leave(native);
  }
  if (!call.is_in_place) call.send_blocks = one_block(in, in_count, in_type);
  call.recv_blocks = all_blocks(out, counts, places, out_type);
  return form.run(call, native);
}

template <class Count, class... Tail>
int gatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts,
            const Displacement<Count>* places, MPI_Datatype out_type, int root, MPI_Comm comm, Tail... tail) {
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.gatherv, CallSite{Operation::gatherv, comm}, tail...);
  if (is_left<Tail...>(Operation::gatherv, comm))
    return run_left(
        UNISONO_HOST_CALL(gatherv, in, in_count, in_type, out, counts, places, out_type, root, comm),
        tail...);
  const bool is_one_type = in_type == out_type;
  in_type = form.hold(in_type, [=] { return in != MPI_IN_PLACE; });
  out_type = form.hold(out_type, [=] { return is_root_here(comm, root); });
  const int peers = form.held_peers_at(comm, root);
  counts = form.hold_array(counts, peers);
  places = form.hold_array(places, peers);
  const auto host_comm = form.host_comm(comm);
  const auto native =
      UNISONO_HOST_CALL(gatherv, in, in_count, in_type, out, counts, places, out_type, root, host_comm.now());
  if (!is_taking() || !is_communicator(comm)) return form.leave(native);
  const Root at(comm, root);
  runtime::Call call = make_call(Operation::gatherv, comm);
  call.is_in_place = at.is_here && in == MPI_IN_PLACE;
  if (!at.is_valid || (!call.is_in_place && !is_valid(in, in_count, in_type))) return form.leave(native);
  call.root = root;
  if (!call.is_in_place) call.send_blocks = one_block(in, in_count, in_type);
  if (at.is_here &&
      (!are_valid(out, counts, places) || !is_type(out_type) || is_nowhere(out, counts, at.size, out_type) ||
       (is_one_type && is_rejected_place(in, in_count, out, counts, places, out_type, comm)))) {
    const bool is_own_known = counts != nullptr && counts[root] == in_count;
    const MPI_Datatype known = is_type(out_type) ? out_type : is_own_known ? in_type : MPI_DATATYPE_NULL;
    gather_to_nobody<Tail...>(call, at.size, counts, known);
    return form.leave(native);
  }
  if (at.is_here) call.recv_blocks = all_blocks(out, counts, places, out_type);
  return form.run(call, native);
}

template <class Count, class... Tail>
int scatterv(const void* in, const Count* counts, const Displacement<Count>* places, MPI_Datatype in_type,
             void* out, Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm, Tail... tail) {
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.scatterv, CallSite{Operation::scatterv, comm},
                     tail...);
  if (is_left<Tail...>(Operation::scatterv, comm))
    return run_left(
        UNISONO_HOST_CALL(scatterv, in, counts, places, in_type, out, out_count, out_type, root, comm),
        tail...);
  const bool is_one_type = in_type == out_type;
  in_type = form.hold(in_type, [=] { return is_root_here(comm, root); });
  out_type = form.hold(out_type, [=] { return out != MPI_IN_PLACE; });
  const int peers = form.held_peers_at(comm, root);
  counts = form.hold_array(counts, peers);
  places = form.hold_array(places, peers);
  const auto host_comm = form.host_comm(comm);
  const auto native = UNISONO_HOST_CALL(scatterv, in, counts, places, in_type, out, out_count, out_type, root,
                                        host_comm.now());
  if (!is_taking() || !is_communicator(comm)) return form.leave(native);
  const Root at(comm, root);
  runtime::Call call = make_call(Operation::scatterv, comm);
  call.is_in_place = at.is_here && out == MPI_IN_PLACE;
  if (!at.is_valid || (at.is_here && (!are_valid(in, counts, places) || !is_type(in_type) ||
                                      (is_one_type && is_rejected_place(out, out_count, in, counts, places,
                                                                        in_type, comm))))) {
    return form.leave(native);
  }
  call.root = root;
  if (at.is_here) call.send_blocks = all_blocks(in, counts, places, in_type);
  if (!call.is_in_place) call.recv_blocks = one_block(out, out_count, out_type);
  if (!call.is_in_place && !is_valid(out, out_count, out_type)) {
    if (!at.is_here) take_part_of_blocks<Tail...>(call, static_cast<std::int64_t>(out_count), out_type);
    return form.leave(native);
  }
  return form.run(call, native);
}

template <class Count, class... Tail>
int alltoallv(const void* in, const Count* in_counts, const Displacement<Count>* in_places,
              MPI_Datatype in_type, void* out, const Count* out_counts, const Displacement<Count>* out_places,
              MPI_Datatype out_type, MPI_Comm comm, Tail... tail) {
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.alltoallv, CallSite{Operation::alltoallv, comm},
                     tail...);
  if (is_left<Tail...>(Operation::alltoallv, comm))
    return run_left(UNISONO_HOST_CALL(alltoallv, in, in_counts, in_places, in_type, out, out_counts,
                                      out_places, out_type, comm),
                    tail...);
  const bool is_rejected = in_type == out_type && in_counts == out_counts && is_rejected_alias(in, out, 1);
  in_type = form.hold(in_type, [=] { return in != MPI_IN_PLACE; });
  out_type = form.hold(out_type);
  const int peers = form.held_peers(comm);
  const int in_peers = in == MPI_IN_PLACE ? 0 : peers;
  in_counts = form.hold_array(in_counts, in_peers);
  in_places = form.hold_array(in_places, in_peers);
  out_counts = form.hold_array(out_counts, peers);
  out_places = form.hold_array(out_places, peers);
  const auto host_comm = form.host_comm(comm);
  const auto native = UNISONO_HOST_CALL(alltoallv, in, in_counts, in_places, in_type, out, out_counts,
                                        out_places, out_type, host_comm.now());
  if (!is_taking() || !is_communicator(comm)) return form.leave(native);
  runtime::Call call = make_call(Operation::alltoallv, comm);
  call.is_in_place = in == MPI_IN_PLACE;
  if (!are_valid(out, out_counts, out_places) || !is_type(out_type) ||
      (!call.is_in_place && (!are_valid(in, in_counts, in_places) || !is_type(in_type) || is_rejected))) {
    return form.leave(native);
  }
  if (!call.is_in_place) call.send_blocks = all_blocks(in, in_counts, in_places, in_type);
  call.recv_blocks = all_blocks(out, out_counts, out_places, out_type);
  return form.run(call, native);
}

template <class Count, class... Tail>
int alltoallw(const void* in, const Count* in_counts, const Displacement<Count>* in_places,
              const MPI_Datatype* in_types, void* out, const Count* out_counts,
              const Displacement<Count>* out_places, const MPI_Datatype* out_types, MPI_Comm comm,
              Tail... tail) {
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.alltoallw, CallSite{Operation::alltoallw, comm},
                     tail...);
  if (is_left<Tail...>(Operation::alltoallw, comm))
    return run_left(UNISONO_HOST_CALL(alltoallw, in, in_counts, in_places, in_types, out, out_counts,
                                      out_places, out_types, comm),
                    tail...);
  const bool is_rejected = in_types == out_types && in_counts == out_counts && is_rejected_alias(in, out, 1);
  Place place{};
  const bool has_arrays =
      (is_taking() || form.is_holding()) && is_communicator(comm) && is_intracommunicator(comm) &&
      find_place(comm, &place) && are_valid(out, out_counts, out_places) && out_types != nullptr &&
      (in == MPI_IN_PLACE || (are_valid(in, in_counts, in_places) && in_types != nullptr));
  if (has_arrays) {
    if (in != MPI_IN_PLACE) {
      in_counts = form.hold_array(in_counts, place.size);
      in_places = form.hold_array(in_places, place.size);
      in_types = form.hold(in_types, place.size);
    }
    out_counts = form.hold_array(out_counts, place.size);
    out_places = form.hold_array(out_places, place.size);
    out_types = form.hold(out_types, place.size);
  }
  const auto host_comm = form.host_comm(comm);
  const auto native = UNISONO_HOST_CALL(alltoallw, in, in_counts, in_places, in_types, out, out_counts,
                                        out_places, out_types, host_comm.now());
  if (!has_arrays || !is_taking()) return form.leave(native);
  runtime::Call call = make_call(Operation::alltoallw, comm);
  call.is_in_place = in == MPI_IN_PLACE;
  if (!call.is_in_place && is_rejected) return form.leave(native);
  const auto size = static_cast<std::size_t>(place.size);
  InlineArray<host::Datatype, 64> types(2 * size);
  for (std::size_t i = 0; i < size; ++i) {
    types[i] = call.is_in_place ? host::Datatype{} : widen<host::Datatype>(in_types[i]);
    types[size + i] = widen<host::Datatype>(out_types[i]);
  }
  const host::Datatype* kept = form.keep(types.data(), types.size());
  if (!call.is_in_place) {
    call.send_blocks = all_blocks(in, in_counts, in_places, MPI_BYTE);
    call.send_blocks.types = kept;
  }
  call.recv_blocks = all_blocks(out, out_counts, out_places, MPI_BYTE);
  call.recv_blocks.types = kept + size;
  return form.run(call, native);
}

template <class Count, class... Tail>
int reduce_scatter(const void* in, void* out, const Count* counts, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, Tail... tail) {
  Form<Tail...> form(std::type_identity<Count>{}, pmpi.reduce_scatter,
                     CallSite{Operation::reduce_scatter, comm}, tail...);
  type = form.hold(type);
  counts = form.hold_array(counts, form.held_peers(comm));
  const auto host_comm = form.host_comm(comm);
  const auto native = UNISONO_HOST_CALL(reduce_scatter, in, out, counts, type, op, host_comm.now());
  Place place{};
  if (!is_taking() || !is_communicator(comm) || !find_place(comm, &place) || !is_intracommunicator(comm))
    return form.leave(native);
  runtime::Call call = make_call(Operation::reduce_scatter, comm);
  call.is_in_place = in == MPI_IN_PLACE || (in == out && !rejects_aliases);
  if (out == MPI_IN_PLACE || counts == nullptr || !is_type(type) || !is_operator(op) ||
      (!call.is_in_place && is_rejected_alias(in, out, 1) &&
       std::any_of(counts, counts + place.size, [](Count count) { return count > 0; }))) {
    return form.leave(native);
  }
  call.op = widen<host::Op>(op);
  call.send_blocks = all_blocks<Count>(in, counts, nullptr, type);
  call.recv_blocks = one_block(out, counts[place.rank], type);
  return form.run(call, native);
}

#define UNISONO_INSTANTIATE_FORM(Count, ...)                                                                \
  template int allgatherv<Count>(const void*, Count, MPI_Datatype, void*, const Count*,                     \
                                 const Displacement<Count>*, MPI_Datatype,                                  \
                                 MPI_Comm __VA_OPT__(, ) __VA_ARGS__);                                      \
  template int gatherv<Count>(const void*, Count, MPI_Datatype, void*, const Count*,                        \
                              const Displacement<Count>*, MPI_Datatype, int,                                \
                              MPI_Comm __VA_OPT__(, ) __VA_ARGS__);                                         \
  template int scatterv<Count>(const void*, const Count*, const Displacement<Count>*, MPI_Datatype, void*,  \
                               Count, MPI_Datatype, int, MPI_Comm __VA_OPT__(, ) __VA_ARGS__);              \
  template int alltoallv<Count>(const void*, const Count*, const Displacement<Count>*, MPI_Datatype, void*, \
                                const Count*, const Displacement<Count>*, MPI_Datatype,                     \
                                MPI_Comm __VA_OPT__(, ) __VA_ARGS__);                                       \
  template int alltoallw<Count>(const void*, const Count*, const Displacement<Count>*, const MPI_Datatype*, \
                                void*, const Count*, const Displacement<Count>*, const MPI_Datatype*,       \
                                MPI_Comm __VA_OPT__(, ) __VA_ARGS__);                                       \
  template int reduce_scatter<Count>(const void*, void*, const Count*, MPI_Datatype, MPI_Op,                \
                                     MPI_Comm __VA_OPT__(, ) __VA_ARGS__);
UNISONO_INSTANTIATE(int)
UNISONO_INSTANTIATE(MPI_Count)
#undef UNISONO_INSTANTIATE_FORM

}  // namespace unisono::adapter
