// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pairs/ring.h"

#include <algorithm>

#include "shm/pairs/fetch.h"

namespace unisono::shm {
namespace {

// So many lines that were read are fetched ahead.
constexpr std::uint64_t lines_ahead = 7;

// Calls `use(first byte, bytes)` for what lies in each line behind the item.
template <class Use>
void for_each_line(const RingPlace& place, std::size_t bytes, std::uint64_t number, Use use) {
  const std::size_t first = std::min(bytes, bytes_of_first_line);
  use(place.at(number).rest + sizeof(RingItem), 0, first);
  for (std::size_t done = first; done < bytes;) {
    const std::size_t now = std::min(bytes - done, bytes_of_further_line);
    use(place.at(++number).rest, done, now);
    done += now;
  }
}

}  // namespace

void RingWriter::write(const RingItem& item, const void* data, std::size_t bytes) {
  RingLine& first = place_.at(written_);
  std::memcpy(first.rest, &item, sizeof item);
  if (bytes != 0) {
    for_each_line(place_, bytes, written_, [&](std::byte* into, std::size_t at, std::size_t count) {
      std::memcpy(into, static_cast<const std::byte*>(data) + at, count);
    });
  }
  first.stamp.store(written_ + 1, std::memory_order_release);
  const auto count = static_cast<std::uint64_t>(ring_lines_of(bytes));
  written_ += count;
  for (std::uint64_t line = written_ + lines_ahead; line < written_ + lines_ahead + count; ++line) {
    if (line - read_ < place_.lines()) fetch_for_writing(&place_.at(line));
  }
}

void RingReader::copy(void* into, std::size_t bytes) const {
  if (bytes == 0) return;
  for_each_line(place_, bytes, read_, [&](const std::byte* from, std::size_t at, std::size_t count) {
    std::memcpy(static_cast<std::byte*>(into) + at, from, count);
  });
}

}  // namespace unisono::shm
