// SPDX-License-Identifier: BSD-3-Clause
// The profile of a program: time and calls of all its MPI functions, by message size and by where the partner
// is. What one rank has counted, and what all ranks have, as one.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/wire.h"

namespace unisono::runtime {

// What a function is for.
enum class FunctionKind : std::uint8_t {
  point_to_point,
  completion,  // of requests, whatever they are of
  collective,
  neighborhood,
  one_sided,
  file,
  communicator,  // communicators, groups, topologies, sessions
  datatype,
  start_and_end,  // MPI_Init and the like: not a part of the run
  other
};
inline constexpr int function_kind_count = 10;

// Where the partner of a call is; of a collective: the partner that is farthest away.
enum class Distance : std::uint8_t { none, same_rank, same_node, other_node, unknown };
inline constexpr int distance_count = 5;

const char* name(FunctionKind kind);
const char* name(Distance distance);

// Calls of one function that are alike.
struct ProfileCell {
  int size_class = 0;
  Distance distance = Distance::none;
  std::uint64_t calls = 0, bytes = 0;
  double time_s = 0;
  bool operator==(const ProfileCell&) const = default;
};

struct ProfiledFunction {
  std::string name;  // "MPI_Send"
  FunctionKind kind = FunctionKind::other;
  bool is_sending = false;    // its bytes leave this rank
  bool is_estimated = false;  // not every call was timed
  std::vector<ProfileCell> cells;
  bool operator==(const ProfiledFunction&) const = default;
};

// What one rank has counted.
struct RankProfile {
  double run_s = 0;  // while the profile was on, from the end of MPI_Init to the begin of MPI_Finalize
  std::int64_t threads = 0;  // that called MPI
  std::vector<ProfiledFunction> functions;
  bool operator==(const RankProfile&) const = default;
};

void write(WireWriter* writer, const RankProfile& profile);
RankProfile read_profile(WireReader* reader);

// A time of all ranks.
struct Spread {
  void add(double seconds, bool is_first);
  double least_s = 0, sum_s = 0, most_s = 0;
};

// A function as all ranks called it. Calls, bytes and the times of the cells are sums over the ranks.
struct JobFunction {
  ProfiledFunction function;
  int ranks = 0;  // that called it
  std::uint64_t calls = 0, least_calls = 0, most_calls = 0, bytes = 0;
  Spread time;  // over all ranks, also those that did not call it
};

struct JobProfile {
  int ranks = 0;
  std::int64_t threads = 0;  // of the rank that has most
  Spread run, in_mpi, outside;
  std::vector<JobFunction> functions;  // the longest first
};

class ProfileOfRanks {
 public:
  void add(const RankProfile& profile);
  int ranks() const { return ranks_; }
  JobProfile joined() const;

 private:
  struct Function {
    ProfiledFunction function;
    int ranks = 0;
    std::uint64_t calls = 0, least_calls = 0, most_calls = 0, bytes = 0;
    Spread time;
    std::map<std::pair<int, Distance>, ProfileCell> cells;
  };
  void add_function(const ProfiledFunction& function, double scale);

  int ranks_ = 0;
  std::int64_t threads_ = 0;
  Spread run_, in_mpi_, outside_;
  std::map<std::string, Function> functions_;
};

nlohmann::ordered_json profile_json(const JobProfile& profile);
// Some lines, for the report as a short text.
std::string profile_summary(const JobProfile& profile);

}  // namespace unisono::runtime
