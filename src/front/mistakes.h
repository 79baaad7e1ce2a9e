// SPDX-License-Identifier: BSD-3-Clause
// Command lines that cannot mean what they say: what was probably meant, with the command that does it.
#pragma once

#include <string>

#include "launch/rewrite.h"
#include "launch/words.h"

namespace unisono::front {

// `words` are those behind `unisono run`; each ends the command where it finds the mistake at `position`.

// An option that is the launcher's, before the launcher: `unisono run -n 4 ./a`.
void require_no_launchers_option(const launch::Words& words, std::size_t position);
// The launcher in the place of an option's value: `unisono run --report mpirun -n 4 ./a`.
void require_no_launcher(const std::string& option, const launch::Words& words, std::size_t position);

// What stands before COMMAND in `unisono run` with its own options, as it would be typed.
std::string lead_of_run(const launch::Words& options);

// `lead` is what stands before the command in what the user has typed.

// The command that is to run under Unisono: a launcher that stands behind a batch system's command or inside
// a container; a script that starts the launcher itself.
void require_launcher_first(const std::string& lead, const launch::Words& command);
// Programs that the launcher cannot start as one job: they are linked to another MPI, or start in a container
// into which nothing gets from here.
void require_launchers_mpi(const std::string& lead, const launch::Words& command,
                           const launch::Understood& understood);

}  // namespace unisono::front
