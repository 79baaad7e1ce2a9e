// SPDX-License-Identifier: BSD-3-Clause
#include "base/shown.h"

#include <cstdint>
#include <cstdio>

namespace unisono {
namespace {

// A character at the beginning of a text: its number and length; length 0: it is no UTF-8.
struct Character {
  std::uint32_t number;
  std::size_t bytes;
};

Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {lead, 0};
  std::uint32_t number = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {lead, 0};
    number = number << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_half = number >= 0xd800 && number <= 0xdfff;
  if (number < least[bytes] || is_half || number > 0x10ffff) return {lead, 0};
  return {number, bytes};
}

bool turns_or_ends_lines(std::uint32_t c) {
  return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

std::string shown_but(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [number, bytes] = first_of(text);
    const std::size_t taken = bytes == 0 ? 1 : bytes;
    char escaped[12] = "";
    if (bytes == 1 && kept.find(text[0]) != std::string_view::npos) {
      // as it is
    } else if (number == '\n' && bytes == 1) {
      std::snprintf(escaped, sizeof escaped, "\\n");
    } else if (bytes == 0 || number < 0x20 || (number >= 0x7f && number < 0xa0)) {
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(number));
    } else if (turns_or_ends_lines(number)) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(number));
    }
    if (escaped[0] != '\0') {
      out += escaped;
    } else {
      out += text.substr(0, taken);
    }
    text.remove_prefix(taken);
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
