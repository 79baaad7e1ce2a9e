// SPDX-License-Identifier: BSD-3-Clause
// The options, one after the other.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <utility>

#include "base/agent_places.h"
#include "base/near_names.h"
#include "base/options.h"

namespace unisono {
namespace {

OptionSpec flag(std::string_view name, std::string_view environment, std::string_view group,
                std::string_view help, bool Options::*member) {
  return {name,
          environment,
          "bool",
          group,
          help,
          [member](const Options& o) { return std::string(o.*member ? "1" : "0"); },
          [member](Options& o, std::string_view value) -> std::string {
            for (std::string_view yes : {"1", "yes", "on", "true"}) {
              if (value == yes) return o.*member = true, "";
            }
            for (std::string_view no : {"0", "no", "off", "false"}) {
              if (value == no) return o.*member = false, "";
            }
            return "takes 1 or 0 (or on, off, yes, no)";
          }};
}

OptionSpec text(std::string_view name, std::string_view environment, std::string_view type,
                std::string_view group, std::string_view help, std::string Options::*member) {
  return {
      name,
      environment,
      type,
      group,
      help,
      [member](const Options& o) { return o.*member; },
      [member](Options& o, std::string_view value) { return o.*member = std::string(value), std::string(); }};
}

OptionSpec choice(std::string_view name, std::string_view environment, std::string_view choices,
                  std::string_view group, std::string_view help, std::string Options::*member) {
  OptionSpec spec = text(name, environment, choices, group, help, member);
  spec.set = [member, choices](Options& o, std::string_view value) -> std::string {
    std::vector<std::string> names;
    for (std::string_view rest = choices; !rest.empty();) {
      const std::size_t bar = rest.find('|');
      names.emplace_back(rest.substr(0, bar));
      if (names.back() == value) return o.*member = std::string(value), "";
      rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
    }
    return "takes one of " + std::string(choices) + did_you_mean(value, names);
  };
  return spec;
}

OptionSpec verification() {
  OptionSpec spec =
      text("verify", "UNISONO_VERIFY", "text", "checks",
           "Compare results with the MPI's own: off; sample (the first call of each kind, and then one "
           "in 256); sample:N, one in N; all. An algorithm whose result is wrong is reported and not used "
           "any more, and the MPI's result is delivered (docs/guide/verify.md).",
           &Options::verify);
  spec.set = [](Options& o, std::string_view value) -> std::string {
    if (verify_interval(value) < 0)
      return "takes off, sample, sample:N or all" + did_you_mean(value, {"off", "sample", "all"});
    return o.verify = std::string(value), "";
  };
  return spec;
}

OptionSpec number(std::string_view name, std::string_view environment, std::string_view type,
                  std::string_view group, std::string_view help, std::int64_t low, std::int64_t high,
                  std::int64_t Options::*member) {
  const bool is_bytes = type == "bytes";
  return {name,
          environment,
          type,
          group,
          help,
          [member, is_bytes](const Options& o) {
            return is_bytes ? bytes_to_text(o.*member) : std::to_string(o.*member);
          },
          [=](Options& o, std::string_view value) -> std::string {
            const std::int64_t n = bytes_from_text(value);
            if (n < low || n > high) {
              return "takes " + std::string(is_bytes ? "a size" : "a whole number") + " from " +
                     bytes_to_text(low) + " to " + bytes_to_text(high);
            }
            return o.*member = n, "";
          }};
}

OptionSpec percent(std::string_view name, std::string_view environment, std::string_view group,
                   std::string_view help, double most, double Options::*member) {
  return {name,
          environment,
          "percent",
          group,
          help,
          [member](const Options& o) {
            char digits[400];  // all that ranks need to have the same number
            const auto end = std::to_chars(digits, std::end(digits), o.*member, std::chars_format::fixed).ptr;
            return std::string(digits, end);
          },
          [=](Options& o, std::string_view value) -> std::string {
            const std::string_view digits = value.substr(0, value.find('%'));
            double n = -1;
            const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
            const bool is_number = error == std::errc() && end == digits.data() + digits.size() &&
                                   value.size() - digits.size() <= 1;
            if (!is_number || !(n >= 0) || n > most) {
              return "takes a percentage from 0 to " + std::to_string(static_cast<int>(most));
            }
            return o.*member = n, "";
          }};
}

std::vector<OptionSpec> learning_options() {
  return {
      choice(
          "learn", "UNISONO_LEARN", "off|star|auto", "learning",
          "Find the fastest algorithms while the program runs (docs/guide/learning.md). auto: few are tried, "
          "one at a time, for which a budget pays; what turns out slow is given up at once. star: every "
          "algorithm is tried some times, then the best one is watched. off: rules and tables decide.",
          &Options::learn),
      number("learn_iterations", "UNISONO_LEARN_ITERATIONS", "integer", "learning",
             "How many calls each algorithm is measured in, in each kind of calls.", 1, 10000,
             &Options::learn_iterations),
      percent("learn_tolerance", "UNISONO_LEARN_TOLERANCE", "learning",
              "An algorithm in use is left when it takes so much longer than the second best did.", 1000,
              &Options::learn_tolerance),
      number(
          "learn_factor", "UNISONO_LEARN_FACTOR", "integer", "learning",
          "Ranks agree on how an algorithm does after 2 times learn_iterations calls that were timed, then "
          "after twice as many and so on, up to so many times learn_iterations.",
          2, 1 << 20, &Options::learn_factor),
      flag("learn_groups", "UNISONO_LEARN_GROUPS", "learning",
           "With star: try one algorithm of each group first, then the others of the best group.",
           &Options::learn_groups),
      percent(
          "learn_prune", "UNISONO_LEARN_PRUNE", "learning",
          "With star: leave out what is predicted to take so much longer than what is predicted to be the "
          "fastest (100: more than twice the time); 0: nothing.",
          100'000, &Options::learn_prune),
      percent("learn_budget", "UNISONO_LEARN_BUDGET", "learning",
              "With auto: how much of the time in collectives, on each communicator, trials may cost.", 100,
              &Options::learn_budget),
      number("learn_sizes", "UNISONO_LEARN_SIZES", "integer", "learning",
             "Of each operation, on each communicator and in each region, the first so many size classes are "
             "learned.",
             1, 1000, &Options::learn_sizes),
      text("machine", "UNISONO_MACHINE", "text", "learning",
           "The machine, for learning: auto tries first what is predicted to be fast, and nothing that is "
           "predicted to take three times as long as the MPI; see also learn_prune. A file that rank 0 "
           "reads, or the name of one "
           "that `unisono machine measure` has left in the cache directory, or of a built-in one "
           "(docs/guide/models.md). Nothing: the one of this host, else a usual machine with the cores that "
           "the job has; none: no predictions.",
           &Options::machine),
      number("startup_test", "UNISONO_STARTUP_TEST", "integer", "learning",
             "Without learning, where a table decides that was not tuned for just this layout and size: test "
             "for at most so many seconds which algorithm is the fastest, once for each kind of calls, and "
             "keep that for the next job; 0: never.",
             0, 3600, &Options::startup_test),
      number(
          "startup_after", "UNISONO_STARTUP_AFTER", "integer", "learning",
          "Such tests begin when the job has run for so many seconds: what is over soon is not held up. 0: "
          "at the first call of its kind.",
          0, 1'000'000, &Options::startup_after),
  };
}

std::vector<OptionSpec> decision_options() {
  return {
      flag("enable", "UNISONO_ENABLE", "general",
           "Take collectives at all; 0 passes every call straight to the MPI.", &Options::is_enabled),
      text("algorithm", "UNISONO_ALGORITHM", "list", "decision",
           "Force algorithms: OPERATION:ALGORITHM, with parameters in brackets, several separated by commas; "
           "OPERATION may be all, which stands for each that has the algorithm. For example "
           "allreduce:ring(segment=64K),bcast:native. allreduce:agents leaves blocking calls to agents, "
           "where the job has them (docs/guide/agents.md). Of several for one operation the first that is "
           "legal serves. What is illegal or unknown is refused with a warning.",
           &Options::algorithm),
      text(
          "table", "UNISONO_TABLE", "files", "decision",
          "Tables that say which algorithm serves which calls, several separated by colons; of two rules for "
          "the same calls the first one holds (docs/guide/tables.md).",
          &Options::table),
      text("site_table", "UNISONO_SITE_TABLE", "file", "decision",
           "The table of this machine, which holds where no other one speaks; auto: etc/unisono/table.json "
           "where Unisono is installed, if it is there; none, or empty: none.",
           &Options::site_table),
      text("cache", "UNISONO_CACHE", "file", "decision",
           "Directory in which is kept what one job leaves for the next; auto: $XDG_CACHE_HOME/unisono, else "
           "~/.cache/unisono; none, or empty: nothing is kept.",
           &Options::cache),
      flag(
          "reproducible", "UNISONO_REPRODUCIBLE", "decision",
          "Reductions join their operands in one order that the number of ranks alone decides: the same bits "
          "whatever algorithm, segment, placement and MPI (docs/guide/reproducible.md). The info key "
          "unisono_reproducible sets it for one communicator.",
          &Options::is_reproducible),
      number(
          "set_up_after", "UNISONO_SET_UP_AFTER", "integer", "decision",
          "Communicators other than MPI_COMM_WORLD are left to the MPI for so many small calls, a longer one "
          "counting for more (1 and its bytes / 4096), since a set-up costs as much as hundreds of small "
          "calls gain. 0: set up at the first call, as where algorithms are forced, checked or "
          "reproducible.",
          0, 1000000000, &Options::set_up_after),
      flag("set_up_early", "UNISONO_SET_UP_EARLY", "decision",
           "Set up communicators between nodes where the program makes them (MPI_Comm_dup and the like). "
           "For those that make none but non-blocking collectives.",
           &Options::sets_up_early),
  };
}

std::vector<OptionSpec> options_of_the_process() {
  return {
      verification(),
      text("verify_inputs", "UNISONO_VERIFY_INPUTS", "file", "checks",
           "Beginning of the names of the files to which the inputs of a call go whose result was wrong, one "
           "for each rank; empty for none.",
           &Options::verify_inputs),
      flag(
          "crashes", "UNISONO_CRASHES", "checks",
          "Where a signal such as SIGSEGV ends the program inside one of Unisono's algorithms, say in which, "
          "and leave it out of this program's later runs (docs/guide/verify.md; `unisono crashes` shows what "
          "is left out). 0: no signal is looked at, and nothing is left out.",
          &Options::watches_crashes),
      text("report", "UNISONO_REPORT", "file", "general",
           "Write a report (JSON) to this file at MPI_Finalize; - prints a summary to standard error. "
           "`unisono run` makes a page of it where the name ends in .html.",
           &Options::report),
      flag("profile", "UNISONO_PROFILE", "general",
           "Count and time all MPI calls of the program, by function, message size and where the partner is; "
           "the report has them (docs/guide/profile.md). Without option report a summary goes to standard "
           "error.",
           &Options::is_profiled),
      text("record_messages", "UNISONO_RECORD_MESSAGES", "file", "general",
           "Write a trace of the program's messages to this file at MPI_Finalize, for `unisono match report` "
           "(docs/guide/matching.md).",
           &Options::record_messages),
      flag("spawn", "UNISONO_SPAWN", "general",
           "Run spawned processes (MPI_Comm_spawn) under Unisono, too (docs/guide/spawned.md).",
           &Options::serves_spawned),
      choice("log", "UNISONO_LOG", "quiet|warning|info", "general", "What is said on standard error.",
             &Options::log),
      choice("wait", "UNISONO_WAIT", "auto|spin|pause|yield|futex|sleep", "shared memory",
             "How ranks of a node wait for each other; auto: as the machine's file (option machine) says, "
             "else pause where each rank has a core. Ranks that share cores yield. Where they are in several "
             "sessions, and the kernel schedules session by session, they sleep if yields take long.",
             &Options::wait),
      choice(
          "progress", "UNISONO_PROGRESS", "thread|everywhere|calls", "general",
          "What lets non-blocking collectives go on while the program is elsewhere. thread: a thread that "
          "sleeps as long as the program comes by itself; between nodes they then need MPI_THREAD_MULTIPLE. "
          "everywhere: the same, and Unisono asks the MPI for that level. calls: nothing; a program hangs "
          "where one waits for such a call and another is blocked elsewhere in MPI.",
          &Options::progress),
      choice(
          "messages", "UNISONO_MESSAGES", "off|node|all|auto", "general",
          "Which of the program's messages (MPI_Send, MPI_Irecv and the like) Unisono carries. off: none. "
          "node: those on communicators whose ranks share a node. all: those between nodes too, by the MPI's "
          "own, with MPI_THREAD_MULTIPLE. auto: node where that was measured to be faster with this MPI, but "
          "for many short messages at once, and off elsewhere (docs/guide/messages.md).",
          &Options::messages),
      choice("long_messages", "UNISONO_LONG_MESSAGES", "auto|memory|mpi", "general",
             "What carries the data of messages between ranks of a node that are longer than 64 KiB (option "
             "messages). memory: shared memory. mpi: the MPI, behind Unisono's header. auto: the faster one, "
             "by timing a few of each length.",
             &Options::long_messages),
  };
}

std::vector<OptionSpec> options_of_nodes() {
  constexpr std::int64_t kib = 1024, mib = kib * kib, gib = kib * mib;
  return {
      flag("shared_memory", "UNISONO_SHARED_MEMORY", "shared memory",
           "Use shared memory inside nodes; 0 treats every rank as a node of its own.",
           &Options::use_shared_memory),
      flag("single_copy", "UNISONO_SINGLE_COPY", "shared memory",
           "Let ranks read each other's memory (process_vm_readv) where the kernel allows it.",
           &Options::use_single_copy),
      choice("segment", "UNISONO_SEGMENT", "memfd|shm_open", "shared memory",
             "What the node's pool is made of; memfd falls back to shm_open by itself where it cannot be "
             "shared.",
             &Options::segment),
      number("unexpected_bytes", "UNISONO_UNEXPECTED_BYTES", "bytes", "shared memory",
             "Memory that a rank may take for messages that came before their receives (option messages). "
             "Beyond it senders wait for their receives.",
             64 * kib, 1024 * gib, &Options::unexpected_bytes),
      number("pool_bytes", "UNISONO_POOL_BYTES", "bytes", "shared memory",
             "Most shared memory that all communicators of a node may take together.", mib, 1024 * gib,
             &Options::pool_bytes),
      number(
          "channel_bytes", "UNISONO_CHANNEL_BYTES", "bytes", "shared memory",
          "Shared buffer of a communicator on one node, for each of its channels. Where it is not given the "
          "machine's file (option machine) may say how large the buffers are.",
          64 * kib, gib, &Options::channel_bytes),
      number("record_bytes", "UNISONO_RECORD_BYTES", "bytes", "general",
             "Most memory that each rank takes for a trace of messages, 8 bytes an event. When it is full, "
             "what comes later is counted only.",
             64 * kib, 64 * gib, &Options::record_bytes),
      number("cache_bytes", "UNISONO_CACHE_BYTES", "bytes", "general",
             "Most memory for the schedules that a communicator keeps.", 64 * kib, 16 * gib,
             &Options::cache_bytes),
      text(
          "nodes", "UNISONO_NODES", "text", "shared memory",
          "Pretend that MPI_COMM_WORLD is spread over nodes like this (4x2, 3,5,8, 4x2x8 with domains inside "
          "nodes, or with /cyclic): ranks of different pretended nodes exchange messages. For trying "
          "algorithms out; real nodes stay apart.",
          &Options::nodes),
      text(
          "domains", "UNISONO_DOMAINS", "text", "shared memory",
          "What nodes consist of: sockets, NUMA domains, cores behind one cache. auto: as hwloc tells, on "
          "nodes "
          "with more than 4 ranks and 8 cores whose ranks are bound; on: on all; off: nothing is known; 2x4: "
          "pretend that each node is 2 domains of 4 ranks, in order.",
          &Options::domains),
      number("cores", "UNISONO_CORES", "integer", "shared memory",
             "Cores that the ranks of a node may use; 0: from their affinity masks and the cgroup's quota, "
             "shared with other nodes of the same machine (containers) that have the same.",
             0, 1 << 20, &Options::cores),
      text("topology", "UNISONO_TOPOLOGY", "file", "decision",
           "The switches between the machines: a file as Slurm's topology.conf, which rank 0 reads, or a "
           "string, tree:4x8 for 4 switches with 8 machines each below another one. Algorithms of the group "
           "'topology' go by it.",
           &Options::topology),
  };
}

OptionSpec places_of_agents() {
  OptionSpec spec = text(
      "agents_on", "UNISONO_AGENTS_ON", "list", "general",
      "On which cores of each node agents run, by the system's numbers (cores:3 or cores:3,8-11), and on "
      "which hosts they are started (hosts:node1,node2), which must be those of the job. Both may be "
      "given. Empty: wherever the system puts them, and on the hosts that the launcher's words give.",
      &Options::agents_on);
  spec.set = [](Options& o, std::string_view value) -> std::string {
    if (!agent_places(value))
      return "takes cores:LIST, hosts:LIST or both, for example cores:3,8-11 or hosts:node1,node2,cores:3";
    return o.agents_on = std::string(value), "";
  };
  return spec;
}

std::vector<OptionSpec> options_of_agents() {
  return {
      choice("agents", "UNISONO_AGENTS", "0|1|thread", "general",
             "Who goes on with calls that do not block while the program computes, with any thread level of "
             "its own (docs/guide/agents.md). 0: nobody; 1: a process on each node, which `unisono run` "
             "starts beside the job; thread: a thread of each node's first rank.",
             &Options::agents),
      number("agents_deadline", "UNISONO_AGENTS_DEADLINE", "integer", "general",
             "How many seconds MPI_Init waits for agents. Where they are not there by then the job runs "
             "without, and says so.",
             1, 3600, &Options::agents_deadline),
      choice("agents_carrier", "UNISONO_AGENTS_CARRIER", "mpi|ucc", "general",
             "What agents go by between nodes: the messages of their MPI, or UCC's collectives where libucc "
             "can be loaded, and with it switches that reduce (SHARP). What UCC does not take goes by "
             "messages.",
             &Options::agents_carrier),
      text("agents_algorithm", "UNISONO_AGENTS_ALGORITHM", "list", "general",
           "By which algorithms agents send messages, each node as one rank, for example "
           "reduce:k_nomial(degree=4),bcast:chain; OPERATION:native leaves an operation to what serves it "
           "without agents. An algorithm that is not legal between the nodes is refused, with a message.",
           &Options::agents_algorithm),
      places_of_agents(),
      choice("agents_float", "UNISONO_AGENTS_FLOAT", "hardware|softfloat", "general",
             "How agents compute with float and double: by the processor, or by Berkeley SoftFloat, as "
             "where agents have no floating point. The bits are the same.",
             &Options::agents_float),
  };
}

std::vector<OptionSpec> make_option_list() {
  std::vector<OptionSpec> list = decision_options();
  std::ranges::move(options_of_the_process(), std::back_inserter(list));
  std::ranges::move(options_of_nodes(), std::back_inserter(list));
  std::ranges::move(options_of_agents(), std::back_inserter(list));
  std::ranges::move(learning_options(), std::back_inserter(list));
  return list;
}

}  // namespace

const std::vector<OptionSpec>& option_list() {
  static const std::vector<OptionSpec> list = make_option_list();
  return list;
}

}  // namespace unisono
