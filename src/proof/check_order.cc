// SPDX-License-Identifier: BSD-3-Clause
#include "proof/check_order.h"

#include <algorithm>
#include <memory>
#include <tuple>

#include "schedule/describe.h"

namespace unisono::proof {
namespace {

// The pieces of a range cut into `other_pieces` that piece `piece` of `pieces` overlaps.
std::pair<std::int64_t, std::int64_t> overlapped(std::int64_t piece, std::int64_t pieces,
                                                 std::int64_t other_pieces) {
  if (pieces == other_pieces) return {piece, piece + 1};
  return {piece * other_pieces / pieces, schedule::pieces_needed(piece, pieces, other_pieces)};
}

struct EdgeMaker {
  const LoadedProgram& program;
  std::vector<InstanceEdge> edges;

  void add(int step, std::int64_t piece, const schedule::Predecessor& before) {
    const auto& steps = program.program().steps;
    const std::int64_t pieces = program.pieces(steps[step].stage);
    const std::int64_t other_pieces = program.pieces(steps[before.step].stage);
    std::pair<std::int64_t, std::int64_t> needed{0, other_pieces};
    if (before.how == schedule::Wait::pieces) {
      needed = overlapped(piece, pieces, other_pieces);
    } else if (before.how == schedule::Wait::previous) {
      needed = {0, piece};
    } else if (before.how == schedule::Wait::started_pieces) {
      needed = {piece, piece + 1};
    }
    for (std::int64_t other = needed.first; other < std::min(needed.second, other_pieces); ++other) {
      edges.push_back({program.first_instance(before.step) + static_cast<std::int32_t>(other),
                       program.first_instance(step) + static_cast<std::int32_t>(piece),
                       is_start(before.how)});
    }
  }
};

constexpr int most_failures = 8;

// Walks the accesses of one rank in written order, and demands that each conflict with an earlier one is
// ordered. Looking at the last writer and the readers since is enough: order is transitive.
class ConflictWalk {
 public:
  ConflictWalk(const CheckedCall& call, const LoadedProgram& program, const Ancestors& ancestors,
               std::vector<std::string>* failures)
      : call_(call), program_(program), ancestors_(ancestors), failures_(*failures) {
    for (const schedule::Place place :
         {schedule::Place::input, schedule::Place::output, schedule::Place::scratch}) {
      marks_[static_cast<int>(place)].resize(std::max<std::int64_t>(0, program.extent(place)));
    }
  }

  void walk() {
    for (int instance = 0; instance < program_.instances() && found_ < most_failures; ++instance) {
      const AccessList accesses = program_.accesses(instance);
      check_overlap(instance, accesses);
      for (const Access& access : accesses) {
        auto& marks = marks_[static_cast<int>(access.place)];
        const auto size = static_cast<std::int64_t>(marks.size());
        if (access.range.last > size) {
          fail(instance, std::string(name(access.place)) + " has " + std::to_string(size) +
                             " elements, it reaches to " + std::to_string(access.range.last));
          continue;
        }
        for (std::int64_t i = access.range.first; i < access.range.last; ++i) {
          if (access.is_write) {
            write(instance, access.place, i, &marks[i]);
          } else {
            read(instance, access.place, i, &marks[i]);
          }
        }
      }
    }
    chain_node_steps();
  }

 private:
  struct Mark {
    std::int32_t writer = -1;
    std::int32_t readers = -1;
  };
  struct Reader {
    std::int32_t instance, next;
  };

  void fail(int instance, const std::string& text) {
    ++found_;
    failures_.push_back(describe(call_, program_.rank(), program_.step_of(instance)) + " (piece " +
                        std::to_string(program_.piece_of(instance)) + "): " + text);
  }

  // What a step writes may be an operand, but not overlap one.
  void check_overlap(int instance, const AccessList& accesses) {
    if (is_fused(program_.program().steps[program_.step_of(instance)].step.kind)) return;
    for (const Access& a : accesses) {
      for (const Access& b : accesses) {
        if (!a.is_write || b.is_write || a.place != b.place || a.range == b.range) continue;
        if (a.range.first < b.range.last && b.range.first < a.range.last) {
          fail(instance, "what it writes overlaps what it reads");
        }
      }
    }
  }

