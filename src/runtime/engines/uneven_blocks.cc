// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engines/uneven_blocks.h"

#include <algorithm>
#include <limits>

#include "base/log.h"
#include "runtime/call/crash_site.h"
#include "runtime/engines/call_timing.h"
#include "runtime/engines/line_blocks.h"
#include "runtime/packing/transfer.h"

namespace unisono::runtime {
namespace {

int places_of(const Communicator& c, const Call& call) {
  return is_uneven_alltoall(call.operation) ? c.size : 1;
}

int lines_of(const Communicator& c, const CallClass& entry) {
  return entry.choice->algorithm->block_lines(c.size, entry.choice->parameters);
}

Exchange exchange_of(const Communicator& c, const Call& call, bool is_in_place, int lines) {
  const bool has_one_reader = call.operation != Operation::allgatherv;
  return {.operation = call.operation,
          .rank = c.rank,
          .size = c.size,
          .root = call.root,
          .is_in_place = is_in_place,
          .places = places_of(c, call),
          .lines = lines,
          .most_streamed = has_one_reader ? most_streamed(c) : 0,
          .has_single_copy = c.has_single_copy && has_one_reader};
}

template <class Blocks>
bool run_in_lines(Communicator& c, const Exchange& exchange, const Blocks& sent, const Blocks& got) {
  return LineBlocks<Blocks>(*c.node.slice, exchange, sent, got, &c.work.refused).run();
}

// A fused reduction, as the algorithm's schedule, which is one step.
void reduce_part(Communicator& c, const Call& call, const shm::Combine& combine) {
  std::size_t first = 0, total = 0;
  for (int i = 0; i < c.size; ++i) {
    if (i == c.rank) first = total;
    total += call.send_blocks.count_of(i);
  }
  c.node.slice->reduce_part(call.recv_blocks.buffer, call.send_blocks.buffer, first,
                            call.send_blocks.count_of(c.rank), total, combine);
}

}  // namespace

bool is_readable(const BlockArguments& blocks, int count) {
  if (count == 0) return true;
  if (blocks.counts == nullptr) return blocks.buffer != nullptr || blocks.count == 0;
  bool are_valid = blocks.buffer != nullptr;
  for (int i = 0; i < count; ++i) are_valid = are_valid && blocks.is_valid(i);
  return are_valid;
}

std::optional<PlainType> plain_type(host::Host& host, const BlockArguments& blocks, int count) {
  const bool has_many = blocks.types != nullptr;
  const host::Datatype type = !has_many ? blocks.type : count != 0 ? blocks.types[0] : host::Datatype{};
  if (type == host::Datatype{}) return PlainType{};
  if (!are_of(blocks, count, type)) return std::nullopt;
  const host::TypeInfo info = type_info(host, type);
  const bool is_plain = info.is_contiguous && info.element != ElementType::derived &&
                        info.extent_bytes == static_cast<std::ptrdiff_t>(info.size_bytes);
  return is_plain ? std::optional(PlainType{.type = type, .bytes = info.size_bytes}) : std::nullopt;
}

bool are_of(const BlockArguments& blocks, int count, host::Datatype type) {
  if (blocks.types == nullptr) return blocks.type == host::Datatype{} || blocks.type == type;
  return std::all_of(blocks.types, blocks.types + count, [=](host::Datatype of) { return of == type; });
}

void say_copy_is_refused() {
  log::warning_once(
      "the kernel refuses to copy a block out of another rank's memory, though it did so at the start; such "
      "blocks go another way (UNISONO_SINGLE_COPY=0 spares the attempts)");
}

// With a core for each rank one reads a piece while the other one writes the next. Ranks that share cores do
// so in turn: then a long block costs two copies, where the kernel makes one. Measured with 8 ranks on 2
// cores under Open MPI 5, over native: alltoallvs of 4 KiB 2.8 to 5.9 through streams and 1.1 by the kernel.
// Those of 64 KiB were at 0.6 to 0.7 and 1.0.
std::size_t most_streamed(const Communicator& c) {
  constexpr std::size_t most_on_shared_cores = 32 * 1024;
  if (!c.node.slice->has_streams()) return 0;
  return c.is_oversubscribed && c.has_single_copy ? most_on_shared_cores
                                                  : std::numeric_limits<std::size_t>::max();
}

// Of types without gaps, a call of which only the counts and places are new.
std::optional<std::int64_t> UnevenBlocks::known(const Communicator& c, const Call& call) {
  const BlockMemo& memo = c.block_memo(call.operation);
  if (memo.entry == nullptr || memo.entry->is_next_to_be_looked_at()) return std::nullopt;
  if (!are_of(call.send_blocks, c.size, memo.send_type) ||
      !are_of(call.recv_blocks, c.size, memo.recv_type) || memo.op != call.op ||
      (call.is_in_place && copies_in_place(call.operation)) || !is_readable(call.send_blocks, c.size) ||
      !is_readable(call.recv_blocks, c.size))
    return std::nullopt;
  if (!has_known_blocks(call.operation)) return 0;
  const bool is_input_known = is_reduction(call.operation);
  const std::int64_t mean = mean_bytes(is_input_known ? call.send_blocks : call.recv_blocks,
                                       is_input_known ? memo.send_bytes : memo.recv_bytes, c.size);
  return tuning::size_class(mean) == memo.size_class ? std::optional(mean) : std::nullopt;
}

int UnevenBlocks::run_again(Communicator& c, const Call& call, std::int64_t bytes) const {
  const BlockMemo& memo = c.block_memo(call.operation);
  CallClass& entry = *memo.entry;
  const CallTiming timing(CallTiming::count(entry, static_cast<std::uint64_t>(bytes)));
  const Exchange exchange = exchange_of(c, call, call.is_in_place, memo.lines);
  const BlocksInMemory sent(call.send_blocks, memo.send_bytes), got(call.recv_blocks, memo.recv_bytes);
  int error = host::success;
  bool is_left = false;
  {
    const UnevenMemory uneven{.send_bytes = memo.send_bytes, .recv_bytes = memo.recv_bytes};
    const InsideAlgorithm here(&entry, tuning::class_high(memo.size_class),
                               {.call = &call, .ranks = c.size, .uneven = &uneven});
    if (is_reduction(call.operation)) {
      reduce_part(c, call, memo.combine);
    } else {
      is_left = run_in_lines(c, exchange, sent, got);
    }
  }
  if (is_left) {
    c.work.blocks.read(world_.host, call, c.rank, c.size, &error);
    const schedule::Compiled& what = *Schedules::compiled(c, entry, call, c.work.blocks.is_in_place(), true);
    schedule::Data data;
    if (error == host::success)
      error =
          c.work.blocks.prepare(world_.host, call, what, &data, &c.work.packed_input, &c.work.packed_output);
    if (error == host::success) {
      const UnevenMemory uneven = c.work.blocks.memory();
      const InsideAlgorithm here(&entry, tuning::class_high(memo.size_class),
                                 {.call = &call, .ranks = c.size, .uneven = &uneven});
      error = run_long(c, exchange.lines, what, &data);
    }
    if (error == host::success) error = c.work.blocks.deliver(world_.host, c.work.packed_output);
  }
  timing.end(entry, error == host::success);
  return error == host::success ? error : world_.host.call_error_handler(call.comm, error);
}

void UnevenBlocks::remember(Communicator& c, CallClass& entry, const Call& call, std::int64_t bytes) const {
  BlockMemo& memo = c.block_memo(call.operation);
  const auto sent = plain_type(world_.host, call.send_blocks, c.size);
  const auto got = plain_type(world_.host, call.recv_blocks, c.size);
  shm::Combine combine;
  if (is_reduction(call.operation) && sent) {
    combine = kernel_combine(world_.host, call.op, sent->type, type_info(world_.host, sent->type));
  }
  const bool is_plain = sent && got && is_reduction(call.operation) == (combine.call != nullptr);
  BlockMemo next;
  if (is_plain) {
    next = memo;
    next.entry = &entry;
    next.size_class = tuning::size_class(bytes);
    if (!is_reduction(call.operation)) next.lines = lines_of(c, entry);
    next.op = call.op;
    next.combine = combine;
    // A side that is not significant in this call keeps what it was in the one before.
    if (sent->bytes != 0) next.send_type = sent->type, next.send_bytes = sent->bytes;
    if (got->bytes != 0) next.recv_type = got->type, next.recv_bytes = got->bytes;
  }
  memo = next;
}

// What is too long for lines, or could not be copied, as the algorithm's schedule moves blocks of any length:
// the others count as empty there, on both sides.
int UnevenBlocks::run_long(Communicator& c, int lines, const schedule::Compiled& what,
                           schedule::Data* data) const {
  if (c.work.refused.empty()) {
    c.work.blocks.leave_out_short(static_cast<std::int64_t>(shm::Slice::most_block_bytes(lines)), data);
  } else {
    say_copy_is_refused();
    c.work.blocks.leave_out_all_but(c.work.refused, data);
  }
  return schedules_.execute(c, what, *data);
}

int UnevenBlocks::start(Run& run) const {
  Workspace& work = *run.work;
  run.compiled = Schedules::compiled(*run.communicator, *run.entry, run.call, work.blocks.is_in_place(),
                                     run.is_commutative);
  return work.blocks.prepare(world_.host, run.call, *run.compiled, &run.data, &work.packed_input,
                             &work.packed_output);
}

// Between packing and delivering, which the host does.
bool UnevenBlocks::poll(Run& run) const {
  Communicator& c = *run.communicator;
  const schedule::Data& data = run.data;
  const Exchange exchange = exchange_of(c, run.call, run.work->blocks.is_in_place(), lines_of(c, *run.entry));
  const BlocksOfData sent(data, data.input, data.input_places, exchange.sends_one() ? c.rank : 0,
                          exchange.sends_one());
  const BlocksOfData got(data, data.output, data.output_places, exchange.first_got(), exchange.gets_one());
  if (run_in_lines(c, exchange, sent, got)) run.error = run_long(c, exchange.lines, *run.compiled, &run.data);
  return true;
}

}  // namespace unisono::runtime
