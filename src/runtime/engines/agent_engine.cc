// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engines/agent_engine.h"

#include <optional>
#include <string>
#include <utility>

#include "agents/program_form.h"
#include "algorithms/catalogue/agent_descriptors.h"
#include "base/log.h"
#include "base/reduce_kernels.h"
#include "base/short_copy.h"
#include "runtime/call/pickup.h"

namespace unisono::runtime {
namespace {

constexpr bool is_served(ElementType element) {
  return element == ElementType::int32 || element == ElementType::uint32 || element == ElementType::int64 ||
         element == ElementType::uint64 || element == ElementType::float32 || element == ElementType::float64;
}
constexpr bool is_served(ReduceOp op) {
  return op != ReduceOp::minloc && op != ReduceOp::maxloc && op != ReduceOp::host;
}

AgentShare& share_of(const Run& run) {
  const NodeShare& node = run.communicator->node;
  return run.is_blocking ? *node.blocking_agents : *node.agents;
}

agents::AskedCall asked_of(const Communicator& c, Operation operation, std::int64_t bytes) {
  return {.operation = operation,
          .bytes = bytes,
          .is_checked = c.checking.interval != 0,
          .is_reproducible = c.is_reproducible};
}

// The schedule of the node as bytes; the first rank alone needs it.
std::optional<std::string> form_of(const Communicator& c, Operation operation, int root,
                                   const AgentShare::Between& between) {
  const int nodes = c.layout->nodes();
  const schedule::Problem problem{.operation = operation,
                                  .size = nodes,
                                  .rank = c.layout->node_of[static_cast<std::size_t>(c.rank)],
                                  .root = root,
                                  .layout = agents::layout_between(nodes)};
  return agents::write_program(problem, between.algorithm->build(problem, between.parameters));
}

int schedule_of(const Communicator& c, const Call& call, const AgentShare::Between& between,
                agents::RankChannel& channel) {
  const int root = is_rooted(call.operation) ? c.layout->node_of[static_cast<std::size_t>(call.root)] : 0;
  const agents::ScheduleKey key{.operation = call.operation, .root = root, .algorithm = between.text};
  if (const int found = channel.find(key); found >= 0) return found;
  const std::optional<std::string> form = form_of(c, call.operation, root, between);
  return form ? channel.keep(key, *form) : -1;
}

bool has_operand(const Run& run) {
  if (has_one_buffer(run.call.operation)) return run.communicator->rank == run.call.root;
  return is_reduction(run.call.operation);
}
bool gets_result(const Run& run) {
  const bool is_root = run.communicator->rank == run.call.root;
  if (has_one_buffer(run.call.operation)) return !is_root;
  return is_reduction(run.call.operation) && (!is_rooted(run.call.operation) || is_root);
}
// From now on nobody else picks the result up, unless somebody has.
Pickup::State closed_pickup(const Run& run) {
  return run.call.pickup == nullptr ? Pickup::State::closed : run.call.pickup->close();
}
std::size_t bytes_of(const Run& run) {
  return static_cast<std::size_t>(run.data.elements) * run.data.element_bytes;
}

}  // namespace

std::string AgentEngine::why_none(AgentShare& share, const Communicator& c,
                                  const agents::AskedCall& asked) const {
  if (const char* why = agents::why_not_served(asked); why != nullptr) return agents::refusal(why);
  if (between_.of(share, c.layout->nodes(), asked.operation, asked.bytes).algorithm == nullptr)
    return agents::refusal("option 'agents_algorithm' leaves it to others");
  return {};
}

std::string AgentEngine::why_not(AgentShare& share, const Communicator& c, const Call& call,
                                 std::int64_t bytes) const {
  agents::AskedCall asked = asked_of(c, call.operation, bytes);
  asked.is_persistent = call.is_persistent;
  if (is_reduction(call.operation)) {
    const host::TypeInfo info = type_info(world_.host, call.send_type);
    const ElementType kernel = world_.host.kernel_type(call.op, call.send_type, info.element);
    asked.is_plain = info.is_contiguous && is_served(world_.host.reduce_op(call.op)) && is_served(kernel) &&
                     element_bytes(kernel) == info.size_bytes;
  }
  return why_none(share, c, asked);
}

std::string AgentEngine::why_not_blocking(const Communicator& c, const Call& call, std::int64_t bytes) const {
  return c.node.blocking_agents != nullptr ? why_not(*c.node.blocking_agents, c, call, bytes)
                                           : why_none_blocking(c, call.operation, bytes);
}

std::string AgentEngine::why_none_blocking(const Communicator& c, Operation operation,
                                           std::int64_t bytes) const {
  if (c.node.blocking_agents != nullptr)
    return why_none(*c.node.blocking_agents, c, asked_of(c, operation, bytes));
  const bool are_wanted = world_.options.agents != "0";
  if (are_wanted && c.layout->nodes() < 2) return "needs several nodes, there is 1";
  if (world_.agents == nullptr)
    return are_wanted ? "needs agents, and none came to this job" : tuning::no_agents_there;
  return "needs a channel for blocking calls, which this communicator does not have";
}

void AgentEngine::decide(const Communicator& c, Operation operation, std::int64_t bytes,
                         CallClass* entry) const {
  entry->choice = std::make_unique<tuning::Choice>();
  entry->choice->algorithm = algorithms::by_agents(operation);
  const AgentShare::Between& between = between_.of(*c.node.agents, c.layout->nodes(), operation, bytes);
  const std::string& carrier = world_.agents->carrier();
  entry->choice->reason = "the nodes' agents go on while the program computes, between nodes by " +
                          (carrier == "mpi" ? between.text : carrier + ", else by " + between.text);
  entry->choice->source = "agents";
  entry->kind = CallClass::Kind::by_agents;
}

agents::Descriptor AgentEngine::describe(const Run& run) const {
  const Call& call = run.call;
  agents::Descriptor what{.operation = call.operation};
  if (is_reduction(call.operation)) {
    const host::TypeInfo info = type_info(world_.host, call.send_type);
    what.count = static_cast<std::uint32_t>(run.data.elements);
    what.element = world_.host.kernel_type(call.op, call.send_type, info.element);
    what.op = world_.host.reduce_op(call.op);
    what.float_control = FloatControl::of_this_thread();
  } else {
    what.count = static_cast<std::uint32_t>(bytes_of(run));
  }
  what.is_root = is_rooted(call.operation) && run.communicator->rank == call.root;
  return what;
}

int AgentEngine::start(Run& run) const {
  run.header = run.compiled = nullptr;
  run.op.reset();
  run.by_agents = {};
  run.stage = Run::Stage::in_blocks;
  const int error = pack(run);
  if (error != host::success) return error;
  if (!moves_data(run.call.operation)) run.data.elements = 0;
  run.by_agents.what = describe(run);
  AgentShare& share = share_of(run);
  share.waiting.push_back(&run);
  post_waiting(share);
  return host::success;
}

// In the order of the calls, which is the same on all ranks.
void AgentEngine::post_waiting(AgentShare& share) const {
  while (!share.waiting.empty() && share.channel.has_room()) {
    post(*share.waiting.front());
    share.waiting.pop_front();
  }
}

void AgentEngine::post(Run& run) const {
  AgentShare& share = share_of(run);
  agents::RankChannel& channel = share.channel;
  if (channel.is_first()) {
    const Communicator& c = *run.communicator;
    const AgentShare::Between& between = between_.of(share, c.layout->nodes(), run.call.operation, run.bytes);
    const int schedule = schedule_of(c, run.call, between, channel);
    // The agent says that there is none where one is too long.
    run.by_agents.what.schedule = static_cast<std::uint8_t>(schedule < 0 ? agents::most_schedules : schedule);
  }
  const bool is_in_output = has_one_buffer(run.call.operation) || run.transfer->is_in_place();
  const void* operand = is_in_output ? run.data.output : run.data.input;
  const std::size_t bytes = bytes_of(run);
  run.by_agents.number = channel.post(run.by_agents.what, has_operand(run) ? operand : nullptr, bytes);
  if (run.call.pickup == nullptr || run.transfer->has_packed_output()) return;
  run.call.pickup->open(channel.answer(run.by_agents.number), run.by_agents.number,
                        channel.result(run.by_agents.number, bytes), run.data.output,
                        gets_result(run) ? bytes : 0);
}

// Where ranks and agents share cores the agent needs this one; where they do not nobody takes it.
bool AgentEngine::poll(Run& run) const {
  if (!run.is_blocking) return is_over(run);
  shm::WaitConfig config = run.communicator->node.wait;
  if (!shm::gives_core_away(config.policy)) config.policy = shm::WaitPolicy::yield;
  shm::Backoff backoff(config);
  while (!is_over(run)) backoff.step();
  return true;
}

bool AgentEngine::is_over(Run& run) const {
  AgentShare& share = share_of(run);
  post_waiting(share);
  agents::RankChannel& channel = share.channel;
  const std::uint64_t number = run.by_agents.number;
  if (number == 0 || !channel.is_answered(number)) return is_given_up(run);
  const Pickup::State pickup = closed_pickup(run);
  if (pickup == Pickup::State::at_work) return false;
  run.error = channel.error(number);
  const std::size_t bytes = bytes_of(run);
  if (run.error == host::success && gets_result(run) && pickup != Pickup::State::picked_up)
    copy_bytes(run.data.output, channel.result(number, bytes), bytes);
  const auto carrier = static_cast<std::size_t>(channel.carrier(number));
  if (carrier < agents::most_carriers) ++share.carried[static_cast<std::size_t>(run.call.operation)][carrier];
  if (!world_.options.report.empty()) run.by_agents.answered = channel.answered(number);
  channel.take(number);
  post_waiting(share);
  return true;
}

// Nobody makes the call any more where the node's agent has died.
bool AgentEngine::is_given_up(Run& run) const {
  if (!world_.agents->are_lost_by_now() || closed_pickup(run) != Pickup::State::closed) return false;
  std::erase(share_of(run).waiting, &run);
  log::warning_once("the agent of this node has died, and with it the calls that it had: the job ends");
  world_.has_lost_peer = true;
  run.error = world_.host.rank_has_died();
  return true;
}

}  // namespace unisono::runtime
