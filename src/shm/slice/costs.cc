// SPDX-License-Identifier: BSD-3-Clause
#include "shm/slice/costs.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/short_copy.h"

namespace unisono::shm {
namespace {

constexpr std::array<std::string_view, 16> names = {
    "put",           "get",     "pipeline", "pair_sync", "group_sync",  "group_seg_put",
    "group_seg_get", "signal",  "await",    "copy",      "copy_by_all", "combine",
    "single_copy",   "barrier", "bcast",    "allreduce"};

constexpr double no_part = -1;
constexpr int lead_in = 2;
// Programs do not send one and the same buffer again and again: own memory is gone through in turn.
constexpr std::size_t own_memory_bytes = 128 << 10;

// What two looks at the clock take.
double clock_cost_s() {
  static const double cost_s = [] {
    double least = 1;
    for (int i = 0; i < 1000; ++i) {
      const double start = now_s();
      least = std::min(least, now_s() - start);
    }
    return least;
  }();
  return cost_s;
}

// A sum of times, each taken by itself.
class Stopwatch {
 public:
  void start() { start_s_ = now_s(); }
  void stop() {
    sum_s_ += std::max(0.0, now_s() - start_s_ - clock_cost_s());
    ++count_;
  }
  void forget() { sum_s_ = count_ = 0; }
  double mean_s() const { return count_ == 0 ? no_part : sum_s_ / count_; }

 private:
  double start_s_ = 0, sum_s_ = 0;
  double count_ = 0;
};

class OwnMemory {
 public:
  explicit OwnMemory(std::size_t bytes)
      : stride_((bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes),
        count_(std::max<std::size_t>(1, stride_ == 0 ? 1 : own_memory_bytes / stride_)),
        data_(count_ * stride_ + cache_line_bytes, 1) {}
  char* next() { return data_.data() + stride_ * (number_++ % count_); }

 private:
  std::size_t stride_, count_;
  std::vector<char> data_;
  std::size_t number_ = 0;
};

template <class Ready>
void wait_until(const Slice& slice, Ready is_ready) {
  Backoff backoff(slice.wait_config());
  while (!is_ready()) backoff.step();
}

class Measuring {
 public:
  Measuring(Slice& slice, const Measurement& measurement)
      : slice_(slice), m_(measurement), rank_(slice.local_rank()), own_(measurement.bytes) {}

  double run() {
    switch (m_.what) {
      case Measured::put:
      case Measured::get:
      case Measured::pipeline:
        return transfer();
      case Measured::group_seg_put:
      case Measured::group_seg_get:
        return segments();
      case Measured::pair_sync:
        return pair_sync();
      case Measured::group_sync:
        return group_sync();
      case Measured::signal:
      case Measured::await:
        return flags();
      case Measured::copy:
      case Measured::copy_by_all:
      case Measured::combine:
        return own_work();
      case Measured::single_copy:
        return single_copy();
      case Measured::barrier:
      case Measured::bcast:
      case Measured::allreduce:
        return fused();
    }
    return no_part;
  }

