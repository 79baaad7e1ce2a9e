// SPDX-License-Identifier: BSD-3-Clause
// A schedule under way. Split from the executor's loop so that a file fits the eye.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "schedule/compiled.h"
#include "schedule/executor.h"
#include "schedule/ranges.h"

namespace unisono::schedule {

// Memory of the executor's own, aligned to cache lines, grown and never shrunk.
class Arena {
 public:
  char* reserve(std::size_t bytes);
  // Gives the memory up for good: a late message may still write there.
  void abandon();

 private:
  struct Free {
    void operator()(char* memory) const;
  };
  std::unique_ptr<char, Free> memory_;
  std::size_t bytes_ = 0;
};

// Of a step that may have several pieces. One that may not go on watches a step that holds it up, and looks
// at all that it waits for only when that one has come further.
struct StepProgress {
  std::int64_t started = 0;      // pieces 0 .. started - 1 have been started
  std::int64_t done = 0;         // pieces 0 .. done - 1 are done
  std::int64_t allowed = 0;      // pieces 0 .. allowed - 1 may start, as far as other steps go
  std::uint64_t done_ahead = 0;  // bit k: piece done + 1 + k is done as well
  std::int64_t pieces = 1;       // of its stage, as is its window
  PieceWalk walk;                // where its operands are cut alike
  std::int32_t window = 1;
  std::int32_t held_by = 0;  // in Compiled::predecessors: what allows no more than `allowed`
  // The step that it watches, or a number below 0.
  // - `queued`: it is queued.
  // - `is_full`: it has as many pieces under way as it may, and goes on when some are done.
  // - `all_started`: all its pieces have been started.
  std::int32_t watched = queued;
  static constexpr std::int32_t queued = -1, is_full = -2, all_started = -3;
};

struct StageProgress {
  std::int64_t pieces = 1;
  std::int64_t window = 1;
  shm::Slice::Use use;

  // Over the pieces of `length` elements. Lengths of references differ little within a stage, so that there
  // is seldom anything to divide.
  const PieceWalk& walk(std::int64_t length) {
    if (length != last_length || pieces != last_pieces) {
      last_length = length;
      last_pieces = pieces;
      last_walk = PieceWalk(length, pieces);
    }
    return last_walk;
  }

 private:
  std::int64_t last_length = 0, last_pieces = 1;
  PieceWalk last_walk;
};

// What a call's arithmetic depends on, and what it gives; kept until a call is another one. Dividing is what
// costs: a call of the same schedule with the same count divides nothing.
struct Sizes {
  std::uint64_t number = 0;    // of all changes; no other sizes have it
  std::uint64_t compiled = 0;  // Compiled::number
  std::int64_t elements = 0;
  std::size_t element_bytes = 0;
  const shm::Slice* slice = nullptr;
  std::size_t scratch_bytes = 0, output_bytes = 0;
};

// Where an even reference begins, from the beginning of its place, and how long it is, all pieces together.
struct Located {
  std::uint64_t sizes = 0;  // Sizes::number for which that holds
  std::int64_t first_bytes = 0;
  std::int64_t length = 0;
  Place place = Place::output;
};

// After so many bytes of copies and reductions messages get a look.
inline constexpr std::int64_t most_local_bytes = 128 << 10;

// A copy or a reduction out of other ranks' memory that the kernel has refused: their owners are asked for
// one part after the other.
struct AskedStep {
  struct Operand {
    const char* own = nullptr;
    int owner = -1;          // whose memory it is; -1: the own one's
    std::uint64_t from = 0;  // in the owner's memory
  };
  std::int32_t step = 0;
  std::int64_t piece = 0;
  bool is_reduction = false;
  char* into = nullptr;
  std::int64_t length = 0;  // elements
  std::array<Operand, 2> operands;
  std::int64_t done = 0;  // elements
  int operand = 0;        // that is being fetched, of the elements that come next
  std::size_t fetched = 0, asked = 0;
};

// What reads from other ranks' memory need.
struct SingleCopy {
  Arena staging;                // of reductions
  std::deque<AskedStep> asked;  // one after the other
  Arena answers;
  bool has_exposed = false;  // this rank, in this call
};

struct Executor::State {
  // --- What executor.cc does: a call's beginning and end, and polling ---
  void start(const Compiled& compiled, const Ground& ground, const Data& data);
  bool poll();
  void wait_idle();
  void end_wait();
  int finish();
  int run_fused(const Compiled& compiled, const Ground& ground, const Data& data);
  void fail(int code);
  void drain();
  void test_messages();
  void forget_messages(int completed_count);
  void test_awaits();
  void test_abandoned();
  const shm::WaitConfig& wait_config() const;

