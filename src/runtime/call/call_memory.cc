// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/call/call_memory.h"

namespace unisono::runtime {
namespace {

bool is_within(std::uintptr_t address, const void* begin, std::size_t bytes) {
  return begin != nullptr && address - reinterpret_cast<std::uintptr_t>(begin) < bytes;
}

bool is_within(std::uintptr_t address, const BlockArguments& blocks, int ranks, std::size_t element_bytes) {
  const auto* begin = static_cast<const char*>(blocks.buffer);
  if (blocks.counts == nullptr) return is_within(address, begin, blocks.count * element_bytes);
  std::size_t before = 0;  // of blocks that stand side by side
  for (int i = 0; i < ranks; ++i) {
    const std::size_t bytes = blocks.count_of(i) * element_bytes;
    const char* block = begin + before + offset_of(blocks, i, element_bytes);
    if (is_within(address, block, bytes)) return true;
    if (blocks.displacements == nullptr) before += bytes;
  }
  return false;
}

// Neither in the half of the addresses that is a program's, nor in the kernel's.
bool is_impossible(const void* address) {
#if defined(__x86_64__)
  const auto top = static_cast<std::intptr_t>(reinterpret_cast<std::uintptr_t>(address)) >> 47;
  return top != 0 && top != -1;
#else
  static_cast<void>(address);
  return false;
#endif
}

}  // namespace

bool CallMemory::holds(std::uintptr_t address, std::int64_t bytes) const {
  if (call == nullptr) return false;
  if (has_uneven_blocks(call->operation)) {
    if (uneven == nullptr) return false;
    if (uneven->holds != nullptr) return uneven->holds(uneven->blocks, address);
    return is_within(address, call->send_blocks, ranks, uneven->send_bytes) ||
           is_within(address, call->recv_blocks, ranks, uneven->recv_bytes);
  }
  if (bytes < 0) return false;
  const auto one = static_cast<std::size_t>(bytes);
  const std::size_t all = one * static_cast<std::size_t>(ranks);
  const Operation operation = call->operation;
  const bool gets_all =
      gets_all_blocks(operation) || (call->is_in_place && is_scattered_reduction(operation));
  return is_within(address, call->send_buffer, sends_all_blocks(operation) ? all : one) ||
         is_within(address, call->recv_buffer, gets_all ? all : one);
}

bool CallMemory::has_impossible() const {
  if (call == nullptr) return false;
  return is_impossible(call->send_buffer) || is_impossible(call->recv_buffer) ||
         is_impossible(call->send_blocks.buffer) || is_impossible(call->recv_blocks.buffer);
}

}  // namespace unisono::runtime
