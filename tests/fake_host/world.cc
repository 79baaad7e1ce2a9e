// SPDX-License-Identifier: BSD-3-Clause
// Threads as ranks, and the watchdog.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "fake_host/state.h"

namespace unisono::fake_host {

namespace {

using Clock = std::chrono::steady_clock;

class Watchdog {
 public:
  explicit Watchdog(State* state) : state_(state), since_(Clock::now()) {}

  // Returns when all ranks have finished.
  void watch() {
    std::unique_lock lock(state_->mutex);
    while (!is_over()) {
      state_->changed.wait_for(lock, std::chrono::milliseconds(20));
      look();
    }
  }

 private:
  bool is_over() const {
    for (const RankState& rank : state_->ranks) {
      if (!rank.is_finished) return false;
    }
    return true;
  }

  bool is_everybody_idle() const {
    for (const RankState& rank : state_->ranks) {
      const bool is_idle = rank.is_finished || rank.blocked_in != nullptr || rank.idle_at == state_->activity;
      if (!is_idle) return false;
    }
    return true;
  }

  void look() {
    const Clock::time_point now = Clock::now();
    if (state_->activity != seen_) {
      seen_ = state_->activity;
      since_ = now;
      return;
    }
    const double quiet_seconds = std::chrono::duration<double>(now - since_).count();
    if (quiet_seconds < state_->options.deadlock_seconds) return;
    if (is_everybody_idle() && state_->stop_reason.empty()) {
      state_->stop_reason = "deadlock\n" + state_->describe(false);
      state_->changed.notify_all();
    } else if (quiet_seconds > 10 * state_->options.deadlock_seconds) {
      // A rank neither calls us nor ends: an exception cannot reach it.
      std::fprintf(stderr, "fake host: stuck outside of the host\n%s", state_->describe(false).c_str());
      std::abort();
    }
  }

  State* state_;
  std::uint64_t seen_ = ~std::uint64_t{0};
  Clock::time_point since_;
};

}  // namespace

FakeWorld::FakeWorld(int size, const Options& options) : state_(std::make_unique<State>(size, options)) {
  add_predefined(state_.get());
}

FakeWorld::~FakeWorld() = default;

int FakeWorld::size() const {
  return state_->size;
}

const std::vector<int>& FakeWorld::node_labels() const {
  return state_->options.node_labels;
}

std::string FakeWorld::leftovers() const {
  const std::lock_guard lock(state_->mutex);
  return state_->describe(true);
}

void FakeWorld::run(const std::function<void(FakeHost& host, int rank)>& body) {
  std::exception_ptr first_failure;
  for (RankState& rank : state_->ranks) rank.is_finished = false;
  const auto run_rank = [&](int rank) {
    std::exception_ptr failure;
    try {
      FakeHost host(state_.get(), rank);
      body(host, rank);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(state_->mutex);
    if (failure != nullptr) {
      if (first_failure == nullptr) first_failure = failure;
      if (state_->stop_reason.empty()) state_->stop_reason = "rank " + std::to_string(rank) + " has failed";
    }
    state_->ranks[rank].is_finished = true;
    state_->note_activity();
    state_->changed.notify_all();
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < state_->size; ++rank) threads.emplace_back(run_rank, rank);
  Watchdog(state_.get()).watch();
  for (std::thread& thread : threads) thread.join();
  if (first_failure != nullptr) std::rethrow_exception(first_failure);
}

}  // namespace unisono::fake_host
