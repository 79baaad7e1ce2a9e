// SPDX-License-Identifier: BSD-3-Clause
// Between nodes by UCC, which takes what the machine has (SHARP's switches, UCX). All agents must do the
// same: whether UCC takes calls of a kind they tell each other once, at the first of them. What it does not
// take goes by messages.
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <tuple>

#include "agents/carrier.h"
#include "agents/ucc_library.h"
#include "base/float_control.h"

namespace unisono::agents {
namespace {

std::optional<ucc::Datatype> type_of(ElementType element) {
  switch (element) {
    case ElementType::int32:
      return ucc::int32;
    case ElementType::uint32:
      return ucc::uint32;
    case ElementType::int64:
      return ucc::int64;
    case ElementType::uint64:
      return ucc::uint64;
    case ElementType::float32:
      return ucc::float32;
    case ElementType::float64:
      return ucc::float64;
    default:
      return std::nullopt;
  }
}

std::optional<ucc::ReductionOp> op_of(ReduceOp op) {
  constexpr std::array<ucc::ReductionOp, 10> in_order = {ucc::sum, ucc::prod, ucc::min,  ucc::max, ucc::land,
                                                         ucc::lor, ucc::lxor, ucc::band, ucc::bor, ucc::bxor};
  const auto index = static_cast<std::size_t>(op);
  return index < in_order.size() ? std::optional(in_order[index]) : std::nullopt;
}

// Nothing where the interface has no such call.
std::optional<ucc::CollArgs> arguments_of(const Task& task, const std::vector<int>& agents) {
  ucc::CollArgs args;
  const auto count = static_cast<std::uint64_t>(task.data.elements);
  if (task.operation == Operation::barrier) return args;
  args.root = static_cast<std::uint64_t>(agents[static_cast<std::size_t>(task.root)]);
  if (task.operation == Operation::bcast) {
    args.type = ucc::bcast;
    args.source = {.data = task.data.output, .count = count * task.data.element_bytes, .type = ucc::uint8};
    return args;
  }
  const auto type = type_of(task.element);
  const auto op = op_of(task.op);
  if (!type || !op || task.needs_kernel) return std::nullopt;
  args.type = task.operation == Operation::reduce ? ucc::reduce : ucc::allreduce;
  args.source = {.data = const_cast<void*>(task.data.input), .count = count, .type = *type};
  args.destination = {.data = task.data.output, .count = count, .type = *type};
  args.op = *op;
  return args;
}

class UccTeam final : public Team {
 public:
  UccTeam(const UccLibrary& library, ucc::GroupOfRanks* team, Circle circle, std::unique_ptr<Team> by_mpi)
      : library_(library), team_(team), circle_(std::move(circle)), by_mpi_(std::move(by_mpi)) {}
  ~UccTeam() override {
    for (Slot& slot : slots_) {
      if (slot.request != nullptr && slot.request->status == ucc::ok)
        library_.functions().collective_finalize(slot.request);
    }
  }

  void post(const Task& task) override {
    Slot& slot = slots_[task.number % window];
    slot.task = task;
    slot.stage = Stage::to_begin;
  }

  State test(std::uint64_t number, int* error, std::string* why) override {
    Slot& slot = slots_[number % window];
    if (slot.stage == Stage::by_mpi) return by_mpi_->test(number, error, why);
    // The library computes in its own way, and traps of the program are none of its.
    const FloatControlForNow as_agent(float_control_);
    library_.go_on();
    for (;;) {
      const Stage before = slot.stage;
      const std::optional<State> found = go_on(slot, error);
      if (found) {
        if (*found == State::failed) *why = why_;
        return *found;
      }
      if (slot.stage == before) return State::under_way;
    }
  }

  std::string_view carrier_of(std::uint64_t number) const override {
    return slots_[number % window].is_by_mpi ? "mpi" : "ucc";
  }

 private:
  enum class Stage : std::uint8_t { to_begin, telling_init, telling_post, posted, by_mpi };
  // Calls of a kind are taken by all agents' UCC, or by none.
  using Kind = std::tuple<Operation, ElementType, ReduceOp, int, bool>;
  struct Slot {
    Task task;
    Stage stage = Stage::to_begin;
    bool is_by_mpi = false;
    ucc::Request* request = nullptr;
    SmallAllgather allgather;
    std::uint8_t own = 0;
    std::vector<std::uint8_t> of_all;
  };

  static Kind kind_of(const Task& task) {
    return {task.operation, task.element, task.op,
            std::bit_width(static_cast<std::uint64_t>(task.data.elements)), task.needs_kernel};
  }

