// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/check.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "algorithms/check_cases.h"
#include "patterns/network.h"
#include "schedule/check.h"
#include "schedule/check_contention.h"
#include "schedule/dependencies.h"

namespace unisono::algorithms {
namespace {

using schedule::CheckedCall;
using schedule::CheckEffort;
using schedule::CheckLoad;

std::string title_of(const Descriptor& descriptor) {
  return std::string(name(descriptor.operation)) + "/" + descriptor.name;
}

struct Outcome {
  std::int64_t cases = 0;
  std::vector<CheckFailure> failures;
};

// One piece of work for a thread.
struct Item {
  std::string operation, algorithm;
  std::function<Outcome()> run;
};

constexpr std::size_t most_failures_of_item = 5;
constexpr std::int64_t beyond_measure = 4;
// More pieces of steps than this in one case prove nothing that fewer do not.
constexpr std::int64_t most_instances = 3'000'000;

std::int64_t instances_of(const CheckedCall& call, const CheckLoad& load) {
  std::int64_t instances = 0;
  for (int rank = 0; rank < call.problem.size; ++rank) {
    const schedule::CheckedProgram& program = call.programs[rank];
    const int local_size = call.problem.layout->local_size(rank);
    for (std::size_t i = 0; i < program.stages.size(); ++i) {
      const auto lane =
          schedule::slot_geometry(program.stages[i], load.area_elements, local_size).lane_elements;
      instances += (program.first_step[i + 1] - program.first_step[i]) *
                   schedule::piece_count(program.stages, i, load, load.elements, lane);
    }
  }
  return instances;
}

// What decides how a call runs, but for its count and how it is cut: two shapes with equal numbers (other
// layouts, say, where no step uses a node's memory) run alike.
class Fingerprint {
 public:
  explicit Fingerprint(const CheckedCall& call) {
    bool has_node_steps = false;
    for (const schedule::CheckedProgram& program : call.programs) {
      for (const schedule::Stage& stage : program.stages) {
        mix(stage.segment_bytes != 0, stage.shared, stage.ticks, stage.buffers, stage.lanes);
      }
      for (const schedule::CheckedStep& step : program.steps) {
        mix(step);
        has_node_steps = has_node_steps || step.is_node;
      }
      mix(program.steps.size());
    }
    for (const int node : call.problem.layout->node_of) {
      if (has_node_steps) mix(node);
    }
  }
  std::uint64_t value() const { return hash_; }

 private:
  template <typename... Values>
  void mix(Values... values) {
    const auto one = [this](std::uint64_t value) {
      hash_ = (hash_ ^ value) * 0x9e3779b97f4a7c15u;
      hash_ ^= hash_ >> 29;
    };
    (one(static_cast<std::uint64_t>(values)), ...);
  }
  void mix(const schedule::Ref& ref) {
    mix(ref.place, ref.first, ref.last, ref.parts, ref.sub_first, ref.sub_last, ref.sub_parts, ref.owner,
        ref.lane);
  }
  void mix(const schedule::CheckedStep& step) {
    mix(step.stage, step.round, step.step.kind, step.step.peer, step.step.tick);
    for (const schedule::Ref* ref : {&step.step.into, &step.step.left, &step.step.right}) mix(*ref);
  }

  std::uint64_t hash_ = 0;
};

std::string count_of(std::int64_t elements, std::int64_t pieces) {
  return ", " + std::to_string(elements) + (elements == 1 ? " element" : " elements") +
         (pieces > 1 ? " in up to " + std::to_string(pieces) + " pieces" : "");
}

// One algorithm on one number of ranks.
class SizeCheck {
 public:
  SizeCheck(const Descriptor& descriptor, int size, const CheckOptions& options)
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
      if (outcome_.failures.size() >= most_failures_of_item) break;
      check_shape(shapes[i], static_cast<int>(i));
    }
    return std::move(outcome_);
  }

 private:
  std::size_t least_shapes() const { return size_ <= 33 ? 12 : 6; }

