// SPDX-License-Identifier: BSD-3-Clause
// The program's buffers as messages of bytes.
#pragma once

#include <cstdint>
#include <memory>

#include "adapter/below/family.h"
#include "adapter/messages/layer.h"

namespace unisono::adapter::messages {

// What a call's buffer holds. Where its elements do not lie one behind the other, or where the host cannot
// read them, a message is made of a copy.
struct Data {
  void* buffer = nullptr;
  std::uint64_t count = 0, bytes = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  bool is_copied = false;
};

// False where the MPI is to say what is wrong.
template <class Count>
bool describe_data(const void* buffer, Count count, MPI_Datatype type, Data* data);

// The elements' bytes, one behind the other. Null: there is no memory, or the MPI cannot read them.
std::unique_ptr<std::byte[]> packed(const Data& data);
// The other way round, of as many bytes as have come. Returns the MPI's error.
int unpack(const std::byte* from, std::uint64_t bytes, const Data& data);

}  // namespace unisono::adapter::messages
