// SPDX-License-Identifier: BSD-3-Clause
#include "model/simulate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "algorithms/building/levels.h"
#include "model/virtual_replay.h"

namespace unisono::model {
namespace {

using patterns::Layout;
using schedule::Problem;

// Who runs the schedule, as the virtual time knows it: all ranks, or a node's agent each.
class Schedule {
 public:
  Schedule(const Problem& problem, const Prepared& prepared, const Machine& machine,
           const SimulateOptions& options)
      : problem_(problem),
        prepared_(prepared),
        machine_(machine),
        options_(options),
        crew_(everyone(problem.layout)) {
    if (options.has_agents) on_agents_ = agents();
  }

  // Records a quiet call, or says why not.
  std::string record(const Cores& cores) {
    Recorder recorder(problem_.size);
    Cores quiet({}, problem_.size, 0);
    RunOptions run = run_options();
    run.cores = &quiet;
    run.recorder = &recorder;
    run.progress = [](std::int64_t) {};
    const Outcome outcome =
        run_in_virtual_time(problem_, prepared_.build, prepared_.size, machine_, crew_, run);
    steps_ = outcome.pieces;
    if (!outcome.problem.empty()) return problem_text_ = outcome.problem;
    if (options_.by_events) return "as it was asked for";
    if (!options_.has_agents && is_sharing_cores(*problem_.layout, machine_))
      return "ranks take turns on their cores";
    Recording recording = recorder.take();
    if (recording.problem.empty()) replay_.emplace(recording, cores);
    return recording.problem;
  }

  void run(const std::vector<double>& begins, Cores* cores, std::vector<double>* ends) {
    if (replay_ && !is_by_events_) return replay_->run(begins, cores, *ends);
    RunOptions run = run_options();
    run.begins = begins;
    run.cores = cores;
    Outcome outcome = run_in_virtual_time(problem_, prepared_.build, prepared_.size, machine_, crew_, run);
    if (!outcome.problem.empty()) problem_text_ = outcome.problem;
    *ends = std::move(outcome.ends);
  }

  // Runs the next calls so, though they could be replayed.
  void go_by_events(bool is_by_events) { is_by_events_ = is_by_events; }
  bool is_replayed() const { return replay_.has_value(); }

  bool is_on_agent(int index) const {
    return !on_agents_.empty() && on_agents_[static_cast<std::size_t>(index)];
  }
  int ranks() const { return problem_.size; }
  std::int64_t steps() const { return steps_; }
  std::int64_t works() const { return replay_ ? replay_->works() : 0; }
  const std::string& problem_text() const { return problem_text_; }

 private:
  RunOptions run_options() const {
    RunOptions run{.model = options_.model, .most_pieces = options_.most_pieces};
    run.on_agents = on_agents_;
    return run;
  }
  // All ranks, or those that both receive and send.
  std::vector<bool> agents() const {
    std::vector<bool> all(static_cast<std::size_t>(problem_.size), true);
    if (!options_.has_hosts_at_ends) return all;
    for (int rank = 0; rank < problem_.size; ++rank) {
      Problem own = problem_;
      own.rank = rank;
      bool is_receiving = false, is_sending = false;
      std::vector<schedule::Step> steps;
      schedule::Writer writer(&steps);
      const schedule::Program program = prepared_.build(own);
      for (const schedule::Stage& stage : program.stages) {
        for (int round = 0; round < stage.rounds; ++round) stage.write(round, writer);
      }
      for (const schedule::Step& step : steps) {
        is_receiving = is_receiving || step.kind == schedule::StepKind::recv;
        is_sending = is_sending || step.kind == schedule::StepKind::send;
      }
      all[static_cast<std::size_t>(rank)] = is_receiving && is_sending;
    }
    return all;
  }

  const Problem& problem_;
  const Prepared& prepared_;
  const Machine& machine_;
  const SimulateOptions& options_;
  Crew crew_;
  std::vector<bool> on_agents_;  // by index; empty: none
  std::optional<Replay> replay_;
  bool is_by_events_ = false;
  std::int64_t steps_ = 0;
  std::string problem_text_;
};

// The ranks' hosts, before and after what runs the schedule.
class Hosts {
 public:
  Hosts(const Problem& problem, const Machine& machine, const SimulateOptions& options, std::int64_t bytes,
        std::vector<NoiseSource> noise)
      : layout_(*problem.layout),
        needing_(problem.operation == Operation::reduce ? problem.root : -1),
        machine_(machine),
        options_(options),
        bytes_(bytes),
        cores_(noise, problem.size, options.seed),
        waiting_(noise, options.has_agents ? problem.size : 0, options.seed, true),
        agents_(std::move(noise), options.has_agents ? problem.layout->nodes() : 0, options.seed + 1) {
    for (Cores* cores : {&cores_, &waiting_}) {
      if (options.slow_share > 0) cores->slow_down(options.slow_share, options.slow_factor);
    }
    if (!is_computing_meanwhile()) end_ = -options.compute_us;  // nobody computes before the first call
    begins_.resize(static_cast<std::size_t>(problem.size), 0);
    ends_ = begins_;
    agent_begins_.resize(static_cast<std::size_t>(layout_.nodes()), 0);
    agent_ends_ = agent_begins_;
  }

