// SPDX-License-Identifier: BSD-3-Clause
// The checker's model of one node's shared memory: slots, flags, and what happens before what. It lives as
// long as a sequence of calls, as a communicator's slice does. docs/inside/memory.md, "The node's
// shared memory".
//
// Happens-before is tracked with vector clocks. A thread is what a rank runs in order: the node steps of one
// channel, and the fused steps. An await joins the clock of the *first* flag value that satisfies it,
// whatever the flag stands at by then. So what is found holds for every timing of the ranks, not only for the
// one that is run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proof/check_load.h"
#include "proof/check_values.h"

namespace unisono::proof {

using Clock = std::vector<std::int32_t>;  // thread of the node -> how many of its steps have happened

// One stage's use of a channel in one call, the same on all local ranks.
struct ChannelUse {
  int channel = 0;
  SlotGeometry geometry;
  std::int64_t pieces = 1;
  int ticks = 1;
  std::uint64_t base_tick = 0;
  std::uint64_t base_piece = 0;  // since the geometry last changed
  std::uint64_t epoch_tick = 0;
  std::vector<std::uint64_t> space_tick;  // piece -> what all flags must have reached before its slot is free
};

class NodeMemory {
 public:
  NodeMemory(int local_size, int channels, std::int64_t area_elements);

  int local_size() const { return local_size_; }
  int fused_thread() const { return channels_; }

  // Calls in the order of the program. Static: says nothing about where any rank is.
  ChannelUse begin_use(int channel, const SlotGeometry& geometry, std::int64_t pieces, int ticks);

  // --- Clocks ---
  Clock& clock(int local_rank, int thread) { return clocks_[local_rank * threads_ + thread]; }
  // The thread does its next step.
  void step(int local_rank, int thread) { ++clock(local_rank, thread)[local_rank * threads_ + thread]; }
  static void join(Clock* clock, const Clock& other);
  // Has step number `index` of that thread happened before everything at `clock`?
  bool has_happened(const Clock& clock, int local_rank, int thread, std::int32_t index) const {
    return clock[local_rank * threads_ + thread] >= index;
  }
  Clock start_clock() const { return Clock(static_cast<std::size_t>(local_size_ * threads_), 0); }
  // A call ends on a rank: its threads know of each other.
  void join_threads(int local_rank);

  // --- Flags ---
  struct Signal {
    std::uint64_t tick;
    int call;
    Clock clock;
    std::vector<std::uint64_t> known;  // barriers: ranks that this rank has heard from
  };
  std::uint64_t flag(int channel, int local_rank) const { return flags_[index(channel, local_rank)].value; }
  void set_flag(int channel, int local_rank, const Signal& signal);
  // The first value of that flag that reached `tick`; only valid if it has.
  const Signal& signal(int channel, int local_rank, std::uint64_t tick) const;

  // --- Slots ---
  // The cells of a slot's lane from `offset` on; the caller sees to the bounds.
  std::int64_t address(const ChannelUse& use, std::int64_t piece, int owner, int lane,
                       std::int64_t offset) const;
  Cell* cells(int channel, std::int64_t address) { return cells_[channel].data() + address; }
  // Empty where the access is in order with all others, otherwise what may go wrong.
  // `clock`: what the rank's thread had seen when it started the access.
  std::string read(int channel, std::int64_t address, std::int64_t length, int local_rank,
                   const Clock& clock);
  std::string write(int channel, std::int64_t address, std::int64_t length, int local_rank,
                    const Clock& clock);
  // The same for the published addresses of a rank, for single copy.
  std::string expose(const ChannelUse& use, std::int64_t piece, int local_rank, int call);
  std::string see_exposed(const ChannelUse& use, std::int64_t piece, int owner, int local_rank, int call);

  // --- Readers and writers of any element that local ranks share ---
  struct Touch {
    int local_rank, thread;
    std::int32_t index;
  };
  Touch touch(int local_rank, int thread) {
    return {local_rank, thread, clock(local_rank, thread)[local_rank * threads_ + thread]};
  }

 private:
  struct Flag {
    std::uint64_t value = 0;
    std::vector<Signal> history;
  };
  struct Mark {
    std::int32_t writer = -1;  // local rank
    std::int32_t writer_index = 0;
    std::int32_t readers = -1;  // list in reads_
  };
  struct Read {
    std::int32_t local_rank, index, next;
  };
  struct Channel {
    SlotGeometry geometry;
    std::uint64_t base_tick = 0, base_piece = 0, epoch_tick = 0;
    std::vector<std::uint64_t> end_ticks;  // of all pieces since the geometry last changed
  };
  struct Exposed {
    Mark mark;
    int call = -1;
  };
  int index(int channel, int local_rank) const { return channel * local_size_ + local_rank; }
  std::string mark_read(Mark* mark, const Clock& clock, int local_rank, int thread);
  std::string mark_write(Mark* mark, const Clock& clock, int local_rank, int thread);
  Exposed& exposed(const ChannelUse& use, std::int64_t piece, int owner);

  int local_size_, channels_, threads_;
  std::int64_t area_elements_;
  std::vector<Clock> clocks_;
  std::vector<Flag> flags_;
  std::vector<Channel> uses_;
  std::vector<std::vector<Cell>> cells_;
  std::vector<std::vector<Mark>> marks_;
  std::vector<std::vector<Exposed>> exposures_;
  std::vector<Read> reads_;
};

}  // namespace unisono::proof
