// SPDX-License-Identifier: BSD-3-Clause
// Reads the parts of a machine's file, and says where something is wrong.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/shown.h"
#include "model/machine.h"

namespace unisono::model {

// What stands at a place of the file is not what it has to be.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] inline void refuse(const std::string& where, const std::string& what) {
  throw Refusal(where + ": " + what);
}

class Reader {
 public:
  Reader(const nlohmann::ordered_json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json_.is_object()) refuse(where_.empty() ? "the file" : where_, "is no object");
  }

  Reader inner(const char* key) const { return {member(key), path(key)}; }
  std::string text(const char* key) const {
    if (!json_.contains(key)) return {};
    if (!json_[key].is_string()) refuse(path(key), "is no text");
    constexpr std::size_t most = 4096;
    return bounded(json_[key].get_ref<const std::string&>(), most);
  }
  bool has(const char* key) const { return json_.contains(key); }
  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> all;
    if (!member(key).is_array()) refuse(path(key), "is no list");
    for (const nlohmann::ordered_json& item : member(key)) {
      if (!item.is_string()) refuse(path(key), "holds what is no text");
      all.push_back(item.get<std::string>());
    }
    return all;
  }
  std::string path(const char* key) const { return where_.empty() ? key : where_ + "." + key; }
  Value value(const char* key) const { return value_from(member(key), path(key)); }
  Value value(const char* key, const Value& otherwise) const {
    return json_.contains(key) ? value(key) : otherwise;
  }
  int count(const char* key, const std::optional<int>& otherwise) const {
    constexpr int most = 1 << 20;
    const double number = otherwise ? value(key, *otherwise) : value(key);
    if (number > most) refuse(path(key), "is more than " + std::to_string(most));
    return static_cast<int>(number);
  }
  Curve curve_if_any(const char* key) const { return json_.contains(key) ? curve(key) : Curve(); }
  Curve curve(const char* key) const {
    const Reader columns = inner(key);
    const auto bytes = columns.numbers("bytes");
    const auto us = columns.numbers("us");
    const auto low = columns.numbers_if_any("low", us.size());
    const auto high = columns.numbers_if_any("high", us.size());
    if (bytes.empty()) refuse(path(key), "has no points");
    if (bytes.size() != us.size()) refuse(path(key), "has not as many us as bytes");
    std::vector<Curve::Point> points;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      Curve::Point point{static_cast<std::int64_t>(bytes[i]), us[i]};
      if (!low.empty()) point.us.low = low[i];
      if (!high.empty()) point.us.high = high[i];
      if (i > 0 && point.bytes <= points.back().bytes) refuse(path(key), "its bytes do not ascend");
      points.push_back(point);
    }
    return Curve(std::move(points));
  }

  // A list of times, with the interval of each where `low` and `high` are there.
  std::vector<Value> values(const char* key) const {
    std::vector<Value> all;
    for (const double number : numbers(key)) all.emplace_back(number);
    const auto low = numbers_if_any("low", all.size()), high = numbers_if_any("high", all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!low.empty()) all[i].low = low[i];
      if (!high.empty()) all[i].high = high[i];
    }
    return all;
  }
  // Of a list of objects; none where there is no list.
  std::vector<Reader> list_if_any(const char* key) const {
    std::vector<Reader> all;
    if (!json_.contains(key)) return all;
    if (!json_[key].is_array()) refuse(path(key), "is no list");
    for (const nlohmann::ordered_json& item : json_[key]) all.emplace_back(item, path(key));
    return all;
  }
  std::vector<double> numbers(const char* key) const {
    const nlohmann::ordered_json& list = member(key);
    if (!list.is_array()) refuse(path(key), "is no list");
    std::vector<double> all;
    for (const nlohmann::ordered_json& item : list) all.push_back(number(item, path(key)));
    return all;
  }

 private:
  const nlohmann::ordered_json& member(const char* key) const {
    if (!json_.contains(key)) refuse(path(key), "is missing");
    return json_[key];
  }
  static double number(const nlohmann::ordered_json& json, const std::string& where) {
    // Less than what a whole number holds: times, bytes and counts of machines all are.
    constexpr double most = 1e15;
    if (!json.is_number() || !(json.get<double>() >= 0)) refuse(where, "is no number from 0 on");
    if (json.get<double>() > most) refuse(where, "is more than 1e15");
    return json.get<double>();
  }
  static Value value_from(const nlohmann::ordered_json& json, const std::string& where) {
    if (!json.is_object()) return number(json, where);
    if (!json.contains("value")) refuse(where, "has no value");
    Value value(number(json["value"], where + ".value"));
    if (json.contains("low")) value.low = number(json["low"], where + ".low");
    if (json.contains("high")) value.high = number(json["high"], where + ".high");
    return value;
  }
  std::vector<double> numbers_if_any(const char* key, std::size_t count) const {
    if (!json_.contains(key)) return {};
    auto all = numbers(key);
    if (all.size() != count) refuse(path(key), "has not as many numbers as us");
    return all;
  }

  const nlohmann::ordered_json& json_;
  std::string where_;
};

}  // namespace unisono::model
