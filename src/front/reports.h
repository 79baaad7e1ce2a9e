// SPDX-License-Identifier: BSD-3-Clause
// The report of a run: where it goes, and what becomes of it after the job.
#pragma once

#include <ctime>
#include <string>

#include "front/process.h"
#include "launch/rewrite.h"

namespace unisono::front {

// Why a job has left no file that `option` asks for, as far as that can be told from here. `without`: why the
// job ran without Unisono, if it did.
std::string why_none(const Outcome& outcome, const launch::Understood& understood, const std::string& without,
                     const std::string& option);

class Report {
 public:
  // `wanted`: "-" for standard error, a page (.html) or a file; empty: none. `called`: the name by
  // which this program was called.
  Report(const std::string& wanted, const std::string& called);
  ~Report();
  Report(const Report&) = delete;

  bool is_wanted() const { return !wanted_.empty(); }
  // Ends the command where nothing could be written, or something else than a report would be replaced.
  void prepare();
  // Nobody shall take the report of another job for that of this one.
  void remove_old() const;
  // Where the job writes it.
  const std::string& file() const { return file_; }
  // After the job: shows it, makes the page, or says why there is none. `without`: why the job ran without
  // Unisono, if it did.
  void finish(const Outcome& outcome, const launch::Understood& understood, const std::string& without);

 private:
  bool is_page() const;
  bool is_shown() const { return wanted_ == "-" || is_page(); }
  void make_folder();
  void keep(const std::string& report) const;
  std::string written() const;
  std::string data_file() const;
  void show(const std::string& report);
  void show_spawned(const std::string& report);

  std::string wanted_, called_, python_;
  std::string folder_;  // of ours, for what lies in between
  std::string file_;
  std::time_t begun_ = 0;
};

}  // namespace unisono::front
