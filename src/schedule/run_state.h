// SPDX-License-Identifier: BSD-3-Clause
// A schedule under way. Split from the executor's loop so that a file fits the eye.
#pragma once

#include <cstdint>
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

// Of a step that may have several pieces.
struct StepProgress {
  std::int64_t started = 0;      // pieces 0 .. started - 1 have been started
  std::int64_t done = 0;         // pieces 0 .. done - 1 are done
  std::uint64_t done_ahead = 0;  // bit k: piece done + 1 + k is done as well
  bool is_queued = false;
};

struct StageProgress {
  std::int64_t pieces = 1;
  std::int64_t window = 1;
  shm::Slice::Use use;

  // As cut(): where piece `piece` of `length` elements begins. Lengths of references differ little within a
  // stage, so that there is seldom anything to divide.
  std::int64_t piece_start(std::int64_t piece, std::int64_t length) {
    if (length != last_length || pieces != last_pieces) {
      last_length = length;
      last_pieces = pieces;
      quotient = divide(length, pieces);
      remainder = length - quotient * pieces;
    }
    return piece * quotient + (remainder == 0 ? 0 : divide(piece * remainder, pieces));
  }

 private:
  std::int64_t last_length = 0, last_pieces = 1, quotient = 0, remainder = 0;
};

struct Executor::State {
  // --- What executor.cc does: the loop ---
  void start(const Compiled& compiled, const Ground& ground, const Data& data);
  bool poll();
  void wait_idle();
  int finish();
  int run_fused(const Compiled& compiled, const Ground& ground, const Data& data);
  void fail(int code);
  void drain();
  void start_ready();
  void complete(std::int32_t step, std::int64_t piece);
  void wake(std::int32_t first, std::int32_t last);
  // Where steps have pieces:
  void enqueue(std::int32_t step);
  void consider(std::int32_t step);
  bool may_start(const CompiledStep& step, std::int64_t piece) const;
  void complete_piece(std::int32_t step, std::int64_t piece);
  void test_messages();
  void test_awaits();
  void test_abandoned();
  const shm::WaitConfig& wait_config() const;

  // --- What steps.cc does: single steps ---
  // Bytes of parts 0 to `last`, of `parts`.
  std::size_t bytes_up_to(std::int64_t last, std::int64_t parts) const;
  void place_buffers();
  void prepare_stages();
  // Starts a piece; true when it is done at once.
  bool start_piece(std::int32_t index, const CompiledStep& step, std::int64_t piece);
  bool start_message(std::int32_t index, const CompiledStep& step, std::int64_t piece);
  void do_copy(const CompiledStep& step, std::int64_t piece);
  void do_reduce(const CompiledStep& step, std::int64_t piece);
  void reduce_remote(const CompiledStep& step, std::int64_t piece, char* into, std::int64_t length);
  void reduce_past_caches(char* into, const char* left, const char* right, std::size_t count);
  int owner_of_slot(const CompiledRef& ref, const CompiledStep& step) const {
    return stages[step.stage].use.is_common ? shm::Slice::nobody : ref.owner;
  }
  void do_fused(const CompiledStep& step, std::int64_t piece);
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
  // Address of a piece in memory that this process sees, and its length in elements.
  char* address(const CompiledRef& ref, const CompiledStep& step, std::int64_t piece, std::int64_t* length) {
    if (!ref.is_plain) return address_of_piece(ref, step, piece, length);
    *length = (ref.last - ref.first) * data.elements;
    std::int64_t first = ref.first * data.elements;
    if (!is_whole) {
      StageProgress& stage = stages[step.stage];
      const std::int64_t start = stage.piece_start(piece, *length);
      *length = stage.piece_start(piece + 1, *length) - start;
      first += start;
    }
    return own_address(ref, first);
  }
  char* address_of_piece(const Ref& ref, const CompiledStep& step, std::int64_t piece, std::int64_t* length);
  // Copies `length` elements from `first_element` of the piece on out of another rank's memory.
  bool read_remote(const Ref& ref, const CompiledStep& step, std::int64_t piece, std::int64_t first_element,
                   void* into, std::int64_t length);

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
  std::vector<StageProgress> stages;
  bool is_output_streamed = false;
  bool is_whole = true;                // every step has one piece in this call
  std::vector<std::int32_t> waits;     // then: predecessors that each step still waits for
  std::vector<StepProgress> progress;  // else
  std::vector<std::int32_t> queue;     // steps to start or to look at; a ring where steps have pieces
  std::size_t queue_first = 0, queue_count = 0;

  std::vector<host::Request> requests;  // the first message_count are under way
  std::vector<Piece> messages;          // beside requests
  std::size_t message_count = 0;
  std::vector<int> completed;
  std::vector<Piece> awaiting;  // whose flags have not come yet

  Arena arena;
  Arena staging;  // of reductions from another rank's memory
  // After an error: messages that have not ended yet, tested again at each start, and what they may write to.
  std::vector<host::Request> abandoned;
  std::vector<Arena> retired;
  std::uint32_t idle_polls = 0;
  shm::WaitConfig waiting;  // what backoff refers to
  std::optional<shm::Backoff> backoff;
};

}  // namespace unisono::schedule
