// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <tuple>

#include "schedule/block_table.h"
#include "schedule/compiled.h"
#include "schedule/dependencies.h"
#include "schedule/executor.h"
#include "schedule/ranges.h"

namespace unisono::schedule {

namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw std::invalid_argument("malformed program: " + why);
}

bool is_node_step(const Step& step) {
  if (is_flag_step(step.kind) || is_fused(step.kind)) return true;
  const Operands named = operands(step);
  for (const Ref* ref : {named.reads[0], named.reads[1], named.write}) {
    if (ref != nullptr && !is_private(ref->place)) return true;
  }
  return false;
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// Can the stage's steps never be more than one piece, whatever the count?
bool is_whole(const Stage& stage) {
  return stage.segment_bytes == 0 && stage.shared == SharedMode::none;
}

class Compiler {
 public:
  Compiler(const Problem& problem, const Program& program)
      : problem_(problem), program_(program), made_(std::make_shared<Compiled>()) {}

  std::shared_ptr<const Compiled> compile() {
    made_->number = next_number();
    made_->problem = problem_;
    made_->exposed_input = in_place(problem_, whole(Place::input));
    made_->exposed_output = in_place(problem_, whole(Place::output));
    made_->scratch_last = program_.scratch;
    made_->scratch_parts = program_.scratch_parts;
    made_->blocks = program_.blocks;
    for (std::size_t i = 0; i < program_.stages.size(); ++i) flatten(static_cast<int>(i));
    make_index();
    for (const FlatStep& step : flat_) emit(step);
    mark_results_for_others();
    link(find_predecessors(flat_));
    const auto is_whole_stage = [](const CompiledStage& stage) { return is_whole(stage.shape); };
    const auto is_fused_step = [](const CompiledStep& step) { return is_fused(step.kind); };
    made_->is_whole = std::all_of(made_->stages.begin(), made_->stages.end(), is_whole_stage);
    made_->is_fused_only =
        made_->is_whole && std::all_of(made_->steps.begin(), made_->steps.end(), is_fused_step);
    if (program_.stages_of_short >= 0) {
      Program of_short = program_;
      of_short.stages.resize(static_cast<std::size_t>(program_.stages_of_short));
      of_short.stages_of_short = -1;
      made_->of_short = schedule::compile(problem_, of_short);
    }
    return made_;
  }

 private:
  void flatten(int index) {
    const Stage& stage = program_.stages[index];
    CompiledStage compiled;
    compiled.shape = stage;
    compiled.shape.write = nullptr;
    compiled.shape.window = std::clamp(stage.window, 1, 64);
    if (stage.shared != SharedMode::none) {
      if (stage.continues_channel) {
        check_continuation(stage);
      } else if (next_channel_++ == shm::channel_count) {
        refuse("more stages with shared memory than channels");
      }
      compiled.channel = next_channel_ - 1;
      made_->has_channels = true;
    }
    const std::size_t begin = flat_.size();
    std::vector<Step> written;
    for (int round = 0; round < stage.rounds; ++round) {
      written.clear();
      Writer writer(&written);
      stage.write(round, writer);
      for (const Step& step : written) add(step, index, round);
    }
    const auto is_node = [](const FlatStep& step) { return step.is_node_step; };
    compiled.has_node_steps = std::any_of(flat_.begin() + begin, flat_.end(), is_node);
    if (compiled.channel >= 0 && compiled.has_node_steps) finish_pieces(stage, index);
    made_->stages.push_back(std::move(compiled));
    if (stage.shared == SharedMode::none) return;
    if (stage.continues_channel &&
        made_->stages[last_on_channel_].has_node_steps != made_->stages.back().has_node_steps) {
      refuse("a rank uses a channel in some of its stages only");
    }
    last_on_channel_ = index;
  }

  void check_continuation(const Stage& stage) const {
    if (last_on_channel_ < 0) refuse("no channel to go on with");
    const Stage& before = program_.stages[last_on_channel_];
    if (std::tie(stage.shared, stage.ticks, stage.buffers, stage.lanes) !=
        std::tie(before.shared, before.ticks, before.buffers, before.lanes)) {
      refuse("a stage that goes on with another use of its channel");
    }
  }

  // At the end of each piece the own flag stands at the piece's last tick, whether the program says so or
  // not.
  void finish_pieces(const Stage& stage, int index) {
    std::size_t last = flat_.size();
    while (!flat_[--last].is_node_step) continue;
    const Step& known = flat_[last].step;
    if (known.kind == StepKind::signal && known.tick == stage.ticks) return;
    const Step signal{.kind = StepKind::signal, .tick = stage.ticks};
    flat_.push_back({.step = signal,
                     .stage = index,
                     .round = stage.rounds,
                     .begins_apart = stage.begins_apart,
                     .has_channel = true,
                     .continues_channel = stage.continues_channel,
                     .is_node_step = true});
  }

  void add(const Step& written, int stage, int round) {
    Step step = written;
    for (Ref* ref : {&step.into, &step.left, &step.right}) *ref = in_place(problem_, *ref);
    made_->has_single_copy = made_->has_single_copy || step.kind == StepKind::expose;
    const Operands named = operands(step);
    if (step.kind == StepKind::copy || step.kind == StepKind::reduce) {
      if (step.into.first == step.into.last) return;
      if (is_needless_copy(problem_, step)) return;
    }
    FlatStep flat{.step = step, .stage = stage, .round = round};
    if (is_message(step.kind)) {
      if (step.peer < 0 || step.peer >= problem_.size) refuse("a message to no rank");
      const Ref& data = step.kind == StepKind::send ? step.left : step.into;
      flat.is_token = is_token(problem_.operation, data);
      flat.tag = message_key(stage, round, tag_count);
      flat.rounds_under_way = program_.stages[stage].rounds_under_way;
      flat.sends_under_way = program_.stages[stage].sends_under_way;
      flat.is_blocking = program_.stages[stage].is_blocking;
    }
    flat.begins_apart = program_.stages[stage].begins_apart;
    flat.has_channel = program_.stages[stage].shared != SharedMode::none;
    flat.continues_channel = program_.stages[stage].continues_channel;
    flat.is_node_step = is_node_step(step) && !flat.is_token;
    check(flat, named);
    flat_.push_back(flat);
  }

  void check(const FlatStep& flat, const Operands& named) const {
    const bool has_channel = program_.stages[flat.stage].shared != SharedMode::none;
    if (flat.is_node_step && program_.stages[flat.stage].is_blocking)
      refuse("node steps between blocking calls");
    if (is_flag_step(flat.step.kind) && !has_channel) refuse("a flag in a stage that has no channel");
    for (const Ref* ref : {named.reads[0], named.reads[1], named.write}) {
      if (ref == nullptr || flat.is_token) continue;
      if (ref->parts != 1 && has_uneven_blocks(problem_.operation)) refuse("a part of uneven blocks");
      if (ref->parts <= 0 || ref->sub_parts <= 0 || ref->first < 0 || ref->last < ref->first) {
        refuse("a reference that is no range");
      }
      if (!is_private(ref->place) && !has_channel) refuse("shared memory in a stage that has no channel");
      const bool is_remote = ref->place == Place::remote_input || ref->place == Place::remote_output;
      made_->has_single_copy = made_->has_single_copy || is_remote;
      if (is_remote && (ref == named.write || is_message(flat.step.kind))) {
        refuse("another rank's buffer is only to be copied from, or reduced");
      }
    }
  }

  void emit(const FlatStep& flat) {
    CompiledStep step;
    step.kind = flat.step.kind;
    step.is_token = flat.is_token;
    step.is_node_step = flat.is_node_step;
    step.stage = flat.stage;
    step.peer = flat.step.peer;
    step.tag = flat.tag;
    step.tick = flat.step.tick;
    if (flat.step.along != nullptr) step.tree = index_of(flat.step.along);
    const Operands named = operands(flat.step);
    if (!flat.is_token) {
      for (const Ref* ref : {named.reads[0], named.reads[1], named.write}) {
        if (ref != nullptr) note_extent(*ref);
      }
    }
    step.into = index_of(flat.step.into);
    step.left = index_of(flat.step.left);
    step.right = index_of(flat.step.right);
    step.is_cut_alike = !flat.is_token && is_cut_alike(flat.step, named);
    step.is_plain = step.is_cut_alike && !flat.is_node_step;
    const Stage& stage = made_->stages[step.stage].shape;
    if (is_message(step.kind)) made_->most_messages += is_whole(stage) ? 1 : stage.window;
    made_->steps.push_back(step);
  }

  std::int32_t index_of(const Tree& tree) {
    made_->trees.push_back(tree);
    return static_cast<std::int32_t>(std::ssize(made_->trees)) - 1;
  }

  // Are all operands equally long for every count? Then they are cut in the same places.
  bool is_cut_alike(const Step& step, const Operands& named) const {
    if (!is_message(step.kind) && step.kind != StepKind::copy && step.kind != StepKind::reduce) return false;
    const Ref& one = step.kind == StepKind::send ? step.left : step.into;
    for (const Ref* ref : {named.reads[0], named.reads[1], named.write}) {
      if (ref == nullptr) continue;
      const bool is_as_long = ref->parts == one.parts && ref->last - ref->first == one.last - one.first &&
                              (ref->first - one.first) % one.parts == 0;
      if (!is_as_long || !is_even(*ref)) return false;
    }
    return true;
  }
  bool is_even(const Ref& ref) const {
    return !has_uneven_blocks(problem_.operation) && !has_sub_range(ref) &&
           (is_private(ref.place) || ref.place == Place::shared);
  }

  void mark_results_for_others() {
    std::vector<CompiledStep>& steps = made_->steps;
    for (auto step = steps.begin(); step != steps.end(); ++step) {
      if (step->kind != StepKind::reduce || made_->refs[step->into].place != Place::shared) continue;
      const auto reads_it = [&](const CompiledStep& later) {
        return later.stage == step->stage && (later.left == step->into || later.right == step->into);
      };
      step->is_for_others = std::none_of(step + 1, steps.end(), reads_it);
    }
  }

  void note_extent(const Ref& ref) {
    const auto widen = [&ref](std::int64_t* last, std::int32_t* parts) {
      if (static_cast<__int128>(ref.last) * *parts <= static_cast<__int128>(*last) * ref.parts) return;
      *last = ref.last;
      *parts = ref.parts;
    };
    if (ref.place == Place::scratch) widen(&made_->scratch_last, &made_->scratch_parts);
    if (ref.place == Place::output) widen(&made_->output_last, &made_->output_parts);
    if (ref.last - ref.first > 1 && ref.place == Place::input) made_->has_input_runs = true;
    if (ref.last - ref.first > 1 && ref.place == Place::output) made_->has_output_runs = true;
  }

  std::int32_t index_of(const Ref& ref) {
    for (std::size_t at = hash_of(ref) & (index_.size() - 1);; at = (at + 1) & (index_.size() - 1)) {
      if (index_[at] < 0) {
        index_[at] = static_cast<std::int32_t>(made_->refs.size());
        made_->refs.push_back({ref, is_even(ref)});
      } else if (static_cast<const Ref&>(made_->refs[index_[at]]) != ref) {
        continue;
      }
      return index_[at];
    }
  }
  // A table that stays at most half full, whatever the references are.
  void make_index() {
    std::size_t size = 8;
    while (size < 6 * flat_.size()) size *= 2;
    index_.assign(size, -1);
    made_->steps.reserve(flat_.size());
  }
  static std::size_t hash_of(const Ref& ref) {
    std::uint64_t hash = 0;
    const auto mix = [&hash](std::int64_t value) {
      hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    };
    mix(ref.first);
    mix(ref.last);
    mix(static_cast<std::int64_t>(ref.parts) << 32 | static_cast<std::int64_t>(ref.place) << 24 | ref.owner);
    mix(static_cast<std::int64_t>(ref.sub_parts) << 32 | ref.sub_first << 8 | ref.lane);
    mix(ref.lane_first);
    return hash;
  }

  void link(const std::vector<std::vector<Predecessor>>& found) {
    std::vector<CompiledStep>& steps = made_->steps;
    std::vector<std::vector<std::int32_t>> successors(steps.size()), start_successors(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto own = static_cast<std::int32_t>(i);
      std::int32_t waits = 0;
      const bool is_one_piece = is_whole(made_->stages[steps[i].stage].shape);
      steps[i].first_predecessor = static_cast<std::int32_t>(made_->predecessors.size());
      for (const Predecessor& wait : found[i]) {
        if (wait.how != Wait::previous) {
          ++waits;
          (is_start(wait.how) ? start_successors : successors)[wait.step].push_back(own);
        } else if (is_one_piece) {
          continue;
        } else {
          steps[wait.step].next_piece_of = own;
        }
        made_->predecessors.push_back(wait);
      }
      steps[i].last_predecessor = static_cast<std::int32_t>(made_->predecessors.size());
      made_->waits.push_back(waits);
      if (waits == 0) made_->roots.push_back(own);
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      append(successors[i], &steps[i].first_successor, &steps[i].last_successor);
      append(start_successors[i], &steps[i].first_start_successor, &steps[i].last_start_successor);
    }
  }
  void append(const std::vector<std::int32_t>& some, std::int32_t* first, std::int32_t* last) {
    *first = static_cast<std::int32_t>(made_->successors.size());
    made_->successors.insert(made_->successors.end(), some.begin(), some.end());
    *last = static_cast<std::int32_t>(made_->successors.size());
  }

  const Problem& problem_;
  const Program& program_;
  std::shared_ptr<Compiled> made_;
  std::vector<FlatStep> flat_;
  std::vector<std::int32_t> index_;  // hash of a reference -> its number, -1: free
  int next_channel_ = 0;
  int last_on_channel_ = -1;  // stage
};

template <typename T>
std::size_t held_bytes(const std::vector<T>& values) {
  return values.capacity() * sizeof(T);
}

}  // namespace

std::shared_ptr<const Compiled> compile(const Problem& problem, const Program& program) {
  return Compiler(problem, program).compile();
}

bool has_runs(const Compiled& compiled, Place place) {
  return place == Place::input ? compiled.has_input_runs : compiled.has_output_runs;
}

bool has_messages(const Compiled& compiled) {
  return compiled.most_messages != 0;
}

std::size_t size_bytes(const Compiled& compiled) {
  const std::size_t blocks = compiled.blocks == nullptr ? 0 : size_bytes(*compiled.blocks);
  const std::size_t of_short = compiled.of_short == nullptr
                                   ? 0
                                   : size_bytes(*compiled.of_short) - size_bytes(*compiled.of_short->blocks);
  return sizeof(Compiled) + blocks + of_short + held_bytes(compiled.stages) + held_bytes(compiled.steps) +
         held_bytes(compiled.refs) + held_bytes(compiled.predecessors) + held_bytes(compiled.successors) +
         held_bytes(compiled.waits) + held_bytes(compiled.roots);
}

}  // namespace unisono::schedule
