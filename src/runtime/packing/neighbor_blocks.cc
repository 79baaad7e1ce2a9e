// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/packing/neighbor_blocks.h"

#include <algorithm>

#include "runtime/packing/neighborhood_state.h"
#include "schedule/compiled.h"

namespace unisono::runtime {

void NeighborBlocks::read(host::Host& host, const Call& call, const NeighborhoodState& neighborhood,
                          int* error) {
  if (sends_neighbor_blocks(call.operation)) {
    input_.read_blocks(host, call.send_blocks, neighborhood.outs, neighborhood.missing_outs, false, error);
  } else {
    input_.read_blocks(host, call.send_blocks, 1, {}, false, error);
  }
  if (*error != host::success) return;
  output_.read_blocks(host, call.recv_blocks, neighborhood.ins, neighborhood.missing_ins, false, error);
}

std::int64_t NeighborBlocks::longest() const {
  std::int64_t longest = 0;
  for (const BlockSide* side : {&input_, &output_}) {
    for (std::int64_t i = 0; i < side->blocks(); ++i) longest = std::max(longest, side->length(i));
  }
  return longest;
}

int NeighborBlocks::find(host::Host& host, std::vector<char>* packed_input, std::vector<char>* packed_output,
                         bool is_apart) {
  is_apart_ = is_apart;
  const auto is_direct = [&](const BlockSide& side) { return !is_apart && side.is_direct(false); };
  const bool is_input_direct = is_direct(input_);
  is_output_packed_ = !is_direct(output_);
  const auto find_places = [](const BlockSide& side, bool is_in_place, std::vector<std::int64_t>* places) {
    std::int64_t next = 0;
    places->clear();
    for (std::int64_t i = 0; i < side.blocks(); ++i) {
      places->push_back(is_in_place ? side.place(i) : next);
      next += side.length(i);
    }
  };
  find_places(input_, is_input_direct, &input_places_);
  find_places(output_, !is_output_packed_, &output_places_);
  input_begin_ = static_cast<char*>(const_cast<void*>(input_.address()));
  output_begin_ = static_cast<char*>(const_cast<void*>(output_.address()));
  if (!is_input_direct) {
    const int error = input_.pack(host, packed_input);
    if (error != host::success) return error;
    input_begin_ = packed_input->data();
  }
  if (is_output_packed_) {
    output_.make_room(packed_output);
    output_begin_ = packed_output->data();
  }
  return host::success;
}

int NeighborBlocks::prepare(host::Host& host, const schedule::Compiled& compiled, schedule::Data* data,
                            std::vector<char>* packed_input, std::vector<char>* packed_output,
                            bool is_apart) {
  table_ = compiled.blocks.get();
  const int error = find(host, packed_input, packed_output, is_apart);
  if (error != host::success) return error;
  places_.assign(table_->blocks.size(), 0);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const schedule::NumberedBlock& block = table_->blocks[i];
    if (block.index < 0) continue;
    places_[i] = (block.is_output ? output_places_ : input_places_)[static_cast<std::size_t>(block.index)];
    if (block.piece == 0) continue;
    const std::int64_t length = (block.is_output ? output_ : input_).length(block.index);
    places_[i] += first_in_block(block, table_->limits, length, 1);
  }
  data->element_bytes = 1;
  data->most = schedule::unknown_elements;
  data->input_places = data->output_places = places_.data();
  data->input = input_begin_;
  data->output = output_begin_;
  return host::success;
}

std::int64_t NeighborBlocks::tell(const schedule::Compiled& compiled, int local_rank, int local_size,
                                  std::vector<std::int64_t>* told) const {
  const schedule::BlockTable& table = *compiled.blocks;
  told->assign(static_cast<std::size_t>(table.told_by_rank) * static_cast<std::size_t>(local_size), 0);
  // Blocks of one length share a number, which those that are not there leave alone.
  const auto tell_one = [told](std::int64_t number, std::int64_t length) {
    std::int64_t& of = (*told)[static_cast<std::size_t>(number)];
    of = std::max(of, length);
  };
  for (int i = 0; i < input_.blocks(); ++i) tell_one(table.told_out(local_rank, i), input_.length(i));
  for (int i = 0; i < output_.blocks(); ++i) tell_one(table.told_in(local_rank, i), output_.length(i));
  return table.told_by_rank;
}

bool NeighborBlocks::learn(const schedule::BlockLimits& limits, const std::vector<std::int64_t>& told,
                           schedule::Data* data) {
  const schedule::Longest longest = find_starts(*table_, limits, told, 1, &starts_);
  data->elements = longest.piece;
  data->lengths = {starts_.data(), std::ssize(table_->blocks)};
  return limits.is_short(longest.block);
}

int NeighborBlocks::deliver(host::Host& host, const std::vector<char>& packed_output) const {
  return is_output_packed_ && !is_apart_ ? output_.unpack(host, packed_output) : host::success;
}

}  // namespace unisono::runtime
