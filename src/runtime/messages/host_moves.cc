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

void HostMoves::send(int rank, MessageRequest* request, int tag, bool waits) {
  Move& move = moves_.emplace_back();
  move.request = request;
  check_host(host_, waits ? host_.issend(request->buffer, request->bytes, rank, tag, comm_, &move.of_host)
                          : host_.isend(request->buffer, request->bytes, rank, tag, comm_, &move.of_host));
}

void HostMoves::fetch(int rank, MessageRequest* request, int tag) {
  Move& move = moves_.emplace_back();
  move.request = request;
  void* into = request->buffer;
  if (request->is_truncated()) {
    move.all = std::make_unique_for_overwrite<std::byte[]>(request->message_bytes);
    into = move.all.get();
  }
  check_host(host_, host_.irecv(into, request->message_bytes, rank, tag, comm_, &move.of_host));
}

HostMoves::Move* HostMoves::move_of(const MessageRequest* request) {
  const auto found = std::ranges::find(moves_, request, &Move::request);
  return found == moves_.end() ? nullptr : &*found;
}

bool HostMoves::give_up(const MessageRequest* request) {
  Move* move = move_of(request);
  if (move != nullptr) move->request = nullptr;
  return move != nullptr;
}

bool HostMoves::keep_from_ending(const MessageRequest* request) {
  Move* move = move_of(request);
  return move != nullptr && !std::exchange(move->is_kept, true);
}

bool HostMoves::let_end(const MessageRequest* request) {
  Move* move = move_of(request);
  if (move != nullptr) move->is_kept = false;
  return move != nullptr;
}

bool HostMoves::has_ended(Move* move) {
  if (move->has_moved) return true;
  if (move->request == nullptr) {
    check_host(host_, host_.cancel_receive(&move->of_host));
    return true;
  }
  bool is_done = false;
  check_host(host_, host_.test(&move->of_host, &is_done));
  move->has_moved = is_done;
  if (is_done && move->all != nullptr && move->request->bytes != 0)
    copy_bytes(move->request->buffer, move->all.get(), move->request->bytes);
  return is_done;
}

}  // namespace unisono::runtime
