// SPDX-License-Identifier: BSD-3-Clause
// The UNISONO_* variables that the ranks shall see.
#pragma once

#include <string>

#include "front/places.h"
#include "front/run_line.h"
#include "launch/rewrite.h"

namespace unisono::front {

// Those of our environment; over them, what stands on the command line.
launch::Settings settings_for_ranks(const RunLine& line);

// Ends the command where an option on its command line makes no sense: a job would only warn of it, after it
// has started. (What stands in the environment may be meant for others.)
void require_sensible(const RunLine& line, const Home& home);

// Empty where there is none.
std::string value_of(const launch::Settings& settings, std::string_view variable);
void set(launch::Settings& settings, const std::string& variable, const std::string& value);

// The options that these settings and the configuration file give.
Options options_of(const launch::Settings& settings);

// Ends the command where `--nodes` is for another number of ranks than the launcher is asked for. Where
// nobody can know that before, or a variable says the nodes, the job warns of it.
void require_ranks_of_nodes(const RunLine& line, const launch::Understood& understood);

}  // namespace unisono::front
