// SPDX-License-Identifier: BSD-3-Clause
// Algorithms that are left out because jobs have died in them, and how they come into use again (B9).
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/options.h"
#include "tool/commands.h"
#include "tool/question.h"
#include "tuning/decisions/crash_records.h"
#include "tuning/tables/table_store.h"

namespace unisono::tool {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const tuning::Crash& crash) {
  return {{"program", crash.place.program},
          {"operation", crash.operation},
          {"algorithm", crash.algorithm},
          {"bytes_high", crash.bytes},
          {"signal", crash.signal},
          {"date", crash.date()},
          {"host", crash.host},
          {"rank", crash.rank},
          {"ranks", crash.ranks},
          {"mpi", crash.place.mpi},
          {"machine", crash.place.machine},
          {"unisono", crash.place.unisono},
          {"holds_here",
           crash.place.unisono == UNISONO_VERSION && crash.place.machine == tuning::machine_name()}};
}

}  // namespace

int list_crashes(const std::vector<std::string>& words) {
  const Arguments arguments(words, {"cache", "program"}, {"forget"});
  std::vector<std::string> warnings;
  const std::string cache = arguments.text("cache", read_options(Environment::of_process(), &warnings).cache);
  const std::string program = arguments.text("program", "");
  const std::string file = tuning::crash_file(tuning::cache_directory(cache));
  Json answer = {{"file", file}};
  if (arguments.has("forget")) {
    std::string problem;
    answer["forgotten"] = tuning::forget_crashes(file, program, &problem);
    answer["problem"] = problem;
  } else {
    const tuning::ReadCrashes read = tuning::read_crashes(file);
    answer["crashes"] = Json::array();
    for (const tuning::Crash& crash : read.crashes) {
      if (program.empty() || crash.place.program == program) answer["crashes"].push_back(to_json(crash));
    }
    answer["malformed"] = read.malformed;
    answer["problem"] = read.problem;
  }
  std::puts(answer.dump(1, ' ', true, Json::error_handler_t::replace).c_str());
  return 0;
}

}  // namespace unisono::tool
