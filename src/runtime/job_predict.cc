// SPDX-License-Identifier: BSD-3-Clause
// What learning expects of algorithms before it has tried them: the model's times on the machine that option
// 'machine' describes (A7), else on the one that was measured here, else on a usual one. All ranks must
// expect the same, so rank 0's file holds for all. The same file says how ranks wait and how large buffers
// are.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/files.h"
#include "base/log.h"
#include "base/own_folder.h"
#include "runtime/job.h"
#include "tuning/decisions/prediction.h"
#include "tuning/tables/table_store.h"

namespace unisono::runtime {
namespace {

// Predictions are made while the program waits: they must not take longer than many calls.
constexpr std::int64_t most_steps = 20'000;
constexpr double us = 1e-6;

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

}  // namespace

// On rank 0: whether the file may say how large buffers are, then the file's text, which may be empty.
std::string Job::text_of_machine(std::string* problem) const {
  if (world_rank_ != 0) return {};
  const std::string cache = tuning::cache_directory(options_.cache);
  const std::string text = options_.machine.empty() ? kept_machine(cache, own_name())
                                                    : text_of_named(options_.machine, cache, problem);
  return (options_.is_channel_bytes_given ? "0" : "1") + text;
}

// The user's own word holds before what was measured.
void Job::follow_measured(model::MeasuredChoices choices, bool may_choose_buffers) {
  if (options_.wait != "auto") choices.wait.clear();
  if (!may_choose_buffers) choices.buffer_bytes = 0;
  measured_choices_ = std::move(choices);
}

void Job::find_machine() {
  if (options_.machine == "none") return;
  const bool is_asked = learn_mode_ == LearnMode::guarded ||
                        (learn_mode_ == LearnMode::star && options_.learn_prune > 0) ||
                        (learn_mode_ == LearnMode::off && options_.startup_test > 0);
  const bool is_given = !options_.machine.empty();
  const bool has_network = patterns::Layout::from_labels(node_labels_).nodes() > 1;
  model::ReadMachine read;
  if (const model::Machine* known = model::find_built_in(options_.machine)) {
    read.machine = *known;
  } else {
    const std::string sent = as_rank_0_has_it(text_of_machine(&read.problem));
    read.problem = as_rank_0_has_it(read.problem);
    const std::string text = sent.substr(std::min<std::size_t>(1, sent.size()));
    if (!read.problem.empty()) {
      // It is said below.
    } else if (is_given && text.empty()) {
      read.problem = "there is no such file, and no such machine, built in or measured here";
    } else if (!text.empty()) {
      read = model::machine_from_json(text);
      if (read.machine && (is_given || is_of_use(read, host_.library_name())))
        follow_measured(read.choices, sent.front() == '1');
      if (!is_given) refuse_what_is_of_no_use(&read, host_.library_name(), has_network);
    }
    if (!read.machine && !read.problem.empty()) {
      warnings_.push_back((is_given ? "option machine '" + options_.machine + "'" : "the machine's file") +
                          " is not used: " + read.problem);
      // That what was measured here is not for this job is nobody's fault: the report alone says it.
      if (world_rank_ == 0 && read.mpi.empty()) log::warning(warnings_.back());
      if (is_given) return;
    }
  }
  if (!is_asked) return;
  const bool is_built_in = !read.machine || model::find_built_in(options_.machine) != nullptr;
  if (!read.machine) read.machine = *model::find_built_in(has_network ? "ethernet" : "typical");
  // What is built in has the cores of some server.
  if (is_built_in) {
    const shm::CoreShare& least = std::ranges::min(cores_, {}, &shm::CoreShare::cores);
    read.machine->cores_per_node = least.of_all;
    read.machine->nodes_on_cores = least.nodes;
  }
  predict_ = [machine = *std::move(read.machine)](const tuning::Question& question,
                                                  const tuning::Choice& choice) {
    const model::Candidate asked{choice.algorithm, choice.parameters};
    return tuning::predicted_us(question, asked, machine, most_steps).value_or(0) * us;
  };
}

}  // namespace unisono::runtime
