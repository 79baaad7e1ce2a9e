// SPDX-License-Identifier: BSD-3-Clause
// What spawned processes (MPI_Comm_spawn) are told of who has spawned them, in one variable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace unisono {

inline constexpr const char* spawned_variable = "UNISONO_SPAWNED_AS";

struct SpawnedAs {
  // "0.2": the second spawn of rank 0. Those that were spawned by such processes have more numbers.
  std::string name;
  // Where it is counted who has come with Unisono: memory that the process holds as `descriptor`.
  int process_id = 0, descriptor = -1;
  std::uint64_t nonce = 0;

  std::string text() const;  // "0.2:4711:12:82abc"
  static std::optional<SpawnedAs> from_text(std::string_view text);
};

// Where processes of that name write what the others write to `file`: "r.json" is "r.spawned-0.2.json". For
// no name the file itself.
std::string file_of_spawned(const std::string& file, const std::string& name);

}  // namespace unisono
