// SPDX-License-Identifier: BSD-3-Clause
// What all ranks have seen, as one: counts of the busiest rank, times as maximum and mean.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/host.h"
#include "runtime/reports/rank_records.h"

namespace unisono::runtime {

// Of all ranks' times the longest one, with its error, and the mean.
struct TimeOfRanks {
  double most_s = 0, error_s = 0, mean_s = 0;
};

// A row of the report; `of_longest` has the times of the rank that they are longest on.
struct JobClass {
  ClassRecord of_longest;
  double mean_s = 0;
};

struct JobRecords {
  std::vector<JobClass> classes;  // the longest first
  std::vector<NativeRecord> native;
  std::vector<AgentRecord> by_agents;
  AgentTimes agent_times;  // of all ranks together
  std::vector<CommunicatorRecord> communicators;
  std::vector<JobGraph> graphs;
  Learned learned;  // the kinds of calls that took most time first
  TimeOfRanks blocking, under_way;
  std::optional<JobProfile> profile;
  std::vector<int> unread;  // ranks whose records could not be read

  // "what rank 3 has recorded ...", or empty.
  std::string problem() const;
};

class RecordsOfRanks {
 public:
  // In the order of the ranks: where two give a row different reasons, say, the first one's stands.
  void add(const RankRecords& records);
  // A rank whose message is none of RankRecords.
  void add_unread(int rank) { unread_.push_back(rank); }
  JobRecords joined() const;

 private:
  struct TimeSum {
    void add(double seconds, double its_error_s);
    TimeOfRanks of(int ranks) const { return {most_s, error_s, ranks == 0 ? 0 : sum_s / ranks}; }
    double most_s = 0, error_s = 0, sum_s = 0;
  };
  struct Row {
    ClassRecord record;
    double sum_s = 0;
  };
  // By shape, the operation's name, form, size and algorithm.
  struct RowOrder {
    bool operator()(const ClassKey& left, const ClassKey& right) const;
  };
  struct CommunicatorOrder {
    bool operator()(const CommunicatorRecord& left, const CommunicatorRecord& right) const;
  };
  void add_class(const ClassRecord& record);

  int ranks_ = 0;
  TimeSum blocking_, under_way_;
  std::map<ClassKey, Row, RowOrder> classes_;
  std::map<std::pair<std::string_view, std::string>, NativeRecord> native_;    // operation's name and reason
  std::map<std::pair<std::string_view, std::string>, AgentRecord> by_agents_;  // operation's name and carrier
  AgentTimes agent_times_;
  std::set<CommunicatorRecord, CommunicatorOrder> communicators_;
  std::vector<LearnedKind> learned_;
  tuning::Leans leans_;
  GraphsOfRanks graphs_;
  ProfileOfRanks profile_;
  std::vector<int> unread_;
};

// Gathers every rank's records to rank 0 of `world` (collective), where they are joined. On other ranks:
// nothing.
JobRecords gather_records(host::Host& host, host::Comm world, const RankRecords& records);

}  // namespace unisono::runtime
