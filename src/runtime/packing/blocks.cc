// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/packing/blocks.h"

#include <algorithm>

#include "runtime/packing/transfer.h"

namespace unisono::runtime {

namespace {

constexpr int invalid_argument = -2;  // never given to a program

}  // namespace

bool BlockSide::read_blocks(host::Host& host, const BlockArguments& argument, int size,
                            const std::vector<std::int64_t>& missing, bool is_in_elements, int* error) {
  buffer_ = argument.buffer;
  blocks_.resize(static_cast<std::size_t>(size));
  places_.resize(blocks_.size());
  is_contiguous_ = is_in_order_ = true;
  host::TypeInfo info;
  if (argument.types == nullptr) info = type_info(host, argument.type, error);
  std::ptrdiff_t next = 0;
  auto next_missing = missing.begin();
  for (std::int64_t i = 0; i < blocks(); ++i) {
    Block& block = blocks_[i];
    const bool is_there = next_missing == missing.end() || *next_missing != i;
    if (!is_there) ++next_missing;
    block.type = argument.types == nullptr ? argument.type : argument.types[i];
    const std::size_t count = argument.count_of(i);
    block.count = is_there ? count : 0;
    if (argument.types != nullptr) {
      if (block.count != 0) info = type_info(host, block.type, error);
      block.offset_bytes = argument.displacement_of(i);
    } else if (argument.displacements != nullptr) {
      block.offset_bytes = argument.displacement_of(i) * info.extent_bytes;
    } else {
      block.offset_bytes = next;
    }
    if (*error != host::success) return false;
    block.bytes = block.count * info.size_bytes;
    const bool is_nowhere = buffer_ == nullptr && block.offset_bytes == 0 && info.is_contiguous;
    if (!argument.is_valid(i) || (block.bytes != 0 && is_nowhere)) {
      *error = invalid_argument;  // for the host to report
      return false;
    }
    block.length = static_cast<std::int64_t>(is_in_elements ? block.count : block.bytes);
    if (block.bytes != 0) {
      is_contiguous_ = is_contiguous_ && info.is_contiguous;
      is_in_order_ = is_in_order_ && block.offset_bytes == next;
    }
    places_[i] = is_in_elements && info.size_bytes != 0
                     ? block.offset_bytes / static_cast<std::ptrdiff_t>(info.size_bytes)
                     : block.offset_bytes;
    // Where there are no displacements the blocks stand side by side, as the datatype lays them out.
    next += argument.displacements != nullptr ? static_cast<std::ptrdiff_t>(block.bytes)
                                              : static_cast<std::ptrdiff_t>(count) * info.extent_bytes;
  }
  if (buffer_ == nullptr && argument.displacements != nullptr) count_from_first();
  return true;
}

// Displacements from MPI_BOTTOM are addresses. To a schedule a null buffer says that there is none.
void BlockSide::count_from_first() {
  const auto first = std::ranges::find_if(blocks_, [](const Block& block) { return block.bytes != 0; });
  if (first == blocks_.end()) return;
  const std::ptrdiff_t begin = first->offset_bytes;
  buffer_ = static_cast<char*>(nullptr) + begin;
  for (Block& block : blocks_) block.offset_bytes -= begin;
  for (std::int64_t& place : places_) place -= begin;
}

const char* BlockSide::at(const Block& block) const {
  return static_cast<const char*>(buffer_) + block.offset_bytes;
}

bool BlockSide::holds(std::uintptr_t address) const {
  for (const Block& block : blocks_) {
    if (address - reinterpret_cast<std::uintptr_t>(at(block)) < block.bytes) return true;
  }
  return false;
}

std::size_t BlockSide::bytes() const {
  std::size_t total = 0;
  for (const Block& block : blocks_) total += block.bytes;
  return total;
}

int BlockSide::pack(host::Host& host, std::vector<char>* packed, std::int64_t only) const {
  packed->resize(bytes());
  std::size_t done = 0;
  for (std::int64_t i = 0; i < blocks(); ++i) {
    const Block& block = blocks_[i];
    if (block.bytes != 0 && (only < 0 || only == i)) {
      const int error = host.pack(at(block), block.count, block.type, packed->data() + done, block.bytes);
      if (error != host::success) return error;
    }
    done += block.bytes;
  }
  return host::success;
}

int BlockSide::unpack(host::Host& host, const std::vector<char>& packed) const {
  std::size_t done = 0;
  for (const Block& block : blocks_) {
    if (block.bytes == 0) continue;
    const int error =
        host.unpack(packed.data() + done, block.bytes, const_cast<char*>(at(block)), block.count, block.type);
    if (error != host::success) return error;
    done += block.bytes;
  }
  return host::success;
}

void BlockTransfer::read(host::Host& host, const Call& call, int rank, int size, int* error) {
  rank_ = rank;
  size_ = size;
  const Operation operation = call.operation;
  const bool is_reduction = is_scattered_reduction(operation);
  const bool is_root = rank == call.root;
  const bool has_input = !is_scatter(operation) || is_root;
  const bool has_output = !ends_at_root(operation) || is_root;
  has_input_in_output_ = call.is_in_place && copies_in_place(operation);
  is_in_place_ = call.is_in_place && !has_input_in_output_;
  element_bytes_ = is_reduction ? type_info(host, call.send_blocks.type, error).size_bytes : 1;
  if (*error != host::success) return;
  input_.clear();
  output_.clear();
  const bool is_input_in_output = call.is_in_place && !is_scatter(operation);
  if (has_input && !is_input_in_output) {
    if (!input_.read(host, call.send_blocks, size, is_reduction, error)) return;
  } else if (has_input_in_output_) {
    BlockArguments both = is_reduction ? call.send_blocks : call.recv_blocks;
    both.buffer = call.recv_blocks.buffer;
    if (!input_.read(host, both, size, is_reduction, error)) return;
  }
  if (has_output && !(call.is_in_place && is_scatter(operation))) {
    if (!output_.read(host, call.recv_blocks, size, is_reduction, error)) return;
  }
  find_starts(call);
}

// The lengths of the blocks by number, as far as this rank knows them.
void BlockTransfer::find_starts(const Call& call) {
  const Operation operation = call.operation;
  const bool is_alltoall = is_uneven_alltoall(operation);
  const BlockSide& all = sends_all_blocks(operation) ? input_ : output_;
  const BlockSide& own = ends_at_root(operation) ? input_ : output_;
  starts_.assign(1, 0);
  longest_ = 0;
  const auto add = [this](std::int64_t length) {
    starts_.push_back(starts_.back() + length);
    longest_ = std::max(longest_, length);
  };
  for (int i = 0; i < size_; ++i) {
    if (all.blocks() == size_) {
      add(all.length(i));
    } else {
      add(i == rank_ ? own.length(0) : 0);
    }
  }
  for (int i = 0; is_alltoall && i < size_; ++i) {
    starts_.push_back(starts_.back() + output_.length(i));
  }
  total_ = starts_[static_cast<std::size_t>(size_)];
}

std::int64_t BlockTransfer::to_tell(Operation operation) const {
  if (is_uneven_alltoall(operation)) return longest_;
  const auto own = static_cast<std::size_t>(rank_);
  return starts_[own + 1] - starts_[own];
}

void BlockTransfer::learn(Operation operation, const std::vector<int>& local_ranks,
                          const std::vector<std::int64_t>& told) {
  longest_ = *std::max_element(told.begin(), told.end());
  const bool is_known =
      is_uneven_alltoall(operation) || input_.blocks() == size_ || output_.blocks() == size_;
  if (is_known) return;
  std::vector<std::int64_t> known(static_cast<std::size_t>(size_), 0);
  for (std::size_t local = 0; local < told.size(); ++local) {
    known[static_cast<std::size_t>(local_ranks[local])] = told[local];
  }
  set_lengths(known);
}

void BlockTransfer::lengths(std::vector<std::int64_t>* lengths) const {
  lengths->resize(static_cast<std::size_t>(size_));
  for (std::size_t i = 0; i < lengths->size(); ++i) (*lengths)[i] = starts_[i + 1] - starts_[i];
}

void BlockTransfer::set_lengths(const std::vector<std::int64_t>& lengths) {
  for (std::size_t i = 0; i < lengths.size(); ++i) starts_[i + 1] = starts_[i] + lengths[i];
}

int BlockTransfer::prepare(host::Host& host, const Call& call, const schedule::Compiled& compiled,
                           schedule::Data* data, std::vector<char>* packed_input,
                           std::vector<char>* packed_output, Packing packing) {
  is_apart_ = packing == Packing::apart;
  const auto is_direct = [&](const BlockSide& side, schedule::Place place) {
    return !is_apart_ && side.is_direct(packing == Packing::for_any || has_runs(compiled, place));
  };
  data->element_bytes = element_bytes_;
  data->lengths = {starts_.data(), static_cast<std::int64_t>(starts_.size()) - 1};
  data->most = has_known_blocks(call.operation) ? total_ : schedule::unknown_elements;
  is_output_packed_ = false;
  if (input_.blocks() != 0) {
    if (!has_input_in_output_ && is_direct(input_, schedule::Place::input)) {
      data->input = input_.address();
      data->input_places = input_.places();
    } else {
      const int error = input_.pack(host, packed_input);
      if (error != host::success) return error;
      data->input = packed_input->data();
    }
  }
  if (output_.blocks() == 0) return host::success;
  if (is_direct(output_, schedule::Place::output)) {
    data->output = const_cast<void*>(output_.address());
    data->output_places = output_.places();
    return host::success;
  }
  output_.make_room(packed_output);
  is_output_packed_ = true;
  data->output = packed_output->data();
  // In place the own block is part of the input.
  return is_in_place_ ? output_.pack(host, packed_output, rank_) : host::success;
}

template <class IsKept>
void BlockTransfer::leave_out(IsKept is_kept, schedule::Data* data) {
  // Blocks that stood side by side do so no longer.
  const auto keep = [this](const BlockSide& side, std::size_t first, std::vector<std::int64_t>* kept,
                           const std::int64_t** places) {
    if (*places != nullptr || side.blocks() != size_) return;
    kept->clear();
    for (std::size_t i = 0; i < static_cast<std::size_t>(size_); ++i)
      kept->push_back(starts_[first + i] - starts_[first]);
    *places = kept->data();
  };
  keep(input_, 0, &input_places_, &data->input_places);
  const bool is_alltoall = starts_.size() > static_cast<std::size_t>(size_) + 1;
  keep(output_, is_alltoall ? static_cast<std::size_t>(size_) : 0, &output_places_, &data->output_places);
  std::int64_t before = 0;
  longest_ = 0;
  for (std::size_t i = 1; i < starts_.size(); ++i) {
    const std::int64_t length = starts_[i] - before;
    before = starts_[i];
    starts_[i] = starts_[i - 1] + (is_kept(static_cast<std::int64_t>(i) - 1, length) ? length : 0);
    longest_ = std::max(longest_, length);
  }
  data->elements = longest_;
}

void BlockTransfer::leave_out_short(std::int64_t most_short, schedule::Data* data) {
  leave_out([=](std::int64_t, std::int64_t length) { return length > most_short; }, data);
}

void BlockTransfer::leave_out_all_but(const std::vector<std::int64_t>& numbers, schedule::Data* data) {
  leave_out([&](std::int64_t number,
                std::int64_t) { return std::find(numbers.begin(), numbers.end(), number) != numbers.end(); },
            data);
}

std::int64_t mean_bytes(const BlockArguments& blocks, std::size_t element_bytes, int size) {
  std::size_t elements = 0;
  for (int i = 0; i < size; ++i) elements += blocks.count_of(i);
  return static_cast<std::int64_t>((elements * element_bytes + static_cast<std::size_t>(size) - 1) /
                                   static_cast<std::size_t>(size));
}

int BlockTransfer::deliver(host::Host& host, const std::vector<char>& packed_output) const {
  return is_output_packed_ && !is_apart_ ? output_.unpack(host, packed_output) : host::success;
}

}  // namespace unisono::runtime
