// SPDX-License-Identifier: BSD-3-Clause
// A run in virtual time under way: messages are in virtual_time.cc, the node's steps in node_time.cc, whose
// turn it is where ranks share cores in shared_cores.cc.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <unordered_map>
#include <vector>

#include "model/virtual_recorder.h"
#include "model/virtual_time.h"

namespace unisono::model {

class VirtualRun {
 public:
  VirtualRun(const schedule::Problem& problem, const BuildProgram& build, const CallSize& size,
             const Machine& machine, const Crew& crew, const RunOptions& options);
  Outcome run();

 private:
  static constexpr std::int64_t pieces_per_progress = 1 << 16;

  enum class EventKind : std::uint8_t {
    finish,  // a piece of a step is done
    reach,   // a message is at its receiver's port
    arrive,  // and in its memory
    flag,    // a raised flag is seen: `piece` is the channel, `step` the tick
    fused,   // what a rank writes in a fused operation is seen: `piece` is the operation's number
    turn,    // core `index` comes to the rank whose turn it is
    begin    // the rank begins its call
  };
  struct Event {
    double us = 0;
    std::uint64_t order = 0;
    EventKind kind = EventKind::finish;
    std::int32_t index = 0;
    std::int32_t piece = 0;
    std::int32_t step = 0;  // or message
    bool operator>(const Event& other) const { return us != other.us ? us > other.us : order > other.order; }
  };

  // Over which link: a node's, the hosts' between nodes, or the agents', with one end at a host or none.
  enum class Way : std::uint8_t { node, network, agents, agent_and_host };
  struct MessageKey {
    std::int32_t from, to, stage, round, ordinal, piece;
    bool operator==(const MessageKey&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const MessageKey& key) const {
      std::uint64_t hash = 0;
      for (const std::int32_t part : {key.from, key.to, key.stage, key.round, key.ordinal, key.piece}) {
        hash = (hash ^ static_cast<std::uint32_t>(part)) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
      }
      return hash;
    }
  };
  struct Message {
    MessageKey key;
    std::int64_t bytes = 0;
    double leaves_us = 0;
    Way way = Way::node;
    bool is_apart() const { return way != Way::node; }
    double fresh_us = 0;  // that its receiver's core is taken longer
    TimeRef recorded;     // its arrival
  };

  struct Await {
    std::int32_t index, step, piece;
    std::int64_t tick;
    std::int32_t local_rank;  // whose flag; -1: all
  };
  // What a rank does with a core: kept until it is its turn where cores are shared.
  struct Task {
    enum class Kind : std::uint8_t { start, take_in, end_await, read_fused } kind = Kind::start;
    std::int32_t step = 0, piece = 0;
    std::int32_t message = 0;  // take_in
  };
  struct RankState {
    double core_free_us = 0;  // the rank's own work is done
    double out_free_us = 0, in_free_us = 0;
    std::int32_t fused = 0;       // operations that it came to
    bool is_coming_down = false;  // of the last one, along a tree: what all get, no longer what all join
    std::int32_t calls_begun = 0;
    std::int32_t receives = 0;  // that wait for their messages
    std::int32_t awaited = -1;  // the local rank for whose flag it waited last
    std::int32_t core = -1;     // of cores_; -1: one of its own
    std::int32_t sharer = 0;    // which one of the core's
    bool is_finished = false;
  };
  // A core that ranks share: each in turn has it until it has nothing to do.
  struct Core {
    struct Sharer {
      int index = 0;
      std::deque<Task> tasks;
    };
    std::vector<Sharer> sharers;
    std::size_t at = 0;    // of sharers: whose turn it is
    int tasks = 0;         // of all of them
    bool is_idle = false;  // the turn goes round since then
    double idle_since_us = 0;
    double free_us = 0;
  };
  struct Channel {
    std::vector<std::int64_t> flags;  // by local rank, as others see them
    std::int64_t least = 0;
    std::vector<Await> waiting;
    void find_least();
    bool has_reached(std::int32_t local_rank, std::int64_t tick) const {
      return (local_rank < 0 ? least : flags[static_cast<std::size_t>(local_rank)]) >= tick;
    }
  };
  struct Fused {
    std::vector<bool> has_come;  // by local rank: what it writes is seen; behind them, what it hands down
    std::int32_t arrived = 0;
    std::int32_t first_missing = 0;  // all local ranks before it have come
    struct Waiting {
      std::int32_t index, step;
    };
    std::vector<Waiting> waiting;
  };
  struct NodeState {
    double card_out_us = 0, card_in_us = 0;  // free from then on
    double memory_us = 0;
    std::map<std::pair<int, int>, double> ways_us;  // into a domain of a level: free from then on
    std::vector<Channel> channels;
    std::vector<Fused> fused;
  };

