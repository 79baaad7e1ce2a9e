// SPDX-License-Identifier: BSD-3-Clause
// What /proc lists by numbers: processes, and a process's descriptors.
#pragma once

#include <dirent.h>

#include <cstdlib>
#include <string>

namespace unisono::agents {

template <class Body>
void for_each_number_in(const std::string& folder, const Body& body) {
  DIR* opened = opendir(folder.c_str());
  if (opened == nullptr) return;
  while (const dirent* entry = readdir(opened)) {
    char* end = nullptr;
    const long number = std::strtol(entry->d_name, &end, 10);
    if (end != entry->d_name && *end == '\0') body(static_cast<int>(number));
  }
  closedir(opened);
}

}  // namespace unisono::agents
