// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gather.h"

namespace spmm {

struct Options {
  enum class Source { random, banded, stencil, file };

  Source source = Source::random;
  std::string matrix_path;
  int rows = 400;         // of a generated matrix; a stencil's is the side of its grid
  double density = 0.02;  // random
  int width = 1;          // banded: half its width; stencil: radius
  std::uint64_t seed = 1;
  int columns = 8;          // of B
  bool is_squared = false;  // B is A
  int at_once = 1;          // columns of B in one call
  int repeat = 1;
  std::vector<const NamedGather*> gathers;
  bool is_quiet = false;
  bool is_help_wanted = false;
  std::string json_path;
  std::string output_path;
};

std::string help_text();

// Throws std::invalid_argument with a sentence that says what is wrong.
Options parse_options(int argument_count, char** arguments);

}  // namespace spmm
