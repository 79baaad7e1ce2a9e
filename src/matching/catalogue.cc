// SPDX-License-Identifier: BSD-3-Clause
#include "matching/catalogue.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/descriptors.h"

namespace unisono::matching {
namespace {

const std::int64_t* given(const Setup& setup, std::string_view name) {
  for (const auto& [known, value] : setup.values)
    if (known == name) return &value;
  return nullptr;
}

}  // namespace

Registration::Registration(Descriptor (*make)()) {
  Descriptors<Descriptor>::add(make);
}

const std::vector<Descriptor>& registry() {
  return Descriptors<Descriptor>::all();
}

const Descriptor* find(std::string_view name) {
  return Descriptors<Descriptor>::find(name);
}

std::int64_t Setup::value(std::string_view name) const {
  if (const std::int64_t* value = given(*this, name)) return *value;
  std::fprintf(stderr, "unisono: a matching structure asks for '%.*s', which it does not declare\n",
               static_cast<int>(name.size()), name.data());
  std::abort();
}

std::unique_ptr<Queues> make_queues(const Descriptor& descriptor, Setup setup) {
  std::vector<std::pair<std::string_view, std::int64_t>> values;
  for (const Parameter& parameter : descriptor.parameters) {
    const std::int64_t* value = given(setup, parameter.name);
    values.emplace_back(parameter.name, std::clamp(value != nullptr ? *value : parameter.standard,
                                                   parameter.low, parameter.high));
  }
  setup.values = std::move(values);
  return descriptor.make(setup);
}

}  // namespace unisono::matching
