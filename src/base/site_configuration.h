// SPDX-License-Identifier: BSD-3-Clause
// What a site sets for all its users, before a user's own configuration file and the environment, which win.
#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace unisono {

// The files that are looked at, in the order in which they are read: /etc/unisono.conf, and etc/unisono.conf
// of the prefix that this code is installed below. UNISONO_SITE_CONFIG names the one to read in their stead;
// `none` or `off`: none.
std::vector<std::string> site_configuration_files(const Environment& environment);

struct SiteConfiguration {
  std::string path, text;
};

// Those of the files that are there and that only root or this user can have written. What is wrong with
// others is appended to `warnings`, a sentence for each.
std::vector<SiteConfiguration> site_configurations(const Environment& environment,
                                                   std::vector<std::string>* warnings);

}  // namespace unisono
