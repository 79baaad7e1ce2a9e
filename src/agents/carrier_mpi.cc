// SPDX-License-Identifier: BSD-3-Clause
// Between nodes by the messages of the agents' MPI: the executor runs the schedule that ranks have uploaded.
#include <array>

#include "agents/carrier.h"

namespace unisono::agents {
namespace {

class MpiTeam final : public Team {
 public:
  MpiTeam(const CarrierGround& ground, TeamShape shape) : ground_(ground), shape_(std::move(shape)) {}

  void post(const Task& task) override {
    const int slot = static_cast<int>(task.number % window);
    const schedule::Ground ground{.host = &ground_.host,
                                  .comm = ground_.comm,
                                  .rank_in_comm = shape_.agents.data(),
                                  .tag_base = shape_.first_tag + slot * schedule::tag_count};
    executors_[static_cast<std::size_t>(slot)].start(*task.compiled, ground, task.data);
  }

  State test(std::uint64_t number, int* error, std::string*) override {
    schedule::Executor& executor = executors_[number % window];
    if (!executor.poll()) return State::under_way;
    *error = executor.finish();
    return State::over;
  }

  std::string_view carrier_of(std::uint64_t) const override { return "mpi"; }

 private:
  const CarrierGround ground_;
  const TeamShape shape_;
  std::array<schedule::Executor, window> executors_;
};

class MpiCarrier final : public Carrier {
 public:
  explicit MpiCarrier(const CarrierGround& ground) : ground_(ground) {}
  std::unique_ptr<Team> make_team(const TeamShape& shape) override {
    return std::make_unique<MpiTeam>(ground_, shape);
  }

 private:
  const CarrierGround ground_;
};

CarrierDescriptor describe() {
  return {.name = "mpi",
          .sentence = "The agents' own MPI: messages, in the order of an algorithm of the registry.",
          .open = [](const CarrierGround& ground, std::string*) -> std::unique_ptr<Carrier> {
            return std::make_unique<MpiCarrier>(ground);
          }};
}

const CarrierRegistration registration(describe);

}  // namespace
}  // namespace unisono::agents
