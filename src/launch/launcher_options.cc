// SPDX-License-Identifier: BSD-3-Clause
#include "launch/launcher_options.h"

#include <algorithm>

#include "launch/words.h"

namespace unisono::launch {
namespace {

using Following = std::span<const std::string>;

// For an option that is not known: all words up to the next option or the first that can be started.
std::size_t guessed_count(Following following) {
  const auto end = std::ranges::find_if(following, [](const std::string& word) {
    return word.starts_with('-') || word == separator || looks_like_program(word) || is_shim(word);
  });
  return static_cast<std::size_t>(end - following.begin());
}

Option with_followers(std::string name, std::optional<int> arity, Following following) {
  if (!arity) return {.name = std::move(name), .followers = guessed_count(following)};
  std::size_t count = 0;
  if (*arity == maybe) {
    count = std::min<std::size_t>(1, guessed_count(following));
  } else if (*arity == pair) {
    count = !following.empty() && following[0].find('=') != std::string::npos ? 1 : 2;
  } else {
    count = static_cast<std::size_t>(*arity);
  }
  return {.name = std::move(name),
          .value = count > 0 && !following.empty() ? following[0] : std::string(),
          .followers = count};
}

struct Split {
  std::string name, value;
  bool has_value;
};

Split split_at_equals(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {std::string(text), "", false};
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)), true};
}

// -name, --name, -name=value.
Option dashed_option(const Flavour& flavour, const std::string& word, Following following) {
  const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size());
  const Split split = split_at_equals(std::string_view(word).substr(dashes));
  if (!flavour.arity(split.name) && !word.starts_with("--")) {
    if (!split.name.empty() && flavour.glued.find(split.name[0]) != std::string_view::npos)
      return {.name = split.name.substr(0, 1), .value = word.substr(2)};
    const bool are_letters = std::ranges::all_of(
        split.name, [&flavour](char letter) { return flavour.arity(std::string_view(&letter, 1)) == 0; });
    if (are_letters) return {.name = split.name};
  }
  if (split.has_value) return {.name = split.name, .value = split.value};
  return with_followers(split.name, flavour.arity(split.name), following);
}

// --name, --name=value; a name may be cut short where it stays unique.
Option getopt_name(const Flavour& flavour, const std::string& word, Following following) {
  Split split = split_at_equals(std::string_view(word).substr(2));
  if (!flavour.arity(split.name)) {
    std::vector<std::string_view> longer;
    for (const std::string_view known : flavour.option_names()) {
      if (known.size() > 1 && known.starts_with(split.name) &&
          std::ranges::find(longer, known) == longer.end())
        longer.push_back(known);
    }
    if (longer.size() == 1) split.name = longer[0];
  }
  if (split.has_value) return {.name = split.name, .value = split.value};
  return with_followers(split.name, flavour.arity(split.name), following);
}

// -abc: the first letter that takes a value has the rest of the word, or the next word.
Option getopt_letters(const Flavour& flavour, const std::string& word, Following following) {
  const auto letter_at = [&word](std::size_t index) { return std::string_view(word).substr(index, 1); };
  std::size_t index = 1;
  while (flavour.arity(letter_at(index)) == 0 && index + 1 < word.size() &&
         flavour.arity(letter_at(index + 1)))
    ++index;
  const std::string letter(letter_at(index)), rest = word.substr(index + 1);
  // A rest that begins with no option is a value that may be left out: -K0, -I30.
  if (!rest.empty()) return {.name = letter, .value = rest};
  return with_followers(letter, flavour.arity(letter), following);
}

}  // namespace

bool is_shim(std::string_view word) {
  return base_name(word) == shim_name;
}

bool looks_like_program(const std::string& word) {
  if (word.find('/') == std::string::npos && !find_program(word).empty()) return true;
  return is_executable(word);
}

std::vector<Option> options_of(const Flavour& flavour, std::span<const std::string> words) {
  std::vector<Option> found;
  std::size_t position = 0;
  while (position < words.size()) {
    const std::string& word = words[position];
    if (!word.starts_with('-') || word == "-" || word == "--") break;
    const Following following = words.subspan(position + 1);
    Option option = !flavour.is_getopt       ? dashed_option(flavour, word, following)
                    : word.starts_with("--") ? getopt_name(flavour, word, following)
                                             : getopt_letters(flavour, word, following);
    option.position = position;
    position += 1 + option.followers;
    found.push_back(std::move(option));
  }
  return found;
}

}  // namespace unisono::launch
