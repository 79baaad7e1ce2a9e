// SPDX-License-Identifier: BSD-3-Clause
// Long messages of a node along its caches, NUMA domains and sockets, through a channel. A vector has a part
// for each rank. Where operands are joined, a domain's ranks share out the parts. Each joins its run of them:
// first of the ranks in its innermost domain, then of the domains in the next one, and so on. On the way back
// each part enters a domain through one of its ranks, and the others take it from there.
#include <utility>

#include "algorithms/building/compose.h"
#include "algorithms/catalogue/parameters.h"
#include "algorithms/shared_memory/along_domains.h"
#include "algorithms/shared_memory/shared.h"
#include "patterns/domain_shares.h"

namespace unisono::algorithms {

using patterns::SharingGroup;
using patterns::SharingLevel;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::SharedMode;
using schedule::Stage;
using schedule::Writer;

bool goes_along_domains(const Problem& problem, const Parameters& parameters) {
  if (parameters.get_or("domains", 0) == 0 || problem.layout->domains == nullptr) return false;
  if (!is_reduction(problem.operation)) return true;
  const bool keeps_order = problem.root == 0 && problem.layout->has_domains_in_order();
  return !problem.is_reproducible && (problem.is_commutative || keeps_order);
}

schedule::Tree tree_along_domains(const Problem& problem, const Parameters& parameters) {
  if (!goes_along_domains(problem, parameters)) return nullptr;
  return std::make_shared<const patterns::DomainTree>(
      patterns::domain_tree(*problem.layout, 0, problem.root));
}

// Who stands at the head of a domain takes each piece from the slot of whoever it is below, and those below
// it take it from its own slot.
Program bcast_along_domains(const Problem& problem, const Parameters& parameters) {
  const schedule::Tree tree = tree_along_domains(problem, parameters);
  return one_stage(channel_stage(parameters, SharedMode::own, 1, [=](Writer& writer) {
    const auto rank = static_cast<std::size_t>(problem.rank);
    const Ref data = whole(Place::output);
    const int above = tree->parent[rank];
    if (above >= 0) {
      writer.await(above, 1);
      writer.copy(data, data.in_slot_of(above));
    }
    if (tree->children[rank].empty()) return;
    writer.await_space();
    writer.copy(data.in_slot_of(problem.rank), data);
  }));
}

namespace {

// The parts [first, last) of every piece.
Ref run_of(Ref vector, int first, int last, int parts) {
  vector.sub_first = first;
  vector.sub_last = last;
  vector.sub_parts = parts;
  return vector;
}

// What one rank writes of a reduction along domains. Lane 0 of a slot has the operand; lane k what was joined
// k times, in the end the result.
class DomainReduction {
 public:
  DomainReduction(const Problem& problem, int root)
      : rank_(problem.rank),
        parts_(problem.size),
        root_(root),
        levels_(patterns::sharing_levels(*problem.layout, 0, problem.rank, root)) {}

  int lanes() const { return result_lane() + 1; }
  int ticks() const { return tick_of_level(0) + 1; }

  void put_operand(Writer& writer) const {
    const auto [first, last] = own_run(levels_.front().whole);
    writer.await_space();
    put(writer, 0, first);
    put(writer, last, parts_);
    writer.signal(1);
  }

  // The last step of the last level writes to the output where `is_for_output`.
  void join(Writer& writer, bool is_for_output) const {
    for (int level = 0; level < depth(); ++level) {
      const auto [first, last] = own_run(levels_[static_cast<std::size_t>(level)].whole);
      if (first == last) continue;
      const bool is_result = level + 1 == depth();
      for (int from = first, to = first; from < last; from = to) {
        const std::vector<int> sources = sources_of(level, from);
        while (to < last && sources_of(level, to) == sources) ++to;
        join_run(writer, level, sources, from, to, is_result && is_for_output);
      }
      const Ref result = run_of(whole(Place::output), first, last, parts_);
      if (is_result && is_for_output && root_ < 0)
        writer.copy(result.in_slot_of(rank_, result_lane()), result);
      writer.signal(joined(level));
    }
  }

  // Of a reduce, at the root: what other ranks have joined for it.
  void get_results(Writer& writer) const {
    const SharingGroup& node = levels_.back().whole;
    for (std::size_t i = 0; i < node.workers.size(); ++i) {
      const int worker = node.workers[i];
      if (worker == rank_) continue;
      const int first = node.first_of(static_cast<int>(i), parts_);
      const int last = node.first_of(static_cast<int>(i) + 1, parts_);
      if (first < last) get(writer, worker, joined(depth() - 1), first, last);
    }
  }

  // Of an allreduce: level by level from the node inwards, each part by one rank of the domain; at last by
  // each rank.
  void spread(Writer& writer) const {
    std::vector<Holder> holders;
    for (int part = 0; part < parts_; ++part) holders.push_back({part, joined(depth() - 1)});
    for (int level = depth() - 2; level >= 0; --level) {
      const SharingGroup& domain = levels_[static_cast<std::size_t>(level)].whole;
      std::vector<Holder> inside = holders;
      for (int part = 0; part < parts_; ++part) {
        Holder& holder = inside[static_cast<std::size_t>(part)];
        if (!domain.has(holder.rank)) holder = {domain.worker_of(part, parts_), tick_of_level(level)};
      }
      fetch_for_others(writer, holders, inside);
      writer.signal(tick_of_level(level));
      holders = std::move(inside);
    }
    for_runs(holders, [&](int first, int last, const Holder& holder) {
      if (holder.rank != rank_) get(writer, holder.rank, holder.tick, first, last);
    });
  }

 private:
  // Who has a part in the result's lane of its slot, and from which tick on.
  struct Holder {
    int rank, tick;
    bool operator==(const Holder&) const = default;
  };

