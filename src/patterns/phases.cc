// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/phases.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

namespace unisono::patterns {

namespace {

// From the middle of the tree groups of ranks n0 >= n1 >= ... hang in different directions. In each phase at
// most one message leaves a group and at most one enters it. A third message may go inside of the group, from
// the rank that gets the one that enters to the rank that sends the one that leaves. It meets neither on any
// link. So what is to be shown is:
// - between two groups all pairs have their turn in one window of phases. The windows of one sender, and of
//   one receiver, do not overlap: they shift as the rounds of a ring do, the larger groups' windows first;
// - all pairs inside a group come up as receiver and sender of some phase.
//
// Group 0 is at least as large as any other. It sends and receives in all of the n0 * (n1 + n2 + ...) phases,
// which is what the links of that direction have to carry.
class Planner {
 public:
  explicit Planner(std::vector<std::vector<int>> groups)
      : groups_(std::move(groups)), before_{0}, phases_(size(0) * (total() - size(0))) {
    for (const auto& group : groups_) before_.push_back(before_.back() + std::ssize(group));
  }

  std::vector<Phase> plan() {
    plan_largest_group();
    const int groups = static_cast<int>(groups_.size());
    for (int from = 0; from < groups; ++from) {
      for (int to = 0; to < groups; ++to) {
        if (from != to) between(from, to);
      }
    }
    inside_largest_group();
    for (int group = 1; group < groups; ++group) inside(group);
    return std::move(phases_);
  }

 private:
  std::int64_t size(int group) const { return std::ssize(groups_[group]); }
  std::int64_t total() const {
    return std::accumulate(groups_.begin(), groups_.end(), std::int64_t{0},
                           [](std::int64_t sum, const auto& group) { return sum + std::ssize(group); });
  }

  // The first phase of the messages from one group to another.
  std::int64_t start(int from, int to) const {
    if (from < to) return size(from) * (before_[to] - before_[from + 1]);
    return std::ssize(phases_) - size(to) * (before_[from + 1] - before_[to + 1]);
  }

  // The senders of group 0 take turns, shifted by one whenever the receivers' turns would repeat. So in each
  // run of n0 phases each sender sends once. Its receivers go with the phases, one further on in each run. So
  // all pairs of the group come up in the first n0 runs.
  void plan_largest_group() {
    const std::int64_t n = size(0);
    for (int to = 1; to < static_cast<int>(groups_.size()); ++to) {
      const std::int64_t period = std::lcm(n, size(to));
      for (std::int64_t i = 0; i < n * size(to); ++i) sender_.push_back((i + i / period) % n);
    }
    for (std::size_t phase = 0; phase < sender_.size(); ++phase) {
      receiver_.push_back((sender_[phase] + static_cast<std::int64_t>(phase) / n) % n);
    }
  }

  // Receivers of the other groups take turns by the number of the phase, whoever sends.
  std::int64_t receiver(int group, std::int64_t phase) const {
    return group == 0 ? receiver_[phase] : phase % size(group);
  }
  // Senders of the other groups stay until all receivers have had their turn.
  std::int64_t sender(int from, int to, std::int64_t phase) const {
    return from == 0 ? sender_[phase] : (phase - start(from, to)) / size(to);
  }

  void between(int from, int to) {
    const std::int64_t first = start(from, to);
    for (std::int64_t phase = first; phase < first + size(from) * size(to); ++phase) {
      phases_[phase].push_back({groups_[from][sender(from, to, phase)], groups_[to][receiver(to, phase)]});
    }
  }

  void inside_largest_group() {
    for (std::int64_t phase = size(0); phase < size(0) * size(0); ++phase) {
      phases_[phase].push_back({groups_[0][receiver_[phase]], groups_[0][sender_[phase]]});
    }
  }

  // While a sender stays for the next larger group's receivers, all of its own group have their turn.
  void inside(int group) {
    const int to = group - 1;
    const std::int64_t first = start(group, to);
    for (std::int64_t i = 0; i < size(group) * size(to); ++i) {
      const std::int64_t leaving = i / size(to);
      const std::int64_t entering = (first + i) % size(group);
      if (i % size(to) >= size(group) || entering == leaving) continue;
      phases_[first + i].push_back({groups_[group][entering], groups_[group][leaving]});
    }
  }

  std::vector<std::vector<int>> groups_;
  std::vector<std::int64_t> before_;  // ranks of the groups before
  std::vector<Phase> phases_;
  std::vector<std::int64_t> sender_, receiver_;  // of group 0, by phase
};

// Who knows of whom that all its phases before some number are over. Tokens and messages take that knowledge
// along as it is when they leave.
class Knowledge {
 public:
  using Number = std::int16_t;  // short ones: all that is done here is to take the larger of many
  explicit Knowledge(int ranks)
      : ranks_(ranks), known_(static_cast<std::size_t>(ranks) * ranks), next_(known_) {}

  void begin(int phase) {
    for (int rank = 0; rank < ranks_; ++rank) {
      known_[at(rank, rank)] = next_[at(rank, rank)] = static_cast<Number>(phase);
    }
  }
  bool knows(int rank, int of, int phase) const { return next_[at(rank, of)] > phase; }
  // All that is told in one phase is on its way before any of it arrives.
  void tell(const Message& message) {
    for (int of = 0; of < ranks_; ++of) {
      Number& known = next_[at(message.to, of)];
      known = std::max(known, known_[at(message.from, of)]);
    }
    changed_.push_back(message.to);
  }
  void arrive() {
    for (const int rank : changed_) {
      std::copy_n(next_.begin() + at(rank, 0), ranks_, known_.begin() + at(rank, 0));
    }
    changed_.clear();
  }

 private:
  std::ptrdiff_t at(int rank, int of) const { return static_cast<std::ptrdiff_t>(rank) * ranks_ + of; }

  int ranks_;
  std::vector<Number> known_, next_;  // equal but for the rows of changed_
  std::vector<int> changed_;
};

}  // namespace

std::vector<Phase> contention_free_phases(const Network& network) {
  if (network.ranks() == 1) return {};
  return Planner(network.around_the_middle()).plan();
}

std::vector<Phase> separating_tokens(const Network& network, const std::vector<Phase>& phases) {
  struct Use {
    int phase = -1;
    Message message;
  };
  std::vector<Use> last_use(static_cast<std::size_t>(network.links()));
  std::vector<Phase> tokens(phases.size());
  Knowledge knowledge(network.ranks());
  assert(std::ssize(phases) <= std::numeric_limits<Knowledge::Number>::max());
  for (int phase = 0; phase < static_cast<int>(phases.size()); ++phase) {
    knowledge.begin(phase);
    for (const Message& message : phases[phase]) {
      std::vector<std::pair<int, int>> awaited;  // phase, who gets its message
      for (const int link : network.way(message.from, message.to)) {
        const Use use = std::exchange(last_use[link], {phase, message});
        if (use.phase >= 0 && use.message.from != message.from) {
          awaited.emplace_back(use.phase, use.message.to);
        }
      }
      // Who has finished the latest phase is likely to know of the others.
      std::sort(awaited.rbegin(), awaited.rend());
      for (const auto& [earlier, receiver] : awaited) {
        if (knowledge.knows(message.from, receiver, earlier)) continue;
        tokens[phase].push_back({receiver, message.from});
        knowledge.tell(tokens[phase].back());
      }
    }
    knowledge.arrive();
    for (const Message& message : phases[phase]) knowledge.tell(message);
    knowledge.arrive();
  }
  return tokens;
}

}  // namespace unisono::patterns
