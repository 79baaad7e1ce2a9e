// SPDX-License-Identifier: BSD-3-Clause
// The processes of this job on this host, as the process table shows them: by the rank that the launcher gave
// each in its environment. What belongs to another user, or to another PID namespace, is not seen.
#pragma once

#include <map>
#include <string>

namespace unisono::runtime {

struct RankProcess {
  enum class State {
    has_come,  // It has an adapter of Unisono open: it has called MPI.
    late,      // It has Unisono loaded, or no MPI yet, and has not called MPI so far.
    without,   // It holds an MPI, and Unisono cannot get between the two.
  };
  State state = State::late;
  int process_id = 0;
  std::string program;
};

// Rank -> its process. Empty where no launcher has said which rank this process is, or another than
// `own_rank`.
std::map<int, RankProcess> processes_of_this_job(int own_rank);

}  // namespace unisono::runtime
