// SPDX-License-Identifier: BSD-3-Clause
// Runs algorithms that are schedules of steps, with a header before those whose ranks must tell each other of
// their blocks.
#pragma once

#include "runtime/engines/engine.h"
#include "runtime/engines/schedules.h"

namespace unisono::runtime {

class ScheduleEngine final : public Engine {
 public:
  ScheduleEngine(const World& world, const Schedules& schedules) : Engine(world), schedules_(schedules) {}

  int start(Run& run) const override;
  bool poll(Run& run) const override;

 private:
  bool run_whole(Run& run) const;
  void learn_blocks(Run& run) const;

  const Schedules& schedules_;
};

}  // namespace unisono::runtime
