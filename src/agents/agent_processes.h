// SPDX-License-Identifier: BSD-3-Clause
// The agents of a job on this host, known by their command lines: whoever looks for them need not have
// started them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace unisono::agents {

// Each process of this user, with its folder in /proc.
void for_each_own_process(const std::function<void(int process, const std::string& folder)>& body);

// A process, whoever may have its number later.
class WatchedProcess {
 public:
  explicit WatchedProcess(int process);  // that of this number now
  WatchedProcess(WatchedProcess&& other) noexcept;
  WatchedProcess& operator=(WatchedProcess&& other) noexcept;
  ~WatchedProcess();
  int number() const { return number_; }
  bool is_known() const { return descriptor_ >= 0; }  // else it ended before anybody could look
  // Waits so long at most.
  bool has_ended_within(int milliseconds) const;
  void kill() const;

 private:
  int number_, descriptor_;
};

struct AgentProcess {
  WatchedProcess process;
  int again = 0;  // how often the job's agents had been started before it was
};
std::vector<AgentProcess> agents_of(const std::string& job);

// The files in /dev/shm that MPICH 5 has for the processes of a node, as far as this process has mapped them.
// It removes them in MPI_Finalize alone.
std::vector<std::string> files_of_mpich(int process);

// Ends agents of the job on this host that were started before these, which are the `again`-th new ones.
void end_agents_before(const std::string& job, int again);

}  // namespace unisono::agents
