// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/reports/records.h"

#include <algorithm>
#include <cmath>

#include "agents/carrier.h"
#include "runtime/communicators/call_queue.h"
#include "runtime/reports/learned.h"

namespace unisono::runtime {
namespace {

void add(CallTimes::Sum* sum, const CallTimes::Sum& more) {
  sum->measured_s += more.measured_s;
  sum->estimated_s += more.estimated_s;
  sum->error_s = std::sqrt(sum->error_s * sum->error_s + more.error_s * more.error_s);
}

std::string ppn_text(const patterns::Layout& layout) {
  if (layout.is_uniform()) return std::to_string(layout.local_size(0));
  std::string text;
  for (const std::vector<int>& ranks : layout.ranks_of) {
    if (!text.empty()) text += ',';
    text += std::to_string(ranks.size());
  }
  return text;
}

// "8 ranks on 1 node".
std::string shape_of(const Communicator& c) {
  return c.layout ? c.layout->describe() : std::to_string(c.size) + (c.size == 1 ? " rank" : " ranks");
}

}  // namespace

std::uint64_t Records::absorb(const Communicator& c, Operation operation, int size_class,
                              const CallClass& entry, CallForm form) {
  if (entry.kind == CallClass::Kind::learned) return absorb_learned(c, operation, size_class, *entry.learned);
  const std::uint64_t by_stand_in =
      entry.stand_in == nullptr ? 0 : absorb(c, operation, size_class, *entry.stand_in, form);
  if (entry.calls == 0) return by_stand_in;
  absorb_class(c, {shape_of(c), operation, size_class, std::string(entry.choice->name()), form}, entry);
  return entry.calls + by_stand_in;
}

// The candidates are classes as others are. What was learned is the same on all ranks: one tells it.
std::uint64_t Records::absorb_learned(const Communicator& c, Operation operation, int size_class,
                                      const LearnedClass& learned) {
  std::uint64_t calls = 0;
  for (const CallClass& entry : learned.blocking)
    calls += absorb(c, operation, size_class, entry, CallForm::blocking);
  for (const CallClass& entry : learned.non_blocking)
    calls += absorb(c, operation, size_class, entry, CallForm::non_blocking);
  for (const CallClass& entry : learned.persistent)
    calls += absorb(c, operation, size_class, entry, CallForm::persistent);
  if (c.rank == 0) leans_.add(learned.leans_on, confirmation_of(learned));
  if (c.rank == 0 && learned_.size() < most_learned)
    learned_.push_back(learned_kind(c, operation, size_class, learned));
  return calls;
}

void Records::describe(const Communicator& c, const tuning::Choice& choice, ClassRecord* record) {
  record->parameters = choice.parameters.values();
  record->reason = choice.reason;
  record->source = choice.source;
  record->layout = c.layout->text();
  record->is_oversubscribed = c.is_oversubscribed;
  if (c.rank == 0) leans_.add(choice.leans_on, tuning::Confirmation::none);
}

std::shared_ptr<HostStarts> Records::starts_of_host(const Communicator& c, Operation operation,
                                                    int size_class, const tuning::Choice& choice) {
  const ClassKey key{shape_of(c), operation, size_class, std::string(choice.name()), CallForm::persistent};
  Left& left = left_[key];
  left.sum.record.key = key;
  describe(c, choice, &left.sum.record);
  return left.starts;
}

std::shared_ptr<HostStarts> Records::starts_of_host(Operation operation, NativeReason reason) {
  auto& starts = left_for_[{operation, reason}];
  if (starts == nullptr) starts = std::make_shared<HostStarts>();
  return starts;
}

void Records::absorb_starts() {
  for (auto& [key, left] : left_) {
    const std::uint64_t calls = left.starts->calls.exchange(0);
    if (calls == 0) continue;
    ClassRecord& record = classes_.try_emplace(key, left.sum).first->second.record;
    record.calls += calls;
    record.bytes += left.starts->bytes.exchange(0);
  }
  for (auto& [key, starts] : left_for_) add_native(key.first, key.second, starts->calls.exchange(0));
}

void Records::absorb_class(const Communicator& c, const ClassKey& key, const CallClass& entry) {
  Sum& sum = classes_[key];
  sum.record.key = key;
  sum.record.calls += entry.calls;
  sum.record.bytes += entry.bytes;
  sum.record.checks += entry.checks;
  sum.record.mismatches += entry.mismatches;
  sum.record.is_sampled = sum.record.is_sampled || entry.times.count() < entry.calls;
  add(&sum.time, entry.times.of(entry.calls));
  describe(c, *entry.choice, &sum.record);
}

void Records::absorb_agents(const AgentShare& share) {
  for (int op = 0; op < operation_count; ++op) {
    for (std::size_t carrier = 0; carrier < agents::most_carriers; ++carrier) {
      const std::uint64_t calls = share.carried[static_cast<std::size_t>(op)][carrier];
      if (calls != 0) by_agents_[{static_cast<Operation>(op), static_cast<int>(carrier)}] += calls;
    }
  }
}

void Records::absorb(const Communicator& c) {
  for (const AgentShare* share : {c.node.agents.get(), c.node.blocking_agents.get()}) {
    if (share == nullptr) continue;
    agent_times_.add(share->times);
    if (c.rank == 0) absorb_agents(*share);
  }
  if (graphs_.size() < GraphRecord::most) {
    if (auto graph = graph_record(c)) graphs_.push_back(*std::move(graph));
  }
  std::uint64_t calls = c.persistent.starts == nullptr ? 0 : c.persistent.starts->load();
  const auto absorb_tables = [&](const OperationTables& tables, Operation operation, CallForm form) {
    const auto& table = tables[static_cast<std::size_t>(operation)];
    if (table != nullptr) calls += absorb_classes(c, *table, operation, form);
  };
  for (int op = 0; op < operation_count; ++op) {
    const auto operation = static_cast<Operation>(op);
    add_native(operation, c.native_reason, c.left.calls[op]);
    add_native(operation, NativeReason::few_calls, c.left.early_calls[op]);
    calls += c.left.calls[op] + c.left.early_calls[op];
    absorb_tables(c.classes, operation, CallForm::blocking);
    for (const auto& [region, tables] : c.learning.region_classes)
      absorb_tables(tables, operation, CallForm::blocking);
    if (c.queue == nullptr) continue;
    absorb_tables(c.queue->classes, operation, CallForm::non_blocking);
    absorb_tables(c.queue->by_agents, operation, CallForm::non_blocking);
    absorb_tables(c.queue->persistent, operation, CallForm::persistent);
  }
  if (calls != 0 && communicators_.size() < most_communicators) {
    communicators_.push_back(
        {c.id, c.name, c.layout ? ppn_text(*c.layout) : "", c.size, c.layout ? c.layout->nodes() : 1, calls});
  }
}

void Records::add_native(Operation operation, NativeReason reason, std::uint64_t calls) {
  if (calls != 0) native_[{operation, std::string(runtime::describe(reason))}] += calls;
}

std::uint64_t Records::absorb_classes(const Communicator& c, const ClassTable& table, Operation operation,
                                      CallForm form) {
  std::uint64_t calls = 0;
  for (const auto& by_class : table) {
    for (int size_class = 0; size_class < tuning::size_class_count; ++size_class) {
      calls += absorb(c, operation, size_class, by_class[static_cast<std::size_t>(size_class)], form);
    }
  }
  return calls;
}

CallTimes::Sum Records::blocking_time() const {
  CallTimes::Sum sum;
  for (const auto& [key, row] : classes_) {
    if (key.form == CallForm::blocking) add(&sum, row.time);
  }
  return sum;
}

RankRecords Records::all(const RankTime& rank_time) const {
  const CallTimes::Sum blocking = blocking_time();
  // Several threads may really have spent more than the time that passed.
  const double left_s = std::max(rank_time.wall_s - blocking.measured_s, 0.0);
  const double share = blocking.estimated_s > left_s ? left_s / blocking.estimated_s : 1;
  const auto time_of = [share](const CallTimes::Sum& time, CallForm form) {
    return time.measured_s + (form == CallForm::blocking ? share : 1) * time.estimated_s;
  };
  RankRecords records = learned_alone();
  records.blocking_s = std::min(time_of(blocking, CallForm::blocking), rank_time.wall_s);
  records.blocking_error_s = std::min(blocking.error_s, rank_time.wall_s);
  records.under_way_s = rank_time.under_way_s;
  for (const auto& [key, row] : classes_) {
    ClassRecord& record = records.classes.emplace_back(row.record);
    record.time_s = time_of(row.time, key.form);
    record.time_error_s = std::min(row.time.error_s, rank_time.wall_s);
  }
  for (const auto& [key, calls] : native_) records.native.push_back({key.first, key.second, calls});
  for (const auto& [key, calls] : by_agents_) {
    const auto carrier = static_cast<std::size_t>(key.second);
    if (carrier >= agents::carriers().size()) continue;
    records.by_agents.push_back({key.first, std::string(agents::carriers()[carrier].name), calls});
  }
  records.agent_times = agent_times_;
  records.communicators = communicators_;
  records.graphs = graphs_;
  records.profile = profile_;
  return records;
}

RankRecords Records::learned_alone() const {
  RankRecords records;
  records.learned = {.kinds = learned_, .leans = leans_.list()};
  return records;
}

}  // namespace unisono::runtime
