// SPDX-License-Identifier: BSD-3-Clause
// Proves algorithms, and says how far it is.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/near_names.h"
#include "proof/check_algorithm.h"
#include "tool/answer.h"
#include "tool/commands.h"
#include "tool/layouts.h"
#include "tool/question.h"

namespace unisono::tool {
namespace {

using algorithms::Descriptor;
using nlohmann::ordered_json;
using proof::CheckFailure;
using proof::CheckOptions;
using proof::CheckProgress;
using proof::CheckResult;
using std::chrono::steady_clock;

constexpr auto progress_interval = std::chrono::milliseconds(200);

std::vector<const Descriptor*> chosen(const Arguments& arguments) {
  std::vector<const Descriptor*> found;
  const bool has_operation = arguments.has("operation");
  for (const Descriptor& descriptor : algorithms::registry()) {
    if (has_operation && descriptor.operation != arguments.operation("operation")) continue;
    if (arguments.has("algorithm") && descriptor.name != arguments.text("algorithm")) continue;
    found.push_back(&descriptor);
  }
  if (found.empty()) {
    std::vector<std::string> names;
    for (const Descriptor& descriptor : algorithms::registry()) {
      if (!has_operation || descriptor.operation == arguments.operation("operation"))
        names.push_back(descriptor.name);
    }
    throw UsageError("there is no algorithm '" + arguments.text("algorithm", "") + "'" +
                     (has_operation ? " for " + arguments.text("operation") : std::string()) +
                     did_you_mean(arguments.text("algorithm", ""), names) + " (`unisono list` names them)");
  }
  return found;
}

// "2/4": the second of four.
void take_share(const std::string& text, CheckOptions* options) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  constexpr int most_shares = 1000;
  options->shares = static_cast<int>(
      number_from(text.substr(std::min(slash + 1, text.size())), 1, most_shares, "--share K/N"));
  options->share =
      static_cast<int>(number_from(text.substr(0, slash), 1, options->shares, "--share K/N")) - 1;
}

ordered_json to_json(const CheckFailure& failure) {
  return {{"operation", failure.operation},
          {"algorithm", failure.algorithm},
          {"case", failure.where},
          {"problem", failure.what}};
}

ordered_json to_json(const CheckProgress& progress) {
  return {{"progress",
           {{"done", progress.done},
            {"total", progress.total},
            {"cases", progress.cases},
            {"operation", progress.operation},
            {"algorithm", progress.algorithm},
            {"failures", progress.failures}}}};
}

}  // namespace

int check_algorithms(const std::vector<std::string>& words) {
  const Arguments arguments(words, {"operation", "algorithm", "ranks", "seed", "effort", "share"},
                            {"progress"});
  CheckOptions options;
  if (arguments.has("ranks")) options.ranks = numbers_from(arguments.text("ranks"), 1, most_ranks, "--ranks");
  options.seed = static_cast<std::uint32_t>(
      arguments.number("seed", 0, std::numeric_limits<std::uint32_t>::max(), options.seed));
  options.effort = arguments.number("effort", 1, std::int64_t{1} << 40, options.effort);
  if (arguments.has("share")) take_share(arguments.text("share"), &options);
  auto last = steady_clock::now() - progress_interval;
  if (arguments.has("progress")) {
    options.progress = [&last](const CheckProgress& progress) {
      const auto now = steady_clock::now();
      if (now - last < progress_interval && progress.done != progress.total) return;
      last = now;
      print_line(to_json(progress));
    };
  }
  const CheckResult result = proof::check(chosen(arguments), options);
  ordered_json failures = ordered_json::array();
  for (const CheckFailure& failure : result.failures) failures.push_back(to_json(failure));
  print_line({{"algorithms", result.algorithms},
              {"cases", result.cases},
              {"failures", failures},
              {"seconds", result.seconds}});
  return result.failures.empty() ? 0 : 1;
}

}  // namespace unisono::tool
