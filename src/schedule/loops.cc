// SPDX-License-Identifier: BSD-3-Clause
// The executor's loops: which step, or which piece of a step, comes next.
#include <algorithm>
#include <utility>

#include "schedule/run_state.h"

namespace unisono::schedule {

// --- Messages, and other steps ---

bool Executor::State::start_message(std::int32_t index, const CompiledStep& step, std::int64_t piece) {
  std::size_t bytes = 0;
  char* place = nullptr;
  const bool is_send = step.kind == StepKind::send;
  if (!step.is_token) {
    std::int64_t length = 0;
    place = address(is_send ? step.left : step.into, step, piece, &length);
    if (length == 0) return true;
    bytes = static_cast<std::size_t>(length * element_bytes);
  }
  const int peer = ground.rank_in_comm[step.peer];
  const int tag = ground.tag_base + step.tag;
  host::Request request{};
  const int code = is_send ? ground.host->isend(place, bytes, peer, tag, ground.comm, &request)
                           : ground.host->irecv(place, bytes, peer, tag, ground.comm, &request);
  if (code != host::success) {
    fail(code);
    return false;
  }
  messages.requests[messages.count] = request;
  messages.pieces[messages.count++] = {index, piece};
  return false;
}

// True when the piece is done at once.
bool Executor::State::start_piece(std::int32_t index, const CompiledStep& step, std::int64_t piece) {
  if (is_message(step.kind)) return start_message(index, step, piece);
  if (step.kind == StepKind::reduce && step.is_plain) {
    reduce_plain(step);
    return true;
  }
  if (step.kind == StepKind::reduce) return do_reduce(index, step, piece);
  if (step.kind == StepKind::copy) return do_copy(index, step, piece);
  return start_node_step(index, step, piece);
}

// --- Where every step is one piece ---

// Steps of one piece: each comes into the queue once, when nothing is left that it waits for.
void Executor::State::start_ready() {
  while (queue.first < queue.count && local_bytes < most_local_bytes) {
    const std::int32_t index = queue.steps[queue.first++];
    const CompiledStep& step = compiled->steps[index];
    has_moved = true;
    const bool is_done = start_piece(index, step, 0);
    if (error != host::success) return;
    wake(step.first_start_successor, step.last_start_successor);
    if (is_done) {
      wake(step.first_successor, step.last_successor);
      --steps_left;
    }
  }
}

void Executor::State::wake(std::int32_t first, std::int32_t last) {
  for (std::int32_t i = first; i < last; ++i) {
    const std::int32_t step = compiled->successors[i];
    if (--waits[step] == 0) queue.steps[queue.count++] = step;
  }
}

void Executor::State::complete(std::int32_t index) {
  const CompiledStep& step = compiled->steps[index];
  wake(step.first_successor, step.last_successor);
  --steps_left;
}

// --- Where steps have pieces ---

// Each step that waits for others begins by watching the first of them.
void Executor::State::prepare_steps() {
  const std::size_t count = compiled->steps.size();
  progress.assign(count, StepProgress());
  for (std::size_t i = 0; i < count; ++i) {
    const CompiledStep& step = compiled->steps[i];
    StepProgress& own = progress[i];
    own.pieces = stages[step.stage].pieces;
    own.window = static_cast<std::int32_t>(stages[step.stage].window);
    own.held_by = step.first_predecessor;
    if (compiled->waits[i] > 0) own.watched = compiled->predecessors[step.first_predecessor].step;
  }
  for (const std::int32_t step : compiled->roots) enqueue(step);
}

void Executor::State::start_ready_pieces() {
  while (queue.count > 0 && error == host::success && local_bytes < most_local_bytes) {
    const std::int32_t step = queue.steps[queue.first];
    queue.first = (queue.first + 1) & (queue.steps.size() - 1);
    --queue.count;
    start_pieces(step);
  }
}

void Executor::State::enqueue(std::int32_t step) {
  progress[step].watched = StepProgress::queued;
  queue.steps[(queue.first + queue.count++) & (queue.steps.size() - 1)] = step;
}

// How many pieces may start? The look ends where a step allows none: it begins there the next time, since
// what was in front of that can only have come further.
void Executor::State::look_at_waits(const CompiledStep& step, StepProgress* own) const {
  own->allowed = own->pieces;
  std::int32_t at = own->held_by;
  for (std::int32_t left = step.last_predecessor - step.first_predecessor; left > 0; --left) {
    const Predecessor& wait = compiled->predecessors[at];
    const StepProgress& other = progress[wait.step];
    const std::int64_t most = pieces_allowed(wait.how, own->pieces, other.started, other.done, other.pieces);
    if (most < own->allowed) {
      own->allowed = most;
      own->held_by = at;
      if (most == own->started) return;
    }
    if (++at == step.last_predecessor) at = step.first_predecessor;
  }
}

void Executor::State::cut_piece(const CompiledStep& step, StepProgress* own) {
  if (own->started == 0) own->walk = stages[step.stage].walk(length_of(step));
  const ElementRange range = own->walk.next();
  cut = {range.first * element_bytes, range.length()};
}

// Starts what may be started of a step. A local step takes one piece and goes back to the end of the queue,
// so that its successors' messages do not wait for all its pieces.
void Executor::State::start_pieces(std::int32_t index) {
  const CompiledStep& step = compiled->steps[index];
  StepProgress& own = progress[index];
  const bool has_looked = own.started == own.allowed;
  if (has_looked) look_at_waits(step, &own);
  const std::int64_t last = std::min(own.allowed, own.done + own.window);
  const std::int64_t first = own.started;
  bool is_done = false;
  while (own.started < last && !is_done) {
    if (step.is_cut_alike) cut_piece(step, &own);
    is_done = start_piece(index, step, own.started++);
    if (error != host::success) return;
  }
  if (own.started == own.pieces) {
    own.watched = StepProgress::all_started;
  } else if (own.started == own.allowed && has_looked) {
    own.watched = compiled->predecessors[own.held_by].step;
  } else if (own.started - own.done >= own.window) {
    own.watched = StepProgress::is_full;
  } else {
    enqueue(index);  // also where what held it up an earlier time may have come further since
  }
  if (own.started == first) return;
  has_moved = true;
  wake_watching(index, step.first_start_successor, step.last_start_successor);
  if (is_done) complete_piece(index, own.started - 1);
}

namespace {

// True where the first pieces that are done have become more.
bool note_done(StepProgress* own, std::int64_t piece) {
  if (piece != own->done) {
    own->done_ahead |= std::uint64_t{1} << (piece - own->done - 1);
    return false;
  }
  ++own->done;
  if (own->done_ahead != 0) {
    for (; own->done_ahead & 1; ++own->done) own->done_ahead >>= 1;
    own->done_ahead >>= 1;
  }
  return true;
}

}  // namespace

void Executor::State::complete_piece(std::int32_t index, std::int64_t piece) {
  if (note_done(&progress[index], piece)) go_on_after(index);
}

// The messages in `completed`: after several pieces of one step others look at it once.
void Executor::State::complete_messages(int completed_count) {
  bool is_further = false;
  for (int i = 0; i < completed_count; ++i) {
    const Piece& message = messages.pieces[messages.completed[i]];
    is_further |= note_done(&progress[message.step], message.piece);
    const bool is_last =
        i + 1 == completed_count || messages.pieces[messages.completed[i + 1]].step != message.step;
    if (is_last && std::exchange(is_further, false)) go_on_after(message.step);
  }
}

// More of the step's pieces are done.
void Executor::State::go_on_after(std::int32_t index) {
  const CompiledStep& step = compiled->steps[index];
  StepProgress& own = progress[index];
  wake_watching(index, step.first_successor, step.last_successor);
  if (step.next_piece_of >= 0 && progress[step.next_piece_of].watched == index) enqueue(step.next_piece_of);
  if (own.done == own.pieces) {
    --steps_left;
  } else if (own.watched == StepProgress::is_full) {
    enqueue(index);
  }
}

// The step has come further: those of its successors that watch it look again.
void Executor::State::wake_watching(std::int32_t step, std::int32_t first, std::int32_t last) {
  for (std::int32_t i = first; i < last; ++i) {
    const std::int32_t successor = compiled->successors[i];
    if (progress[successor].watched == step) enqueue(successor);
  }
}

}  // namespace unisono::schedule
