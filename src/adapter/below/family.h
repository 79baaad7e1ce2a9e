// SPDX-License-Identifier: BSD-3-Clause
// The one place where the MPI families differ at compile time. The build compiles this folder once per
// family, with that family's header and UNISONO_FAMILY_OPENMPI, UNISONO_FAMILY_MPICH or UNISONO_FAMILY_MPIABI
// defined.
#pragma once

#include <cstdint>
#include <type_traits>

#include "host/host.h"

#if defined(UNISONO_FAMILY_MPIABI)
#include <mpi_abi.h>
#else
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#endif

namespace unisono::adapter {

#if defined(UNISONO_FAMILY_OPENMPI)
inline constexpr const char* family = "openmpi";
#elif defined(UNISONO_FAMILY_MPICH)
inline constexpr const char* family = "mpich";
#elif defined(UNISONO_FAMILY_MPIABI)
inline constexpr const char* family = "mpiabi";
#else
#error "no MPI family chosen"
#endif

// Do hosts of the family report an error where send and receive buffer are the same? (Open MPI computes.)
#if defined(UNISONO_FAMILY_OPENMPI)
inline constexpr bool rejects_aliases = false;
#else
inline constexpr bool rejects_aliases = true;
#endif

// Does a status count what was sent, where a message is longer than its receive? Others count what has come.
// (MPICH 4 counts nothing between processes, MPICH 5 what has come.)
#if defined(UNISONO_FAMILY_OPENMPI)
inline constexpr bool counts_what_was_sent = true;
#else
inline constexpr bool counts_what_was_sent = false;
#endif

// Handles are pointers or ints, the core's are 64 bits wide.
template <class Wide, class Handle>
Wide widen(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return static_cast<Wide>(reinterpret_cast<std::uintptr_t>(handle));
  } else {
    return static_cast<Wide>(static_cast<std::uintptr_t>(static_cast<unsigned>(handle)));
  }
}

template <class Handle, class Wide>
Handle narrow(Wide wide) {
  const auto bits = static_cast<std::uintptr_t>(wide);
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(bits);
  } else {
    return static_cast<Handle>(static_cast<unsigned>(bits));
  }
}

inline MPI_Comm native(host::Comm comm) {
  return narrow<MPI_Comm>(comm);
}
inline MPI_Datatype native(host::Datatype type) {
  return narrow<MPI_Datatype>(type);
}
inline MPI_Op native(host::Op op) {
  return narrow<MPI_Op>(op);
}

}  // namespace unisono::adapter
