// SPDX-License-Identifier: BSD-3-Clause
// A recorded call, evaluated again and again on cores with noise: some nanoseconds a piece of work.
//
// It is what the events would come to where the program fixes the order of work on each core. Where a rank
// takes messages as they arrive, the replay takes them in the order of the quiet call: what comes late holds
// up what would have been taken meanwhile.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/noise.h"
#include "model/virtual_recorder.h"

namespace unisono::model {

class Replay {
 public:
  // Slow cores' work takes longer from here on.
  Replay(const Recording& recording, const Cores& cores);

  // One call: ranks begin at `begins`, and are done at `ends` (by index).
  void run(std::span<const double> begins, Cores* cores, std::span<double> ends);
  std::int64_t works() const { return static_cast<std::int64_t>(works_.size()); }

 private:
  struct Work {
    std::int32_t core;      // below 0: the later one of `after` and work -2 - core
    std::int32_t after;     // -1: nothing but the core
    std::uint32_t figures;  // of figures_
  };
  struct Figures {
    double after_us;  // that `after` is ended before
    double us;        // the work; without a core, what is added to the other one
    bool operator==(const Figures&) const = default;
  };
  struct FiguresHash {
    std::size_t operator()(const Figures& figures) const;
  };

  std::vector<Work> works_;
  std::vector<Figures> figures_;
  std::vector<TimeRef> ends_;
  std::vector<double> done_us_;  // by work
  std::vector<double> core_us_;  // by core
};

}  // namespace unisono::model
