// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/start_watch.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "base/log.h"
#include "base/program_signals.h"
#include "runtime/world/end_strangers.h"
#include "runtime/world/node_processes.h"
#include "runtime/world/this_host.h"

namespace unisono::runtime {
namespace {

using std::chrono::milliseconds;
using State = RankProcess::State;

// As the shim ends (src/shim/exec.c).
constexpr int exit_own_failure = 125;

// "rank 3 (process 4711, /path/program)", for the first few.
std::string listed(const std::map<int, RankProcess>& processes, State state) {
  constexpr std::size_t most_named = 4;
  std::string text;
  std::size_t count = 0;
  for (const auto& [rank, process] : processes) {
    if (process.state != state || ++count > most_named) continue;
    text += (count == 1 ? "" : ", ") + ("rank " + std::to_string(rank)) + " (process " +
            std::to_string(process.process_id) + (process.program.empty() ? "" : ", ") + process.program +
            ")";
  }
  if (count > most_named) text += " and " + std::to_string(count - most_named) + " more";
  return text;
}

std::size_t number_of(const std::map<int, RankProcess>& processes, State state) {
  return static_cast<std::size_t>(
      std::ranges::count_if(processes, [state](const auto& entry) { return entry.second.state == state; }));
}

// Of the ranks of this host that wait here, the first speaks for all.
bool is_speaker(const std::map<int, RankProcess>& processes, int own_rank) {
  return std::ranges::none_of(processes, [own_rank](const auto& entry) {
    return entry.first < own_rank && entry.second.state == State::has_come;
  });
}

}  // namespace

StartWatch::StartWatch(int rank, int size) : StartWatch(rank, size, Patience()) {}

StartWatch::StartWatch(int rank, int size, const Patience& patience)
    : rank_(rank), size_(size), patience_(patience), next_words_(patience.first_words) {
  if (size == 1) return;
  const WithoutProgramSignals without_signals;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    // No more threads are allowed: the set-up goes on unwatched.
  }
}

StartWatch::~StartWatch() {
  if (!thread_.joinable()) return;
  {
    const LockGuard lock(mutex_);
    is_over_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool StartWatch::is_over_within(milliseconds time) {
  UniqueLock lock(mutex_);
  return wake_.wait_for(lock.to_wait(), time, [this]() UNISONO_REQUIRES(mutex_) { return is_over_; });
}

void StartWatch::run() {
  milliseconds waited{0};
  for (milliseconds pause = patience_.first_look, usual = pause; !is_over_within(pause);) {
    waited += pause;
    look(waited);
    // The second look comes as soon as the first, and so does the one that confirms a rank without Unisono.
    if (waited != patience_.first_look) usual = std::min(2 * usual, patience_.longest_pause);
    pause = looks_with_stranger_ > 0 ? patience_.first_look : usual;
  }
}

// The ranks that do not speak leave the launcher time to end them.
void StartWatch::end_job(const std::string& who_runs, const std::vector<int>& strangers, bool speaks) {
  if (speaks) {
    // MPICH's launcher has been seen to wait for ever for the others of a job where one rank had ended.
    end_later(strangers, patience_.first_look);
    log::error(name_of_this_host() + ": " + who_runs +
               " without Unisono, and ranks with and without it cannot mix: the job ends. Start all programs "
               "by `unisono run` or unisono-exec, and none that has an MPI linked in");
  } else if (is_over_within(patience_.first_look)) {
    return;
  }
  _exit(exit_own_failure);
}

void StartWatch::look(milliseconds waited) {
  const auto processes = processes_of_this_job(rank_);
  const std::string strangers = listed(processes, State::without);
  looks_with_stranger_ = strangers.empty() ? 0 : looks_with_stranger_ + 1;
  const bool speaks = is_speaker(processes, rank_);
  // Once more, since a program may hold an MPI and become another one that has Unisono.
  if (looks_with_stranger_ > 1) {
    const bool is_one = number_of(processes, State::without) == 1;
    std::vector<int> ids;
    for (const auto& [rank, process] : processes) {
      if (process.state == State::without) ids.push_back(process.process_id);
    }
    end_job(strangers + (is_one ? " runs" : " run"), ids, speaks);
    return;
  }
  const std::string late = listed(processes, State::late);
  const bool is_due =
      waited >= next_words_ && (rank_ == 0 || !late.empty() || waited >= patience_.first_words_elsewhere);
  if (!speaks || !is_due) return;
  next_words_ = 4 * waited;
  const std::size_t elsewhere =
      static_cast<std::size_t>(size_) - std::min(processes.size(), static_cast<std::size_t>(size_));
  const auto waited_s = std::chrono::duration_cast<std::chrono::seconds>(waited).count();
  std::string text = name_of_this_host() + ": rank " + std::to_string(rank_) + " has waited " +
                     std::to_string(waited_s) + " s in MPI_Init for other ranks of the job:";
  if (!late.empty()) text += " on this host " + late + " did not come so far;";
  if (processes.empty()) {
    text += " which ones cannot be told here";
  } else {
    text += ' ';
    text += std::to_string(number_of(processes, State::has_come)) + " of " + std::to_string(size_);
    text += " ranks wait on this host";
    if (elsewhere != 0) text += ", " + std::to_string(elsewhere) + " are not seen from it";
  }
  log::error(text + ". A rank without Unisono never comes");
}

}  // namespace unisono::runtime
