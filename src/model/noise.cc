// SPDX-License-Identifier: BSD-3-Clause
#include "model/noise.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <utility>

#include "base/near_names.h"

namespace unisono::model {
namespace {

constexpr std::array<std::string_view, 6> kind_names = {"fixed",     "uniform",  "exponential",
                                                        "lognormal", "periodic", "recorded"};
constexpr double us_per_s = 1e6;
constexpr double never = std::numeric_limits<double>::infinity();

// Numbers that look random, from a state of 64 bits (SplitMix64): each core has its own.
double uniform_of(std::uint64_t* state) {
  std::uint64_t mixed = (*state += 0x9e3779b97f4a7c15u);
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  constexpr double largest = 9007199254740992.0;  // 2 to the power of 53
  return static_cast<double>((mixed ^ (mixed >> 31)) >> 11) / largest;
}

double exponential_of(std::uint64_t* state, double mean) {
  return -mean * std::log1p(-uniform_of(state));
}

double normal_of(std::uint64_t* state) {
  const double radius = std::sqrt(exponential_of(state, 2));
  return radius * std::cos(2 * std::numbers::pi * uniform_of(state));
}

double length_of(const NoiseSource& source, std::uint64_t* state) {
  switch (source.kind) {
    case NoiseKind::uniform:
      return 2 * source.mean_us * uniform_of(state);
    case NoiseKind::exponential:
      return exponential_of(state, source.mean_us);
    case NoiseKind::lognormal:
      return source.mean_us * std::exp(source.shape * normal_of(state) - source.shape * source.shape / 2);
    case NoiseKind::periodic:
      return source.mean_us * (1 + source.shape * (2 * uniform_of(state) - 1));
    default:
      return source.mean_us;
  }
}

}  // namespace

std::string_view name(NoiseKind kind) {
  return kind_names[static_cast<std::size_t>(kind)];
}

Cores::Cores(std::vector<NoiseSource> sources, int count, std::uint64_t seed, bool is_waiting)
    : sources_(std::move(sources)), seed_(seed), is_waiting_(is_waiting) {
  quiet_until_.assign(static_cast<std::size_t>(count), never);
  streams_.resize(sources_.size() * quiet_until_.size());
  for (std::size_t core = 0; core < quiet_until_.size(); ++core) {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      Stream& stream = stream_of(core, i);
      // Streams of cores that follow each other begin far apart.
      std::uint64_t mixed = seed + (core * sources_.size() + i + 1) * 0xd1342543de82ef95u;
      uniform_of(&mixed);
      stream.random = mixed * 0x2545f4914f6cdd1du;
      start(sources_[i], &stream);
      quiet_until_[core] = std::min(quiet_until_[core], stream.begins_us);
    }
  }
}

void Cores::slow_down(double share, double factor) {
  slowness_.assign(quiet_until_.size(), 1);
  std::uint64_t state = seed_ ^ 0x5851f42d4c957f2du;
  for (double& one : slowness_) one = uniform_of(&state) < share ? factor : 1;
}

void Cores::silence(int core) {
  const auto at = static_cast<std::size_t>(core);
  for (std::size_t i = 0; i < sources_.size(); ++i) stream_of(at, i).begins_us = never;
  quiet_until_[at] = never;
}

// From an equal chance of every phase on.
void Cores::start(const NoiseSource& source, Stream* stream) const {
  if (source.kind == NoiseKind::recorded) {
    stream->turn_us = -uniform_of(&stream->random) * source.recording.length_us;
    stream->number = 0;
    if (source.recording.us.empty()) {
      stream->begins_us = stream->ends_us = never;
      return;
    }
    --stream->number;  // the first is next
  } else if (source.kind == NoiseKind::periodic) {
    stream->begins_us = -uniform_of(&stream->random) * us_per_s / source.rate_hz;
  }
  next(source, stream);
}

void Cores::next(const NoiseSource& source, Stream* stream) const {
  const double share = is_waiting_ ? source.waiting_share : 1;
  if (share <= 0) {
    stream->begins_us = stream->ends_us = never;
    return;
  }
  double length = 0;
  do {
    if (source.kind == NoiseKind::recorded) {
      const NoiseRecording& all = source.recording;
      if (++stream->number == all.us.size()) {
        stream->number = 0;
        stream->turn_us += all.length_us;
      }
      stream->begins_us = stream->turn_us + all.begins_us[stream->number];
      length = all.us[stream->number];
    } else if (source.kind == NoiseKind::periodic) {
      stream->begins_us += us_per_s / source.rate_hz;
      length = length_of(source, &stream->random);
    } else {
      stream->begins_us = stream->ends_us + exponential_of(&stream->random, us_per_s / source.rate_hz);
      length = length_of(source, &stream->random);
    }
    stream->ends_us = stream->begins_us + length;
  } while (share < 1 && uniform_of(&stream->random) >= share);
}

