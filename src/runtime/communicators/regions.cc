// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/communicators/regions.h"

#include "base/log.h"
#include "base/shown.h"

namespace unisono::runtime {
namespace {

// What a program calls its regions, and how many it has, is bounded: each has its own knowledge.
constexpr std::size_t most_region_bytes = 200, most_regions = 1000;

// Names come from the program: a digest tells them apart, and is the same on all ranks.
std::uint64_t region_number(const std::string& name) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash | 1;  // 0: no region
}

}  // namespace

void Regions::begin(const std::string& name) {
  const std::string known = bounded(name, most_region_bytes);
  if (known.size() != name.size() && world_.notices().is_speaker()) {
    log::warning_once("a region has a name of more than " + std::to_string(most_region_bytes) +
                      " bytes; it is called '" + known + "'");
  }
  std::uint64_t number = region_number(known);
  const LockGuard lock(mutex_);
  if (names_.size() < most_regions) {
    names_.try_emplace(number, known);
  } else if (!names_.contains(number)) {
    number = 0;
    if (world_.notices().is_speaker()) {
      log::warning_once("the program has more than " + std::to_string(most_regions) +
                        " regions; the others are none (unisono_region_begin)");
    }
  }
  stack_.push_back(number);
  innermost_.store(number, std::memory_order_release);
}

void Regions::end() {
  const LockGuard lock(mutex_);
  if (stack_.empty()) {
    log::warning_once("a region was ended that was not begun (unisono_region_end)");
    return;
  }
  stack_.pop_back();
  innermost_.store(stack_.empty() ? 0 : stack_.back(), std::memory_order_release);
}

void Regions::say_open() const {
  std::uint64_t open = 0;
  {
    const LockGuard lock(mutex_);
    if (stack_.empty()) return;
    open = stack_.back();
  }
  if (world_.notices().is_speaker())
    world_.notices().warn("region '" + std::string(name(open)) +
                          "' was begun and never ended (unisono_region_end)");
}

std::string_view Regions::name(std::uint64_t region) const {
  const LockGuard lock(mutex_);
  const auto found = names_.find(region);
  return found == names_.end() ? std::string_view() : found->second;
}

}  // namespace unisono::runtime
