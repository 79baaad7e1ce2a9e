// SPDX-License-Identifier: BSD-3-Clause
// What each recorded function needs: is it recorded now, and what are its arguments?
#pragma once

#include "adapter/below/nesting.h"
#include "adapter/recording/event_recorder.h"
#include "adapter/recording/recorded_calls.h"

namespace unisono::adapter::recording {

// The recorder, held; it is null where the call is not recorded.
class Recording {
 public:
  Recording() : recorder_(nesting == 0 ? recorder.load(std::memory_order_acquire) : nullptr) {
    if (recorder_ != nullptr) recorder_->lock();
  }
  ~Recording() { release(); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  void release() {
    if (recorder_ != nullptr) recorder_->unlock();
    recorder_ = nullptr;
  }
  explicit operator bool() const { return recorder_ != nullptr; }
  Recorder* operator->() const { return recorder_; }
  Recorder* get() const { return recorder_; }

 private:
  Recorder* recorder_;
};

inline bool is_recorded() {
  return nesting == 0 && recorder.load(std::memory_order_relaxed) != nullptr;
}

// Handles are never 0 but where they are null ones, which no request is.
inline std::uint64_t bits_of(MPI_Request request) {
  return widen<std::uint64_t>(request);
}

// False: nothing to be recorded.
template <class Count>
bool describe(const Recording& recording, Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              Recorder::Message* message) {
  if (peer == MPI_PROC_NULL) return false;
  const Known* known = recording->known(comm);
  if (known == nullptr || peer >= static_cast<int>(known->world_rank.size())) return false;
  *message = {known, peer == MPI_ANY_SOURCE ? -1 : peer, tag == MPI_ANY_TAG ? -1 : tag,
              static_cast<std::uint64_t>(count) * recording->type_bytes(type)};
  return true;
}

}  // namespace unisono::adapter::recording
