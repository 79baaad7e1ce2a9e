// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engines/neighbor_lines.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "base/short_copy.h"
#include "runtime/call/crash_site.h"
#include "runtime/engines/call_timing.h"
#include "runtime/engines/uneven_blocks.h"
#include "runtime/packing/neighborhood_state.h"
#include "shm/slice/wait.h"

namespace unisono::runtime {
namespace {

using patterns::NeighborLink;

// In the program's memory, of datatypes without gaps.
class PlainBlocks {
 public:
  PlainBlocks(const BlockArguments& sent, std::size_t sent_bytes, const BlockArguments& got,
              std::size_t got_bytes)
      : sent_(sent), got_(got), sent_bytes_(sent_bytes), got_bytes_(got_bytes) {}
  MemoryBlock sent(int i) const { return block(sent_, sent_bytes_, i); }
  MemoryBlock got(int i) const { return block(got_, got_bytes_, i); }

 private:
  static MemoryBlock block(const BlockArguments& of, std::size_t element_bytes, int i) {
    const std::size_t bytes = of.count_of(i) * element_bytes;
    const auto offset =
        of.counts == nullptr ? i * static_cast<std::ptrdiff_t>(bytes) : offset_of(of, i, element_bytes);
    return {static_cast<char*>(of.buffer) + offset, bytes};
  }

  const BlockArguments& sent_;
  const BlockArguments& got_;
  std::size_t sent_bytes_, got_bytes_;
};

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

// Long blocks of one call as messages. Those of a pair match in the order of its edges.
class EdgeMessages {
 public:
  EdgeMessages(const World& world, const Communicator& c) : world_(world), c_(c) {}
  void send(const MemoryBlock& block, int peer) { start(block, peer, true); }
  void get(const MemoryBlock& block, int peer) { start(block, peer, false); }

  // Waits for all of them.
  void finish() {
    if (requests_.empty()) return;
    std::vector<int> completed(requests_.size());
    shm::Backoff backoff(c_.node.wait);
    while (!requests_.empty() && error_ == host::success) {
      int count = 0;
      error_ = world_.host.test_some(static_cast<int>(requests_.size()), requests_.data(), &count,
                                     completed.data());
      std::sort(completed.begin(), completed.begin() + count, std::greater<>());
      for (int i = 0; i < count; ++i)
        requests_.erase(requests_.begin() + completed[static_cast<std::size_t>(i)]);
      if (count == 0) backoff.step();
    }
  }
  // The host's code of the first one that failed.
  int error() const { return error_; }

 private:
  void start(const MemoryBlock& block, int peer, bool is_sent) {
    if (error_ != host::success || block.bytes == 0) return;
    const int to = c_.rank_in_world[static_cast<std::size_t>(peer)];
    host::Request& request = requests_.emplace_back();
    error_ = is_sent ? world_.host.isend(block.at, block.bytes, to, c_.first_tag(), world_.comm, &request)
                     : world_.host.irecv(block.at, block.bytes, to, c_.first_tag(), world_.comm, &request);
    if (error_ != host::success) requests_.pop_back();
  }

  const World& world_;
  const Communicator& c_;
  std::vector<host::Request> requests_;
  int error_ = host::success;
};

// One call of one rank.
template <class Blocks>
class Exchange {
 public:
  Exchange(const World& world, Communicator& c, Operation operation, int lines, const Blocks& blocks)
      : messages_(world, c),
        slice_(*c.node.slice),
        links_(c.node.neighborhood->links),
        blocks_(blocks),
        rank_(c.rank),
        has_one_block_(!sends_neighbor_blocks(operation)),
        lines_(lines),
        most_bytes_(shm::Slice::most_block_bytes(lines)),
        most_streamed_(c.has_single_copy && lines > 1 ? most_streamed(c) : no_limit),
        joined_(c.work.joined) {
    if (joined_.size() < most_bytes_) joined_.resize(most_bytes_);
  }

  int run() {
    slice_.begin_blocks(has_one_block_ ? 1 : links_.most_sent, lines_);
    if (has_one_block_) {
      send_one();
    } else {
      for (const NeighborLink& link : links_.sent) send(link);
    }
    for (const patterns::OwnEdge& edge : links_.own) copy(edge);
    for (const NeighborLink& link : links_.got) get_long(link);
    slice_.run_streams();
    for (const NeighborLink& link : links_.got) get(link);
    if (most_streamed_ != no_limit && !has_one_block_) finish_copies();
    finish_messages();
    slice_.end_blocks();
    return messages_.error();
  }

