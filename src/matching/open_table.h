// SPDX-License-Identifier: BSD-3-Clause
// M8: a table from keys to lists of entries, with open addressing. A bucket is one line of four keys, each
// with the first entry of its list and one word more. A wildcard is a value like others, so that one table
// serves keys of all four shapes.
//
// The hash begins with random numbers: whoever chooses tags cannot choose where they lie. A key whose list
// has become empty keeps its place, since programs use it again, until another key needs the place or the
// table is made anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace unisono::matching {

// Of a process, unless tests choose others.
struct HashSeed {
  std::uint64_t mixed_in;
  std::uint64_t factor;  // odd
};
HashSeed hash_seed_from(std::uint64_t number);

class OpenTable {
 public:
  static constexpr std::uint32_t none = 0xFFFFFFFE;  // the key's list is empty

  struct alignas(64) Bucket {
    std::uint64_t keys[4];
    std::uint32_t heads[4];
    std::uint32_t words[4];
  };
  // A key's place, until the table changes.
  struct Slot {
    Bucket* bucket = nullptr;
    std::uint32_t at = 0;

    explicit operator bool() const { return bucket != nullptr; }
    std::uint64_t key() const { return bucket->keys[at]; }
    std::uint32_t& head() const { return bucket->heads[at]; }
    std::uint32_t& word() const { return bucket->words[at]; }
    bool has_list() const { return bucket->heads[at] < none; }
  };

  explicit OpenTable(HashSeed seed) : seed_(seed) { resize(0); }

  // Nothing where the key was never inserted.
  Slot find(std::uint64_t key) const {
    const std::uint64_t hash = hash_of(key);
    Bucket* bucket = &buckets_[bucket_of(hash)];
    const auto at = static_cast<std::uint32_t>(hash & 3);
    // The preferred place by itself first: this comparison is predicted, and what follows runs ahead.
    if (bucket->keys[at] == key) [[likely]]
      return {bucket, at};
    return find_elsewhere(bucket, key);
  }

  // The key's place, which it gets where it has none. The caller gives it a list at once.
  Slot insert(std::uint64_t key) {
    const Slot slot = find(key);
    return slot ? slot : insert_new(key);
  }

  // Where a list has got its first entry, or lost its last.
  void got_list() {
    if (++lists_ > most_lists_) most_lists_ = lists_;
  }
  void lost_list() { --lists_; }

  std::uint32_t slots() const { return buckets_count_ * 4; }
  std::uint32_t lists() const { return lists_; }
  std::size_t bytes() const { return buckets_count_ * sizeof(Bucket); }

  // To be called once in as many operations as there are slots: a table that is far larger than it has had
  // to be since the last call becomes smaller. True: it has.
  bool review();

  // All slots that have a list.
  template <class Visit>
  void for_each_list(Visit visit) {
    for (std::uint32_t i = 0; i < buckets_count_; ++i)
      for (std::uint32_t at = 0; at < 4; ++at)
        if (const Slot slot{&buckets_[i], at}; slot.has_list()) visit(slot);
  }
  // All keys go; it will have so many lists.
  void forget_all(std::uint32_t expected) {
    lists_ = most_lists_ = 0;
    resize(expected);
  }

 private:
  static constexpr std::uint32_t unused = 0xFFFFFFFF;             // no key has the place
  static constexpr std::uint64_t no_key = 0x8000000080000000ULL;  // neither source nor tag is negative but -1

  std::uint64_t hash_of(std::uint64_t key) const {
    const auto product = static_cast<unsigned __int128>(key ^ seed_.mixed_in) * seed_.factor;
    return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
  }
  std::uint32_t bucket_of(std::uint64_t hash) const {
    return static_cast<std::uint32_t>((hash >> 32) * buckets_count_ >> 32);
  }
  Bucket* after(Bucket* bucket) const {
    return bucket + 1 == buckets_.get() + buckets_count_ ? buckets_.get() : bucket + 1;
  }

  Slot find_elsewhere(Bucket* bucket, std::uint64_t key) const;
  Slot insert_new(std::uint64_t key);
  Slot place_for(std::uint64_t key);
  void resize(std::uint32_t lists);

  HashSeed seed_;
  std::unique_ptr<Bucket[]> buckets_;
  std::uint32_t buckets_count_ = 0;
  std::uint32_t used_ = 0;        // slots that have a key
  std::uint32_t lists_ = 0;       // those of them that have a list
  std::uint32_t most_lists_ = 0;  // at one time since the last review
};

}  // namespace unisono::matching
