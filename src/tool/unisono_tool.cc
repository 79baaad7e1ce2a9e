// SPDX-License-Identifier: BSD-3-Clause
// unisono-tool: what the command line asks the compiled code (docs/inside/tool.md). Needs no MPI.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "base/shown.h"
#include "tool/commands.h"
#include "tool/question.h"

namespace unisono::tool {
namespace {

int print_version(const std::vector<std::string>& words) {
  const Arguments none(words, {}, {});
  std::puts("{\"unisono\": \"" UNISONO_VERSION "\"}");
  return 0;
}

struct Question {
  const char* name;
  int (*answer)(const std::vector<std::string>& words);
};
constexpr Question questions[] = {{"version", print_version},
                                  {"options", list_options},
                                  {"list", list_algorithms},
                                  {"show", show_algorithm},
                                  {"check", check_algorithms},
                                  {"topology", describe_topology},
                                  {"hardware", describe_hardware},
                                  {"table", read_tables},
                                  {"explain", explain_decision},
                                  {"predict", predict_algorithms},
                                  {"simulate", simulate_calls},
                                  {"trees", describe_trees},
                                  {"graph", describe_graph},
                                  {"match-bench", measure_matching},
                                  {"match-pattern", make_message_pattern},
                                  {"match-profile", write_queue_profile},
                                  {"match-replay", replay_messages},
                                  {"match-report", report_on_messages},
                                  {"machine", show_machine},
                                  {"crashes", list_crashes},
                                  {"settings", judge_settings},
                                  {"environment", describe_environment},
                                  {"launch", read_command},
                                  {"launchers", list_launchers},
                                  {"run", describe_run}};

int answer(const std::vector<std::string>& words) {
  std::string known;
  for (const Question& question : questions) {
    if (!words.empty() && words[0] == question.name) {
      return question.answer(std::vector<std::string>(words.begin() + 1, words.end()));
    }
    known += (known.empty() ? "" : ", ") + std::string(question.name);
  }
  throw UsageError((words.empty() ? "ask something" : "there is no question '" + words[0] + "'") +
                   ("; there are " + known));
}

}  // namespace
}  // namespace unisono::tool

int main(int count, char** words) {
  constexpr int usage_status = 2;
  try {
    return unisono::tool::answer(std::vector<std::string>(words + 1, words + count));
  } catch (const unisono::tool::UsageError& error) {
    std::fprintf(stderr, "unisono-tool: %s\n", unisono::shown(error.what()).c_str());
    return usage_status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "unisono-tool: %s\n", unisono::shown(error.what()).c_str());
    return 3;
  }
}
