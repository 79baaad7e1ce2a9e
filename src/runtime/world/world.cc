// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/world.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/log.h"
#include "patterns/layout_text.h"
#include "runtime/world/found_machine.h"
#include "runtime/world/found_switches.h"

namespace unisono::runtime {

World::World(host::Host& of, Options own, const std::vector<std::string>& warnings)
    : host(of),
      rank(of.comm_rank(of.world())),
      size(of.comm_size(of.world())),
      options(std::move(own)),
      notices_(of.comm_rank(of.world()) == 0) {
  if (host.comm_split(host.world(), 0, rank, &comm) != host::success) {
    log::warning("the private communicator could not be made; every collective goes to the MPI");
    return;
  }
  if (is_fault_tolerant()) {
    host.comm_free(&comm);
    if (rank == 0) log::warning("the MPI's fault tolerance is switched on: the program runs without Unisono");
    return;
  }
  agree_on_options(warnings);
  make_pool();
  find_nodes();
  FoundSwitches found = find_switches(*this);
  switches = std::move(found.tree);
  switch_of = std::move(found.switch_of);
  FoundMachine machine_here = find_machine(*this);
  machine = std::move(machine_here.machine);
  measured = std::move(machine_here.choices);
}

// Where ranks may die and the others go on, what Unisono would wait for them to say never comes. What the
// program is to hear of it is the MPI's to say. One rank's word holds for all.
bool World::is_fault_tolerant() const {
  std::uint64_t is_tolerant = host.is_fault_tolerant() ? 1 : 0;
  const int error = host.agree(&is_tolerant, 1, host::AgreeOp::bor, comm);
  return error != host::success || is_tolerant != 0;
}

void World::agree_on_options(const std::vector<std::string>& warnings) {
  const std::string text = as_rank_0_has_it(to_text(options));
  std::vector<std::string> none;
  if (rank != 0) options = options_from_text(text, &none);
  if (options.is_profiled && options.report.empty()) options.report = std::string("-");
  log::set_level(log::level_from_name(options.log));
  if (rank == 0) notices_.warn_of(warnings);
  if (options.is_reproducible && !options.is_enabled && rank == 0) {
    log::warning("option 'reproducible' has no effect: Unisono is switched off (option 'enable')");
  }
}

void World::make_pool() {
  const shm::PoolOptions pool_options{.capacity_bytes = static_cast<std::size_t>(options.pool_bytes),
                                      .use_memfd = options.segment == "memfd",
                                      .use_single_copy = options.use_single_copy};
  pool = shm::Pool::create(host, comm, pool_options);
  if (pool->why_unavailable().empty() || !options.use_shared_memory) return;
  std::string text = "this rank shares no memory: " + pool->why_unavailable();
  // What holds for one rank holds for its neighbours as a rule: one of each host says it.
  const auto& hosts = pool->host_names();
  const auto first = std::find(hosts.begin(), hosts.end(), hosts[static_cast<std::size_t>(rank)]);
  if (first - hosts.begin() == rank) log::warning_once(text);
  notices_.note(std::move(text));
}

void World::find_nodes() {
  node_labels = pool->node_labels();
  if (!options.nodes.empty()) {
    const auto pretended = patterns::Layout::parse(options.nodes);
    if (pretended && pretended->size() == size) {
      for (std::size_t r = 0; r < node_labels.size(); ++r)
        node_labels[r] = node_labels[r] * size + pretended->node_of[r];
    } else {
      notices_.warn("option nodes '" + options.nodes + "' is ignored: it " +
                    (pretended ? "holds " + std::to_string(pretended->size()) + " ranks, the job has " +
                                     std::to_string(size)
                               : patterns::why_no_layout(options.nodes)));
    }
  }
  // Pretended nodes share the cores of the real one.
  cores = pool->cores();
  if (options.cores == 0) return;
  std::map<int, std::int64_t> ranks_on_node;
  for (int label : pool->node_labels()) ++ranks_on_node[label];
  for (std::size_t r = 0; r < cores.size(); ++r) {
    cores[r] = {.cores = static_cast<int>(options.cores),
                .is_crowded = ranks_on_node[pool->node_labels()[r]] > options.cores};
  }
}

void World::agree_on_calls_aside() {
  std::uint64_t is_multiple = host.is_thread_multiple() ? 1 : 0;
  const int error = host.agree(&is_multiple, 1, host::AgreeOp::band, comm);
  may_call_host_aside = (error == host::success && is_multiple != 0) || options.progress == "calls";
}

std::string World::as_rank_0_has_it(std::string text) const {
  std::uint64_t length = text.size();
  host.bcast_bytes(&length, sizeof length, 0, comm);
  text.resize(length);
  host.bcast_bytes(text.data(), length, 0, comm);
  return text;
}

void World::close() {
  if (shm::Members* members = pool->members()) members->leave();
  pool.reset();
  if (!has_lost_peer) host.comm_free(&comm);
}

}  // namespace unisono::runtime
