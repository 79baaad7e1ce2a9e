// SPDX-License-Identifier: BSD-3-Clause
#include "base/spawned.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace unisono {
namespace {

// Takes what stands before the next colon off the text.
std::string_view next_part(std::string_view* text) {
  const std::string_view part = text->substr(0, text->find(':'));
  text->remove_prefix(std::min(part.size() + 1, text->size()));
  return part;
}

template <class Number>
bool read_number(std::string_view text, int base, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number, base);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string SpawnedAs::text() const {
  char place[64];
  std::snprintf(place, sizeof place, ":%d:%d:%llx", process_id, descriptor,
                static_cast<unsigned long long>(nonce));
  return name + place;
}

std::optional<SpawnedAs> SpawnedAs::from_text(std::string_view text) {
  SpawnedAs read;
  read.name = next_part(&text);
  const bool is_name = !read.name.empty() && read.name.size() <= 200 &&
                       read.name.find_first_not_of("0123456789.") == std::string::npos;
  if (!is_name || !read_number(next_part(&text), 10, &read.process_id) ||
      !read_number(next_part(&text), 10, &read.descriptor) || !read_number(text, 16, &read.nonce))
    return std::nullopt;
  return read;
}

std::string file_of_spawned(const std::string& file, const std::string& name) {
  if (file.empty() || file == "-" || name.empty()) return file;
  const std::size_t slash = file.find_last_of('/') == std::string::npos ? 0 : file.find_last_of('/') + 1;
  const std::size_t dot = file.find_last_of('.');
  const std::size_t end = dot == std::string::npos || dot <= slash ? file.size() : dot;
  return file.substr(0, end) + ".spawned-" + name + file.substr(end);
}

}  // namespace unisono
