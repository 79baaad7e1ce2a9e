// SPDX-License-Identifier: BSD-3-Clause
// What one rank has seen of the job's calls, as data and as the message that brings it to rank 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/operations.h"
#include "runtime/communicators/communicator.h"
#include "runtime/reports/graph_records.h"
#include "runtime/reports/job_profile.h"
#include "runtime/reports/learned.h"

namespace unisono::runtime {

// Calls that are one row of the report.
struct ClassKey {
  std::string shape;  // "8 ranks on 1 node"
  Operation operation = Operation::barrier;
  int size_class = 0;
  std::string algorithm;
  CallForm form = CallForm::blocking;
  auto operator<=>(const ClassKey&) const = default;
};
inline constexpr int form_count = 3;

struct ClassRecord {
  ClassKey key;
  std::string layout;  // one of the communicators': "4x8"
  bool is_oversubscribed = false;
  std::uint64_t calls = 0, bytes = 0;
  std::uint64_t checks = 0, mismatches = 0;
  double time_s = 0, time_error_s = 0;
  bool is_sampled = false;
  ParameterValues parameters;
  std::string reason, source;
  bool operator==(const ClassRecord&) const = default;
};

// Calls that the MPI's own collectives served before anything was decided of them.
struct NativeRecord {
  Operation operation = Operation::barrier;
  std::string reason;
  std::uint64_t calls = 0;
  bool operator==(const NativeRecord&) const = default;
};

struct CommunicatorRecord {
  int id = -1;
  std::string name, ppn;  // ranks per node: "8", or "3,5,8" where they differ; empty: not known
  int size = 1, nodes = 1;
  std::uint64_t calls = 0;
  bool operator==(const CommunicatorRecord&) const = default;
};
// Calls that agents have served, by what they went by between nodes. One rank of a communicator tells them.
struct AgentRecord {
  Operation operation = Operation::barrier;
  std::string carrier;
  std::uint64_t calls = 0;
  bool operator==(const AgentRecord&) const = default;
};
inline constexpr std::size_t most_communicators = 64;  // listed by name; the records hold all

struct RankRecords {
  double blocking_s = 0, blocking_error_s = 0, under_way_s = 0;
  std::vector<ClassRecord> classes;
  std::vector<NativeRecord> native;
  std::vector<AgentRecord> by_agents;
  AgentTimes agent_times;
  std::vector<CommunicatorRecord> communicators;
  std::vector<GraphRecord> graphs;
  Learned learned;
  std::optional<RankProfile> profile;  // nothing: option profile is off on this rank

  // Empty where there is nothing to tell.
  std::string message() const;
  // Nothing where the message is none of these, in this version's form and whole.
  static std::optional<RankRecords> from_message(std::string_view message);
};

}  // namespace unisono::runtime
