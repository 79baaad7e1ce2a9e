// SPDX-License-Identifier: BSD-3-Clause
#include "base/shown.h"

#include <cstdint>
#include <cstdio>

#include "base/shown_character.h"

namespace unisono {
namespace {

std::string shown_but(std::string_view text, const char* kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto first = unisono_shown_first(text.data(), text.size(), kept);
    out += first.text;
    text.remove_prefix(first.taken);
  }
  return out;
}

}  // namespace

std::string shown(std::string_view text) {
  return shown_but(text, "\n\t");
}

std::string shown_in_a_line(std::string_view text) {
  return shown_but(text, "");
}

std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  // Bytes that go on with a character begin with the bits 10; a character has at most three of them.
  for (int back = 0; back < 3 && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80; ++back)
    --end;
  return text.substr(0, end);
}

std::string bounded(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char mark[24];
  std::snprintf(mark, sizeof mark, "...%08x", static_cast<unsigned>(hash ^ hash >> 32));
  constexpr std::size_t mark_bytes = 11;
  return std::string(cut(text, most > mark_bytes ? most - mark_bytes : 0)) + mark;
}

}  // namespace unisono
