// SPDX-License-Identifier: BSD-3-Clause
#include "shm/slice/wait.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>

#include "base/clock.h"

namespace unisono::shm {
namespace {

constexpr std::array<std::string_view, 5> policy_names = {"spin", "pause", "yield", "futex", "sleep"};

// A look at the clock (23 ns) and the host's progress (33-77 ns) must not be felt in short waits. So the
// clock is read every so many steps only, which is well below a microsecond in either policy.
constexpr std::uint32_t spins_per_look = 64;
constexpr std::uint32_t pauses_per_look = 16;
constexpr std::uint64_t first_progress_ns = 2'000;
constexpr std::uint64_t progress_interval_ns = 4'000;
// Spinning this long means that the other rank may not have a core at all, whatever the core count says.
constexpr std::uint64_t yield_after_ns = 50'000;
// Policy yield: progress at every eighth step. A step is one context switch (1.4 us) where others run, and
// 0.3 us where nobody does. Most waits end at the first step. Progress at the second step was felt by all,
// since the host may give the core away once more in it (Open MPI does). Each barrier then took two switches
// instead of one.
constexpr std::uint32_t yields_per_progress = 8;
// Policy futex: a wake costs 2.4 to 25 us, so only long waits sleep.
constexpr std::uint64_t sleep_after_ns = 50'000;
constexpr std::uint64_t shortest_sleep_ns = 50'000;
constexpr std::uint64_t longest_sleep_ns = 1'000'000;
// Policy sleep: a wait yields for so long. Where that has not helped the thread's waits sleep at once for a
// period. On a quiet machine 4 ranks on 2 cores hardly come to it (MPICH 5, an allreduce: 5.5 us; 61 asleep).
// Beside others' work, and with more ranks, yields would take slices of 3 ms.
constexpr std::uint64_t patience_ns = 2'000'000;
constexpr std::uint64_t shortest_period_ns = 20'000'000, longest_period_ns = 500'000'000;
// A sleep that ends by itself costs two switches and the looks at the host. With many ranks these are felt,
// so the first sleeps are as long as there are sleepers.
constexpr std::uint64_t sleep_per_sleeper_ns = 25'000;
// Looks at the host behind such a sleep, from the last one on in which it had something to do. Then a look
// takes longer than those in which it has not: 0.1 us as a rule.
constexpr int idle_looks = 16, most_looks = 1000;
constexpr std::uint64_t work_ns = 300;
// A look at the peers asks the kernel of each.
constexpr std::uint64_t first_look_at_peers_ns = 300'000'000;
constexpr std::uint64_t peers_interval_ns = 500'000'000;
// Policy yield reads no clock otherwise: at one step in so many, 0.3 us each at least.
constexpr std::uint32_t yields_per_look_at_clock = 256 * yields_per_progress;

timespec to_timespec(std::uint64_t ns) {
  constexpr std::uint64_t ns_of_second = 1'000'000'000;
  return {.tv_sec = static_cast<time_t>(ns / ns_of_second), .tv_nsec = static_cast<long>(ns % ns_of_second)};
}

// Until a ring that means `own`, for so long at most; not at all where it has rung since `token` was read.
// Did it ring?
bool sleep_on(Doorbell* doorbell, std::uint32_t token, std::uint64_t longest_ns, Sleepers own) {
  const timespec until = to_timespec(now_ns() + longest_ns);
  return syscall(SYS_futex, &doorbell->rings, FUTEX_WAIT_BITSET, token, &until, nullptr, own) == 0 ||
         errno != ETIMEDOUT;
}

// Policy sleep, of a thread: until when its waits sleep at once.
struct Sleepy {
  std::uint64_t until_ns = 0;
  std::uint64_t period_ns = 0;
  // A yield may not have helped, or somebody came late: then sleeping costs little. Where yields help no
  // better behind it the next period is longer.
  void lose_patience(std::uint64_t now) {
    const bool is_again = until_ns != 0 && now - until_ns < period_ns;
    period_ns = is_again ? std::min(2 * period_ns, longest_period_ns) : shortest_period_ns;
    until_ns = now + period_ns;
  }
};
[[gnu::tls_model("initial-exec")]] thread_local constinit Sleepy sleepy;

}  // namespace

thread_local constinit std::uint64_t long_waits_ns = 0;

std::string_view name(WaitPolicy policy) {
  return policy_names[static_cast<std::size_t>(policy)];
}

std::optional<WaitPolicy> wait_policy_from_name(std::string_view name) {
  const auto* found = std::find(policy_names.begin(), policy_names.end(), name);
  if (found == policy_names.end()) return std::nullopt;
  return static_cast<WaitPolicy>(found - policy_names.begin());
}

void ring(Doorbell* doorbell, Sleepers whom) {
  // Read-modify-writes on one word are totally ordered: either this one sees the sleeper, or the sleeper,
  // announcing itself later, sees what was stored before this one.
  if (doorbell->sleepers.fetch_add(0, std::memory_order_acq_rel) == 0) return;
  doorbell->rings.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &doorbell->rings, FUTEX_WAKE_BITSET, INT_MAX, nullptr, nullptr, whom);
}

Sleeper::Sleeper(Doorbell* doorbell) : doorbell_(doorbell) {
  doorbell_->sleepers.fetch_add(1, std::memory_order_acq_rel);
  token_ = doorbell_->rings.load(std::memory_order_acquire);
}

