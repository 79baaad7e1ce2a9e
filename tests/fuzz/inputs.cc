// SPDX-License-Identifier: BSD-3-Clause
#include "inputs.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace unisono::fuzz {
namespace {

// What readers have to tell from what is well.
constexpr std::array<std::string_view, 40> words = {"{",
                                                    "}",
                                                    "[",
                                                    "]",
                                                    "\"",
                                                    ":",
                                                    ",",
                                                    "null",
                                                    "true",
                                                    "-1",
                                                    "0",
                                                    "1e999",
                                                    "-0.0",
                                                    "1e15",
                                                    "9223372036854775807",
                                                    "18446744073709551616",
                                                    "4294967296",
                                                    "\\u0000",
                                                    "\\ud800",
                                                    "\x1b[2J",
                                                    "\xc2\x9b",
                                                    "\xff",
                                                    "\xe2\x80\xae",
                                                    "\n",
                                                    "=",
                                                    "#",
                                                    "tree:",
                                                    "x1",
                                                    ",",
                                                    "[0-65535]",
                                                    "[0-9][0-9]",
                                                    "SwitchName=s9 ",
                                                    "Switches=",
                                                    "Nodes=",
                                                    "native",
                                                    "(segment=1)",
                                                    "\"rules\"",
                                                    "\"withdrawn\"",
                                                    "\"operation\"",
                                                    "65537"};

std::size_t below(std::size_t end, std::mt19937_64& random) {
  return end == 0 ? 0 : random() % end;
}

void change_once(std::string* text, const std::string& other, std::mt19937_64& random) {
  const std::size_t at = below(text->size() + 1, random);
  const std::size_t length = below(std::min<std::size_t>(text->size() - at, 40) + 1, random);
  switch (random() % 9) {
    case 0:
      if (at < text->size()) (*text)[at] ^= static_cast<char>(1 << (random() % 8));
      break;
    case 1:
      text->erase(at, length);
      break;
    case 2:
    case 3:
      text->insert(at, words[below(words.size(), random)]);
      break;
    case 4:
      text->replace(at, length, words[below(words.size(), random)]);
      break;
    case 5: {  // a part again
      const std::string part = text->substr(at, length);
      for (std::uint64_t i = 1 + random() % 8; i > 0; --i) text->insert(at, part);
      break;
    }
    case 6: {  // of another one
      const std::size_t from = below(other.size() + 1, random);
      text->insert(at, other.substr(from, below(200, random)));
      break;
    }
    case 7: {  // nested
      const std::size_t depth = std::size_t{1} << below(13, random);
      std::string inner;
      for (std::size_t i = 0; i < depth; ++i) inner += random() % 2 == 0 ? "[" : "{\"a\":";
      text->insert(at, inner);
      break;
    }
    default:
      text->resize(at);
  }
}

}  // namespace

std::string changed(const std::string& input, const std::string& other, std::mt19937_64& random) {
  std::string text = input;
  for (std::uint64_t i = 1 + random() % 4; i > 0; --i) change_once(&text, other, random);
  if (text.size() > most_input_bytes) text.resize(most_input_bytes);
  return text;
}

}  // namespace unisono::fuzz
