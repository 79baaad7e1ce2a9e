// SPDX-License-Identifier: BSD-3-Clause
// What a machine's file says beside the models' parameters. It says how the ranks of a node best wait for
// each other (A3, section 2.5.1). It says in how large buffers pieces best go from rank to rank (A4, sections
// 2.5.2 and 2.5.3).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace unisono::model {

struct MeasuredChoices {
  std::string wait;               // empty: nothing was clearly better than what serves without a file
  bool is_sharing_cores = false;  // `wait` is for ranks that share cores; else for those that share none
  std::int64_t buffer_bytes = 0;  // of one rank's buffers together; 0: nothing was clearly the best
  bool operator==(const MeasuredChoices&) const = default;

  bool is_any() const { return !wait.empty() || buffer_bytes > 0; }
  // "ranks that share cores wait by 'futex'; buffers of 256K for each rank", or empty.
  std::string text() const;
};

// What serves where nothing was measured: shm/slice/wait.h.
std::string_view standard_wait(bool is_sharing_cores);

// `findings` of the file; what is damaged in it decides nothing.
MeasuredChoices choices_from(const nlohmann::ordered_json& findings);

}  // namespace unisono::model
