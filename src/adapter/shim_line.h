// SPDX-License-Identifier: BSD-3-Clause
// The command of a program that is to be spawned, with the shim before it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "adapter/below/family.h"

namespace unisono::adapter {

class ShimLine {
 public:
  // Null where the shim cannot be put there: its program would not be found, or the shim is not there.
  // `spawned_as`: what the processes are told of themselves (base/spawned.h).
  static std::unique_ptr<ShimLine> of(const char* command, char* const arguments[], MPI_Info info,
                                      const std::string& spawned_as);

  char* command() { return words_[0].data(); }
  // Behind the command, ended by a null pointer.
  char** arguments() { return pointers_.data(); }
  // Can Unisono be loaded into the program?
  bool is_loadable() const { return is_loadable_; }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
  bool is_loadable_ = false;
};

}  // namespace unisono::adapter
