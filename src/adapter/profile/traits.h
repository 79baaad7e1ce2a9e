// SPDX-License-Identifier: BSD-3-Clause
// What the profile knows of an MPI function: what it is for, and which of its arguments say how many bytes go
// where. All of it is found from the function's name. The forms of a function (MPI_I..., ..._init, ..._c)
// have the same arguments in front, so they are found by the name without these.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/reports/job_profile.h"

namespace unisono::adapter::profile {

using runtime::FunctionKind;

// How a function's bytes are found.
enum class Shape : std::uint8_t {
  plain,     // It has none.
  transfer,  // Count elements of a type, to or from a partner on a communicator or a window.
  receive,   // The same, and a status says what came.
  message,   // A receive of a message that was matched before.
  fetch,     // One element, with a partner on a window.
  file,      // Count elements, with no partner.
  vector,    // Count elements, on a communicator.
  counts,    // The sum of the counts of all ranks, reduced.
  blocks,    // A block for each rank: reduced, or sent.
  gather,    // The block that this rank sends, unless it is in place.
  scatter,   // The block that this rank receives, unless it is in place.
  gatherv,
  scatterv,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  neighbors,   // A block for each neighbour.
  neighborsv,  // Blocks of different lengths.
  neighborsw,  // And types.
  partitions,
  start,      // Of one request.
  start_all,  // Of several.
};

// Places of arguments; -1: there is none.
struct Traits {
  FunctionKind kind = FunctionKind::other;
  Shape shape = Shape::plain;
  std::int8_t count = -1, type = -1, peer = -1, comm = -1, status = -1;
  bool is_on_window = false;
  bool is_sending = false;
  bool has_root = false;  // before the communicator
  bool is_init = false;   // makes a persistent request: its starts move the bytes
};

// The name of the blocking function with small counts: "Iallreduce_c" -> "Allreduce", and so on. The second
// letter of a name that begins with I for "immediate" is small: "Isend" -> "send".
struct BareName {
  constexpr explicit BareName(std::string_view name) {
    if (name.ends_with("_c")) name.remove_suffix(2);
    if (name.ends_with("_init") && name != "Session_init") {
      is_init = true;
      name.remove_suffix(5);
    }
    constexpr std::array immediate{"send",
                                   "bsend",
                                   "ssend",
                                   "rsend",
                                   "recv",
                                   "sendrecv",
                                   "sendrecv_replace",
                                   "mrecv",
                                   "probe",
                                   "mprobe",
                                   "barrier",
                                   "bcast",
                                   "reduce",
                                   "allreduce",
                                   "gather",
                                   "gatherv",
                                   "scatter",
                                   "scatterv",
                                   "allgather",
                                   "allgatherv",
                                   "alltoall",
                                   "alltoallv",
                                   "alltoallw",
                                   "reduce_scatter",
                                   "reduce_scatter_block",
                                   "scan",
                                   "exscan",
                                   "neighbor_allgather",
                                   "neighbor_allgatherv",
                                   "neighbor_alltoall",
                                   "neighbor_alltoallv",
                                   "neighbor_alltoallw"};
    if (name.starts_with("I")) {
      for (const std::string_view blocking : immediate) {
        if (name.substr(1) == blocking) is_immediate = true;
      }
    }
    text = is_immediate ? name.substr(1) : name;
  }
  // Without regard to the first letter's case.
  constexpr bool is(std::string_view other) const {
    return text.size() == other.size() && (text[0] | 0x20) == (other[0] | 0x20) &&
           text.substr(1) == other.substr(1);
  }
  constexpr bool is_one_of(std::initializer_list<std::string_view> others) const {
    for (const std::string_view other : others) {
      if (is(other)) return true;
    }
    return false;
  }