  // --- What loops.cc does: which step, or piece, comes next ---
  // In line: as functions of their own they took 40 of 280 instructions a step.
  [[gnu::always_inline]] inline bool start_piece(std::int32_t index, const CompiledStep& step,
                                                 std::int64_t piece);
  [[gnu::always_inline]] inline bool start_message(std::int32_t index, const CompiledStep& step,
                                                   std::int64_t piece);
  // Where every step is one piece:
  void start_ready();
  void complete(std::int32_t step);
  void wake(std::int32_t first, std::int32_t last);
  // Where steps have pieces:
  void prepare_steps();
  void start_ready_pieces();
  void enqueue(std::int32_t step);
  void start_pieces(std::int32_t step);
  [[gnu::always_inline]] inline void cut_piece(const CompiledStep& step, StepProgress* own);
  void look_at_waits(const CompiledStep& step, StepProgress* own) const;
  void complete_piece(std::int32_t step, std::int64_t piece);
  void complete_messages(int completed_count);
  void go_on_after(std::int32_t step);
  void wake_watching(std::int32_t step, std::int32_t first, std::int32_t last);

  // --- What steps.cc does: single steps ---
  void take(const Compiled& compiled, const Ground& ground, const Data& data);
  bool has_these_sizes() const;
  // Bytes of parts 0 to `last`, of `parts`.
  std::size_t bytes_up_to(std::int64_t last, std::int64_t parts) const;
  void measure();
  void place_buffers();
  void begin_channels();
  // Starts a piece of a step that deals in flags, or is fused; true when it is done at once.
  bool start_node_step(std::int32_t index, const CompiledStep& step, std::int64_t piece);
  // True where they are done at once.
  bool do_copy(std::int32_t index, const CompiledStep& step, std::int64_t piece);
  bool do_reduce(std::int32_t index, const CompiledStep& step, std::int64_t piece);
  void reduce_plain(const CompiledStep& step) {
    const std::int64_t length = is_whole ? locate(step.into).length : cut.length;
    if (length == 0) return;
    local_bytes += length * element_bytes;
    data.combine(plain_address(step.into), plain_address(step.left), plain_address(step.right),
                 static_cast<std::size_t>(length));
  }
  void reduce_slots(const CompiledStep& step, char* into, const char* left_data, const char* right_data,
                    std::size_t count);
  std::int64_t reduce_remote(const CompiledStep& step, std::int64_t piece, char* into, std::int64_t length);
  void reduce_past_caches(char* into, const char* left, const char* right, std::size_t count);
  int owner_of_slot(const Ref& ref, const CompiledStep& step) const {
    return stages[step.stage].use.is_common ? shm::Slice::nobody : ref.owner;
  }
  void do_fused(const CompiledStep& step, std::int64_t piece);
  void do_fused_along(const patterns::DomainTree& tree, const CompiledStep& step, std::int64_t piece);
  void reduce_own_part(const CompiledStep& step, char* into, const char* from, std::size_t length,
                       std::size_t total);
  void do_expose(const CompiledStep& step, std::int64_t piece);
  bool is_await_over(const CompiledStep& step, std::int64_t piece);
  std::uint64_t tick_of(const CompiledStep& step, std::int64_t piece) const;
  Units units() const { return {data.elements, data.lengths, data.most}; }
  // Where element `element` of the vector of uneven blocks stands.
  char* uneven_address(const Ref& ref, std::int64_t element) const;
  char* own_address(const Ref& ref, std::int64_t element) const {
    return bases[static_cast<int>(ref.place)] + element * element_bytes;
  }
  // Address of a piece of the reference with that number, in memory that this process sees, and its length in
  // elements. Of steps that are cut alike: of the piece that is being started.
  char* address(std::int32_t number, const CompiledStep& step, std::int64_t piece, std::int64_t* length) {
    if (!step.is_cut_alike && !(is_whole && compiled->refs[number].is_even)) [[unlikely]]
      return address_of_piece(compiled->refs[number], step, piece, length);
    const Located& at = locate(number);
    *length = is_whole ? at.length : cut.length;
    if (at.place == Place::shared) return slot(compiled->refs[number], step, piece);
    return bases[static_cast<int>(at.place)] + at.first_bytes + cut.first_bytes;
  }
  // The same where the step is plain.
  char* plain_address(std::int32_t number) {
    const Located& at = locate(number);
    return bases[static_cast<int>(at.place)] + at.first_bytes + cut.first_bytes;
  }
  const Located& locate(std::int32_t number) {
    if (located[number].sizes != sizes.number) [[unlikely]]
      find(number);
    return located[number];
  }
  void find(std::int32_t number);
  std::int64_t length_of(const CompiledStep& step) {
    return locate(step.kind == StepKind::send ? step.left : step.into).length;
  }
  char* slot(const Ref& ref, const CompiledStep& step, std::int64_t piece) const {
    return ground.slice->slot(stages[step.stage].use, piece, ref.owner, ref.lane);
  }
  char* address_of_piece(const Ref& ref, const CompiledStep& step, std::int64_t piece, std::int64_t* length);
  // Where a piece of the reference is in its owner's memory.
  std::uint64_t remote_address(const Ref& ref, const CompiledStep& step, std::int64_t piece) const;

