// SPDX-License-Identifier: BSD-3-Clause
#include "agents/carrier.h"

#include "base/descriptors.h"

namespace unisono::agents {

CarrierRegistration::CarrierRegistration(CarrierDescriptor (*make)()) {
  Descriptors<CarrierDescriptor>::add(make);
}

const std::vector<CarrierDescriptor>& carriers() {
  return Descriptors<CarrierDescriptor>::all();
}

const CarrierDescriptor* find_carrier(std::string_view name) {
  return Descriptors<CarrierDescriptor>::find(name);
}

std::uint8_t carrier_number(std::string_view name) {
  return static_cast<std::uint8_t>(find_carrier(name) - carriers().data());
}

}  // namespace unisono::agents
