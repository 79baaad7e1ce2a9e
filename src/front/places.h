// SPDX-License-Identifier: BSD-3-Clause
// Where the parts of Unisono are. An installation has bin/unisono-exec, lib/unisono/unisono-tool and
// lib/unisono/libunisono.so; a build tree has bin/unisono-tool and lib/libunisono.so.
#pragma once

#include <string>
#include <string_view>

#include "launch/words.h"

namespace unisono::front {

class Home {
 public:
  // UNISONO_HOME, where it is set: who names a place wants to hear that it is wrong, not run something else.
  // Otherwise the folder above this program's.
  Home();

  // Each ends the command, with what to do, where it is missing.
  std::string shim() const;
  std::string library() const;
  std::string tool() const;
  std::string agent() const;
  // The MPI families that have an adapter beside the library.
  launch::Words families() const;

 private:
  std::string require(const std::string& path, bool is_program) const;
  // What to do where a part is missing; `is_there`: others are not.
  std::string advice(bool is_there) const;
  std::string library_path() const;
  // Of a program that is none of the user's commands.
  std::string path_of(const std::string& program) const;
  std::string tool_path() const;

  std::string path_, reason_;
};

// The part of the command that is in Python: `unisono-cli` beside the name by which this program was called,
// or where links from there lead. Ends the command where there is none.
std::string python_command(const std::string& called);

// `~` and `~/...`, as a shell reads them.
std::string with_home(std::string path);

}  // namespace unisono::front
