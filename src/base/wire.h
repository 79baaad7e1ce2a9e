// SPDX-License-Identifier: BSD-3-Clause
// Data as bytes, as the ranks of a job send them to each other. A reader takes nothing for granted. Bytes
// that end too early, or that no writer writes, make it fail. From then on all that it reads is zero or
// empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unisono {

class WireWriter {
 public:
  void number(std::uint64_t value);
  void integer(std::int64_t value) { number(static_cast<std::uint64_t>(value)); }
  void real(double value);
  void flag(bool value) { bytes_ += value ? '\1' : '\0'; }
  void text(std::string_view value);
  template <class T, class Write>
  void list(const std::vector<T>& values, Write write) {
    number(values.size());
    for (const T& value : values) write(this, value);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : left_(bytes) {}

  std::uint64_t number();
  std::int64_t integer() { return static_cast<std::int64_t>(number()); }
  // From `first` to `last`; another one makes the reader fail.
  std::int64_t between(std::int64_t first, std::int64_t last);
  template <class Enum>
  Enum one_of(int count) {
    return static_cast<Enum>(between(0, count - 1));
  }
  int whole();    // what an int holds
  double real();  // not a NaN
  bool flag();
  std::string text();
  // Each entry takes a byte at least, so that no number of them asks for more memory than there are bytes.
  template <class T, class Read>
  std::vector<T> list(Read read) {
    std::vector<T> values;
    for (std::uint64_t left = count(); left > 0 && !has_failed_; --left) values.push_back(read(this));
    return values;
  }
  void fail() { has_failed_ = true; }
  // Was all of it read, and nothing else?
  bool is_whole() const { return !has_failed_ && left_.empty(); }

 private:
  std::string_view take(std::size_t bytes);
  std::uint64_t count();

  std::string_view left_;
  bool has_failed_ = false;
};

// What a message is, and in which version of its form.
struct WireKind {
  std::uint64_t tag = 0, version = 0;
};
// The message with `content`: its kind and its length come first.
std::string sealed(const WireKind& kind, std::string_view content);
// The content; nothing where the message is of another kind, or longer or shorter than it says.
std::optional<std::string_view> unsealed(const WireKind& kind, std::string_view message);

}  // namespace unisono
