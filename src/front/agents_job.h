// SPDX-License-Identifier: BSD-3-Clause
// The agents of a run: a second job beside the user's, which ends with it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "agents/absence.h"
#include "base/options.h"
#include "front/agents_watch.h"
#include "front/companion.h"
#include "front/places.h"
#include "front/run_line.h"
#include "launch/rewrite.h"

namespace unisono::front {

// A name that no other job has.
std::string new_job_name();

class AgentsJob {
 public:
  // Ends the command where the job can have none and its command line asks for them; where a variable or a
  // file does, it goes without: `why_not` then says why.
  AgentsJob(const RunLine& line, const Options& options, const launch::Understood& understood,
            const Home& home, const std::string& job_name);
  ~AgentsJob();
  AgentsJob(const AgentsJob&) = delete;
  AgentsJob& operator=(const AgentsJob&) = delete;

  const std::string& why_not() const { return why_not_; }
  const launch::Words& command() const { return command_; }
  // Hosts of the job where no agents are started, as far as that is known, with commas.
  const std::string& left_out() const { return left_out_; }
  // Null: there are none.
  Companion* companion() const { return companion_.get(); }
  // What they have said although nothing went wrong.
  void show_said() const;

 private:
  std::optional<launch::Words> after_failure(const std::string& how);
  bool are_ready() const;

  const std::string job_name_;
  launch::Words command_;
  int starts_ = 1;
  AgentsWatch watch_;
  std::string why_not_, left_out_;
  std::unique_ptr<Companion> companion_;
  std::unique_ptr<agents::Absence> absence_;  // for ranks that wait for them
};

}  // namespace unisono::front
