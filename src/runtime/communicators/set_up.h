// SPDX-License-Identifier: BSD-3-Clause
// Set-up of a communicator, at its first blocking collective or beside the program (set_up_aside.cc).
// Everything that can fail on one rank is tried here, and one agreement decides for all.
#pragma once

#include <atomic>

#include "runtime/communicators/communicator.h"
#include "runtime/communicators/identifiers.h"
#include "runtime/communicators/quarantine.h"
#include "runtime/communicators/slices.h"
#include "runtime/world/progress.h"
#include "runtime/world/world.h"

namespace unisono::runtime {

class SetUp {
 public:
  SetUp(const World& world, Progress& progress, Slices& slices, const Quarantine& quarantine);

  // Collective over the communicator. None, or why all its calls are the host's.
  NativeReason run(Communicator& c);
  // The same of the program's world, as the first set-up of the job: what run() agrees on is known already.
  NativeReason begin(Communicator& c);
  // A number for it, by which its messages are told apart; the last one of its ranks gives it back.
  // Collective.
  NativeReason agree_on_identifier(Communicator& c, bool is_translated,
                                   Identifiers::Use use = Identifiers::Use::communicator);
  void release_identifier(const Communicator& c);
  // Long waits for ranks of this node look whether they live.
  void watch_peers(Communicator& c) const;
  // Whoever relies on the order of operands must hear where Unisono does not decide it.
  void say_who_decides_order(const Communicator& c, NativeReason reason) const;

  // Beside the program, by calls that do not block. These begin it, look whether all offers have come after
  // the host has made so many of this rank's calls since, and wait for them.
  void begin_aside(Communicator& c);
  void look_at_offers(Communicator& c, std::uint64_t calls_of_host);
  void end_aside(Communicator& c);

  // The program wants more than speed from now on: it has said which algorithms run.
  void serve_all() { serves_all_.store(true, std::memory_order_relaxed); }
  // Is there no wish that only set-up communicators fulfil?
  bool may_wait() const;
  // Are ranks of several nodes in it, and none of other worlds? The same on all ranks. Local.
  bool spans_nodes(host::Comm handle) const;

 private:
  NativeReason take_first_identifier(Communicator& c);
  bool is_for_host(bool takes_device_memory, bool is_reproducible) const;
  void make_ready(Communicator& c);
  NativeReason take_identifier(Communicator& c, Identifiers::Turn turn, bool is_translated,
                               Identifiers::Use use);
  NativeReason why_left_out(Communicator& c, bool is_translated) const;
  NativeReason take_offers(Communicator& c);
  bool wants_one_order(const Communicator& c) const;
  void describe_ground(Communicator& c) const;
  void make_cache(Communicator& c) const;
  shm::WaitConfig wait_config() const;

  const World& world_;
  Progress& progress_;
  Slices& slices_;
  const Quarantine& quarantine_;
  Identifiers identifiers_;
  std::atomic<bool> serves_all_{false};
};

}  // namespace unisono::runtime