  Cores* schedule_cores() { return options_.has_agents ? &agents_ : &cores_; }
  void silence_agents(const Schedule& schedule) {
    for (int index = 0; options_.has_agents && index < schedule.ranks(); ++index) {
      if (schedule.is_on_agent(index)) agents_.silence(index);
    }
  }

  // One call; its time.
  double call(Schedule* schedule) {
    if (options_.has_agents) {
      hand_over(*schedule);
      schedule->run(agent_begins_, &agents_, &agent_ends_);
      take_back(*schedule);
    } else {
      schedule->run(begins_, &cores_, &ends_);
    }
    if (options_.has_broadcast) send_on();
    return end_of_call();
  }

 private:
  bool is_computing_meanwhile() const { return options_.has_agents && options_.is_overlapped; }

  // N8: the node's ranks join their data in shared memory; one of them rings.
  void hand_over(const Schedule& schedule) {
    const SharedMemory& shared = machine_.shared;
    const double line_us = shared.line_us + shared.combine_us.at(bytes_);
    for (std::size_t node = 0; node < agent_begins_.size(); ++node) {
      const std::vector<int>& locals = layout_.ranks_of[node];
      double us = begins_[static_cast<std::size_t>(locals.front())];
      for (std::size_t i = 1; i < locals.size(); ++i) {
        double& begin = begins_[static_cast<std::size_t>(locals[i])];
        const double written = waiting_.end(locals[i], begin, shared.fused_us + shared.line_us);
        us = std::max(us, written + shared.flag_us);
        begin = written;
      }
      if (locals.size() > 1)
        us = waiting_.end(locals.front(), us, line_us * static_cast<double>(locals.size() - 1));
      double& first = begins_[static_cast<std::size_t>(locals.front())];
      if (schedule.is_on_agent(static_cast<int>(node))) {
        first = waiting_.end(locals.front(), us, machine_.agent->ring_us);
        agent_begins_[node] = first + machine_.agent->start_us;
      } else {
        first = agent_begins_[node] = us;
      }
    }
  }

  // Of a reduction the root alone needs the result: all others are done when they have handed over their
  // data.
  void take_back(const Schedule& schedule) {
    const SharedMemory& shared = machine_.shared;
    for (std::size_t node = 0; node < agent_ends_.size(); ++node) {
      const bool is_on_agent = schedule.is_on_agent(static_cast<int>(node));
      const double there = agent_ends_[node] + (is_on_agent ? machine_.agent->completion_us.value : 0);
      for (const int rank : layout_.ranks_of[node]) {
        double& end = ends_[static_cast<std::size_t>(rank)];
        const bool is_first = rank == layout_.ranks_of[node].front();
        double own = begins_[static_cast<std::size_t>(rank)];
        if (is_computing_meanwhile()) own = cores_.end(rank, own, options_.compute_us);
        const double seen = std::max(own, there + (is_first ? 0 : shared.flag_us.value));
        const bool is_needing = needing_ < 0 || needing_ == rank || !is_on_agent;
        end = is_needing ? waiting_.end(rank, seen, is_first ? 0 : shared.line_us.value) : own;
      }
    }
  }

  // What a host needs to see it falls into its next call.
  void send_on() { std::ranges::fill(ends_, *std::ranges::max_element(ends_) + machine_.broadcast_us); }

  // And when the next one begins.
  double end_of_call() {
    const double end = *std::ranges::max_element(ends_);
    const double before =
        options_.is_together && !is_computing_meanwhile() ? begin_ : end_ + options_.compute_us;
    for (int rank = 0; rank < layout_.size(); ++rank) {
      double& begin = begins_[static_cast<std::size_t>(rank)];
      begin = ends_[static_cast<std::size_t>(rank)];
      if (options_.compute_us > 0 && !is_computing_meanwhile())
        begin = cores_.end(rank, begin, options_.compute_us);
    }
    if (options_.is_together) {
      begin_ = *std::ranges::max_element(begins_);
      std::ranges::fill(begins_, begin_);
    }
    end_ = end;
    return end - before;
  }