  std::string_view text;
  bool is_init = false, is_immediate = false;
};

constexpr bool point_to_point_traits(const BareName& name, Traits* traits) {
  traits->kind = FunctionKind::point_to_point;
  traits->is_sending = true;
  if (name.is_one_of({"Send", "Bsend", "Ssend", "Rsend"})) {
    *traits = {traits->kind, Shape::transfer, 1, 2, 3, 5, -1, false, true};
  } else if (name.is("Recv")) {
    const bool has_status = !name.is_immediate && !name.is_init;
    *traits = {traits->kind,
               has_status ? Shape::receive : Shape::transfer,
               1,
               2,
               3,
               5,
               static_cast<std::int8_t>(has_status ? 6 : -1)};
  } else if (name.is("Mrecv")) {
    *traits = {traits->kind, name.is_immediate ? Shape::file : Shape::message,    1, 2, -1,
               -1,           static_cast<std::int8_t>(name.is_immediate ? -1 : 4)};
  } else if (name.is("Sendrecv")) {
    *traits = {traits->kind, Shape::transfer, 1, 2, 3, 10, -1, false, true};
  } else if (name.is("Sendrecv_replace")) {
    *traits = {traits->kind, Shape::transfer, 1, 2, 3, 7, -1, false, true};
  } else if (name.is("Psend")) {
    *traits = {traits->kind, Shape::partitions, 2, 3, 4, 6, -1, false, true};
  } else if (name.is("Precv")) {
    *traits = {traits->kind, Shape::partitions, 2, 3, 4, 6};
  } else if (name.is("Start")) {
    traits->shape = Shape::start;
  } else if (name.is("Startall")) {
    traits->shape = Shape::start_all;
  } else {
    traits->is_sending = false;
    return name.is_one_of({"Probe", "Mprobe", "Pready", "Pready_range", "Pready_list", "Parrived",
                           "Buffer_attach", "Buffer_detach", "Buffer_flush", "Buffer_iflush", "Cancel"});
  }
  return true;
}

constexpr bool collective_traits(const BareName& name, Traits* traits) {
  struct Row {
    std::string_view name;
    Shape shape;
    std::int8_t count, type, comm;
    bool has_root = false;
  };
  constexpr std::array rows{
      Row{"Barrier", Shape::vector, -1, -1, 0},
      Row{"Bcast", Shape::vector, 1, 2, 4, true},
      Row{"Reduce", Shape::vector, 2, 3, 6, true},
      Row{"Allreduce", Shape::vector, 2, 3, 5},
      Row{"Scan", Shape::vector, 2, 3, 5},
      Row{"Exscan", Shape::vector, 2, 3, 5},
      Row{"Reduce_scatter_block", Shape::blocks, 2, 3, 5},
      Row{"Reduce_scatter", Shape::counts, 2, 3, 5},
      Row{"Gather", Shape::gather, 1, 2, 7, true},
      Row{"Allgather", Shape::gather, 1, 2, 6},
      Row{"Scatter", Shape::scatter, 1, 2, 7, true},
      Row{"Gatherv", Shape::gatherv, 1, 2, 8, true},
      Row{"Scatterv", Shape::scatterv, 5, 6, 8, true},
      Row{"Allgatherv", Shape::allgatherv, 1, 2, 7},
      Row{"Alltoall", Shape::alltoall, 1, 2, 6},
      Row{"Alltoallv", Shape::alltoallv, 1, 3, 8},
      Row{"Alltoallw", Shape::alltoallw, 1, 3, 8},
  };
  for (const Row& row : rows) {
    if (!name.is(row.name)) continue;
    traits->kind = FunctionKind::collective;
    traits->shape = row.shape;
    traits->count = row.count;
    traits->type = row.type;
    traits->comm = row.comm;
    traits->has_root = row.has_root;
    return true;
  }
  constexpr std::array neighbors{
      Row{"Neighbor_allgather", Shape::neighbors, 1, 2, 6},
      Row{"Neighbor_allgatherv", Shape::neighbors, 1, 2, 7},
      Row{"Neighbor_alltoall", Shape::neighbors, 1, 2, 6},
      Row{"Neighbor_alltoallv", Shape::neighborsv, 1, 3, 8},
      Row{"Neighbor_alltoallw", Shape::neighborsw, 1, 3, 8},
  };
  for (const Row& row : neighbors) {
    if (!name.is(row.name)) continue;
    traits->kind = FunctionKind::neighborhood;
    traits->shape = row.shape;
    traits->count = row.count;
    traits->type = row.type;
    traits->comm = row.comm;
    return true;
  }
  return false;
}

constexpr bool window_traits(const BareName& name, Traits* traits) {
  const auto set = [traits](Shape shape, std::int8_t count, std::int8_t type, std::int8_t peer,
                            std::int8_t window) {
    *traits = {FunctionKind::one_sided, shape, count, type, peer, window, -1, true, true};
    return true;
  };
  if (name.is_one_of({"Put", "Get", "Rput", "Rget"})) return set(Shape::transfer, 1, 2, 3, 7);
  if (name.is_one_of({"Accumulate", "Raccumulate"})) return set(Shape::transfer, 1, 2, 3, 8);
  if (name.is_one_of({"Get_accumulate", "Rget_accumulate"})) return set(Shape::transfer, 4, 5, 6, 11);
  if (name.is("Fetch_and_op")) return set(Shape::fetch, -1, 2, 3, 6);
  if (name.is("Compare_and_swap")) return set(Shape::fetch, -1, 3, 4, 6);
  traits->kind = FunctionKind::one_sided;
  return name.text.starts_with("Win_");
}

constexpr bool file_traits(const BareName& name, Traits* traits) {
  traits->kind = FunctionKind::file;
  if (!name.text.starts_with("File_")) return false;
  std::string_view verb = name.text.substr(5);
  if (verb.starts_with("i")) verb.remove_prefix(1);
  if (!verb.starts_with("read") && !verb.starts_with("write")) return true;
  if (verb.ends_with("_end")) return true;
  const bool is_at = verb.find("_at") != std::string_view::npos;
  traits->shape = Shape::file;
  traits->count = is_at ? 3 : 2;
  traits->type = is_at ? 4 : 3;
  return true;
}

constexpr Traits traits_of(std::string_view function) {
  const BareName name(function);
  Traits traits;
  const auto begins = [&](std::initializer_list<std::string_view> texts) {
    for (const std::string_view text : texts) {
      if (name.text.starts_with(text)) return true;
    }
    return false;
  };
  if (function == "Init" || function == "Init_thread" || function == "Finalize" ||
      function == "Session_init" || function == "Session_finalize") {
    traits.kind = FunctionKind::start_and_end;
  } else if (begins({"Wait", "Test", "Request_"}) && function != "Test_cancelled") {
    traits.kind = FunctionKind::completion;
  } else if (point_to_point_traits(name, &traits) || collective_traits(name, &traits) ||
             window_traits(name, &traits) || file_traits(name, &traits)) {
  } else if (begins({"Comm_", "Group_", "Cart", "Graph", "Dist_graph", "Topo_", "Dims_", "Intercomm_",
                     "Session_"})) {
    traits.kind = FunctionKind::communicator;
  } else if (begins({"Type_", "Pack", "Unpack", "Get_address", "Get_count", "Get_elements", "Aint_"})) {
    traits.kind = FunctionKind::datatype;
  } else {
    traits.kind = FunctionKind::other;
  }
  traits.is_init = name.is_init;
  return traits;
}

}  // namespace unisono::adapter::profile
