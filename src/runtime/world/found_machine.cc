// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/found_machine.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/files.h"
#include "base/own_folder.h"
#include "runtime/world/world.h"
#include "tuning/tables/table_store.h"

namespace unisono::runtime {
namespace {

constexpr std::size_t most_machine_bytes = std::size_t{4} << 20;

// One that `unisono machine measure` has left in the cache directory.
std::string kept_machine(const std::string& cache, const std::string& name) {
  if (cache.empty() || name.empty() || name.find('/') != std::string::npos) return {};
  const OwnFolder folder(cache, {"machines"}, OwnFolder::Missing::stays);
  return folder.read(name + ".json", most_machine_bytes).text.value_or("");
}

// A file, or one that is kept under that name. `problem`: it is there, and cannot be read.
std::string text_of_named(const std::string& name, const std::string& cache, std::string* problem) {
  ReadFile read = read_file(name, most_machine_bytes);
  if (read.text) return *std::move(read.text);
  std::string text = kept_machine(cache, name);
  std::error_code unknown;
  if (text.empty() && std::filesystem::exists(name, unknown)) *problem = "it " + read.problem;
  return text;
}

// Where `unisono machine measure` keeps what it found here: the host's name without its domain.
std::string own_name() {
  char host[256] = "";
  if (::gethostname(host, sizeof host - 1) != 0) return "";
  std::string name = std::string(host).substr(0, std::string(host).find('.'));
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-') c = '_';
  }
  return name.empty() ? "machine" : name;
}

bool is_of_use(const model::ReadMachine& read, const std::string& mpi) {
  return read.is_steady && (read.mpi.empty() || read.mpi == mpi);
}

// What was measured on this host at some time need not be good for this job.
void refuse_what_is_of_no_use(model::ReadMachine* read, const std::string& mpi, bool has_network) {
  if (!read->machine) return;
  if (!read->mpi.empty() && read->mpi != mpi) {
    read->problem = "it was measured with " + read->mpi;
  } else if (!read->is_steady) {
    read->problem = "the machine changed while it was measured; measure again";
  } else if (has_network && !read->has_network) {
    read->problem = "messages between nodes were not measured";
  }
  if (!read->problem.empty()) read->machine.reset();
}

// The user's own word holds before what was measured.
model::MeasuredChoices choices_to_follow(const World& world, model::MeasuredChoices choices,
                                         bool may_choose_buffers) {
  if (world.options.wait != "auto") choices.wait.clear();
  if (!may_choose_buffers) choices.buffer_bytes = 0;
  return choices;
}

// What is read of the machine's file. What the file has decided goes to `choices`.
model::ReadMachine read_machine(const World& world, const MachineFile& file, bool has_network,
                                model::MeasuredChoices* choices) {
  const bool is_given = !world.options.machine.empty();
  const std::string mpi = world.host.library_name();
  model::ReadMachine read;
  read.problem = file.problem;
  if (!read.problem.empty()) return read;
  if (is_given && file.text.empty()) {
    read.problem = "there is no such file, and no such machine, built in or measured here";
  } else if (!file.text.empty()) {
    read = model::machine_from_json(file.text);
    if (read.machine && (is_given || is_of_use(read, mpi)))
      *choices = choices_to_follow(world, read.choices, file.may_choose_buffers);
    if (!is_given) refuse_what_is_of_no_use(&read, mpi, has_network);
  }
  return read;
}

void say_why_not_used(const World& world, const model::ReadMachine& read) {
  const std::string& given = world.options.machine;
  std::string text = (given.empty() ? "the machine's file" : "option machine '" + given + "'") +
                     " is not used: " + read.problem;
  // That what was measured here is not for this job is nobody's fault: the report alone says it.
  if (read.mpi.empty()) return world.notices().warn(std::move(text));
  world.notices().note(std::move(text));
}

}  // namespace

MachineFile read_machine_file(const Options& options) {
  MachineFile file;
  if (options.machine == "none" || model::find_built_in(options.machine) != nullptr) return file;
  const std::string cache = tuning::cache_directory(options.cache);
  file.text = options.machine.empty() ? kept_machine(cache, own_name())
                                      : text_of_named(options.machine, cache, &file.problem);
  file.may_choose_buffers = !options.is_channel_bytes_given;
  return file;
}

FoundMachine find_machine(const World& world, const MachineFile& file) {
  const std::string& given = world.options.machine;
  if (given == "none") return {};
  const bool has_network = world.layout().nodes() > 1;
  FoundMachine found;
  const model::Machine* built_in = model::find_built_in(given);
  if (built_in == nullptr) {
    model::ReadMachine read = read_machine(world, file, has_network, &found.choices);
    if (!read.machine && !read.problem.empty()) {
      say_why_not_used(world, read);
      if (!given.empty()) return found;
    }
    found.machine = std::move(read.machine);
    if (found.machine) return found;
    built_in = model::find_built_in(has_network ? "ethernet" : "typical");
  }
  // What is built in has the cores of some server.
  found.machine = *built_in;
  const shm::CoreShare& least = std::ranges::min(world.cores, {}, &shm::CoreShare::cores);
  found.machine->cores_per_node = least.of_all;
  found.machine->nodes_on_cores = least.nodes;
  return found;
}

}  // namespace unisono::runtime
