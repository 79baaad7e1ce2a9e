// SPDX-License-Identifier: BSD-3-Clause
#include "model/noise_file.h"

#include <algorithm>

#include "base/json_text.h"

namespace unisono::model {

NoiseRecording recording_from(const Reader& reader) {
  NoiseRecording recording{.length_us = reader.value("length_us"),
                           .begins_us = reader.numbers("begins_us"),
                           .us = reader.numbers("us")};
  if (recording.us.size() != recording.begins_us.size())
    refuse(reader.path("us"), "has not as many numbers as begins_us");
  if (!std::ranges::is_sorted(recording.begins_us)) refuse(reader.path("begins_us"), "does not ascend");
  const double last = recording.begins_us.empty() ? 0 : recording.begins_us.back();
  if (recording.length_us <= last) refuse(reader.path("length_us"), "is not behind the last begin");
  return recording;
}

ReadRecording recording_from_json(std::string_view text) {
  const ReadJson read = json_from(text);
  if (!read.problem.empty()) return {std::nullopt, "it " + read.problem};
  try {
    const Reader reader(read.json, "");
    if (reader.text("schema") != "unisono-noise") refuse("schema", "is not 'unisono-noise'");
    const double version = reader.value("version");
    if (version != 1) refuse("version", "is not 1, which this Unisono reads");
    return {recording_from(reader.inner("recording")), ""};
  } catch (const Refusal& refusal) {
    return {std::nullopt, refusal.what()};
  }
}

}  // namespace unisono::model
