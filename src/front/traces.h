// SPDX-License-Identifier: BSD-3-Clause
// The trace of messages of a run: the ranks write it, and this command sees to it that it is of this run.
#pragma once

#include <string>

#include "front/process.h"
#include "launch/rewrite.h"

namespace unisono::front {

class Trace {
 public:
  // `wanted`: the file; empty: none.
  explicit Trace(const std::string& wanted);

  bool is_wanted() const { return !wanted_.empty(); }
  // Ends the command where something else than a trace would be replaced.
  void prepare() const;
  // Nobody shall take the trace of another job for that of this one.
  void remove_old() const;
  // Where the job writes it.
  const std::string& file() const { return file_; }
  // After the job: says why there is none. `without`: why the job ran without Unisono, if it did.
  void finish(const Outcome& outcome, const launch::Understood& understood, const std::string& without) const;

 private:
  std::string wanted_, file_;
};

}  // namespace unisono::front
