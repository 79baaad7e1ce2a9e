// SPDX-License-Identifier: BSD-3-Clause
// What a rank has recorded, as it goes into the file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "adapter/recording/event_recorder.h"

namespace unisono::adapter::recording {

using runtime::EventKind;
using runtime::RecordedEvent;

// Events of the program's calls and those of Unisono's queues, in the order of time. Numbers of the latter's
// receives become odd, others even.
class AllEvents {
 public:
  explicit AllEvents(const Recorder& recorder) : recorder_(recorder), calls_(recorder.events) {
    if (recorder.of_queues != nullptr) queues_.emplace(*recorder.of_queues);
    // Calls note their beginning when they are over, and threads come as they will.
    if (!recorder.events.is_in_order()) {
      sorted_.reserve(recorder.events.count());
      for (RecordedEvent event; calls_.next(&event);) sorted_.push_back(event);
      std::ranges::stable_sort(sorted_, {}, &RecordedEvent::ticks);
    }
    has_call_ = take_call();
    has_seen_ = take_seen();
  }
  // False: there is none any more.
  bool next(RecordedEvent* event) {
    if (!has_call_ && !has_seen_) return false;
    if (has_call_ && (!has_seen_ || call_.ticks <= seen_.ticks)) {
      *event = call_;
      has_call_ = take_call();
    } else {
      *event = seen_;
      has_seen_ = take_seen();
    }
    return true;
  }

 private:
  bool take_call() {
    if (recorder_.events.is_in_order()) {
      if (!calls_.next(&call_)) return false;
    } else {
      if (at_ == sorted_.size()) return false;
      call_ = sorted_[at_++];
    }
    if (queues_ && call_.kind != EventKind::sample) call_.number *= 2;
    return true;
  }
  bool take_seen() {
    if (!queues_ || !queues_->next(&seen_)) return false;
    seen_.number = 2 * seen_.number + 1;
    // As all ranks know them: the queues know a rank and a communicator by numbers of their own.
    const Known* known = recorder_.with_queues(seen_.place.context);
    if (known == nullptr) return true;
    seen_.place.context = known->context;
    if (seen_.place.peer >= 0)
      seen_.place.peer = known->world_rank[static_cast<std::size_t>(seen_.place.peer)];
    return true;
  }

  const Recorder& recorder_;
  runtime::EventReader calls_;
  std::optional<runtime::EventReader> queues_;
  std::vector<RecordedEvent> sorted_;
  std::size_t at_ = 0;
  RecordedEvent call_, seen_;
  bool has_call_ = false, has_seen_ = false;
};

}  // namespace unisono::adapter::recording