  int depth() const { return static_cast<int>(levels_.size()); }
  int result_lane() const { return depth(); }
  int joined(int level) const { return 2 + level; }
  int tick_of_level(int level) const { return joined(depth() - 1) + depth() - 1 - level; }

  std::pair<int, int> own_run(const SharingGroup& group) const {
    for (std::size_t i = 0; i < group.workers.size(); ++i) {
      const int index = static_cast<int>(i);
      if (group.workers[i] == rank_)
        return {group.first_of(index, parts_), group.first_of(index + 1, parts_)};
    }
    return {0, 0};
  }
  void put(Writer& writer, int first, int last) const {
    const Ref run = run_of(whole(Place::input), first, last, parts_);
    if (first < last) writer.copy(run.in_slot_of(rank_), run);
  }
  void get(Writer& writer, int from, int tick, int first, int last) const {
    const Ref run = run_of(whole(Place::output), first, last, parts_);
    writer.await(from, tick);
    writer.copy(run, run.in_slot_of(from, result_lane()));
  }
  // Who has what is joined of `part` on this level, in the order of the ranks.
  std::vector<int> sources_of(int level, int part) const {
    std::vector<int> sources;
    for (const SharingGroup& group : levels_[static_cast<std::size_t>(level)].inside)
      sources.push_back(group.worker_of(part, parts_));
    return sources;
  }
  void join_run(Writer& writer, int level, const std::vector<int>& sources, int first, int last,
                bool is_for_output) const {
    const Ref run = run_of(whole(Place::input), first, last, parts_);
    const Ref slot = run.in_slot_of(rank_, level + 1);
    const Ref result = is_for_output ? run.in(Place::output) : slot;
    const auto operand_of = [&](int source) {
      const bool is_private = level == 0 && source == rank_;
      return is_private ? run : run.in_slot_of(source, level);
    };
    for (const int source : sources)
      if (source != rank_) writer.await(source, level == 0 ? 1 : joined(level - 1));
    if (sources.size() == 1) writer.copy(result, operand_of(sources.front()));
    for (std::size_t i = 1; i < sources.size(); ++i) {
      const bool is_last = i + 1 == sources.size();
      writer.reduce(is_last ? result : slot, i == 1 ? operand_of(sources.front()) : slot,
                    operand_of(sources[i]));
    }
  }
  template <class Take>
  void for_runs(const std::vector<Holder>& holders, Take take) const {
    // From the own part on, so that not all begin with the same one.
    for (int i = 0; i < parts_;) {
      const int first = (rank_ + i) % parts_;
      const Holder& holder = holders[static_cast<std::size_t>(first)];
      int last = first;
      while (last < parts_ && i < parts_ && holders[static_cast<std::size_t>(last)] == holder) ++last, ++i;
      take(first, last, holder);
    }
  }
  // What this rank is to hold of what nobody inside has.
  void fetch_for_others(Writer& writer, const std::vector<Holder>& outside,
                        const std::vector<Holder>& inside) const {
    for_runs(outside, [&](int first, int last, const Holder& holder) {
      for (int from = first, to = first; from < last; from = to) {
        const auto is_taken = [&](int part) {
          const Holder& next = inside[static_cast<std::size_t>(part)];
          return next.rank == rank_ && !(next == holder);
        };
        while (to < last && is_taken(to) == is_taken(from)) ++to;
        if (!is_taken(from)) continue;
        get(writer, holder.rank, holder.tick, from, to);
        const Ref run = run_of(whole(Place::output), from, to, parts_);
        writer.copy(run.in_slot_of(rank_, result_lane()), run);
      }
    });
  }

  int rank_, parts_, root_;
  std::vector<SharingLevel> levels_;
};

Program reduction_along_domains(const Problem& problem, const Parameters& parameters, int root) {
  const auto reduction = std::make_shared<const DomainReduction>(problem, root);
  Stage stage = channel_stage(parameters, SharedMode::own, reduction->ticks(), [=](Writer& writer) {
    reduction->put_operand(writer);
    reduction->join(writer, root < 0 || problem.rank == root);
    if (root < 0) {
      reduction->spread(writer);
    } else if (problem.rank == root) {
      reduction->get_results(writer);
    }
  });
  stage.lanes = reduction->lanes();
  return one_stage(std::move(stage));
}

}  // namespace

Program reduce_along_domains(const Problem& problem, const Parameters& parameters) {
  return reduction_along_domains(problem, parameters, problem.root);
}

Program allreduce_along_domains(const Problem& problem, const Parameters& parameters) {
  constexpr int no_root = -1;
  return reduction_along_domains(problem, parameters, no_root);
}

namespace {

Descriptor descriptor(Operation operation, std::string sentence, Descriptor::Build build) {
  return {.name = "shared_domains",
          .operation = operation,
          .group = "shared",
          .sentence = std::move(sentence),
          .source = "A2, section 2.4; G2",
          .legality = {.needs_one_node = true, .needs_domains = true, .needs_shared_memory = true},
          .parameters = {buffers_parameter(), piece_parameter()},
          .build = std::move(build)};
}

std::vector<Descriptor> make() {
  return {
      descriptor(Operation::bcast,
                 "Each piece enters a domain of the node once, and all inside take it from there.",
                 along_domains<bcast_along_domains>),
      descriptor(
          Operation::reduce,
          "Ranks join their parts of each piece domain by domain, and the root reads the joined parts.",
          along_domains<reduce_along_domains>),
      descriptor(
          Operation::allreduce,
          "Ranks join their parts of each piece domain by domain, and each joined part enters a domain once.",
          along_domains<allreduce_along_domains>),
  };
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
