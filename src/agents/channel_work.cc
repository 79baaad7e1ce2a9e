// SPDX-License-Identifier: BSD-3-Clause
#include "agents/channel_work.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "agents/program_form.h"
#include "agents/soft_float.h"
#include "base/short_copy.h"
#include "base/ticks.h"
#include "schedule/compiled.h"

namespace unisono::agents {
namespace {

constexpr int bad_call = 1;  // what ranks get where their words make no sense

// Confirmations have the lowest tags: those of each place of the window, and one for the channel's end.
constexpr int confirmation_tags = (window + 1) * Confirmation::most_rounds;
constexpr int all_confirmation_tags = most_channels * confirmation_tags;

int confirmation_tag(int place, int number) {
  return place * confirmation_tags + number * Confirmation::most_rounds;
}

// An agent is through with the others only when all have begun: but where data goes one way, or none.
bool needs_confirmation(const Descriptor& what) {
  if (static_cast<int>(what.operation) >= operation_count) return false;
  return is_rooted(what.operation) || (what.count == 0 && moves_data(what.operation));
}

bool makes_sense(const ChannelShape& shape, const AgentSegment& segment, const ChannelPlace& place) {
  const SegmentHeader& header = segment.header();
  return shape.nodes > 0 && shape.nodes <= header.agent.agents && shape.own_node >= 0 &&
         shape.own_node < shape.nodes && shape.ranks > 0 &&
         ChannelMemory::bytes(shape.nodes, shape.ranks) <= place.bytes;
}

}  // namespace

int ChannelWork::channels_within(std::int64_t largest_tag) {
  const std::int64_t found =
      (largest_tag + 1 - all_confirmation_tags - carrier_tags) / (window * schedule::tag_count);
  return static_cast<int>(std::clamp<std::int64_t>(found, 0, most_channels));
}

int ChannelWork::first_tag(int place) {
  return all_confirmation_tags + place * window * schedule::tag_count;
}

std::unique_ptr<ChannelWork> ChannelWork::open(Carrier& carrier, const CarrierGround& ground,
                                               bool has_soft_float, const AgentSegment& segment, int place,
                                               std::string* why) {
  const ChannelPlace& opened = segment.header().places[static_cast<std::size_t>(place)];
  const bool is_there = segment.holds(opened.offset, opened.bytes) && opened.bytes >= sizeof(ChannelShape);
  const ChannelShape shape =
      is_there ? *reinterpret_cast<const ChannelShape*>(segment.at(opened.offset)) : ChannelShape{};
  if (!is_there || !makes_sense(shape, segment, opened)) {
    *why = "ranks have opened a channel that makes no sense";
    return nullptr;
  }
  const ChannelMemory memory(segment.at(opened.offset), shape.nodes, shape.ranks);
  for (std::int32_t node = 0; node < shape.nodes; ++node) {
    if (memory.agents()[node] >= 0 && memory.agents()[node] < segment.header().agent.agents) continue;
    *why = "ranks have opened a channel between agents that there are not";
    return nullptr;
  }
  return std::unique_ptr<ChannelWork>(new ChannelWork(carrier, ground, has_soft_float, memory, place));
}

ChannelWork::ChannelWork(Carrier& carrier, const CarrierGround& ground, bool has_soft_float,
                         const ChannelMemory& memory, int place)
    : ground_(ground),
      memory_(memory),
      shape_(memory.shape()),
      has_soft_float_(has_soft_float),
      place_(place),
      agents_(memory.agents(), memory.agents() + shape_.nodes),
      team_(carrier.make_team(
          {.agents = agents_, .own = shape_.own_node, .place = place, .first_tag = first_tag(place)})) {
  for (std::size_t i = 0; i < operations_.size(); ++i) operations_[i].number = i == 0 ? window : i;
}

void ChannelWork::take_up(std::uint64_t number, bool is_again) {
  operations_[number % window].number = number;
  operations_[number % window].is_again = is_again;
}

bool ChannelWork::go_on(std::string* why) {
  if (closing_ == Closing::given_up) return false;
  bool has_gone_on = false;
  for (Pending& operation : operations_) has_gone_on = go_on(&operation, why) || has_gone_on;
  return (closing_ >= Closing::wanted && !has_gone_on && go_on_closing()) || has_gone_on;
}

bool ChannelWork::go_on(Pending* operation, std::string* why) {
  bool has_gone_on = false;
  if (operation->state == Pending::State::posted) {
    if (!have_all_come(operation)) return false;
    begin(operation);
    has_gone_on = true;
  }
  if (operation->state == Pending::State::running && is_over(operation, why)) has_gone_on = true;
  if (operation->state == Pending::State::confirming && operation->confirmation.poll()) {
    pass(operation);
    has_gone_on = true;
  }
  return has_gone_on;
}

// All of its ranks have left it, so each operation has been answered. Messages of other nodes may be under
// way still, and they may need once more what this one has.
bool ChannelWork::go_on_closing() {
  if (closing_ == Closing::wanted) {
    if (under_way_ != 0) return false;
    const auto is_unused = [this](const Pending& operation) {
      return memory_.line(operation.number, 0).number.load(std::memory_order_acquire) == 0;
    };
    closing_ = std::ranges::all_of(operations_, is_unused) ? Closing::done : Closing::under_way;
    if (closing_ == Closing::done) return true;
    ++under_way_;
    closing_confirmation_.start(ground_.host, ground_.comm, agents_, shape_.own_node,
                                confirmation_tag(place_, window));
  }
  if (closing_ != Closing::under_way || !closing_confirmation_.poll()) return false;
  --under_way_;
  closing_ = Closing::done;
  return true;
}

bool ChannelWork::is_over(Pending* operation, std::string* why) {
  // Ranks say how they compute only where they do: what they leave out would let traps through to the MPI.
  const Descriptor& what = operation->what;
  const FloatControlForNow like_program(is_reduction(what.operation) ? std::optional(what.float_control)
                                                                     : std::nullopt);
  int error = host::success;
  if (team_->test(operation->number, &error, why) != Team::State::over) return false;
  answer(operation, error);
  return true;
}

bool ChannelWork::have_all_come(Pending* operation) const {
  while (operation->arrived < shape_.ranks) {
    const Line& line = memory_.line(operation->number, operation->arrived);
    // Where it is answered already its ranks may have gone on.
    if (line.number.load(std::memory_order_acquire) < operation->number) return false;
    ++operation->arrived;
  }
  return true;
}

// What ranks say is looked at once, and used from the copy.
bool ChannelWork::is_sensible(const Pending& operation) const {
  const Descriptor& what = operation.what;
  if (what.schedule >= most_schedules || static_cast<int>(what.operation) >= operation_count ||
      what.element > ElementType::derived || what.op > ReduceOp::host)
    return false;
  return what.count * element_bytes(what.element) <= most_bytes;
}

bool ChannelWork::read_schedule(Pending* operation) {
  const Descriptor& what = operation->what;
  ReadSchedule& read = schedules_[what.schedule];
  const Schedule& kept = memory_.schedule(what.schedule);
  if (read.compiled == nullptr || read.version != what.schedule_version) {
    const std::string form(kept.form, std::min<std::size_t>(kept.bytes, most_schedule_bytes));
    const std::optional<ReadProgram> told = read_program(form, shape_.nodes, shape_.own_node);
    if (!told) return false;
    read = {.version = what.schedule_version, .compiled = schedule::compile(told->problem, told->program)};
  }
  operation->compiled = read.compiled;
  return operation->compiled->problem.operation == what.operation;
}

void ChannelWork::begin(Pending* operation) {
  ++under_way_;
  Answer& answered = memory_.answer(operation->number);
  const bool is_answered = memory_.is_answered(operation->number);
  operation->what = is_answered ? answered.what : memory_.line(operation->number, 0).descriptor;
  if (is_answered && !operation->is_again) return confirm(operation);
  bool is_started = false;
  try {
    is_started = is_answered ? begin_again(operation) : begin_new(operation);
  } catch (const std::invalid_argument&) {  // of the compiler
  }
  operation->state = Pending::State::running;
  operation->is_again = false;
  if (!is_started) answer(operation, bad_call);
}

bool ChannelWork::begin_new(Pending* operation) {
  const Descriptor& what = operation->what;
  memory_.answer(operation->number).what = what;
  if (!is_sensible(*operation)) return false;
  for (int rank = 1; rank < shape_.ranks; ++rank) {
    const Descriptor& other = memory_.line(operation->number, rank).descriptor;
    if (other.operation != what.operation || other.count != what.count || other.element != what.element ||
        other.op != what.op)
      return false;
  }
  return read_schedule(operation) && start(operation);
}

// A reduce, of which the root has no result. The ranks of this node may have brought other things since.
bool ChannelWork::begin_again(Pending* operation) {
  const Descriptor& what = operation->what;
  if (!is_sensible(*operation) || !read_schedule(operation)) return false;
  const Kernel kernel = kernel_of(what);
  if (kernel == nullptr) return false;
  const std::size_t bytes = element_bytes(what.element);
  post(*operation, {.input = memory_.data(operation->number, what.count * bytes),
                    .elements = what.count,
                    .element_bytes = bytes,
                    .combine = {.element_bytes = bytes, .kernel = kernel}});
  return true;
}

const void* ChannelWork::operand(const Pending& operation, int rank, std::size_t bytes) const {
  return bytes <= Line::inline_bytes ? memory_.line(operation.number, rank).data
                                     : memory_.area(operation.number, rank);
}

Kernel ChannelWork::kernel_of(const Descriptor& what) const {
  const bool is_soft = has_soft_float_ && is_soft_type(what.element);
  return is_soft ? soft_kernel(what.op, what.element) : reduce_kernel(what.op, what.element);
}

// In the order of the node's ranks.
const void* ChannelWork::join(Pending* operation, std::size_t bytes) {
  const Descriptor& what = operation->what;
  const void* first = operand(*operation, 0, bytes);
  if (shape_.ranks == 1) return first;
  const Kernel kernel = kernel_of(what);
  operation->joined.resize(std::max(operation->joined.size(), bytes));
  const FloatControlForNow like_program(what.float_control);
  for (int rank = 1; rank < shape_.ranks; ++rank) {
    kernel(operation->joined.data(), first, operand(*operation, rank, bytes), what.count);
    first = operation->joined.data();
  }
  return first;
}

bool ChannelWork::start(Pending* operation) {
  const Descriptor& what = operation->what;
  const std::size_t bytes = what.count * element_bytes(what.element);
  const int root = operation->compiled->problem.root;
  memory_.answer(operation->number).root = root;
  char* place = memory_.data(operation->number, bytes);
  schedule::Data data{.output = place,
                      .elements = what.count,
                      .element_bytes = std::max<std::size_t>(1, element_bytes(what.element))};
  if (is_reduction(what.operation)) {
    const Kernel kernel = kernel_of(what);
    if (kernel == nullptr) return false;
    data.input = join(operation, bytes);
    data.combine = {.element_bytes = data.element_bytes, .kernel = kernel};
    // What this node brings stays: its ranks may bring other things before the root has the result.
    if (is_rooted(what.operation) && root != shape_.own_node) {
      if (data.input != place) copy_bytes(place, data.input, bytes);
      data.input = place;
      data.output = nullptr;
    }
  } else if (has_one_buffer(what.operation)) {
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      if (memory_.line(operation->number, rank).descriptor.is_root)
        copy_bytes(data.output, operand(*operation, rank, bytes), bytes);
    }
  } else if (moves_data(what.operation)) {
    return false;
  }
  post(*operation, data);
  return true;
}

