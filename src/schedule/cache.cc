// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/cache.h"

#include <functional>

namespace unisono::schedule {

std::size_t Cache::Hash::operator()(const CacheKey& key) const {
  std::size_t hash = std::hash<std::string>()(key.algorithm);
  const auto mix = [&hash](std::uint64_t value) {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // spreads neighbouring values
    hash = (hash ^ value) * odd;
    hash ^= hash >> 32;
  };
  for (const auto& [name, value] : key.parameters) {
    mix(std::hash<std::string>()(name));
    mix(static_cast<std::uint64_t>(value));
  }
  mix(static_cast<std::uint64_t>(key.operation));
  mix(static_cast<std::uint64_t>(key.root));
  mix((key.is_in_place ? 2u : 0u) + (key.is_commutative ? 1u : 0u));
  return hash;
}

std::shared_ptr<const Compiled> Cache::find(const CacheKey& key) {
  const auto known = by_key_.find(key);
  if (known == by_key_.end()) return nullptr;
  by_use_.splice(by_use_.begin(), by_use_, known->second);
  return known->second->compiled;
}

void Cache::insert(const CacheKey& key, const std::shared_ptr<const Compiled>& compiled) {
  std::size_t bytes = schedule::size_bytes(*compiled) + 2 * sizeof(Entry);
  for (const auto& [name, value] : key.parameters) bytes += 2 * (name.capacity() + sizeof value);
  if (bytes > bound_bytes_) return;
  while (size_bytes_ + bytes > bound_bytes_) {
    size_bytes_ -= by_use_.back().bytes;
    by_key_.erase(by_use_.back().key);
    by_use_.pop_back();
  }
  by_use_.push_front({key, compiled, bytes});
  by_key_[key] = by_use_.begin();
  size_bytes_ += bytes;
}

}  // namespace unisono::schedule