  // --- What asked.cc does: what the kernel refuses ---
  struct Left {
    char* into;
    std::int64_t length, done;  // elements
  };
  bool begin_asking(std::int32_t index, const CompiledStep& step, std::int64_t piece, const Left& left);
  void test_asked();
  bool go_on(AskedStep* asked);
  void join_chunk(AskedStep* asked);

  const Compiled* compiled = nullptr;
  Ground ground;
  Data data;
  std::int64_t element_bytes = 1;
  char* bases[3] = {};  // input, output, scratch
  int error = host::success;
  std::int64_t steps_left = 0;
  std::int64_t local_bytes = 0;  // moved by local steps since messages were last tested
  bool has_moved = false;        // anything since the last wait?

  struct Piece {
    std::int32_t step;
    std::int64_t piece;
  };
  Sizes sizes;
  std::vector<Located> located;  // beside Compiled::refs
  std::vector<StageProgress> stages;
  // The piece that is being started, where the step's operands are cut alike: how far behind their beginning.
  struct Cut {
    std::int64_t first_bytes = 0;  // 0 where every step is one piece
    std::int64_t length = 0;
  } cut;
  bool is_output_streamed = false;
  bool is_whole = true;                // every step has one piece in this call
  std::vector<std::int32_t> waits;     // then: predecessors that each step still waits for
  std::vector<StepProgress> progress;  // else
  // Steps to start or to look at; where steps have pieces a ring, as long as a power of two.
  struct Queue {
    std::vector<std::int32_t> steps;
    std::size_t first = 0, count = 0;
  } queue;

  struct Messages {
    std::vector<host::Request> requests;  // the first `count` are under way
    std::vector<Piece> pieces;            // beside them
    std::size_t count = 0;
    std::vector<int> completed;
  } messages;
  std::vector<Piece> awaiting;  // whose flags have not come yet

  Arena arena;
  SingleCopy single_copy;
  // After an error: messages that have not ended yet, tested again at each start, and what they may write to.
  struct Abandoned {
    std::vector<host::Request> requests;
    std::vector<Arena> arenas;
  } abandoned;
  struct Idle {
    std::uint32_t polls = 0;
    std::uint64_t since_ns = 0;  // of a long wait for messages; 0: there is none
    shm::WaitConfig waiting;     // what backoff refers to
    std::optional<shm::Backoff> backoff;
  } idle;
};

}  // namespace unisono::schedule
