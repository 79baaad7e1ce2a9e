// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/messages/host_link.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/log.h"

namespace unisono::runtime {

HostLink::HostLink(host::Host& host, host::Comm comm)
    : host_(host),
      comm_(comm),
      rank_(host.comm_rank(comm)),
      next_tag_(static_cast<std::size_t>(host.comm_size(comm)), first_data_tag),
      memory_(std::make_unique<std::byte[]>(receives * (sizeof(Came) + most_bytes))),
      receives_(receives) {
  for (std::size_t number = 0; number < receives; ++number) post(number);
}

HostLink::~HostLink() = default;

// As a program's own message would: its error handler ends the job by default, and nobody else could be told.
void HostLink::check(int error) const {
  if (error == host::success) return;
  log::warning("the MPI cannot carry a message between nodes (error " + std::to_string(error) + ")");
  host_.abort(host_.world(), 1);
}

void HostLink::post(std::size_t number) {
  check(host_.irecv(memory_.get() + number * (sizeof(Came) + most_bytes), sizeof(Came) + most_bytes,
                    host::any_source, item_tag, comm_, &receives_[number]));
}

void HostLink::start(int rank, const Came& head, const void* data) {
  Sending& made = sending_.emplace_back();
  made.message = std::make_unique_for_overwrite<std::byte[]>(sizeof head + head.bytes);
  std::memcpy(made.message.get(), &head, sizeof head);
  if (data != nullptr) std::memcpy(made.message.get() + sizeof head, data, head.bytes);
  check(host_.isend(made.message.get(), sizeof head + head.bytes, rank, item_tag, comm_, &made.request));
}

// Once it has ended nobody looks any more.
void HostLink::write(int rank, const shm::RingItem& item, const void* data, std::size_t bytes) {
  if (has_ended_) return;
  start(rank, {.item = item, .from = rank_, .is_own = 0, .bytes = bytes}, data);
}

// A tag comes again once all others were taken: by then its message has long been received.
int HostLink::take_tag(int rank) {
  int& next = next_tag_[static_cast<std::size_t>(rank)];
  const int tag = next;
  next = tag == host_.largest_tag() ? first_data_tag : tag + 1;
  return tag;
}

void HostLink::send_data(int rank, MessageRequest* request, int tag, bool waits) {
  Move& move = moves_.emplace_back();
  move.request = request;
  check(waits ? host_.issend(request->buffer, request->bytes, rank, tag, comm_, &move.of_host)
              : host_.isend(request->buffer, request->bytes, rank, tag, comm_, &move.of_host));
}

void HostLink::fetch_data(int rank, MessageRequest* request, int tag) {
  Move& move = moves_.emplace_back();
  move.request = request;
  void* into = request->buffer;
  if (request->is_truncated()) {
    move.all = std::make_unique_for_overwrite<std::byte[]>(request->message_bytes);
    into = move.all.get();
  }
  check(host_.irecv(into, request->message_bytes, rank, tag, comm_, &move.of_host));
}

HostLink::Move* HostLink::move_of(const MessageRequest* request) {
  const auto found = std::ranges::find(moves_, request, &Move::request);
  return found == moves_.end() ? nullptr : &*found;
}

bool HostLink::keep_from_ending(const MessageRequest* request) {
  Move* move = move_of(request);
  return move != nullptr && !std::exchange(move->is_kept, true);
}

bool HostLink::let_end(const MessageRequest* request) {
  Move* move = move_of(request);
  if (move != nullptr) move->is_kept = false;
  return move != nullptr;
}

bool HostLink::has_ended(Move* move) {
  if (move->has_moved) return true;
  bool is_done = false;
  check(host_.test(&move->of_host, &is_done));
  move->has_moved = is_done;
  if (is_done && move->all != nullptr && move->request->bytes != 0)
    std::memcpy(move->request->buffer, move->all.get(), move->request->bytes);
  return is_done;
}

// Short messages mostly leave one after the other.
bool HostLink::sweep_sent() {
  const std::size_t before = sending_.size();
  while (!sending_.empty()) {
    bool is_done = false;
    check(host_.test(&sending_.front().request, &is_done));
    if (!is_done) break;
    sending_.pop_front();
  }
  return sending_.size() != before;
}

const HostLink::Came* HostLink::first_that_came() {
  if (has_ended_) return nullptr;
  bool is_done = false;
  check(host_.test(&receives_[first_], &is_done));
  if (!is_done) return nullptr;
  return reinterpret_cast<const Came*>(memory_.get() + first_ * (sizeof(Came) + most_bytes));
}

void HostLink::post_again() {
  const std::size_t number = first_;
  first_ = (first_ + 1) % receives;
  post(number);
}

// A message to oneself for each receive that still waits.
void HostLink::end() {
  for (std::size_t i = 0; i < receives; ++i)
    start(rank_, {.item = {}, .from = rank_, .is_own = 1, .bytes = 0}, nullptr);
  for (std::size_t ended = 0; ended < receives; ++ended) {
    while (first_that_came() == nullptr) host_.progress();
    first_ = (first_ + 1) % receives;
  }
  has_ended_ = true;
  while (!sending_.empty()) sweep_sent();
  host_.comm_free(&comm_);
}

}  // namespace unisono::runtime
