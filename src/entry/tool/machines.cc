// SPDX-License-Identifier: BSD-3-Clause
#include "entry/tool/machines.h"

#include <fstream>
#include <iterator>

#include "entry/tool/arguments.h"

namespace unisono::entry {

model::Machine chosen_machine(const std::string& text) {
  if (const model::Machine* known = model::find_built_in(text)) return *known;
  std::ifstream stream(text);
  if (!stream) {
    std::string known;
    for (const model::Machine& machine : model::built_in_machines()) {
      known += (known.empty() ? "" : ", ") + machine.name;
    }
    throw UsageError("--machine " + text + ": there is no such file, and no such machine built in (" + known +
                     ")");
  }
  const std::string lines((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  model::ReadMachine read = model::machine_from_json(lines);
  if (!read.machine) throw UsageError("--machine " + text + ": " + read.problem);
  return *std::move(read.machine);
}

}  // namespace unisono::entry
