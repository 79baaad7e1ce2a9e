// SPDX-License-Identifier: BSD-3-Clause
// A machine as a file: python/unisono/schema/machine.schema.json.
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/json_text.h"
#include "base/shown.h"
#include "model/machine.h"

namespace unisono::model {
namespace {

using nlohmann::ordered_json;

constexpr int schema_version = 1;

// What stands at a place of the file is not what it has to be.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw Refusal(where + ": " + what);
}

class Reader {
 public:
  Reader(const ordered_json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json_.is_object()) refuse(where_.empty() ? "the file" : where_, "is no object");
  }

  Reader inner(const char* key) const { return {member(key), path(key)}; }
  std::string text(const char* key) const {
    if (!json_.contains(key)) return {};
    if (!json_[key].is_string()) refuse(path(key), "is no text");
    constexpr std::size_t most = 4096;
    return bounded(json_[key].get_ref<const std::string&>(), most);
  }
  bool has(const char* key) const { return json_.contains(key); }
  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> all;
    if (!member(key).is_array()) refuse(path(key), "is no list");
    for (const ordered_json& item : member(key)) {
      if (!item.is_string()) refuse(path(key), "holds what is no text");
      all.push_back(item.get<std::string>());
    }
    return all;
  }
  std::string path(const char* key) const { return where_.empty() ? key : where_ + "." + key; }
  Value value(const char* key) const { return value_from(member(key), path(key)); }
  Value value(const char* key, const Value& otherwise) const {
    return json_.contains(key) ? value(key) : otherwise;
  }
  int count(const char* key, const std::optional<int>& otherwise) const {
    constexpr int most = 1 << 20;
    const double number = otherwise ? value(key, *otherwise) : value(key);
    if (number > most) refuse(path(key), "is more than " + std::to_string(most));
    return static_cast<int>(number);
  }
  Curve curve_if_any(const char* key) const { return json_.contains(key) ? curve(key) : Curve(); }
  Curve curve(const char* key) const {
    const Reader columns = inner(key);
    const auto bytes = columns.numbers("bytes");
    const auto us = columns.numbers("us");
    const auto low = columns.numbers_if_any("low", us.size());
    const auto high = columns.numbers_if_any("high", us.size());
    if (bytes.empty()) refuse(path(key), "has no points");
    if (bytes.size() != us.size()) refuse(path(key), "has not as many us as bytes");
    std::vector<Curve::Point> points;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      Curve::Point point{static_cast<std::int64_t>(bytes[i]), us[i]};
      if (!low.empty()) point.us.low = low[i];
      if (!high.empty()) point.us.high = high[i];
      if (i > 0 && point.bytes <= points.back().bytes) refuse(path(key), "its bytes do not ascend");
      points.push_back(point);
    }
    return Curve(std::move(points));
  }

 private:
  const ordered_json& member(const char* key) const {
    if (!json_.contains(key)) refuse(path(key), "is missing");
    return json_[key];
  }
  static double number(const ordered_json& json, const std::string& where) {
    // Less than what a whole number holds: times, bytes and counts of machines all are.
    constexpr double most = 1e15;
    if (!json.is_number() || !(json.get<double>() >= 0)) refuse(where, "is no number from 0 on");
    if (json.get<double>() > most) refuse(where, "is more than 1e15");
    return json.get<double>();
  }
  static Value value_from(const ordered_json& json, const std::string& where) {
    if (!json.is_object()) return number(json, where);
    if (!json.contains("value")) refuse(where, "has no value");
    Value value(number(json["value"], where + ".value"));
    if (json.contains("low")) value.low = number(json["low"], where + ".low");
    if (json.contains("high")) value.high = number(json["high"], where + ".high");
    return value;
  }
  std::vector<double> numbers(const char* key) const {
    const ordered_json& list = member(key);
    if (!list.is_array()) refuse(path(key), "is no list");
    std::vector<double> all;
    for (const ordered_json& item : list) all.push_back(number(item, path(key)));
    return all;
  }
  std::vector<double> numbers_if_any(const char* key, std::size_t count) const {
    if (!json_.contains(key)) return {};
    auto all = numbers(key);
    if (all.size() != count) refuse(path(key), "has not as many numbers as us");
    return all;
  }

  const ordered_json& json_;
  std::string where_;
};

