// SPDX-License-Identifier: BSD-3-Clause
#include "agents/small_allgather.h"

#include <cstring>

namespace unisono::agents {

int SmallAllgather::begin(const Circle& circle, const void* in, void* out, std::size_t bytes) {
  host_ = circle.host;
  under_way_.clear();
  char* to = static_cast<char*>(out);
  const int size = static_cast<int>(circle.ranks.size());
  std::memmove(to + static_cast<std::size_t>(circle.own) * bytes, in, bytes);
  // Each begins with its neighbour, so that not all send to one first.
  for (int distance = 1; distance < size; ++distance) {
    const int from = (circle.own + size - distance) % size;
    under_way_.emplace_back();
    const int error = host_->irecv(to + static_cast<std::size_t>(from) * bytes, bytes,
                                   circle.ranks[static_cast<std::size_t>(from)], circle.tag, circle.comm,
                                   &under_way_.back());
    if (error != host::success) return error;
  }
  for (int distance = 1; distance < size; ++distance) {
    const int next = (circle.own + distance) % size;
    under_way_.emplace_back();
    const int error = host_->isend(in, bytes, circle.ranks[static_cast<std::size_t>(next)], circle.tag,
                                   circle.comm, &under_way_.back());
    if (error != host::success) return error;
  }
  return host::success;
}

bool SmallAllgather::test(int* error) {
  *error = host::success;
  if (under_way_.empty()) return true;
  int count = 0;
  completed_.resize(under_way_.size());
  *error =
      host_->test_some(static_cast<int>(under_way_.size()), under_way_.data(), &count, completed_.data());
  if (*error != host::success) return true;
  std::vector<bool> is_over(under_way_.size());
  for (int i = 0; i < count; ++i)
    is_over[static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)])] = true;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < under_way_.size(); ++i) {
    if (!is_over[i]) under_way_[kept++] = under_way_[i];
  }
  under_way_.resize(kept);
  return under_way_.empty();
}

}  // namespace unisono::agents
