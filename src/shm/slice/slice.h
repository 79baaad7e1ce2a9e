// SPDX-License-Identifier: BSD-3-Clause
// One communicator's part of the node's pool, as one rank sees it: channels (flags and areas) for pieces, and
// fused operations for small messages. docs/inside/memory.md, "The node's shared memory". A1, A2
// (sections 2.4, 2.5); G2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/operations.h"
#include "base/reduce_kernels.h"
#include "shm/slice/wait.h"

namespace unisono::shm {

inline constexpr int channel_count = 3;
inline constexpr int max_buffers = 64;  // slots of a channel
inline constexpr std::size_t cache_line_bytes = 64;

// How much a slice takes, so that all ranks of a node compute the same.
struct SliceShape {
  int local_size = 1;
  std::size_t area_bytes = 0;     // per rank and channel; a multiple of the page size
  std::size_t ring_lines = 1024;  // fused ring, per rank; a power of two, at least 256
  bool is_spread = true;          // pieces go through all memory of their slots: with a core for each rank
  std::size_t stream_bytes = 0;   // per pair of ranks and direction; a multiple of the page size; 0: none
  std::size_t bytes() const;      // the whole slice
  // `stream_bytes` where all streams together are to take about as much as a channel, at most twice as much.
  // 0 for so many ranks that their rings would be too short to be worth it.
  static std::size_t stream_bytes_of(int ranks, std::size_t channel_bytes);
};

// Addresses that a rank publishes for single copy.
struct Exposure {
  std::uint64_t input = 0;
  std::uint64_t output = 0;
};

// Applies an operator for the reductions: into = left op right, `count` elements (into may be left or right).
// Where Unisono has a kernel of its own, `kernel` names it and `call` is not needed.
struct Combine {
  void (*call)(const void* context, void* into, const void* left, const void* right,
               std::size_t count) = nullptr;
  const void* context = nullptr;
  std::size_t element_bytes = 1;
  Kernel kernel = nullptr;

  void operator()(void* into, const void* left, const void* right, std::size_t count) const {
    if (kernel != nullptr) {
      kernel(into, left, right, count);
    } else {
      call(context, into, left, right, count);
    }
  }
};

// One of the fused operations, with its arguments as Slice has them.
struct FusedCall {
  Operation operation = Operation::barrier;
  void* into = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;  // of the message, or of one block
  std::size_t count = 0;  // elements of reductions
  Combine combine{};
  int root = 0;
};

// Where a local rank stands in a tree of them.
struct TreePlace {
  int parent = -1;                  // -1: it is the root
  std::span<const int> children{};  // what they bring is joined in this order, behind the rank's own
};

struct StreamEnd;

class Slice {
 public:
  // `memory` is zero-filled, shared by the node's ranks, cache-line aligned, shape.bytes() long, and outlives
  // the slice (the pool owns it). `process_ids` of the local ranks, for single copy; may be null where single
  // copy is not used.
  Slice(void* memory, const SliceShape& shape, int local_rank, const WaitConfig& wait,
        const int* process_ids = nullptr);
  ~Slice();

  int local_size() const { return shape_.local_size; }
  int local_rank() const { return local_rank_; }
  const SliceShape& shape() const { return shape_; }
  const WaitConfig& wait_config() const { return wait_; }
  void set_wait_config(const WaitConfig& wait);

  // See spread().
  static constexpr std::uint64_t bytes_for_a_new_byte(std::size_t place_bytes) {
    return place_bytes <= std::size_t{16} * 1024 ? 32 : 64;
  }

