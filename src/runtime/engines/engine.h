// SPDX-License-Identifier: BSD-3-Clause
// Whatever can run a call: fused slots, lines and streams of uneven blocks, schedules. What the host runs is
// an outcome (runtime::Outcome::native): its own function is called by the adapter.
#pragma once

#include "runtime/communicators/call_run.h"
#include "runtime/world/world.h"

namespace unisono::runtime {

class Engine {
 public:
  explicit Engine(const World& world) : world_(world) {}
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;

  // Packs what the call reads, and finds what runs; no other rank has to do with it. The host's error code.
  virtual int start(Run& run) const = 0;
  // True: it is over, with run.error. A call that may block is over when this returns. For others nothing
  // waits in here, and what comes first among the calls of its queue is asked again and again.
  virtual bool poll(Run& run) const = 0;
  // Unpacks what the call has got. The error code of all of it.
  int finish(Run& run) const;

 protected:
  // Of vectors, and blocks of one length.
  int pack(Run& run) const;
  void make_operator(Run& run) const;

  const World& world_;
};

}  // namespace unisono::runtime
