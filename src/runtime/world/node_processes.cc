// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/node_processes.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "base/own_mpi.h"

namespace unisono::runtime {
namespace {

// What launchers call a process's rank in the job.
constexpr std::array rank_names = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",  "PMI_RANK",      "SLURM_PROCID",
                                   "PALS_RANKID",          "MPI_RANKID", "FLUX_TASK_RANK"};
// What is the same for all ranks of a job and differs between jobs. MPICH's launcher has none.
constexpr std::array job_names = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "I_MPI_HYDRA_UUID",
                                  "SLURM_JOB_ID",   "SLURM_STEP_ID",           "PALS_APID",
                                  "FLUX_JOB_ID"};

constexpr const char* preloaded_name = "/libunisono.so";

std::string file_text(int process_id, const char* name) {
  std::ifstream file("/proc/" + std::to_string(process_id) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Environment {
 public:
  explicit Environment(int process_id) : text_(file_text(process_id, "environ")) {}

  std::optional<std::string_view> value(std::string_view name) const {
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t end = std::min(text_.find('\0', at), text_.size());
      const std::string_view entry = std::string_view(text_).substr(at, end - at);
      if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
        return entry.substr(name.size() + 1);
      at = end + 1;
    }
    return std::nullopt;
  }

  std::optional<int> rank(const char* name) const {
    const auto text = value(name);
    int number = -1;
    if (!text || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc())
      return std::nullopt;
    return number < 0 ? std::nullopt : std::optional(number);
  }

 private:
  std::string text_;
};

int parent_of(int process_id) {
  const std::string text = file_text(process_id, "stat");
  const std::size_t name_end = text.rfind(')');  // the program's name may hold anything
  int parent = 0;
  if (name_end != std::string::npos && name_end + 4 < text.size())
    std::from_chars(text.data() + name_end + 4, text.data() + text.size(), parent);
  return parent;
}

// The launcher's process that started a rank's: the nearest ancestor that is no rank itself.
int launcher_of(int process_id, const char* rank_name) {
  constexpr int most_generations = 100;
  for (int i = 0; i < most_generations && process_id > 1; ++i) {
    process_id = parent_of(process_id);
    if (!Environment(process_id).rank(rank_name)) break;
  }
  return process_id;
}

std::string program_of(int process_id) {
  std::array<char, PATH_MAX> path{};
  const std::string link = "/proc/" + std::to_string(process_id) + "/exe";
  return readlink(link.c_str(), path.data(), path.size() - 1) < 0 ? std::string() : path.data();
}

// `library_name`: of the preloaded library, as this process has it mapped.
RankProcess describe(int process_id, const char* library_name) {
  RankProcess process{.process_id = process_id, .program = program_of(process_id)};
  const std::string maps = file_text(process_id, "maps");
  const auto holds = [&](const char* name) { return maps.find(name) != std::string::npos; };
  const bool has_mpi = holds("/libmpi.so") || holds("/libmpich.so") || holds("/libmpi_abi.so");
  if (holds("/libunisono-")) {
    process.state = RankProcess::State::has_come;
  } else if ((has_mpi && !holds(library_name)) || holds("/memfd:unisono-not-used") ||
             unisono_has_own_mpi(("/proc/" + std::to_string(process_id) + "/exe").c_str()) != 0) {
    process.state = RankProcess::State::without;
  }
  return process;
}

std::vector<int> all_processes() {
  std::vector<int> processes;
  DIR* directory = opendir("/proc");
  if (directory == nullptr) return processes;
  while (const dirent* entry = readdir(directory)) {
    const std::string_view name = entry->d_name;
    int number = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), number).ec == std::errc() && number > 0)
      processes.push_back(number);
  }
  closedir(directory);
  return processes;
}

}  // namespace

std::map<int, RankProcess> processes_of_this_job(int own_rank) {
  std::map<int, RankProcess> found;
  const int own_id = getpid();
  const Environment own(own_id);
  const char* rank_name = nullptr;
  for (const char* name : rank_names) {
    if (rank_name == nullptr && own.rank(name) == own_rank) rank_name = name;
  }
  if (rank_name == nullptr) return found;
  // Where the library goes by another name than its own (--library), it is not looked for.
  const bool has_own_name = file_text(own_id, "maps").find(preloaded_name) != std::string::npos;
  const int launcher = launcher_of(own_id, rank_name);
  for (const int id : all_processes()) {
    const Environment environment(id);
    const std::optional<int> rank = environment.rank(rank_name);
    if (!rank) continue;
    bool is_of_job = true;
    for (const char* name : job_names) is_of_job = is_of_job && environment.value(name) == own.value(name);
    if (!is_of_job || launcher_of(id, rank_name) != launcher) continue;
    // A rank may be several processes: a script, and the program in it.
    const RankProcess process = describe(id, has_own_name ? preloaded_name : "/");
    const auto [entry, is_new] = found.emplace(*rank, process);
    const bool tells_more =
        process.state == RankProcess::State::has_come || entry->second.state == RankProcess::State::late;
    if (!is_new && tells_more) entry->second = process;
  }
  return found;
}

}  // namespace unisono::runtime