  void demand(int first, int second, schedule::Place place, std::int64_t element) {
    if (first < 0 || first == second || ancestors_.is_finished_before(first, second)) return;
    if (found_ >= most_failures) return;
    fail(second, "may run before what is written before it (" +
                     describe(program_.program().steps[program_.step_of(first)].step) + ", piece " +
                     std::to_string(program_.piece_of(first)) + ") is done, both touch " +
                     std::string(name(place)) + " element " + std::to_string(element));
  }

  void read(int instance, schedule::Place place, std::int64_t element, Mark* mark) {
    demand(mark->writer, instance, place, element);
    if (mark->readers >= 0 && readers_[mark->readers].instance == instance) return;
    readers_.push_back({instance, mark->readers});
    mark->readers = static_cast<std::int32_t>(readers_.size()) - 1;
  }

  void write(int instance, schedule::Place place, std::int64_t element, Mark* mark) {
    demand(mark->writer, instance, place, element);
    for (std::int32_t i = mark->readers; i >= 0; i = readers_[i].next) {
      demand(readers_[i].instance, instance, place, element);
    }
    *mark = {.writer = instance, .readers = -1};
  }

  // Node steps of a stage run in the order written, piece by piece; fused steps of all stages in one order. A
  // message among them only has to start in its place, and to be done before the next signal.
  void chain_node_steps() {
    const CheckedProgram& program = program_.program();
    int last_fused = -1;
    for (std::size_t stage = 0; stage < program.stages.size(); ++stage) {
      int last = -1;
      std::vector<int> messages;
      const int end = program.first_step[stage + 1];
      for (std::int64_t piece = 0; piece < program_.pieces(static_cast<int>(stage)); ++piece) {
        for (int step = program.first_step[stage]; step < end; ++step) {
          if (!program.steps[step].is_node) continue;
          const int instance = program_.first_instance(step) + static_cast<int>(piece);
          const schedule::StepKind kind = program.steps[step].step.kind;
          follow(last, instance);
          if (is_fused(kind)) follow(last_fused, instance);
          if (is_fused(kind) || kind == schedule::StepKind::signal) {
            for (const int message : messages) follow(message, instance);
            messages.clear();
          }
          for (const int message : messages) check_slots(message, instance);
          if (is_message(kind)) {
            messages.push_back(instance);
          } else {
            last = instance;
            if (is_fused(kind)) last_fused = instance;
          }
        }
      }
    }
  }
  void follow(int earlier, int instance) {
    if (earlier < 0 || found_ >= most_failures || ancestors_.is_finished_before(earlier, instance)) return;
    fail(instance, "node steps must run in order, but this does not wait for " +
                       describe(program_.program().steps[program_.step_of(earlier)].step));
  }

  // A message that may still be under way, and a later node step: do they touch the same shared memory?
  void check_slots(int message, int instance) {
    if (found_ >= most_failures || ancestors_.is_finished_before(message, instance)) return;
    const auto spans = slot_spans(message);
    for (const SlotSpan& own : slot_spans(instance)) {
      for (const SlotSpan& other : spans) {
        if (!own.is_write && !other.is_write) continue;
        if (own.owner == other.owner && own.first < other.last && other.first < own.last) {
          fail(instance, "touches the slot of a message that may be under way");
        }
      }
    }
  }
  struct SlotSpan {
    int owner;
    std::int64_t first, last;
    bool is_write;
  };
  std::vector<SlotSpan> slot_spans(int instance) const {
    std::vector<SlotSpan> spans;
    const CheckedStep& checked = program_.program().steps[program_.step_of(instance)];
    const SlotGeometry& geometry = program_.geometry(checked.stage);
    const schedule::Operands named = operands(checked.step);
    for (const schedule::Ref* ref : {named.reads[0], named.reads[1], named.write}) {
      if (ref == nullptr || ref->place != schedule::Place::shared) continue;
      const std::int64_t first = program_.piece_of(instance) % geometry.buffers * geometry.slot_elements +
                                 ref->lane * geometry.lane_elements + program_.offset_in_lane(instance, *ref);
      spans.push_back(
          {ref->owner, first, first + program_.range(instance, *ref).length(), ref == named.write});
    }
    return spans;
  }