  // --- Channels ---
  // A stage begins and ends its use of a channel on every local rank, in the same order on all. `begin`
  // returns the tick that the channel's flags stand at; `end` advances it by pieces * ticks and stores the
  // own flag at that value. Geometry is (mode, buffers, slot bytes): where it differs from the use before,
  // all earlier uses must be finished before a slot is written: space_tick() takes care of that. The number
  // of ticks may differ from use to use.
  struct Use {
    int channel = 0;
    bool is_common = false;
    int buffers = 2;
    std::size_t slot_bytes = 0;
    int lanes = 1;
    std::size_t lane_bytes = 0;
    std::int64_t pieces = 1;
    std::int64_t pieces_before = 0;  // of the use that this one goes on with
    int ticks = 1;
    std::uint64_t base_tick = 0;    // flags at the start of this call
    std::uint64_t base_piece = 0;   // pieces that went through the channel: slot = (base_piece + s) % buffers
    std::uint64_t epoch_tick = 0;   // base tick at which the geometry last changed
    std::uint64_t epoch_piece = 0;  // base piece then
    // Places in a lane, one behind the other, that the pieces of a slot take in turn (spread()).
    std::uint64_t places = 1;
    std::size_t place_bytes = 0;
    const std::uint64_t* past_ticks = nullptr;  // [piece % max_buffers]: the flags' tick at which a piece of
                                                // an earlier use was finished
  };
  // Slot and lane sizes for a stage's wish, the same on all local ranks. It fills slot_bytes and lane_bytes.
  // lane_bytes is a multiple of 64, and 0 where the area is too small for so many lanes. `buffers` is clamped
  // to 1 .. max_buffers.
  Use plan(int channel, bool is_common, int buffers, int lanes) const;
  void begin(Use* use, std::int64_t pieces, int ticks);
  // No piece takes more than `longest_bytes` of a lane, the same on all local ranks. Pieces that are shorter
  // than their slot take another place in it each time. Lines that were written and read a moment ago lie in
  // two cores' own caches, whence writing takes them back one by one. Lines that have left these caches are
  // written and read two to four times as fast. So the pieces go through memory that is larger than such
  // caches (2 MiB), or through so little that it stays near. A4 (section 2.5.2).
  //
  // The first pieces of a channel lie at the beginnings of their slots. One byte more of the slots' memory is
  // taken in for so many bytes that have gone through them (bytes_for_a_new_byte). A page that is touched for
  // the first time takes as long as copying it some ten times, and spreading gains little with long pieces.
  // So at no time do more than a few calls in a hundred meet fresh memory, however long the program lives.
  void spread(Use* use, std::size_t longest_bytes) const;
  // Maps the memory of a lane that this rank writes in the next pieces of the channel, at least in one turn
  // of the slots. None of them is longer than `longest_bytes`. Who first writes that memory would otherwise
  // map it page by page. Nothing is done where the pieces that this rank has written `before`, in the same
  // way, have done it. `use` has not begun. Local.
  struct PiecesOfUse {
    std::int64_t before = 0, next = 0;
    std::int64_t of_call = 1;
  };
  void touch_lane(Use use, int lane, std::size_t longest_bytes, const PiecesOfUse& pieces) const;
  // `pieces` more behind all that `use`, which has begun, has: as a use of its own, which ends with that one.
  static Use go_on(Use* use, std::int64_t pieces);
  void end(const Use& use);

  std::uint64_t flag(int channel, int local_rank) const;  // acquire
  void set_flag(int channel, std::uint64_t tick);  // own flag, never backwards; release; wakes futex sleepers
  // Have all local ranks' flags reached `tick`? Remembers what it has seen, so that it costs nothing once
  // they have.
  bool all_reached(int channel, std::uint64_t tick);
  // The tick that all flags must have reached before piece `piece` of this use may be written.
  static std::uint64_t space_tick(const Use& use, std::int64_t piece);
  char* slot(const Use& use, std::int64_t piece, int owner, int lane) const;

  // Copies into a slot and out of local rank owner's slot, in whichever way is fastest between these ranks at
  // present. memcpy is as correct. Slots of mode common are nobody's.
  static constexpr int nobody = -1;
  void put(void* slot, const void* from, std::size_t bytes, int owner);
  // `is_streamed`: what is got need not stay in the caches, since more comes than they hold.
  void get(void* into, const void* slot, std::size_t bytes, int owner, bool is_streamed = false);
  // The same for those who write a slot, or read it, by other means: around what they do. Some are timed.
  struct Transfer {
    bool is_past_caches = false;  // write so (copy_streaming)
    std::size_t bytes = 0;
    std::uint64_t start_ns = 0;  // 0: not timed
    bool is_settled = true;      // else its time only tells whether a trial is hopeless
  };
  Transfer begin_put(const void* slot, std::size_t bytes, int owner);
  void end_put(const Transfer& transfer);
  Transfer begin_get(const void* slot, std::size_t bytes, int owner);
  void end_get(const Transfer& transfer);

  void expose(const Use& use, std::int64_t piece, const Exposure& exposure);
  Exposure exposed(const Use& use, std::int64_t piece, int owner) const;
  // Single copy from another local rank's memory (process_vm_readv). False on failure (errno is set); proved
  // possible at set-up by probe_single_copy.
  bool read_remote(int owner, std::uint64_t address, void* into, std::size_t bytes) const;
  // Where that fails the owner copies what is asked for, at most so much at a time, while it waits for those
  // who read its memory. A rank asks for one thing at a time, and waits for the answer without leaving the
  // call.
  static constexpr std::size_t most_asked_bytes = 4 * 1024;
  void ask(int owner, std::uint64_t address, std::size_t bytes);
  bool is_answered() const;
  void take_answer(void* into);
  bool has_asks() const;  // has any rank ever asked?
  bool answer_asks();     // those for this rank's memory; true where there was one
  // After each call that may read other ranks' memory, on all local ranks: are those after it to do without,
  // since somebody had to ask? The same answer on all, of which none waits.
  bool gives_up_single_copy();

