// SPDX-License-Identifier: BSD-3-Clause
#include "base/wire.h"

#include <bit>
#include <cmath>
#include <limits>

namespace unisono {
namespace {

constexpr std::size_t number_bytes = 8;
constexpr unsigned bits_of_byte = 8;

}  // namespace

// The least byte first, whatever the machine does.
void WireWriter::number(std::uint64_t value) {
  for (unsigned i = 0; i < number_bytes; ++i) bytes_ += static_cast<char>(value >> bits_of_byte * i);
}

void WireWriter::real(double value) {
  number(std::bit_cast<std::uint64_t>(value));
}

void WireWriter::text(std::string_view value) {
  number(value.size());
  bytes_ += value;
}

std::string_view WireReader::take(std::size_t bytes) {
  if (has_failed_ || bytes > left_.size()) {
    has_failed_ = true;
    return {};
  }
  const std::string_view taken = left_.substr(0, bytes);
  left_.remove_prefix(bytes);
  return taken;
}

std::uint64_t WireReader::number() {
  std::uint64_t value = 0;
  unsigned shift = 0;
  for (const char byte : take(number_bytes)) {
    value |= std::uint64_t{static_cast<unsigned char>(byte)} << shift;
    shift += bits_of_byte;
  }
  return value;
}

std::int64_t WireReader::between(std::int64_t first, std::int64_t last) {
  const std::int64_t value = integer();
  if (first <= value && value <= last) return value;
  fail();
  return first;
}

int WireReader::whole() {
  return static_cast<int>(between(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

double WireReader::real() {
  const auto value = std::bit_cast<double>(number());
  if (!std::isnan(value)) return value;
  fail();
  return 0;
}

bool WireReader::flag() {
  const std::string_view byte = take(1);
  if (byte == std::string_view("\0", 1) || byte == "\1") return byte[0] != '\0';
  fail();
  return false;
}

std::uint64_t WireReader::count() {
  const std::uint64_t value = number();
  if (value <= left_.size()) return value;
  fail();
  return 0;
}

std::string WireReader::text() {
  return std::string(take(count()));
}

std::string sealed(const WireKind& kind, std::string_view content) {
  WireWriter writer;
  writer.number(kind.tag);
  writer.number(kind.version);
  writer.text(content);
  return writer.bytes();
}

std::optional<std::string_view> unsealed(const WireKind& kind, std::string_view message) {
  constexpr std::size_t head_bytes = 3 * number_bytes;
  WireReader head(message.substr(0, head_bytes));
  const bool is_of_kind = head.number() == kind.tag && head.number() == kind.version;
  const std::uint64_t length = head.number();
  if (!is_of_kind || !head.is_whole() || length != message.size() - head_bytes) return std::nullopt;
  return message.substr(head_bytes);
}

}  // namespace unisono
