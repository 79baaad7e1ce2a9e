// SPDX-License-Identifier: BSD-3-Clause
// Compiled schedules by what they were made from, bounded in memory; the least recently used go first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/types.h"
#include "schedule/executor.h"

namespace unisono::schedule {

// Schedules are count-free: everything that tells two of one communicator's rank apart.
struct CacheKey {
  std::string algorithm;
  std::vector<std::pair<std::string, std::int64_t>> parameters;
  Operation operation = Operation::barrier;
  int root = 0;
  bool is_in_place = false;
  bool is_commutative = true;
  bool operator==(const CacheKey&) const = default;
};

// Not thread-safe: one per communicator, whose blocking calls do not overlap. A schedule that is dropped
// lives on as long as somebody holds it.
class Cache {
 public:
  explicit Cache(std::size_t bound_bytes) : bound_bytes_(bound_bytes) {}
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // The schedule of the key; where it is not there, make() is asked for it. One that is larger than the bound
  // is given back but not kept.
  template <typename Make>
  std::shared_ptr<const Compiled> get(const CacheKey& key, Make&& make) {
    std::shared_ptr<const Compiled> found = find(key);
    if (found == nullptr) {
      found = std::forward<Make>(make)();
      insert(key, found);
    }
    return found;
  }

  std::size_t size_bytes() const { return size_bytes_; }
  std::size_t entries() const { return by_use_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const CacheKey& key) const;
  };
  struct Entry {
    CacheKey key;
    std::shared_ptr<const Compiled> compiled;
    std::size_t bytes = 0;
  };

  std::shared_ptr<const Compiled> find(const CacheKey& key);
  void insert(const CacheKey& key, const std::shared_ptr<const Compiled>& compiled);

  std::size_t bound_bytes_;
  std::size_t size_bytes_ = 0;
  std::list<Entry> by_use_;  // most recently used first
  std::unordered_map<CacheKey, std::list<Entry>::iterator, Hash> by_key_;
};

}  // namespace unisono::schedule
