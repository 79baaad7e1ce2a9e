// SPDX-License-Identifier: BSD-3-Clause
// What takes a core away from a rank for a while: daemons, interrupts, other programs (N7). And cores that
// are slower than others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unisono::model {

// How long detours take. They come at random (exponential gaps), but for the last two.
enum class NoiseKind : std::uint8_t {
  fixed,        // all alike
  uniform,      // from 0 to twice the mean
  exponential,  // many short ones, few long ones
  lognormal,    // `shape` is the standard deviation of the logarithm
  periodic,  // at equal intervals, from a random phase of each core; `shape`: how far from the mean, at most
  recorded   // as measured on a machine; each core begins at another point of the recording
};
std::string_view name(NoiseKind kind);

// What a benchmark of a fixed quantum of work has found on one core.
struct NoiseRecording {
  double length_us = 0;
  std::vector<double> begins_us;  // of detours, ascending
  std::vector<double> us;         // how long each was
  bool operator==(const NoiseRecording&) const = default;
};

struct NoiseSource {
  NoiseKind kind = NoiseKind::fixed;
  double rate_hz = 0;  // detours a second, of a core
  double mean_us = 0;
  double shape = 0;
  // Of the detours those that meet a host which leaves the work to its agent, and waits: the others find
  // another core, or do not matter to it.
  double waiting_share = 1;
  NoiseRecording recording = {};
  bool operator==(const NoiseSource&) const = default;
};

// "uniform(rate=16,mean=115)", "lognormal(rate=100,mean=5,shape=1)", "periodic(rate=16,mean=115,share=0.01)".
struct ReadNoise {
  std::optional<NoiseSource> source;
  std::string problem;
};
ReadNoise noise_from_text(std::string_view text);
std::string to_text(const NoiseSource& source);

// The cores of a run, each with its own detours, which follow from the seed. Time goes on: a core is asked
// for work that begins no sooner than the last work ended.
class Cores {
 public:
  // `is_waiting`: those of hosts that only wait, which waiting_share of the detours meet.
  Cores(std::vector<NoiseSource> sources, int count, std::uint64_t seed, bool is_waiting = false);
  // Every `1 / share`-th core or so, by the seed, takes `factor` times as long for its work.
  void slow_down(double share, double factor);

  // No detour meets this core: an agent's.
  void silence(int core);

  // When work that may begin at `begin_us` is done. What is done in an instant ends with a detour as well.
  double end(int core, double begin_us, double work_us) {
    const auto at = static_cast<std::size_t>(core);
    const double work = slowness_.empty() ? work_us : work_us * slowness_[at];
    return begin_us + work <= quiet_until_[at] ? begin_us + work : late_end(at, begin_us, work);
  }
  // For replays: work that has its slowness in it.
  double end_of_own_work(std::size_t core, double begin_us, double work_us) {
    return begin_us + work_us <= quiet_until_[core] ? begin_us + work_us : late_end(core, begin_us, work_us);
  }
  double slowness(int core) const {
    return slowness_.empty() ? 1 : slowness_[static_cast<std::size_t>(core)];
  }
  int count() const { return static_cast<int>(quiet_until_.size()); }

 private:
  struct Stream {
    double begins_us = 0, ends_us = 0;  // of the detour that comes next, or is under way
    std::uint64_t random = 0;
    double turn_us = 0;      // recorded: where its present turn of the recording began
    std::size_t number = 0;  // recorded: which detour
  };
  double late_end(std::size_t core, double begin_us, double work_us);
  void next(const NoiseSource& source, Stream* stream) const;
  void start(const NoiseSource& source, Stream* stream) const;
  Stream& stream_of(std::size_t core, std::size_t source) {
    return streams_[core * sources_.size() + source];
  }

  std::vector<NoiseSource> sources_;
  std::uint64_t seed_;
  bool is_waiting_;
  std::vector<Stream> streams_;      // core by core
  std::vector<double> quiet_until_;  // by core: the next detour's begin
  std::vector<double> slowness_;     // by core; empty: all alike
};

}  // namespace unisono::model
