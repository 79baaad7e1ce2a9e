// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/judging/verification.h"

#include <algorithm>
#include <tuple>

#include "runtime/packing/transfer.h"

namespace unisono::runtime {

Verification::Verification(host::Host& host, const Call& call, int rank, int size,
                           const NeighborhoodState* neighborhood)
    : host_(host), size_(size) {
  if (neighborhood != nullptr && is_neighborhood(call.operation)) {
    read_neighbors(call, *neighborhood, rank);
    return;
  }
  BlockArguments output = call.recv_blocks, input = call.send_blocks, more{};
  if (!has_uneven_blocks(call.operation)) {
    const Arguments arguments = read_arguments(host, call, rank, size, &error_);
    const bool is_bcast = has_one_buffer(call.operation);
    void* send_buffer = const_cast<void*>(call.send_buffer);
    output = {.buffer = is_bcast ? send_buffer : call.recv_buffer,
              .count = arguments.recv.count,
              .type = arguments.recv.type};
    input = {.buffer = send_buffer, .count = arguments.send.count, .type = arguments.send.type};
  }
  is_input_in_output_ = has_one_buffer(call.operation) || (call.is_in_place && !is_scatter(call.operation));
  has_more_input_ = call.is_in_place && is_scattered_reduction(call.operation);
  if (has_more_input_) {
    more = input;
    more.buffer = output.buffer;
  }
  const bool is_output_elsewhere =
      call.is_in_place && is_scatter(call.operation) && has_uneven_blocks(call.operation);
  read_side(&output_, is_output_elsewhere ? BlockArguments{} : output);
  if (has_more_input_) read_side(&input_in_output_, more);
  if (!is_input_in_output_) read_side(&input_, input);
}

void Verification::read_neighbors(const Call& call, const NeighborhoodState& neighborhood, int rank) {
  int error = host::success;
  const bool has_block_for_each = sends_neighbor_blocks(call.operation);
  output_.read_blocks(host_, call.recv_blocks, neighborhood.ins, neighborhood.missing_ins, false, &error);
  if (error == host::success && has_block_for_each) {
    input_.read_blocks(host_, call.send_blocks, neighborhood.outs, neighborhood.missing_outs, false, &error);
  } else if (error == host::success) {
    input_.read_blocks(host_, call.send_blocks, 1, {}, false, &error);
  }
  keep(error);
  if (error != host::success || !has_block_for_each) return;
  const std::vector<patterns::Neighbor>& in = neighborhood.neighbors->of(rank).in;
  std::size_t next = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(output_.length(static_cast<std::int64_t>(i)));
    if (std::ranges::count(in, in[i].rank, &patterns::Neighbor::rank) > 1)
      doubtful_.push_back({next, next + bytes});
    next += bytes;
  }
}

void Verification::read_side(BlockSide* side, const BlockArguments& arguments) {
  if (arguments.counts == nullptr && arguments.count == 0) return;
  int error = host::success;
  side->read(host_, arguments, size_, false, &error);
  keep(error);
}

void Verification::save() {
  keep(output_.pack(host_, &before_));
  if (has_more_input_) keep(input_in_output_.pack(host_, &more_before_));
}

void Verification::keep_own() {
  keep(output_.pack(host_, &own_));
  keep(output_.unpack(host_, before_));
  if (has_more_input_) keep(input_in_output_.unpack(host_, more_before_));
}

void Verification::read_hosts() {
  keep(output_.pack(host_, &hosts_));
}

void Verification::put_own_back() {
  keep(output_.unpack(host_, own_));
}

bool Verification::is_doubtful(std::size_t byte) const {
  return std::ranges::any_of(doubtful_,
                             [=](const Range& range) { return byte >= range.first && byte < range.last; });
}

std::int64_t Verification::first_difference() const {
  auto [own, hosts] = std::ranges::mismatch(own_, hosts_);
  while (own != own_.end() && hosts != hosts_.end() &&
         is_doubtful(static_cast<std::size_t>(own - own_.begin())))
    std::tie(own, hosts) = std::mismatch(own + 1, own_.end(), hosts + 1, hosts_.end());
  return own == own_.end() && hosts == hosts_.end() ? -1 : own - own_.begin();
}

bool Verification::do_doubtful_blocks_differ() const {
  return own_.size() == hosts_.size() && std::ranges::any_of(doubtful_, [this](const Range& range) {
           return !std::equal(own_.begin() + static_cast<std::ptrdiff_t>(range.first),
                              own_.begin() + static_cast<std::ptrdiff_t>(range.last),
                              hosts_.begin() + static_cast<std::ptrdiff_t>(range.first));
         });
}

const std::vector<char>& Verification::input() {
  if (has_more_input_) return more_before_;
  if (is_input_in_output_) return before_;
  if (!is_input_read_) keep(input_.pack(host_, &given_));
  is_input_read_ = true;
  return given_;
}

}  // namespace unisono::runtime
