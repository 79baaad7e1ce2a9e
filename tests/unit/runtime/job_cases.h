// SPDX-License-Identifier: BSD-3-Clause
// Settings, elements and buffers of the tests of whole calls.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "algorithms/catalogue/descriptor.h"
#include "base/operations.h"

namespace unisono::runtime {

// What a run of all operations is made of.
struct Setting {
  int size = 4;
  std::string nodes;
  std::string algorithm;
  std::size_t count = 7;
  bool is_in_place = false;
  bool has_gaps = false;
  bool is_commutative = true;
  bool is_blocking = true;
};

// Calls of one operation, all alike.
struct Calls {
  Setting setting;
  Operation operation{};
  int root = 0;
};

// One algorithm of each operation, the first, the second, ..., until each had its turn.
inline std::vector<std::vector<const algorithms::Descriptor*>> in_turns() {
  std::vector<std::vector<const algorithms::Descriptor*>> turns;
  std::vector<std::size_t> of_operation(operation_count);
  for (const algorithms::Descriptor& d : algorithms::registry()) {
    const std::size_t turn = of_operation[static_cast<std::size_t>(d.operation)]++;
    if (turn == turns.size()) turns.emplace_back();
    turns[turn].push_back(&d);
  }
  return turns;
}

// So many ranks on one node, on two alike in both orders, on three unlike ones, on a node each.
inline std::vector<std::string> layouts_of(int size) {
  std::vector<std::string> layouts = {""};
  if (size >= 4 && size % 2 == 0)
    layouts.push_back("2x" + std::to_string(size / 2)),
        layouts.push_back("2x" + std::to_string(size / 2) + "/cyclic");
  if (size >= 5) layouts.push_back("1,3," + std::to_string(size - 4));
  if (size >= 2) layouts.push_back(std::to_string(size) + "x1");
  return layouts;
}

inline std::string print(const Setting& s) {
  return std::to_string(s.size) + " ranks, nodes '" + s.nodes + "', algorithm '" + s.algorithm + "', count " +
         std::to_string(s.count) + (s.is_in_place ? ", in place" : "") + (s.has_gaps ? ", gaps" : "") +
         (s.is_commutative ? "" : ", not commutative") + (s.is_blocking ? "" : ", non-blocking");
}

// Elements are pairs of int32 (a, b) that stand for the maps x -> a*x + b modulo a prime: composing them is
// associative, not commutative.
inline constexpr std::int64_t prime = 10007;
struct Pair {
  std::int32_t a = 0, b = 0;
  bool operator==(const Pair&) const = default;
};
inline Pair compose(Pair l, Pair r) {
  return {static_cast<std::int32_t>(std::int64_t{l.a} * r.a % prime),
          static_cast<std::int32_t>((std::int64_t{l.a} * r.b + l.b) % prime)};
}
inline Pair add(Pair l, Pair r) {
  return {l.a + r.a, l.b + r.b};
}
inline Pair value(int rank, std::size_t i) {
  return {static_cast<std::int32_t>((static_cast<std::size_t>(rank) * 31 + i * 7) % 1000 + 2),
          static_cast<std::int32_t>(i % 100) + rank};
}

// A buffer of elements as the datatype lays them out: pairs back to back, or with gaps (0 and 8 of 16 bytes).
class Buffer {
 public:
  Buffer(std::size_t count, bool has_gaps)
      : stride_(has_gaps ? 16 : 8), second_(has_gaps ? 8 : 4), data_(count * stride_ + 64, 0x55) {}
  void set(std::size_t i, Pair p) {
    std::memcpy(data_.data() + i * stride_, &p.a, 4);
    std::memcpy(data_.data() + i * stride_ + second_, &p.b, 4);
  }
  Pair get(std::size_t i) const {
    Pair p;
    std::memcpy(&p.a, data_.data() + i * stride_, 4);
    std::memcpy(&p.b, data_.data() + i * stride_ + second_, 4);
    return p;
  }
  void* data() { return data_.data(); }

 private:
  std::size_t stride_, second_;
  std::vector<unsigned char> data_;
};

}  // namespace unisono::runtime
