// SPDX-License-Identifier: BSD-3-Clause
// What a job would read here: the configuration file, the options with what has set them, the cache and the
// site's table.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/site_configuration.h"
#include "tool/commands.h"
#include "tool/question.h"
#include "tuning/tables/table_files.h"

namespace unisono::tool {
namespace {

using Json = nlohmann::ordered_json;

Json file_json(const std::string& file) {
  std::error_code unknown;
  return {{"file", file}, {"is_there", !file.empty() && std::filesystem::exists(file, unknown)}};
}

}  // namespace

int describe_environment(const std::vector<std::string>& words) {
  const Arguments none(words, {}, {});
  const Environment environment = Environment::of_process();
  std::vector<std::string> warnings;
  std::vector<OptionOrigin> origins;
  const Options options = read_options(environment, &warnings, &origins);
  Json set = Json::array();
  for (const OptionSpec& spec : option_list()) {
    std::string where;
    for (const OptionOrigin& origin : origins) {
      if (origin.name == spec.name) where = origin.where;  // the last one holds
    }
    if (!where.empty()) set.push_back({{"name", spec.name}, {"value", spec.get(options)}, {"from", where}});
  }
  const ConfigurationFile configuration = configuration_file(environment);
  Json read = file_json(configuration.path);
  read["is_named"] = configuration.is_named;
  Json site = Json::array();
  for (const std::string& file : site_configuration_files(environment)) site.push_back(file_json(file));
  const Json answer = {{"configuration", std::move(read)},
                       {"site_configuration", std::move(site)},
                       {"options", std::move(set)},
                       {"cache", file_json(tuning::cache_directory(options.cache))},
                       {"site_table", file_json(tuning::site_table_file(options.site_table))},
                       {"warnings", warnings}};
  std::puts(answer.dump(1, ' ', true, Json::error_handler_t::replace).c_str());
  return 0;
}

}  // namespace unisono::tool
