// SPDX-License-Identifier: BSD-3-Clause
#include "tool/machines.h"

#include "base/files.h"
#include "base/near_names.h"
#include "tool/question.h"

namespace unisono::tool {

namespace {

model::ReadMachine read_machine(const std::string& text) {
  if (const model::Machine* known = model::find_built_in(text)) return {.machine = *known};
  const ReadFile file = read_file(text);
  const bool is_there = file.text || file.problem.rfind("cannot", 0) != 0;
  if (!file.text && is_there) throw UsageError("--machine " + text + ": it " + file.problem);
  if (!file.text) {
    std::string known;
    std::vector<std::string> names;
    for (const model::Machine& machine : model::built_in_machines()) {
      known += (known.empty() ? "" : ", ") + machine.name;
      names.push_back(machine.name);
    }
    throw UsageError("--machine " + text + ": there is no such file, and no such machine built in (" + known +
                     ")" + did_you_mean(text, names));
  }
  model::ReadMachine read = model::machine_from_json(*file.text);
  if (!read.machine) throw UsageError("--machine " + text + ": " + read.problem);
  return read;
}

}  // namespace

model::Machine chosen_machine(const std::string& text) {
  return *read_machine(text).machine;
}

std::string measured_choices(const std::string& text) {
  return read_machine(text).choices.text();
}

}  // namespace unisono::tool
