// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/reports/job_records.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "runtime/reports/gather_messages.h"

namespace unisono::runtime {

std::string JobRecords::problem() const {
  if (unread.empty()) return {};
  const std::string first = "rank " + std::to_string(unread.front());
  return "what " + (unread.size() == 1 ? first + " has" : std::to_string(unread.size()) + " ranks have") +
         " recorded of calls cannot be read" + (unread.size() == 1 ? "" : " (the first is " + first + ")") +
         ": nothing is reported or kept of it";
}

void RecordsOfRanks::TimeSum::add(double seconds, double its_error_s) {
  sum_s += seconds;
  if (seconds <= most_s) return;
  most_s = seconds;
  error_s = its_error_s;
}

bool RecordsOfRanks::RowOrder::operator()(const ClassKey& left, const ClassKey& right) const {
  const auto key = [](const ClassKey& of) {
    return std::tuple(std::string_view(of.shape), name(of.operation), of.form, of.size_class,
                      std::string_view(of.algorithm));
  };
  return key(left) < key(right);
}

bool RecordsOfRanks::CommunicatorOrder::operator()(const CommunicatorRecord& left,
                                                   const CommunicatorRecord& right) const {
  const auto key = [](const CommunicatorRecord& of) {
    return std::tuple(std::string_view(of.name), of.size, std::string_view(of.ppn), of.id);
  };
  return key(left) < key(right);
}

// The largest counts, the largest time.
void RecordsOfRanks::add_class(const ClassRecord& record) {
  const auto [place, is_first] = classes_.try_emplace(record.key, Row{record});
  Row& row = place->second;
  row.sum_s += record.time_s;
  if (is_first) return;
  ClassRecord& joined = row.record;
  for (const auto count :
       {&ClassRecord::calls, &ClassRecord::bytes, &ClassRecord::checks, &ClassRecord::mismatches})
    joined.*count = std::max(joined.*count, record.*count);
  if (record.time_s > joined.time_s) {
    joined.time_s = record.time_s;
    joined.time_error_s = record.time_error_s;
  }
  joined.is_sampled = joined.is_sampled || record.is_sampled;
}

void RecordsOfRanks::add(const RankRecords& records) {
  ++ranks_;
  blocking_.add(records.blocking_s, records.blocking_error_s);
  under_way_.add(records.under_way_s, 0);
  for (const ClassRecord& record : records.classes) add_class(record);
  for (const NativeRecord& record : records.native) {
    NativeRecord& joined = native_.try_emplace({name(record.operation), record.reason}, record).first->second;
    joined.calls = std::max(joined.calls, record.calls);
  }
  for (const AgentRecord& record : records.by_agents) {
    const auto [place, is_first] = by_agents_.try_emplace({name(record.operation), record.carrier}, record);
    if (!is_first) place->second.calls += record.calls;
  }
  agent_times_.add(records.agent_times);
  communicators_.insert(records.communicators.begin(), records.communicators.end());
  learned_.insert(learned_.end(), records.learned.kinds.begin(), records.learned.kinds.end());
  for (const tuning::Lean& lean : records.learned.leans) leans_.add(lean);
  graphs_.add(records.graphs);
  if (records.profile) profile_.add(*records.profile);
}

JobRecords RecordsOfRanks::joined() const {
  JobRecords joined;
  for (const auto& [key, row] : classes_)
    joined.classes.push_back({row.record, ranks_ == 0 ? 0 : row.sum_s / ranks_});
  std::ranges::stable_sort(joined.classes, std::greater<>(),
                           [](const JobClass& row) { return row.of_longest.time_s; });
  for (const auto& [key, record] : native_) joined.native.push_back(record);
  for (const auto& [key, record] : by_agents_) joined.by_agents.push_back(record);
  joined.agent_times = agent_times_;
  for (const CommunicatorRecord& record : communicators_) {
    if (joined.communicators.size() < most_communicators) joined.communicators.push_back(record);
  }
  joined.graphs = graphs_.joined();
  joined.learned = {.kinds = learned_, .leans = leans_.list()};
  keep_most_important(&joined.learned.kinds);
  joined.blocking = blocking_.of(ranks_);
  joined.under_way = under_way_.of(ranks_);
  if (profile_.ranks() != 0) joined.profile = profile_.joined();
  joined.unread = unread_;
  return joined;
}

JobRecords gather_records(host::Host& host, host::Comm world, const RankRecords& records) {
  if (host.comm_rank(world) != 0) {
    send_to_first(host, world, records.message());
    return {};
  }
  RecordsOfRanks all;
  all.add(records);
  receive_from_all(host, world, [&](int rank, std::optional<std::string_view> message) {
    const auto theirs = message ? RankRecords::from_message(*message) : std::nullopt;
    if (theirs) {
      all.add(*theirs);
    } else {
      all.add_unread(rank);
    }
  });
  return all.joined();
}

}  // namespace unisono::runtime
