// SPDX-License-Identifier: BSD-3-Clause
// What the launchers' options look like: how many of the words after an option belong to it. That is all one
// has to know to find the program in a launcher's command line.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace unisono::launch {

// How many words belong to an option, beside plain counts:
inline constexpr int pair = -1;   // "NAME VALUE", or "NAME=VALUE" in one word
inline constexpr int maybe = -2;  // a value or none; only what follows can tell

// Names with blanks between them; of options without their dashes.
struct Names {
  int arity;
  std::string_view names;
};

// An option that cannot work with a shim before the program.
struct Refused {
  std::string_view name, what_to_do;
};

// One launcher's manner of command line.
struct Flavour {
  std::string_view name, title;
  // One and two dashes mean the same, except where `is_getopt`. What stands further behind holds.
  std::span<const Names> options, more_options;
  std::string_view glued;  // one-letter options whose value may be glued on (-n4)
  // GNU getopt_long: one dash introduces letters, two dashes names, which may be abbreviated.
  bool is_getopt = false;
  std::string_view section_files;  // options that name a file of sections, one on each line
  std::span<const Refused> refused;
  std::string_view rank_counts;        // options that say how many ranks a section has
  std::string_view ranks_by_places;    // options by which they depend on the machines
  std::string_view path_option;        // says where programs are looked for
  std::string_view directory_options;  // set the programs' working directory
  bool looks_in_directory = false;     // for a program without a slash that is not in PATH

  std::optional<int> arity(std::string_view option) const;
  std::vector<std::string_view> option_names() const;
};

// One of openmpi4, openmpi5, mpich, intel, srun; anything else: a launcher by its name, of an MPI that is not
// known.
const Flavour& flavour_named(std::string_view name);
const Flavour& unknown_flavour();

// Is `name` one of the words?
bool has_name(std::string_view words, std::string_view name);

}  // namespace unisono::launch
