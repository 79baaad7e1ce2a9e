// SPDX-License-Identifier: BSD-3-Clause
// Machines to ask about where nobody has measured one.
#include <algorithm>
#include <cmath>

#include "model/machine.h"

namespace unisono::model {
namespace {

// The parameters of all models follow from those of LogGP. The gap of m bytes, g(m), is the gap and its
// bytes. But before the next message may start, the sender has at least the overhead. Overheads grow where
// small messages are copied.
struct LinkFigures {
  double latency_us, overhead_us, gap_us, us_per_byte;
  double copied_us_per_byte;  // of a message that goes through a buffer, on either side
  std::int64_t buffered_bytes;
};

Link link_from(const LinkFigures& figures) {
  Link link;
  link.hockney = {2 * figures.overhead_us + figures.latency_us, figures.us_per_byte};
  link.loggp = {figures.latency_us, figures.overhead_us, figures.gap_us, figures.us_per_byte, 8};
  const auto overhead = [&](std::int64_t bytes) {
    const auto copied = static_cast<double>(std::min(bytes, figures.buffered_bytes));
    return figures.overhead_us + copied * figures.copied_us_per_byte;
  };
  std::vector<Curve::Point> send, receive, gap;
  for (const std::int64_t bytes : {std::int64_t{0}, figures.buffered_bytes, std::int64_t{1} << 24}) {
    const double interval = figures.gap_us + static_cast<double>(bytes) * figures.us_per_byte;
    const double own = overhead(bytes);
    send.push_back({bytes, own});
    receive.push_back({bytes, std::min(own, std::max(own, interval))});
    gap.push_back({bytes, std::max(own, interval)});
  }
  // L + g(0) is the time of an empty message in all models.
  const double empty = 2 * figures.overhead_us + figures.latency_us;
  link.plogp = {std::max(0.0, empty - gap.front().us), send, receive, gap};
  return link;
}

// One core and one node of a server of today. Rates of copies are as measured on one (2 cores, shared
// last-level cache). Inside the own memory they are 57 GB/s at 64 KiB, 48 at 1 MiB, and 30 at 8 MiB. Out of
// another core's caches they are 8 to 11 GB/s where the data still lies in that core's second level, and 18
// to 20 past it. A cache line takes 60 ns from core to core, a switch between ranks 1.4 us.
SharedMemory typical_shared_memory() {
  constexpr std::int64_t kib = 1024, mib = 1024 * 1024;
  return {.signal_us = 0.01,
          .flag_us = 0.06,
          .await_us = 0.005,
          .put_us = Curve({{0, 0.02}, {4 * kib, 0.2}, {64 * kib, 2.6}, {mib, 42.0}, {8 * mib, 420.0}}),
          .get_us = Curve(
              {{0, 0.05}, {4 * kib, 0.3}, {16 * kib, 1.3}, {64 * kib, 6.5}, {mib, 58.0}, {8 * mib, 430.0}}),
          .copy_us = Curve({{0, 0.02}, {4 * kib, 0.08}, {64 * kib, 1.15}, {mib, 22.0}, {8 * mib, 280.0}}),
          .combine_us = Curve({{0, 0.02}, {4 * kib, 0.15}, {64 * kib, 2.4}, {mib, 45.0}, {8 * mib, 480.0}}),
          .single_copy_us = Curve({{0, 0.5}, {4 * kib, 0.9}, {64 * kib, 7.0}, {mib, 95.0}, {8 * mib, 830.0}}),
          .fused_us = 0.01,
          .line_us = 0.03,
          .memory_us_per_byte = 1e-5,  // 100 GB/s, all cores together
          .channel_bytes = 4.0 * 1024 * 1024};
}

Machine typical() {
  Machine machine;
  machine.name = "typical";
  machine.note =
      "a server of today on a network of 100 Gbit/s with remote access to memory: 1.5 us and 12 GB/s between "
      "nodes, as is published of such networks; copies and flags as measured on one processor";
  machine.cores_per_node = 48;
  machine.switch_us = 1.4;
  machine.message_switch_us = 2;
  machine.node = link_from({.latency_us = 0.2,
                            .overhead_us = 0.15,
                            .gap_us = 0.2,
                            .us_per_byte = 1.1e-4,
                            .copied_us_per_byte = 5e-5,
                            .buffered_bytes = 4096});
  machine.network = link_from({.latency_us = 0.8,
                               .overhead_us = 0.35,
                               .gap_us = 0.4,
                               .us_per_byte = 8.3e-5,
                               .copied_us_per_byte = 5e-5,
                               .buffered_bytes = 8192});
  machine.card = {.message_us = 0.01, .us_per_byte = 8.3e-5};
  machine.shared = typical_shared_memory();
  machine.overlap_penalty_us = Curve({{0, 0.0}, {64 * 1024, 0.0}, {1024 * 1024, 10.0}});
  return machine;
}

// Nobody has measured it: round figures of the order that is published of servers with several dies.
Machine many_cores() {
  using patterns::DomainKind;
  Machine machine = typical();
  machine.name = "many-cores";
  machine.note =
      "a server of today with up to 192 cores: as typical, and what comes from another cache, NUMA domain or "
      "socket takes longer, by round figures that were not measured (lines 80, 100 and 200 ns)";
  machine.cores_per_node = 192;
  machine.shared.distances = {
      {.across = DomainKind::cache, .line_us = 0.08, .us_per_byte = 3e-5, .shared_us_per_byte = 2e-5},
      {.across = DomainKind::numa, .line_us = 0.1, .us_per_byte = 4e-5, .shared_us_per_byte = 1e-5},
      {.across = DomainKind::socket, .line_us = 0.2, .us_per_byte = 6e-5, .shared_us_per_byte = 1e-5}};
  machine.shared.memory_us_per_byte = 2.5e-6;
  return machine;
}

// TCP over 1 Gbit/s.
Machine ethernet() {
  Machine machine = typical();
  machine.name = "ethernet";
  machine.note =
      "a server of today on a network of 1 Gbit/s, TCP through a switch: 50 us and 118 MB/s between nodes";
  machine.network = link_from({.latency_us = 40,
                               .overhead_us = 5,
                               .gap_us = 6,
                               .us_per_byte = 8.5e-3,
                               .copied_us_per_byte = 1e-4,
                               .buffered_bytes = 65536});
  machine.card = {.message_us = 1, .us_per_byte = 8.5e-3};
  return machine;
}

// G1: POWER5 nodes of four on Myrinet, as the source gives them. It measured Hockney's two parameters alone:
// the other models have them split in equal parts, and shared memory copies at the rate of its messages.
Machine myrinet() {
  Machine machine = typical();
  machine.name = "myrinet";
  machine.note =
      "POWER5 nodes on Myrinet in 2005 (G1): alpha 1 us and beta 1.4 ns per byte inside a node, 40 us and 26 "
      "ns per byte between nodes; the parameters of the other models follow from these";
  machine.cores_per_node = 4;
  machine.node = link_from({.latency_us = 0.4,
                            .overhead_us = 0.3,
                            .gap_us = 0.4,
                            .us_per_byte = 1.4e-3,
                            .copied_us_per_byte = 0,
                            .buffered_bytes = 4096});
  machine.network = link_from({.latency_us = 20,
                               .overhead_us = 10,
                               .gap_us = 12,
                               .us_per_byte = 2.6e-2,
                               .copied_us_per_byte = 0,
                               .buffered_bytes = 4096});
  machine.card = {.message_us = 1, .us_per_byte = 2.6e-2};
  const Curve half = Curve({{0, 0.3}, {8 << 20, 0.3 + 0.7e-3 * (8 << 20)}});
  machine.shared.put_us = machine.shared.get_us = machine.shared.copy_us = half;
  machine.shared.combine_us = machine.shared.single_copy_us = half;
  machine.shared.flag_us = 0.2;
  machine.shared.memory_us_per_byte = 2e-4;
  return machine;
}

}  // namespace

// Half of alpha is the latency, a quarter the overhead on either side.
Link link_from_hockney(const Value& alpha_us, const Value& beta_us_per_byte) {
  Link link = link_from({.latency_us = alpha_us / 2,
                         .overhead_us = alpha_us / 4,
                         .gap_us = 0.3 * alpha_us,
                         .us_per_byte = beta_us_per_byte,
                         .copied_us_per_byte = 0,
                         .buffered_bytes = 4096});
  link.hockney = {alpha_us, beta_us_per_byte};
  return link;
}

const std::vector<Machine>& built_in_machines() {
  static const std::vector<Machine> all = {
      typical(), ethernet(), myrinet(), many_cores(), quadrics_crescendo(typical()), quadrics_alc(typical())};
  return all;
}

const Machine& default_machine() {
  return built_in_machines().front();
}

const Machine* find_built_in(std::string_view name) {
  const auto& all = built_in_machines();
  const auto found = std::ranges::find(all, name, &Machine::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace unisono::model
