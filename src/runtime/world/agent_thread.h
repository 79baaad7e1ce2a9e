// SPDX-License-Identifier: BSD-3-Clause
// An agent as a thread of its node's first rank (option agents=thread): the same life as an agent's process
// has, over a communicator of these ranks alone.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "agents/agent.h"
#include "base/mutex.h"
#include "host/host.h"
#include "runtime/world/progress.h"
#include "shm/slice/wait.h"

namespace unisono::runtime {

class World;

class AgentThread final : public Progress::Source {
 public:
  // Collective over the private world. True on all ranks where the threads of all nodes are ready for ranks;
  // `started` is then this rank's, if it has one, which listens at `place`. Else *why says something on at
  // least one of them.
  static bool start(const World& world, int place, std::unique_ptr<AgentThread>* started, std::string* why);
  // The node's ranks leave it, or it was told to end. Where no rank has died, collective over the ranks that
  // have one.
  ~AgentThread() override;
  AgentThread(const AgentThread&) = delete;
  AgentThread& operator=(const AgentThread&) = delete;

  // It ends soon, although ranks may be there, and calls of theirs under way.
  void tell_to_end() { must_end_.store(true, std::memory_order_relaxed); }
  // Where ranks have died: also leaves its communicator as it is.
  void tell_to_end_alone();
  // The thread ends, since no other thread may be in the MPI any more. The agent, whose bell this is, lives
  // on by advance(), wherever the rank comes by.
  void hand_over(shm::Doorbell* bell);
  bool advance() override;
  bool advance_aside() override { return false; }
  // For a process that ends: waits for so long at most, since the thread may stand in the MPI.
  void end_within(std::chrono::milliseconds time);

 private:
  enum class State : std::uint8_t { made, bound, going, ready, over };
  // What the thread is told, known before it begins.
  struct Told {
    std::string job, carrier, cores;
    bool has_soft_float = false;
    int place = 0;
  };

  AgentThread(host::Host& host, host::Comm comm, Told told);
  static std::unique_ptr<AgentThread> make(const World& world, host::Comm comm, int place, std::string* why);
  std::string go();  // together; why it cannot
  void run();
  std::string bind() const;
  std::string live();
  std::string end_life(std::string why = {});
  void live_to_the_end();
  void set_state(State state, std::string why = {});
  // Waits until it has come so far. Returns why it has ended instead; empty: it has not.
  std::string why_not(State state);

  host::Host& host_;
  host::Comm comm_;
  const Told told_;
  std::atomic<bool> must_end_{false};
  std::atomic<bool> is_handed_over_{false};
  bool is_alone_ = false;
  std::unique_ptr<agents::Life> life_;  // of the thread, until it is handed over
  Mutex mutex_;
  State state_ UNISONO_GUARDED_BY(mutex_) = State::made;
  std::string why_ UNISONO_GUARDED_BY(mutex_);
  std::condition_variable has_changed_;
  std::thread thread_;
};

}  // namespace unisono::runtime
