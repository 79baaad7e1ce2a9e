// SPDX-License-Identifier: BSD-3-Clause
// A value that several threads use: whoever wants it holds its lock.
#pragma once

#include <utility>

#include "base/mutex.h"

namespace unisono {

template <class T>
class Guarded {
 public:
  // The value, for as long as this lives.
  class Access {
   public:
    // Who has one holds the mutex: only so is the value to be had.
    explicit Access(Guarded& of) UNISONO_NOT_CHECKED : lock_(of.mutex_), value_(of.value_) {}
    T* operator->() const { return &value_; }
    T& operator*() const { return value_; }

   private:
    UniqueLock lock_;
    T& value_;
  };

  Guarded() = default;
  explicit Guarded(T value) : value_(std::move(value)) {}
  Access lock() { return Access(*this); }

 private:
  Mutex mutex_;
  T value_ UNISONO_GUARDED_BY(mutex_){};
};

}  // namespace unisono
