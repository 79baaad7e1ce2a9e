// SPDX-License-Identifier: BSD-3-Clause
// What learning expects of algorithms before it has tried them: the model's times on the machine that option
// 'machine' describes (A7). All ranks must expect the same, so rank 0's file holds for all.
#include "base/files.h"
#include "base/log.h"
#include "runtime/job.h"
#include "tuning/prediction.h"

namespace unisono::runtime {
namespace {

// A prediction is made when a class of calls is first met: it must not take longer than many calls.
constexpr std::int64_t most_steps = 200'000;
constexpr double us = 1e-6;

// A file, or one that `unisono tune --only measure` has left in the cache directory under that name.
std::string text_of_machine(const std::string& name, const std::string& cache) {
  if (const auto text = file_text(name)) return *text;
  const bool is_plain_name = name.find('/') == std::string::npos;
  if (cache.empty() || !is_plain_name) return {};
  return file_text(cache + "/machines/" + name + ".json").value_or("");
}

}  // namespace

void Job::find_machine() {
  if (!is_learning() || options_.machine.empty()) return;
  model::ReadMachine read;
  if (const model::Machine* known = model::find_built_in(options_.machine)) {
    read.machine = *known;
  } else {
    const std::string cache = tuning::cache_directory(options_.cache);
    read = model::machine_from_json(
        as_rank_0_has_it(world_rank_ == 0 ? text_of_machine(options_.machine, cache) : ""));
  }
  if (!read.machine) {
    warnings_.push_back("option machine '" + options_.machine + "' is not used: " + read.problem);
    if (world_rank_ == 0) log::warning(warnings_.back());
    return;
  }
  predict_ = [machine = *std::move(read.machine)](const tuning::Question& question,
                                                  const tuning::Choice& choice) {
    const model::Candidate asked{choice.algorithm, choice.parameters};
    return tuning::predicted_us(question, asked, machine, most_steps).value_or(0) * us;
  };
}

}  // namespace unisono::runtime
