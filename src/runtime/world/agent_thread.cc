// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/agent_thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <utility>
#include <vector>

#include "agents/soft_float.h"
#include "base/agent_places.h"
#include "base/core_list.h"
#include "base/guarded.h"
#include "base/log.h"
#include "base/program_signals.h"
#include "runtime/world/world.h"

namespace unisono::runtime {
namespace {

using std::chrono::milliseconds;

// Between looks at the end of a thread: messages of this rank may have to go on meanwhile.
constexpr milliseconds look_interval{1};
// It sleeps for at most 200 ms.
constexpr milliseconds longest_end_at_exit{500};

// Threads of this process. A program that ends without MPI_Finalize takes away what they stand on.
Guarded<std::vector<AgentThread*>>& all_threads() {
  static auto* const all = new Guarded<std::vector<AgentThread*>>;
  return *all;
}

pid_t process_of_threads = 0;  // a child of it has none of them

void end_all_at_exit() {
  if (getpid() != process_of_threads) return;
  for (AgentThread* thread : *all_threads().lock()) thread->end_within(longest_end_at_exit);
}

void end_at_exit(AgentThread* thread) {
  const auto all = all_threads().lock();
  if (process_of_threads == 0) std::atexit(end_all_at_exit);
  process_of_threads = getpid();
  all->push_back(thread);
}

// Where the launcher's process on this node may run, which it has bound to nothing: a rank may be bound to
// the one core where its program computes. Another user's process, as Slurm's, knows more cores than the
// job's.
void leave_ranks_core() {
  const pid_t launcher = getppid();
  struct stat status {};
  cpu_set_t own, wider;
  if (stat(("/proc/" + std::to_string(launcher)).c_str(), &status) != 0 || status.st_uid != geteuid() ||
      sched_getaffinity(0, sizeof own, &own) != 0 || sched_getaffinity(launcher, sizeof wider, &wider) != 0)
    return;
  CPU_OR(&wider, &wider, &own);
  sched_setaffinity(0, sizeof wider, &wider);
}

// Of each node the first rank has one.
bool is_first_of_node(const World& world) {
  const auto own = static_cast<std::size_t>(world.rank);
  const auto first = std::ranges::find(world.node_labels, world.node_labels[own]);
  return first - world.node_labels.begin() == world.rank;
}

}  // namespace

bool AgentThread::start(const World& world, int place, std::unique_ptr<AgentThread>* started,
                        std::string* why) {
  if (!world.are_thread_multiple) {
    *why = "their threads need MPI_THREAD_MULTIPLE, which the MPI does not give to all ranks";
    return false;
  }
  const bool has_one = is_first_of_node(world);
  host::Comm comm{};
  const int error = world.host.comm_split(world.comm, has_one ? 0 : -1, world.rank, &comm);
  if (error != host::success) *why = "no communicator could be made for them";
  if (has_one && error == host::success) *started = make(world, comm, place, why);
  // All begin, or none: they wait for each other.
  const auto agree = [&world](bool is) {
    std::uint64_t is_everywhere = is ? 1 : 0;
    return world.host.agree(&is_everywhere, 1, host::AgreeOp::min, world.comm) == host::success &&
           is_everywhere != 0;
  };
  bool are_there = agree(error == host::success && (!has_one || *started != nullptr));
  if (are_there) {
    if (*started != nullptr) *why = (*started)->go();
    are_there = agree(why->empty());
  }
  if (are_there) return true;
  if (*started != nullptr) {
    (*started)->tell_to_end();
    started->reset();
  } else if (has_one && error == host::success) {
    world.host.comm_free(&comm);
  }
  return false;
}

std::unique_ptr<AgentThread> AgentThread::make(const World& world, host::Comm comm, int place,
                                               std::string* why) {
  const Options& options = world.options;
  const bool is_soft = options.agents_float == "softfloat";
  if (is_soft && !agents::is_soft_float_there()) {
    *why = "this build is without SoftFloat";
    return nullptr;
  }
  const AgentPlaces places = agent_places(options.agents_on).value_or(AgentPlaces{});
  if (!places.hosts.empty()) {
    *why = "option agents_on names hosts, and agents that are threads run on those of their ranks";
    return nullptr;
  }
  Told told{.job = options.agents_job,
            .carrier = options.agents_carrier,
            .cores = places.cores,
            .has_soft_float = is_soft,
            .place = place};
  std::unique_ptr<AgentThread> made;
  try {
    made.reset(new AgentThread(world.host, comm, std::move(told)));
  } catch (const std::system_error& failed) {
    *why = std::string("no thread can be made: ") + failed.what();
    return nullptr;
  }
  *why = made->why_not(State::bound);
  if (why->empty()) return made;
  made->is_alone_ = true;  // the communicator is the caller's
  return nullptr;
}

AgentThread::AgentThread(host::Host& host, host::Comm comm, Told told)
    : host_(host), comm_(comm), told_(std::move(told)) {
  const WithoutProgramSignals without_signals;
  thread_ = std::thread([this] { run(); });
  end_at_exit(this);
}

AgentThread::~AgentThread() {
  std::erase(*all_threads().lock(), this);
  if (is_handed_over_) {
    live_to_the_end();
  } else {
    UniqueLock lock(mutex_);
    has_changed_.notify_all();
    while (!has_changed_.wait_for(lock.to_wait(), look_interval,
                                  [this]() UNISONO_REQUIRES(mutex_) { return state_ == State::over; })) {
      const GivenUp given_up(mutex_);
      host_.progress();
    }
  }
  if (thread_.joinable()) thread_.join();
  if (!is_alone_) host_.comm_free(&comm_);
}

void AgentThread::hand_over(shm::Doorbell* bell) {
  is_handed_over_ = true;
  shm::ring(bell);
  why_not(State::over);
  thread_.join();
}

bool AgentThread::advance() {
  if (life_ == nullptr) return false;
  try {
    life_->step();
  } catch (const std::exception& failed) {
    end_life(failed.what());
  }
  return false;
}

// Messages of this rank that others wait for go on meanwhile.
void AgentThread::live_to_the_end() {
  while (life_ != nullptr && !life_->is_over()) {
    advance();
    host_.progress();
    sched_yield();
  }
  end_life();
}

void AgentThread::tell_to_end_alone() {
  is_alone_ = true;
  tell_to_end();
}

void AgentThread::end_within(milliseconds time) {
  tell_to_end();
  UniqueLock lock(mutex_);
  has_changed_.notify_all();
  has_changed_.wait_for(lock.to_wait(), time,
                        [this]() UNISONO_REQUIRES(mutex_) { return state_ == State::over; });
}

void AgentThread::set_state(State state, std::string why) {
  const LockGuard lock(mutex_);
  state_ = state;
  why_ = std::move(why);
  has_changed_.notify_all();
}

std::string AgentThread::why_not(State state) {
  UniqueLock lock(mutex_);
  has_changed_.wait(lock.to_wait(), [&]() UNISONO_REQUIRES(mutex_) { return state_ >= state; });
  if (state_ != State::over) return {};
  return why_.empty() ? "an agent's thread has ended" : why_;
}

std::string AgentThread::go() {
  set_state(State::going);
  return why_not(State::ready);
}

void AgentThread::run() {
  pthread_setname_np(pthread_self(), "unisono-agents");
  std::string why = bind();
  if (why.empty()) {
    set_state(State::bound);
    UniqueLock lock(mutex_);
    has_changed_.wait(lock.to_wait(), [this]() UNISONO_REQUIRES(mutex_) {
      return state_ != State::bound || must_end_.load(std::memory_order_relaxed);
    });
  }
  if (why.empty() && !must_end_.load(std::memory_order_relaxed)) {
    try {
      why = live();
    } catch (const std::exception& failed) {
      why = end_life(failed.what());
    }
  }
  set_state(State::over, std::move(why));
}

std::string AgentThread::bind() const {
  if (told_.cores.empty()) {
    leave_ranks_core();
    return {};
  }
  const int error = unisono_bind_to_cores(told_.cores.c_str());
  if (error == 0) return {};
  char why[512];
  unisono_why_not_on_cores(told_.cores.c_str(), error, why, sizeof why);
  return why;
}

std::string AgentThread::live() {
  std::string why;
  life_ = agents::Life::begin(host_, comm_,
                              {.job = told_.job,
                               .must_end = &must_end_,
                               .carrier = told_.carrier,
                               .has_soft_float = told_.has_soft_float,
                               .place = told_.place,
                               .is_thread = true},
                              &why);
  if (life_ == nullptr) return why;
  set_state(State::ready);
  life_->live(is_handed_over_);
  return is_handed_over_ ? std::string() : end_life();
}

// What becomes of calls that it had their ranks find out. Returns why it has ended, where that was too early.
std::string AgentThread::end_life(std::string why) {
  if (life_ == nullptr) return why;
  const std::string own = life_->end();
  life_.reset();
  if (why.empty()) why = own;
  if (!why.empty()) log::warning("the thread that is this node's agent has ended: " + why);
  return why;
}

}  // namespace unisono::runtime
