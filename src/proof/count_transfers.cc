// SPDX-License-Identifier: BSD-3-Clause
#include "proof/count_transfers.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

#include "base/operations.h"
#include "proof/check_load.h"
#include "shm/slice/line_shape.h"

namespace unisono::proof {
namespace {

using schedule::Place;
using schedule::Ref;
using schedule::SharedMode;
using schedule::Step;
using schedule::StepKind;

// A rank's share of a channel, as a communicator of few ranks has it.
constexpr std::int64_t area_bytes = 1 << 20;

std::int64_t lines_of(std::int64_t bytes) {
  constexpr std::int64_t line_bytes = shm::cache_line_bytes;
  return (bytes + line_bytes - 1) / line_bytes;
}
bool has_flags_in_lines(std::int64_t bytes) {
  return shm::is_in_lines(static_cast<std::size_t>(bytes));
}
// One at least, since the flag stands in it.
std::int64_t fused_lines(std::int64_t bytes) {
  return static_cast<std::int64_t>(std::max<std::size_t>(1, shm::lines_of(static_cast<std::size_t>(bytes))));
}

struct Amount {
  std::int64_t bytes = 0, lines = 0, flags = 0;
};
Amount data_of(std::int64_t bytes) {
  return {bytes, lines_of(bytes), 0};
}

class Counter {
 public:
  Counter(const CheckedCall& call, std::int64_t bytes) : call_(call), layout_(*call.problem.layout) {
    load_.elements = bytes;
    load_.element_bytes = 1;
    load_.area_elements = area_bytes;
    borders_.push_back({.name = "node", .parts = layout_.nodes()});
    if (layout_.domains != nullptr) {
      for (const patterns::DomainLevel& level : layout_.domains->levels)
        borders_.push_back({.name = std::string(patterns::name(level.kind)), .parts = level.count()});
    }
    borders_.push_back({.name = "rank", .parts = layout_.size()});
  }

  std::vector<Border> count() {
    std::vector<LoadedProgram> programs;
    for (int rank = 0; rank < layout_.size(); ++rank) programs.emplace_back(call_, rank, load_);
    for (const LoadedProgram& program : programs) note_writers(program);
    for (const LoadedProgram& program : programs) {
      for (int i = 0; i < program.instances(); ++i) count_step(program, i);
    }
    return borders_;
  }

 private:
  // A place in a slot that all of a node's ranks write.
  using CommonPlace =
      std::tuple<int, int, int, std::int32_t, std::int32_t>;  // node, channel, piece, lane, part
  CommonPlace common_place(const LoadedProgram& program, int instance, const Ref& ref) const {
    const CheckedProgram& of = program.program();
    const CheckedStep& step = of.steps[static_cast<std::size_t>(program.step_of(instance))];
    return {layout_.node_of[program.rank()], of.channel_of[step.stage], program.piece_of(instance), ref.lane,
            ref.sub_first};
  }
  static bool is_common(const LoadedProgram& program, const CheckedStep& step, const Ref& ref) {
    return ref.place == Place::shared && program.program().stages[step.stage].shared == SharedMode::common;
  }
  void note_writers(const LoadedProgram& program) {
    for (int i = 0; i < program.instances(); ++i) {
      const CheckedStep& checked = program.program().steps[static_cast<std::size_t>(program.step_of(i))];
      const bool writes = checked.step.kind == StepKind::copy || checked.step.kind == StepKind::reduce;
      if (writes && is_common(program, checked, checked.step.into))
        writer_of_[common_place(program, i, checked.step.into)] = program.rank();
    }
  }

  void count_step(const LoadedProgram& program, int instance) {
    const CheckedStep& checked = program.program().steps[static_cast<std::size_t>(program.step_of(instance))];
    const Step& step = checked.step;
    const auto bytes = [&](const Ref& ref) { return program.range(instance, ref).length(); };
    const int rank = program.rank();
    const std::vector<int>& node = layout_.ranks_of[static_cast<std::size_t>(layout_.node_of[rank])];
    if (step.kind == StepKind::send) {
      if (program.is_sent(instance)) add(rank, step.peer, data_of(bytes(step.left)));
    } else if (step.kind == StepKind::copy || step.kind == StepKind::reduce) {
      read(program, instance, step.left, node);
      if (step.kind == StepKind::reduce) read(program, instance, step.right, node);
    } else if (step.kind == StepKind::await) {
      add(node[static_cast<std::size_t>(step.peer)], rank, {.flags = 1});
    } else if (step.kind == StepKind::await_all) {
      for (const int other : node) add(other, rank, {.flags = 1});
    } else if (is_fused(step.kind)) {
      count_fused(step, step.kind == StepKind::node_barrier ? 0 : bytes(step.left), rank, node);
    }
  }

