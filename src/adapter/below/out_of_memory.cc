// SPDX-License-Identifier: BSD-3-Clause
// Memory that runs out inside Unisono ends the program with a message. Otherwise C++ would throw through
// frames of C and Fortran, which know nothing of it. Who can do without, or has an error of MPI to return,
// asks by std::nothrow. The adapter has its C++ library for itself, so that the program's memory is its own.
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

[[noreturn]] void end_without_memory(std::size_t bytes) {
  char line[128];
  const int length =
      std::snprintf(line, sizeof line,
                    "unisono: there is no memory left: %zu bytes were asked for in a call of MPI\n", bytes);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, static_cast<std::size_t>(length));
  std::abort();
}

// Null: there is none.
void* memory_of(std::size_t bytes) noexcept {
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* memory_of(std::size_t bytes, std::align_val_t alignment) noexcept {
  const auto unit = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(unit, bytes == 0 ? unit : (bytes + unit - 1) / unit * unit);
}

template <class... Alignment>
void* memory_or_end(std::size_t bytes, Alignment... alignment) {
  void* memory = memory_of(bytes, alignment...);
  if (memory == nullptr) end_without_memory(bytes);
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
  return memory_or_end(bytes);
}
void* operator new[](std::size_t bytes) {
  return memory_or_end(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return memory_of(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return memory_of(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return memory_or_end(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return memory_or_end(bytes, alignment);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return memory_of(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return memory_of(bytes, alignment);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
