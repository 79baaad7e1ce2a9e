// SPDX-License-Identifier: BSD-3-Clause
// The machine that algorithms' times are predicted for before anything has tried them (A7). It is the one
// that option 'machine' describes, else the one that was measured here, else a usual one. All ranks must
// expect the same, so rank 0's file holds for all. The same file says how ranks wait and how large buffers
// are.
#pragma once

#include <optional>
#include <string>

#include "base/options.h"
#include "model/machine.h"
#include "model/measured_choices.h"

namespace unisono::runtime {

class World;

struct FoundMachine {
  std::optional<model::Machine> machine;  // nothing: nothing is predicted
  model::MeasuredChoices choices;
};
// What rank 0 reads for all.
struct MachineFile {
  std::string text;
  std::string problem;              // it is there, and cannot be read
  bool may_choose_buffers = false;  // the user has not said how large they are
};
MachineFile read_machine_file(const Options& options);
// `file` as rank 0 has read it.
FoundMachine find_machine(const World& world, const MachineFile& file);

}  // namespace unisono::runtime
