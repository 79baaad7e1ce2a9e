// SPDX-License-Identifier: BSD-3-Clause
// The MPI that a program is linked to, as its file says.
#pragma once

#include <string>

#include "launch/detect.h"

namespace unisono::launch {

struct LinkedMpi {
  std::string family;    // "Open MPI", or "MPICH or Intel MPI"; empty: not known
  std::string library;   // libmpi.so.40
  std::string file;      // where the program says that it lies; empty: the loader knows
  std::string launcher;  // its own; empty: not found
};

// Scripts and programs that load their MPI while they run are linked to none.
LinkedMpi linked_mpi(const std::string& program);

// Whether a program is compiled, and none of the libraries that it names is an MPI's.
bool uses_no_mpi(const std::string& program);

// Whether ranks of a program that is linked to that MPI find each other under this launcher, as far as is
// known.
bool starts(const Launcher& launcher, const LinkedMpi& linked);

}  // namespace unisono::launch
