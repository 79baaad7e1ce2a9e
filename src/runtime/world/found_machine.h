// SPDX-License-Identifier: BSD-3-Clause
// The machine that algorithms' times are predicted for before anything has tried them (A7). It is the one
// that option 'machine' describes, else the one that was measured here, else a usual one. All ranks must
// expect the same, so rank 0's file holds for all. The same file says how ranks wait and how large buffers
// are.
#pragma once

#include <optional>

#include "model/machine.h"
#include "model/measured_choices.h"

namespace unisono::runtime {

class World;

struct FoundMachine {
  std::optional<model::Machine> machine;  // nothing: nothing is predicted
  model::MeasuredChoices choices;
};
// Collective over the world.
FoundMachine find_machine(const World& world);

}  // namespace unisono::runtime