  // What lies in shared memory, or in another rank's, comes from whoever wrote it.
  void read(const LoadedProgram& program, int instance, const Ref& ref, const std::vector<int>& node) {
    const CheckedStep& checked = program.program().steps[static_cast<std::size_t>(program.step_of(instance))];
    int from = program.rank();
    if (is_common(program, checked, ref)) {
      const auto writer = writer_of_.find(common_place(program, instance, ref));
      if (writer != writer_of_.end()) from = writer->second;
    } else if (ref.place == Place::shared || schedule::is_remote(ref.place)) {
      from = node[static_cast<std::size_t>(ref.owner)];
    }
    add(from, program.rank(), data_of(program.range(instance, ref).length()));
  }

  void count_fused(const Step& step, std::int64_t bytes, int rank, const std::vector<int>& node) {
    const int local = layout_.local_rank_of[rank];
    if (has_block_for_each(step.kind)) bytes /= std::ssize(node);
    const Amount each{bytes, fused_lines(bytes), has_flags_in_lines(bytes) ? 0 : 1};
    if (step.along != nullptr) return count_along(step, each, local, node);
    for (int from = 0; from < std::ssize(node); ++from)
      if (is_heard(step.kind, step.peer, from, local)) add(node[static_cast<std::size_t>(from)], rank, each);
  }

  // A rank reads what those below it have, where something is joined, and what the one above it has, where
  // all get something.
  void count_along(const Step& step, const Amount& each, int local, const std::vector<int>& node) {
    const auto at = static_cast<std::size_t>(local);
    const int rank = node[at], parent = step.along->parent[at];
    if (goes_up(step.kind, step.tick)) {
      for (const int child : step.along->children[at]) add(node[static_cast<std::size_t>(child)], rank, each);
    }
    if (goes_down(step.kind, step.tick) && parent >= 0)
      add(node[static_cast<std::size_t>(parent)], rank, each);
  }

  void add(int from, int to, const Amount& amount) {
    if (from == to) return;
    const auto count = [&](Border& border) {
      border.bytes += amount.bytes;
      border.lines += amount.lines;
      border.flags += amount.flags;
    };
    if (layout_.node_of[from] != layout_.node_of[to]) return count(borders_.front());
    for (std::size_t level = 0; layout_.domains != nullptr && level < layout_.domains->levels.size();
         ++level) {
      const std::vector<int>& domain_of = layout_.domains->levels[level].domain_of;
      if (domain_of[from] != domain_of[to]) count(borders_[1 + level]);
    }
    count(borders_.back());
  }

  const CheckedCall& call_;
  const patterns::Layout& layout_;
  CheckLoad load_;
  std::vector<Border> borders_;
  std::map<CommonPlace, int> writer_of_;
};

// How often a vector enters or leaves a part at least: nodes among themselves, and all else inside its node.
void note_least(const schedule::Problem& problem, std::int64_t bytes, std::vector<Border>* borders) {
  const bool enters = problem.operation == Operation::bcast || problem.operation == Operation::allreduce ||
                      problem.operation == Operation::barrier;
  const bool leaves = problem.operation == Operation::reduce || problem.operation == Operation::allreduce ||
                      problem.operation == Operation::barrier;
  const int ways = (enters ? 1 : 0) + (leaves ? 1 : 0);
  if (ways == 0) return;
  const std::int64_t of_vector = problem.operation == Operation::barrier ? 0 : bytes;
  for (Border& border : *borders) {
    const bool is_nodes = &border == &borders->front();
    const std::int64_t crossings = ways * (border.parts - (is_nodes ? 1 : problem.layout->nodes()));
    border.least_bytes = crossings * of_vector;
    border.least_lines = crossings * fused_lines(of_vector);
  }
}

}  // namespace

std::vector<Border> count_transfers(const CheckedCall& call, std::int64_t bytes) {
  if (has_uneven_blocks(call.problem.operation) || call.problem.neighborhood != nullptr)
    throw std::invalid_argument("transfers are counted where all blocks are equally long");
  std::vector<Border> borders = Counter(call, bytes).count();
  note_least(call.problem, bytes, &borders);
  return borders;
}

}  // namespace unisono::proof
