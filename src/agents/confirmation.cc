// SPDX-License-Identifier: BSD-3-Clause
#include "agents/confirmation.h"

#include <algorithm>

namespace unisono::agents {

void Confirmation::start(host::Host& host, host::Comm comm, const std::vector<int>& agents, int own,
                         int tag) {
  host_ = &host;
  comm_ = comm;
  agents_ = &agents;
  own_ = own;
  tag_ = tag;
  round_ = under_way_ = 0;
  error_ = host::success;
  begin_round();
}

// Who stands 1, 2, 4 ... places behind is told, and who stands so far before is heard.
void Confirmation::begin_round() {
  const int count = static_cast<int>(agents_->size()), distance = 1 << round_;
  if (distance >= count) return;
  const int from = (*agents_)[static_cast<std::size_t>((own_ + count - distance) % count)];
  const int to = (*agents_)[static_cast<std::size_t>((own_ + distance) % count)];
  error_ = host_->irecv(&received_, 1, from, tag_ + round_, comm_, &requests_[0]);
  if (error_ != host::success) return;
  under_way_ = 1;
  error_ = host_->isend(&sent_, 1, to, tag_ + round_, comm_, &requests_[1]);
  if (error_ == host::success) under_way_ = 2;
}

bool Confirmation::poll() {
  while (under_way_ != 0 && error_ == host::success) {
    int completed = 0, which[2] = {};
    error_ = host_->test_some(under_way_, requests_, &completed, which);
    if (error_ != host::success) break;
    if (completed == 0) return false;
    // What is left stands first.
    if (completed == 1 && under_way_ == 2 && which[0] == 0) std::swap(requests_[0], requests_[1]);
    under_way_ -= completed;
    if (under_way_ != 0) continue;
    ++round_;
    begin_round();
  }
  return true;
}

}  // namespace unisono::agents
