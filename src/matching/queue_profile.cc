// SPDX-License-Identifier: BSD-3-Clause
#include "matching/queue_profile.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace unisono::matching {
namespace {

constexpr std::string_view first_word = "unisono-matching-profile";
constexpr std::string_view version = "1";

std::string_view next_line(std::string_view* text) {
  const std::size_t end = std::min(text->find('\n'), text->size());
  std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  line = line.substr(0, line.find('#'));
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

std::string_view next_word(std::string_view* line) {
  line->remove_prefix(std::min(line->find_first_not_of(' '), line->size()));
  const std::size_t end = std::min(line->find(' '), line->size());
  const std::string_view word = line->substr(0, end);
  line->remove_prefix(end);
  return word;
}

// The next word as a number below `end`.
template <class Number>
std::optional<Number> next_number(std::string_view* line, Number end) {
  const std::string_view word = next_word(line);
  Number number = 0;
  const auto [behind, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || behind != word.data() + word.size() || number < 0 || number >= end)
    return std::nullopt;
  return number;
}

class Reader {
 public:
  // What is wrong with the line; empty where nothing is.
  std::string read(std::string_view line) {
    const std::string_view word = next_word(&line);
    if (word == "ranks") return read_ranks(&line);
    if (word == "rank") return read_rank(&line);
    if (word == "posted" || word == "unexpected") return read_count(word, &line);
    return "begins with neither ranks, rank, posted nor unexpected";
  }
  std::map<int, Profile> of_ranks;
  int ranks() const { return ranks_; }

 private:
  std::string read_ranks(std::string_view* line) {
    const auto ranks = next_number(line, most_profile_ranks + 1);
    if (!ranks || *ranks == 0 || !line->empty()) return "wants a number of ranks";
    if (ranks_ != 0) return "says once more how many ranks there are";
    ranks_ = *ranks;
    return {};
  }
  std::string read_rank(std::string_view* line) {
    const auto rank = next_number(line, ranks_);
    if (!rank || !line->empty()) return "wants a rank below the number of ranks";
    const auto [place, is_new] = of_ranks.try_emplace(*rank);
    if (!is_new) return "names a rank a second time";
    profile_ = &place->second;
    profile_->ranks = ranks_;
    return {};
  }
  std::string read_count(std::string_view queue, std::string_view* line) {
    if (profile_ == nullptr) return "stands before any rank";
    const auto context = next_number(line, most_contexts);
    const auto source = next_number(line, ranks_);
    const auto elements = next_number(line, std::uint64_t{1} << 48);
    if (!context || !source || !elements || !line->empty()) return "wants a context, a source and a count";
    ElementCounts& counts = queue == "posted" ? profile_->posted : profile_->unexpected;
    if (!counts.try_emplace({*context, *source}, *elements).second) return "counts a source a second time";
    return {};
  }

  int ranks_ = 0;
  Profile* profile_ = nullptr;
};

// What is wrong with the first line; empty where nothing is.
std::string why_not_read(std::string_view line) {
  const std::string known = std::string(first_word) + " " + std::string(version);
  if (line == known) return {};
  const bool is_profile = next_word(&line) == first_word;
  const auto other = next_number(&line, UINT32_MAX);
  if (is_profile && other && line.empty())
    return "it has version " + std::to_string(*other) + ", and this Unisono reads version " +
           std::string(version);
  return "line 1 is not '" + known + "'";
}

void add_counts(std::string* text, std::string_view queue, const ElementCounts& counts) {
  for (const auto& [place, elements] : counts)
    *text += std::string(queue) + " " + std::to_string(place.first) + " " + std::to_string(place.second) +
             " " + std::to_string(elements) + "\n";
}

}  // namespace

std::vector<double> elements_of_sources(const ElementCounts& counts, int ranks) {
  std::vector<double> elements(static_cast<std::size_t>(ranks));
  for (const auto& [place, count] : counts)
    if (place.second < ranks) elements[static_cast<std::size_t>(place.second)] += static_cast<double>(count);
  return elements;
}

ReadProfile read_profiles(std::string_view text) {
  if (const std::string problem = why_not_read(next_line(&text)); !problem.empty())
    return {.problem = problem};
  Reader reader;
  for (int number = 2; !text.empty(); ++number) {
    const std::string_view line = next_line(&text);
    if (line.find_first_not_of(' ') == std::string_view::npos) continue;
    if (const std::string problem = reader.read(line); !problem.empty())
      return {.problem = "line " + std::to_string(number) + " " + problem};
  }
  if (reader.ranks() == 0) return {.problem = "it does not say how many ranks there are"};
  return {.ranks = reader.ranks(), .of_ranks = std::move(reader.of_ranks)};
}

std::string to_text(int ranks, const std::map<int, Profile>& of_ranks) {
  std::string text =
      std::string(first_word) + " " + std::string(version) + "\nranks " + std::to_string(ranks) + "\n";
  for (const auto& [rank, profile] : of_ranks) {
    text += "rank " + std::to_string(rank) + "\n";
    add_counts(&text, "posted", profile.posted);
    add_counts(&text, "unexpected", profile.unexpected);
  }
  return text;
}

}  // namespace unisono::matching
