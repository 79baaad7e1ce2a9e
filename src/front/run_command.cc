// SPDX-License-Identifier: BSD-3-Clause
#include "front/run_command.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/agent_places.h"
#include "base/program_file.h"
#include "base/shown.h"
#include "front/agents_job.h"
#include "front/help.h"
#include "front/misplaced.h"
#include "front/mistakes.h"
#include "front/places.h"
#include "front/process.h"
#include "front/reports.h"
#include "front/run_line.h"
#include "front/settings.h"
#include "front/traces.h"
#include "launch/errors.h"
#include "launch/launcher_options.h"

namespace unisono::front {
namespace {

constexpr const char* report_variable = "UNISONO_REPORT";
constexpr const char* trace_variable = "UNISONO_RECORD_MESSAGES";
constexpr const char* agents_variable = "UNISONO_AGENTS";

void say(const std::string& text) {
  std::fprintf(stderr, "%s\n", shown("unisono: " + text).c_str());
}

int print_help() {
  constexpr int columns_of_a_file = 80;
  const char* given = std::getenv("COLUMNS");
  winsize window{};
  int columns = given == nullptr ? 0 : std::atoi(given);
  if (columns <= 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0) columns = window.ws_col;
  std::fputs(run_help(columns > 0 ? columns : columns_of_a_file).c_str(), stdout);
  return 0;
}

// Why Unisono can be loaded into some of a job's programs only; empty where it can into all, or into none.
//
// Ranks with Unisono would wait for those without. Where all programs are alike the shim itself says so. A
// program behind a script is not seen here, nor one that other hosts alone have: such a job ends in MPI_Init.
std::string why_not_all(const launch::Words& programs) {
  launch::Words different;
  for (const std::string& program : programs) {
    if (std::ranges::find(different, program) == different.end()) different.push_back(program);
  }
  if (different.size() < 2) return {};
  launch::Words reasons;
  for (const std::string& program : different) {
    const std::string file = launch::find_program(program);
    const char* reason = file.empty() ? nullptr : unisono_obstacle(file.c_str());
    if (reason != nullptr) reasons.push_back(program + " " + reason);
  }
  return reasons.size() == different.size() ? std::string() : launch::joined(reasons, "; ");
}

class Run {
 public:
  Run(const launch::Words& words, const std::string& called)
      : line_(parse_run_line(words)),
        lead_(line_.lead.empty() ? lead_of_run(options_in(words)) : line_.lead),
        called_(called) {}

  int run() {
    if (line_.wants_help) return print_help();
    if (line_.command.empty()) {
      throw launch::UsageError(
          "COMMAND is missing: write what starts the program without Unisono, for example\n"
          "  unisono run mpirun -n 4 ./program\n`unisono run --help` shows more.");
    }
    const Home home;
    require_sensible(line_, home);
    require_launcher_first(lead_, line_.command);
    launch::Settings settings = settings_for_ranks(line_);
    const Options options = options_of(settings);
    if (line_.is_dry_run) {
      std::puts(shown(launch::quoted(command_with_agents(home, settings, options))).c_str());
      if (has_agents()) std::puts(shown(launch::quoted(agents_->command())).c_str());
      return 0;
    }
    Report report(options.report, called_);
    report.prepare();
    const Trace trace(options.record_messages);
    trace.prepare();
    if (report.is_wanted()) set(settings, report_variable, report.file());
    if (trace.is_wanted()) set(settings, trace_variable, trace.file());
    const launch::Words command = command_with_agents(home, settings, options);
    report.remove_old();
    trace.remove_old();
    explain(command);
    if (!report.is_wanted() && !trace.is_wanted() && !has_agents()) replace(command);
    const Outcome outcome = supervise(command, has_agents() ? agents_->companion() : nullptr);
    if (has_agents() && line_.is_verbose) agents_->show_said();
    report.finish(outcome, understood_, without_);
    trace.finish(outcome, understood_, without_);
    return outcome.status;
  }

 private:
  launch::Words options_in(const launch::Words& words) const {
    launch::Words options(words.begin(), words.end() - static_cast<std::ptrdiff_t>(line_.command.size()));
    std::erase(options, "--");
    return options;
  }

  bool has_agents() const { return agents_ && agents_->companion() != nullptr; }

  // As command_for() says. The job is told of its agents, if it can have them. Those that are its own threads
  // it starts itself.
  launch::Words command_with_agents(const Home& home, launch::Settings settings, const Options& options) {
    if (options.agents != "1") return command_for(home, settings, options);
    launch::Settings with_job = settings;
    const std::string job = new_job_name();
    set(with_job, agents_job_variable, job);
    const launch::Words command = command_for(home, with_job, options);
    if (!without_.empty()) return command;
    agents_.emplace(line_, options, understood_, home, job);
    if (has_agents() && agents_->left_out().empty()) return command;
    if (has_agents()) {
      set(with_job, agents_left_out_variable, agents_->left_out());
      return command_for(home, with_job, options);
    }
    say(agents_->why_not() + "; it runs without");
    set(settings, agents_variable, "0");
    return command_for(home, settings, options);
  }

  // The command that runs the job under Unisono, or without it where only some of its programs could have it.
  launch::Words command_for(const Home& home, const launch::Settings& settings, const Options& options) {
    const launch::Shim shim{home.shim(), home.library(), settings, home.families()};
    const auto launcher = launch::launcher_of(line_.command, cache_directory(options.cache));
    if (launcher) require_no_own_option({lead_, line_.lead.empty()}, line_.command, *launcher);
    understood_ = launch::rewrite(line_.command, shim, launcher);
    require_launchers_mpi(lead_, line_.command, understood_);
    require_ranks_of_nodes(line_, understood_);
    const bool is_marked = std::ranges::any_of(line_.command, launch::is_shim);  // who marks has the choice
    without_ = is_marked ? std::string() : why_not_all(understood_.programs);
    return without_.empty() ? understood_.words : line_.command;
  }

  void explain(const launch::Words& command) const {
    if (!without_.empty()) {
      say(without_ + "; the whole job runs without Unisono");
    } else if (line_.is_verbose) {
      say(understood_.explanation);
      say("running " + launch::quoted(command));
      if (has_agents()) say("beside it " + launch::quoted(agents_->command()));
    }
  }

  RunLine line_;
  std::string lead_;  // what was typed before the command
  std::string called_;
  launch::Understood understood_;
  std::string without_;
  std::optional<AgentsJob> agents_;
};

}  // namespace

int run(const launch::Words& words, const std::string& called) {
  return Run(words, called).run();
}

}  // namespace unisono::front
