// SPDX-License-Identifier: BSD-3-Clause
#include "base/site_configuration.h"

#include <sys/stat.h>

#include <utility>

#include "base/files.h"
#include "base/installation.h"
#include "base/own_folder.h"

namespace unisono {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 20;
constexpr const char* of_machine = "/etc/unisono.conf";

}  // namespace

std::vector<std::string> site_configuration_files(const Environment& environment) {
  const std::string named = environment.find("UNISONO_SITE_CONFIG").value_or("");
  if (named == "none" || named == "off") return {};
  if (!named.empty()) return {named};
  std::vector<std::string> files = {of_machine};
  const std::string folder = settings_folder_of(own_prefix());
  if (!folder.empty() && folder != "/etc") files.push_back(folder + "/unisono.conf");
  return files;
}

std::vector<SiteConfiguration> site_configurations(const Environment& environment,
                                                   std::vector<std::string>* warnings) {
  std::vector<SiteConfiguration> found;
  const bool is_named = !environment.find("UNISONO_SITE_CONFIG").value_or("").empty();
  for (const std::string& path : site_configuration_files(environment)) {
    struct stat status {};
    const bool is_there = ::stat(path.c_str(), &status) == 0;
    if (!is_there && !is_named) continue;
    std::string why = is_there ? why_not_own(status) : "is not there";
    if (why.empty()) {
      ReadFile read = read_file(path, most_bytes);
      if (read.text) {
        found.push_back({path, std::move(*read.text)});
        continue;
      }
      why = read.problem;
    }
    warnings->push_back("the site's configuration file " + path + " is not used: it " + why);
  }
  return found;
}

}  // namespace unisono
