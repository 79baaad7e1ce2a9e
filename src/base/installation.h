// SPDX-License-Identifier: BSD-3-Clause
// Where this code is installed, and where a site keeps its settings for it.
#pragma once

#include <string>

namespace unisono {

// The prefix that a part lies below: PREFIX/lib/unisono/libunisono-FAMILY.so, PREFIX/bin/unisono; in a build
// tree PREFIX/lib/libunisono-FAMILY.so, PREFIX/bin/unisono-tool. Empty: the part lies elsewhere.
std::string prefix_of(const std::string& part);

// That of the library or program that this code is a part of.
std::string own_prefix();

// The folder of settings that belongs to a prefix: /etc of /usr, else PREFIX/etc. Empty without a prefix.
std::string settings_folder_of(const std::string& prefix);

}  // namespace unisono
