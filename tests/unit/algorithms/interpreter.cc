// SPDX-License-Identifier: BSD-3-Clause
#include "interpreter.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <tuple>

#include "interpreted_rank.h"
#include "promise.h"
#include "proof/check_load.h"
#include "schedule/ranges.h"

namespace unisono::algorithms::testing {

using schedule::ElementRange;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::SharedMode;
using schedule::Stage;
using schedule::Step;
using schedule::StepKind;

namespace {

class Interpreter {
 public:
  explicit Interpreter(const Case& tested) : case_(tested), promise_(tested), size_(tested.layout.size()) {
    const auto layout = std::make_shared<const patterns::Layout>(tested.layout);
    channels_.resize(tested.layout.nodes());
    for (int rank = 0; rank < size_; ++rank) ranks_.push_back(make_rank(rank, layout));
  }

  // Lets all ranks but `held` go on until none can.
  void advance(int held) {
    for (bool is_moving = true; is_moving;) {
      is_moving = false;
      for (int rank = 0; rank < size_; ++rank) {
        while (rank != held && !is_done(rank) && try_next(rank)) is_moving = true;
      }
    }
  }
  bool is_done(int rank) const {
    return ranks_[rank].next == ranks_[rank].actions.size() && ranks_[rank].posted.empty();
  }

  void finish() {
    advance(-1);
    for (int rank = 0; rank < size_; ++rank) {
      if (!is_done(rank)) throw Fault("rank " + std::to_string(rank) + " waits for ever");
    }
    if (!messages_.empty()) throw Fault("a message is not received");
    for (int rank = 0; rank < size_; ++rank) expect_result(rank);
  }

 private:
  Operation operation() const { return case_.descriptor->operation; }

  Rank make_rank(int number, const std::shared_ptr<const patterns::Layout>& layout) {
    Rank rank;
    rank.problem = {.operation = operation(),
                    .size = size_,
                    .rank = number,
                    .root = case_.root,
                    .is_commutative = case_.is_commutative,
                    .is_in_place = promise_.is_in_place(number),
                    .layout = layout};
    if (case_.graph != nullptr) rank.problem.neighborhood = case_.graph->known_on(layout->node_of[number]);
    if (case_.descriptor->legality.needs_whole_graph)
      rank.problem.neighborhood = std::make_shared<const patterns::Neighborhood>(case_.graph->all());
    rank.program = case_.descriptor->build(rank.problem, case_.parameters);
    if (case_.graph != nullptr) {
      const schedule::BlockTable& table = *rank.program.blocks;
      const auto told = case_.graph->told(table, number, case_.elements, case_.pattern);
      const schedule::Longest found = find_starts(table, table.limits, told, element_bytes, &rank.starts);
      rank.longest = found.piece;
      if (rank.program.stages_of_short >= 0 && table.limits.is_short(found.block * element_bytes))
        rank.program.stages.resize(static_cast<std::size_t>(rank.program.stages_of_short));
      // The limits see to it that slots, or lanes, hold what stands there.
      rank.slot_elements = std::max<std::int64_t>(1, case_.elements);
      for (const auto& [first, last] : table.slots)
        rank.slot_elements = std::max(rank.slot_elements, rank.starts[last] - rank.starts[first]);
    } else if (has_uneven_blocks(operation())) {
      rank.starts = proof::block_starts(rank.problem, case_.elements, case_.pattern);
    }
    int channel = 0;
    for (int stage = 0; stage < static_cast<int>(rank.program.stages.size()); ++stage) {
      add_actions(&rank, stage, channel);
      if (rank.program.stages[stage].shared != SharedMode::none) ++channel;
    }
    std::tie(rank.memory[0], rank.memory[1]) = promise_.before(number);
    rank.memory[2].resize(
        schedule::elements_up_to(rank.program.scratch, rank.program.scratch_parts, units(rank)));
    return rank;
  }

  schedule::Units units(const Rank& rank) const {
    if (rank.starts.empty()) return case_.elements;
    const std::int64_t most = has_known_blocks(operation()) ? rank.starts.back() : schedule::unknown_elements;
    const std::int64_t longest = case_.graph != nullptr ? rank.longest : case_.elements;
    return {longest, {rank.starts.data(), std::ssize(rank.starts) - 1}, most};
  }

