// SPDX-License-Identifier: BSD-3-Clause
// What a machine consists of, as hwloc tells it: sockets, NUMA domains, last-level caches, cores.
// Without its library on the machine nothing is known; it is opened when it is asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unisono {

enum class HardwareKind : std::uint8_t { socket, numa, cache, core };

struct HardwarePart {
  HardwareKind kind = HardwareKind::core;
  int number = 0;           // of its kind: what the system calls a NUMA domain, else in order
  std::uint64_t bytes = 0;  // of memory, or of the cache
  std::string model;        // of a socket; may be empty
  std::vector<int> cpus;    // the system's numbers, ascending; at least one
};

struct Hardware {
  std::uint64_t memory_bytes = 0;
  std::vector<int> cpus;
  std::vector<HardwarePart> parts;  // by kind, in order
  bool is_this_machine = true;      // not one that a description tells of
};

// `problem` says why nothing is known; empty: there is something.
struct ReadHardware {
  std::optional<Hardware> hardware;
  std::string problem;
};

// hwloc's descriptions: "package:2 numa:4 l3:2 core:4 pu:2", or a file that lstopo has written. Neither: this
// machine, or what HWLOC_SYNTHETIC or HWLOC_XMLFILE describe in its place.
struct HardwareSource {
  std::string synthetic, xml_file;
};
// Takes some milliseconds. `library` is what dlopen takes.
inline constexpr const char* hwloc_name = "libhwloc.so.15";
ReadHardware read_hardware(const HardwareSource& source = {}, const char* library = hwloc_name);

}  // namespace unisono
