// SPDX-License-Identifier: BSD-3-Clause
// The one list of options: environment, configuration file, command line and documentation all read it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"

namespace unisono {

// Which algorithm serves a call.
struct DecisionOptions {
  bool is_enabled = true;
  std::string algorithm;  // "allreduce:ring(segment=64K),bcast:native"
  bool is_reproducible = false;
  std::int64_t set_up_after = 128;  // small calls on a communicator
  bool sets_up_early = false;       // communicators between nodes, where they are made
  std::string table;                // files, separated by colons
  std::string site_table = "auto";  // a file; auto: the place where it is installed; empty: none
  std::string cache = "auto";       // a directory; auto: the user's; empty: none
  std::string topology;             // "tree:4x8", or a file; empty: nothing is known of switches
};

// What is found out while the program runs.
struct LearningOptions {
  std::string learn = "auto";          // off, star, auto
  std::int64_t learn_iterations = 10;  // looks at each candidate
  double learn_tolerance = 10;         // percent
  std::int64_t learn_factor = 64;      // most looks of a monitoring period, in learn_iterations
  bool learn_groups = false;
  double learn_prune = 0;   // percent
  double learn_budget = 1;  // percent
  std::int64_t learn_sizes = 16;
  std::string machine;              // a built-in one's name, or a file; empty: found out; none
  std::int64_t startup_test = 2;    // seconds; 0: none
  std::int64_t startup_after = 20;  // seconds of the job
};

// What is checked, and what the user is told.
struct TellingOptions {
  std::string verify = "off";                      // off, sample, sample:N, all
  std::string verify_inputs = "unisono-mismatch";  // beginning of file names, empty for none
  bool watches_crashes = true;
  bool is_profiled = false;
  std::string report;           // file, "-" for standard error, empty for none
  std::string record_messages;  // file, empty for none
  std::int64_t record_bytes = std::int64_t{64} << 20;
  std::string log = "warning";  // quiet, warning, info
};

// A node's memory, and how its ranks share it.
struct NodeOptions {
  bool use_shared_memory = true;
  bool use_single_copy = true;
  std::string segment = "memfd";  // memfd, shm_open
  std::string wait = "auto";      // auto, spin, pause, yield, futex, sleep
  std::int64_t pool_bytes = std::int64_t{1} << 30;
  std::int64_t channel_bytes = std::int64_t{4} << 20;
  bool is_channel_bytes_given = false;  // by the user; known on the rank that has read the options
  std::string nodes;  // "4x2", "3,5": pretended nodes, finer than the real ones; empty: the real ones
  std::string domains = "auto";  // auto, on, off, or each node's: "2x4"
  std::int64_t cores = 0;        // 0: found out
};

// What goes on with calls while the program computes, one on each node: processes beside the job's ("1"), or
// threads of its ranks ("thread").
struct AgentOptions {
  std::string agents = "0";
  std::int64_t agents_deadline = 10;      // seconds
  std::string agents_algorithm;           // "reduce:k_nomial(degree=4)"
  std::string agents_on;                  // "hosts:node1,node2,cores:3,8-11" (base/agent_places.h)
  std::string agents_float = "hardware";  // hardware, softfloat
  std::string agents_carrier = "mpi";     // what goes between nodes (src/agents/carrier.h)
  std::string agents_job;  // by which ranks and agents know each other; known where it was read
};

// The job's own name, by which its ranks and agents find each other: `unisono run` sets it, nobody else.
inline constexpr const char* agents_job_variable = "UNISONO_AGENTS_JOB";

// What a job may set. Rank 0's values hold for all ranks (runtime::start broadcasts them).
struct Options : DecisionOptions, LearningOptions, TellingOptions, NodeOptions, AgentOptions {
  std::string progress = "thread";  // thread, calls
  std::int64_t unexpected_bytes = std::int64_t{256} << 20;
  std::string messages = "off";        // off, node, all, auto
  std::string long_messages = "auto";  // memory, mpi, auto
  bool serves_spawned = true;          // processes that the program spawns
  std::int64_t cache_bytes = std::int64_t{16} << 20;
};

struct OptionSpec {
  std::string_view name;         // configuration file key, and with - for _ the command line's long option
  std::string_view environment;  // UNISONO_...
  std::string_view type;  // "bool", "bytes", "integer", "percent", "text", "file", "files" (by colons),
                          // "list" (by commas), or "a|b|c"
  std::string_view group;
  std::string_view help;
  std::function<std::string(const Options&)> get;
  // Empty on success, otherwise what is wrong with the value.
  std::function<std::string(Options&, std::string_view)> set;
};

const std::vector<OptionSpec>& option_list();

// The file that is read: UNISONO_CONFIG, else $XDG_CONFIG_HOME/unisono/unisono.conf; empty: there is no home.
struct ConfigurationFile {
  std::string path;
  bool is_named = false;  // by UNISONO_CONFIG
};
ConfigurationFile configuration_file(const Environment& environment);

// What has set an option: `UNISONO_TABLE`, or a file with its line.
struct OptionOrigin {
  std::string_view name;
  std::string where;
};

// The site's configuration (base/site_configuration.h), the user's file (base/option_lines.h), then the
// environment, which wins. Problems are appended to `warnings`; what they concern keeps its value. A `~` at
// the beginning of a file's name is the home. Entries read them, of the process's environment; whatever they
// start is handed its options.
Options read_options(const Environment& environment, std::vector<std::string>* warnings,
                     std::vector<OptionOrigin>* origins = nullptr);

// A value with each `~` and `~/...` that begins a file's name spelt out, where the option takes files.
std::string with_home(const OptionSpec& spec, std::string_view value, const Environment& environment);

// Option `cache`: a directory, "auto" for $XDG_CACHE_HOME/unisono or ~/.cache/unisono; empty: none.
std::string cache_directory(std::string_view option,
                            const Environment& environment = Environment::of_process());

// All options as lines `key = value`, and back: how rank 0's options travel.
std::string to_text(const Options& options);
Options options_from_text(std::string_view text, std::vector<std::string>* warnings);

// Option verify: one call in so many is checked, 0: none is; -1 where it is no such value.
std::int64_t verify_interval(std::string_view text);

// "64K", "1M", "2GiB", "4096" -> bytes; -1 where it is no size. And the shortest exact form back.
std::int64_t bytes_from_text(std::string_view text);
std::string bytes_to_text(std::int64_t bytes);

}  // namespace unisono
