// SPDX-License-Identifier: BSD-3-Clause
// Where a report goes that cannot be written where it was to go: rank 0 may be on a host that has no such
// folder.
#pragma once

#include <string>

namespace unisono::runtime {

// The same name in the working directory, or else in the home directory, where no such file is there yet; the
// command `unisono run` looks in both. Empty where there is no such place.
std::string other_place_of_report(const std::string& file);

}  // namespace unisono::runtime
