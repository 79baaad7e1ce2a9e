// SPDX-License-Identifier: BSD-3-Clause
#include "base/json_text.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>
#include <vector>

#include "base/shown.h"

namespace unisono {
namespace {

using Json = nlohmann::ordered_json;

constexpr int most_levels = 64;
constexpr std::size_t most_values = 4'000'000;
// Of one object: looking for one of them takes time with each.
constexpr std::size_t most_keys = 1'000;
constexpr std::size_t most_shown = 60;

struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What is seen while a text is read, before it is kept.
class Watcher {
 public:
  bool see(int depth, Json::parse_event_t event, const Json& value) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= most_levels) {
        throw Refusal("is nested deeper than " + std::to_string(most_levels) + " levels");
      }
      if (event == Event::object_start) keys_.emplace_back();
    }
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key) see_key(value.get_ref<const std::string&>());
    if (event != Event::key && ++values_ > most_values) {
      throw Refusal("holds more than " + std::to_string(most_values) + " values");
    }
    return true;
  }

 private:
  void see_key(const std::string& key) {
    if (!keys_.back().insert(key).second) {
      throw Refusal("has the field '" + shown_in_a_line(cut(key, most_shown)) + "' twice in one object");
    }
    if (keys_.back().size() > most_keys) {
      throw Refusal("has more than " + std::to_string(most_keys) + " fields in one object");
    }
  }

  std::vector<std::unordered_set<std::string>> keys_;
  std::size_t values_ = 0;
};

}  // namespace

ReadJson json_from(std::string_view text) {
  Watcher watcher;
  const auto see = [&](int depth, Json::parse_event_t event, Json& value) {
    return watcher.see(depth, event, value);
  };
  try {
    return {Json::parse(text, see), {}};
  } catch (const Refusal& refusal) {
    return {Json(), refusal.what()};
  } catch (const Json::parse_error& error) {
    const auto line = 1 + std::ranges::count(text.substr(0, error.byte), '\n');
    return {Json(), "is no JSON: line " + std::to_string(line) + " cannot be understood"};
  } catch (const Json::exception&) {
    return {Json(), "holds a number that is too large"};
  }
}

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace unisono
