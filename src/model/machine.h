// SPDX-License-Identifier: BSD-3-Clause
// What a machine's messages and shared memory cost: the parameters of all models, as measured (A9) or
// typical. docs/reference/machine-format.md explains each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/measured_choices.h"
#include "model/noise.h"
#include "patterns/domains.h"

namespace unisono::model {

// A number with the interval that it was measured to lie in.
struct Value {
  double value = 0;
  std::optional<double> low, high;

  Value() = default;
  Value(double v) : value(v) {}
  operator double() const { return value; }
  bool operator==(const Value&) const = default;
};

// A cost that depends on a length: piecewise linear between its points, constant before the first one, and
// beyond the last one as steep as before it.
class Curve {
 public:
  struct Point {
    std::int64_t bytes = 0;
    Value us;
    bool operator==(const Point&) const = default;
  };
  Curve() = default;
  // In ascending order of bytes.
  Curve(std::vector<Point> points);
  double at(std::int64_t bytes) const;
  bool empty() const { return points_.empty(); }
  const std::vector<Point>& points() const { return points_; }
  // Of its end: microseconds per byte.
  double last_slope() const;
  bool operator==(const Curve& other) const { return points_ == other.points_; }

 private:
  std::vector<Point> points_;
};

// G1: a message of m bytes takes alpha + beta * m.
struct Hockney {
  Value alpha_us;
  Value beta_us_per_byte;
  bool operator==(const Hockney&) const = default;
};

// Sections 4.2.2 and 4.2.3: latency, overhead on either side, gap between messages, gap per byte. LogP has no
// gap per byte: there a message is so many words, each of them a message.
struct LogGp {
  Value latency_us;       // L
  Value overhead_us;      // o
  Value gap_us;           // g
  Value gap_us_per_byte;  // G
  Value word_bytes = 8;
  bool operator==(const LogGp&) const = default;
};

// Section 4.2.4: overheads and gap depend on the length; L includes the sender's overhead of an empty
// message.
struct PLogP {
  Value latency_us;  // L
  Curve send_us;     // os(m)
  Curve receive_us;  // or(m)
  Curve gap_us;      // g(m)
  Curve whole_us;    // a message by itself, as measured: then it stands for L + g(m); may be empty
  bool operator==(const PLogP&) const = default;
};

enum class MessageModel : std::uint8_t { hockney, logp, loggp, plogp };
std::string_view name(MessageModel model);
std::optional<MessageModel> message_model_from_name(std::string_view name);

// One message as all the models see it.
struct MessageCost {
  double send_us = 0;       // the sender's core is taken
  double occupancy_us = 0;  // no other message leaves (or enters) the rank
  double transit_us = 0;    // from the start until the last byte is at the receiver
  double receive_us = 0;    // the receiver's core is taken, after that
  double whole_us() const { return transit_us + receive_us; }
};

// The host's messages on one level.
struct Link {
  Hockney hockney;
  LogGp loggp;
  PLogP plogp;
  MessageCost message(MessageModel model, std::int64_t bytes) const;
  bool operator==(const Link&) const = default;
};

// What all ranks of a node share when they send to other nodes.
struct NetworkCard {
  Value message_us;
  Value us_per_byte;
  double occupancy_us(std::int64_t bytes) const {
    return message_us + us_per_byte * static_cast<double>(bytes);
  }
  bool operator==(const NetworkCard&) const = default;
};

// What it takes to fetch what a rank of another domain has written. Of the domains that only one of the two
// is in, the outermost one counts.
struct Distance {
  patterns::DomainKind across = patterns::DomainKind::numa;
  Value line_us;      // each line of a fused operation, and each flag
  Value us_per_byte;  // beside what copies and reductions of slots take
  Value
      shared_us_per_byte;  // of all that crosses into one domain: one over the rate of all its ranks together
  bool operator==(const Distance&) const = default;
};

// A1: the operations on the node's shared memory, and what goes with them.
struct SharedMemory {
  Value signal_us;           // raising the own flag
  Value flag_us;             // until another rank sees it
  Value await_us;            // looking at a flag that is up
  Curve put_us;              // own memory -> slot
  Curve get_us;              // slot -> own memory: two optima, small pieces in the caches and large ones past
  Curve copy_us;             // inside the own memory
  Curve combine_us;          // joining two vectors of the own memory
  Curve single_copy_us;      // out of another rank's memory
  Value fused_us;            // a fused operation, beside its lines and waits
  Value line_us;             // each line of a fused operation that is written, or read from another rank
  Value memory_us_per_byte;  // what all copies of a node share
  Value channel_bytes;       // of one channel, shared out among the node's ranks
  std::vector<Distance> distances{};  // by kind of domain; where none is given, all are as near as each other
  bool operator==(const SharedMemory&) const = default;
};

// What joining two vectors takes where it depends on their type and the operator (table 4.3 of N6). Such
// curves are of one type and one operator, by the bytes of a vector.
struct Combine {
  std::string type, op;  // "float64", "sum"
  Curve us;
  bool operator==(const Combine&) const = default;
};

// N1: a processor beside each node's cores (a NIC, a DPU, a spare core) that reduces for the node's ranks.
struct Agent {
  Value ring_us;                 // a host's core, to hand a call over
  Value start_us;                // from then on until the agent begins
  Value completion_us;           // from the agent's end until the host can see it
  Value crossing_us;             // that a message takes longer for each of its ends that is at a host
  Link link;                     // messages between agents
  Curve combine_us;              // joining two vectors
  std::vector<Combine> combine;  // by type and operator, before the above
  bool operator==(const Agent&) const = default;
};

// N6, section 4.1, as measured: a root hears from its children one after the other.
struct SerialReductions {
  bool is_between_nodes = false;
  std::int64_t bytes = 0;
  std::vector<int> children;
  std::vector<Value> us;  // of as many children
  bool operator==(const SerialReductions&) const = default;
};

struct Machine {
  std::string name;
  std::string note;  // where the numbers come from
  int cores_per_node = 1;
  int nodes_on_cores = 1;   // nodes that share those cores: containers, emulated clusters
  Value call_us = 0;        // a collective call that runs a schedule, beside its steps
  Value step_us = 0;        // each step of a schedule, beside what it does
  Value switch_us;          // a core changes from one rank to another
  Value message_switch_us;  // the same, from one that waits for messages: it asks its MPI for them
  Link node;                // messages of the host inside a node
  Link network;             // and between nodes
  Curve fresh_message_us;   // what those inside a node take longer of data that the sender has just written,
                            // which come out of its caches; may be empty. Of P-LogP's messages.
  NetworkCard card;
  SharedMemory shared;
  Curve overlap_penalty_us;  // ovp(m), section 4.5: what copying m bytes costs messages that are under way
  std::vector<SerialReductions> serial;  // from which the closed forms of trees follow; may be empty
  std::vector<Combine> combine;          // by type and operator, before shared.combine_us
  std::optional<Agent> agent;            // of each node; none: there is none
  Value broadcast_us;                    // N10: the network sends a result on to all nodes; 0: it cannot
  std::vector<NoiseSource> noise;        // that meets each core; `unisono simulate` alone counts it
  std::vector<std::string> filled;  // parts of a file that it left out: what follows from others, or is usual