  // One step. Nothing where it is not over.
  std::optional<State> go_on(Slot& slot, int* error) {
    switch (slot.stage) {
      case Stage::to_begin:
        // All agents post in one order, by their numbers.
        if (slot.task.number == next_) return begin(slot);
        return std::nullopt;
      case Stage::telling_init:
      case Stage::telling_post:
        return hear(slot, error);
      case Stage::posted:
        return look(slot, error);
      case Stage::by_mpi:  // from the next look on
        return std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<State> begin(Slot& slot) {
    const auto known = kinds_.find(kind_of(slot.task));
    if (known != kinds_.end() && !known->second) {
      leave_to_mpi(slot);
      return std::nullopt;
    }
    slot.is_by_mpi = false;
    const ucc::Status status = init(slot);
    if (known == kinds_.end()) {
      tell(slot, Stage::telling_init, status == ucc::ok);
      return std::nullopt;
    }
    if (status != ucc::ok) return fail("ucc_collective_init", status);
    return post(slot);
  }

  ucc::Status init(Slot& slot) const {
    std::optional<ucc::CollArgs> args = arguments_of(slot.task, circle_.ranks);
    slot.request = nullptr;
    if (!args) return ucc::not_supported;
    const ucc::Status status = library_.functions().collective_init(&*args, &slot.request, team_);
    if (status != ucc::ok) slot.request = nullptr;
    return status;
  }

  std::optional<State> post(Slot& slot) {
    const ucc::Status status = library_.functions().collective_post(slot.request);
    if (status < 0) return fail("ucc_collective_post", status);
    go_to_posted(slot);
    return std::nullopt;
  }

  void go_to_posted(Slot& slot) {
    slot.stage = Stage::posted;
    ++next_;
  }

  void leave_to_mpi(Slot& slot) {
    if (slot.request != nullptr) library_.functions().collective_finalize(slot.request);
    slot.request = nullptr;
    slot.is_by_mpi = true;
    slot.stage = Stage::by_mpi;
    by_mpi_->post(slot.task);
    ++next_;
  }

  // A word of each agent, by the operation's own tags: it comes before what else may use them.
  void tell(Slot& slot, Stage stage, bool is_good) {
    slot.stage = stage;
    slot.own = is_good ? 1 : 0;
    slot.of_all.resize(circle_.ranks.size());
    Circle circle = circle_;
    circle.tag += static_cast<int>(slot.task.number % window) * schedule::tag_count;
    slot_error_ = slot.allgather.begin(circle, &slot.own, slot.of_all.data(), 1);
  }

  std::optional<State> hear(Slot& slot, int* error) {
    if (slot_error_ == host::success && !slot.allgather.test(&slot_error_)) return std::nullopt;
    if (slot_error_ != host::success) {
      *error = slot_error_;
      return State::over;
    }
    std::size_t good = 0;
    for (const std::uint8_t one : slot.of_all) good += one;
    if (slot.stage == Stage::telling_init && good == slot.of_all.size()) {
      tell(slot, Stage::telling_post, library_.functions().collective_post(slot.request) >= 0);
      return std::nullopt;
    }
    const bool is_taken = slot.stage == Stage::telling_post && good == slot.of_all.size();
    // Where some have posted it nobody can take it back.
    if (slot.stage == Stage::telling_post && !is_taken && good != 0)
      return fail("ucc_collective_post, which only some agents could", ucc::not_supported);
    kinds_[kind_of(slot.task)] = is_taken;
    if (is_taken) {
      go_to_posted(slot);
    } else {
      leave_to_mpi(slot);
    }
    return std::nullopt;
  }

  std::optional<State> look(Slot& slot, int* error) {
    const ucc::Status status = slot.request->status;
    if (status > 0) return std::nullopt;
    if (status < 0) return fail("ucc_collective_test", status);
    library_.functions().collective_finalize(slot.request);
    slot.request = nullptr;
    *error = host::success;
    return State::over;
  }

  std::optional<State> fail(const char* function, ucc::Status status) {
    why_ = library_.text(function, status);
    return State::failed;
  }

  const UccLibrary& library_;
  ucc::GroupOfRanks* const team_;
  const Circle circle_;
  const std::unique_ptr<Team> by_mpi_;
  std::array<Slot, window> slots_;
  std::map<Kind, bool> kinds_;
  std::uint64_t next_ = 1;
  int slot_error_ = host::success;
  const FloatControl float_control_ = FloatControl::of_this_thread();  // the agent's
  std::string why_;
};

class UccCarrier final : public Carrier {
 public:
  UccCarrier(const CarrierGround& ground, std::unique_ptr<UccLibrary> library)
      : ground_(ground), library_(std::move(library)), mpi_(find_carrier("mpi")->open(ground, nullptr)) {}

  // Few teams, of all agents: other channels go by messages.
  std::unique_ptr<Team> make_team(const TeamShape& shape) override {
    std::unique_ptr<Team> by_mpi = mpi_->make_team(shape);
    const bool has_all =
        shape.agents.size() == static_cast<std::size_t>(ground_.host.comm_size(ground_.comm));
    if (!has_all || shape.place >= most_ucc_teams) return by_mpi;
    Circle circle{.host = &ground_.host,
                  .comm = ground_.comm,
                  .ranks = shape.agents,
                  .own = shape.own,
                  .tag = shape.first_tag};
    return std::make_unique<UccTeam>(*library_, library_->team(shape.place), std::move(circle),
                                     std::move(by_mpi));
  }

 private:
  const CarrierGround ground_;
  const std::unique_ptr<UccLibrary> library_;
  const std::unique_ptr<Carrier> mpi_;
};

CarrierDescriptor describe() {
  return {
      .name = "ucc",
      .sentence = "UCC's collectives among the agents, by switches that reduce (SHARP) where it has them.",
      .open = [](const CarrierGround& ground, std::string* why) -> std::unique_ptr<Carrier> {
        auto library = UccLibrary::open(ground, why);
        if (library == nullptr) return nullptr;
        return std::make_unique<UccCarrier>(ground, std::move(library));
      }};
}

const CarrierRegistration registration(describe);

}  // namespace
}  // namespace unisono::agents
