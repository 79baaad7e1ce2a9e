// SPDX-License-Identifier: BSD-3-Clause
#include "base/float_control.h"

#include <cfenv>

namespace unisono {

void set_standard_float_control() {
  std::fesetenv(FE_DFL_ENV);
}

#if defined(__x86_64__)
namespace {

constexpr std::uint32_t vector_flags = 0x3F;  // of MXCSR
// Of the x87 status word: the flags, the stack fault, and the word that a trap is due.
constexpr std::uint16_t x87_flags = 0xFF;

std::uint32_t read_vector() {
  std::uint32_t word = 0;
  __asm__ __volatile__("stmxcsr %0" : "=m"(word));
  return word;
}

void write_vector(std::uint32_t word) {
  __asm__ __volatile__("ldmxcsr %0" : : "m"(word) : "memory");
}

}  // namespace

FloatControl FloatControl::of_this_thread() {
  std::uint16_t x87 = 0;
  __asm__ __volatile__("fnstcw %0" : "=m"(x87));
  return {.vector = read_vector() & ~vector_flags, .x87 = x87};
}

// Flags that are up must not trap under another mask: x87 would do so at its next instruction.
FloatControlForNow::FloatControlForNow(const std::optional<FloatControl>& control) {
  if (!control) return;
  set_ = *control;
  before_ = FloatControl::of_this_thread();
  if (set_ == before_) [[likely]]
    return;
  is_changed_ = true;
  vector_before_ = read_vector();
  write_vector(set_.vector);
  if (set_.x87 == before_.x87) return;
  __asm__ __volatile__("fnstenv %0" : "=m"(x87_before_) : : "memory");  // also masks all traps
  Environment now = x87_before_;
  now.control = set_.x87;
  now.status = static_cast<std::uint16_t>(now.status & ~x87_flags);
  __asm__ __volatile__("fldenv %0" : : "m"(now) : "memory");
}

FloatControlForNow::~FloatControlForNow() {
  if (!is_changed_) return;
  write_vector(vector_before_);
  if (set_.x87 != before_.x87) __asm__ __volatile__("fldenv %0" : : "m"(x87_before_) : "memory");
}

#elif defined(__aarch64__)
namespace {

void write_fpcr(std::uint64_t word) {
  __asm__ __volatile__("msr fpcr, %0" : : "r"(word) : "memory");
}

}  // namespace

FloatControl FloatControl::of_this_thread() {
  std::uint64_t word = 0;
  __asm__ __volatile__("mrs %0, fpcr" : "=r"(word));
  return {.fpcr = word};
}

// The flags are in a register of their own, and traps are taken as they arise.
FloatControlForNow::FloatControlForNow(const std::optional<FloatControl>& control) {
  if (!control) return;
  set_ = *control;
  before_ = FloatControl::of_this_thread();
  is_changed_ = !(set_ == before_);
  if (is_changed_) write_fpcr(set_.fpcr);
}

FloatControlForNow::~FloatControlForNow() {
  if (is_changed_) write_fpcr(before_.fpcr);
}

#else

FloatControl FloatControl::of_this_thread() {
  return {.rounding = std::fegetround()};
}

FloatControlForNow::FloatControlForNow(const std::optional<FloatControl>& control) {
  if (!control) return;
  set_ = *control;
  before_ = FloatControl::of_this_thread();
  is_changed_ = !(set_ == before_);
  if (is_changed_) std::fesetround(set_.rounding);
}

FloatControlForNow::~FloatControlForNow() {
  if (is_changed_) std::fesetround(before_.rounding);
}

#endif

}  // namespace unisono