 private:
  // Of a link whose blocks this rank sends or gets: as one.
  std::size_t sent_bytes(const NeighborLink& link) const {
    std::size_t bytes = 0;
    for (const int i : link.blocks) bytes += blocks_.sent(i).bytes;
    return bytes;
  }
  std::size_t got_bytes(const NeighborLink& link) const {
    if (has_one_block_) return blocks_.got(link.blocks.front()).bytes;
    std::size_t bytes = 0;
    for (const int i : link.blocks) bytes += blocks_.got(i).bytes;
    return bytes;
  }

  // A block that the kernel copies out of the sender's memory: both ends know.
  bool is_copied(const NeighborLink& link, std::size_t bytes) const {
    return link.blocks.size() == 1 && bytes > most_bytes_ && bytes > most_streamed_;
  }
  // Who reads a block says whether the kernel has copied it; if not, it goes another way after all.
  void finish_copies() {
    for (const NeighborLink& link : links_.sent) {
      const std::size_t bytes = sent_bytes(link);
      if (is_copied(link, bytes) && !slice_.await_taken(link.place, rank_)) send_blocks(link);
    }
    for (const NeighborLink* link : refused_) get_blocks(*link);
    slice_.run_streams();
    if (!refused_.empty()) say_copy_is_refused();
  }
  void send_blocks(const NeighborLink& link) {
    for (const int i : link.blocks) send_block(blocks_.sent(i), link.peer);
  }
  void get_blocks(const NeighborLink& link) {
    for (const int i : link.blocks) get_block(blocks_.got(i), link.peer);
  }
  void send_block(const MemoryBlock& block, int peer) {
    if (slice_.has_streams()) return slice_.send_stream(block.at, block.bytes, peer);
    messages_.send(block, peer);
  }
  void get_block(const MemoryBlock& block, int peer) {
    if (slice_.has_streams()) return slice_.get_stream(block.at, block.bytes, peer);
    messages_.get(block, peer);
  }

  void send_one() {
    if (links_.sent.empty()) return;
    const MemoryBlock block = blocks_.sent(0);
    if (block.bytes == 0) return;
    if (block.bytes <= most_bytes_) {
      slice_.put_block(block.at, block.bytes, 0, rank_);
    } else if (slice_.has_streams()) {
      slice_.send_to_readers(block.at, block.bytes);
    } else {
      for (const NeighborLink& link : links_.sent) messages_.send(block, link.peer);
    }
  }
  void send(const NeighborLink& link) {
    const std::size_t bytes = sent_bytes(link);
    if (bytes == 0) return;
    if (is_copied(link, bytes))
      return slice_.offer_block(blocks_.sent(link.blocks.front()).at, link.place, rank_);
    if (bytes > most_bytes_) return send_blocks(link);
    const char* from = blocks_.sent(link.blocks.front()).at;
    if (link.blocks.size() > 1) {
      char* next = joined_.data();
      for (const int i : link.blocks) next = appended(next, blocks_.sent(i));
      from = joined_.data();
    }
    slice_.put_block(from, bytes, link.place, rank_);
  }
  static char* appended(char* next, const MemoryBlock& block) {
    copy_bytes(next, block.at, block.bytes);
    return next + block.bytes;
  }

  void get_long(const NeighborLink& link) {
    const std::size_t bytes = got_bytes(link);
    if (bytes <= most_bytes_) return;
    if (has_one_block_) {
      const MemoryBlock block = blocks_.got(link.blocks.front());
      if (slice_.has_streams()) return slice_.get_from_writer(block.at, block.bytes, link.peer);
      return messages_.get(block, link.peer);
    }
    if (!is_copied(link, bytes)) get_blocks(link);
  }

  void get(const NeighborLink& link) {
    const std::size_t bytes = got_bytes(link);
    if (bytes == 0) return;
    const MemoryBlock first = blocks_.got(link.blocks.front());
    if (has_one_block_) {
      if (bytes <= most_bytes_) slice_.get_block(first.at, bytes, 0, link.peer);
      if (bytes <= most_bytes_ || slice_.has_streams()) copy_to_further_edges(link, bytes);
      return;
    }
    if (is_copied(link, bytes)) {
      if (!slice_.take_block(first.at, bytes, link.peer, link.place, link.peer)) refused_.push_back(&link);
      return;
    }
    if (bytes > most_bytes_) return;
    if (link.blocks.size() == 1) return slice_.get_block(first.at, bytes, link.place, link.peer);
    slice_.get_block(joined_.data(), bytes, link.place, link.peer);
    const char* next = joined_.data();
    for (const int i : link.blocks) {
      const MemoryBlock block = blocks_.got(i);
      copy_bytes(block.at, next, block.bytes);
      next += block.bytes;
    }
  }