Sleeper::~Sleeper() {
  doorbell_->sleepers.fetch_sub(1, std::memory_order_acq_rel);
}

void Sleeper::sleep(std::uint64_t longest_ns) const {
  sleep_on(doorbell_, token_, longest_ns, all_sleepers);
}

void Backoff::step() {
  ++steps_;
  switch (config_.policy) {
    case WaitPolicy::spin:
      if (steps_ % spins_per_look == 0) look_at_clock();
      return;
    case WaitPolicy::pause:
      relax();
      if (steps_ % pauses_per_look == 0) look_at_clock();
      return;
    case WaitPolicy::yield:
      give_core_away();
      return;
    case WaitPolicy::futex:
      if (is_announced_) {
        sleep_for_a_ring();
      } else {
        give_core_away();
      }
      return;
    case WaitPolicy::sleep:
      if (is_announced_) {
        sleep_for_a_ring();
      } else if (config_.doorbell != nullptr) {
        yield_or_announce();
      } else {
        give_core_away();
      }
      return;
  }
}

void Backoff::step_awake() {
  if (!is_rung(config_.policy)) return step();
  ++steps_;
  gives_way();
  if (is_announced_) token_ = config_.doorbell->rings.load(std::memory_order_acquire);
}

void Backoff::look_at_clock() {
  const std::uint64_t now = now_ns();
  if (started_ns_ == 0) {
    started_ns_ = now;
    next_progress_ns_ = now + first_progress_ns;
  }
  if (now < next_progress_ns_) return;
  is_long_ = true;
  make_progress();
  if (now - started_ns_ > yield_after_ns) sched_yield();
  next_progress_ns_ = now + progress_interval_ns;
  look_at_peers(now);
}

void Backoff::look_at_peers(std::uint64_t now) {
  if (config_.peers.call == nullptr || now - started_ns_ < first_look_at_peers_ns) return;
  if (now < next_look_at_peers_ns_) return;
  next_look_at_peers_ns_ = now + peers_interval_ns;
  config_.peers.call(config_.peers.argument);
}

// With progress at some steps. Was this one of them?
bool Backoff::gives_way() {
  sched_yield();
  if (steps_ % yields_per_progress != 0) return false;
  is_long_ = true;
  if (started_ns_ == 0) started_ns_ = now_ns();
  make_progress();
  if (steps_ % yields_per_look_at_clock == 0) look_at_peers(now_ns());
  return true;
}

void Backoff::give_core_away() {
  if (!gives_way() || config_.policy != WaitPolicy::futex || config_.doorbell == nullptr) return;
  if (now_ns() - started_ns_ >= sleep_after_ns) announce();
}

// A single yield may take some milliseconds, so the clock is looked at behind each.
void Backoff::yield_or_announce() {
  if (started_ns_ == 0) started_ns_ = now_ns();
  bool has_patience = sleepy.until_ns == 0 || started_ns_ >= sleepy.until_ns;
  if (has_patience) {
    sched_yield();
    const std::uint64_t now = now_ns();
    has_patience = now - started_ns_ < patience_ns;
    if (!has_patience) sleepy.lose_patience(now);
  }
  if (has_patience && steps_ % yields_per_progress != 0) return;
  is_long_ = true;
  make_progress();
  if (!has_patience) announce();
}

// Asleep from the next step on: in between the caller looks once more.
void Backoff::announce() {
  config_.doorbell->sleepers.fetch_add(1, std::memory_order_acq_rel);
  is_announced_ = true;
  token_ = config_.doorbell->rings.load(std::memory_order_acquire);
  sleep_ns_ = first_sleep_ns();
}

std::uint64_t Backoff::first_sleep_ns() const {
  const std::uint64_t sleepers = config_.doorbell->sleepers.load(std::memory_order_relaxed);
  return std::clamp(sleepers * sleep_per_sleeper_ns, shortest_sleep_ns, longest_sleep_ns);
}

void Backoff::sleep_for_a_ring() {
  if (sleep_on(config_.doorbell, token_, sleep_ns_, config_.own)) {
    make_progress();
  } else {
    sleep_ns_ = makes_host_move() ? first_sleep_ns() : std::min(2 * sleep_ns_, longest_sleep_ns);
  }
  look_at_peers(now_ns());
  token_ = config_.doorbell->rings.load(std::memory_order_acquire);
}

// Did the host have something to do? The first look finds cold caches, and says nothing.
bool Backoff::makes_host_move() const {
  if (config_.progress.call == nullptr) return false;
  make_progress();
  bool has_moved = false;
  std::uint64_t least_ns = ~std::uint64_t{0};
  for (int looks = 0, all_looks = 0; looks < idle_looks && all_looks < most_looks; ++looks, ++all_looks) {
    const std::uint64_t began_ns = now_ns();
    make_progress();
    const std::uint64_t taken_ns = now_ns() - began_ns;
    least_ns = std::min(least_ns, taken_ns);
    if (taken_ns > 2 * least_ns + work_ns) {
      has_moved = true;
      looks = 0;
    }
    if (config_.doorbell->rings.load(std::memory_order_relaxed) != token_) break;
    sched_yield();
  }
  return has_moved;
}

std::uint64_t Backoff::waited_ns() const {
  return now_ns() - started_ns_;
}

void Backoff::leave() {
  config_.doorbell->sleepers.fetch_sub(1, std::memory_order_acq_rel);
}

}  // namespace unisono::shm
