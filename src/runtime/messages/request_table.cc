// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/messages/request_table.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace unisono::runtime {
namespace {

constexpr std::size_t least_places = 1024;

}  // namespace

RequestTable::RequestTable(std::size_t most) {
  for (most_ = most; most_ >= least_places; most_ /= 16) {
    void* area = mmap(nullptr, most_ * place_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) continue;
    begin_ = reinterpret_cast<std::uintptr_t>(area);
    return;
  }
  most_ = 0;
}

RequestTable::~RequestTable() {
  for (std::size_t number = 0; number < made_; ++number) at(number)->~MessageRequest();
  if (most_ != 0) munmap(reinterpret_cast<void*>(begin_), most_ * place_bytes);
}

MessageRequest* RequestTable::take() {
  if (!free_.empty()) {
    MessageRequest* request = free_.back();
    free_.pop_back();
    request->is_free = false;
    return request;
  }
  if (made_ == most_) return nullptr;
  MessageRequest* place = at(made_++);
  if (!front_.empty())
    std::memcpy(reinterpret_cast<std::byte*>(place) - front_bytes, front_.data(), front_.size());
  return new (place) MessageRequest;
}

void RequestTable::give(MessageRequest* request) {
  if (request->is_free) return;
  request->is_free = true;
  if (request->callers.holds_something()) request->callers = {};
  request->is_abandoned = false;
  request->callers.form = CallersPart::Form::once;
  free_.push_back(request);
}

}  // namespace unisono::runtime
