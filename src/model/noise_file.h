// SPDX-License-Identifier: BSD-3-Clause
// Recordings of noise in files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/machine_reader.h"
#include "model/noise.h"

namespace unisono::model {

// Of a machine's file. Throws Refusal.
NoiseRecording recording_from(const Reader& reader);

// The text of a file of `unisono machine measure --noise`; what is wrong is said as a clause.
struct ReadRecording {
  std::optional<NoiseRecording> recording;
  std::string problem;
};
ReadRecording recording_from_json(std::string_view text);

}  // namespace unisono::model