  void set_up_flags(int index);
  NodeState& node_of(int index) {
    return nodes_[static_cast<std::size_t>(crew_.node_of[static_cast<std::size_t>(index)])];
  }
  std::int32_t locals_of(int index) const {
    const int node = crew_.node_of[static_cast<std::size_t>(index)];
    return static_cast<std::int32_t>(crew_.indices_of[static_cast<std::size_t>(node)].size());
  }
  void push(Event event) {
    event.order = order_++;
    events_.push(event);
  }
  void push_finish(int index, std::int32_t number, std::int32_t piece, double us);
  void handle(const Event& event);
  void begin(int index);
  void load(int index, std::int32_t cause, double us);
  void consider(int index, std::int32_t first, double us);
  bool has_start_wait(const LiveSteps& steps, std::int32_t number, std::int32_t other) const;
  void finish(int index, std::int32_t number, std::int32_t piece);
  // Work on the rank's core that may begin at `us`: the only place where noise and slow cores come in. A step
  // of the executor costs by itself too.
  struct Span {
    double begins, ends;
  };
  Span take_core(int index, double us, double work_us) {
    return take_core_alone(index, us, work_us, step_us(index));
  }
  double step_us(int index) const { return is_on_agent(index) ? 0 : machine_.step_us.value; }
  Span take_core_alone(int index, double us, double work_us, double before_us = 0);
  bool is_on_agent(int index) const {
    return !options_.on_agents.empty() && options_.on_agents[static_cast<std::size_t>(index)];
  }
  void start(int index, std::int32_t number, std::int32_t piece, double us);
  void begin_call(int index);
  void record_waits(int index, std::int32_t number);
  void record_work(int index, std::int32_t number, double us);
  void finish_at_once(int index, std::int32_t number, std::int32_t piece, double us);
  // Does the task now, or when it is the rank's turn.
  void give(int index, const Task& task, double us);
  void run(int index, const Task& task, double us);

  static bool is_empty_message(const LiveStep& step, std::int64_t elements);
  Way way_between(int index, int other_index, bool is_apart) const;
  const MessageCost& message_cost(Way way, std::int64_t bytes);
  double fresh_us(const LiveStep& step, bool is_apart, std::int64_t bytes) const;
  void send(int index, std::int32_t number, std::int32_t piece, double us);
  void reach(std::int32_t number);
  void arrive(std::int32_t number);
  void receive(int index, std::int32_t number, std::int32_t piece, double us);
  void take_in(int index, std::int32_t recv, std::int32_t piece, double us, std::int32_t message);
  std::int32_t new_message(const Message& message);

  // --- shared_cores.cc ---
  void set_up_cores();
  void share_cores(std::size_t first_node, std::size_t last_node);
  Core* core_of(int index);  // null: the rank has one of its own
  void hold_core(int index, double until_us);
  double switch_us(int index) const;
  void keep(int index, Core* core, const Task& task);
  void turn(int core);

  // --- node_time.cc ---
  void move_data(int index, std::int32_t number, std::int32_t piece, double us);
  double moving_us(int index, const LiveStep& step, std::int64_t bytes) const;
  double near_us(int index, const LiveStep& step, std::int64_t bytes) const;
  void signal(int index, std::int32_t number, std::int32_t piece, double us);
  void raise_flag(int index, std::int32_t channel, std::int64_t tick);
  void await(int index, std::int32_t number, std::int32_t piece, double us);
  void end_await(int index, std::int32_t number, std::int32_t piece, double us);
  void record_flag(int index, std::int32_t number, std::int32_t channel, std::int64_t tick);
  void record_await(int index, std::int32_t number, std::int32_t piece);
  void start_fused(int index, std::int32_t number, double us);
  Fused& fused_of(int index, std::int32_t operation);
  void write_fused(int index, std::int32_t number, std::int32_t operation, std::int32_t writing, double us);
  void enter_fused(int index, std::int32_t operation, std::int32_t local_rank);
  // Is what the step waits for there?
  bool has_heard(const Fused& fused, const LiveStep& step, int index) const;
  void read_fused(int index, std::int32_t number, std::int32_t operation, double us);
  double line_time(std::int64_t bytes, const Curve& copied) const;
  // Of lines that another local rank has written.
  double fetch_time(int index, int from, std::int64_t bytes) const;
  double far_line_us(const Distance* far) const;  // that a line takes longer; null: it is near
  // What lies between a rank and another local rank, or the writer of an operand; null: nothing that counts.
  struct Far {
    const Distance* distance = nullptr;
    int level = -1, domain = -1;  // the rank's own, of the outermost ones that they have not in common
  };
  Far distance(int index, int other) const;
  Far distance(int index, const LiveStep& step, std::size_t operand) const;
  double arrived_us(int index, const LiveStep& step, std::int64_t bytes, double begins);
  double flags_time(int index, const LiveStep& step) const;

  // --- tree_time.cc ---
  void start_along(int index, std::int32_t number, double us);
  void wait_along(int index, std::int32_t number, std::int32_t operation, double us);
  std::vector<std::int32_t> awaited_along(const LiveStep& step, int index) const;
  bool has_heard_along(const Fused& fused, const LiveStep& step, int index) const;
  void go_along(int index, std::int32_t number, std::int32_t operation, double us);
  void write_along(int index, std::int32_t number, std::int32_t operation, bool is_down, double us);

  const std::shared_ptr<const patterns::Layout> layout_;
  const CallSize size_;
  const Machine& machine_;
  const Crew& crew_;
  const RunOptions& options_;
  std::vector<RankState> ranks_;
  std::vector<LiveSteps> steps_;
  std::vector<NodeState> nodes_;
  std::vector<Core> cores_;  // that ranks share
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  double now_ = 0;
  std::int64_t finished_ = 0;
  std::int64_t held_ = 0;
  struct Considered {
    std::int32_t number = 0;
    std::size_t next = SIZE_MAX;  // of those that wait for its start; all: none is to be looked at
  };
  std::vector<Considered> considered_;  // each by the one before
  // A message that has arrived, or the receive that waits for it: whoever comes second meets the first.
  std::unordered_map<MessageKey, std::int32_t, KeyHash> meetings_;
  std::vector<Message> messages_;
  std::vector<std::int32_t> free_messages_;
  struct KnownCost {
    std::int64_t bytes = -1;
    Way way = Way::node;
    MessageCost cost;
  };
  static constexpr std::size_t known_costs = 64;
  std::array<KnownCost, known_costs> known_costs_;
  Outcome run_;
};

}  // namespace unisono::model
