// SPDX-License-Identifier: BSD-3-Clause
// The host MPI's functions, found by name in the library that the process holds. The adapter has no undefined
// PMPI_ symbol: such a symbol would find the preloaded library's own stubs.
#pragma once

#include <cstddef>

#include "adapter/below/family.h"

namespace unisono::adapter {

// The collectives: each in three forms (blocking, MPI_I, MPI_..._init), for int and for large counts.
// clang-format off
#define UNISONO_COLLECTIVES_WITH_COUNTS(X) \
  X(Bcast, bcast) X(Reduce, reduce) X(Allreduce, allreduce) X(Gather, gather) X(Scatter, scatter) \
  X(Allgather, allgather) X(Alltoall, alltoall) X(Reduce_scatter_block, reduce_scatter_block) \
  X(Scan, scan) X(Exscan, exscan) X(Allgatherv, allgatherv) X(Reduce_scatter, reduce_scatter) \
  X(Alltoallv, alltoallv) X(Alltoallw, alltoallw) X(Gatherv, gatherv) X(Scatterv, scatterv) \
  X(Neighbor_allgather, neighbor_allgather) X(Neighbor_allgatherv, neighbor_allgatherv) \
  X(Neighbor_alltoall, neighbor_alltoall) X(Neighbor_alltoallv, neighbor_alltoallv) \
  X(Neighbor_alltoallw, neighbor_alltoallw)
#define UNISONO_COLLECTIVES(X) X(Barrier, barrier) UNISONO_COLLECTIVES_WITH_COUNTS(X)

#define UNISONO_HOST_FUNCTIONS(X) \
  X(Init) X(Init_thread) X(Finalize) X(Query_thread) X(Get_library_version) X(Abort) X(Comm_remote_size) \
  X(Comm_rank) X(Comm_size) X(Comm_test_inter) X(Comm_split) X(Comm_free) X(Comm_disconnect) X(Comm_group) \
  X(Comm_get_name) X(Comm_set_errhandler) X(Comm_call_errhandler) X(Comm_create_keyval) X(Comm_set_attr) \
  X(Comm_get_errhandler) X(Errhandler_free) X(Comm_get_attr) X(Comm_delete_attr) X(Comm_idup) X(Comm_set_info) X(Comm_dup_with_info) X(Comm_create) \
  X(Comm_create_group) X(Comm_split_type) X(Cart_create) X(Cart_sub) X(Graph_create) X(Dist_graph_create) \
  X(Dist_graph_create_adjacent) X(Intercomm_create) X(Intercomm_merge) X(Comm_spawn) X(Comm_spawn_multiple) \
  X(Comm_get_parent) X(Comm_remote_group) X(Group_union) X(Info_get) X(Group_translate_ranks) X(Group_size) X(Group_free) X(Isend) X(Irecv) X(Send) X(Recv_init) \
  X(Probe) X(Iprobe) X(Mprobe) X(Improbe) X(Buffer_attach) X(Buffer_detach) X(Comm_dup) X(Status_set_elements_x) \
  X(Start) X(Startall) X(Sendrecv) X(Wait) X(Waitall) X(Waitany) X(Waitsome) X(Test) X(Testall) X(Testany) X(Testsome) \
  X(Request_get_status) X(Request_free) X(Cancel) X(Grequest_start) X(Grequest_complete) X(Status_set_elements) \
  X(Status_set_cancelled) X(Type_size_x) X(Type_get_extent_x) X(Type_get_true_extent_x) \
  X(Type_get_envelope) X(Type_get_contents) X(Type_create_hindexed) X(Type_commit) X(Type_free) \
  X(Type_create_keyval) X(Type_set_attr) X(Type_get_attr) X(Pack) X(Unpack) X(Op_commutative) X(Op_free) \
  X(Reduce_local) X(Win_test) X(Pcontrol) X(Topo_test) X(Cartdim_get) X(Graph_neighbors_count) \
  X(Dist_graph_neighbors_count) X(Cart_get) X(Graphdims_get) X(Graph_get) \
  X(Dist_graph_neighbors) X(Cart_shift) X(Graph_neighbors)
// clang-format on

// The type of a function with more arguments behind its own.
template <class Function, class... More>
struct AppendTo;
template <class... Arguments, class... More>
struct AppendTo<int (*)(Arguments...), More...> {
  using type = int (*)(Arguments..., More...);
};
template <class Function>
using Starting = typename AppendTo<Function, MPI_Request*>::type;
template <class Function>
using Initializing = typename AppendTo<Function, MPI_Info, MPI_Request*>::type;

// One collective of the host. Null is what it lacks: large counts (Open MPI 4 and 5), persistent forms (Open
// MPI 4).
template <class Small, class Large>
struct Collective {
  Small small = nullptr;
  Starting<Small> start_small = nullptr;
  Initializing<Small> init_small = nullptr;
  Large large = nullptr;
  Starting<Large> start_large = nullptr;
  Initializing<Large> init_large = nullptr;
};

// The large-count functions, written out, because the headers of hosts without them lack them too.
struct LargeTypes {
  using Bcast = int (*)(void*, MPI_Count, MPI_Datatype, int, MPI_Comm);
  using Reduce = int (*)(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm);
  using Allreduce = int (*)(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
  using Gather = int (*)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm);
  using Scatter = Gather;
  using Allgather = int (*)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm);
  using Alltoall = Allgather;
  using Reduce_scatter_block = Allreduce;
  using Scan = Allreduce;
  using Exscan = Allreduce;
  using Allgatherv = int (*)(const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*,
                             MPI_Datatype, MPI_Comm);
  using Gatherv = int (*)(const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*,
                          MPI_Datatype, int, MPI_Comm);
  using Scatterv = int (*)(const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, MPI_Count,
                           MPI_Datatype, int, MPI_Comm);
  using Alltoallv = int (*)(const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*,
                            const MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Comm);
  using Alltoallw = int (*)(const void*, const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, void*,
                            const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, MPI_Comm);
  using Reduce_scatter = int (*)(const void*, void*, const MPI_Count*, MPI_Datatype, MPI_Op, MPI_Comm);
  using Neighbor_allgather = Allgather;
  using Neighbor_allgatherv = Allgatherv;
  using Neighbor_alltoall = Alltoall;
  using Neighbor_alltoallv = Alltoallv;
  using Neighbor_alltoallw = Alltoallw;
};