  std::int64_t lane_bytes(const Stage& stage, int rank) const {
    if (stage.shared == SharedMode::none) return 0;
    const int areas = stage.shared == SharedMode::common ? case_.layout.local_size(rank) : 1;
    return std::max(element_bytes, case_.area_bytes * areas / stage.buffers / stage.lanes);
  }

  void add_actions(Rank* rank, int stage_number, int channel) {
    const Stage& stage = rank->program.stages[stage_number];
    const std::int64_t pieces =
        piece_count(stage, units(*rank), element_bytes, lane_bytes(stage, rank->problem.rank));
    const bool has_channel = stage.shared != SharedMode::none;
    const auto steps_of = [&](int round) {
      std::vector<Step> steps;
      schedule::Writer writer(&steps);
      stage.write(round, writer);
      for (Step& step : steps) {
        for (Ref* ref : {&step.into, &step.left, &step.right}) *ref = schedule::in_place(rank->problem, *ref);
      }
      return steps;
    };
    const auto add = [&](int round, const Step& step, std::int64_t piece) {
      rank->actions.push_back({stage_number, round, piece, pieces, step, false});
    };
    if (!has_channel) {
      for (int round = 0; round < stage.rounds; ++round) {
        for (const Step& step : steps_of(round)) {
          for (std::int64_t piece = 0; piece < pieces; ++piece) add(round, step, piece);
        }
      }
      return;
    }
    auto& node = channels_[case_.layout.node_of[rank->problem.rank]];
    if (std::ssize(node) <= channel) node.resize(channel + 1);
    node[channel].flag.assign(case_.layout.local_size(rank->problem.rank), 0);
    channel_of_stage_[{case_.layout.node_of[rank->problem.rank], stage_number}] = channel;
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const std::size_t before = rank->actions.size();
      for (int round = 0; round < stage.rounds; ++round) {
        for (const Step& step : steps_of(round)) add(round, step, piece);
      }
      if (rank->actions.size() == before) throw Fault("a rank has no steps in a stage with a channel");
      rank->actions.back().ends_piece = true;
    }
  }

  void expect_result(int number) const {
    const Rank& rank = ranks_[number];
    if (rank.memory[0] != promise_.before(number).first) throw Fault("writes to its input");
    const std::optional<Values> promised = promise_.after(number);
    if (promised && rank.memory[1] != *promised) {
      throw Fault("rank " + std::to_string(number) + " has a wrong result");
    }
  }

  // --- Memory ---
  struct Location {
    Place place;
    ElementRange range;
  };

  Location location(const Rank& rank, const Ref& ref, const Action& action) {
    const Rank& owner = is_remote(ref) ? ranks_[remote_rank(rank, ref)] : rank;
    // Another rank exposes its output as its input where it is in place.
    const Ref there = is_remote(ref) ? schedule::in_place(owner.problem, ref.in(own_place(ref.place))) : ref;
    ElementRange range = piece_range(there, units(rank), action.piece, action.pieces);
    if (case_.graph != nullptr && (there.place == Place::input || there.place == Place::output)) {
      const schedule::BlockTable& table = *rank.program.blocks;
      const std::int64_t first =
          promise_.block_of_neighbor(rank.problem.rank, table.blocks[static_cast<std::size_t>(there.first)],
                                     table.limits) -
          rank.starts[static_cast<std::size_t>(there.first)];
      range = {range.first + first, range.last + first};
    } else if (!rank.starts.empty() && (there.place == Place::input || there.place == Place::output)) {
      const std::int64_t origin = rank.starts[schedule::first_block(rank.problem, there.place)];
      range = {range.first - origin, range.last - origin};
    }
    if (ref.place == Place::shared) return {ref.place, range};
    const auto& memory = owner.memory[memory_of(there.place)];
    if (range.length() > 0 && (range.first < 0 || range.last > std::ssize(memory))) {
      throw Fault("reaches out of place " + std::to_string(static_cast<int>(ref.place)));
    }
    return {there.place, range};
  }

  static bool is_remote(const Ref& ref) {
    return ref.place == Place::remote_input || ref.place == Place::remote_output;
  }
  static Place own_place(Place remote) {
    return remote == Place::remote_input ? Place::input : Place::output;
  }
  static int memory_of(Place place) {
    if (place == Place::input || place == Place::remote_input) return 0;
    return place == Place::scratch ? 2 : 1;
  }
  int remote_rank(const Rank& rank, const Ref& ref) const {
    return case_.layout.ranks_of[case_.layout.node_of[rank.problem.rank]][ref.owner];
  }

