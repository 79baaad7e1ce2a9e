// SPDX-License-Identifier: BSD-3-Clause
#include "simgrid/buffers.h"

#include <algorithm>

namespace unisono::simgrid {

namespace {

constexpr std::int64_t most_elements_of_all = std::int64_t{1} << 26;  // 512 MiB

std::int64_t units(Holds holds, int size) {
  switch (holds) {
    case Holds::vector:
    case Holds::own_block:
      return 1;
    case Holds::all_blocks:
      return size;
    default:
      return 0;
  }
}

}  // namespace

std::int64_t Call::input_elements() const {
  const OperationTraits& of = traits(operation);
  if (has_one_buffer(operation) || (of.root == Root::gives && !is_at_root())) return 0;
  return units(of.input, size) * elements;
}

std::int64_t Call::output_elements() const {
  const OperationTraits& of = traits(operation);
  if (of.root == Root::gets && !is_at_root()) return 0;
  return units(of.output, size) * elements;
}

std::vector<std::int64_t> Buffers::shared_input, Buffers::shared_output;

Buffers::Buffers(const Call& call) : call_(call), input_(&own_input_), output_(&own_output_) {
  const std::int64_t input = call.input_elements(), output = call.output_elements();
  if ((input + output) * call.size > most_elements_of_all) {
    input_ = &shared_input;
    output_ = &shared_output;
  }
  // Memory that all use never shrinks: others may be in the midst of a call.
  for (const auto& [buffer, elements] : {std::pair{input_, input}, std::pair{output_, output}})
    if (std::ssize(*buffer) < elements) buffer->resize(static_cast<std::size_t>(elements));
}

void Buffers::fill() {
  if (are_shared()) return;
  const auto value = [this](std::int64_t i) { return call_.rank * std::int64_t{1000003} + 7 * i + 1; };
  for (std::size_t i = 0; i < own_input_.size(); ++i) own_input_[i] = value(static_cast<std::int64_t>(i));
  std::ranges::fill(own_output_, 0);
  if (!has_one_buffer(call_.operation) || !call_.is_at_root()) return;
  for (std::size_t i = 0; i < own_output_.size(); ++i) own_output_[i] = value(static_cast<std::int64_t>(i));
}

std::uint64_t Buffers::sum() const {
  if (call_.operation == Operation::exscan && call_.rank == 0) return 0;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < own_output_.size(); ++i) {
    const auto place = static_cast<std::uint64_t>(call_.rank) << 32 | i;
    sum += (static_cast<std::uint64_t>(own_output_[i]) ^ place) * 0x9e3779b97f4a7c15u;
  }
  return sum;
}

}  // namespace unisono::simgrid