void ChannelWork::post(const Pending& operation, const schedule::Data& data) {
  const Descriptor& what = operation.what;
  team_->post({.number = operation.number,
               .operation = what.operation,
               .element = what.element,
               .op = what.op,
               .needs_kernel = has_soft_float_ && is_soft_type(what.element),
               .compiled = operation.compiled.get(),
               .root = operation.compiled->problem.root,
               .data = data});
}

void ChannelWork::answer(Pending* operation, int error) {
  Answer& answer = memory_.answer(operation->number);
  answer.error = error;
  answer.carrier = carrier_number(team_->carrier_of(operation->number));
  answer.answered = ticks();
  answer.number.store(operation->number, std::memory_order_release);
  confirm(operation);
}

// The place's next operation writes over what another node may still need: answers of two windows ago, and
// of what this node brought. So it has to be known that all have begun with this one.
void ChannelWork::confirm(Pending* operation) {
  if (!needs_confirmation(operation->what)) return pass(operation);
  operation->state = Pending::State::confirming;
  operation->confirmation.start(ground_.host, ground_.comm, agents_, shape_.own_node,
                                confirmation_tag(place_, static_cast<int>(operation->number % window)));
}

void ChannelWork::pass(Pending* operation) {
  operation->number += window;
  operation->arrived = 0;
  operation->state = Pending::State::posted;
  --under_way_;
}

}  // namespace unisono::agents
