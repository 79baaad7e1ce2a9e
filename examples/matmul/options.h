// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "cache.h"
#include "grid.h"
#include "threads.h"

namespace matmul {

// One algorithm for each layer.
struct Choice {
  const NamedDistribution* distribution = &distributions().front();
  const NamedThreadAlgorithm* sharing = &thread_algorithms().front();
  const NamedCacheAlgorithm* cache = &cache_algorithms().front();
};

struct Options {
  Choice choice;
  int size = 384;
  int threads = 2;
  int grid_rows = 0;  // 0: as square as it gets
  int grid_columns = 0;
  int block_bytes = 10 * 1024;
  int repeat = 1;
  bool is_all_wanted = false;
  bool is_gain_wanted = false;
  bool is_quiet = false;
  bool is_help_wanted = false;
  std::string json_path;
};

std::string help_text();

// Throws std::invalid_argument with a sentence that says what is wrong.
Options parse_options(int argument_count, char** arguments);

}  // namespace matmul
