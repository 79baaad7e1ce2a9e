// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/describe.h"

#include "schedule/block_table.h"
#include "schedule/dependencies.h"
#include "schedule/ranges.h"

namespace unisono::schedule {

std::string_view name(StepKind kind) {
  switch (kind) {
    case StepKind::send:
      return "send";
    case StepKind::recv:
      return "recv";
    case StepKind::copy:
      return "copy";
    case StepKind::reduce:
      return "reduce";
    case StepKind::signal:
      return "signal";
    case StepKind::await:
      return "await";
    case StepKind::await_all:
      return "await_all";
    case StepKind::await_space:
      return "await_space";
    case StepKind::expose:
      return "expose";
    case StepKind::node_barrier:
      return "node_barrier";
    case StepKind::node_bcast:
      return "node_bcast";
    case StepKind::node_reduce:
      return "node_reduce";
    case StepKind::node_allreduce:
      return "node_allreduce";
    case StepKind::node_scan:
      return "node_scan";
    case StepKind::node_exscan:
      return "node_exscan";
    case StepKind::node_reduce_scatter:
      return "node_reduce_scatter";
    case StepKind::node_allgather:
      return "node_allgather";
    case StepKind::node_gather:
      return "node_gather";
    case StepKind::node_scatter:
      return "node_scatter";
    case StepKind::node_alltoall:
      return "node_alltoall";
  }
  return "";
}

std::string_view name(Place place) {
  switch (place) {
    case Place::input:
      return "input";
    case Place::output:
      return "output";
    case Place::scratch:
      return "scratch";
    case Place::shared:
      return "slot";
    case Place::remote_input:
      return "remote input";
    case Place::remote_output:
      return "remote output";
  }
  return "";
}

namespace {

std::string run(std::int64_t first, std::int64_t last) {
  return last == first + 1 ? std::to_string(first) : std::to_string(first) + ".." + std::to_string(last);
}

// Which elements: empty for the first whole unit.
std::string extent(const Ref& ref) {
  std::string text;
  if (ref.first == ref.last) {
    text = " nothing";
  } else if (ref.parts != 1) {
    text = std::string(ref.last == ref.first + 1 ? " part " : " parts ") + run(ref.first, ref.last) + "/" +
           std::to_string(ref.parts);
  } else if (ref.first != 0 || ref.last != 1) {
    text = std::string(ref.last == ref.first + 1 ? " block " : " blocks ") + run(ref.first, ref.last);
  }
  if (has_sub_range(ref)) {
    text += ", of each piece " + run(ref.sub_first, ref.sub_last) + "/" + std::to_string(ref.sub_parts);
  }
  return text;
}

}  // namespace

std::string describe(const Ref& ref) {
  switch (ref.place) {
    case Place::input:
    case Place::output:
    case Place::scratch:
      return std::string(name(ref.place)) + extent(ref);
    case Place::shared:
      return "slot of " + std::to_string(ref.owner) + ", lane " + std::to_string(ref.lane) + extent(ref);
    case Place::remote_input:
    case Place::remote_output:
      return std::string(name(ref.place)) + extent(ref) + " of " + std::to_string(ref.owner);
  }
  return "";
}

std::string describe(const Step& step) {
  const std::string kind = std::string(name(step.kind)) + (step.along == nullptr ? "" : " along domains");
  const std::string peer = std::to_string(step.peer);
  const std::string tick = std::to_string(step.tick);
  switch (step.kind) {
    case StepKind::send:
      return kind + " " + describe(step.left) + " to " + peer;
    case StepKind::recv:
      return kind + " " + describe(step.into) + " from " + peer;
    case StepKind::copy:
      return kind + " " + describe(step.into) + " = " + describe(step.left);
    case StepKind::reduce:
      return kind + " " + describe(step.into) + " = " + describe(step.left) + " op " + describe(step.right);
    case StepKind::signal:
      return kind + " tick " + tick;
    case StepKind::await:
      return kind + " tick " + tick + " of local rank " + peer;
    case StepKind::await_all:
      return kind + " tick " + tick;
    case StepKind::await_space:
    case StepKind::expose:
      return kind;
    case StepKind::node_barrier:
      return kind + (step.tick == upper_half ? ", up" : step.tick == lower_half ? ", down" : "");
    case StepKind::node_bcast:
      return kind + " " + describe(step.into) + " from local rank " + peer;
    case StepKind::node_scatter:
      return kind + " " + describe(step.into) + " = " + describe(step.left) + " of local rank " + peer;
    case StepKind::node_reduce:
    case StepKind::node_gather:
      return kind + " " + describe(step.into) + " = " + describe(step.left) + " to local rank " + peer;
    case StepKind::node_allreduce:
    case StepKind::node_scan:
    case StepKind::node_exscan:
    case StepKind::node_reduce_scatter:
    case StepKind::node_allgather:
    case StepKind::node_alltoall:
      return kind + " " + describe(step.into) + " = " + describe(step.left);
  }
  return kind;
}

namespace {

std::string_view when(Kept kept) {
  switch (kept) {
    case Kept::always:
      break;
    case Kept::in_bundle:
      return ", if short enough for a bundle";
    case Kept::beyond_bundle:
      return ", if too long for a bundle";
    case Kept::in_node:
      return ", if short enough for a slot";
    case Kept::beyond_node:
      return ", if too long for a slot";
    case Kept::in_either:
      return ", if short enough for a bundle or a slot";
    case Kept::cell:
      return ", a cell";
    case Kept::behind_block:
      return ", the rest of its cell";
  }
  return "";
}

std::string which_piece(const NumberedBlock& number, const BlockLimits& limits) {
  const bool is_cut = number.kept == Kept::beyond_node || number.kept == Kept::beyond_bundle;
  if (!is_cut || limits.most_pieces == 1) return "";
  return ", piece " + std::to_string(number.piece);
}

// The same reference with numbers that mean something to who reads them.
Ref readable(const Ref& ref, const BlockTable& table) {
  Ref readable = ref;
  const bool is_own = ref.place == Place::input || ref.place == Place::output;
  if (ref.first == ref.last || ref.first >= std::ssize(table.blocks)) return readable;
  const auto index = table.blocks[static_cast<std::size_t>(ref.first)].index;
  if (is_own && index >= 0) readable.first = index;
  if (ref.lane_first >= 0) readable.first = ref.first - ref.lane_first;
  readable.last = readable.first + ref.last - ref.first;
  return readable;
}

}  // namespace

std::string describe(const Step& step, const BlockTable* table) {
  if (table == nullptr) return describe(step);
  Step shown = step;
  for (Ref* ref : {&shown.into, &shown.left, &shown.right}) *ref = readable(*ref, *table);
  const Operands named = operands(step);
  const Ref* moved = named.write != nullptr ? named.write : named.reads[0];
  std::string text = describe(shown);
  if (moved != nullptr && moved->first < moved->last) {
    const NumberedBlock& number = table->blocks[static_cast<std::size_t>(moved->first)];
    text += which_piece(number, table->limits).append(when(number.kept));
  }
  return text;
}

}  // namespace unisono::schedule
