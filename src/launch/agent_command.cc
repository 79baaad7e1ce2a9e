// SPDX-License-Identifier: BSD-3-Clause
#include "launch/agent_command.h"

#include <algorithm>
#include <cstdlib>

#include "base/agent_places.h"
#include "launch/agent_mpi.h"
#include "launch/job_hosts.h"
#include "launch/launcher_options.h"
#include "launch/parse.h"

namespace unisono::launch {
namespace {

// The options that agents share with the job: how its nodes are reached, and by what messages go. The others
// say what runs where, or what becomes of input and output.
constexpr std::string_view openmpi_shared =
    "allow-run-as-root am amca app-pmix-prefix append-env default-hostfile do-not-resolve dvm "
    "forward-environment gmca gomca gpmixmca gprtemca hetero-nodes hnp hostfile launch-agent machinefile mca "
    "no-app-prefix nolocal omca personality pmix-prefix pmixmca prefix prepend-env prtemca set-env "
    "system-server tmpdir tune unset-env use-hwthread-cpus x";
constexpr std::string_view hydra_shared =
    "bootstrap bootstrap-exec disable-hostname-propagation disable-x enable-hostname-propagation enable-x "
    "env envall envexcl envlist envnone genv genvall genvexcl genvlist genvnone iface launcher launcher-exec "
    "localhost nameserver nolocal pmi-port rmk skip-launch-node tmpdir";
constexpr std::string_view srun_shared =
    "A F account clusters container container-id exclude export export-file jobid mpi network nodefile "
    "nodelist p partition q qos reservation w x";
constexpr std::string_view srun_hosts = "F exclude nodefile nodelist w x";
constexpr std::string_view openmpi_parameters = "gmca gprtemca mca omca prtemca";

std::string_view shared_by(const Flavour& flavour) {
  if (flavour.name.starts_with("openmpi")) return openmpi_shared;
  return flavour.name == "srun" ? srun_shared : hydra_shared;
}

// Parameters of Open MPI that say where processes go.
bool is_about_places(const Option& option) {
  return has_name(openmpi_parameters, option.name) &&
         (option.value.starts_with("rmaps") || option.value.starts_with("hwloc"));
}

Words shared_options(const Flavour& flavour, const Section& section, bool are_hosts_named) {
  Words words;
  for (const Option& option : options_of(flavour, section.options)) {
    if (!has_name(shared_by(flavour), option.name) || is_about_places(option)) continue;
    if (are_hosts_named && flavour.name == "srun" && has_name(srun_hosts, option.name)) continue;
    const auto first = section.options.begin() + static_cast<std::ptrdiff_t>(option.position);
    words.insert(words.end(), first, first + static_cast<std::ptrdiff_t>(option.followers) + 1);
  }
  return words;
}

// So many processes on each node, which may share its cores with the job's.
Words places(const Flavour& flavour, const std::vector<Section>& sections, const AgentNodes& on) {
  const std::string number = std::to_string(on.agents);
  if (flavour.name.starts_with("openmpi")) {
    const bool is_four = flavour.name == "openmpi4";
    const std::string by_node = "ppr:" + number + ":node";
    Words words = is_four ? Words{"--oversubscribe", "--map-by", by_node}
                          : Words{"--map-by", by_node + ":OVERSUBSCRIBE"};
    words.insert(words.end(), {"--bind-to", "none"});
    const std::string hosts = on.hosts.empty() ? openmpi_hosts(flavour, sections) : joined(on.hosts, ",");
    if (!hosts.empty()) words.insert(words.end(), {"--host", hosts});
    return words;
  }
  if (flavour.name == "srun") {
    const std::size_t nodes = on.hosts.empty() ? slurm_nodes(flavour, sections[0]) : on.hosts.size();
    Words words{"--overlap",
                "-N",
                std::to_string(nodes),
                "-n",
                std::to_string(nodes * on.agents),
                "--ntasks-per-node=" + number,
                "--cpu-bind=none"};
    if (!on.hosts.empty()) words.insert(words.end(), {"-w", joined(on.hosts, ",")});
    return words;
  }
  const Words hosts = on.hosts.empty() ? hydra_hosts(flavour, sections) : on.hosts;
  const std::size_t nodes = hosts.empty() ? nodes_of_batch_system() : hosts.size();
  Words words{"-ppn", number, "-n", std::to_string(nodes * on.agents)};
  if (!hosts.empty()) words.insert(words.end(), {"-hosts", joined(hosts, ",")});
  if (flavour.name == "intel") {
    words.insert(words.end(), {"-genv", "I_MPI_PIN", "0"});
    // Else the batch system's number of processes on a node holds.
    words.insert(words.end(), {"-genv", "I_MPI_JOB_RESPECT_PROCESS_PLACEMENT", "0"});
  }
  return words;
}

std::string obstacle(const Understood& understood, const std::vector<Section>& sections,
                     bool are_hosts_named) {
  const Flavour& flavour = *understood.launcher->flavour;
  if (&flavour == &unknown_flavour())
    return "it is not known which MPI the launcher " + understood.launcher->path + " is of";
  if (flavour.name == "srun" && slurm_nodes(flavour, sections[0]) == 0)
    return "srun starts them on the job's nodes only inside a job of Slurm's (sbatch, salloc)";
  if (flavour.name == "srun" && sections.size() > 1 && !are_hosts_named)
    return "where srun starts several programs it is not known which nodes they share; --agents-on "
           "hosts:LIST "
           "names them";
  return {};
}

Words left_out_hosts(const Flavour& flavour, const std::vector<Section>& sections, const Words& named) {
  const auto is_in = [](const Words& hosts, const std::string& host) {
    return std::ranges::any_of(hosts, [&host](const std::string& one) { return is_same_host(one, host); });
  };
  Words all = flavour.name.starts_with("openmpi") ? openmpi_host_names(flavour, sections)
              : flavour.name == "srun"            ? Words()
                                                  : hydra_hosts(flavour, sections);
  if (!std::ranges::all_of(named, [&](const std::string& host) { return is_in(all, host); })) return {};
  std::erase_if(all, [&](const std::string& host) { return is_in(named, host); });
  return all;
}

// What stood before the launcher, as far as it sets variables; not what measures or limits the job.
Words before_launcher(const Words& command, std::size_t position) {
  if (position == 0 || base_name(command[0]) != "env") return {};
  return {command.begin(), command.begin() + static_cast<std::ptrdiff_t>(position)};
}

}  // namespace

AgentCommand agent_command(const Words& command, const Understood& understood, const Words& agent,
                           const AgentNodes& nodes) {
  if (!understood.launcher)
    return {{}, "no launcher that is known starts this job, so that it is not known on which nodes it runs"};
  const Flavour& flavour = *understood.launcher->flavour;
  const auto behind = command.begin() + static_cast<std::ptrdiff_t>(understood.position) + 1;
  const std::vector<Section> sections = sections_of(flavour, Words(behind, command.end()));
  const bool are_hosts_named = !nodes.hosts.empty();
  AgentCommand made{{}, obstacle(understood, sections, are_hosts_named)};
  const Words libraries = agent_libraries(understood);
  if (made.obstacle.empty() && libraries.empty())
    made.obstacle = "it is not known which MPI the job's programs load";
  if (!made.obstacle.empty()) return made;
  if (are_hosts_named) made.left_out = left_out_hosts(flavour, sections, nodes.hosts);
  made.words = before_launcher(command, understood.position);
  made.words.push_back(command[understood.position]);
  for (const Words& more :
       {shared_options(flavour, sections[0], are_hosts_named), places(flavour, sections, nodes), agent})
    made.words.insert(made.words.end(), more.begin(), more.end());
  for (const std::string& library : libraries) made.words.insert(made.words.end(), {"--mpi", library});
  return made;
}

}  // namespace unisono::launch
