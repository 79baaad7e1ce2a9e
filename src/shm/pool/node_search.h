// SPDX-License-Identifier: BSD-3-Clause
// Finds out which ranks share a node: those that have mapped one and the same segment. Names of hosts prove
// nothing (containers, equal names, /dev/shm that is not shared).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/host.h"
#include "shm/pool/allocator.h"
#include "shm/pool/board.h"
#include "shm/pool/cores.h"
#include "shm/pool/identity.h"
#include "shm/pool/members.h"
#include "shm/pool/node_domains.h"
#include "shm/pool/segment.h"

namespace unisono::shm {

// The beginning of the segment.
struct PoolHeader {
  std::atomic<std::uint64_t> nonce;
  std::atomic<std::uint32_t> joined;                                   // ranks that have it mapped
  std::array<std::atomic<std::uint64_t>, sizeof(CoreMask) / 8> cores;  // union of their affinity masks
  // Windows of the segment: how many are wanted beside the first, and how many ranks have each mapped.
  std::atomic<std::uint32_t> wanted_windows;
  std::array<std::atomic<std::uint32_t>, Segment::most_windows> mapped;
  ToldParts hardware;
  AllocatorState allocator;
  Members members;
  Board board;
};

class NodeSearch {
 public:
  // Collective over `comm`; `identities` of all ranks.
  NodeSearch(host::Host& host, host::Comm comm, const std::vector<Identity>& identities,
             std::size_t capacity_bytes);
  void run(bool use_memfd);

  // The same on all ranks: rank -> label (a rank of the same node), every rank its own where nothing is
  // shared.
  std::vector<int> labels() const;
  // Null where this rank shares with nobody.
  std::unique_ptr<Segment> take_segment() { return std::move(segment_); }
  // Why this rank shares with nobody although there were candidates.
  const std::string& why_alone() const { return why_alone_; }

 private:
  static constexpr int none = -1;
  static constexpr std::uint32_t not_joined = UINT32_MAX;
  // What a rank that leads says about its segment.
  struct Offer {
    std::int32_t descriptor = none;
    std::int32_t error = 0;
    std::array<char, 160> why{};  // whole: no message of Segment::create() is longer
  };

  void attempt(SegmentKind kind, const std::vector<std::uint64_t>& keys);
  std::vector<int> choose_leaders(const std::vector<std::uint64_t>& keys) const;
  Offer create(SegmentKind kind);
  bool join(SegmentKind kind, int leader, const Offer& offer);
  void settle(const std::vector<int>& leaders, const std::vector<Offer>& offers, bool has_joined);
  std::vector<std::uint64_t> process_keys() const;
  std::vector<std::uint64_t> file_system_keys(bool only_across_namespaces) const;

  host::Host& host_;
  host::Comm comm_;
  const std::vector<Identity>& identities_;
  std::size_t capacity_bytes_;
  std::size_t rank_;
  std::vector<int> label_;         // none: not found yet
  std::vector<bool> cannot_lead_;  // in this attempt
  std::unique_ptr<Segment> segment_;
  std::uint32_t entered_as_ = not_joined;  // this rank's number in segment_
  std::string why_alone_;
};

}  // namespace unisono::shm
