// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/telling.h"

#include <algorithm>
#include <utility>

namespace unisono::runtime {

Telling::Telling(host::Host& host, host::Comm comm, std::string words)
    : host_(host), comm_(comm), words_(std::move(words)) {
  head_.length = words_.size();
  words_.copy(head_.first.data(), head_.first.size());
  error_ = host_.start_bcast_bytes(&head_, sizeof head_, 0, comm_, &request_);
}

std::string Telling::heard() {
  if (error_ == host::success) error_ = host_.wait(&request_);
  words_.resize(head_.length);
  const std::size_t in_head = std::min(words_.size(), head_.first.size());
  std::copy_n(head_.first.begin(), in_head, words_.begin());
  if (words_.size() > in_head) host_.bcast_bytes(words_.data() + in_head, words_.size() - in_head, 0, comm_);
  return std::move(words_);
}

}  // namespace unisono::runtime
