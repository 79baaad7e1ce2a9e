// SPDX-License-Identifier: BSD-3-Clause
// One algorithm on one number of ranks.
#include <algorithm>
#include <set>
#include <utility>

#include "patterns/network.h"
#include "proof/check_contention.h"
#include "proof/check_parts.h"
#include "proof/check_schedule.h"
#include "proof/check_table.h"
#include "proof/fingerprint.h"
#include "schedule/dependencies.h"

namespace unisono::proof {
namespace {

constexpr std::int64_t beyond_measure = 4;
// More pieces of steps than this in one case prove nothing that fewer do not.
constexpr std::int64_t most_instances = 3'000'000;

std::int64_t instances_of(const CheckedCall& call, const CheckLoad& load) {
  std::int64_t instances = 0;
  for (int rank = 0; rank < call.problem.size; ++rank) {
    const CheckedProgram& program = call.programs[rank];
    const int local_size = call.problem.layout->local_size(rank);
    for (std::size_t i = 0; i < program.stages.size(); ++i) {
      const auto lane = slot_geometry(program.stages[i], load.area_elements, local_size).lane_elements;
      instances += (program.first_step[i + 1] - program.first_step[i]) *
                   piece_count(program.stages, i, load, load.elements, lane);
    }
  }
  return instances;
}

class SizeCheck {
 public:
  SizeCheck(const algorithms::Descriptor& descriptor, int size, const CheckOptions& options)
      : descriptor_(descriptor), size_(size), options_(options) {}

  Outcome run() {
    const auto shapes = check_shapes(descriptor_, size_, options_.seed);
    // Every layout comes within six shapes, every value of a parameter within twelve (see check_shapes).
    // Those are looked at beyond the effort, unless what runs has been looked at already. Where one shape
    // alone is many times the effort (barriers between all rounds of an exchange among 128 ranks), other
    // numbers of ranks see the other shapes.
    const std::size_t at_least = std::min(shapes.size(), least_shapes());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (spent_ > (i < at_least ? beyond_measure * options_.effort : options_.effort)) break;
      if (outcome_.failures.size() >= most_failures_of_part) break;
      check_shape(shapes[i], static_cast<int>(i));
    }
    if (is_neighborhood(descriptor_.operation)) check_graphs();
    return std::move(outcome_);
  }

 private:
  std::size_t least_shapes() const { return size_ <= 33 ? 12 : 6; }

  void fail(const std::string& where, const std::string& what) {
    if (outcome_.failures.size() < most_failures_of_part) {
      outcome_.failures.push_back({std::string(name(descriptor_.operation)), descriptor_.name, where, what});
    }
  }

  void check_shape(const CheckShape& shape, int number) {
    const std::string where = shape.describe(descriptor_);
    std::vector<std::string> failures;
    const CheckedCall call = spread_out(descriptor_, shape, &failures, &known_);
    for (const std::string& failure : failures) fail(where, failure);
    if (!failures.empty()) return;
    const std::uint64_t fingerprint = Fingerprint(call).value();
    if (descriptor_.is_free_of_contention && links_seen_.insert({shape.layout.name, fingerprint}).second) {
      check_links(call, where);
    }
    const bool is_new = seen_.insert(fingerprint).second;
    if (!is_new && spent_ > options_.effort) return;
    check_header(call, shape, where);
    const auto counts = check_counts(descriptor_.operation, size_);
    // All counts for few ranks; for more, one that is cut and another, in turn.
    const std::size_t wanted = size_ <= 8 ? counts.size() : size_ <= 33 ? 2 : 1;
    for (std::size_t i = 0; i < std::min(wanted, counts.size()); ++i) {
      const std::size_t choice = size_ <= 8 ? i : (number + i * (1 + number)) % counts.size();
      check_load(call, counts[choice], number + static_cast<int>(i), where);
    }
  }

