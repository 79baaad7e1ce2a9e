// SPDX-License-Identifier: BSD-3-Clause
// Calls that follow each other on one slice.
#include <algorithm>
#include <set>
#include <utility>

#include "proof/check_parts.h"
#include "proof/check_schedule.h"
#include "proof/fingerprint.h"

namespace unisono::proof {
namespace {

struct Follower {
  const algorithms::Descriptor* descriptor;
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

// What a call does with the node's memory. Two calls may be equal in it, as those of two-level algorithms
// with different messages between the same phases of the nodes. They leave the channels in one state, and
// both find there what they want if either does, since flags alone order it.
std::uint64_t node_fingerprint(const CheckedCall& call) {
  CheckedCall on_nodes = call;
  for (CheckedProgram& program : on_nodes.programs) {
    std::erase_if(program.steps, [](const CheckedStep& step) { return !step.is_node; });
    std::erase_if(program.stages,
                  [](const schedule::Stage& stage) { return stage.shared == schedule::SharedMode::none; });
    for (CheckedStep& step : program.steps) step.stage = program.channel_of[step.stage];
  }
  return Fingerprint(on_nodes).value();
}

// Each of the algorithms that use shared memory on this layout, in two shapes, unless another one does the
// same there.
std::vector<Follower> followers(const std::vector<const algorithms::Descriptor*>& descriptors,
                                const NamedLayout& layout, std::uint32_t seed) {
  std::vector<Follower> all;
  std::set<std::uint64_t> seen;
  for (const algorithms::Descriptor* descriptor : descriptors) {
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
  SequenceCheck(const std::vector<const algorithms::Descriptor*>& descriptors, const NamedLayout& layout,
                const CheckOptions& options)
      : followers_(followers(descriptors, layout, options.seed)), layout_(layout), options_(options) {}

  // Every one after every other, and then the first again: so any two follow each other, whatever state the
  // channels are in.
  Outcome run() {
    std::uint32_t number = 0;
    for (const Follower& first : followers_) {
      for (const Follower& second : followers_) {
        if (outcome_.failures.size() >= most_failures_of_part) return std::move(outcome_);
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
    const auto failures = check({&first.call, &second.call, &first.call},
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

}  // namespace

Outcome check_sequences(const std::vector<const algorithms::Descriptor*>& descriptors,
                        const NamedLayout& layout, const CheckOptions& options) {
  return SequenceCheck(descriptors, layout, options).run();
}

}  // namespace unisono::proof
