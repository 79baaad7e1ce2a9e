// SPDX-License-Identifier: BSD-3-Clause
// Calls on uneven blocks: from MPI's counts and displacements to where a schedule finds its blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "host/host.h"
#include "runtime/call/call.h"
#include "runtime/call/call_memory.h"
#include "schedule/executor.h"

namespace unisono::runtime {

// One side of a call in memory: all blocks that this rank sends, or gets. Kept between calls.
class BlockSide {
 public:
  // `argument`: the counts and places of `size` blocks; elements are of `element_bytes` each, or bytes where
  // that is 0. False where the host reports an error.
  bool read(host::Host& host, const BlockArguments& argument, int size, bool is_in_elements, int* error) {
    return read_blocks(host, argument, argument.counts == nullptr ? 1 : size, {}, is_in_elements, error);
  }
  // The same of so many blocks, also where all have one count and stand side by side. Those of `missing`, in
  // their order, are nobody's: each has a place and no data, and no type of its own is asked for.
  bool read_blocks(host::Host& host, const BlockArguments& argument, int size,
                   const std::vector<std::int64_t>& missing, bool is_in_elements, int* error);
  void clear() { blocks_.clear(), places_.clear(); }

  std::int64_t blocks() const { return static_cast<std::int64_t>(blocks_.size()); }
  std::int64_t length(std::int64_t block) const { return blocks_[block].length; }
  // May a schedule work in the program's memory? Only if the datatypes have no gaps, and blocks stand side by
  // side in the order of the ranks, unless it names single blocks alone.
  bool is_direct(bool has_runs) const { return is_contiguous_ && (!has_runs || is_in_order_); }
  std::int64_t place(std::int64_t block) const { return places_[static_cast<std::size_t>(block)]; }
  const std::int64_t* places() const { return is_in_order_ ? nullptr : places_.data(); }
  const void* address() const { return buffer_; }

  bool holds(std::uintptr_t address) const;

  // Between the program's memory and blocks side by side. `only`: this block alone, -1: all.
  int pack(host::Host& host, std::vector<char>* packed, std::int64_t only = -1) const;
  int unpack(host::Host& host, const std::vector<char>& packed) const;
  void make_room(std::vector<char>* packed) const { packed->resize(bytes()); }

 private:
  struct Block {
    std::int64_t length = 0;  // elements of the schedule
    std::size_t count = 0, bytes = 0;
    std::ptrdiff_t offset_bytes = 0;
    host::Datatype type{};
  };
  void count_from_first();
  const char* at(const Block& block) const;
  std::size_t bytes() const;

  void* buffer_ = nullptr;
  std::vector<Block> blocks_;
  std::vector<std::int64_t> places_;
  bool is_contiguous_ = true;
  bool is_in_order_ = true;
};

// A call's blocks on one rank. Kept between calls.
class BlockTransfer {
 public:
  // Reads what the call says. On an error of the host *error is set, and the call is the host's.
  void read(host::Host& host, const Call& call, int rank, int size, int* error);

  // Is it an address of the program's blocks? Asked by a handler of signals.
  bool holds(std::uintptr_t address) const { return input_.holds(address) || output_.holds(address); }
  UnevenMemory memory() const {
    return {.holds =
                [](const void* blocks, std::uintptr_t address) {
                  return static_cast<const BlockTransfer*>(blocks)->holds(address);
                },
            .blocks = this};
  }

  // The mean block, bytes, rounded up, of operations whose blocks every rank knows.
  std::int64_t mean_bytes() const {
    return (total_ * static_cast<std::int64_t>(element_bytes_) + size_ - 1) / size_;
  }
  // The longest block that this rank knows of.
  std::int64_t longest() const { return longest_; }
  // Uneven blocks that not all ranks know: what this rank tells the others of its node (Descriptor, header),
  // and what it learns: `told` by local rank.
  std::int64_t to_tell(Operation operation) const;
  // All ranks' blocks, as far as this one knows how long they are.
  void lengths(std::vector<std::int64_t>* lengths) const;
  void set_lengths(const std::vector<std::int64_t>& lengths);
  void learn(Operation operation, const std::vector<int>& local_ranks, const std::vector<std::int64_t>& told);
  bool is_in_place() const { return is_in_place_; }

  // What is packed: where the schedule cannot work in the program's memory; where some other might not; all,
  // and nothing is delivered.
  enum class Packing : std::uint8_t { as_needed, for_any, apart };
  // What a schedule works on.
  int prepare(host::Host& host, const Call& call, const schedule::Compiled& compiled, schedule::Data* data,
              std::vector<char>* packed_input, std::vector<char>* packed_output,
              Packing packing = Packing::as_needed);
  // Of what was prepared: blocks of at most `most_short` elements, or all but those of some numbers, count as
  // empty; the others stay where they are.
  void leave_out_short(std::int64_t most_short, schedule::Data* data);
  void leave_out_all_but(const std::vector<std::int64_t>& numbers, schedule::Data* data);
  int deliver(host::Host& host, const std::vector<char>& packed_output) const;
  bool has_packed_output() const { return is_output_packed_; }

 private:
  void find_starts(const Call& call);
  template <class IsKept>
  void leave_out(IsKept is_kept, schedule::Data* data);

  int rank_ = 0, size_ = 1;
  BlockSide input_, output_;
  bool is_in_place_ = false;  // as the schedule sees it
  bool is_output_packed_ = false;
  bool is_apart_ = false;
  bool has_input_in_output_ = false;  // in place, but the schedule gets a copy
  std::size_t element_bytes_ = 1;
  // All blocks together, of operations whose blocks every rank knows; else what this rank sends.
  std::int64_t total_ = 0;
  std::int64_t longest_ = 0;
  std::vector<std::int64_t> starts_;
  // Where blocks stood before short ones were left out.
  std::vector<std::int64_t> input_places_, output_places_;
};

// As BlockTransfer::mean_bytes, of blocks of one type.
std::int64_t mean_bytes(const BlockArguments& blocks, std::size_t element_bytes, int size);

}  // namespace unisono::runtime
