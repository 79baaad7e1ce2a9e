// SPDX-License-Identifier: BSD-3-Clause
// The questions that unisono-tool answers (docs/inside/tool.md). Each prints its answer to standard output
// and returns the exit status.
#pragma once

#include <string>
#include <vector>

namespace unisono::tool {

int list_algorithms(const std::vector<std::string>& words);
int check_algorithms(const std::vector<std::string>& words);
int show_algorithm(const std::vector<std::string>& words);
int describe_hardware(const std::vector<std::string>& words);
int describe_topology(const std::vector<std::string>& words);
int read_tables(const std::vector<std::string>& words);
int explain_decision(const std::vector<std::string>& words);
int predict_algorithms(const std::vector<std::string>& words);
int simulate_calls(const std::vector<std::string>& words);
int describe_trees(const std::vector<std::string>& words);
int show_machine(const std::vector<std::string>& words);
int describe_graph(const std::vector<std::string>& words);
int measure_matching(const std::vector<std::string>& words);
int make_message_pattern(const std::vector<std::string>& words);
int write_queue_profile(const std::vector<std::string>& words);
int replay_messages(const std::vector<std::string>& words);
int report_on_messages(const std::vector<std::string>& words);
int list_crashes(const std::vector<std::string>& words);
int list_options(const std::vector<std::string>& words);
int describe_environment(const std::vector<std::string>& words);
int judge_settings(const std::vector<std::string>& words);
int read_command(const std::vector<std::string>& words);
int describe_run(const std::vector<std::string>& words);
int list_launchers(const std::vector<std::string>& words);

}  // namespace unisono::tool
