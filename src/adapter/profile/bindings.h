// SPDX-License-Identifier: BSD-3-Clause
// Where the process's libraries call functions of the MPI: the places in their tables of addresses that the
// loader fills. What is written there is called in the MPI's stead.
//
// So are functions reached that are counted only while somebody wants a profile. Exported names would be in
// the way of every other program. They would be there even where the MPI has no such function: mpi4py looks
// for such names, and calls what it finds.
#pragma once

#include <string_view>
#include <unordered_map>

#include "preload/adapter_library.h"

namespace unisono::adapter::profile {

struct Replacement {
  const void* of_mpi = nullptr;  // the MPI's MPI_X and PMPI_X, which may be one
  const void* of_mpi_p = nullptr;
  const void* wrapper = nullptr;
  bool has_tool = false;  // MPI_X leads to a profiling tool, which calls PMPI_X
};

// By name without "MPI_" and "PMPI_".
using Replacements = std::unordered_map<std::string_view, Replacement>;

// Looks at all libraries that were not looked at before, but the MPI's own (`mpi`: an address in it). Not by
// two threads at once.
void replace_bindings(const Replacements& replacements, const void* mpi);

}  // namespace unisono::adapter::profile
