// SPDX-License-Identifier: BSD-3-Clause
#include "tool/machines.h"

#include <algorithm>

#include "base/files.h"
#include "base/near_names.h"

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

void require_known(const model::Machine& machine, const std::string& option, const std::string& given,
                   std::string model::Combine::*member) {
  std::vector<std::string> names;
  const auto take = [&](const std::vector<model::Combine>& all) {
    for (const model::Combine& one : all) {
      if (std::ranges::find(names, one.*member) == names.end()) names.push_back(one.*member);
    }
  };
  take(machine.combine);
  if (machine.agent) take(machine.agent->combine);
  if (names.empty() || std::ranges::find(names, given) != names.end()) return;
  std::string list;
  for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
  throw UsageError("--" + option + " " + given + ": machine " + machine.name + " has times of " + list +
                   did_you_mean(given, names));
}

}  // namespace

model::Machine chosen_machine(const std::string& text) {
  return *read_machine(text).machine;
}

model::Machine chosen_machine_for_work(const Arguments& arguments) {
  const std::string type = arguments.text("type", "float64"), op = arguments.text("op", "sum");
  const model::Machine machine = chosen_machine(arguments.text("machine", model::default_machine().name));
  require_known(machine, "type", type, &model::Combine::type);
  require_known(machine, "op", op, &model::Combine::op);
  return with_combine(machine, type, op);
}

std::string measured_choices(const std::string& text) {
  return read_machine(text).choices.text();
}

}  // namespace unisono::tool
