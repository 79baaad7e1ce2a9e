// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/messages/host_moves.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "base/log.h"
#include "base/short_copy.h"

namespace unisono::runtime {

namespace {

constexpr int first_data_tag = HostMoves::item_tag + 1;

}  // namespace

void check_host(host::Host& host, int error) {
  if (error == host::success) return;
  log::warning("the MPI cannot carry a message between ranks (error " + std::to_string(error) + ")");
  host.abort(host.world(), 1);
}

HostMoves::HostMoves(host::Host& host, host::Comm comm)
    : host_(host), comm_(comm), next_tag_(static_cast<std::size_t>(host.comm_size(comm)), first_data_tag) {}

// A tag comes again once all others were taken: by then its message has long been received.
int HostMoves::take_tag(int rank) {
  int& next = next_tag_[static_cast<std::size_t>(rank)];
  const int tag = next;
  next = tag == host_.largest_tag() ? first_data_tag : tag + 1;
  return tag;
}

host::Request* HostMoves::add(Move move) {
  if (blocks_.empty() || blocks_.back().moves.size() == Block::most) blocks_.emplace_back();
  Block& block = blocks_.back();
  block.moves.push_back(std::move(move));
  return &block.of_host.emplace_back();
}

void HostMoves::send(int rank, MessageRequest* request, int tag, bool waits) {
  host::Request* started = add({.request = request});
  check_host(host_, waits ? host_.issend(request->buffer, request->bytes, rank, tag, comm_, started)
                          : host_.isend(request->buffer, request->bytes, rank, tag, comm_, started));
}

void HostMoves::fetch(int rank, MessageRequest* request, int tag) {
  Move move = {.request = request};
  void* into = request->buffer;
  if (request->is_truncated()) {
    move.all = std::make_unique_for_overwrite<std::byte[]>(request->message_bytes);
    into = move.all.get();
  }
  check_host(host_, host_.irecv(into, request->message_bytes, rank, tag, comm_, add(std::move(move))));
}

HostMoves::Move* HostMoves::move_of(const MessageRequest* request) {
  for (Block& block : blocks_) {
    const auto found = std::ranges::find(block.moves, request, &Move::request);
    if (found != block.moves.end()) return &*found;
  }
  return nullptr;
}

bool HostMoves::give_up(const MessageRequest* request) {
  Move* move = move_of(request);
  if (move == nullptr) return false;
  move->request = nullptr;
  needs_look_ = true;
  return true;
}

bool HostMoves::keep_from_ending(const MessageRequest* request) {
  Move* move = move_of(request);
  return move != nullptr && !std::exchange(move->is_kept, true);
}

bool HostMoves::let_end(const MessageRequest* request) {
  Move* move = move_of(request);
  if (move == nullptr) return false;
  move->is_kept = false;
  if (move->has_moved) needs_look_ = true;
  return true;
}

void HostMoves::find_ended() {
  if (std::exchange(needs_look_, false)) return look_at_all();
  if (find_ended(blocks_.front())) tidy(0);
  if (blocks_.size() < 2) return;
  if (in_turn_ >= blocks_.size()) in_turn_ = 1;
  if (find_ended(blocks_[in_turn_])) {
    tidy(in_turn_);
  } else {
    ++in_turn_;
  }
}

bool HostMoves::find_ended(Block& block) {
  std::array<int, Block::most> completed;
  int count = 0;
  check_host(host_, host_.test_some(static_cast<int>(block.moves.size()), block.of_host.data(), &count,
                                    completed.data()));
  for (int i = 0; i < count; ++i) {
    Move& move = block.moves[static_cast<std::size_t>(completed[static_cast<std::size_t>(i)])];
    move.has_moved = true;
    if (move.request != nullptr && move.all != nullptr)
      copy_bytes(move.request->buffer, move.all.get(), move.request->bytes);
  }
  return count != 0 && take_out_ended(block);
}

bool HostMoves::take_out_ended(Block& block) {
  const std::size_t before = block.moves.size();
  for (std::size_t i = before; i-- > 0;) {
    Move& move = block.moves[i];
    if (!move.has_moved || move.is_kept) continue;
    ended_.push_back(move.request);
    // What takes its place goes on.
    move = std::move(block.moves.back());
    block.of_host[i] = block.of_host.back();
    block.moves.pop_back();
    block.of_host.pop_back();
  }
  return block.moves.size() != before;
}

void HostMoves::tidy(std::size_t place) {
  Block& block = blocks_[place];
  const auto at = blocks_.begin() + static_cast<std::ptrdiff_t>(place);
  if (block.moves.empty()) {
    blocks_.erase(at);
    return;
  }
  if (place + 1 == blocks_.size()) return;
  Block& next = blocks_[place + 1];
  if (block.moves.size() + next.moves.size() > Block::most) return;
  std::ranges::move(next.moves, std::back_inserter(block.moves));
  std::ranges::copy(next.of_host, std::back_inserter(block.of_host));
  blocks_.erase(at + 1);
}

void HostMoves::look_at_all() {
  for (std::size_t place = blocks_.size(); place-- > 0;) {
    Block& block = blocks_[place];
    for (std::size_t i = 0; i < block.moves.size(); ++i) {
      Move& move = block.moves[i];
      if (move.request != nullptr || move.has_moved) continue;
      check_host(host_, host_.cancel_receive(&block.of_host[i]));
      move.has_moved = true;
    }
    if (take_out_ended(block)) tidy(place);
  }
}

}  // namespace unisono::runtime