  const CheckedCall& call_;
  const LoadedProgram& program_;
  const Ancestors& ancestors_;
  std::vector<std::string>& failures_;
  std::vector<Mark> marks_[3];
  std::vector<Reader> readers_;
  int found_ = 0;
};

}  // namespace

std::vector<InstanceEdge> instance_edges(const LoadedProgram& program) {
  EdgeMaker maker{program, {}};
  maker.edges.reserve(program.instances() * 2);
  const auto& steps = program.program().steps;
  for (int step = 0; step < static_cast<int>(steps.size()); ++step) {
    const std::int64_t pieces = program.pieces(steps[step].stage);
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      for (int i = steps[step].first_before; i < steps[step].last_before; ++i) {
        maker.add(step, piece, program.program().before[i]);
      }
      // The executor starts the pieces of a step in order.
      const int instance = program.first_instance(step) + static_cast<int>(piece);
      if (piece > 0) maker.edges.push_back({instance - 1, instance, true});
    }
  }
  return std::move(maker.edges);
}

std::vector<std::int32_t> topological_order(const LoadedProgram& program,
                                            const std::vector<InstanceEdge>& edges) {
  const int count = program.instances();
  std::vector<std::int32_t> pending(count, 0);
  std::vector<std::int32_t> first(count + 1, 0);
  std::vector<std::int32_t> successors(edges.size());
  for (const InstanceEdge& edge : edges) {
    ++pending[edge.to];
    ++first[edge.from + 1];
  }
  for (int i = 0; i < count; ++i) first[i + 1] += first[i];
  std::vector<std::int32_t> fill(first.begin(), first.end() - 1);
  for (const InstanceEdge& edge : edges) successors[fill[edge.from]++] = edge.to;
  std::vector<std::int32_t> order;
  order.reserve(count);
  for (int i = 0; i < count; ++i) {
    if (pending[i] == 0) order.push_back(i);
  }
  for (std::size_t done = 0; done < order.size(); ++done) {
    for (std::int32_t i = first[order[done]]; i < first[order[done] + 1]; ++i) {
      if (--pending[successors[i]] == 0) order.push_back(successors[i]);
    }
  }
  return order;
}

Ancestors::Ancestors(int instances, const std::vector<std::int32_t>& order,
                     const std::vector<InstanceEdge>& edges)
    : words_((instances + 63) / 64), finished_(words_ * instances), started_(words_ * instances) {
  std::vector<InstanceEdge> by_target = edges;
  std::vector<std::int32_t> place(instances, 0);
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<std::int32_t>(i);
  std::sort(by_target.begin(), by_target.end(),
            [&](const InstanceEdge& a, const InstanceEdge& b) { return place[a.to] < place[b.to]; });
  for (const InstanceEdge& edge : by_target) {
    std::uint64_t* finished = finished_.data() + edge.to * words_;
    std::uint64_t* started = started_.data() + edge.to * words_;
    for (std::size_t word = 0; word < words_; ++word) {
      finished[word] |= finished_[edge.from * words_ + word];
      started[word] |= started_[edge.from * words_ + word];
    }
    started[edge.from / 64] |= std::uint64_t{1} << (edge.from % 64);
    if (!edge.is_start) finished[edge.from / 64] |= std::uint64_t{1} << (edge.from % 64);
  }
}

