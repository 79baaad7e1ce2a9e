// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/messages/request_table.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

#include "base/pages.h"

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

// Where nothing was, or where memory was given back.
void RequestTable::make(MessageRequest* place) {
  if (!front_.empty())
    std::memcpy(reinterpret_cast<std::byte*>(place) - front_bytes, front_.data(), front_.size());
  new (place) MessageRequest;
  constexpr std::size_t one_in_live = 64;
  if (++made_since_ > most_kept) enough_free_ = made_ - made_since_ / one_in_live;
}

MessageRequest* RequestTable::take() {
  MessageRequest* request = nullptr;
  if (!free_.empty()) {
    request = free_.back();
    free_.pop_back();
    if (request->place == MessageRequest::Place::blank) [[unlikely]]
      make(request);
  } else {
    if (made_ == most_) return nullptr;
    request = at(made_++);
    make(request);
  }
  request->place = MessageRequest::Place::taken;
  return request;
}

void RequestTable::give(MessageRequest* request) {
  if (!request->is_taken()) return;
  request->place = MessageRequest::Place::free;
  if (request->callers.holds_something()) request->callers = {};
  request->is_abandoned = false;
  request->callers.form = CallersPart::Form::once;
  free_.push_back(request);
  if (free_.size() >= enough_free_) [[unlikely]]
    give_memory_back();
}

// All behind the first ones that are kept. Those are taken first from now on.
void RequestTable::give_memory_back() {
  made_since_ = 0;
  enough_free_ = SIZE_MAX;
  free_.clear();
  std::size_t end = made_;
  for (std::size_t number = made_; number-- > 0;) {
    const bool is_taken = at(number)->is_taken();
    if (!is_taken) free_.push_back(at(number));
    if (number < most_kept || (!is_taken && number != most_kept)) continue;
    blank(is_taken ? number + 1 : number, end);
    end = number;
  }
}

// Zeros are a blank place. Pages that others have a part of keep their memory.
void RequestTable::blank(std::size_t first, std::size_t end) {
  const std::uintptr_t from = begin_ + up_to_whole_pages(first * place_bytes);
  const std::uintptr_t to = begin_ + end * place_bytes / page_bytes * page_bytes;
  if (first >= end || from >= to) return;
  for (std::size_t number = first; number < end; ++number) at(number)->place = MessageRequest::Place::blank;
  madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

}  // namespace unisono::runtime