  // --- Fused operations: blocking, all local ranks call them in the same order ---
  //
  // Bytes of the largest message that one rank writes. The message is that of a bcast, reduce, allreduce or
  // scan, or a block of an allgather or gather. Of a scatter, alltoall or reduce_scatter it is all blocks.
  std::size_t fused_max_bytes() const;
  // Maps the rings' memory, which their first operations would do bit by bit. Local.
  void touch_rings() const;
  // The same of all that small messages use, at most about 1 MiB of it. First each rank touches its own
  // share. When all have done so, each rank touches those of the others, many pages at a time. Two ranks that
  // touch one page for the first time at the same time wait for each other in the kernel. Because of that,
  // each of 32 allreduces of 2 KiB took 14 us instead of 1.5 (2 ranks).
  void touch_own_share() const;
  void touch_shares() const;
  void barrier();
  void bcast(void* data, std::size_t bytes, int local_root);
  void reduce(void* into, const void* from, std::size_t count, const Combine& combine, int local_root);
  void allreduce(void* into, const void* from, std::size_t count, const Combine& combine);
  // What ranks 0 to this one have, joined; without this one's, and nothing on rank 0. A rank waits for those
  // before it alone.
  void scan(void* into, const void* from, std::size_t count, const Combine& combine);
  void exscan(void* into, const void* from, std::size_t count, const Combine& combine);
  // Of blocks of `count` elements in everybody's `from` the own one, joined.
  void reduce_scatter(void* into, const void* from, std::size_t count, const Combine& combine);
  // The same of the elements [first, first + count) of everybody's `total`.
  void reduce_part(void* into, const void* from, std::size_t first, std::size_t count, std::size_t total,
                   const Combine& combine);
  // Blocks of `bytes`, rank l's at l*bytes. Buffers are only looked at where they matter: gather's `into` and
  // scatter's `from` at the root. A rank's own block may be given where it is to be taken; alltoall may have
  // into == from.
  void gather(void* into, const void* from, std::size_t bytes, int local_root);
  void scatter(void* into, const void* from, std::size_t bytes, int local_root);
  void allgather(void* into, const void* from, std::size_t bytes);
  void alltoall(void* into, const void* from, std::size_t bytes);

  // The same for calls that must not wait. One of them is under way at a time, and no other fused operation
  // is. start_fused() writes what this rank gives; false: there is no room yet. Then end_fused() takes what
  // the others give; false: some of it is yet to come.
  bool start_fused(const FusedCall& call);
  bool end_fused(const FusedCall& call);

  // The same along a tree, of which all local ranks have their places. An allreduce and a barrier write two
  // messages a rank, so that they take messages half as long. Operands are joined in the order of the tree.
  void barrier(const TreePlace& place);
  // The halves of a barrier: the root knows that all have come; all below know that the root has.
  void await_below(const TreePlace& place);
  void await_above(const TreePlace& place);
  void bcast(void* data, std::size_t bytes, const TreePlace& place);
  void reduce(void* into, const void* from, std::size_t count, const Combine& combine,
              const TreePlace& place);
  void allreduce(void* into, const void* from, std::size_t count, const Combine& combine,
                 const TreePlace& place);

  // --- Blocks of uneven length, fused as well ---
  // Each block has a slot of so many lines: at one of `places`, in the column of one local rank. The rank
  // that writes a block and those that read it know how long it is; nobody else need. All local ranks begin
  // and end alike; what is written is written before anything is waited for.
  static std::size_t most_block_bytes(int lines);                    // that a slot of `lines` takes
  static int most_block_lines(const SliceShape& shape, int places);  // of a slot
  void begin_blocks(int places, int lines);
  void put_block(const void* block, std::size_t bytes, int place, int column);
  void get_block(void* into, std::size_t bytes, int place, int column);
  // For a block that no slot takes (slots of two lines at least): its address is put there. The one rank that
  // reads the block copies it out of local rank `owner`'s memory and says so; until then it must stay. False,
  // on both sides, where the kernel refuses to copy it.
  void offer_block(const void* block, int place, int column);
  bool take_block(void* into, std::size_t bytes, int owner, int place, int column);
  bool await_taken(int place, int column);
  void end_blocks();

  // --- Streams: blocks of any length between two ranks that both know it ---
  //
  // What is to be sent to and got from each other rank, in this order. run_streams moves the blocks.
  // It comes back when all that this rank gets is there, and all that it sends is on its way. Until then
  // blocks stay where they are. Other ranks need not take part.
  bool has_streams() const { return shape_.stream_bytes != 0; }
  void send_stream(const void* block, std::size_t bytes, int to);
  void get_stream(void* into, std::size_t bytes, int from);
  // The same of blocks that several ranks read, all of them each: who reads this rank's is said once. Nothing
  // is sent where nobody does.
  void set_readers(const std::vector<int>& readers);
  void send_to_readers(const void* block, std::size_t bytes);
  void get_from_writer(void* into, std::size_t bytes, int writer);
  void run_streams();

 private:
  struct State;
  void touch_common(std::size_t share, std::size_t shares) const;
  void touch_blocks(int owner) const;
  // As put into an own slot; pieces that are too short to be timed go as the shortest that are.
  void put_piece(void* slot, const void* from, std::size_t bytes);
  std::size_t move_piece(StreamEnd* end);  // how much it was; 0: there is nothing, or no room

  SliceShape shape_;
  int local_rank_;
  WaitConfig wait_;
  std::unique_ptr<State> state_;
};

}  // namespace unisono::shm