void check_order(const CheckedCall& call, const LoadedProgram& program,
                 const std::vector<InstanceEdge>& edges, std::vector<std::string>* failures) {
  const std::vector<std::int32_t> order = topological_order(program, edges);
  if (static_cast<int>(order.size()) < program.instances()) {
    std::vector<bool> is_ordered(program.instances(), false);
    for (const std::int32_t instance : order) is_ordered[instance] = true;
    const auto stuck = std::find(is_ordered.begin(), is_ordered.end(), false) - is_ordered.begin();
    failures->push_back(describe(call, program.rank(), program.step_of(static_cast<int>(stuck))) +
                        ": its dependencies form a cycle");
    return;
  }
  const Ancestors ancestors(program.instances(), order, edges);
  ConflictWalk(call, program, ancestors, failures).walk();
}

namespace {

// The order in which one rank starts its instances, as far as it is forced.
struct StartOrder {
  std::vector<std::int32_t> place;  // instance -> its place in one order that is possible
  Ancestors ancestors;

  static std::unique_ptr<StartOrder> of(const LoadedProgram& program,
                                        const std::vector<InstanceEdge>& edges) {
    const auto order = topological_order(program, edges);
    std::vector<std::int32_t> place(program.instances(), 0);
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<std::int32_t>(i);
    return std::make_unique<StartOrder>(
        StartOrder{std::move(place), Ancestors(program.instances(), order, edges)});
  }
};

// A message on its way from one rank.
struct Posted {
  int to, tag;
  std::int32_t place;  // in the sender's order of starting
  int instance;
  bool is_like(const Posted& other) const { return to == other.to && tag == other.tag; }
  bool is_before(const Posted& other) const {
    return std::tie(to, tag, place) < std::tie(other.to, other.tag, other.place);
  }
};

}  // namespace

void check_posting(const CheckedCall& call, const std::vector<LoadedProgram>& programs,
                   const std::vector<std::vector<InstanceEdge>>& edges, std::vector<std::string>* failures) {
  std::vector<std::unique_ptr<StartOrder>> orders(programs.size());
  const auto order_of = [&](int rank) -> const StartOrder& {
    if (!orders[rank]) orders[rank] = StartOrder::of(programs[rank], edges[rank]);
    return *orders[rank];
  };
  const auto complain = [&](const LoadedProgram& program, int instance) {
    failures->push_back(describe(call, program.rank(), program.step_of(instance)) +
                        ": may be posted before an earlier message of the same pair and tag");
  };
  std::vector<Posted> sent;
  for (const LoadedProgram& sender : programs) {
    sent.clear();
    for (int i = 0; i < sender.instances(); ++i) {
      const CheckedStep& checked = sender.program().steps[sender.step_of(i)];
      if (checked.step.kind == schedule::StepKind::send && checked.partner >= 0 && sender.is_sent(i)) {
        sent.push_back({checked.step.peer, checked.tag, 0, i});
      }
    }
    std::sort(sent.begin(), sent.end(), [](const Posted& a, const Posted& b) { return a.is_before(b); });
    const bool has_equals =
        std::adjacent_find(sent.begin(), sent.end(),
                           [](const Posted& a, const Posted& b) { return a.is_like(b); }) != sent.end();
    if (!has_equals) continue;
    const StartOrder& sending = order_of(sender.rank());
    for (Posted& posted : sent) posted.place = sending.place[posted.instance];
    std::sort(sent.begin(), sent.end(), [](const Posted& a, const Posted& b) { return a.is_before(b); });
    for (std::size_t i = 0; i + 1 < sent.size(); ++i) {
      if (!sent[i].is_like(sent[i + 1])) continue;
      const LoadedProgram& receiver = programs[sent[i].to];
      const auto partner = [&](int instance) {
        const int step = sender.program().steps[sender.step_of(instance)].partner;
        return receiver.first_instance(step) + sender.piece_of(instance);
      };
      const int first = sent[i].instance;
      const int second = sent[i + 1].instance;
      if (!sending.ancestors.is_started_before(first, second)) {
        complain(sender, second);
      } else if (!order_of(sent[i].to).ancestors.is_started_before(partner(first), partner(second))) {
        complain(receiver, partner(second));
      }
    }
  }
}

}  // namespace unisono::proof