  // Every graph of few ranks on all layouts, then random ones.
  void check_graphs() {
    const std::vector<CheckShape> shapes = shapes_without_graph(descriptor_, size_);
    if (shapes.empty()) return;
    int number = 0;
    const auto check = [&](const NamedGraph& graph) {
      CheckShape shape = shapes[static_cast<std::size_t>(number) % shapes.size()];
      shape.graph = graph;
      if (outcome_.failures.size() < most_failures_of_part) check_graph(shape, number);
      ++number;
    };
    constexpr int most_ranks_of_all = 3;
    const int layouts = static_cast<int>(check_layouts(size_).size());
    const std::uint32_t digraphs = size_ <= most_ranks_of_all ? 1u << size_ * size_ : 0;
    for (std::uint32_t graph = 0; graph < digraphs; ++graph) {
      for (int layout = 0; layout < layouts; ++layout) check(digraph(size_, graph));
    }
    for (const NamedGraph& graph : named_graphs(size_)) check(graph);
    constexpr int most_ranks_of_many = 33, many_to_few = 8;
    const algorithms::Legality& legality = descriptor_.legality;
    const bool is_looked_at_closely =
        (legality.needs_shared_memory || legality.needs_whole_graph) && size_ <= most_ranks_of_many;
    const int graphs = options_.random_graphs / (is_looked_at_closely ? 1 : many_to_few);
    for (int i = 0; i < graphs; ++i)
      check(random_multigraph(size_, options_.seed * 1000 + static_cast<std::uint32_t>(i)));
  }

  void check_graph(const CheckShape& shape, int number) {
    const std::string where = shape.describe(descriptor_);
    std::vector<std::string> failures;
    const CheckedCall call = spread_out(descriptor_, shape, &failures);
    for (const std::string& failure : failures) fail(where, failure);
    if (!failures.empty()) return;
    check_header(call, shape, where);
    const std::vector<std::int64_t> counts = check_counts(descriptor_.operation, size_);
    check_load(call, counts[static_cast<std::size_t>(number / 3) % counts.size()], number, where);
  }

  // S6. What no run does is shown for as many ranks as the source has, rounds for all.
  void check_links(const CheckedCall& call, const std::string& where) {
    constexpr int most_ranks_over_time = 33;
    ++outcome_.cases;
    const RoundsOnLinks links = rounds_on_links(call);
    if (links.most_on_a_link > 1) return fail(where, "contention: " + links.first_conflict);
    const std::int64_t least = descriptor_.operation == Operation::alltoall
                                   ? patterns::Network(*call.problem.layout).least_phases()
                                   : size_ - 1;
    if (links.rounds != least && size_ > 1) {
      fail(where, "takes " + std::to_string(links.rounds) + " rounds, " + std::to_string(least) +
                      " would be enough");
    }
    if (size_ > most_ranks_over_time) return;
    const std::string conflict = conflict_over_time(call);
    if (!conflict.empty()) fail(where, "contention: " + conflict);
  }

  // What ranks cut by must be the same on all, and nobody may deal in blocks whose lengths it does not know.
  void check_header(const CheckedCall& call, const CheckShape& shape, const std::string& where) {
    const Operation operation = descriptor_.operation;
    if (!has_uneven_blocks(operation) || has_known_blocks(operation)) return;
    if (is_neighborhood(operation)) return check_neighbors_header(call, shape, where);
    if (descriptor_.build_tree_header) {
      check_tree_header(call, shape, where);
    } else if (descriptor_.build_header) {
      for (const auto& ranks : call.problem.layout->ranks_of) check_telling(std::ssize(ranks), shape, where);
    } else {
      for (const schedule::Stage& stage : call.programs[0].stages) {
        if (stage.shared == schedule::SharedMode::none && stage.segment_bytes == 0) continue;
        fail(where, "cuts blocks by a length that ranks do not agree on");
      }
    }
    if (is_uneven_alltoall(operation) || descriptor_.build_tree_header) return;
    const patterns::Layout& layout = *call.problem.layout;
    for (int rank = 0; rank < size_; ++rank) {
      const std::vector<bool> wanted = blocks_of(call, rank);
      for (int block = 0; block < size_; ++block) {
        const bool is_told = descriptor_.build_header && layout.node_of[block] == layout.node_of[rank];
        if (!wanted[block] || rank == call.problem.root || block == rank || is_told) continue;
        fail(where, "rank " + std::to_string(rank) + " deals in a block whose length it does not know");
      }
    }
  }

  void check_neighbors_header(const CheckedCall& call, const CheckShape& shape, const std::string& where) {
    std::vector<std::string> failures;
    if (!descriptor_.build_header) inspect_own_lengths(call, &failures);
    for (const std::string& failure : failures) fail(where, failure);
    for (const auto& ranks : call.problem.layout->ranks_of) {
      const std::int64_t numbers = call.programs[ranks.front()].blocks->told_by_rank;
      const bool is_new = told_.insert({std::ssize(ranks), numbers}).second;
      if (descriptor_.build_header && is_new) check_telling(std::ssize(ranks), shape, where, numbers);
    }
  }