// The functions that send and receive, for int and for large counts.
// clang-format off
#define UNISONO_MESSAGE_FUNCTIONS(X) \
  X(Send, send, Send) X(Bsend, bsend, Send) X(Ssend, ssend, Send) X(Rsend, rsend, Send) X(Recv, recv, Recv) \
  X(Isend, isend, Isend) X(Ibsend, ibsend, Isend) X(Issend, issend, Isend) X(Irsend, irsend, Isend) \
  X(Send_init, send_init, Isend) X(Bsend_init, bsend_init, Isend) X(Ssend_init, ssend_init, Isend) \
  X(Rsend_init, rsend_init, Isend) X(Irecv, irecv, Irecv) X(Recv_init, recv_init, Irecv) \
  X(Sendrecv, sendrecv, Sendrecv) X(Sendrecv_replace, sendrecv_replace, Sendrecv_replace) \
  X(Isendrecv, isendrecv, Isendrecv) X(Isendrecv_replace, isendrecv_replace, Isendrecv_replace) \
  X(Mrecv, mrecv, Mrecv) X(Imrecv, imrecv, Imrecv)
// clang-format on

struct LargeMessageTypes {
  using Send = int (*)(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
  using Isend = Starting<Send>;
  using Recv = int (*)(void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
  using Irecv = int (*)(void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  using Sendrecv = int (*)(const void*, MPI_Count, MPI_Datatype, int, int, void*, MPI_Count, MPI_Datatype,
                           int, int, MPI_Comm, MPI_Status*);
  using Isendrecv = int (*)(const void*, MPI_Count, MPI_Datatype, int, int, void*, MPI_Count, MPI_Datatype,
                            int, int, MPI_Comm, MPI_Request*);
  using Sendrecv_replace = int (*)(void*, MPI_Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status*);
  using Isendrecv_replace = int (*)(void*, MPI_Count, MPI_Datatype, int, int, int, int, MPI_Comm,
                                    MPI_Request*);
  using Mrecv = int (*)(void*, MPI_Count, MPI_Datatype, MPI_Message*, MPI_Status*);
  using Imrecv = int (*)(void*, MPI_Count, MPI_Datatype, MPI_Message*, MPI_Request*);
};

// One of them. Null is what the host lacks: large counts (Open MPI 4 and 5), MPI_Isendrecv (Open MPI 4).
template <class Small, class Large>
struct MessageFunction {
  Small small = nullptr;
  Large large = nullptr;
};

struct Functions {
#define UNISONO_MEMBER(name) decltype(&PMPI_##name) name = nullptr;
  UNISONO_HOST_FUNCTIONS(UNISONO_MEMBER)
#undef UNISONO_MEMBER
  Collective<decltype(&PMPI_Barrier), decltype(&PMPI_Barrier)> barrier;
#define UNISONO_MEMBER(Name, name) Collective<decltype(&PMPI_##Name), LargeTypes::Name> name;
  UNISONO_COLLECTIVES_WITH_COUNTS(UNISONO_MEMBER)
#undef UNISONO_MEMBER

#define UNISONO_MEMBER(Name, name, Large) \
  MessageFunction<decltype(&PMPI_##Name), LargeMessageTypes::Large> name;
  UNISONO_MESSAGE_FUNCTIONS(UNISONO_MEMBER)
#undef UNISONO_MEMBER

  // Open MPI's own word on whether ranks may die (user-level failure mitigation); null where it has none.
  const bool* is_fault_tolerant = nullptr;

  void* library = nullptr;  // dlopen's handle of the host, for what few hosts have
  // Null where the host has none. Those of a request's status are of MPI 4.1, those of communicators of 4.0.
  int (*Type_get_envelope_c)(MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*, int*) = nullptr;
  int (*Type_get_contents_c)(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int*, MPI_Aint*,
                             MPI_Count*, MPI_Datatype*) = nullptr;
  int (*Comm_idup_with_info)(MPI_Comm, MPI_Info, MPI_Comm*, MPI_Request*) = nullptr;
  int (*Comm_create_from_group)(MPI_Group, const char*, MPI_Info, MPI_Errhandler, MPI_Comm*) = nullptr;
  int (*Intercomm_create_from_groups)(MPI_Group, int, MPI_Group, int, const char*, MPI_Info, MPI_Errhandler,
                                      MPI_Comm*) = nullptr;
  int (*Buffer_attach_c)(void*, MPI_Count) = nullptr;
  int (*Buffer_detach_c)(void*, MPI_Count*) = nullptr;
  int (*Buffer_flush)() = nullptr;
  int (*Comm_is_revoked)(MPI_Comm, int*) = nullptr;  // of Open MPI 5
  int (*Buffer_iflush)(MPI_Request*) = nullptr;
  int (*Request_toint)(MPI_Request) = nullptr;
  MPI_Request (*Request_fromint)(int) = nullptr;
  int (*Message_toint)(MPI_Message) = nullptr;
  MPI_Message (*Message_fromint)(int) = nullptr;
#if defined(UNISONO_FAMILY_OPENMPI)  // elsewhere handles are Fortran's numbers
  MPI_Fint (*Request_c2f)(MPI_Request) = nullptr;
  MPI_Request (*Request_f2c)(MPI_Fint) = nullptr;
  MPI_Fint (*Message_c2f)(MPI_Message) = nullptr;
  MPI_Message (*Message_f2c)(MPI_Fint) = nullptr;
#endif
  int (*Request_get_status_any)(int, const MPI_Request*, int*, int*, MPI_Status*) = nullptr;
  int (*Request_get_status_all)(int, const MPI_Request*, int*, MPI_Status*) = nullptr;
  int (*Request_get_status_some)(int, const MPI_Request*, int*, int*, MPI_Status*) = nullptr;
};

// Filled once, before the first wrapper can be called.
extern Functions pmpi;

// Fills `pmpi` from dlopen's handle; on failure says in `problem` which function is missing.
bool load_functions(void* mpi_library, char* problem, std::size_t problem_bytes);

}  // namespace unisono::adapter
