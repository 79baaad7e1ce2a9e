// SPDX-License-Identifier: BSD-3-Clause
// Streams: blocks of any length from one rank to another, both of which know how long they are. Each pair has
// a ring of its own in each direction, which the one fills and the other empties, piece by piece. A rank
// serves all its pairs in turn, so that none of them waits for another; who has written all it has may leave.
// A block that several ranks read is written once, into all rings of its writer together. A2.
#include <algorithm>
#include <cassert>
#include <optional>

#include "shm/slice/slice_state.h"

namespace unisono::shm {
namespace {

// In none that is so short that its counter takes longer than its bytes.
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
      end.use_ring(rings + number * streams.bytes, streams.bytes);
    }
  }
}

// Where a rank has one block for several readers, all its rings together are one. Of each writer there are
// the counters of the writer and of all its readers.
void Slice::State::map_common_streams(Counter* counters, char* rings) {
  const auto ranks = static_cast<std::size_t>(size);
  const std::size_t ring_bytes = (ranks - 1) * streams.bytes;
  const auto counter = [&](int writer, int number) {
    return counters + static_cast<std::size_t>(writer) * (ranks + 1) + number;
  };
  streams.from_all.resize(ranks);
  for (int writer = 0; writer < size; ++writer) {
    StreamEnd& end = writer == rank ? streams.to_all : streams.from_all[static_cast<std::size_t>(writer)];
    end.peer = writer;
    end.is_writing = writer == rank;
    end.is_common = true;
    end.use_ring(rings + static_cast<std::size_t>(writer) * ring_bytes, ring_bytes);
    end.own = counter(writer, writer == rank ? 0 : 1 + rank);
    if (writer != rank) end.other = counter(writer, 0);
  }
}

void Slice::State::begin_stream(StreamEnd* end, char* block, std::size_t bytes) {
  if (bytes == 0) return;
  end->next.push_back({block, bytes});
  if (end->next.size() > 1) return;
  end->begun = 0;
  goes_on(end);
  streams.under_way.push_back(end);
}

// Has the end a block left?
bool Slice::State::goes_on(StreamEnd* end) {
  if (end->left != 0) return true;
  if (end->begun == end->next.size()) {
    end->next.clear();
    return false;
  }
  const auto [block, bytes] = end->next[end->begun++];
  end->block = block;
  end->left = bytes;
  end->piece = to_whole_lines(std::clamp(bytes / streams.pieces_of_block,
                                         std::min(least_piece_bytes, end->ring_bytes / 2),
                                         std::min(most_piece_bytes, end->ring_bytes / 2)));
  return true;
}

// Rings to single ranks and the one to all lie in the same memory: what went one way must have been read
// before anything goes the other way.
bool Slice::State::may_write(const StreamEnd& end) {
  if (streams.has_common_blocks == end.is_common) return true;
  if (!end.is_common) {
    if (!streams.to_all.is_read()) return false;
  } else {
    for (int peer = 0; peer < size; ++peer) {
      if (peer != rank && !stream_end(peer, true).is_read()) return false;
    }
  }
  streams.has_common_blocks = end.is_common;
  return true;
}

// Blocks begin lines, and all pieces but a block's last one are whole lines. So what has been written and
// read so far always is whole lines too. A piece never reaches over the end of a lap.
std::size_t Slice::move_piece(StreamEnd* end) {
  if (end->is_writing && !state_->may_write(*end)) return 0;
  const auto possible = [&]() -> std::size_t {
    return end->is_writing ? end->room() : end->seen - end->position;
  };
  // Both ends cut a block alike, but for what is left before the end of a lap.
  const std::size_t wanted = end->is_writing ? std::min(end->left, end->piece) : 1;
  if (possible() < wanted) {
    end->look();
    if (possible() < wanted) return 0;
  }
  const std::size_t place = end->place();
  const std::size_t bytes = std::min({end->left, end->piece, possible(), end->lap_bytes - place});
  char* piece = end->ring + place;
  if (end->is_writing) {
    put_piece(piece, end->block, bytes);
  } else {
    get(end->block, piece, bytes, end->peer);
  }
  end->block += bytes;
  end->left -= bytes;
  end->advance(to_whole_lines(bytes));
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
    Sleepers awaited_by = 0;
    for (StreamEnd* end : under_way) {
      const std::size_t bytes = move_piece(end);
      if (bytes != 0) awaited_by |= end->other_end();
      moved += bytes;
    }
    std::erase_if(under_way, [this](StreamEnd* end) { return !state_->goes_on(end); });
    if (moved == 0) {
      if (!backoff) backoff.emplace(wait_);
      backoff->step();
      continue;
    }
    backoff.reset();
    if (state_->is_ringing) shm::ring(wait_.doorbell, awaited_by);
    since_progress += moved;
    if (since_progress >= bytes_per_progress && wait_.progress.call != nullptr) {
      wait_.progress.call(wait_.progress.argument);
      since_progress = 0;
    }
  }
}

void Slice::send_stream(const void* block, std::size_t bytes, int to) {
  state_->begin_stream(&state_->stream_end(to, true), const_cast<char*>(static_cast<const char*>(block)),
                       bytes);
}

void Slice::get_stream(void* into, std::size_t bytes, int from) {
  state_->begin_stream(&state_->stream_end(from, false), static_cast<char*>(into), bytes);
}

void Slice::set_readers(const std::vector<int>& readers) {
  StreamEnd& end = state_->streams.to_all;
  if (state_->streams.from_all.empty() || !end.readers.empty()) return;
  for (const int reader : readers) end.readers.push_back(end.own + 1 + reader);
}

void Slice::send_to_readers(const void* block, std::size_t bytes) {
  state_->begin_stream(&state_->streams.to_all, const_cast<char*>(static_cast<const char*>(block)), bytes);
}

void Slice::get_from_writer(void* into, std::size_t bytes, int writer) {
  state_->begin_stream(&state_->streams.from_all[static_cast<std::size_t>(writer)], static_cast<char*>(into),
                       bytes);
}

}  // namespace unisono::shm