// A link needs Hockney's parameters, or LogGP's, from which the others follow where they are missing.
Link link_from(const Reader& reader, std::vector<std::string>* filled) {
  const bool has_hockney = reader.has("hockney"), has_loggp = reader.has("loggp");
  if (!has_hockney && !has_loggp) refuse(reader.path("hockney"), "is missing, and loggp too");
  Hockney hockney;
  if (has_hockney) {
    const Reader given = reader.inner("hockney");
    hockney = {given.value("alpha_us"), given.value("beta_us_per_byte")};
  }
  LogGp loggp;
  if (has_loggp) {
    const Reader given = reader.inner("loggp");
    loggp = {given.value("L_us"), given.value("o_us"), given.value("g_us"), given.value("G_us_per_byte"),
             given.value("word_bytes", LogGp().word_bytes)};
    if (loggp.word_bytes < 1) refuse("loggp.word_bytes", "is less than 1");
    if (!has_hockney) hockney = {2 * loggp.overhead_us + loggp.latency_us, loggp.gap_us_per_byte};
  }
  Link link = link_from_hockney(hockney.alpha_us, hockney.beta_us_per_byte);
  if (has_loggp) link.loggp = loggp;
  if (reader.has("plogp")) {
    const Reader given = reader.inner("plogp");
    link.plogp = {given.value("L_us"), given.curve("os_us"), given.curve("or_us"), given.curve("g_us"),
                  given.curve_if_any("whole_us")};
  }
  for (const char* part : {"hockney", "loggp", "plogp"}) {
    if (!reader.has(part)) filled->push_back(reader.path(part));
  }
  return link;
}

SharedMemory shared_from(const Reader& reader) {
  return {.signal_us = reader.value("signal_us"),
          .flag_us = reader.value("flag_us"),
          .await_us = reader.value("await_us"),
          .put_us = reader.curve("put_us"),
          .get_us = reader.curve("get_us"),
          .copy_us = reader.curve("copy_us"),
          .combine_us = reader.curve("combine_us"),
          .single_copy_us = reader.curve("single_copy_us"),
          .fused_us = reader.value("fused_us"),
          .line_us = reader.value("line_us"),
          .memory_us_per_byte = reader.value("memory_us_per_byte"),
          .channel_bytes = reader.value("channel_bytes")};
}

// For messages of a node that were given by their two parameters alone. A copy is half of a message, as in
// the machine of G1, where that takes longer than what is usual.
void slow_down_copies(const Hockney& node, SharedMemory* shared) {
  const double half = node.beta_us_per_byte / 2;
  constexpr std::int64_t bytes = 8 << 20;
  for (Curve* curve :
       {&shared->put_us, &shared->get_us, &shared->copy_us, &shared->combine_us, &shared->single_copy_us}) {
    const double least = curve->at(0);
    if (least + half * bytes > curve->at(bytes)) *curve = Curve({{0, least}, {bytes, least + half * bytes}});
  }
}

// Of what stands in a file's place: values of the usual machine, noted down.
class Filler {
 public:
  Filler(const Reader& reader, std::vector<std::string>* filled) : reader_(reader), filled_(filled) {}

  Value value(const char* key, const Value& usual) const {
    return is_there(key) ? reader_.value(key) : usual;
  }
  Curve curve(const char* key, const Curve& usual) const {
    return is_there(key) ? reader_.curve(key) : usual;
  }
  bool is_there(const char* key) const {
    if (reader_.has(key)) return true;
    filled_->push_back(reader_.path(key));
    return false;
  }

 private:
  const Reader& reader_;
  std::vector<std::string>* filled_;
};

Machine machine_from(const ordered_json& json) {
  const Reader reader(json, "");
  if (reader.text("schema") != "unisono-machine") refuse("schema", "is not 'unisono-machine'");
  const double version = reader.value("version");
  if (version != schema_version) {
    refuse("version", "is not " + std::to_string(schema_version) + ", which this Unisono reads");
  }
  const Machine& usual = default_machine();
  Machine machine;
  const Filler filler(reader, &machine.filled);
  machine.name = reader.text("name");
  machine.note = reader.text("note");
  machine.cores_per_node = static_cast<int>(filler.value("cores_per_node", usual.cores_per_node));
  if (machine.cores_per_node < 1) refuse("cores_per_node", "is less than 1");
  machine.nodes_on_cores = reader.count("nodes_on_cores", 1);
  if (machine.nodes_on_cores < 1) refuse("nodes_on_cores", "is less than 1");
  machine.call_us = reader.value("call_us", 0);
  machine.step_us = reader.value("step_us", 0);
  machine.switch_us = filler.value("switch_us", usual.switch_us);
  machine.message_switch_us = reader.value("message_switch_us", machine.switch_us);
  machine.node = link_from(reader.inner("node"), &machine.filled);
  machine.network = link_from(reader.inner("network"), &machine.filled);
  machine.fresh_message_us = reader.curve_if_any("fresh_message_us");
  machine.card = {0, machine.network.hockney.beta_us_per_byte};
  if (filler.is_there("network_card")) {
    const Reader card = reader.inner("network_card");
    machine.card = {card.value("message_us"), card.value("us_per_byte")};
  }
  machine.shared = usual.shared;
  if (filler.is_there("shared_memory")) {
    machine.shared = shared_from(reader.inner("shared_memory"));
  } else {
    slow_down_copies(machine.node.hockney, &machine.shared);
  }
  if (machine.shared.channel_bytes < 1) refuse("shared_memory.channel_bytes", "is less than 1");
  machine.overlap_penalty_us = filler.curve("overlap_penalty_us", usual.overlap_penalty_us);
  if (reader.has("filled")) machine.filled = reader.texts("filled");
  return machine;
}

