// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/reports/rank_records.h"

#include <utility>

#include "base/wire.h"
#include "tuning/decisions/size_class.h"

namespace unisono::runtime {
namespace {

constexpr WireKind records_kind{.tag = 0x736472'6f636572 /* "records" */, .version = 4};

void write(WireWriter* writer, const ClassRecord& record) {
  writer->text(record.key.shape);
  writer->integer(static_cast<int>(record.key.operation));
  writer->integer(record.key.size_class);
  writer->integer(static_cast<int>(record.key.form));
  write(writer, UsedAlgorithm{record.key.algorithm, record.parameters});
  writer->text(record.layout);
  writer->flag(record.is_oversubscribed);
  for (const std::uint64_t count : {record.calls, record.bytes, record.checks, record.mismatches})
    writer->number(count);
  writer->real(record.time_s);
  writer->real(record.time_error_s);
  writer->flag(record.is_sampled);
  writer->text(record.reason);
  writer->text(record.source);
}

ClassRecord read_class(WireReader* reader) {
  ClassRecord record{.key = {.shape = reader->text()}};
  record.key.operation = reader->one_of<Operation>(operation_count);
  record.key.size_class = static_cast<int>(reader->between(0, tuning::size_class_count - 1));
  record.key.form = reader->one_of<CallForm>(form_count);
  UsedAlgorithm used = read_used_algorithm(reader);
  record.key.algorithm = std::move(used.name);
  record.parameters = std::move(used.parameters);
  record.layout = reader->text();
  record.is_oversubscribed = reader->flag();
  for (std::uint64_t* count : {&record.calls, &record.bytes, &record.checks, &record.mismatches})
    *count = reader->number();
  record.time_s = reader->real();
  record.time_error_s = reader->real();
  record.is_sampled = reader->flag();
  record.reason = reader->text();
  record.source = reader->text();
  return record;
}

void write(WireWriter* writer, const NativeRecord& record) {
  writer->integer(static_cast<int>(record.operation));
  writer->text(record.reason);
  writer->number(record.calls);
}

NativeRecord read_native(WireReader* reader) {
  NativeRecord record{.operation = reader->one_of<Operation>(operation_count)};
  record.reason = reader->text();
  record.calls = reader->number();
  return record;
}

void write(WireWriter* writer, const AgentRecord& record) {
  writer->integer(static_cast<int>(record.operation));
  writer->text(record.carrier);
  writer->number(record.calls);
}

AgentRecord read_agent(WireReader* reader) {
  AgentRecord record{.operation = reader->one_of<Operation>(operation_count)};
  record.carrier = reader->text();
  record.calls = reader->number();
  return record;
}

void write(WireWriter* writer, const CommunicatorRecord& record) {
  writer->integer(record.id);
  writer->text(record.name);
  writer->text(record.ppn);
  writer->integer(record.size);
  writer->integer(record.nodes);
  writer->number(record.calls);
}

CommunicatorRecord read_communicator(WireReader* reader) {
  CommunicatorRecord record{.id = reader->whole()};
  record.name = reader->text();
  record.ppn = reader->text();
  record.size = reader->whole();
  record.nodes = reader->whole();
  record.calls = reader->number();
  return record;
}

void write(WireWriter* writer, const AgentTimes& times) {
  writer->number(times.calls);
  writer->real(times.under_way_s);
  writer->real(times.waited_s);
}

AgentTimes read_times(WireReader* reader) {
  AgentTimes times{.calls = reader->number()};
  times.under_way_s = reader->real();
  times.waited_s = reader->real();
  return times;
}

bool is_empty(const RankRecords& records) {
  return records.blocking_s == 0 && records.blocking_error_s == 0 && records.under_way_s == 0 &&
         records.classes.empty() && records.native.empty() && records.by_agents.empty() &&
         records.agent_times.calls == 0 && records.communicators.empty() && records.graphs.empty() &&
         records.learned.is_empty() && !records.profile;
}

}  // namespace

std::string RankRecords::message() const {
  if (is_empty(*this)) return {};
  WireWriter writer;
  for (const double seconds : {blocking_s, blocking_error_s, under_way_s}) writer.real(seconds);
  writer.list(classes, [](WireWriter* to, const ClassRecord& of) { write(to, of); });
  writer.list(native, [](WireWriter* to, const NativeRecord& of) { write(to, of); });
  writer.list(by_agents, [](WireWriter* to, const AgentRecord& of) { write(to, of); });
  write(&writer, agent_times);
  writer.list(communicators, [](WireWriter* to, const CommunicatorRecord& of) { write(to, of); });
  writer.list(graphs, [](WireWriter* to, const GraphRecord& of) { write(to, of); });
  write(&writer, learned);
  writer.flag(profile.has_value());
  if (profile) write(&writer, *profile);
  return sealed(records_kind, writer.bytes());
}

std::optional<RankRecords> RankRecords::from_message(std::string_view message) {
  RankRecords records;
  if (message.empty()) return records;
  const auto content = unsealed(records_kind, message);
  if (!content) return std::nullopt;
  WireReader reader(*content);
  for (double* seconds : {&records.blocking_s, &records.blocking_error_s, &records.under_way_s})
    *seconds = reader.real();
  records.classes = reader.list<ClassRecord>(read_class);
  records.native = reader.list<NativeRecord>(read_native);
  records.by_agents = reader.list<AgentRecord>(read_agent);
  records.agent_times = read_times(&reader);
  records.communicators = reader.list<CommunicatorRecord>(read_communicator);
  records.graphs = reader.list<GraphRecord>(read_graph);
  records.learned = read_learned(&reader);
  if (reader.flag()) records.profile = read_profile(&reader);
  if (!reader.is_whole()) return std::nullopt;
  return records;
}

}  // namespace unisono::runtime
