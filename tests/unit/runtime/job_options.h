// SPDX-License-Identifier: BSD-3-Clause
// The options under which tests make jobs: those of a program that sets none, with little memory for each
// rank.
#pragma once

#include <cstdlib>
#include <string>

#include "base/options.h"

namespace unisono::runtime {

inline void clear_options() {
  for (const OptionSpec& spec : option_list()) ::unsetenv(std::string(spec.environment).c_str());
  ::setenv("UNISONO_CONFIG", "/dev/null", 1);
  ::setenv("UNISONO_LOG", "quiet", 1);
  ::setenv("UNISONO_CACHE", "", 1);
  ::setenv("UNISONO_LEARN", "off", 1);       // what runs is to be the rules' choice, or the test's
  ::setenv("UNISONO_SET_UP_AFTER", "0", 1);  // each test makes few calls
  ::setenv("UNISONO_POOL_BYTES", "64M", 1);
  ::setenv("UNISONO_CHANNEL_BYTES", "64K", 1);
}

// "NAME=value".
inline void set_option(const std::string& setting) {
  const std::size_t equals = setting.find('=');
  ::setenv(setting.substr(0, equals).c_str(), setting.c_str() + equals + 1, 1);
}

}  // namespace unisono::runtime
