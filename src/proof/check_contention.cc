// SPDX-License-Identifier: BSD-3-Clause
#include "proof/check_contention.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "patterns/network.h"

namespace unisono::proof {
namespace {

using patterns::Network;

struct Sent {
  int stage, round;
  int from, to;
  int step;  // of the sender's program

  std::pair<int, int> when() const { return {stage, round}; }
  bool is_like(const Sent& other) const { return from == other.from && to == other.to; }
};

std::string words(const Sent& message) {
  return "rank " + std::to_string(message.from) + " -> rank " + std::to_string(message.to);
}
std::string words_of_round(const Sent& message) {
  return "stage " + std::to_string(message.stage) + ", round " + std::to_string(message.round);
}

// All messages that carry something, round by round.
std::vector<Sent> messages_of(const CheckedCall& call) {
  std::vector<Sent> messages;
  for (int rank = 0; rank < call.problem.size; ++rank) {
    const auto& steps = call.programs[rank].steps;
    for (int step = 0; step < static_cast<int>(steps.size()); ++step) {
      if (steps[step].step.kind != schedule::StepKind::send || steps[step].is_token) continue;
      messages.push_back({steps[step].stage, steps[step].round, rank, steps[step].step.peer, step});
    }
  }
  std::stable_sort(messages.begin(), messages.end(),
                   [](const Sent& a, const Sent& b) { return a.when() < b.when(); });
  return messages;
}

// What is sure to have left and to have arrived when a step starts.
class Past {
 public:
  Past(const CheckedCall& call, const std::vector<Sent>& messages)
      : call_(call), words_((messages.size() + 63) / 64), first_{0} {
    for (const CheckedProgram& program : call.programs) {
      first_.push_back(first_.back() + std::ssize(program.steps));
    }
    message_of_.assign(static_cast<std::size_t>(first_.back()), -1);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      message_of_[first_[messages[i].from] + messages[i].step] = static_cast<std::int32_t>(i);
    }
    state_.assign(message_of_.size(), State::unknown);
    bits_.assign(message_of_.size() * 2 * words_, 0);
  }

  bool has_arrived(int message, const Sent& before) { return test(message, before, 0); }
  bool has_left(int message, const Sent& before) { return test(message, before, 1); }

 private:
  using Node = std::int64_t;  // a step of a rank, numbered through
  enum class State : std::uint8_t { unknown, begun, known };

  bool test(int message, const Sent& before, int set) {
    const Node node = first_[before.from] + before.step;
    find(node);
    return (set_of(node, set)[message / 64] >> (message % 64) & 1) != 0;
  }
  std::uint64_t* set_of(Node node, int set) { return bits_.data() + (2 * node + set) * words_; }

  int rank_of(Node node) const {
    return static_cast<int>(std::upper_bound(first_.begin(), first_.end(), node) - first_.begin()) - 1;
  }
  const CheckedStep& step_at(Node node, int rank) const {
    return call_.programs[rank].steps[node - first_[rank]];
  }
  Node partner_of(Node node, int rank) const {
    const CheckedStep& checked = step_at(node, rank);
    return first_[checked.step.peer] + checked.partner;
  }

  template <typename Visit>
  void for_predecessors(Node node, Visit visit) const {
    const int rank = rank_of(node);
    const CheckedStep& checked = step_at(node, rank);
    for (int i = checked.first_before; i < checked.last_before; ++i) {
      const schedule::Predecessor& before = call_.programs[rank].before[i];
      if (before.how == schedule::Wait::previous) continue;
      const Node earlier = first_[rank] + before.step;
      visit(earlier, !is_start(before.how), rank);
    }
  }

  // Without recursion: chains are as long as programs.
  void find(Node wanted) {
    std::vector<Node> stack{wanted};
    const auto need = [&](Node node) {
      if (state_[node] == State::unknown) stack.push_back(node);
    };
    while (!stack.empty()) {
      const Node node = stack.back();
      if (state_[node] == State::unknown) {
        state_[node] = State::begun;
        for_predecessors(node, [&](Node earlier, bool is_done, int rank) {
          need(earlier);
          if (is_done && step_at(earlier, rank).step.kind == schedule::StepKind::recv)
            need(partner_of(earlier, rank));
        });
      } else {
        stack.pop_back();
        if (std::exchange(state_[node], State::known) == State::begun) collect(node);
      }
    }
  }

  void collect(Node node) {
    for_predecessors(node, [&](Node earlier, bool is_done, int rank) {
      join(node, earlier);
      if (!is_done) return;
      if (message_of_[earlier] >= 0) mark(node, message_of_[earlier], 1);
      if (step_at(earlier, rank).step.kind != schedule::StepKind::recv) return;
      const Node partner = partner_of(earlier, rank);
      join(node, partner);
      if (message_of_[partner] >= 0) mark(node, message_of_[partner], 0);
    });
  }
  void join(Node node, Node other) {
    for (std::size_t i = 0; i < 2 * words_; ++i) set_of(node, 0)[i] |= set_of(other, 0)[i];
  }
  void mark(Node node, std::int32_t message, int set) {
    set_of(node, set)[message / 64] |= std::uint64_t{1} << (message % 64);
  }

  const CheckedCall& call_;
  std::size_t words_;
  std::vector<Node> first_;  // rank -> its first step
  std::vector<std::int32_t> message_of_;
  std::vector<State> state_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace

RoundsOnLinks rounds_on_links(const CheckedCall& call) {
  const Network network(*call.problem.layout);
  const std::vector<Sent> messages = messages_of(call);
  RoundsOnLinks found;
  std::vector<std::vector<int>> users(static_cast<std::size_t>(network.links()));
  for (std::size_t first = 0, next; first < messages.size(); first = next) {
    ++found.rounds;
    for (next = first; next < messages.size() && messages[next].when() == messages[first].when(); ++next) {
      for (const int link : network.way(messages[next].from, messages[next].to)) {
        users[link].push_back(static_cast<int>(next));
        found.most_on_a_link = std::max(found.most_on_a_link, static_cast<int>(users[link].size()));
        if (users[link].size() != 2 || !found.first_conflict.empty()) continue;
        found.first_conflict = words_of_round(messages[next]) + ": " + words(messages[users[link][0]]) +
                               " and " + words(messages[next]) + " both take " + network.name_of_link(link);
      }
    }
    for (std::size_t i = first; i < next; ++i) {
      for (const int link : network.way(messages[i].from, messages[i].to)) users[link].clear();
    }
  }
  return found;
}

std::string conflict_over_time(const CheckedCall& call) {
  const Network network(*call.problem.layout);
  const std::vector<Sent> messages = messages_of(call);
  Past past(call, messages);
  std::vector<int> last_user(static_cast<std::size_t>(network.links()), -1);
  for (int i = 0; i < static_cast<int>(messages.size()); ++i) {
    const Sent& message = messages[i];
    for (const int link : network.way(message.from, message.to)) {
      const int earlier = std::exchange(last_user[link], i);
      if (earlier < 0 || messages[earlier].is_like(message) || past.has_arrived(earlier, message)) continue;
      if (messages[earlier].from == message.from && past.has_left(earlier, message)) continue;
      return words_of_round(message) + ": " + words(message) + " may start before " +
             words(messages[earlier]) + " of " + words_of_round(messages[earlier]) +
             " has arrived, both take " + network.name_of_link(link);
    }
  }
  return {};
}

}  // namespace unisono::proof