  void fail(const std::string& where, const std::string& what) {
    if (outcome_.failures.size() < most_failures_of_item) {
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

  // S6. What no run does is shown for as many ranks as the source has, rounds for all.
  void check_links(const CheckedCall& call, const std::string& where) {
    constexpr int most_ranks_over_time = 33;
    ++outcome_.cases;
    const schedule::RoundsOnLinks links = schedule::rounds_on_links(call);
    if (links.most_on_a_link > 1) return fail(where, "contention: " + links.first_conflict);
    const std::int64_t least = descriptor_.operation == Operation::alltoall
                                   ? patterns::Network(*call.problem.layout).least_phases()
                                   : size_ - 1;
    if (links.rounds != least && size_ > 1) {
      fail(where, "takes " + std::to_string(links.rounds) + " rounds, " + std::to_string(least) +
                      " would be enough");
    }
    if (size_ > most_ranks_over_time) return;
    const std::string conflict = schedule::conflict_over_time(call);
    if (!conflict.empty()) fail(where, "contention: " + conflict);
  }

  // What ranks cut by must be the same on all, and nobody may deal in blocks whose lengths it does not know.
  void check_header(const CheckedCall& call, const CheckShape& shape, const std::string& where) {
    const Operation operation = descriptor_.operation;
    if (!has_uneven_blocks(operation) || has_known_blocks(operation)) return;
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

  // The blocks that a rank's program names.
  std::vector<bool> blocks_of(const CheckedCall& call, int rank) const {
    std::vector<bool> named_blocks(static_cast<std::size_t>(size_));
    for (const schedule::CheckedStep& checked : call.programs[rank].steps) {
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
    CheckedCall header = schedule::spread_out("the header", telling, true, build, &failures);
    header.knowing_rank = telling.root;
    for (int rank = 0; rank < size_; ++rank) header.wanted.push_back(blocks_of(call, rank));
    if (failures.empty()) failures = schedule::check({&header}, {1}, CheckLoad{.elements = 1});
    ++outcome_.cases;
    for (const std::string& failure : failures) fail(where, failure);
  }

  void check_telling(std::int64_t ranks, const CheckShape& shape, const std::string& where) {
    if (ranks == 1) return;
    schedule::Problem telling;
    telling.operation = Operation::allgather;
    telling.size = static_cast<int>(ranks);
    telling.layout = std::make_shared<const patterns::Layout>(patterns::Layout::one_node(telling.size));
    std::vector<std::string> failures;
    const auto build = [&](const schedule::Problem& problem) {
      return descriptor_.build_header(problem, shape.parameters);
    };
    const CheckedCall header = schedule::spread_out("the header", telling, false, build, &failures);
    if (failures.empty()) failures = schedule::check({&header}, {1}, CheckLoad{.elements = 1});
    ++outcome_.cases;
    for (const std::string& failure : failures) fail(where, failure);
  }

  void check_load(const CheckedCall& call, std::int64_t elements, int number, const std::string& where) {
    if (!descriptor_.legality.takes(elements * 8, size_)) return;
    const int pieces = size_ <= 33 ? 1 + number % 3 + (number % 7 == 3 ? 2 : 0) : 1 + number % 4 / 3;
    constexpr Cut cuts[] = {Cut::forced, Cut::by_slots, Cut::forced, Cut::by_size};
    CheckLoad load = load_for(descriptor_, call, elements, pieces, cuts[number % 4], number / 4 % 3);
    load.pattern = number % schedule::block_patterns;
    const std::int64_t instances = instances_of(call, load);
    if (instances > most_instances) return;
    CheckEffort effort;
    effort.seed = options_.seed + static_cast<std::uint32_t>(number);
    effort.orders = size_ <= 8 ? 2 : number % 4 == 0 ? 1 : 0;
    effort.most_ranks_ordered = size_ <= 33 ? 12 : 5;
    ++outcome_.cases;
    spent_ += instances * (1 + effort.orders);
    const auto failures = schedule::check({&call}, {elements}, load, effort);
    if (failures.empty()) return;
    const std::string with_count = where + count_of(elements, schedule::most_pieces(call, load));
    for (const std::string& text : failures) fail(with_count, text);
  }

  const Descriptor& descriptor_;
  int size_;
  const CheckOptions& options_;
  schedule::KnownPrograms known_;
  std::set<std::uint64_t> seen_;
  std::set<std::pair<std::string, std::uint64_t>> links_seen_;
  std::int64_t spent_ = 0;
  Outcome outcome_;
};

// --- Calls that follow each other on one slice ---

struct Follower {
  const Descriptor* descriptor;
  CheckShape shape;
  CheckedCall call;
  std::int64_t elements;
  CheckLoad load;
};

bool uses_node(const CheckedCall& call) {
  return std::any_of(call.programs.begin(), call.programs.end(), [](const auto& program) {
    return std::any_of(program.steps.begin(), program.steps.end(),
                       [](const auto& step) { return step.is_node; });
  });
}

// What a call does with the node's memory. Two calls that are equal in it (two-level algorithms with
// different messages between the same phases of the nodes) leave the channels in one state, and find there
// what they want if either does: flags alone order it.
std::uint64_t node_fingerprint(const CheckedCall& call) {
  CheckedCall on_nodes = call;
  for (schedule::CheckedProgram& program : on_nodes.programs) {
    std::erase_if(program.steps, [](const schedule::CheckedStep& step) { return !step.is_node; });
    std::erase_if(program.stages,
                  [](const schedule::Stage& stage) { return stage.shared == schedule::SharedMode::none; });
    for (schedule::CheckedStep& step : program.steps) step.stage = program.channel_of[step.stage];
  }
  return Fingerprint(on_nodes).value();
}

// Each of the algorithms that use shared memory on this layout, in two shapes, unless another one does the
// same there.
std::vector<Follower> followers(const std::vector<const Descriptor*>& descriptors, const NamedLayout& layout,
                                std::uint32_t seed) {
  std::vector<Follower> all;
  std::set<std::uint64_t> seen;
  for (const Descriptor* descriptor : descriptors) {
    int taken = 0;
    for (const CheckShape& shape : check_shapes(*descriptor, layout.layout->size(), seed)) {
      if (shape.layout.name != layout.name || taken == 2) continue;
      std::vector<std::string> failures;
      CheckedCall call = spread_out(*descriptor, shape, &failures);
      if (!failures.empty() || !uses_node(call)) break;
      const auto counts = check_counts(descriptor->operation, layout.layout->size());
      const std::int64_t elements = counts[taken == 0 ? 0 : counts.size() - 1];
      CheckLoad load = load_for(*descriptor, call, elements, 1 + 2 * taken, Cut::by_slots);
      load.pattern = 1 + 2 * taken;
      ++taken;
      if (!seen.insert(node_fingerprint(call) + static_cast<std::uint64_t>(taken)).second) continue;
      all.push_back({descriptor, shape, std::move(call), elements, load});
    }
  }
  return all;
}

class SequenceCheck {
 public:
  SequenceCheck(const std::vector<const Descriptor*>& descriptors, const NamedLayout& layout,
                const CheckOptions& options)
      : followers_(followers(descriptors, layout, options.seed)), layout_(layout), options_(options) {}

  // Every one after every other, and then the first again: so any two follow each other, whatever state the
  // channels are in.
  Outcome run() {
    std::uint32_t number = 0;
    for (const Follower& first : followers_) {
      for (const Follower& second : followers_) {
        if (outcome_.failures.size() >= most_failures_of_item) return std::move(outcome_);
        check_three(first, second, ++number);
      }
    }
    return std::move(outcome_);
  }

 private:
  void check_three(const Follower& first, const Follower& second, std::uint32_t number) {
    CheckLoad load = first.load;
    load.area_elements = std::max(first.load.area_elements, second.load.area_elements);
    CheckEffort effort{
        .orders = number % 3 == 0 ? 1 : 0, .most_ranks_ordered = 0, .seed = options_.seed + number};
    ++outcome_.cases;
    const auto failures = schedule::check({&first.call, &second.call, &first.call},
                                          {first.elements, second.elements, first.elements}, load, effort);
    for (const std::string& text : failures) {
      outcome_.failures.push_back({std::string(name(first.descriptor->operation)), first.descriptor->name,
                                   first.shape.describe(*first.descriptor) + count_of(first.elements, 1) +
                                       ", then " + title_of(*second.descriptor) + ", " +
                                       second.shape.describe(*second.descriptor) +
                                       count_of(second.elements, 1) + ", then the first again",
                                   text});
    }
  }

  std::vector<Follower> followers_;
  NamedLayout layout_;
  const CheckOptions& options_;
  Outcome outcome_;
};

// --- All together ---

class Runner {
 public:
  Runner(std::vector<Item> items, const CheckOptions& options)
      : items_(std::move(items)), options_(options) {}

  void run(CheckResult* result) {
    const int wanted = options_.threads > 0
                           ? options_.threads
                           : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    std::vector<std::thread> threads;
    for (int i = 1; i < wanted; ++i) threads.emplace_back([&] { work(result); });
    work(result);
    for (std::thread& thread : threads) thread.join();
  }

 private:
  void work(CheckResult* result) {
    while (true) {
      const std::size_t index = next_++;
      if (index >= items_.size()) return;
      Outcome outcome = items_[index].run();
      const std::lock_guard lock(mutex_);
      result->cases += outcome.cases;
      std::move(outcome.failures.begin(), outcome.failures.end(), std::back_inserter(result->failures));
      ++done_;
      if (options_.progress) {
        options_.progress({done_, static_cast<std::int64_t>(items_.size()), result->cases,
                           static_cast<std::int64_t>(result->failures.size()), items_[index].operation,
                           items_[index].algorithm});
      }
    }
  }

  std::vector<Item> items_;
  const CheckOptions& options_;
  std::atomic<std::size_t> next_ = 0;
  std::int64_t done_ = 0;
  std::mutex mutex_;
};

}  // namespace

std::vector<int> standard_check_ranks() {
  std::vector<int> ranks;
  for (int size = 1; size <= 33; ++size) ranks.push_back(size);
  ranks.insert(ranks.end(), {64, 100, 127, 128});
  return ranks;
}

CheckResult check(const std::vector<const Descriptor*>& descriptors, const CheckOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<int> sizes = options.ranks.empty() ? standard_check_ranks() : options.ranks;
  // The largest first, so that no thread is left with one at the end.
  std::sort(sizes.rbegin(), sizes.rend());
  std::vector<Item> items;
  for (const int size : sizes) {
    for (const Descriptor* descriptor : descriptors) {
      items.push_back({std::string(name(descriptor->operation)), descriptor->name,
                       [=, &options] { return SizeCheck(*descriptor, size, options).run(); }});
    }
    if (size < 2 || size > 6) continue;
    for (const NamedLayout& layout : check_layouts(size)) {
      items.push_back({"all", "one after another",
                       [=, &options] { return SequenceCheck(descriptors, layout, options).run(); }});
    }
  }
  CheckResult result;
  result.algorithms = static_cast<int>(descriptors.size());
  Runner(std::move(items), options).run(&result);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

CheckResult check(const Descriptor& descriptor, const CheckOptions& options) {
  return check(std::vector<const Descriptor*>{&descriptor}, options);
}

}  // namespace unisono::algorithms
