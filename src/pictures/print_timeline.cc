// SPDX-License-Identifier: BSD-3-Clause
#include "pictures/print_timeline.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "pictures/print_rows.h"
#include "proof/check_node.h"
#include "proof/check_plan.h"

namespace unisono::pictures {
namespace {

constexpr int columns_of_piece = 2;
constexpr int most_ranks_shown = 16;
constexpr int most_instances = 20'000;          // above that nobody reads it
constexpr std::int64_t area_bytes = 256 << 10;  // as the runtime has it where nobody asks for another
constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyz";

enum Lane { sends, receives, on_node, lanes };
constexpr std::array<std::string_view, lanes> lane_names{"sends", "receives", "on node"};

// Runs all ranks in virtual time: each sends one piece at a time, receives one, and copies or reduces one.
class Timeline {
 public:
  explicit Timeline(const proof::CheckPlan& plan)
      : plan_(plan),
        waiting_for_(plan.predecessor_counts()),
        state_(static_cast<std::size_t>(plan.instances()), State::waiting),
        drawn_(static_cast<std::size_t>(plan.ranks())),
        busy_until_(static_cast<std::size_t>(plan.ranks())) {
    set_up_flags();
    find_longest();
  }

  // False where nothing goes on any more before all is done.
  bool run() {
    while (unfinished_ > 0) {
      bool has_moved = true;
      while (has_moved) {
        has_moved = false;
        for (int i = 0; i < plan_.instances(); ++i) has_moved = consider(i) || has_moved;
      }
      if (unfinished_ > 0 && running_ == 0) return false;
      ++now_;
    }
    return true;
  }

  int duration() const { return now_; }
  const std::string& drawn(int rank, Lane lane) const { return drawn_[rank][lane]; }

 private:
  enum class State : std::uint8_t { waiting, running, done };

  int local_rank(int rank) const { return plan_.layout().local_rank_of[rank]; }
  std::uint64_t& flag(int rank, int channel) {
    return flags_[static_cast<std::size_t>(rank * plan_.channels() + channel)];
  }

  void set_up_flags() {
    const patterns::Layout& layout = plan_.layout();
    flags_.resize(static_cast<std::size_t>(plan_.ranks() * plan_.channels()));
    for (int rank = 0; rank < plan_.ranks(); ++rank) {
      proof::NodeMemory memory(layout.local_size(rank), plan_.channels(), 1);
      const proof::LoadedProgram& program = plan_.program(0, rank);
      auto& uses = uses_.emplace_back(program.program().stages.size());
      for (std::size_t stage = 0; stage < uses.size(); ++stage) {
        const int channel = program.program().channel_of[stage];
        if (channel < 0) continue;
        uses[stage] =
            memory.begin_use(channel, program.geometry(static_cast<int>(stage)),
                             program.pieces(static_cast<int>(stage)), program.program().stages[stage].ticks);
        if (!program.program().has_node_steps[stage]) {
          flag(rank, channel) =
              uses[stage].base_tick + static_cast<std::uint64_t>(uses[stage].pieces * uses[stage].ticks);
        }
      }
    }
    unfinished_ = plan_.instances();
    ends_.resize(static_cast<std::size_t>(plan_.instances()));
  }

  std::int64_t length_of(int instance) const {
    const schedule::Step& step = plan_.step_of(instance).step;
    const schedule::Ref& data = step.kind == schedule::StepKind::send ? step.left : step.into;
    return plan_.program_of(instance).range(plan_.local(instance), data).length();
  }
  // Of the messages; without any, of the copies.
  void find_longest() {
    std::int64_t longest_message = 0;
    for (int i = 0; i < plan_.instances(); ++i) {
      longest_ = std::max(longest_, length_of(i));
      if (is_message(plan_.step_of(i).step.kind)) longest_message = std::max(longest_message, length_of(i));
    }
    if (longest_message != 0) longest_ = longest_message;
  }
  int columns(int instance) const {
    const std::int64_t wanted = (length_of(instance) * columns_of_piece + longest_ - 1) / longest_;
    return static_cast<int>(wanted);
  }

  // Has all that the step waits for happened, flags included?
  bool is_free(int instance) {
    if (waiting_for_[instance] > 0) return false;
    const proof::CheckedStep& checked = plan_.step_of(instance);
    const int rank = plan_.rank_of(instance);
    const proof::ChannelUse& use = uses_[rank][checked.stage];
    const auto piece = static_cast<std::size_t>(plan_.piece_of(instance));
    const auto& locals = plan_.layout().ranks_of[plan_.layout().node_of[rank]];
    const std::uint64_t tick = use.base_tick + piece * static_cast<std::uint64_t>(use.ticks) +
                               static_cast<std::uint64_t>(checked.step.tick);
    const auto all_have = [&](std::uint64_t wanted) {
      return std::all_of(locals.begin(), locals.end(),
                         [&](int local) { return flag(local, use.channel) >= wanted; });
    };
    switch (checked.step.kind) {
      case schedule::StepKind::await:
        return flag(locals[static_cast<std::size_t>(checked.step.peer)], use.channel) >= tick;
      case schedule::StepKind::await_all:
        return all_have(tick);
      case schedule::StepKind::await_space:
        return all_have(use.space_tick[piece]);
      case schedule::StepKind::signal:
        flag(rank, use.channel) = tick;
        return true;
      default:
        return true;
    }
  }

