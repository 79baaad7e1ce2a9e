// SPDX-License-Identifier: BSD-3-Clause
// Where calls are counted: each thread has tables of its own, so that nothing is shared and nothing locked.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ticks.h"
#include "runtime/reports/job_profile.h"
#include "tuning/decisions/size_class.h"

namespace unisono::adapter::profile {

using runtime::Distance;

// A number that one thread changes, and any may read.
class Count {
 public:
  void add(std::uint64_t more) { value_.store(get() + more, std::memory_order_relaxed); }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Calls of one function, size class and distance.
struct Cell {
  Count calls, bytes, ticks;
};
using Row = Cell[tuning::size_class_count];

// Which calls of a function are timed, by the number of their elements: all, until they are known to be
// short. Of short ones one in so many, at random, which then stands for those before it.
struct Sampler {
  std::uint32_t left = 0;  // calls until the next one that is timed
  std::uint32_t stands_for = 1;
  std::uint32_t all_for = 0;  // so many more calls are timed each, since one took long
  bool has_skipped = false;
  std::uint64_t ended = 0;             // when the last call that was timed did
  std::uint64_t calls = 0, ticks = 0;  // of those timed and of those they stand for
};

// Takes in a call that was timed, and plans which one is the next. Gives back its ticks and those of the
// calls that it stands for; `random` is any number.
std::uint64_t take_in(Sampler* sampler, std::uint64_t started, std::uint64_t ended, std::uint32_t random);

// What one call moves.
struct Movement {
  std::int64_t bytes = 0;
  Distance distance = Distance::none;
};

struct Partners;

// What was found out of a handle, until one of its kind is freed.
template <class Value>
struct Remembered {
  std::uintptr_t handle = 0;
  unsigned generation = 0;  // 0: nothing is remembered
  Value value{};
};

class ThreadTable {
 public:
  explicit ThreadTable(std::size_t functions)
      : rows_(functions * runtime::distance_count), samplers_(functions) {}

  Cell& cell(std::size_t function, Distance distance, std::int64_t bytes) {
    std::atomic<Row*>& row = rows_[function * runtime::distance_count + static_cast<std::size_t>(distance)];
    Row* cells = row.load(std::memory_order_relaxed);
    if (cells == nullptr) cells = make(&row);
    return (*cells)[tuning::size_class(bytes)];
  }
  Sampler& sampler(std::size_t function, int size_class) {
    std::unique_ptr<Sampler[]>& samplers = samplers_[function];
    if (samplers == nullptr) samplers = std::make_unique<Sampler[]>(tuning::size_class_count);
    return samplers[static_cast<std::size_t>(size_class)];
  }
  bool is_estimated(std::size_t function) const;
  // Null where the thread has not called the function.
  const Row* row(std::size_t function, Distance distance) const {
    return rows_[function * runtime::distance_count + static_cast<std::size_t>(distance)].load(
        std::memory_order_acquire);
  }
  std::uint32_t random() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    random_ ^= random_ << 5;
    return random_;
  }

  bool is_inside = false;  // of a call that is counted
  Remembered<const Partners*> communicators[4], windows[2];
  Remembered<std::int64_t> type_bytes[8];
  Remembered<Movement> requests[4];
  ThreadTable* next = nullptr;  // of all tables

 private:
  Row* make(std::atomic<Row*>* row);

  std::vector<std::atomic<Row*>> rows_;  // by function and distance; never freed
  std::vector<std::unique_ptr<Sampler[]>> samplers_;
  std::uint32_t random_ = 2463534242;
};

}  // namespace unisono::adapter::profile
