// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/world.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/log.h"
#include "base/wire.h"
#include "patterns/layout_text.h"
#include "runtime/world/found_domains.h"
#include "runtime/world/found_machine.h"
#include "runtime/world/found_switches.h"
#include "runtime/world/telling.h"
#include "shm/pool/segment.h"

namespace unisono::runtime {

// What each rank tells all others first.
struct World::Introduction {
  shm::Identity identity;
  host::Hint reproducible = host::Hint::none;  // of the program's world
  bool is_fault_tolerant = false, is_thread_multiple = false, takes_device_memory = false;
};

// What rank 0 says for all, before anybody knows more of the job.
struct World::ReadFirst {
  TopologyFile topology;
  MachineFile machine;
};

World::World(host::Host& of, Options own, const std::vector<std::string>& warnings)
    : host(of),
      rank(of.comm_rank(of.world())),
      size(of.comm_size(of.world())),
      options(std::move(own)),
      notices_(of.comm_rank(of.world()) == 0) {
  if (host.comm_copy(host.world(), &comm) != host::success) {
    log::warning("the private communicator could not be made; every collective goes to the MPI");
    return;
  }
  Telling of_rank_0(host, comm, first_words());
  auto made = std::make_unique<shm::Pool>();
  const std::vector<Introduction> of_all = introduce(*made);
  const std::string words = of_rank_0.heard();
  if (const std::string why = why_of_no_use(of_all); !why.empty()) {
    host.comm_free(&comm);
    if (rank == 0) log::warning(why + ": the program runs without Unisono");
    return;
  }
  const ReadFirst read = hear_first_words(words, warnings);
  are_thread_multiple = std::ranges::all_of(of_all, &Introduction::is_thread_multiple);
  may_call_host_aside = are_thread_multiple || options.progress == "calls";
  takes_device_memory = std::ranges::all_of(of_all, &Introduction::takes_device_memory);
  wants_one_order = std::ranges::any_of(of_all, [this](const Introduction& one) {
    return one.reproducible == host::Hint::yes ||
           (one.reproducible == host::Hint::none && options.is_reproducible);
  });
  pool = std::move(made);
  open_pool(of_all);
  find_nodes();
  FoundSwitches found = find_switches(*this, read.topology);
  switches = std::move(found.tree);
  switch_of = std::move(found.switch_of);
  FoundMachine machine_here = find_machine(*this, read.machine);
  machine = std::move(machine_here.machine);
  measured = std::move(machine_here.choices);
  // Nobody knows in what groups the ranks were that have measured.
  if (shares_cores() && own_cores().has_groups) measured.wait.clear();
  agents = AgentsHere::find(*this);
}

// Where ranks may die and the others go on, what Unisono would wait for them to say never comes. What the
// program is to hear of it is the MPI's to say. One rank's word holds for all.
std::string World::why_of_no_use(const std::vector<Introduction>& of_all) {
  if (of_all.empty()) return "the ranks could not tell each other where they are";
  const bool is_tolerant = std::ranges::any_of(of_all, &Introduction::is_fault_tolerant);
  return is_tolerant ? "the MPI's fault tolerance is switched on" : "";
}

// By rank; empty where the host fails.
std::vector<World::Introduction> World::introduce(const shm::Pool& own) const {
  const Introduction mine{.identity = own.own_identity(),
                          .reproducible = host.reproducible_hint(host.world()),
                          .is_fault_tolerant = host.is_fault_tolerant(),
                          .is_thread_multiple = host.is_thread_multiple(),
                          .takes_device_memory = host.takes_device_memory()};
  std::vector<Introduction> of_all(static_cast<std::size_t>(size));
  if (host.allgather_bytes(&mine, sizeof mine, of_all.data(), comm) != host::success) of_all.clear();
  return of_all;
}

// Rank 0's options, and the files that they name.
std::string World::first_words() const {
  if (rank != 0) return {};
  const TopologyFile topology = read_topology_file(options);
  const MachineFile file = read_machine_file(options);
  WireWriter words;
  for (const std::string& text :
       {to_text(options), topology.lines, topology.problem, file.text, file.problem})
    words.text(text);
  words.flag(file.may_choose_buffers);
  // Threads of ranks are nobody else's to name.
  words.text(options.agents == "thread" ? std::to_string(shm::draw_nonce()) : options.agents_job);
  return words.bytes();
}

World::ReadFirst World::hear_first_words(const std::string& words, const std::vector<std::string>& warnings) {
  WireReader reader(words);
  const std::string of_rank_0 = reader.text();
  std::vector<std::string> none;
  if (rank != 0) options = options_from_text(of_rank_0, &none);
  if (options.is_profiled && options.report.empty()) options.report = std::string("-");
  ReadFirst read;
  read.topology.lines = reader.text();
  read.topology.problem = reader.text();
  read.machine.text = reader.text();
  read.machine.problem = reader.text();
  read.machine.may_choose_buffers = reader.flag();
  options.agents_job = reader.text();
  log::set_level(log::level_from_name(options.log));
  if (rank == 0) notices_.warn_of(warnings);
  if (options.is_reproducible && !options.is_enabled && rank == 0) {
    log::warning("option 'reproducible' has no effect: Unisono is switched off (option 'enable')");
  }
  return read;
}

void World::open_pool(const std::vector<Introduction>& of_all) {
  std::vector<shm::Identity> identities;
  for (const Introduction& one : of_all) identities.push_back(one.identity);
  pool->open(host, comm, std::move(identities),
             {.capacity_bytes = static_cast<std::size_t>(options.pool_bytes),
              .use_memfd = options.segment == "memfd",
              .use_single_copy = options.use_single_copy,
              .asks_hardware = asks_hardware(options.domains)});
  if (pool->why_unavailable().empty() || !options.use_shared_memory) return;
  std::string text = "this rank shares no memory: " + pool->why_unavailable();
  // What holds for one rank holds for its neighbours as a rule: one of each host says it.
  const auto& hosts = pool->host_names();
  const auto first = std::find(hosts.begin(), hosts.end(), hosts[static_cast<std::size_t>(rank)]);
  if (first - hosts.begin() == rank) log::warning_once(text);
  notices_.note(std::move(text));
}

patterns::Layout World::layout() const {
  patterns::Layout found = patterns::Layout::from_labels(node_labels);
  found.divide(domains);
  return found;
}

void World::find_nodes() {
  node_labels = pool->node_labels();
  std::optional<patterns::Layout> pretended;
  if (!options.nodes.empty()) {
    pretended = patterns::Layout::parse(options.nodes);
    if (pretended && pretended->size() == size) {
      for (std::size_t r = 0; r < node_labels.size(); ++r)
        node_labels[r] = node_labels[r] * size + pretended->node_of[r];
    } else {
      notices_.warn("option nodes '" + options.nodes + "' is ignored: it " +
                    (pretended ? "holds " + std::to_string(pretended->size()) + " ranks, the job has " +
                                     std::to_string(size)
                               : patterns::why_no_layout(options.nodes)));
      pretended.reset();
    }
  }
  domains = find_domains(*this, pretended);
  // Pretended nodes share the cores of the real one.
  cores = pool->cores();
  if (options.cores == 0) return;
  std::map<int, std::int64_t> ranks_on_node;
  for (int label : pool->node_labels()) ++ranks_on_node[label];
  for (std::size_t r = 0; r < cores.size(); ++r) {
    cores[r] = {.cores = static_cast<int>(options.cores),
                .is_crowded = ranks_on_node[pool->node_labels()[r]] > options.cores,
                .has_groups = cores[r].has_groups};
  }
}

shm::WaitPolicy World::wait_policy() const {
  if (const auto wanted = shm::wait_policy_from_name(options.wait)) return *wanted;
  const bool is_measured = measured.is_sharing_cores == shares_cores();
  if (const auto best = shm::wait_policy_from_name(is_measured ? measured.wait : "")) return *best;
  if (!shares_cores()) return shm::WaitPolicy::pause;
  return own_cores().has_groups ? shm::WaitPolicy::sleep : shm::WaitPolicy::yield;
}

void World::close() {
  if (shm::Members* members = pool->members()) members->leave();
  if (has_lost_peer && agents != nullptr && agents->thread() != nullptr)
    agents->thread()->tell_to_end_alone();
  agents.reset();
  pool.reset();
  if (!has_lost_peer) host.comm_free(&comm);
}

}  // namespace unisono::runtime