  Channel& channel_of(const Rank& rank, const Action& action) {
    const int node = case_.layout.node_of[rank.problem.rank];
    return channels_[node][channel_of_stage_.at({node, action.stage})];
  }
  std::pair<std::int64_t, Value>& cell(const Rank& rank, const Ref& ref, const Action& action,
                                       std::int64_t e) {
    const Stage& stage = rank.program.stages[action.stage];
    if (ref.lane >= stage.lanes) throw Fault("uses a lane that the stage does not have");
    const std::int64_t offset = offset_in_lane(ref, units(rank), action.piece, action.pieces) + e;
    const std::int64_t lane_elements =
        case_.graph != nullptr ? rank.slot_elements : lane_bytes(stage, rank.problem.rank) / element_bytes;
    if (offset >= lane_elements) throw Fault("overruns a lane");
    const std::int64_t slot = ref.owner * stage.buffers + action.piece % stage.buffers;
    const std::size_t at = (slot * stage.lanes + ref.lane) * lane_elements + offset;
    auto& cells = channel_of(rank, action).cells;
    if (at >= cells.size()) cells.resize(at + 1, {-1, {}});
    return cells[at];
  }

  Values read(Rank& rank, const Ref& ref, const Action& action) {
    const Location at = location(rank, ref, action);
    Values values;
    for (std::int64_t e = 0; e < at.range.length(); ++e) {
      if (ref.place == Place::shared) {
        const auto& [piece, value] = cell(rank, ref, action, e);
        if (piece != action.piece) throw Fault("reads a slot before it is written");
        values.push_back(value);
      } else {
        const Rank& owner = is_remote(ref) ? ranks_[remote_rank(rank, ref)] : rank;
        values.push_back(owner.memory[memory_of(at.place)][at.range.first + e]);
      }
    }
    return values;
  }

  void write(Rank& rank, const Ref& ref, const Action& action, const Values& values) {
    const Location at = location(rank, ref, action);
    if (std::ssize(values) != at.range.length()) throw Fault("lengths differ");
    for (std::int64_t e = 0; e < at.range.length(); ++e) {
      if (ref.place == Place::shared) {
        if (rank.space_for != action.piece) throw Fault("writes to a slot without asking for space");
        cell(rank, ref, action, e) = {action.piece, values[e]};
      } else if (is_remote(ref)) {
        throw Fault("writes to another rank's memory");
      } else {
        rank.memory[memory_of(ref.place)][at.range.first + e] = values[e];
      }
    }
  }

  // --- Steps ---
  bool reads_what_is_under_way(const Rank& rank, const Action& action) {
    if (action.step.kind != StepKind::copy && action.step.kind != StepKind::send) return false;
    const Location read = location(rank, action.step.left, action);
    return std::ranges::any_of(rank.posted, [&](const Action* posted) {
      const Location at = location(rank, posted->step.into, *posted);
      return at.place == read.place && at.place != Place::shared && at.range.first < read.range.last &&
             read.range.first < at.range.last;
    });
  }
  bool try_next(int number) {
    Rank& rank = ranks_[number];
    const std::size_t arrived =
        std::erase_if(rank.posted, [&](const Action* action) { return try_receive(rank, *action); });
    if (rank.next == rank.actions.size()) return arrived > 0;
    const Action& action = rank.actions[rank.next];
    // A rank of neighbours posts all its receives before it sends; a signal waits for those before it.
    const bool is_waited_for = action.ends_piece || action.step.kind == StepKind::signal;
    if ((is_waited_for && !rank.posted.empty()) || reads_what_is_under_way(rank, action)) return arrived > 0;
    if (!try_step(rank, action)) {
      if (case_.graph == nullptr || action.step.kind != StepKind::recv || action.ends_piece)
        return arrived > 0;
      rank.posted.push_back(&action);
    }
    if (action.ends_piece) {
      const Stage& stage = rank.program.stages[action.stage];
      set_flag(rank, action, stage.ticks);
    }
    ++rank.next;
    return true;
  }

  void set_flag(Rank& rank, const Action& action, int tick) {
    const Stage& stage = rank.program.stages[action.stage];
    std::int64_t& flag = channel_of(rank, action).flag[case_.layout.local_rank_of[rank.problem.rank]];
    const std::int64_t value = action.piece * stage.ticks + tick;
    if (tick < 1 || tick > stage.ticks || value < flag) throw Fault("signals out of order");
    flag = value;
  }