// Where detours of several sources meet, the longer one counts.
double Cores::late_end(std::size_t core, double begin_us, double work_us) {
  double us = begin_us;
  while (true) {
    Stream* first = nullptr;
    const NoiseSource* source = nullptr;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      Stream& stream = stream_of(core, i);
      if (first != nullptr && stream.begins_us >= first->begins_us) continue;
      first = &stream;
      source = &sources_[i];
    }
    quiet_until_[core] = first == nullptr ? never : first->begins_us;
    if (us + work_us <= quiet_until_[core]) return us + work_us;
    if (first->begins_us > us) {  // work is done until then
      work_us -= first->begins_us - us;
      us = first->begins_us;
    }
    us = std::max(us, first->ends_us);
    next(*source, first);
  }
}

namespace {

struct Field {
  std::string_view name;
  double NoiseSource::*place;
  double least, most;
};
constexpr std::array<Field, 4> fields = {{{"rate", &NoiseSource::rate_hz, 1e-6, 1e6},
                                          {"mean", &NoiseSource::mean_us, 1e-6, 1e9},
                                          {"shape", &NoiseSource::shape, 0, 10},
                                          {"share", &NoiseSource::waiting_share, 0, 1}}};

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

// "rate=16" into the source.
std::string take_field(const std::string& key, const std::string& text, NoiseSource* source) {
  const auto* field = std::ranges::find(fields, key, &Field::name);
  if (field == fields.end()) return "there is no '" + key + "'; there are rate (Hz), mean (us), shape, share";
  double value = 0;
  const char* const last = text.c_str() + text.size();
  const auto [end, error] = std::from_chars(text.c_str(), last, value);
  if (error != std::errc() || end != last || !(value >= field->least && value <= field->most))
    return key + " takes a number from " + number_text(field->least) + " to " + number_text(field->most) +
           ", not '" + text + "'";
  (*source).*(field->place) = value;
  return {};
}

std::string what_is_missing(const NoiseSource& source) {
  if (source.kind == NoiseKind::recorded) return {};
  if (source.rate_hz <= 0) return "it needs a rate, in Hz, as in uniform(rate=16,mean=115)";
  if (source.mean_us <= 0) return "it needs a mean, in us, as in uniform(rate=16,mean=115)";
  if (source.kind == NoiseKind::periodic && source.shape > 1) return "shape of periodic is at most 1";
  const double share = source.rate_hz * source.mean_us / us_per_s;
  if (share >= 1)
    return "it takes " + number_text(100 * share) +
           " % of a core (rate times mean): nothing is left for work";
  return {};
}

}  // namespace

ReadNoise noise_from_text(std::string_view text) {
  // kind(key=value,key=value)
  std::vector<std::string> words(1);
  bool is_closed = true;
  for (const char character : text) {
    const bool is_mark = character == '(' || character == ')' || character == ',' || character == '=';
    if (character == '(' || character == ')') is_closed = character == ')';
    if (is_mark) {
      words.emplace_back();
    } else {
      words.back() += character;
    }
  }
  if (!is_closed) return {std::nullopt, std::string(text).append(" wants a )")};
  const std::string& kind = words.front();
  const auto* found = std::ranges::find(kind_names, kind);
  if (found == kind_names.end()) {
    return {std::nullopt, "there is no noise '" + kind +
                              "'; there are fixed, uniform, exponential, lognormal, periodic, recorded" +
                              did_you_mean(kind, {kind_names.begin(), kind_names.end()})};
  }
  NoiseSource source{.kind = static_cast<NoiseKind>(found - kind_names.begin())};
  std::vector<std::string> given;
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
    if (std::ranges::find(given, words[i]) != given.end())
      return {std::nullopt, "'" + words[i] + "' of " + kind + " is given twice"};
    given.push_back(words[i]);
    if (std::string problem = take_field(words[i], words[i + 1], &source); !problem.empty())
      return {std::nullopt, std::move(problem)};
  }
  if (std::string problem = what_is_missing(source); !problem.empty())
    return {std::nullopt, std::move(problem)};
  return {source, {}};
}

std::string to_text(const NoiseSource& source) {
  const auto number = [](double value) {
    std::array<char, 32> digits{};
    const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    return std::string(digits.data(), written.ptr);
  };
  std::string text(name(source.kind));
  char mark = '(';
  const auto add = [&](const char* key, double value) {
    text += mark;
    text.append(key).append("=").append(number(value));
    mark = ',';
  };
  if (source.kind != NoiseKind::recorded) {
    add("rate", source.rate_hz);
    add("mean", source.mean_us);
  }
  if (source.shape > 0) add("shape", source.shape);
  if (source.waiting_share < 1) add("share", source.waiting_share);
  if (mark == ',') text += ')';
  return text;
}

}  // namespace unisono::model
