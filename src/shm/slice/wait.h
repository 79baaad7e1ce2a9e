// SPDX-License-Identifier: BSD-3-Clause
// How a rank waits for another one of its node (A3, section 2.5.1). Every wait makes the host MPI progress:
// without that, correct programs hang (rank 0: Isend of 8 MiB, then Barrier; rank 1: Recv, then Barrier).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

namespace unisono::shm {

enum class WaitPolicy : std::uint8_t { spin, pause, yield, futex, sleep };
// Is the policy one for ranks that share cores?
constexpr bool gives_core_away(WaitPolicy policy) {
  return policy == WaitPolicy::yield || policy == WaitPolicy::futex || policy == WaitPolicy::sleep;
}
// Do waits of this policy sleep, so that whoever stores what they wait for has to ring?
constexpr bool is_rung(WaitPolicy policy) {
  return policy == WaitPolicy::futex || policy == WaitPolicy::sleep;
}
std::string_view name(WaitPolicy policy);
std::optional<WaitPolicy> wait_policy_from_name(std::string_view name);

// What a wait calls about every few microseconds; must not block. `argument` is passed through.
struct ProgressHook {
  void (*call)(void* argument) = nullptr;
  void* argument = nullptr;
};

// What a wait calls that has lasted some hundred milliseconds, and again and again from then on: do those
// live for whom it may wait? Where one does not it throws, and the wait is over.
struct PeerWatch {
  void (*call)(void* argument) = nullptr;
  void* argument = nullptr;
};

// Where the sleepers of the policies futex and sleep wait, in memory that the node's ranks share. Zero-filled
// is its initial state.
struct alignas(64) Doorbell {
  std::atomic<std::uint32_t> sleepers;
  std::atomic<std::uint32_t> rings;
};
// Of a doorbell's sleepers some can be called: a rank's bit among 32, which larger nodes' ranks share.
using Sleepers = std::uint32_t;
inline constexpr Sleepers all_sleepers = ~Sleepers{0};
constexpr Sleepers sleeper(int local_rank) {
  return Sleepers{1} << (local_rank % 32);
}
// Wakes whoever sleeps, of those who are meant; call it after storing what they may wait for.
void ring(Doorbell* doorbell, Sleepers whom = all_sleepers);

// One that sleeps there for long, announced as long as this lives: `Sleeper sleeper(&bell); if (!ready())
// sleeper.sleep(longest_ns);`.
class Sleeper {
 public:
  explicit Sleeper(Doorbell* doorbell);
  ~Sleeper();
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  // Until it rings, or rang since this began; so long at most.
  void sleep(std::uint64_t longest_ns) const;

 private:
  Doorbell* doorbell_;
  std::uint32_t token_;
};

struct WaitConfig {
  WaitPolicy policy = WaitPolicy::pause;
  ProgressHook progress{};
  PeerWatch peers{};
  Doorbell* doorbell = nullptr;  // policies futex and sleep sleep here; a slice sets it to its own
  Sleepers own = all_sleepers;   // by which of its rings this rank is meant
};

// How much of this thread's time went into waits of more than some microseconds, since it began. Small calls
// are too short for two looks at the clock, but one for which a rank came late is not.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit std::uint64_t long_waits_ns;

// One wait: `Backoff backoff(config); while (!ready()) backoff.step();`. With the policies spin and pause the
// first steps cost nothing but a pause. Then the clock is looked at, and progress is made after about 2 us
// and then every few us. Policy yield gives the core away at every step and makes progress every few steps.
// Policy futex sleeps briefly once a wait is long; its sleeps are bounded, so that progress goes on. Where a
// sleep has ended by itself the host is asked as long as it has something to do. What the program has begun
// may need many answers of this rank: passive targets, synchronous sends.
// Policy sleep yields for longer, and then sleeps at once in all waits of some time. It is for ranks that the
// kernel schedules in groups of their own: who yields gives the core to its own group alone, which is itself.
class Backoff {
 public:
  explicit Backoff(const WaitConfig& config) : config_(config) {}
  ~Backoff() {
    if (is_long_) long_waits_ns += waited_ns();
    if (is_announced_) leave();
  }
  Backoff(const Backoff&) = delete;
  Backoff& operator=(const Backoff&) = delete;
  void step();
  // Where what it waits for next does not ring: gives the core away, and does not sleep.
  void step_awake();

 private:
  void look_at_clock();
  bool gives_way();
  void give_core_away();
  void yield_or_announce();
  void announce();
  void sleep_for_a_ring();
  bool makes_host_move() const;
  std::uint64_t first_sleep_ns() const;
  void make_progress() const {
    if (config_.progress.call != nullptr) config_.progress.call(config_.progress.argument);
  }
  void look_at_peers(std::uint64_t now);
  void leave();
  std::uint64_t waited_ns() const;

  const WaitConfig& config_;
  std::uint32_t steps_ = 0;
  std::uint32_t token_ = 0;  // the doorbell's count before the caller last looked whether it is ready
  bool is_announced_ = false;
  bool is_long_ = false;
  std::uint64_t started_ns_ = 0;
  std::uint64_t next_progress_ns_ = 0;
  std::uint64_t sleep_ns_ = 0;
  std::uint64_t next_look_at_peers_ns_ = 0;
};

// Tells the core that this is a waiting loop.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace unisono::shm
