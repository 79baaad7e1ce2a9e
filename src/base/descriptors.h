// SPDX-License-Identifier: BSD-3-Clause
// Descriptors that files of their own add, each at namespace scope before main: all of them, by name.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace unisono {

template <class Descriptor>
class Descriptors {
 public:
  using Make = Descriptor (*)();

  static void add(Make make) { makers().push_back(make); }
  static const std::vector<Descriptor>& all() {
    static const std::vector<Descriptor> all = collect();
    return all;
  }
  // Null: there is none of this name.
  static const Descriptor* find(std::string_view name) {
    const auto found = std::ranges::find(all(), name, &Descriptor::name);
    return found == all().end() ? nullptr : &*found;
  }

 private:
  static std::vector<Make>& makers() {
    static std::vector<Make> makers;
    return makers;
  }
  static std::vector<Descriptor> collect() {
    std::vector<Descriptor> all;
    for (const Make make : makers()) all.push_back(make());
    std::ranges::sort(all, {}, &Descriptor::name);
    return all;
  }
};

}  // namespace unisono
