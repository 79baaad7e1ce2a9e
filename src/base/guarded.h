// SPDX-License-Identifier: BSD-3-Clause
// A value that several threads use: whoever wants it holds its lock.
#pragma once

#include <mutex>
#include <utility>

namespace unisono {

template <class T>
class Guarded {
 public:
  // The value, for as long as this lives.
  class Access {
   public:
    explicit Access(Guarded& of) : lock_(of.mutex_), value_(of.value_) {}
    T* operator->() const { return &value_; }
    T& operator*() const { return value_; }

   private:
    std::unique_lock<std::mutex> lock_;
    T& value_;
  };

  Guarded() = default;
  explicit Guarded(T value) : value_(std::move(value)) {}
  Access lock() { return Access(*this); }

 private:
  std::mutex mutex_;
  T value_{};
};

}  // namespace unisono