  bool has_reached(Rank& rank, const Action& action, int local, int tick) {
    const Stage& stage = rank.program.stages[action.stage];
    return channel_of(rank, action).flag[local] >= action.piece * stage.ticks + tick;
  }

  // May the step write there? Not while a message from there is under way.
  bool is_free(const Rank& rank, const Ref& ref, const Action& action) {
    if (ref.place == Place::shared) return true;
    const Location at = location(rank, ref, action);
    return std::ranges::none_of(messages_, [&](const Message& m) {
      return m.from == rank.problem.rank && m.place == at.place && m.range.first < at.range.last &&
             at.range.first < m.range.last;
    });
  }

  bool try_step(Rank& rank, const Action& action) {
    const Step& step = action.step;
    switch (step.kind) {
      case StepKind::send:
        return send(rank, action);
      case StepKind::recv:
        return try_receive(rank, action);
      case StepKind::copy:
        if (step.into == step.left) return true;
        if (case_.graph != nullptr && location(rank, step.into, action).range.length() == 0) return true;
        if (!is_free(rank, step.into, action)) return false;
        write(rank, step.into, action, read(rank, step.left, action));
        return true;
      case StepKind::reduce:
        return try_reduce(rank, action);
      case StepKind::signal:
        set_flag(rank, action, step.tick);
        return true;
      case StepKind::await:
        return has_reached(rank, action, step.peer, step.tick);
      case StepKind::await_all:
        return all_reached(rank, action, step.tick);
      case StepKind::await_space:
        return try_space(rank, action);
      case StepKind::expose:
        return true;
      default:
        return try_fused(rank, action);
    }
  }

  bool all_reached(Rank& rank, const Action& action, int tick) {
    for (int local = 0; local < case_.layout.local_size(rank.problem.rank); ++local) {
      if (!has_reached(rank, action, local, tick)) return false;
    }
    return true;
  }

  bool try_space(Rank& rank, const Action& action) {
    const Stage& stage = rank.program.stages[action.stage];
    const std::int64_t finished = (action.piece - stage.buffers + 1) * stage.ticks;
    for (const std::int64_t flag : channel_of(rank, action).flag) {
      if (flag < finished) return false;
    }
    rank.space_for = action.piece;
    return true;
  }

  bool send(Rank& rank, const Action& action) {
    const Step& step = action.step;
    const Location from = location(rank, step.left, action);
    if (step.peer < 0 || step.peer >= size_ || step.peer == rank.problem.rank) throw Fault("sends to nobody");
    if (from.range.length() == 0 && !is_token(operation(), step.left)) return true;
    messages_.push_back(
        {rank.problem.rank, step.peer, action.stage, action.round, action.piece, from.range, from.place});
    return true;
  }

  bool try_receive(Rank& rank, const Action& action) {
    const Step& step = action.step;
    const Location into = location(rank, step.into, action);
    if (into.range.length() == 0 && !is_token(operation(), step.into)) return true;
    const auto message = std::ranges::find_if(messages_, [&](const Message& m) {
      return m.from == step.peer && m.to == rank.problem.rank && m.stage == action.stage &&
             m.round == action.round && m.piece == action.piece;
    });
    if (message == messages_.end() || !is_free(rank, step.into, action)) return false;
    if (message->range.length() != into.range.length()) throw Fault("a message has another length");
    const auto& source = ranks_[message->from].memory[memory_of(message->place)];
    const Values values(source.begin() + message->range.first, source.begin() + message->range.last);
    messages_.erase(message);
    write(rank, step.into, action, values);
    return true;
  }

  bool try_reduce(Rank& rank, const Action& action) {
    const Step& step = action.step;
    if (!is_free(rank, step.into, action)) return false;
    Values left = read(rank, step.left, action);
    const Values right = read(rank, step.right, action);
    if (left.size() != right.size()) throw Fault("operands have different lengths");
    for (std::size_t e = 0; e < left.size(); ++e) left[e] = joined(left[e], right[e], case_.is_commutative);
    write(rank, step.into, action, left);
    return true;
  }

