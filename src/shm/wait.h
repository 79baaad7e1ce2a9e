// SPDX-License-Identifier: BSD-3-Clause
// How a rank waits for another one of its node (A3, section 2.5.1). Every wait makes the host MPI progress:
// without that, correct programs hang (rank 0: Isend of 8 MiB, then Barrier; rank 1: Recv, then Barrier).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace unisono::shm {

enum class WaitPolicy : std::uint8_t { spin, pause, yield, futex };
std::string_view name(WaitPolicy policy);
std::optional<WaitPolicy> wait_policy_from_name(std::string_view name);

// What a wait calls about every few microseconds; must not block. `argument` is passed through.
struct ProgressHook {
  void (*call)(void* argument) = nullptr;
  void* argument = nullptr;
};

struct WaitConfig {
  WaitPolicy policy = WaitPolicy::pause;
  ProgressHook progress;
};

// One wait: `Backoff backoff(config); while (!ready()) backoff.step();`. The first steps cost nothing but a
// pause (policy spin, pause), then time is looked at: progress after about 2 us, then every few us. yield
// gives the core away at every step and makes progress every few steps; futex sleeps briefly (bounded, so
// that progress goes on) once a wait is long.
class Backoff {
 public:
  explicit Backoff(const WaitConfig& config) : config_(config) {}
  void step();

 private:
  const WaitConfig& config_;
  std::uint32_t steps_ = 0;
  std::uint64_t next_progress_ns_ = 0;
};

}  // namespace unisono::shm
