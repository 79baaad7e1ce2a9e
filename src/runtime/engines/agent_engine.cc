// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engines/agent_engine.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "agents/program_form.h"
#include "agents/served.h"
#include "base/log.h"
#include "base/reduce_kernels.h"
#include "base/short_copy.h"

namespace unisono::runtime {
namespace {

constexpr bool is_served(ElementType element) {
  return element == ElementType::int32 || element == ElementType::uint32 || element == ElementType::int64 ||
         element == ElementType::uint64 || element == ElementType::float32 || element == ElementType::float64;
}
constexpr bool is_served(ReduceOp op) {
  return op != ReduceOp::minloc && op != ReduceOp::maxloc && op != ReduceOp::host;
}

// Stands for all of them where one is asked which algorithm serves a call.
const algorithms::Descriptor& descriptor_of(Operation operation) {
  static const auto all = [] {
    std::array<algorithms::Descriptor, operation_count> made;
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i].name = "agents";
      made[i].operation = static_cast<Operation>(i);
      made[i].group = "agents";
    }
    return made;
  }();
  return all[static_cast<std::size_t>(operation)];
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

int schedule_of(Communicator& c, const Call& call, const AgentShare::Between& between) {
  agents::RankChannel& channel = c.node.agents->channel;
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
std::size_t bytes_of(const Run& run) {
  return static_cast<std::size_t>(run.data.elements) * run.data.element_bytes;
}

}  // namespace

bool AgentEngine::serves(const Communicator& c, const Call& call, std::int64_t bytes) const {
  if (c.node.agents == nullptr) return false;
  const agents::AskedCall asked{.operation = call.operation,
                                .bytes = bytes,
                                .is_persistent = call.is_persistent,
                                .is_checked = c.checking.interval != 0,
                                .is_reproducible = c.is_reproducible};
  if (agents::why_not_served(asked) != nullptr ||
      between_.of(*c.node.agents, c.layout->nodes(), call.operation, bytes).algorithm == nullptr)
    return false;
  if (!is_reduction(call.operation)) return true;
  const host::TypeInfo info = type_info(world_.host, call.send_type);
  const ElementType kernel = world_.host.kernel_type(call.op, call.send_type, info.element);
  return info.is_contiguous && is_served(world_.host.reduce_op(call.op)) && is_served(kernel) &&
         element_bytes(kernel) == info.size_bytes;
}

void AgentEngine::decide(const Communicator& c, Operation operation, std::int64_t bytes,
                         CallClass* entry) const {
  entry->choice = std::make_unique<tuning::Choice>();
  entry->choice->algorithm = &descriptor_of(operation);
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
  Communicator& c = *run.communicator;
  c.node.agents->waiting.push_back(&run);
  post_waiting(c);
  return host::success;
}

// In the order of the calls, which is the same on all ranks.
void AgentEngine::post_waiting(Communicator& c) const {
  AgentShare& share = *c.node.agents;
  while (!share.waiting.empty() && share.channel.has_room()) {
    post(*share.waiting.front());
    share.waiting.pop_front();
  }
}

void AgentEngine::post(Run& run) const {
  agents::RankChannel& channel = run.communicator->node.agents->channel;
  if (channel.is_first()) {
    Communicator& c = *run.communicator;
    const int schedule = schedule_of(
        c, run.call, between_.of(*c.node.agents, c.layout->nodes(), run.call.operation, run.bytes));
    // The agent says that there is none where one is too long.
    run.by_agents.what.schedule = static_cast<std::uint8_t>(schedule < 0 ? agents::most_schedules : schedule);
  }
  const bool is_in_output = has_one_buffer(run.call.operation) || run.transfer->is_in_place();
  const void* operand = is_in_output ? run.data.output : run.data.input;
  run.by_agents.number =
      channel.post(run.by_agents.what, has_operand(run) ? operand : nullptr, bytes_of(run));
}

bool AgentEngine::poll(Run& run) const {
  Communicator& c = *run.communicator;
  post_waiting(c);
  agents::RankChannel& channel = c.node.agents->channel;
  const std::uint64_t number = run.by_agents.number;
  if (number == 0 || !channel.is_answered(number)) return is_given_up(run);
  run.error = channel.error(number);
  const std::size_t bytes = bytes_of(run);
  if (run.error == host::success && gets_result(run))
    copy_bytes(run.data.output, channel.result(number, bytes), bytes);
  const auto carrier = static_cast<std::size_t>(channel.carrier(number));
  if (carrier < agents::most_carriers)
    ++c.node.agents->carried[static_cast<std::size_t>(run.call.operation)][carrier];
  channel.take(number);
  post_waiting(c);
  return true;
}

// Nobody makes the call any more where the node's agent has died.
bool AgentEngine::is_given_up(Run& run) const {
  if (!world_.agents->are_lost_by_now()) return false;
  log::warning_once("the agent of this node has died, and with it the calls that it had: the job ends");
  world_.has_lost_peer = true;
  run.error = world_.host.rank_has_died();
  return true;
}

}  // namespace unisono::runtime
