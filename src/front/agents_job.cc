// SPDX-License-Identifier: BSD-3-Clause
#include "front/agents_job.h"

#include <algorithm>
#include <cstdio>
#include <random>

#include "agents/agent.h"
#include "agents/soft_float.h"
#include "base/agent_places.h"
#include "base/shown.h"
#include "launch/agent_command.h"
#include "launch/errors.h"
#include "patterns/layout.h"

namespace unisono::front {
namespace {

constexpr std::size_t most_lines = 30;
constexpr int most_starts_again = 5;
constexpr int most_on_a_node = 64;  // so many places there are to meet (agents/meeting.h)

// Lines of what a launcher has said, each marked.
void print_said(std::string_view text) {
  std::size_t count = 0;
  while (!text.empty() && count < most_lines) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) {
      std::fprintf(stderr, "%s\n", shown("agents: " + std::string(text.substr(0, end))).c_str());
      ++count;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Pretended nodes have agents of their own. Each machine gets as many as if all of them were there.
std::size_t agents_on_a_node(const Options& options) {
  const auto pretended = patterns::Layout::parse(options.nodes);
  return pretended ? static_cast<std::size_t>(std::min(pretended->nodes(), most_on_a_node)) : 1;
}

// The program of an agent, with what it is told.
launch::Words words_of_agent(const Home& home, const Options& options, const std::string& cores,
                             const std::string& job_name) {
  launch::Words words{home.agent(), "--job", job_name};
  if (!cores.empty()) words.insert(words.end(), {"--cores", cores});
  if (options.agents_float != "hardware") words.insert(words.end(), {"--float", options.agents_float});
  if (options.agents_carrier != "mpi") words.insert(words.end(), {"--carrier", options.agents_carrier});
  return words;
}

bool is_on_command_line(const RunLine& line) {
  return std::ranges::any_of(line.given, [](const Given& given) { return given.spec->name == "agents"; });
}

}  // namespace

std::string new_job_name() {
  std::random_device random;
  std::string name;
  for (int i = 0; i < 4; ++i) {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(random()));
    name += digits;
  }
  return name;
}

AgentsJob::AgentsJob(const RunLine& line, const Options& options, const launch::Understood& understood,
                     const Home& home, const std::string& job_name)
    : job_name_(job_name), watch_(job_name, std::chrono::seconds(options.agents_deadline)) {
  const AgentPlaces places = agent_places(options.agents_on).value_or(AgentPlaces{});
  launch::AgentCommand made =
      launch::agent_command(line.command, understood, words_of_agent(home, options, places.cores, job_name),
                            {.agents = agents_on_a_node(options), .hosts = places.hosts});
  if (options.agents_float == "softfloat" && !agents::is_soft_float_there())
    made.obstacle = "option agents_float asks for SoftFloat, and this build of Unisono is without it";
  left_out_ = launch::joined(made.left_out, ",");
  if (made.obstacle.empty()) {
    command_ = std::move(made.words);
    companion_ = std::make_unique<Companion>(
        command_, [this](const std::string& how) { return after_failure(how); },
        [this] {
          const bool have_ended = companion_->said().find(agents::ended_words) != std::string::npos;
          return have_ended ? std::string() : watch_.what_is_wrong(are_ready());
        });
    return;
  }
  why_not_ = "this job can have no agents: " + made.obstacle;
  if (is_on_command_line(line)) throw launch::UsageError(why_not_ + ". Leave out --agents.");
}

AgentsJob::~AgentsJob() {
  companion_.reset();
  watch_.remove_files();
}

bool AgentsJob::are_ready() const {
  return companion_->said().find(agents::ready_words) != std::string::npos;
}

// They are started again where they can have begun something: what cannot start at all does so no better the
// second time.
std::optional<launch::Words> AgentsJob::after_failure(const std::string& how) {
  watch_.remove_files();
  const bool have_begun = starts_ > 1 || are_ready();
  if (have_begun && starts_ <= most_starts_again) {
    watch_.begin(starts_);
    const std::string number = std::to_string(starts_++);
    std::fprintf(stderr, "%s\n",
                 shown("unisono: the job's agents have died: " + how +
                       ". They are started again, and take over what was under way (" + number + " of " +
                       std::to_string(most_starts_again) + " times).")
                     .c_str());
    launch::Words words = command_;
    words.insert(words.end(), {"--again", number});
    return words;
  }
  const std::string text = "unisono: the job's agents are gone: " + how +
                           ". Where it has not met them the job goes on without. What was said there:";
  std::fprintf(stderr, "%s\n", shown(text).c_str());
  print_said(companion_->said());
  absence_ = agents::Absence::say(job_name_);
  return std::nullopt;
}

void AgentsJob::show_said() const {
  if (companion_) print_said(companion_->said());
}

}  // namespace unisono::front