ordered_json json_of(const Value& value) {
  if (!value.low && !value.high) return value.value;
  ordered_json json = {{"value", value.value}};
  if (value.low) json["low"] = *value.low;
  if (value.high) json["high"] = *value.high;
  return json;
}

ordered_json json_of(const Curve& curve) {
  ordered_json json = {{"bytes", ordered_json::array()}, {"us", ordered_json::array()}};
  for (const Curve::Point& point : curve.points()) {
    json["bytes"].push_back(point.bytes);
    json["us"].push_back(point.us.value);
    if (point.us.low) json["low"].push_back(*point.us.low);
    if (point.us.high) json["high"].push_back(*point.us.high);
  }
  return json;
}

ordered_json json_of(const Link& link) {
  ordered_json json = {{"hockney",
                        {{"alpha_us", json_of(link.hockney.alpha_us)},
                         {"beta_us_per_byte", json_of(link.hockney.beta_us_per_byte)}}},
                       {"loggp",
                        {{"L_us", json_of(link.loggp.latency_us)},
                         {"o_us", json_of(link.loggp.overhead_us)},
                         {"g_us", json_of(link.loggp.gap_us)},
                         {"G_us_per_byte", json_of(link.loggp.gap_us_per_byte)},
                         {"word_bytes", json_of(link.loggp.word_bytes)}}},
                       {"plogp",
                        {{"L_us", json_of(link.plogp.latency_us)},
                         {"os_us", json_of(link.plogp.send_us)},
                         {"or_us", json_of(link.plogp.receive_us)},
                         {"g_us", json_of(link.plogp.gap_us)}}}};
  if (!link.plogp.whole_us.empty()) json["plogp"]["whole_us"] = json_of(link.plogp.whole_us);
  return json;
}

ordered_json json_of(const SharedMemory& shared) {
  return {{"signal_us", json_of(shared.signal_us)},
          {"flag_us", json_of(shared.flag_us)},
          {"await_us", json_of(shared.await_us)},
          {"put_us", json_of(shared.put_us)},
          {"get_us", json_of(shared.get_us)},
          {"copy_us", json_of(shared.copy_us)},
          {"combine_us", json_of(shared.combine_us)},
          {"single_copy_us", json_of(shared.single_copy_us)},
          {"fused_us", json_of(shared.fused_us)},
          {"line_us", json_of(shared.line_us)},
          {"memory_us_per_byte", json_of(shared.memory_us_per_byte)},
          {"channel_bytes", json_of(shared.channel_bytes)}};
}

// Files that people write have none of this.
ReadMachine with_facts(ReadMachine read, const ordered_json& json) {
  read.choices = choices_from(json.value("findings", ordered_json()));
  const ordered_json facts = json.value("measured", ordered_json());
  if (!facts.is_object()) return read;
  const ordered_json mpi = facts.value("mpi", ordered_json());
  if (mpi.is_string()) read.mpi = mpi.get<std::string>();
  read.is_steady = facts.value("is_steady", ordered_json()) != ordered_json(false);
  const ordered_json taken = facts.value("not_measured", ordered_json());
  for (const ordered_json& part : taken) read.has_network = read.has_network && part != "network";
  return read;
}

}  // namespace

ReadMachine machine_from_json(std::string_view text) {
  const ReadJson read = json_from(text);
  if (!read.problem.empty()) return {std::nullopt, read.problem};
  try {
    return with_facts({.machine = machine_from(read.json)}, read.json);
  } catch (const Refusal& refusal) {
    return {std::nullopt, refusal.what()};
  }
}

std::string to_json(const Machine& machine) {
  ordered_json json = {{"schema", "unisono-machine"},
                       {"version", schema_version},
                       {"name", machine.name},
                       {"note", machine.note},
                       {"cores_per_node", machine.cores_per_node},
                       {"nodes_on_cores", machine.nodes_on_cores},
                       {"call_us", json_of(machine.call_us)},
                       {"step_us", json_of(machine.step_us)},
                       {"switch_us", json_of(machine.switch_us)},
                       {"message_switch_us", json_of(machine.message_switch_us)},
                       {"node", json_of(machine.node)},
                       {"network", json_of(machine.network)},
                       {"network_card",
                        {{"message_us", json_of(machine.card.message_us)},
                         {"us_per_byte", json_of(machine.card.us_per_byte)}}},
                       {"shared_memory", json_of(machine.shared)},
                       {"overlap_penalty_us", json_of(machine.overlap_penalty_us)}};
  if (!machine.fresh_message_us.empty()) json["fresh_message_us"] = json_of(machine.fresh_message_us);
  if (!machine.filled.empty()) json["filled"] = machine.filled;
  return json.dump(1, ' ', true) + "\n";
}

}  // namespace unisono::model
