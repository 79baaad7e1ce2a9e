// SPDX-License-Identifier: BSD-3-Clause
// Messages in virtual time.
#include <algorithm>

#include "model/virtual_run.h"

namespace unisono::model {

bool VirtualRun::is_empty_message(const LiveStep& step, std::int64_t elements) {
  return elements == 0 && !step.is_token;
}

VirtualRun::Way VirtualRun::way_between(int index, int other_index, bool is_apart) const {
  if (!is_apart) return Way::node;
  const bool is_one = is_on_agent(index), is_other = is_on_agent(other_index);
  if (is_one && is_other) return Way::agents;
  return is_one || is_other ? Way::agent_and_host : Way::network;
}

// A message that begins or ends at a host crosses the way to the agent's network once.
const MessageCost& VirtualRun::message_cost(Way way, std::int64_t bytes) {
  const auto number = static_cast<std::size_t>(bytes) * 4 + static_cast<std::size_t>(way);
  KnownCost& known = known_costs_[number % known_costs];
  if (known.bytes == bytes && known.way == way) return known.cost;
  const bool is_of_agents = way == Way::agents || way == Way::agent_and_host;
  const Link& link = is_of_agents ? machine_.agent->link : machine_.link(way == Way::network);
  known = {bytes, way, link.message(options_.model, bytes)};
  if (way == Way::agent_and_host) known.cost.transit_us += machine_.agent->crossing_us;
  return known.cost;
}

double VirtualRun::fresh_us(const LiveStep& step, bool is_apart, std::int64_t bytes) const {
  if (!step.is_fresh || is_apart || options_.model != MessageModel::plogp) return 0;
  return machine_.fresh_message_us.empty() ? 0.0 : machine_.fresh_message_us.at(bytes);
}

void VirtualRun::send(int index, std::int32_t number, std::int32_t piece, double us) {
  const LiveStep& step = steps_[static_cast<std::size_t>(index)].at(number);
  const std::int64_t elements = step.is_token ? 0 : step.elements_of(piece);
  if (is_empty_message(step, elements)) return finish_at_once(index, number, piece, us);
  const int from = crew_.ranks[static_cast<std::size_t>(index)];
  const int to = crew_.index_of(step.peer);
  const bool is_apart = crew_.is_apart(from, step.peer);
  const std::int64_t bytes = size_.bytes_of(elements);
  const Way way = way_between(index, to, is_apart);
  const MessageCost& cost = message_cost(way, bytes);
  RankState& rank = ranks_[static_cast<std::size_t>(index)];
  NodeState& node = node_of(index);
  const Span called = take_core(index, us, cost.send_us);
  double leaves = std::max(called.begins, rank.out_free_us);
  if (is_apart) {
    leaves = std::max(leaves, node.card_out_us);
    node.card_out_us = leaves + machine_.card.occupancy_us(bytes);
  }
  rank.out_free_us = leaves + cost.occupancy_us;
  const double done = std::max(called.begins + cost.send_us, rank.out_free_us);
  push_finish(index, number, piece, done);

  Message made{.key = {index, to, step.stage, step.round, step.ordinal, piece},
               .bytes = bytes,
               .leaves_us = leaves,
               .way = way,
               .fresh_us = fresh_us(step, is_apart, bytes),
               .recorded = {}};
  if (options_.recorder != nullptr) {
    const TimeRef work = options_.recorder->work(index, number, step_us(index) + cost.send_us);
    options_.recorder->finish(index, number, {work.work, done - called.ends});
    made.recorded = {work.work, -called.ends};  // its arrival is added when it is known
  }
  const std::int32_t message = new_message(made);
  const double reaches = leaves + std::max(0.0, cost.transit_us - cost.occupancy_us);
  push({.us = reaches, .kind = EventKind::reach, .step = message});
}

// The first byte is there: the receiver's port takes the message when it is free.
void VirtualRun::reach(std::int32_t number) {
  Message& message = messages_[static_cast<std::size_t>(number)];
  const int index = message.key.to;
  const MessageCost& cost = message_cost(message.way, message.bytes);
  RankState& rank = ranks_[static_cast<std::size_t>(index)];
  NodeState& node = node_of(index);
  double begins = std::max(now_, rank.in_free_us);
  if (message.is_apart()) {
    begins = std::max(begins, node.card_in_us);
    node.card_in_us = begins + machine_.card.occupancy_us(message.bytes);
  }
  rank.in_free_us = begins + cost.occupancy_us + message.fresh_us;
  double arrives = message.leaves_us + cost.transit_us + (begins - now_);
  if (!message.is_apart()) {
    node.memory_us = std::max(node.memory_us, now_) +
                     machine_.shared.memory_us_per_byte * static_cast<double>(message.bytes);
    arrives = std::max(arrives, node.memory_us);
  }
  // What a busy port holds up, the core that takes the messages in one by one holds up as well. Unless that
  // is quicker: which message comes first is left open then.
  const bool is_held_by_core = cost.receive_us >= cost.occupancy_us && begins > now_;
  message.recorded.after_us += is_held_by_core ? message.leaves_us + cost.transit_us : arrives;
  push({.us = arrives, .kind = EventKind::arrive, .step = number});
}

void VirtualRun::arrive(std::int32_t number) {
  const Message& message = messages_[static_cast<std::size_t>(number)];
  const auto [found, is_first] = meetings_.try_emplace(message.key, number);
  if (is_first) return;  // the receive comes later
  const std::int32_t recv = found->second;
  meetings_.erase(found);
  --ranks_[static_cast<std::size_t>(message.key.to)].receives;
  give(message.key.to,
       {.kind = Task::Kind::take_in, .step = recv, .piece = message.key.piece, .message = number}, now_);
}

void VirtualRun::receive(int index, std::int32_t number, std::int32_t piece, double us) {
  const LiveStep& step = steps_[static_cast<std::size_t>(index)].at(number);
  if (is_empty_message(step, step.is_token ? 0 : step.elements_of(piece))) {
    return finish_at_once(index, number, piece, us);
  }
  const MessageKey key{crew_.index_of(step.peer), index, step.stage, step.round, step.ordinal, piece};
  const auto [found, is_first] = meetings_.try_emplace(key, number);
  if (is_first) {  // the message comes later
    ++ranks_[static_cast<std::size_t>(index)].receives;
    return;
  }
  const std::int32_t message = found->second;
  meetings_.erase(found);
  take_in(index, number, piece, us, message);
}

void VirtualRun::take_in(int index, std::int32_t recv, std::int32_t piece, double us, std::int32_t message) {
  const Message& taken = messages_[static_cast<std::size_t>(message)];
  const double receive_us = message_cost(taken.way, taken.bytes).receive_us + taken.fresh_us;
  push_finish(index, recv, piece, take_core(index, us, receive_us).ends);
  if (options_.recorder != nullptr) {
    options_.recorder->wait_for(index, recv, taken.recorded);
    record_work(index, recv, step_us(index) + receive_us);
  }
  free_messages_.push_back(message);
}

std::int32_t VirtualRun::new_message(const Message& message) {
  if (free_messages_.empty()) {
    messages_.push_back(message);
    return static_cast<std::int32_t>(messages_.size()) - 1;
  }
  const std::int32_t number = free_messages_.back();
  free_messages_.pop_back();
  messages_[static_cast<std::size_t>(number)] = message;
  return number;
}

}  // namespace unisono::model
