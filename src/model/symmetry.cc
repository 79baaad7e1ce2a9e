// SPDX-License-Identifier: BSD-3-Clause
#include "model/symmetry.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "schedule/dependencies.h"
#include "schedule/ranges.h"

namespace unisono::model {

using schedule::ElementRange;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Stage;
using schedule::Step;

namespace {

constexpr int most_nodes_looked_at = 6;
constexpr int most_locals_looked_at = 64;
constexpr int most_rounds_looked_at = 64;
constexpr std::size_t most_pairs_compared = 1 << 18;  // of a round and of what is before it

// Evenly spread, with the first and the last one.
std::vector<int> sample(int count, int most) {
  std::set<int> chosen;
  for (int i = 0; i < std::min(count, most); ++i) {
    chosen.insert(count <= most ? i
                                : static_cast<int>(static_cast<std::int64_t>(i) * (count - 1) / (most - 1)));
  }
  return {chosen.begin(), chosen.end()};
}
// And the neighbours of the first and the last one: that is where rings turn and stages begin and end.
std::vector<int> sample_of_rounds(int rounds) {
  std::vector<int> chosen = sample(rounds, most_rounds_looked_at);
  for (int i = 0; i < std::min(rounds, 8); ++i) {
    chosen.push_back(i);
    chosen.push_back(rounds - 1 - i);
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

std::vector<Step> steps_of(const Stage& stage, int round) {
  std::vector<Step> steps;
  schedule::Writer writer(&steps);
  if (round >= 0 && round < stage.rounds) stage.write(round, writer);
  return steps;
}

bool is_equal_shape(const Stage& a, const Stage& b) {
  const auto all = [](const Stage& s) {
    return std::tie(s.rounds, s.extent, s.extent_parts, s.segment_bytes, s.window, s.rounds_under_way,
                    s.sends_under_way, s.is_blocking, s.begins_apart, s.shared, s.ticks, s.buffers, s.lanes,
                    s.continues_channel);
  };
  return all(a) == all(b);
}

class Comparison {
 public:
  Comparison(const patterns::Layout& layout, const CallSize& size) : layout_(layout), units_(size.elements) {}

  bool are_alike(int a, const Program& of_a, int b, const Program& of_b) const {
    if (of_a.stages.size() != of_b.stages.size()) return false;
    std::vector<Step> before_a, before_b;  // of earlier stages
    for (std::size_t i = 0; i < of_a.stages.size(); ++i) {
      if (!is_equal_shape(of_a.stages[i], of_b.stages[i])) return false;
      const std::vector<int> rounds = sample_of_rounds(of_a.stages[i].rounds);
      for (const int round : rounds) {
        if (!are_alike(a, of_a.stages[i], before_a, b, of_b.stages[i], before_b, round)) return false;
      }
      for (const int round : rounds) {
        append(steps_of(of_a.stages[i], round), &before_a);
        append(steps_of(of_b.stages[i], round), &before_b);
      }
    }
    return true;
  }

 private:
  static void append(const std::vector<Step>& some, std::vector<Step>* all) {
    all->insert(all->end(), some.begin(), some.end());
  }

  bool are_alike(int a, const Stage& of_a, const std::vector<Step>& before_a, int b, const Stage& of_b,
                 const std::vector<Step>& before_b, int round) const {
    const auto steps_a = steps_of(of_a, round);
    const auto steps_b = steps_of(of_b, round);
    if (steps_a.size() != steps_b.size()) return false;
    for (std::size_t i = 0; i < steps_a.size(); ++i) {
      if (!are_alike(a, steps_a[i], b, steps_b[i])) return false;
    }
    // Where too much is to be compared, nothing is known.
    const std::size_t pairs = steps_a.size() * (before_a.size() + 3 * steps_a.size());
    return pairs <= most_pairs_compared && do_wait_alike(steps_a, before_a, steps_b, before_b) &&
           do_wait_alike(steps_a, steps_a, steps_b, steps_b) &&
           do_wait_alike(steps_a, steps_of(of_a, round - 1), steps_b, steps_of(of_b, round - 1)) &&
           do_wait_alike(steps_a, steps_of(of_a, round - 2), steps_b, steps_of(of_b, round - 2));
  }

  bool are_alike(int a, const Step& step_a, int b, const Step& step_b) const {
    if (step_a.kind != step_b.kind || step_a.tick != step_b.tick) return false;
    if (is_message(step_a.kind)) {
      if (layout_.local_rank_of[step_a.peer] != layout_.local_rank_of[step_b.peer]) return false;
      if (is_apart(a, step_a.peer) != is_apart(b, step_b.peer)) return false;
    } else if (step_a.peer != step_b.peer) {
      return false;
    }
    if (!schedule::is_one_tree(step_a.along, step_b.along)) return false;
    if (!are_alike(step_a.into, step_b.into)) return false;
    if (are_alike(step_a.left, step_b.left) && are_alike(step_a.right, step_b.right)) return true;
    // Which operand stands before the other costs nothing.
    return step_a.kind == schedule::StepKind::reduce && are_alike(step_a.left, step_b.right) &&
           are_alike(step_a.right, step_b.left);
  }

  bool are_alike(const Ref& a, const Ref& b) const {
    return std::tie(a.place, a.sub_first, a.sub_last, a.sub_parts, a.owner, a.lane) ==
               std::tie(b.place, b.sub_first, b.sub_last, b.sub_parts, b.owner, b.lane) &&
           element_range(a, units_).length() == element_range(b, units_).length() &&
           (a.first == a.last) == (b.first == b.last);
  }
  bool is_apart(int a, int b) const { return layout_.node_of[a] != layout_.node_of[b]; }

  // Does each step touch the same one of what was written before as the other rank's?
  bool do_wait_alike(const std::vector<Step>& steps_a, const std::vector<Step>& before_a,
                     const std::vector<Step>& steps_b, const std::vector<Step>& before_b) const {
    if (before_a.size() != before_b.size()) return false;
    for (std::size_t i = 0; i < steps_a.size(); ++i) {
      for (std::size_t j = 0; j < before_a.size(); ++j) {
        if (contact(steps_a[i], before_a[j]) != contact(steps_b[i], before_b[j])) return false;
      }
    }
    return true;
  }

  enum class Contact : std::uint8_t { none, equal, partial };
  Contact contact(const Ref* x, const Ref* y) const {
    if (x == nullptr || y == nullptr || x->place != y->place) return Contact::none;
    const ElementRange range_x = element_range(*x, units_), range_y = element_range(*y, units_);
    if (range_x.first >= range_y.last || range_y.first >= range_x.last) return Contact::none;
    return range_x == range_y ? Contact::equal : Contact::partial;
  }
  Contact contact(const Step& a, const Step& b) const {
    const schedule::Operands of_a = operands(a), of_b = operands(b);
    Contact most = contact(of_a.write, of_b.write);
    for (const Ref* read : of_a.reads) most = std::max(most, contact(read, of_b.write));
    for (const Ref* read : of_b.reads) most = std::max(most, contact(of_a.write, read));
    return most;
  }

  const patterns::Layout& layout_;
  schedule::Units units_;
};

// What one rank sends another in a round as the k-th one between ranks of these numbers, the other must
// receive as the k-th one.
bool do_messages_meet(const Problem& problem, const BuildProgram& build, int rank, const Program& program) {
  constexpr int most_messages = 64;
  const auto& local = problem.layout->local_rank_of;
  int looked_at = 0;
  for (std::size_t i = 0; i < program.stages.size(); ++i) {
    for (const int round : sample_of_rounds(program.stages[i].rounds)) {
      const auto steps = steps_of(program.stages[i], round);
      for (std::size_t s = 0; s < steps.size(); ++s) {
        if (steps[s].kind != schedule::StepKind::send || ++looked_at > most_messages) continue;
        int ordinal = 0;
        for (std::size_t t = 0; t < s; ++t) {
          if (steps[t].kind == schedule::StepKind::send && local[steps[t].peer] == local[steps[s].peer]) {
            ++ordinal;
          }
        }
        Problem peers = problem;
        peers.rank = steps[s].peer;
        const Program theirs = build(peers);
        int met = -1;
        for (const Step& other : steps_of(theirs.stages[i], round)) {
          if (other.kind != schedule::StepKind::recv || local[other.peer] != local[rank]) continue;
          if (ordinal-- == 0) met = other.peer;
        }
        if (met != rank) return false;
      }
    }
  }
  return true;
}

Crew crew_of_first_node(const patterns::Layout& layout, std::shared_ptr<const patterns::Layout> all) {
  Crew crew;
  crew.ranks = layout.ranks_of.front();
  crew.indices_of.emplace_back();
  for (int local = 0; local < std::ssize(crew.ranks); ++local) {
    crew.indices_of.front().push_back(local);
    crew.node_of.push_back(0);
    crew.local_rank_of.push_back(local);
  }
  crew.is_for_others = true;
  crew.index_of = [all](int rank) { return all->local_rank_of[rank]; };
  crew.is_apart = [all](int a, int b) { return all->node_of[a] != all->node_of[b]; };
  return crew;
}

}  // namespace

CallSize with_equal_parts(CallSize size, int ranks) {
  const std::int64_t elements = (size.elements + ranks - 1) / ranks * ranks;
  if (elements > size.elements) {
    size.share *= static_cast<double>(size.elements) / static_cast<double>(elements);
    size.elements = elements;
  }
  return size;
}

std::optional<Crew> one_node_for_all(const Problem& problem, const BuildProgram& build,
                                     const CallSize& size) {
  const patterns::Layout& layout = *problem.layout;
  // Each node has neighbours of its own.
  if (layout.nodes() < 2 || !layout.is_uniform() || problem.neighborhood != nullptr) return std::nullopt;
  const Comparison comparison(layout, size);
  std::vector<int> nodes = sample(layout.nodes(), most_nodes_looked_at);
  nodes.push_back(layout.node_of[problem.root]);
  if (layout.nodes() > 2) nodes.push_back(1);
  const auto program_of = [&](int rank) {
    Problem own = problem;
    own.rank = rank;
    return build(own);
  };
  for (const int local : sample(layout.local_size(0), most_locals_looked_at)) {
    const int first = layout.ranks_of[0][static_cast<std::size_t>(local)];
    const Program of_first = program_of(first);
    for (const int node : nodes) {
      const int other = layout.ranks_of[static_cast<std::size_t>(node)][static_cast<std::size_t>(local)];
      if (other == first) continue;
      if (!comparison.are_alike(first, of_first, other, program_of(other))) return std::nullopt;
    }
    if (!do_messages_meet(problem, build, first, of_first)) return std::nullopt;
  }
  return crew_of_first_node(layout, problem.layout);
}

}  // namespace unisono::model
