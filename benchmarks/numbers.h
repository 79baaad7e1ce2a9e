// SPDX-License-Identifier: BSD-3-Clause
// The numbers that a benchmark's command line gives, and how it ends where something is wrong.
#pragma once

#include <errno.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>

namespace unisono {

[[noreturn]] inline void fail(const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, why.c_str());
  std::exit(1);
}

struct NumberOption {
  const char* name;  // with its hyphens
  int* value;        // at least 1
};

// Each option is followed by its number. Others end the benchmark with its usage.
inline void read_numbers(int argc, char** argv, std::initializer_list<NumberOption> options) {
  std::string usage = std::string("usage: ") + program_invocation_short_name;
  for (const NumberOption& option : options) usage += std::string(" [") + option.name + " N]";
  for (int i = 1; i < argc; i += 2) {
    const int value = i + 1 < argc ? std::atoi(argv[i + 1]) : 0;
    bool is_known = false;
    for (const NumberOption& option : options) {
      if (option.name != std::string(argv[i])) continue;
      is_known = true;
      *option.value = value;
    }
    if (value < 1 || !is_known) fail(usage);
  }
}

}  // namespace unisono