 private:
  // Slots that stand side by side, as long as a piece needs. False: they do not fit.
  bool plan(Slice::Use* use, bool is_common, int lanes) const {
    *use = slice_.plan(channel, is_common, m_.buffers, 1);
    const std::size_t needed = (m_.bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes +
                               static_cast<std::size_t>(lanes - 1) * cache_line_bytes;
    if (needed > use->slot_bytes) return false;
    use->slot_bytes = use->lane_bytes = std::max(needed, cache_line_bytes);
    return true;
  }
  // Slots as programs have them that make many calls: short pieces go through all of one's memory.
  bool plan_spread(Slice::Use* use) {
    *use = slice_.plan(channel, false, m_.buffers, 1);
    if (m_.bytes > use->lane_bytes) return false;
    Slice::Use skipped = *use;
    const auto for_a_turn = static_cast<std::int64_t>(Slice::bytes_for_a_new_byte(use->lane_bytes));
    slice_.begin(&skipped, for_a_turn * (use->buffers + 1), 1);
    slice_.end(skipped);
    slice_.spread(use, m_.bytes);
    return true;
  }
  int pieces() const { return lead_in + m_.repetitions; }

  // Local rank 0 writes each piece once, all others read it (table 2.2, row 1).
  double transfer() {
    Slice::Use use;
    // Through how many buffers of which length a pipeline goes is what is asked about it.
    if (!(m_.what == Measured::pipeline ? plan(&use, false, 1) : plan_spread(&use))) return no_part;
    slice_.begin(&use, pieces(), 1);
    Stopwatch copies;
    double start_s = now_s();
    for (int piece = 0; piece < pieces(); ++piece) {
      if (piece == lead_in) {
        copies.forget();
        start_s = now_s();
      }
      const std::uint64_t done = use.base_tick + static_cast<std::uint64_t>(piece) + 1;
      char* slot = slice_.slot(use, piece, 0, 0);
      if (rank_ == 0) {
        // By themselves put and get take turns; copies that go on at the same time slow each other.
        const std::uint64_t space =
            m_.what == Measured::pipeline ? Slice::space_tick(use, piece) : std::max(done - 1, use.base_tick);
        wait_until(slice_, [&] { return slice_.all_reached(channel, space); });
        copies.start();
        slice_.put(slot, own_.next(), m_.bytes, 0);
        copies.stop();
      } else {
        wait_until(slice_, [&] { return slice_.flag(channel, 0) >= done; });
        copies.start();
        slice_.get(own_.next(), slot, m_.bytes, 0);
        copies.stop();
      }
      slice_.set_flag(channel, done);
    }
    // The last reader's end is everybody's.
    const std::uint64_t end = use.base_tick + static_cast<std::uint64_t>(pieces());
    wait_until(slice_, [&] { return slice_.all_reached(channel, end); });
    const double whole_s = (now_s() - start_s) / m_.repetitions;
    slice_.end(use);
    if (m_.what == Measured::pipeline) return whole_s;
    return (rank_ == 0) == (m_.what == Measured::put) ? copies.mean_s() : no_part;
  }

  // Everyone's part of one slot, written, then read (table 2.2, scatter and gather).
  double segments() {
    const auto count = static_cast<std::size_t>(slice_.local_size());
    const std::size_t part = m_.bytes / count / cache_line_bytes * cache_line_bytes;
    Slice::Use use;
    if (part == 0 || !plan(&use, true, slice_.local_size())) return no_part;
    slice_.begin(&use, pieces(), 2);
    Stopwatch puts, gets;
    for (int piece = 0; piece < pieces(); ++piece) {
      if (piece == lead_in) {
        puts.forget();
        gets.forget();
      }
      const std::uint64_t before = use.base_tick + 2 * static_cast<std::uint64_t>(piece);
      char* slot = slice_.slot(use, piece, 0, 0);
      const std::uint64_t space = Slice::space_tick(use, piece);
      wait_until(slice_, [&] { return slice_.all_reached(channel, space); });
      puts.start();
      slice_.put(slot + static_cast<std::size_t>(rank_) * part, own_.next(), part, Slice::nobody);
      puts.stop();
      slice_.set_flag(channel, before + 1);
      wait_until(slice_, [&] { return slice_.all_reached(channel, before + 1); });
      // What the neighbour has written.
      const std::size_t from = (static_cast<std::size_t>(rank_) + 1) % count;
      gets.start();
      slice_.get(own_.next(), slot + from * part, part, Slice::nobody);
      gets.stop();
      slice_.set_flag(channel, before + 2);
    }
    slice_.end(use);
    return (m_.what == Measured::group_seg_put ? puts : gets).mean_s();
  }

  double pair_sync() {
    if (slice_.local_size() < 2) return no_part;
    Slice::Use use = slice_.plan(channel, false, 1, 1);
    slice_.begin(&use, pieces(), 1);
    double start_s = now_s();
    for (int piece = 0; piece < pieces(); ++piece) {
      if (piece == lead_in) start_s = now_s();
      const std::uint64_t tick = use.base_tick + static_cast<std::uint64_t>(piece) + 1;
      if (rank_ == 0) slice_.set_flag(channel, tick);
      if (rank_ < 2) wait_until(slice_, [&] { return slice_.flag(channel, 1 - rank_) >= tick; });
      if (rank_ == 1) slice_.set_flag(channel, tick);
    }
    const double half_s = (now_s() - start_s) / m_.repetitions / 2;
    slice_.end(use);
    return rank_ == 0 ? half_s : no_part;
  }

  double group_sync() {
    Slice::Use use = slice_.plan(channel, false, 1, 1);
    slice_.begin(&use, pieces(), 1);
    double start_s = now_s();
    for (int piece = 0; piece < pieces(); ++piece) {
      if (piece == lead_in) start_s = now_s();
      const std::uint64_t tick = use.base_tick + static_cast<std::uint64_t>(piece) + 1;
      slice_.set_flag(channel, tick);
      wait_until(slice_, [&] { return slice_.all_reached(channel, tick); });
    }
    const double mean_s = (now_s() - start_s) / m_.repetitions;
    slice_.end(use);
    return mean_s;
  }

  // The own flag up and up again; or a look at one that is up. Nobody waits meanwhile.
  double flags() {
    Slice::Use use = slice_.plan(channel, false, 1, 1);
    slice_.begin(&use, pieces(), 1);
    double mean_s = no_part;
    if (rank_ == 0) {
      const double start_s = now_s();
      for (int i = 0; i < m_.repetitions; ++i) {
        if (m_.what == Measured::signal) {
          slice_.set_flag(channel, use.base_tick + static_cast<std::uint64_t>(i) + 1);
        } else {
          wait_until(slice_, [&] { return slice_.flag(channel, 0) >= use.base_tick; });
        }
      }
      mean_s = std::max(0.0, now_s() - start_s - clock_cost_s()) / m_.repetitions;
    }
    slice_.end(use);
    slice_.barrier();
    return mean_s;
  }

  double own_work() {
    slice_.barrier();
    Stopwatch work;
    if (rank_ == 0 || m_.what == Measured::copy_by_all) {
      OwnMemory others(m_.bytes);
      const Kernel add = reduce_kernel(ReduceOp::sum, ElementType::float64);
      for (int i = 0; i < pieces(); ++i) {
        if (i == lead_in) work.forget();
        char* into = own_.next();
        const char* from = others.next();
        work.start();
        if (m_.what == Measured::combine) {
          add(into, into, from, m_.bytes / sizeof(double));
        } else {
          copy_bytes(into, from, m_.bytes);
        }
        // The compiler may not find out that nobody looks at the copy.
        asm volatile("" : : "r"(into) : "memory");
        work.stop();
      }
    }
    slice_.barrier();
    return work.mean_s();
  }

  double single_copy() {
    Slice::Use use = slice_.plan(channel, false, 2, 1);
    slice_.begin(&use, 1, 1);
    if (rank_ == 0) slice_.expose(use, 0, {reinterpret_cast<std::uint64_t>(own_.next()), 0});
    slice_.barrier();
    Stopwatch reads;
    bool is_permitted = true;
    if (rank_ == 1) {
      const Exposure exposure = slice_.exposed(use, 0, 0);
      for (int i = 0; i < pieces() && is_permitted; ++i) {
        if (i == lead_in) reads.forget();
        char* into = own_.next();
        reads.start();
        is_permitted = slice_.read_remote(0, exposure.input, into, m_.bytes);
        reads.stop();
      }
    }
    slice_.end(use);
    slice_.barrier();
    return is_permitted ? reads.mean_s() : no_part;
  }

  double fused() {
    if (m_.bytes > slice_.fused_max_bytes()) return no_part;
    std::vector<double> from(m_.bytes / sizeof(double) + 1, 1.0), into(from.size());
    const Combine sum = {.element_bytes = sizeof(double),
                         .kernel = reduce_kernel(ReduceOp::sum, ElementType::float64)};
    double start_s = now_s();
    for (int i = 0; i < pieces(); ++i) {
      if (i == lead_in) start_s = now_s();
      if (m_.what == Measured::barrier) slice_.barrier();
      if (m_.what == Measured::bcast) slice_.bcast(from.data(), m_.bytes, 0);
      if (m_.what == Measured::allreduce) {
        slice_.allreduce(into.data(), from.data(), m_.bytes / sizeof(double), sum);
      }
    }
    const double mean_s = (now_s() - start_s) / m_.repetitions;
    slice_.barrier();
    return mean_s;
  }

  static constexpr int channel = 0;
  Slice& slice_;
  const Measurement& m_;
  int rank_;
  OwnMemory own_;
};

}  // namespace

std::string_view name(Measured what) {
  return names[static_cast<std::size_t>(what)];
}

std::optional<Measured> measured_from_name(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Measured>(found - names.begin());
}

double measure(Slice& slice, const Measurement& measurement) {
  if (measurement.repetitions < 1 || measurement.buffers < 1) return no_part;
  return Measuring(slice, measurement).run();
}

}  // namespace unisono::shm
