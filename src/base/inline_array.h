// SPDX-License-Identifier: BSD-3-Clause
// An array whose length is known when it is made, without memory of its own where it is short.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace unisono {

// Elements have no value until they are given one. It is neither copied nor moved: pointers go into it.
template <class T, std::size_t most_inline>
class InlineArray {
 public:
  explicit InlineArray(std::size_t size) : size_(size) {
    if (size > most_inline) many_.resize(size);
  }
  InlineArray(const InlineArray&) = delete;
  InlineArray& operator=(const InlineArray&) = delete;

  std::size_t size() const { return size_; }
  T* data() { return size_ > most_inline ? many_.data() : few_.data(); }
  const T* data() const { return size_ > most_inline ? many_.data() : few_.data(); }
  T& operator[](std::size_t i) { return data()[i]; }

 private:
  std::size_t size_;
  std::array<T, most_inline> few_;
  std::vector<T> many_;
};

}  // namespace unisono