  const Layout& layout_;
  int needing_;  // the only rank that needs the result; -1: all
  const Machine& machine_;
  const SimulateOptions& options_;
  std::int64_t bytes_;
  // Hosts that compute or run the schedule; and those that hand over to agents and wait, which meet a share
  // of the detours.
  Cores cores_, waiting_;
  Cores agents_;
  std::vector<double> begins_, ends_;              // by rank
  std::vector<double> agent_begins_, agent_ends_;  // by node
  double begin_ = 0;                               // of the call, where all begin together
  double end_ = 0;                                 // of the call before
};

// Holds replayed calls together with the same calls by events.
class Checker {
 public:
  Checker(Schedule* schedule, int calls) : schedule_(schedule), calls_(calls) {
    // They take some tenths of a second together; of very many ranks, as long as the recording.
    constexpr std::int64_t most_steps = 200'000, fewest_calls = 1, most_calls = 100;
    const std::int64_t of_steps = most_steps / std::max<std::int64_t>(schedule->steps(), 1);
    if (schedule->is_replayed())
      checked_ = std::min<std::int64_t>(std::clamp(of_steps, fewest_calls, most_calls), calls);
  }

  // Call so-and-so, from 0 on; its time by replay, where there is one.
  double call(int number, Hosts* hosts) {
    if ((number + 1) * checked_ / calls_ == number * checked_ / calls_) return hosts->call(schedule_);
    Hosts same = *hosts;
    const double replay_us = hosts->call(schedule_);
    schedule_->go_by_events(true);
    const double events_us = same.call(schedule_);
    schedule_->go_by_events(false);
    constexpr double rounding_us = 1e-6;
    const double error_us = replay_us - events_us;
    ++found_.calls;
    if (std::abs(error_us) > rounding_us) ++found_.differing;
    events_us_ += events_us;
    error_us_ += error_us;
    if (events_us > 0) found_.most_error = std::max(found_.most_error, std::abs(error_us) / events_us);
    if (events_us_ > 0) found_.mean_error = error_us_ / events_us_;
    return replay_us;
  }
  const ReplayCheck& found() const { return found_; }

 private:
  Schedule* schedule_;
  std::int64_t calls_, checked_ = 0;
  ReplayCheck found_;
  double events_us_ = 0, error_us_ = 0;  // of all checked calls
};

std::string why_not(const Problem& problem, const Machine& machine, const SimulateOptions& options) {
  if (options.has_agents && !machine.agent)
    return "machine " + machine.name + " has no agent: quadrics-alc has, or a file with `agent`";
  if (options.has_agents && problem.layout->nodes() < 2) return "agents are for two nodes at least";
  if (options.has_broadcast && machine.broadcast_us <= 0)
    return "machine " + machine.name + " has no broadcast in its network: quadrics-alc has";
  return {};
}

// One rank a node, which its agent stands for.
Problem problem_of_agents(const Problem& problem) {
  Problem own = problem;
  std::vector<int> labels(static_cast<std::size_t>(problem.layout->nodes()));
  std::iota(labels.begin(), labels.end(), 0);
  own.layout = std::make_shared<const Layout>(Layout::from_labels(labels));
  own.size = own.layout->size();
  own.root = problem.layout->node_of[static_cast<std::size_t>(problem.root)];
  return own;
}

}  // namespace

Simulated simulate(const Candidate& candidate, const Problem& problem, std::int64_t bytes,
                   const Machine& machine, const SimulateOptions& options) {
  Simulated result{.problem = why_not(problem, machine, options)};
  if (!result.problem.empty()) return result;
  const algorithms::KeptLayouts leaders;
  const Problem own = options.has_agents ? problem_of_agents(problem) : problem;
  PredictOptions legal;
  legal.has_shared_memory = !options.has_agents;
  const Prepared prepared = prepare(candidate, own, bytes, machine, legal);
  result.problem = prepared.problem;
  if (!result.problem.empty()) return result;

  Schedule schedule(own, prepared, machine, options);
  Hosts hosts(problem, machine, options, bytes, options.noise);
  hosts.silence_agents(schedule);
  result.by_events = schedule.record(*hosts.schedule_cores());
  SimulateOptions quiet = options;
  quiet.compute_us = 0;
  if (schedule.problem_text().empty())
    result.quiet_us = Hosts(problem, machine, quiet, bytes, {}).call(&schedule);
  Checker checker(&schedule, options.calls);
  for (int call = 0; call < options.calls && schedule.problem_text().empty(); ++call) {
    result.us.push_back(checker.call(call, &hosts));
    if (options.progress) options.progress(static_cast<double>(call + 1) / options.calls);
  }
  result.problem = schedule.problem_text();
  result.check = checker.found();
  result.works = schedule.works();
  result.steps = schedule.steps();
  return result;
}

}  // namespace unisono::model
