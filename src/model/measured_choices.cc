// SPDX-License-Identifier: BSD-3-Clause
#include "model/measured_choices.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/options.h"

namespace unisono::model {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t standard_buffers = 4;  // what algorithms cut a rank's memory into by themselves
constexpr std::int64_t least_bytes = 16 << 10, most_bytes = 8 << 20;

// A time with its interval; without one nothing is sure.
struct Interval {
  double low = 0, high = 0;
};

std::optional<Interval> interval_from(const ordered_json& value) {
  if (!value.is_object()) return std::nullopt;
  const auto low = value.find("low"), high = value.find("high");
  if (low == value.end() || high == value.end() || !low->is_number() || !high->is_number())
    return std::nullopt;
  const Interval interval{low->get<double>(), high->get<double>()};
  if (!(interval.low > 0) || interval.high < interval.low) return std::nullopt;
  return interval;
}

// The way whose whole interval lies below that of what serves by itself, the least of several.
void find_wait(const ordered_json& waits, MeasuredChoices* choices) {
  if (!waits.is_object()) return;
  // Ranks that share cores are measured in the ways that give the core away alone.
  choices->is_sharing_cores = !waits.contains("spin") && !waits.contains("pause");
  const std::string standard(standard_wait(choices->is_sharing_cores));
  const auto usual = waits.contains(standard) ? interval_from(waits[standard]) : std::nullopt;
  if (!usual) return;
  double least = usual->low;
  for (const std::string_view way :
       std::array<std::string_view, 5>{"spin", "pause", "yield", "futex", "sleep"}) {
    const auto found = waits.find(std::string(way));
    const auto interval = found == waits.end() ? std::nullopt : interval_from(*found);
    if (!interval || interval->high >= least) continue;
    least = interval->high;
    choices->wait = way;
  }
}

// Of the standard number of buffers, the total whose whole interval of microseconds a byte lies below those
// of all others.
void find_buffers(const ordered_json& buffers, MeasuredChoices* choices) {
  if (!buffers.is_array()) return;
  std::int64_t best_bytes = 0;
  Interval best{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  double others_low = std::numeric_limits<double>::infinity();
  for (const ordered_json& one : buffers) {
    if (!one.is_object() || one.value("buffers", ordered_json()) != standard_buffers) continue;
    const ordered_json piece = one.value("piece_bytes", ordered_json());
    const auto us = interval_from(one.value("us", ordered_json()));
    if (!us || !piece.is_number_integer()) return;
    const auto bytes = piece.get<std::int64_t>();
    if (bytes < 1 || bytes > most_bytes) return;
    const Interval per_byte{us->low / static_cast<double>(bytes), us->high / static_cast<double>(bytes)};
    if (per_byte.high < best.high) {
      others_low = std::min(others_low, best.low);
      best = per_byte;
      best_bytes = bytes * standard_buffers;
    } else {
      others_low = std::min(others_low, per_byte.low);
    }
  }
  const bool is_clear = best.high < others_low && others_low < std::numeric_limits<double>::infinity();
  if (is_clear) choices->buffer_bytes = std::clamp(best_bytes, least_bytes, most_bytes);
}

}  // namespace

std::string_view standard_wait(bool is_sharing_cores) {
  return is_sharing_cores ? "yield" : "pause";
}

std::string MeasuredChoices::text() const {
  std::string text;
  if (!wait.empty()) {
    text = std::string(is_sharing_cores ? "ranks that share cores" : "ranks with a core each") +
           " wait by '" + wait + "'";
  }
  if (buffer_bytes > 0) {
    text += std::string(text.empty() ? "" : "; ") + "buffers of " + bytes_to_text(buffer_bytes) +
            " for each rank";
  }
  return text;
}

MeasuredChoices choices_from(const ordered_json& findings) {
  MeasuredChoices choices;
  if (!findings.is_object()) return choices;
  find_wait(findings.value("waits_us", ordered_json()), &choices);
  find_buffers(findings.value("buffers", ordered_json()), &choices);
  return choices;
}

}  // namespace unisono::model
