// SPDX-License-Identifier: BSD-3-Clause
// A machine as a file: python/unisono/schema/machine.schema.json.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "model/machine.h"
#include "model/machine_reader.h"
#include "model/noise_file.h"

namespace unisono::model {
namespace {

using nlohmann::ordered_json;

constexpr int schema_version = 1;

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

std::vector<Distance> distances_from(const Reader& reader) {
  std::vector<Distance> all;
  for (const Reader& one : reader.list_if_any("distances")) {
    const auto kind = patterns::kind_from_name(one.text("across"));
    if (!kind) refuse(one.path("across"), "is none of socket, numa, cache");
    if (std::ranges::find(all, *kind, &Distance::across) != all.end())
      refuse(one.path("across"), "is given twice");
    all.push_back(
        {*kind, one.value("line_us"), one.value("us_per_byte"), one.value("shared_us_per_byte", 0)});
  }
  return all;
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
          .channel_bytes = reader.value("channel_bytes"),
          .distances = distances_from(reader)};
}

std::vector<Combine> combine_from(const Reader& reader) {
  std::vector<Combine> all;
  for (const Reader& one : reader.list_if_any("combine"))
    all.push_back({one.text("type"), one.text("op"), one.curve("us")});
  return all;
}

std::vector<SerialReductions> serial_from(const Reader& reader) {
  std::vector<SerialReductions> all;
  for (const Reader& one : reader.list_if_any("serial_reductions")) {
    const std::string level = one.text("level");
    if (level != "node" && level != "network") refuse(one.path("level"), "is neither node nor network");
    SerialReductions serial{.is_between_nodes = level == "network", .us = one.values("us")};
    serial.bytes = one.count("bytes", std::nullopt);
    constexpr double most = 1 << 20;
    for (const double children : one.numbers("children")) {
      if (children < 1 || children > most) refuse(one.path("children"), "has a number that is not possible");
      serial.children.push_back(static_cast<int>(children));
    }
    if (serial.us.size() != serial.children.size() || serial.us.size() < 2)
      refuse(one.path("us"), "has not as many numbers as children, two at least");
    all.push_back(std::move(serial));
  }
  return all;
}

Agent agent_from(const Reader& reader, std::vector<std::string>* filled) {
  return {.ring_us = reader.value("ring_us"),
          .start_us = reader.value("start_us"),
          .completion_us = reader.value("completion_us"),
          .crossing_us = reader.value("crossing_us", 0),
          .link = link_from(reader.inner("link"), filled),
          .combine_us = reader.curve("combine_us"),
          .combine = combine_from(reader)};
}

std::vector<NoiseSource> noise_from(const Reader& reader) {
  std::vector<NoiseSource> all;
  for (const Reader& one : reader.list_if_any("noise")) {
    const std::string kind = one.text("kind");
    const ReadNoise read = noise_from_text(kind == "recorded" ? kind : kind + "(rate=1,mean=1)");
    if (!read.source) refuse(one.path("kind"), read.problem);
    NoiseSource source = *read.source;
    if (source.kind == NoiseKind::recorded) {
      source.recording = recording_from(one.inner("recording"));
    } else {
      source.rate_hz = one.value("rate_hz");
      source.mean_us = one.value("mean_us");
      source.shape = one.value("shape", 0);
      if (source.rate_hz <= 0) refuse(one.path("rate_hz"), "is not above 0");
    }
    source.waiting_share = one.value("waiting_share", 1);
    all.push_back(std::move(source));
  }
  return all;
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
  machine.serial = serial_from(reader);
  machine.combine = combine_from(reader);
  if (reader.has("agent")) machine.agent = agent_from(reader.inner("agent"), &machine.filled);
  machine.broadcast_us = reader.value("broadcast_us", 0);
  machine.noise = noise_from(reader);
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
  ordered_json json = {{"signal_us", json_of(shared.signal_us)},
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
  for (const Distance& distance : shared.distances)
    json["distances"].push_back({{"across", name(distance.across)},
                                 {"line_us", json_of(distance.line_us)},
                                 {"us_per_byte", json_of(distance.us_per_byte)},
                                 {"shared_us_per_byte", json_of(distance.shared_us_per_byte)}});
  return json;
}

ordered_json json_of(const SerialReductions& serial) {
  ordered_json json = {{"level", serial.is_between_nodes ? "network" : "node"},
                       {"bytes", serial.bytes},
                       {"children", serial.children}};
  for (const Value& us : serial.us) {
    json["us"].push_back(us.value);
    if (us.low) json["low"].push_back(*us.low);
    if (us.high) json["high"].push_back(*us.high);
  }
  return json;
}

std::vector<ordered_json> json_of(const std::vector<Combine>& all) {
  std::vector<ordered_json> list;
  for (const Combine& one : all)
    list.push_back({{"type", one.type}, {"op", one.op}, {"us", json_of(one.us)}});
  return list;
}

ordered_json json_of(const Agent& agent) {
  return {{"ring_us", json_of(agent.ring_us)},
          {"start_us", json_of(agent.start_us)},
          {"completion_us", json_of(agent.completion_us)},
          {"crossing_us", json_of(agent.crossing_us)},
          {"link", json_of(agent.link)},
          {"combine_us", json_of(agent.combine_us)},
          {"combine", json_of(agent.combine)}};
}

ordered_json json_of(const NoiseSource& source) {
  ordered_json json = {{"kind", name(source.kind)}};
  if (source.kind == NoiseKind::recorded) {
    json["recording"] = {{"length_us", source.recording.length_us},
                         {"begins_us", source.recording.begins_us},
                         {"us", source.recording.us}};
  } else {
    json["rate_hz"] = source.rate_hz;
    json["mean_us"] = source.mean_us;
    json["shape"] = source.shape;
  }
  json["waiting_share"] = source.waiting_share;
  return json;
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
  if (!read.problem.empty()) return {std::nullopt, "it " + read.problem};
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
  for (const SerialReductions& serial : machine.serial) json["serial_reductions"].push_back(json_of(serial));
  if (!machine.combine.empty()) json["combine"] = json_of(machine.combine);
  if (machine.agent) json["agent"] = json_of(*machine.agent);
  if (machine.broadcast_us > 0) json["broadcast_us"] = json_of(machine.broadcast_us);
  for (const NoiseSource& source : machine.noise) json["noise"].push_back(json_of(source));
  if (!machine.filled.empty()) json["filled"] = machine.filled;
  return json.dump(1, ' ', true) + "\n";
}

}  // namespace unisono::model
