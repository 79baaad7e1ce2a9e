// SPDX-License-Identifier: BSD-3-Clause
// Reading another process's memory in one copy (process_vm_readv).
#pragma once

#include <cstddef>
#include <cstdint>

namespace unisono::shm {

// False on failure; errno says why.
bool read_process(int process_id, std::uint64_t address, void* into, std::size_t bytes);

// Yama may allow reads by the parent alone: while this lives, any process of the same user may read this one.
// Does nothing where that is not needed.
class ReadPermission {
 public:
  ReadPermission() = default;
  ~ReadPermission();
  ReadPermission(const ReadPermission&) = delete;
  ReadPermission& operator=(const ReadPermission&) = delete;
  void grant();

 private:
  bool is_granted_ = false;
};

}  // namespace unisono::shm
