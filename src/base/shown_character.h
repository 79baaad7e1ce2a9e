/* SPDX-License-Identifier: BSD-3-Clause */
/* One character of a text from others as it may stand on a terminal: for shown.h, and for programs in C. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A character at the beginning of a text: its number and length; length 0: it is no UTF-8. */
struct unisono_character {
  uint32_t number;
  size_t bytes;
};

static inline struct unisono_character unisono_first_character(const char* text, size_t size) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char* bytes = (const unsigned char*)text;
  const unsigned char lead = bytes[0];
  const size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  struct unisono_character character = {lead, length};
  const struct unisono_character none = {lead, 0};
  if (length == 1) return character;
  if (lead < 0xc2 || lead > 0xf4 || size < length) return none;
  character.number = lead & (0x7fU >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((bytes[i] & 0xc0) != 0x80) return none;
    character.number = character.number << 6 | (bytes[i] & 0x3fU);
  }
  const int is_half = character.number >= 0xd800 && character.number <= 0xdfff;
  return character.number < least[length] || is_half || character.number > 0x10ffff ? none : character;
}

static inline int unisono_turns_or_ends_lines(uint32_t c) {
  return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

struct unisono_shown_character {
  size_t taken; /* bytes of the text */
  char text[8];
};

/* The first character of a text of `size` bytes, at least one; those in `kept` stay as they are. */
static inline struct unisono_shown_character unisono_shown_first(const char* text, size_t size,
                                                                 const char* kept) {
  const struct unisono_character c = unisono_first_character(text, size);
  struct unisono_shown_character shown = {c.bytes == 0 ? 1 : c.bytes, ""};
  const int is_control = c.bytes == 0 || c.number < 0x20 || (c.number >= 0x7f && c.number < 0xa0);
  if (c.bytes == 1 && c.number != 0 && strchr(kept, (int)c.number) != NULL) {
    shown.text[0] = text[0];
  } else if (c.number == '\n' && c.bytes == 1) {
    memcpy(shown.text, "\\n", 3);
  } else if (is_control) {
    snprintf(shown.text, sizeof shown.text, "\\x%02x", (unsigned)(c.number & 0xff));
  } else if (unisono_turns_or_ends_lines(c.number)) {
    snprintf(shown.text, sizeof shown.text, "\\u%04x", (unsigned)(c.number & 0xffff));
  } else {
    memcpy(shown.text, text, c.bytes);
  }
  return shown;
}