  // The blocks that a rank's program names.
  std::vector<bool> blocks_of(const CheckedCall& call, int rank) const {
    std::vector<bool> named_blocks(static_cast<std::size_t>(size_));
    for (const CheckedStep& checked : call.programs[rank].steps) {
      const schedule::Operands named = schedule::operands(checked.step);
      for (const schedule::Ref* ref : {named.reads[0], named.reads[1], named.write}) {
        if (ref == nullptr) continue;
        for (std::int64_t i = ref->first; i < ref->last; ++i) named_blocks[i % size_] = true;
      }
    }
    return named_blocks;
  }

  void check_tree_header(const CheckedCall& call, const CheckShape& shape, const std::string& where) {
    schedule::Problem telling = call.problem;
    telling.operation = Operation::allgather;
    const auto build = [&](const schedule::Problem& problem) {
      return descriptor_.build_tree_header(problem, shape.parameters);
    };
    std::vector<std::string> failures;
    CheckedCall header = spread_out("the header", telling, true, build, &failures);
    header.knowing_rank = telling.root;
    for (int rank = 0; rank < size_; ++rank) header.wanted.push_back(blocks_of(call, rank));
    if (failures.empty()) failures = check({&header}, {1}, CheckLoad{.elements = 1});
    ++outcome_.cases;
    for (const std::string& failure : failures) fail(where, failure);
  }

  // `numbers`: of each rank.
  void check_telling(std::int64_t ranks, const CheckShape& shape, const std::string& where,
                     std::int64_t numbers = 1) {
    if (ranks == 1) return;
    schedule::Problem telling;
    telling.operation = Operation::allgather;
    telling.size = static_cast<int>(ranks);
    telling.layout = std::make_shared<const patterns::Layout>(patterns::Layout::one_node(telling.size));
    std::vector<std::string> failures;
    const auto build = [&](const schedule::Problem& problem) {
      return descriptor_.build_header(problem, shape.parameters);
    };
    const CheckedCall header = spread_out("the header", telling, false, build, &failures);
    CheckLoad load{.elements = numbers};
    load.area_elements = std::max<std::int64_t>(load.area_elements, ranks * numbers);
    if (failures.empty()) failures = check({&header}, {numbers}, load);
    ++outcome_.cases;
    for (const std::string& failure : failures) fail(where, failure);
  }

  void check_load(const CheckedCall& call, std::int64_t elements, int number, const std::string& where) {
    if (!descriptor_.legality.takes(elements * 8, size_)) return;
    const int pieces = size_ <= 33 ? 1 + number % 3 + (number % 7 == 3 ? 2 : 0) : 1 + number % 4 / 3;
    constexpr Cut cuts[] = {Cut::forced, Cut::by_slots, Cut::forced, Cut::by_size};
    CheckLoad load = load_for(descriptor_, call, elements, pieces, cuts[number % 4], number / 4 % 3);
    load.pattern = number % block_patterns;
    fit_slots(call, &load);
    const std::int64_t instances = instances_of(call, load);
    if (instances > most_instances) return;
    CheckEffort effort;
    effort.seed = options_.seed + static_cast<std::uint32_t>(number);
    effort.orders = size_ <= 8 ? 2 : number % 4 == 0 ? 1 : 0;
    effort.most_ranks_ordered = size_ <= 33 ? 12 : 5;
    ++outcome_.cases;
    spent_ += instances * (1 + effort.orders);
    const auto failures = check({&call}, {elements}, load, effort);
    if (failures.empty()) return;
    const std::string with_count = where + count_of(elements, most_pieces(call, load));
    for (const std::string& text : failures) fail(with_count, text);
  }

  const algorithms::Descriptor& descriptor_;
  int size_;
  const CheckOptions& options_;
  KnownPrograms known_;
  std::set<std::uint64_t> seen_;
  std::set<std::pair<std::int64_t, std::int64_t>> told_;  // ranks and numbers whose telling is proved
  std::set<std::pair<std::string, std::uint64_t>> links_seen_;
  std::int64_t spent_ = 0;
  Outcome outcome_;
};

}  // namespace

std::string title_of(const algorithms::Descriptor& descriptor) {
  return std::string(name(descriptor.operation)) + "/" + descriptor.name;
}

std::string count_of(std::int64_t elements, std::int64_t pieces) {
  return ", " + std::to_string(elements) + (elements == 1 ? " element" : " elements") +
         (pieces > 1 ? " in up to " + std::to_string(pieces) + " pieces" : "");
}

Outcome check_size(const algorithms::Descriptor& descriptor, int size, const CheckOptions& options) {
  return SizeCheck(descriptor, size, options).run();
}

}  // namespace unisono::proof
