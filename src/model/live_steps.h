// SPDX-License-Identifier: BSD-3-Clause
// One rank's steps as a run in virtual time sees them: asked for round by round, held while they are not
// done, and forgotten afterwards. So a rank needs memory for the steps under way, not for its program.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "schedule/block_table.h"
#include "schedule/compiled.h"
#include "schedule/program.h"
#include "schedule/ranges.h"

namespace unisono::model {

// Of a call: how much it moves, and how its stages are cut.
struct CallSize {
  std::int64_t elements = 0;
  std::int64_t element_bytes = 1;
  std::int64_t channel_bytes = 0;  // of a channel, all local ranks together
  // Of the bytes of each element that are moved: less than 1 where there are more elements than the call has,
  // so that all parts are equally long (symmetry.h).
  double share = 1;
  // Of neighbours: for which blocks the slots of all nodes have room.
  schedule::SlotRoom room{};

  std::int64_t bytes_of(std::int64_t some) const {
    const std::int64_t bytes = some * element_bytes;
    return share >= 1 ? bytes : static_cast<std::int64_t>(static_cast<double>(bytes) * share + 0.5);
  }
};

// Of a rank's part of a channel.
std::int64_t area_bytes(std::int64_t channel_bytes, int local_size);

// What a step touches of the rank's own memory.
struct Touch {
  schedule::Place place = schedule::Place::output;
  bool is_write = false;
  schedule::ElementRange range;  // all pieces, sub-range left aside
  std::int32_t sub_first = 0, sub_last = 1, sub_parts = 1;
};

// Around all that steps which are not done read, or write, of one place: what lies outside of it meets none
// of them.
struct Hull {
  schedule::ElementRange range;
  std::int32_t touches = 0;
  void add(const schedule::ElementRange& touched);
  void remove() {
    if (touches > 0) --touches;  // those of a compiled program were never added
  }
  bool is_met_by(const schedule::ElementRange& touched) const {
    return touches > 0 && touched.first < range.last && range.first < touched.last;
  }
};

struct LiveStep {
  schedule::StepKind kind = schedule::StepKind::copy;
  bool is_token = false;
  bool is_fresh = false;  // a message of what the call has written on this rank
  bool is_node_step = false;
  bool is_ending_exposure = false;  // the last await so far of a stage that exposes buffers
  std::uint8_t shared_reads = 0;    // operands in slots
  // Which local ranks have written what it reads in slots, or in others' memory; -1: there is no such
  // operand.
  static constexpr std::int32_t awaited = -2;  // in a slot of all: whoever this rank has waited for last
  std::array<std::int32_t, 2> fetched_from = {-1, -1};
  bool is_shared_write = false;
  bool is_in_run = false;  // where it writes in a slot follows from the number of its block
  bool is_remote_read = false;
  std::int32_t stage = 0;
  std::int32_t round = 0;
  std::int32_t peer = -1;
  std::int32_t tick = 0;
  std::int32_t ordinal = 0;  // messages: among those of one pair in one round
  schedule::Tree along;
  Touch data;  // what is moved: a message's, or what is written; fused steps: read
  std::uint8_t touches = 0;
  Touch touched[3];

  std::int32_t pieces = 1;
  std::int32_t started = 0, done = 0;
  std::uint64_t done_ahead = 0;  // bit k: piece done + 1 + k is done as well
  std::vector<schedule::Predecessor> waits_for;
  std::vector<std::int32_t> waited_by;

  bool is_done() const { return done == pieces; }
  std::int64_t elements_of(std::int64_t piece) const;
};

// What a stage is in this call, the same on all ranks of a node.
struct StageUse {
  std::int32_t pieces = 1;
  std::int32_t window = 1;
  int channel = -1;
  std::int64_t base_piece = 0;  // on its channel, of this call
  int ticks = 0;
  int buffers = 1;
  bool has_node_steps = false;
  std::int64_t tick_of(std::int64_t piece, int tick) const { return (base_piece + piece) * ticks + tick; }
  // What all flags must have reached before the piece's slot is free.
  std::int64_t space_tick(std::int64_t piece) const {
    const std::int64_t number = base_piece + piece;
    return number < buffers ? 0 : (number - buffers + 1) * ticks;
  }
};

class LiveSteps {
 public:
  // `most_waiting`: no further round is asked for while so many steps are not done.
  // `index_of`: which rank is run for a peer, and so which messages are of one pair; null: each for itself.
  LiveSteps(const schedule::Problem& problem, schedule::Program program, const CallSize& size, int local_size,
            int most_waiting, const std::function<int(int rank)>* index_of = nullptr);
  // The same with the dependencies that the executor goes by, all of them at once.
  static LiveSteps compiled(const schedule::Problem& problem, const schedule::Program& program,
                            const CallSize& size, int local_size);

