// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/messages/host_moves.h"

#include <algorithm>
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

HostMoves::Move& HostMoves::add(MessageRequest* request) {
  of_host_.emplace_back();
  completed_.emplace_back();
  Move& move = moves_.emplace_back();
  move.request = request;
  return move;
}

void HostMoves::send(int rank, MessageRequest* request, int tag, bool waits) {
  add(request);
  host::Request* started = &of_host_.back();
  check_host(host_, waits ? host_.issend(request->buffer, request->bytes, rank, tag, comm_, started)
                          : host_.isend(request->buffer, request->bytes, rank, tag, comm_, started));
}

void HostMoves::fetch(int rank, MessageRequest* request, int tag) {
  Move& move = add(request);
  void* into = request->buffer;
  if (request->is_truncated()) {
    move.all = std::make_unique_for_overwrite<std::byte[]>(request->message_bytes);
    into = move.all.get();
  }
  check_host(host_, host_.irecv(into, request->message_bytes, rank, tag, comm_, &of_host_.back()));
}

HostMoves::Move* HostMoves::move_of(const MessageRequest* request) {
  const auto found = std::ranges::find(moves_, request, &Move::request);
  return found == moves_.end() ? nullptr : &*found;
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
  int count = 0;
  check_host(host_,
             host_.test_some(static_cast<int>(moves_.size()), of_host_.data(), &count, completed_.data()));
  // The MPI names them in any order.
  std::sort(completed_.begin(), completed_.begin() + count);
  for (int i = 0; i < count; ++i) {
    Move& move = moves_[static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)])];
    move.has_moved = true;
    if (move.request != nullptr && move.all != nullptr)
      copy_bytes(move.request->buffer, move.all.get(), move.request->bytes);
    if (!move.is_kept) ended_.push_back(static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)]));
  }
  if (std::exchange(needs_look_, false)) look_at_all();
}

void HostMoves::look_at_all() {
  ended_.clear();
  for (std::size_t i = 0; i < moves_.size(); ++i) {
    Move& move = moves_[i];
    if (move.request == nullptr && !move.has_moved) {
      check_host(host_, host_.cancel_receive(&of_host_[i]));
      move.has_moved = true;
    }
    if (move.has_moved && !move.is_kept) ended_.push_back(i);
  }
}

MessageRequest* HostMoves::take_out(std::size_t place) {
  MessageRequest* request = moves_[place].request;
  moves_[place] = std::move(moves_.back());
  of_host_[place] = of_host_.back();
  moves_.pop_back();
  of_host_.pop_back();
  completed_.pop_back();
  return request;
}

}  // namespace unisono::runtime