  const Link& link(bool is_between_nodes) const { return is_between_nodes ? network : node; }
  bool operator==(const Machine&) const = default;
};

// Joins as for that type and operator, hosts and agents, where they say so.
Machine with_combine(Machine machine, std::string_view type, std::string_view op);

// Built in: "typical" (the default), "ethernet", "myrinet" (the cluster of G1), "quadrics-crescendo" and
// "quadrics-alc" (those of N6 and N7).
const std::vector<Machine>& built_in_machines();
const Machine& default_machine();
const Machine* find_built_in(std::string_view name);
// The clusters of N6 and N7, on what is usual elsewhere.
Machine quadrics_crescendo(Machine usual);
Machine quadrics_alc(Machine usual);
// All models' parameters of messages from Hockney's two, split as those of G1 are.
Link link_from_hockney(const Value& alpha_us, const Value& beta_us_per_byte);

// The file's text <-> machine. What is wrong is said as "shared.put_us: ..."; then there is no machine.
struct ReadMachine {
  std::optional<Machine> machine;
  std::string problem;
  // Where `unisono machine measure` wrote the file: with which MPI, and what of it is worth something.
  std::string mpi;
  bool is_steady = true;    // the machine stayed what it was meanwhile
  bool has_network = true;  // messages between nodes were measured
  MeasuredChoices choices;  // how to wait, and in how large buffers
};
ReadMachine machine_from_json(std::string_view text);
std::string to_json(const Machine& machine);

}  // namespace unisono::model
