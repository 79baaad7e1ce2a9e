// SPDX-License-Identifier: BSD-3-Clause
#include "launch/run_options.h"

#include <algorithm>

namespace unisono::launch {

const std::vector<OwnOption>& own_options() {
  static const std::vector<OwnOption> options = {
      {"config", 0, "FILE",
       "Configuration file, lines `name = value`  [default: ~/.config/unisono/unisono.conf, if it is there]"},
      {"dry-run", 0, "", "Print the command that would run, and do not run it."},
      {"verbose", 'v', "", "Say on standard error how the command was understood."},
      {"help", 'h', "", "Show this message and exit."},
  };
  return options;
}

std::span<const std::string_view> everyday_options() {
  static constexpr std::string_view names[] = {"report",   "algorithm",       "table",  "learn", "verify",
                                               "messages", "record_messages", "agents", "nodes"};
  return names;
}

std::string option_word(const OptionSpec& spec) {
  std::string word = "--" + std::string(spec.name);
  std::ranges::replace(word, '_', '-');
  return word;
}

std::string_view run_usage() {
  return "[OPTIONS] [--] COMMAND...";
}

std::string_view run_description() {
  return R"(Run an MPI program under Unisono.

COMMAND is what starts the program without Unisono: mpirun, mpiexec, srun or the program alone, with all arguments.
A small program, unisono-exec, is put before each program in it; it loads Unisono into the program and into nothing else.
The exit status is the command's, signals reach it, and nothing is printed that was not asked for.

  unisono run mpirun -n 8 ./program input.txt
  unisono run --report - mpirun -n 2 ./ocean : -n 6 ./atmosphere
  unisono run --algorithm allreduce:ring srun -N 4 python script.py

Where Unisono does not know the launcher, write `unisono-exec` before each program yourself.

`--report -` prints the report on standard error when the job has ended; `--report page.html` makes a page of it.)";
}

}  // namespace unisono::launch
