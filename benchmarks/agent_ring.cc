// SPDX-License-Identifier: BSD-3-Clause
// What a call by an agent costs inside its node: a rank posts an MPI_Allreduce of one double, the agent
// joins, runs the schedule of its single node, and answers. Nothing goes between nodes. The agent is the real
// one, on a thread over the fake host. Prints the table of docs/figures/agents.md.
//
//     build/release/benchmarks/agent_ring [--calls 20000] [--windows 11]
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agents/agent.h"
#include "agents/meeting.h"
#include "agents/program_form.h"
#include "agents/rank_channel.h"
#include "algorithms/catalogue/descriptor.h"
#include "base/clock.h"
#include "cores.h"
#include "fake_host/fake_host.h"
#include "numbers.h"
#include "shm/pool/segment.h"

namespace {

using namespace unisono;
using agents::RankChannel;

struct Settings {
  int calls = 20000, windows = 11;
};

constexpr int sleeping_calls = 300;
constexpr timespec between_sleeping_calls{.tv_sec = 0, .tv_nsec = 1'000'000};

// As long as this lives.
class Agent {
 public:
  Agent(const std::string& job, int core)
      : thread_([job, core] {
          stay_on(core);
          fake_host::FakeWorld world(1, {.deadlock_seconds = 600});
          world.run([&job](fake_host::FakeHost& host, int) {
            const std::string why = agents::run(host, host.world(), {.job = job});
            if (!why.empty()) fail(why);
          });
        }) {}
  ~Agent() { thread_.join(); }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

 private:
  std::thread thread_;
};

int schedule_of(RankChannel* channel) {
  const schedule::Problem problem{.operation = Operation::allreduce,
                                  .size = 1,
                                  .rank = 0,
                                  .root = 0,
                                  .layout = agents::layout_between(1)};
  const algorithms::Descriptor* descriptor = algorithms::find(Operation::allreduce, "recursive_doubling");
  return channel->keep(
      {.operation = Operation::allreduce},
      *agents::write_program(problem, descriptor->build(problem, algorithms::with_standards(*descriptor))));
}

class Caller {
 public:
  Caller(RankChannel* channel, bool shares_core)
      : channel_(channel), shares_core_(shares_core), schedule_(schedule_of(channel)) {}

  void call() {
    const double operand = ++value_;
    const std::uint64_t number = channel_->post({.count = 1,
                                                 .schedule = static_cast<std::uint8_t>(schedule_),
                                                 .operation = Operation::allreduce,
                                                 .element = ElementType::float64,
                                                 .op = ReduceOp::sum,
                                                 .float_control = FloatControl::of_this_thread()},
                                                &operand, sizeof operand);
    while (!channel_->is_answered(number)) shares_core_ ? static_cast<void>(sched_yield()) : shm::relax();
    const auto* result = static_cast<const double*>(channel_->result(number, sizeof operand));
    if (channel_->error(number) != 0 || *result != operand) fail("a result is wrong");
    channel_->take(number);
  }

  double ns_of(int calls) {
    const std::uint64_t begin = now_ns();
    for (int i = 0; i < calls; ++i) call();
    return static_cast<double>(now_ns() - begin) / calls;
  }

 private:
  RankChannel* channel_;
  const bool shares_core_;
  const int schedule_;
  double value_ = 0;
};

void print(const char* cores, const char* agent, std::vector<double> ns) {
  std::sort(ns.begin(), ns.end());
  std::printf("| %s | %s | %.2f us | %.2f to %.2f us |\n", cores, agent, ns[ns.size() / 2] / 1000,
              ns[ns.size() / 10] / 1000, ns[ns.size() * 9 / 10] / 1000);
  std::fflush(stdout);
}

void measure(const Settings& settings, int of_rank, int of_agent) {
  const bool shares_core = of_rank == of_agent;
  const std::string job = std::to_string(shm::draw_nonce());
  const Agent agent(job, of_agent);
  stay_on(of_rank);
  std::string why;
  const auto connection = agents::Connection::open(job, 0, 10, &why);
  if (connection == nullptr) fail(why);
  if (!RankChannel::make(connection->segment(), 0, {.nodes = 1, .own_node = 0, .ranks = 1}, {0}))
    fail("there is no room for a channel");
  RankChannel channel(connection->segment(), 0, 0);
  Caller caller(&channel, shares_core);
  caller.ns_of(settings.calls / 10 + 1);
  std::vector<double> awake, asleep;
  for (int window = 0; window < settings.windows; ++window) awake.push_back(caller.ns_of(settings.calls));
  for (int i = 0; i < sleeping_calls; ++i) {
    nanosleep(&between_sleeping_calls, nullptr);
    asleep.push_back(caller.ns_of(1));
  }
  const char* const cores = shares_core ? "one for both" : "one each";
  print(cores, "awake", awake);
  print(cores, "asleep", asleep);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  read_numbers(argc, argv, {{"--calls", &settings.calls}, {"--windows", &settings.windows}});
  const std::vector<int> cores = usable_cores();
  std::printf(
      "| cores | the agent | from post to answer, median | 10 to 90 %% |\n| --- | --- | ---: | --- |\n");
  if (cores.size() > 1) measure(settings, cores[0], cores[1]);
  measure(settings, cores[0], cores[0]);
  return 0;
}
