// SPDX-License-Identifier: BSD-3-Clause
// How a thread computes with floating point: where it rounds to, whether tiny numbers become 0, and what
// ends in a trap. Each thread has its own; a call is to be computed as the thread does that made it.
#pragma once

#include <cstdint>
#include <optional>

namespace unisono {

// Without the exception flags, which say what has happened.
struct FloatControl {
#if defined(__x86_64__)
  std::uint32_t vector = 0;  // MXCSR
  std::uint16_t x87 = 0;     // the control word, of long double
#elif defined(__aarch64__)
  std::uint64_t fpcr = 0;
#else
  int rounding = 0;
#endif
  bool operator==(const FloatControl&) const = default;

  static FloatControl of_this_thread();
};

// Rounding to nearest, gradual underflow and no traps, for a thread that begins.
void set_standard_float_control();

// This thread computes like that for a while, and then as before, with the flags that it had.
class FloatControlForNow {
 public:
  explicit FloatControlForNow(const std::optional<FloatControl>& control);
  ~FloatControlForNow();
  FloatControlForNow(const FloatControlForNow&) = delete;
  FloatControlForNow& operator=(const FloatControlForNow&) = delete;

 private:
  FloatControl set_, before_;
  bool is_changed_ = false;
#if defined(__x86_64__)
  struct Environment {
    std::uint16_t control, unused, status, others[11];
  };
  static_assert(sizeof(Environment) == 28);
  std::uint32_t vector_before_ = 0;  // with its flags
  Environment x87_before_{};
#endif
};

}  // namespace unisono
