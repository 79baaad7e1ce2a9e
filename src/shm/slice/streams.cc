// SPDX-License-Identifier: BSD-3-Clause
// Streams: blocks of any length from one rank to another, both of which know how long they are. Each pair has
// a ring of its own in each direction, which the one fills and the other empties, piece by piece. A rank
// serves all its pairs in turn, so that none of them waits for another; who has written all it has may leave.
// A2.
#include <algorithm>
#include <cassert>
#include <optional>

#include "shm/slice/slice_state.h"

namespace unisono::shm {
namespace {

// A block goes in some pieces, so that reading one overlaps writing the next, but in none that is so short
// that its counter takes longer than its bytes.
constexpr std::size_t pieces_of_block = 4;
constexpr std::size_t least_piece_bytes = 4096;
constexpr std::size_t most_piece_bytes = 64 * 1024;
// Who moves on and on makes the host progress every so many bytes, which take some ten microseconds.
constexpr std::size_t bytes_per_progress = 128 * 1024;

std::uint64_t to_whole_lines(std::uint64_t bytes) {
  return (bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
}

}  // namespace

void Slice::State::map_streams(Counter* counters, char* rings) {
  const auto ranks = static_cast<std::size_t>(size);
  streams.ends.resize(2 * ranks);
  streams.under_way.reserve(2 * ranks);
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    const auto pair = [&](int from, int to) {
      return static_cast<std::size_t>(from) * (ranks - 1) + static_cast<std::size_t>(to < from ? to : to - 1);
    };
    for (const bool is_writing : {true, false}) {
      const std::size_t number = is_writing ? pair(rank, peer) : pair(peer, rank);
      Counter* both = counters + 2 * number;
      StreamEnd& end = stream_end(peer, is_writing);
      end.peer = peer;
      end.is_writing = is_writing;
      end.own = both + (is_writing ? 0 : 1);
      end.other = both + (is_writing ? 1 : 0);
      end.ring = rings + number * streams.bytes;
    }
  }
}

void Slice::State::begin_stream(char* block, std::size_t bytes, int peer, bool is_writing) {
  if (bytes == 0) return;
  StreamEnd& end = stream_end(peer, is_writing);
  assert(end.left == 0);
  end.block = block;
  end.left = bytes;
  end.piece =
      to_whole_lines(std::clamp(bytes / pieces_of_block, std::min(least_piece_bytes, streams.bytes / 2),
                                std::min(most_piece_bytes, streams.bytes / 2)));
  streams.under_way.push_back(&end);
}

// Blocks begin lines, and all pieces but a block's last one are whole lines. So what has been written and
// read so far always is whole lines too. A piece never reaches over the end of what is in use of the ring.
std::size_t Slice::move_piece(StreamEnd* end) {
  const std::size_t part_bytes = end->part_in_use(shape_.stream_bytes);
  const auto possible = [&]() -> std::size_t {
    return end->is_writing ? part_bytes - (end->position - end->seen) : end->seen - end->position;
  };
  // Both ends cut a block alike, but for what is left before the end of the part of the ring that is in use.
  const std::size_t wanted = end->is_writing ? std::min(end->left, end->piece) : 1;
  if (possible() < wanted) {
    end->seen = end->other->value.load(std::memory_order_acquire);
    if (possible() < wanted) return 0;
  }
  const std::size_t place = end->place(shape_.stream_bytes);
  const std::size_t bytes = std::min({end->left, end->piece, possible(), part_bytes - place});
  char* piece = end->ring + place;
  if (end->is_writing) {
    put_piece(piece, end->block, bytes);
  } else {
    get(end->block, piece, bytes, end->peer);
  }
  end->block += bytes;
  end->left -= bytes;
  end->position += to_whole_lines(bytes);
  end->own->value.store(end->position, std::memory_order_release);
  return bytes;
}

void Slice::run_streams() {
  std::vector<StreamEnd*>& under_way = state_->streams.under_way;
  state_->transfers.slots_in_use = max_buffers;  // what is in use of a ring holds many pieces
  std::optional<Backoff> backoff;                // of a wait for all that is under way
  std::size_t since_progress = 0;
  while (!under_way.empty()) {
    std::size_t moved = 0;
    for (StreamEnd* end : under_way) moved += move_piece(end);
    std::erase_if(under_way, [](const StreamEnd* end) { return end->left == 0; });
    if (moved == 0) {
      if (!backoff) backoff.emplace(wait_);
      backoff->step();
      continue;
    }
    backoff.reset();
    if (state_->is_ringing) shm::ring(wait_.doorbell);
    since_progress += moved;
    if (since_progress >= bytes_per_progress && wait_.progress.call != nullptr) {
      wait_.progress.call(wait_.progress.argument);
      since_progress = 0;
    }
  }
}

void Slice::send_stream(const void* block, std::size_t bytes, int to) {
  state_->begin_stream(const_cast<char*>(static_cast<const char*>(block)), bytes, to, true);
}

void Slice::get_stream(void* into, std::size_t bytes, int from) {
  state_->begin_stream(static_cast<char*>(into), bytes, from, false);
}

}  // namespace unisono::shm
