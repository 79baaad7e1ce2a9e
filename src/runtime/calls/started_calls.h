// SPDX-License-Identifier: BSD-3-Clause
// The way of a call that does not block: started by the program, carried on by whoever makes progress.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/call/gate.h"
#include "runtime/checks/started_checks.h"
#include "runtime/engines/engines.h"
#include "runtime/learning/learning.h"
#include "runtime/world/progress.h"

namespace unisono::runtime {

class StartedCalls final : public Progress::Source {
 public:
  StartedCalls(const World& world, Gate& gate, Progress& progress, QueuesLock& queues,
               Communicators& communicators, Slices& slices, Decisions& decisions, const Engines& engines,
               Learning& learning, StartedChecks& checks);

  // As runtime::start_collective.
  Outcome start(const Call& call, const Completion& completion, HostPart** host)
      UNISONO_EXCLUDES(held_queues);
  // How long any were under way, seconds.
  double under_way_s() const UNISONO_EXCLUDES(held_queues);

  // For persistent calls: what will be done with such a call, and what it works in.
  enum class Start : std::uint8_t { native, nothing_to_do, scheduled };
  Start look_at(Communicator* c, const Call& call, StartedCall** taken) UNISONO_REQUIRES(held_queues);
  // Starts one that was looked at before: `take`, then `read`, then `launch`, then `let_go` without the lock.
  static StartedCall* take(Communicator* c, const Call& call) UNISONO_REQUIRES(held_queues);
  std::optional<std::int64_t> read(StartedCall* started, int* error) const;
  struct Launched {
    Outcome outcome = Outcome::done;
    bool is_under_way = false;
    int error = host::success;  // of one that is not: it is over
  };
  Launched launch(StartedCall* started, const Completion& completion, HostPart** host)
      UNISONO_REQUIRES(held_queues);
  Outcome let_go(const Launched& launched, const Completion& completion) UNISONO_EXCLUDES(held_queues);

  bool advance() override UNISONO_EXCLUDES(held_queues);
  bool advance_aside() override UNISONO_EXCLUDES(held_queues);

 private:
  int prepare(StartedCall* started) const;
  bool advance(StartedCall* call) UNISONO_REQUIRES(held_queues);
  bool advance(Communicator* c) UNISONO_REQUIRES(held_queues);
  template <class Choose>
  bool advance_all(Choose choose) UNISONO_REQUIRES(held_queues);
  bool may_go_on_aside(const Communicator& c) const UNISONO_REQUIRES(held_queues);
  void conclude(std::vector<std::unique_ptr<StartedCall>>* calls) UNISONO_EXCLUDES(held_queues);

  const World& world_;
  Gate& gate_;
  Progress& progress_;
  QueuesLock& queues_;
  Communicators& communicators_;
  Slices& slices_;
  Decisions& decisions_;
  const Engines& engines_;
  Learning& learning_;
  StartedChecks& checks_;
  int under_way_ UNISONO_GUARDED_BY(held_queues) = 0;
  double under_way_since_s_ UNISONO_GUARDED_BY(held_queues) = 0;  // any of them
  double under_way_s_ UNISONO_GUARDED_BY(held_queues) = 0;        // before that
  // With calls under way.
  std::vector<Communicator*> active_ UNISONO_GUARDED_BY(held_queues);
  // But for what the host has to do.
  std::vector<std::unique_ptr<StartedCall>> over_ UNISONO_GUARDED_BY(held_queues);
};

}  // namespace unisono::runtime