  // Starts or ends what can be; true if something has happened.
  bool consider(int instance) {
    if (state_[instance] == State::done) return false;
    if (state_[instance] == State::running) {
      if (ends_[instance] > now_) return false;
      --running_;
      finish(instance);
      return true;
    }
    const schedule::StepKind kind = plan_.step_of(instance).step.kind;
    if (!is_free(instance)) return false;
    if (kind == schedule::StepKind::recv && plan_.program_of(instance).is_sent(plan_.local(instance))) {
      if (!std::exchange(is_posted_[instance], char{1})) {
        wake(instance, true);
        return true;
      }
      return false;  // its sender brings it
    }
    if (kind == schedule::StepKind::send && plan_.program_of(instance).is_sent(plan_.local(instance))) {
      return start_message(instance);
    }
    const bool is_data = kind == schedule::StepKind::copy || kind == schedule::StepKind::reduce;
    if (!is_data || columns(instance) == 0) {
      wake(instance, true);
      finish(instance);
      return true;
    }
    if (busy_until_[plan_.rank_of(instance)][on_node] > now_) return false;
    wake(instance, true);
    occupy(instance, on_node, columns(instance));
    return true;
  }

  bool start_message(int send) {
    const int recv = plan_.partner_of(send);
    if (state_[send] == State::running || !is_posted_[recv]) return false;
    if (busy_until_[plan_.rank_of(send)][sends] > now_) return false;
    if (busy_until_[plan_.rank_of(recv)][receives] > now_) return false;
    wake(send, true);
    const int columns = std::max(1, this->columns(send));
    occupy(send, sends, columns);
    occupy(recv, receives, columns);
    return true;
  }

  void occupy(int instance, Lane lane, int columns) {
    const int rank = plan_.rank_of(instance);
    state_[instance] = State::running;
    ++running_;
    ends_[instance] = busy_until_[rank][lane] = now_ + columns;
    std::string& line = drawn_[rank][lane];
    line.resize(static_cast<std::size_t>(now_), '.');
    line.append(static_cast<std::size_t>(columns),
                digits[static_cast<std::size_t>(plan_.piece_of(instance)) % digits.size()]);
  }

  void finish(int instance) {
    state_[instance] = State::done;
    --unfinished_;
    wake(instance, false);
  }
  void wake(int instance, bool is_start) {
    for (auto next = plan_.successors_begin(instance); next != plan_.successors_end(instance); ++next) {
      if (next->is_start == is_start) --waiting_for_[next->instance];
    }
  }

  const proof::CheckPlan& plan_;
  std::vector<std::int32_t> waiting_for_;
  std::vector<State> state_;
  std::vector<char> is_posted_ = std::vector<char>(static_cast<std::size_t>(plan_.instances()), 0);
  std::vector<int> ends_;
  std::vector<std::uint64_t> flags_;                  // rank and channel
  std::vector<std::vector<proof::ChannelUse>> uses_;  // rank, stage
  std::vector<std::array<std::string, lanes>> drawn_;
  std::vector<std::array<int, lanes>> busy_until_;
  std::int64_t longest_ = 1;
  int unfinished_ = 0, running_ = 0, now_ = 0;
};

// What goes in pieces, so that some of it overlaps; nothing that blocks.
bool is_worth_drawing(const proof::CheckPlan& plan) {
  if (plan.instances() > most_instances) return false;
  bool has_pieces = false;
  for (int i = 0; i < plan.instances(); ++i) {
    const proof::CheckedStep& checked = plan.step_of(i);
    if (is_fused(checked.step.kind) || checked.is_token) return false;
    has_pieces = has_pieces || plan.piece_of(i) > 0;
  }
  return has_pieces;
}

std::string padded(std::string text, int width) {
  text.resize(static_cast<std::size_t>(std::max(width, static_cast<int>(text.size()))), ' ');
  return text;
}

}  // namespace

std::string timeline_of(const Picture& picture, int width) {
  if (!picture.count || *picture.count == 0) return "";
  schedule::Problem problem;
  problem.operation = picture.operation;
  problem.size = static_cast<int>(picture.programs.size());
  problem.root = picture.root;
  problem.layout = picture.layout;
  problem.neighborhood = picture.neighborhood;
  std::vector<std::string> failures;
  const proof::CheckedCall call = proof::spread_out(
      picture.algorithm, problem, false,
      [&](const schedule::Problem& asked) { return picture.programs[static_cast<std::size_t>(asked.rank)]; },
      &failures);
  if (!failures.empty()) return "";
  const proof::CheckLoad load{.elements = *picture.count, .element_bytes = 1, .area_elements = area_bytes};
  const proof::CheckPlan plan({&call}, {*picture.count}, load);
  if (!plan.failures().empty() || !is_worth_drawing(plan)) return "";
  Timeline timeline(plan);
  if (!timeline.run()) return "";
  std::string text;
  const std::string title =
      "In time, if a piece's message took " + std::to_string(columns_of_piece) +
      " columns, as copying it does (0-9, a-z: which piece; what stands above each other overlaps):";
  for (const std::string& line : wrapped(title, width)) text += line + "\n";
  constexpr int label_width = 20;
  const auto room = static_cast<std::size_t>(std::max(1, width - label_width - 2));
  for (int rank = 0; rank < std::min(plan.ranks(), most_ranks_shown); ++rank) {
    std::string label = "rank " + std::to_string(rank);
    for (const Lane lane : {sends, receives, on_node}) {
      std::string line = timeline.drawn(rank, lane);
      if (line.empty()) continue;
      if (line.size() > room) line = line.substr(0, room) + " …";
      text += padded(padded(label, 10) + std::string(lane_names[lane]), label_width) + line + "\n";
      label.clear();
    }
  }
  return text + "All is done after " + std::to_string(timeline.duration()) + " columns.\n";
}

}  // namespace unisono::pictures
