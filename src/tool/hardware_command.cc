// SPDX-License-Identifier: BSD-3-Clause
// What this machine consists of, or one that hwloc has a description of.
#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/hardware.h"
#include "patterns/layout.h"
#include "shm/pool/node_domains.h"
#include "tool/commands.h"
#include "tool/question.h"

namespace unisono::tool {
namespace {

using nlohmann::ordered_json;

constexpr std::array<const char*, 4> names{"socket", "numa", "cache", "core"};

// The layout of a job with a rank on each core.
patterns::Layout layout_of_cores(const Hardware& hardware) {
  const auto parts = std::make_unique<shm::PartsOfCpus>();
  shm::number_parts(hardware, parts.get());
  std::vector<patterns::DomainLabels> levels;
  for (std::size_t kind = 0; kind < shm::domain_kinds; ++kind)
    levels.push_back({.kind = static_cast<patterns::DomainKind>(kind), .labels = {}});
  for (const HardwarePart& part : hardware.parts) {
    const auto cpu = static_cast<std::size_t>(part.cpus.front());
    if (part.kind != HardwareKind::core || cpu >= shm::most_cpus) continue;
    for (std::size_t kind = 0; kind < levels.size(); ++kind)
      levels[kind].labels.push_back((*parts)[cpu][kind]);
  }
  patterns::Layout layout = patterns::Layout::one_node(static_cast<int>(levels.front().labels.size()));
  layout.divide(levels);
  return layout;
}

ordered_json to_json(const HardwarePart& part) {
  ordered_json json = {{"kind", names[static_cast<std::size_t>(part.kind)]}, {"number", part.number}};
  if (part.bytes != 0) json["bytes"] = part.bytes;
  if (!part.model.empty()) json["model"] = part.model;
  json["cpus"] = part.cpus;
  return json;
}

}  // namespace

int describe_hardware(const std::vector<std::string>& words) {
  const Arguments arguments(words, {"synthetic", "xml"}, {});
  const ReadHardware read =
      read_hardware({.synthetic = arguments.text("synthetic", ""), .xml_file = arguments.text("xml", "")});
  if (!read.hardware) throw UsageError(read.problem);
  const Hardware& hardware = *read.hardware;
  ordered_json parts = ordered_json::array();
  for (const HardwarePart& part : hardware.parts) parts.push_back(to_json(part));
  const patterns::Layout layout = layout_of_cores(hardware);
  const ordered_json answer = {{"is_this_machine", hardware.is_this_machine},
                               {"memory_bytes", hardware.memory_bytes},
                               {"cpus", hardware.cpus},
                               {"parts", parts},
                               {"layout", layout.size() > 0 ? layout.text() : ""}};
  std::puts(answer.dump(-1, ' ', true, ordered_json::error_handler_t::replace).c_str());
  return 0;
}

}  // namespace unisono::tool
