// SPDX-License-Identifier: BSD-3-Clause
#include "agents/carrier.h"

#include <algorithm>

namespace unisono::agents {
namespace {

using Make = CarrierDescriptor (*)();

std::vector<Make>& makers() {
  static std::vector<Make> all;
  return all;
}

std::vector<CarrierDescriptor> collect() {
  std::vector<CarrierDescriptor> all;
  for (const Make make : makers()) all.push_back(make());
  std::ranges::sort(all, {}, &CarrierDescriptor::name);
  return all;
}

}  // namespace

CarrierRegistration::CarrierRegistration(Make make) {
  makers().push_back(make);
}

const std::vector<CarrierDescriptor>& carriers() {
  static const std::vector<CarrierDescriptor> all = collect();
  return all;
}

const CarrierDescriptor* find_carrier(std::string_view name) {
  const auto found = std::ranges::find(carriers(), name, &CarrierDescriptor::name);
  return found == carriers().end() ? nullptr : &*found;
}

std::uint8_t carrier_number(std::string_view name) {
  return static_cast<std::uint8_t>(find_carrier(name) - carriers().data());
}

}  // namespace unisono::agents
