// SPDX-License-Identifier: BSD-3-Clause
#include "launch/job_hosts.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/files.h"
#include "launch/launcher_options.h"

namespace unisono::launch {
namespace {

constexpr std::string_view openmpi_lists = "H host";
constexpr std::string_view hydra_lists = "host hostlist hosts machine machinelist machines";
constexpr std::string_view hydra_files = "f hostfile machinefile";
// What names a file of hosts, the launcher's own first.
constexpr const char* file_variables[] = {"HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE", "PBS_NODEFILE",
                                          "COBALT_NODEFILE", "LSB_DJOB_HOSTFILE",     "PE_HOSTFILE"};
constexpr const char* slurm_variables[] = {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"};
constexpr std::size_t most_file_bytes = std::size_t{1} << 24;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::size_t number(std::string_view text) {
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Whole words of digits alone: what else a launcher makes of a number is its own.
std::optional<std::int64_t> rank_count(std::string_view text) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most)
    return std::nullopt;
  return value;
}

// "node1:4" and "node1": how many processes are to run there is not asked.
void add_host(std::string_view word, Words& hosts) {
  const std::string name(word.substr(0, word.find(':')));
  if (!name.empty() && std::ranges::find(hosts, name) == hosts.end()) hosts.push_back(name);
}

void add_list(std::string_view list, Words& hosts) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    add_host(list.substr(0, comma), hosts);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

// The first word of each line. A file that cannot be read is the launcher's to complain of.
void add_file(const std::string& file, Words& hosts) {
  constexpr std::string_view blanks = " \t\r";
  const ReadFile read = read_file(file, most_file_bytes);
  for (std::string_view rest = read.text ? *read.text : std::string_view(); !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, std::min(rest.find('#'), end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t begin = line.find_first_not_of(blanks);
    if (begin == std::string_view::npos) continue;
    add_host(line.substr(begin, line.find_first_of(blanks, begin) - begin), hosts);
  }
}

}  // namespace

std::string openmpi_hosts(const Flavour& flavour, const std::vector<Section>& sections) {
  Words lists;
  for (const Section& section : sections) {
    for (const Option& option : options_of(flavour, section.options)) {
      if (has_name(openmpi_lists, option.name) && std::ranges::find(lists, option.value) == lists.end())
        lists.push_back(option.value);
    }
  }
  return joined(lists, ",");
}

Words openmpi_host_names(const Flavour& flavour, const std::vector<Section>& sections) {
  Words hosts;
  add_list(openmpi_hosts(flavour, sections), hosts);
  return hosts;
}

Words hydra_hosts(const Flavour& flavour, const std::vector<Section>& sections) {
  Words hosts;
  for (const Section& section : sections) {
    for (const Option& option : options_of(flavour, section.options)) {
      if (has_name(hydra_lists, option.name)) add_list(option.value, hosts);
      if (has_name(hydra_files, option.name)) add_file(option.value, hosts);
    }
  }
  for (const char* name : file_variables) {
    const std::string file = variable(name);
    if (hosts.empty() && !file.empty()) add_file(file, hosts);
  }
  return hosts;
}

std::size_t nodes_of_batch_system() {
  for (const char* name : slurm_variables) {
    if (const std::size_t nodes = number(variable(name)); nodes > 0) return nodes;
  }
  return 1;
}

std::size_t slurm_nodes(const Flavour& flavour, const Section& section) {
  if (variable("SLURM_JOB_ID").empty() && variable("SLURM_JOBID").empty()) return 0;
  std::size_t given = 0;
  for (const Option& option : options_of(flavour, section.options)) {
    if (option.name == "N" || option.name == "nodes") given = number(option.value);
  }
  return given > 0 ? given : nodes_of_batch_system();
}

std::optional<std::int64_t> asked_ranks(const Flavour& flavour, const std::vector<Section>& sections) {
  if (&flavour == &unknown_flavour()) return std::nullopt;
  std::int64_t all = 0;
  for (const Section& section : sections) {
    std::optional<std::int64_t> asked;
    for (const Option& option : options_of(flavour, section.options)) {
      if (has_name(flavour.ranks_by_places, option.name) || option.value.starts_with("ppr:"))
        return std::nullopt;
      if (!has_name(flavour.rank_counts, option.name)) continue;
      if (asked) return std::nullopt;  // which of them holds is the launcher's
      asked = rank_count(option.value);
      if (!asked) return std::nullopt;
    }
    if (!asked) return std::nullopt;
    all += *asked;
  }
  return all;
}

}  // namespace unisono::launch
