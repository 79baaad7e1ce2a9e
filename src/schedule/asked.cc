// SPDX-License-Identifier: BSD-3-Clause
// Steps that read other ranks' memory where the kernel refuses to: its owners are asked, who are inside the
// same call until all have read. Nothing waits inside, as for messages.
#include <algorithm>
#include <utility>

#include "schedule/dependencies.h"
#include "schedule/run_state.h"

namespace unisono::schedule {
namespace {

constexpr std::int64_t chunk_bytes = shm::Slice::most_asked_bytes;

}  // namespace

// False: the piece is not done yet.
bool Executor::State::begin_asking(std::int32_t index, const CompiledStep& step, std::int64_t piece,
                                   const Left& left) {
  AskedStep& asked = single_copy.asked.emplace_back();
  asked.step = index;
  asked.piece = piece;
  asked.is_reduction = step.kind == StepKind::reduce;
  asked.into = left.into;
  asked.length = left.length;
  asked.done = left.done;
  const auto operand = [&](std::int32_t number) -> AskedStep::Operand {
    const CompiledRef& ref = compiled->refs[number];
    if (is_remote(ref.place)) return {.owner = ref.owner, .from = remote_address(ref, step, piece)};
    std::int64_t unused = 0;
    return {.own = address(number, step, piece, &unused)};
  };
  asked.operands[0] = operand(step.left);
  if (asked.is_reduction) asked.operands[1] = operand(step.right);
  return false;
}

// One after the other: a rank asks for one thing at a time. Others may ask for this rank's memory meanwhile.
void Executor::State::test_asked() {
  while (!single_copy.asked.empty() && go_on(&single_copy.asked.front())) {
    const AskedStep done = single_copy.asked.front();
    single_copy.asked.pop_front();
    if (is_whole) {
      complete(done.step);
    } else {
      complete_piece(done.step, done.piece);
    }
  }
  if (single_copy.has_exposed && ground.slice->has_asks() && ground.slice->answer_asks()) has_moved = true;
}

// Takes what has been answered and asks for more. True where the step is done.
bool Executor::State::go_on(AskedStep* asked) {
  shm::Slice& slice = *ground.slice;
  const std::int64_t most = std::max<std::int64_t>(1, chunk_bytes / element_bytes);
  char* room = single_copy.answers.reserve(static_cast<std::size_t>(2 * most * element_bytes));
  while (asked->done < asked->length) {
    const auto bytes = static_cast<std::size_t>(std::min(most, asked->length - asked->done) * element_bytes);
    const AskedStep::Operand& operand = asked->operands[static_cast<std::size_t>(asked->operand)];
    char* into = asked->is_reduction ? room + asked->operand * most * element_bytes
                                     : asked->into + asked->done * element_bytes;
    if (asked->asked != 0) {
      if (!slice.is_answered()) return false;
      slice.take_answer(into + asked->fetched);
      asked->fetched += std::exchange(asked->asked, 0);
      has_moved = true;
    }
    if (operand.owner >= 0 && asked->fetched < bytes) {
      const auto before = static_cast<std::uint64_t>(asked->done * element_bytes) + asked->fetched;
      asked->asked = std::min(bytes - asked->fetched, shm::Slice::most_asked_bytes);
      slice.ask(operand.owner, operand.from + before, asked->asked);
      return false;
    }
    asked->fetched = 0;
    if (++asked->operand == (asked->is_reduction ? 2 : 1)) join_chunk(asked);
  }
  return true;
}

// All operands of the next elements are there.
void Executor::State::join_chunk(AskedStep* asked) {
  const std::int64_t most = std::max<std::int64_t>(1, chunk_bytes / element_bytes);
  const std::int64_t count = std::min(most, asked->length - asked->done);
  const std::int64_t before = asked->done * element_bytes;
  const auto place = [&](std::size_t number) -> const char* {
    const AskedStep::Operand& operand = asked->operands[number];
    if (operand.owner < 0) return operand.own + before;
    return single_copy.answers.reserve(0) + static_cast<std::int64_t>(number) * most * element_bytes;
  };
  if (asked->is_reduction)
    data.combine(asked->into + before, place(0), place(1), static_cast<std::size_t>(count));
  asked->done += count;
  asked->operand = 0;
}

}  // namespace unisono::schedule
