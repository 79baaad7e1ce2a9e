// SPDX-License-Identifier: BSD-3-Clause
// Which algorithms a signal has ended programs in (B9). A process that dies appends a line of JSON to a file
// in the user's cache directory; here is what follows from it for later jobs. docs/guide/verify.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/catalogue/descriptor.h"

namespace unisono::tuning {

// Where a record holds: for one program over one MPI on one kind of machine. Another version of Unisono may
// have better algorithms, and tries them.
struct CrashPlace {
  std::string program, machine, mpi, unisono;
  bool operator==(const CrashPlace&) const = default;
  auto operator<=>(const CrashPlace&) const = default;
};

struct Crash {
  CrashPlace place;
  std::string host;
  int rank = 0, ranks = 1;
  std::string job = {};   // the id of rank 0's process; empty: not known
  std::string id;         // of the process
  std::int64_t time = 0;  // seconds since 1970
  std::string signal, operation;
  std::string algorithm;    // with parameters, as Choice::text() has it
  std::int64_t bytes = -1;  // the largest of the calls' size class; -1: not known

  // The algorithm's name alone.
  std::string_view name() const { return std::string_view(algorithm).substr(0, algorithm.find('(')); }
  std::string date() const;  // "2026-11-24"
  std::string line() const;  // as it stands in the file
};

// The parts of a line: one is known before a process dies, the other one in a signal handler. So known_part()
// ends where `time` and what is behind it comes.
std::string known_part(const Crash& crash);
// A line that takes the record of a process back.
std::string withdrawal_line(const std::string& id);

struct ReadCrashes {
  // Of a job the first one alone: what its MPI does in the others when a rank is gone is no algorithm's
  // fault. Of each algorithm and place the newest one, by time.
  std::vector<Crash> crashes;
  int malformed = 0;         // lines that were left out
  std::string problem = {};  // why there are none, as a sentence; empty: there are none, or some
};
ReadCrashes crashes_from(std::string_view text);
std::string to_text(const std::vector<Crash>& crashes);

// In a cache directory as cache_directory() gives it; empty: there is none.
std::string crash_file(const std::string& cache);
// A file that is not there has none; one of another user is not used. One that has grown is written anew,
// with what holds alone.
ReadCrashes read_crashes(const std::string& file);
// Those of one program, or all where it is empty. Gives their number; `problem`: why nothing was forgotten.
std::size_t forget_crashes(const std::string& file, std::string_view program, std::string* problem);

// A process does not make a file longer than this: a thousand ranks may die at once.
inline constexpr std::int64_t most_crash_file_bytes = std::int64_t{1} << 20;

// What may not be chosen, and why, as a clause about a job ("a job of 2026-11-24 died of SIGSEGV inside it").
using LeftOut = std::map<const algorithms::Descriptor*, std::string>;
// Algorithms that this version does not have are ignored.
LeftOut left_out_by(const std::vector<Crash>& crashes);

}  // namespace unisono::tuning
