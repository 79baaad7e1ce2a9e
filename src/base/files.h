// SPDX-License-Identifier: BSD-3-Clause
// Whole files, read and written so that nothing else than a file can be hit. That is neither a device nor a
// pipe, which could be waited for, nor what another user has put in the file's place.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace unisono {

inline constexpr std::size_t most_file_bytes = std::size_t{64} << 20;

struct ReadFile {
  std::optional<std::string> text;
  std::string problem;  // why there is none, as a clause about the file: "is a directory"
};
// A regular file of at most `most` bytes.
ReadFile read_file(const std::string& name, std::size_t most = most_file_bytes);
// The same of an open file, which is closed.
ReadFile read_open(int descriptor, std::size_t most = most_file_bytes);
// What stands in the file; empty where it cannot be read.
std::optional<std::string> file_text(const std::string& name);

// Why a file that is written with `name` would hit something else, as a clause; empty: nothing is wrong.
std::string why_not_replaced(const std::string& name);
// What is written there is gone, and nothing may take its place.
bool is_null_device(const std::string& name);
// A name that nobody can know before, for what becomes the file `name` when it is whole.
std::string temporary_name(const std::string& name);
// Writes all of it, or says why not, as a clause. In the folder `folder` (AT_FDCWD: names are paths). Whoever
// reads the file meanwhile finds what it was, or all that is new.
std::string replace_file(int folder, const std::string& name, std::string_view text, mode_t mode);
inline constexpr mode_t for_all = 0666;  // less the umask, as programs make files
inline constexpr mode_t for_owner = 0600;
std::string replace_file(const std::string& name, std::string_view text, mode_t mode = for_all);

}  // namespace unisono
