// SPDX-License-Identifier: BSD-3-Clause
// Kept rules that a job went by: those of its own calls, of their neighbours, of tests at the start, of files
// of other shapes. A rule that decides and that nobody measures again loses trust with each job, also where
// nothing is learned (docs/guide/learning.md).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/wire.h"
#include "tuning/tables/knowledge.h"
#include "tuning/tables/table_json.h"

namespace unisono::tuning {

struct Lean {
  std::string file;  // without its folder
  int number = 0;    // in the file as the job has read it, from 1
  Conditions when;
  Confirmation confirmation = Confirmation::none;
};

// This rank's. Of several that saw the same rule the one counts that knows most.
class Leans {
 public:
  void add(const std::vector<LeanedOn>& rules, Confirmation confirmation);
  void add(const Lean& lean);
  bool empty() const { return leans_.empty(); }
  std::vector<Lean> list() const;

 private:
  std::map<std::pair<std::string, int>, Lean> leans_;
};

// As ranks tell each other of one.
void write(WireWriter* writer, const Lean& lean);
Lean read_lean(WireReader* reader);

// Takes from the rules of a file what the job's going by them costs; all others stay as they are. True where
// something has changed.
bool doubt(TableJson* stored, const std::vector<Lean>& leans, const std::string& today);

}  // namespace unisono::tuning