  // --- Fused operations: number k of a node's ranks belong together ---
  bool try_fused(Rank& rank, const Action& action) {
    const Step& step = action.step;
    const int node = case_.layout.node_of[rank.problem.rank];
    const int local = case_.layout.local_rank_of[rank.problem.rank];
    const int count = case_.layout.local_size(rank.problem.rank);
    auto& given = fused_[{node, rank.fused}];
    const bool is_source = !schedule::has_one_source(step.kind) || local == step.peer;
    if (is_source && !given.contains(local)) {
      given[local] = step.kind == StepKind::node_barrier ? Values{} : read(rank, step.left, action);
    }
    const bool is_exclusive = step.kind == StepKind::node_exscan;
    const bool is_prefix = step.kind == StepKind::node_scan || is_exclusive;
    const bool is_sink =
        (!schedule::has_one_sink(step.kind) || local == step.peer) && !(is_exclusive && local == 0);
    const int needed = !is_sink ? 0 : schedule::has_one_source(step.kind) ? 1 : is_prefix ? local + 1 : count;
    const auto last_needed = is_prefix ? given.upper_bound(local) : given.end();
    if (std::distance(given.begin(), last_needed) < needed) return false;
    if (is_sink && step.kind != StepKind::node_barrier) {
      if (!is_free(rank, step.into, action)) return false;
      take_fused(rank, action, given, local, count);
    }
    ++rank.fused;
    return true;
  }

  void take_fused(Rank& rank, const Action& action, const std::map<int, Values>& given, int local,
                  int count) {
    const Step& step = action.step;
    const bool is_exclusive = step.kind == StepKind::node_exscan;
    const bool is_prefix = step.kind == StepKind::node_scan || is_exclusive;
    const bool is_scattered = step.kind == StepKind::node_reduce_scatter;
    const bool is_reduction = step.kind == StepKind::node_reduce || step.kind == StepKind::node_allreduce ||
                              is_prefix || is_scattered;
    const bool is_in_parts =
        step.kind == StepKind::node_scatter || step.kind == StepKind::node_alltoall || is_scattered;
    Values result;
    for (const auto& [from, values] : given) {
      if (is_prefix && (from > local || (is_exclusive && from == local))) break;
      std::int64_t part = is_in_parts ? std::ssize(values) / count : std::ssize(values);
      auto first = values.begin() + (is_in_parts ? local * part : 0);
      if (is_scattered && !rank.starts.empty()) {
        part = rank.starts[local + 1] - rank.starts[local];
        first = values.begin() + rank.starts[local];
      }
      if (!is_reduction || result.empty()) {
        result.insert(result.end(), first, first + part);
        continue;
      }
      for (std::int64_t e = 0; e < part; ++e) {
        result[e] = joined(result[e], first[e], case_.is_commutative);
      }
    }
    write(rank, step.into, action, result);
  }

  const Case& case_;
  const Promise promise_;
  int size_;
  std::vector<Rank> ranks_;
  std::vector<Message> messages_;
  std::vector<std::vector<Channel>> channels_;                  // node -> channels
  std::map<std::pair<int, int>, int> channel_of_stage_;         // (node, stage) -> channel
  std::map<std::pair<int, int>, std::map<int, Values>> fused_;  // (node, number) -> local rank -> data
};

// While one rank has not come, no other may leave a barrier.
void expect_barrier_holds(const Case& tested) {
  for (int held = 0; held < tested.layout.size(); ++held) {
    Interpreter interpreter(tested);
    interpreter.advance(held);
    for (int rank = 0; rank < tested.layout.size(); ++rank) {
      if (rank != held && interpreter.is_done(rank)) {
        throw Fault("rank " + std::to_string(rank) + " leaves before rank " + std::to_string(held) +
                    " comes");
      }
    }
    interpreter.finish();
  }
}

}  // namespace

std::string Case::describe() const {
  std::ostringstream text;
  text << descriptor->name << " on " << layout.describe() << ", root " << root << ", " << elements
       << " elements (pattern " << pattern << "), area " << area_bytes << (is_in_place ? ", in place" : "")
       << (is_commutative ? "" : ", not commutative");
  for (const auto& [name, value] : parameters.values()) text << ", " << name << "=" << value;
  return text.str();
}

std::string fault_of(const Case& tested) {
  try {
    Interpreter(tested).finish();
    if (tested.descriptor->operation == Operation::barrier) expect_barrier_holds(tested);
  } catch (const Fault& fault) {
    return tested.describe() + ": " + fault.what();
  }
  return {};
}

}  // namespace unisono::algorithms::testing