  // The program is one call after the other, of so many stages each, that begin when all before is done.
  void set_stages_of_call(int stages) { stages_of_call_ = stages; }
  std::int32_t call_of(const LiveStep& step) const {
    return stages_of_call_ > 0 ? step.stage / stages_of_call_ : 0;
  }

  // Asks for further rounds as far as there is room; the first new step's number. Nothing new: end().
  std::int32_t load();
  std::int32_t begin() const { return first_; }
  std::int32_t end() const { return next_; }
  LiveStep& at(std::int32_t number) { return ring_[static_cast<std::uint32_t>(number) & mask_]; }
  const LiveStep& at(std::int32_t number) const { return ring_[static_cast<std::uint32_t>(number) & mask_]; }
  const StageUse& use(int stage) const { return uses_[static_cast<std::size_t>(stage)]; }
  const std::vector<StageUse>& uses() const { return uses_; }
  int channels() const { return channels_; }

  bool may_start(const LiveStep& step, std::int64_t piece) const;
  // Marks a piece as done; true when the whole step is.
  bool complete(std::int32_t number, std::int64_t piece);
  bool is_over() const { return is_exhausted_ && waiting_ == 0; }
  std::int64_t waiting() const { return waiting_; }

 private:
  LiveSteps(const schedule::Problem& problem, const CallSize& size, int local_size)
      : problem_(problem), size_(size), local_size_(local_size), units_(size.elements) {}
  void find_blocks(schedule::Program* program);
  void plan(const std::vector<schedule::Stage>& stages);
  std::int32_t piece_count(const schedule::Stage& stage, std::int64_t lane) const;
  bool has_node_steps(const schedule::Stage& stage) const;
  int most_waiting() const;
  void number_messages(std::int32_t first);
  void load_round();
  void load_stage();
  void add(const schedule::Step& step, int stage, int round);
  LiveStep& append();
  void fill(const schedule::Step& step, LiveStep* live) const;
  std::int32_t writer_of(const schedule::Ref& ref, const LiveStep& step) const;
  void end_stage();

  // --- Dependencies, as schedule/dependencies.cc finds them, on what is not done yet ---
  void find_waits(std::int32_t number);
  unsigned touches_that_meet(const LiveStep& step) const;
  Hull& hull_of(const Touch& touch) {
    return hulls_[static_cast<std::size_t>(touch.place)][touch.is_write ? 1 : 0];
  }
  void wait_for_conflicts(LiveStep& step, const LiveStep& other, std::int32_t number, unsigned* open) const;
  void keep_order(LiveStep& step, const LiveStep& other, std::int32_t number);
  void keep_points(LiveStep& step, const LiveStep& other, std::int32_t number);
  void guard_exposed(LiveStep& step, const LiveStep& other, std::int32_t number);
  void order_node_step(std::int32_t number);
  void wait_done(LiveStep& step, const LiveStep& other, std::int32_t number) const;
  void block(LiveStep& step, std::int32_t number);
  void end_blocking_round();
  void pace(LiveStep& step, std::int32_t number);
  void follow(std::int32_t first, std::int32_t last);
  void link(std::int32_t number);

  const schedule::Stage& stage_of(const LiveStep& step) const {
    return program_.stages[static_cast<std::size_t>(step.stage)];
  }
  bool is_live(std::int32_t number) const { return number >= first_ && !at(number).is_done(); }

  schedule::Problem problem_;
  schedule::Program program_;
  CallSize size_;
  int local_size_ = 1;
  int most_waiting_ = 1;
  int stages_of_call_ = 0;  // 0: it is one call
  const std::function<int(int)>* index_of_ = nullptr;
  std::vector<std::int64_t> starts_;  // of neighbours' blocks
  schedule::Units units_;
  std::vector<StageUse> uses_;
  int channels_ = 0;

  std::size_t stage_ = 0;  // the next round to ask for
  int round_ = 0;
  bool is_exhausted_ = false;

  std::vector<LiveStep> ring_;  // steps first_ .. next_ - 1, by number & mask_
  std::uint32_t mask_ = 0;
  std::int32_t first_ = 0, next_ = 0;
  std::int64_t waiting_ = 0;  // not done

  static constexpr std::size_t private_places = 3;
  std::array<std::array<Hull, 2>, private_places> hulls_;  // by place: what is read, what is written

  // Steps of the stage that is being asked for, by number; -1: there is none yet.
  struct AskedStage {
    std::int32_t first = 0;
    std::int32_t first_blocking = -1, last_blocking = -1, blocking_round = -1;  // messages of a round
    std::vector<std::int32_t> last_sends;  // where they are paced: as many as may be under way
    std::size_t sends = 0;
    std::int32_t first_node = -1, last_node = -1;
    std::int32_t last_on_channel = -1;
    std::int32_t last_exposed_await = -1;
    bool is_exposed = false;
  };
  AskedStage asked_;

  bool has_node_messages_ = false;
  bool has_gates_ = false, has_fused_ = false;  // so far
  bool has_exposed_ = false;                    // any stage
};

}  // namespace unisono::model
