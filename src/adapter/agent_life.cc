// SPDX-License-Identifier: BSD-3-Clause
// An agent's life over a real MPI, from its MPI_Init to its MPI_Finalize. Nothing of Unisono stands before
// this MPI: its functions are called as they were found in the library that unisono-agent has loaded.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

#include "adapter/below/datatype.h"
#include "adapter/below/functions.h"
#include "adapter/below/marks.h"
#include "adapter/below/nesting.h"
#include "adapter/below/place.h"
#include "adapter/host_interface/mpi_host.h"
#include "agents/agent.h"
#include "agents/agent_processes.h"
#include "preload/agent_library.h"

namespace unisono::adapter {
namespace {

constexpr int failure_status = 125;

static_assert(sizeof(std::atomic<bool>) == sizeof(unsigned char));

// When all have mapped them nobody needs their names: whoever is killed then leaves nothing. Before that
// `unisono run` removes them (src/front/agents_watch.h).
void remove_files_of_mpich(host::Host& host) {
  if (host.family_name() == "openmpi" || host.barrier(host.world()) != MPI_SUCCESS) return;
  for (const std::string& file : agents::files_of_mpich(getpid())) ::unlink(file.c_str());
}

// `unisono run` reads it (src/front/agents_job.cc).
void tell(std::string_view words) {
  std::printf("%s\n", std::string(words).c_str());
  std::fflush(stdout);
}

// Why it could not serve; empty: it has.
std::string serve(const UnisonoAgent& agent) {
  MpiHost host;
  host.begin();
  remove_files_of_mpich(host);
  begin_places();
  begin_marks();
  const auto* must_end = reinterpret_cast<const std::atomic<bool>*>(agent.must_end);
  const int rank = host.comm_rank(host.world());
  const bool is_first = rank == 0;
  // Where ranks have died agents may have sent what no other one receives any more. MPICH 5 ends with an
  // error where such a communicator is freed, as MPI_COMM_WORLD is in MPI_Finalize. This one is left to it.
  host::Comm comm{};
  if (host.comm_split(host.world(), 0, rank, &comm) != MPI_SUCCESS)
    return "its MPI makes no communicator for it";
  std::string why = agents::run(host, comm,
                                {.job = agent.job,
                                 .must_end = must_end,
                                 .carrier = agent.carrier,
                                 .has_soft_float = agent.has_soft_float != 0,
                                 .again = agent.again,
                                 .tell = is_first ? tell : std::function<void(std::string_view)>()});
  host.end();
  return why;
}

}  // namespace
}  // namespace unisono::adapter

extern "C" __attribute__((visibility("default"))) int unisono_run_agent(void* mpi, const UnisonoAgent* agent,
                                                                        char* problem,
                                                                        std::size_t problem_bytes) {
  using namespace unisono::adapter;
  if (std::strcmp(agent->version, UNISONO_VERSION) != 0) {
    std::snprintf(problem, problem_bytes, "its program is of version %s, its adapter of " UNISONO_VERSION,
                  agent->version);
    return failure_status;
  }
  if (!load_functions(mpi, problem, problem_bytes)) return failure_status;
  load_predefined();
  const Nested nested;
  int provided = MPI_THREAD_SINGLE;
  if (pmpi.Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
    std::snprintf(problem, problem_bytes, "its MPI does not start");
    return failure_status;
  }
  const std::string why = serve(*agent);
  if (why.empty()) return pmpi.Finalize() == MPI_SUCCESS ? 0 : failure_status;
  // The other agents may wait for this one. Where it has died, it has said why.
  std::snprintf(problem, problem_bytes, "%s", why.c_str());
  return failure_status;
}
