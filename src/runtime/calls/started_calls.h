// SPDX-License-Identifier: BSD-3-Clause
// The way of a call that does not block: started by the program, carried on by whoever makes progress.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
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
  using Lock = std::unique_lock<std::mutex>;
  // `queues`: held by whoever lets calls go on, but where the program's functions may run; guards every
  // communicator's queue.
  StartedCalls(const World& world, Gate& gate, Progress& progress, std::mutex& queues,
               Communicators& communicators, Slices& slices, Decisions& decisions, const Engines& engines,
               Learning& learning, StartedChecks& checks);

  // As runtime::start_collective.
  Outcome start(const Call& call, const Completion& completion, HostPart** host);
  // How long any were under way, seconds.
  double under_way_s() const { return under_way_s_; }

  // For persistent calls. Under the lock: what will be done with such a call, and what it works in.
  enum class Start : std::uint8_t { native, nothing_to_do, scheduled };
  Start look_at(Communicator* c, const Call& call, StartedCall** taken);
  // Starts one that was looked at before: `take`, then `read`, then `launch`, which gives up the lock.
  static StartedCall* take(Communicator* c, const Call& call);
  std::optional<std::int64_t> read(StartedCall* started, int* error) const;
  Outcome launch(StartedCall* started, const Completion& completion, HostPart** host, Lock* lock);

  bool advance() override;
  bool advance_aside() override;

 private:
  int prepare(StartedCall* started) const;
  bool advance(StartedCall* call, Lock* lock);
  bool advance(Communicator* c, Lock* lock);
  template <class Choose>
  bool advance_all(Choose choose, Lock* lock);
  bool may_go_on_aside(const Communicator& c) const;
  void conclude(std::vector<std::unique_ptr<StartedCall>>* calls);

  const World& world_;
  Gate& gate_;
  Progress& progress_;
  std::mutex& queues_;
  Communicators& communicators_;
  Slices& slices_;
  Decisions& decisions_;
  const Engines& engines_;
  Learning& learning_;
  StartedChecks& checks_;
  int under_way_ = 0;
  double under_way_since_s_ = 0, under_way_s_ = 0;  // any of them; and before that
  std::vector<Communicator*> active_;               // with calls under way
  std::vector<std::unique_ptr<StartedCall>> over_;  // but for what the host has to do
};

}  // namespace unisono::runtime
