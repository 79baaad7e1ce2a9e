// SPDX-License-Identifier: BSD-3-Clause
// The two clusters of the NIC-based reduction (N1-N10): Quadrics, in 2003.
#include <array>
#include <utility>

#include "model/machine.h"

namespace unisono::model {
namespace {

constexpr std::array<std::int64_t, 4> elements = {1, 2, 4, 8};

struct Row {
  const char *type, *op;
  std::int64_t element_bytes;
  std::array<double, 4> us;  // of 1, 2, 4 and 8 elements
};

// Table 4.3, (a) and (b).
constexpr std::array<Row, 4> on_host = {{{"int32", "max", 4, {0.03, 0.03, 0.07, 0.13}},
                                         {"int32", "sum", 4, {0.02, 0.03, 0.06, 0.13}},
                                         {"float64", "max", 8, {0.04, 0.07, 0.14, 0.28}},
                                         {"float64", "sum", 8, {0.02, 0.06, 0.12, 0.16}}}};
constexpr std::array<Row, 4> on_card = {{{"int32", "max", 4, {0.27, 0.46, 0.84, 1.60}},
                                         {"int32", "sum", 4, {0.25, 0.44, 0.76, 1.44}},
                                         {"float64", "max", 8, {0.67, 1.27, 2.44, 4.80}},
                                         {"float64", "sum", 8, {1.50, 2.95, 5.80, 11.56}}}};

std::vector<Combine> combine_from(const std::array<Row, 4>& rows, double float_factor) {
  std::vector<Combine> all;
  for (const Row& row : rows) {
    const double factor = row.element_bytes == 8 ? float_factor : 1;
    std::vector<Curve::Point> points;
    for (std::size_t i = 0; i < elements.size(); ++i)
      points.push_back({elements[i] * row.element_bytes, factor * row.us[i]});
    all.push_back({row.type, row.op, Curve(std::move(points))});
  }
  for (const char* type : {"int32", "float64"}) all.push_back({type, "none", Curve({{0, 0.0}})});
  return all;
}

// Table 4.2: L until a message is there, and r of the receiver's time. The source's messages are one packet
// of 64 bytes at most; what lies beyond is no more than a guess from the 340 MB/s that such networks had.
Link link_of(double latency_us, double receive_us) {
  constexpr double us_per_byte = 3e-3;
  constexpr std::int64_t packet = 64, long_message = 1 << 20;
  const double long_us = receive_us + us_per_byte * (long_message - packet);
  Link link = link_from_hockney(latency_us + receive_us, us_per_byte);
  // Its o is of both sides, so that r is a part of L here.
  link.loggp = {latency_us + receive_us, 0, receive_us, us_per_byte, packet};
  link.plogp = {latency_us,
                Curve({{0, 0.0}}),
                Curve({{0, receive_us}}),
                Curve({{0, receive_us}, {packet, receive_us}, {long_message, long_us}}),
                {}};
  return link;
}

// float_factor: what joining floating point takes on the card, of table 4.3.
Machine quadrics(Machine machine, double float_factor) {
  machine.cores_per_node = 2;
  machine.call_us = 2.70;  // C of the hosts, table 4.2 (a)
  machine.network = link_of(2.90, 0.42);
  machine.card = {0, 0};
  machine.overlap_penalty_us = Curve({{0, 0.0}});
  machine.shared.memory_us_per_byte = 0;
  machine.shared.combine_us = Curve({{0, 0.0}});
  machine.combine = combine_from(on_host, 1);
  // Table 4.2 (b): C = 9.20 is before the card begins and after it has ended, in parts that the source does
  // not give. They are fitted to section 5.2.2: hosts at the ends leave about half of the overhead.
  constexpr double before_us = 9.0, after_us = 0.2, crossing_us = (2.90 - 2.10) / 2;
  machine.agent = Agent{.ring_us = 0.5,
                        .start_us = before_us - 0.5,
                        .completion_us = after_us,
                        .crossing_us = crossing_us,
                        .link = link_of(2.10, 0.42),
                        .combine_us = Curve({{0, 0.0}}),
                        .combine = combine_from(on_card, float_factor)};
  machine.broadcast_us = 5;
  return machine;
}

}  // namespace

Machine quadrics_crescendo(Machine usual) {
  Machine machine = quadrics(std::move(usual), 1);
  machine.name = "quadrics-crescendo";
  machine.note =
      "32 nodes of two Pentium III at 1 GHz on Quadrics in 2003 (N6): tables 4.2 and 4.3; the parts of C and "
      "the "
      "broadcast in hardware are taken to be";
  return machine;
}

// Its figures need 2.1 times the time for sums of floating point that table 4.3 gives. Two say so: 73.67 us
// at 900 nodes, and the 45 us between 32-bit integers and floating point at 906.
Machine quadrics_alc(Machine usual) {
  constexpr double float_factor = 2.12;
  Machine machine = quadrics(std::move(usual), float_factor);
  machine.name = "quadrics-alc";
  machine.note =
      "960 nodes of two Xeon at 2.4 GHz on Quadrics in 2003 (N7): tables 4.2 and 4.3, with floating point on "
      "the "
      "card 2.12 times as long as there, and noise, both fitted to table 5.1";
  machine.noise = {{.kind = NoiseKind::uniform, .rate_hz = 16, .mean_us = 115, .waiting_share = 0.005}};
  return machine;
}

}  // namespace unisono::model
