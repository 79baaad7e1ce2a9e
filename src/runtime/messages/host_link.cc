// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/messages/host_link.h"

#include <cstring>
#include <utility>

#include "runtime/messages/host_moves.h"

namespace unisono::runtime {

HostLink::HostLink(host::Host& host, host::Comm comm)
    : host_(host),
      comm_(comm),
      rank_(host.comm_rank(comm)),
      memory_(std::make_unique<std::byte[]>(receives * (sizeof(Came) + most_bytes))),
      receives_(receives) {
  for (std::size_t number = 0; number < receives; ++number) post(number);
}

HostLink::~HostLink() = default;

void HostLink::post(std::size_t number) {
  check_host(host_,
             host_.irecv(memory_.get() + number * (sizeof(Came) + most_bytes), sizeof(Came) + most_bytes,
                         host::any_source, HostMoves::item_tag, comm_, &receives_[number]));
}

void HostLink::start(int rank, const Came& head, const void* data) {
  Sending& made = sending_.emplace_back();
  made.message = std::make_unique_for_overwrite<std::byte[]>(sizeof head + head.bytes);
  std::memcpy(made.message.get(), &head, sizeof head);
  if (data != nullptr) std::memcpy(made.message.get() + sizeof head, data, head.bytes);
  check_host(host_, host_.isend(made.message.get(), sizeof head + head.bytes, rank, HostMoves::item_tag,
                                comm_, &made.request));
}

// Once it has ended nobody looks any more.
void HostLink::write(int rank, const shm::RingItem& item, const void* data, std::size_t bytes) {
  if (has_ended_) return;
  start(rank, {.item = item, .from = rank_, .is_own = 0, .bytes = bytes}, data);
}

// Short messages mostly leave one after the other.
bool HostLink::sweep_sent() {
  const std::size_t before = sending_.size();
  while (!sending_.empty()) {
    bool is_done = false;
    check_host(host_, host_.test(&sending_.front().request, &is_done));
    if (!is_done) break;
    sending_.pop_front();
  }
  return sending_.size() != before;
}

const HostLink::Came* HostLink::first_that_came() {
  if (has_ended_) return nullptr;
  bool is_done = false;
  check_host(host_, host_.test(&receives_[first_], &is_done));
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
}

}  // namespace unisono::runtime