  // What a neighbour gives all its neighbours came for the first edge from it.
  void copy_to_further_edges(const NeighborLink& link, std::size_t bytes) {
    const char* first = blocks_.got(link.blocks.front()).at;
    for (std::size_t i = 1; i < link.blocks.size(); ++i)
      copy_bytes(blocks_.got(link.blocks[i]).at, first, bytes);
  }
  void finish_messages() {
    messages_.finish();
    if (!has_one_block_ || slice_.has_streams()) return;
    for (const NeighborLink& link : links_.got) {
      if (const std::size_t bytes = got_bytes(link); bytes > most_bytes_) copy_to_further_edges(link, bytes);
    }
  }

  void copy(const patterns::OwnEdge& edge) {
    const MemoryBlock to = blocks_.got(edge.in);
    copy_bytes(to.at, blocks_.sent(has_one_block_ ? 0 : edge.out).at, to.bytes);
  }

  EdgeMessages messages_;
  shm::Slice& slice_;
  const patterns::NeighborLinks& links_;
  const Blocks& blocks_;
  int rank_;
  bool has_one_block_;
  int lines_;
  std::size_t most_bytes_, most_streamed_;
  std::vector<const NeighborLink*> refused_;
  std::vector<char>& joined_;
};

int sent_blocks(const NeighborhoodState& state, Operation operation) {
  return sends_neighbor_blocks(operation) ? state.outs : 1;
}

int lines_of(const Communicator& c, const CallClass& entry, Operation operation) {
  const int links = sends_neighbor_blocks(operation) ? c.node.neighborhood->links.most_sent : 1;
  return entry.choice->algorithm->block_lines(links, entry.choice->parameters);
}

}  // namespace

int NeighborLines::start(Run& run) const {
  Workspace& work = *run.work;
  return work.neighbors.find(world_.host, &work.packed_input, &work.packed_output);
}

// Between packing and delivering, which the host does.
bool NeighborLines::poll(Run& run) const {
  Communicator& c = *run.communicator;
  const int lines = lines_of(c, *run.entry, run.call.operation);
  run.error = Exchange(world_, c, run.call.operation, lines, run.work->neighbors).run();
  return true;
}

bool NeighborLines::is_known(const Communicator& c, const Call& call) {
  const BlockMemo& memo = c.block_memo(call.operation);
  if (memo.entry == nullptr || memo.entry->is_next_to_be_looked_at()) return false;
  const NeighborhoodState& state = *c.node.neighborhood;
  const int sent = sent_blocks(state, call.operation);
  return are_of(call.send_blocks, sent, memo.send_type) &&
         are_of(call.recv_blocks, state.ins, memo.recv_type) && is_readable(call.send_blocks, sent) &&
         is_readable(call.recv_blocks, state.ins);
}

int NeighborLines::run_again(Communicator& c, const Call& call) const {
  const BlockMemo& memo = c.block_memo(call.operation);
  CallClass& entry = *memo.entry;
  const std::int64_t bytes = c.node.neighborhood->bytes;
  const CallTiming timing(CallTiming::count(entry, static_cast<std::uint64_t>(bytes)));
  const PlainBlocks blocks(call.send_blocks, memo.send_bytes, call.recv_blocks, memo.recv_bytes);
  int error = host::success;
  {
    const UnevenMemory uneven{.send_bytes = memo.send_bytes, .recv_bytes = memo.recv_bytes};
    const InsideAlgorithm here(&entry, bytes, {.call = &call, .ranks = c.size, .uneven = &uneven});
    error = Exchange(world_, c, call.operation, memo.lines, blocks).run();
  }
  timing.end(entry, error == host::success);
  return error == host::success ? error : world_.host.call_error_handler(call.comm, error);
}

void NeighborLines::remember(Communicator& c, CallClass& entry, const Call& call) const {
  BlockMemo& memo = c.block_memo(call.operation);
  memo = {};
  const NeighborhoodState& state = *c.node.neighborhood;
  const auto sent = plain_type(world_.host, call.send_blocks, sent_blocks(state, call.operation));
  const auto got = plain_type(world_.host, call.recv_blocks, state.ins);
  if (!sent || !got) return;
  memo = {.entry = &entry,
          .send_type = sent->type,
          .recv_type = got->type,
          .send_bytes = sent->bytes,
          .recv_bytes = got->bytes,
          .lines = lines_of(c, entry, call.operation)};
}

}  // namespace unisono::runtime
