// SPDX-License-Identifier: BSD-3-Clause
// Pages of memory. Where they are larger than here, what goes by them takes some steps more and is right all
// the same.
#pragma once

#include <cstddef>

namespace unisono {

inline constexpr std::size_t page_bytes = 4096;

// The next whole number of pages, in bytes.
constexpr std::size_t up_to_whole_pages(std::size_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

}  // namespace unisono
