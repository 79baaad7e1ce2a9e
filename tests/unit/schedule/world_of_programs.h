// SPDX-License-Identifier: BSD-3-Clause
// Runs one program per rank over the fake host, with a slice per node where the layout asks for it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <vector>

#include "fake_host/fake_host.h"
#include "patterns/layout.h"
#include "proof/check_graph.h"
#include "schedule/executor.h"
#include "shm/slice/slice.h"

namespace unisono::schedule {

using Values = std::vector<std::int64_t>;
using Build = std::function<Program(const Problem&)>;

// An operator that tells whether operands came in the order of ranks: a value is a run of ranks
// [first, last], joined only where one run follows the other.
inline std::int64_t run_of(int first, int last) {
  return static_cast<std::int64_t>(first) << 32 | last;
}
inline void join_runs(const void*, void* into, const void* left, const void* right, std::size_t count) {
  const auto* l = static_cast<const std::int64_t*>(left);
  const auto* r = static_cast<const std::int64_t*>(right);
  auto* out = static_cast<std::int64_t*>(into);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_next = (l[i] & 0xffffffff) + 1 == r[i] >> 32;
    out[i] = is_next ? run_of(static_cast<int>(l[i] >> 32), static_cast<int>(r[i] & 0xffffffff)) : -1;
  }
}
inline void add_values(const void*, void* into, const void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    static_cast<std::int64_t*>(into)[i] =
        static_cast<const std::int64_t*>(left)[i] + static_cast<const std::int64_t*>(right)[i];
  }
}

struct FreeAligned {
  void operator()(char* memory) const { ::operator delete (memory, std::align_val_t{4096}); }
};

// The slices' memory of every node of a layout.
class Nodes {
 public:
  Nodes(const patterns::Layout& layout, std::size_t area_bytes,
        shm::WaitPolicy policy = shm::WaitPolicy::yield)
      : layout_(layout), policy_(policy) {
    for (int node = 0; node < layout.nodes(); ++node) {
      shm::SliceShape shape{.local_size = static_cast<int>(layout.ranks_of[node].size()),
                            .area_bytes = area_bytes,
                            .ring_lines = 1024};
      shapes_.push_back(shape);
      memory_.emplace_back(static_cast<char*>(::operator new (shape.bytes(), std::align_val_t{4096})));
      std::memset(memory_.back().get(), 0, shape.bytes());
    }
  }
  // `process_ids`: of the node's ranks.
  std::unique_ptr<shm::Slice> slice(host::Host& host, int rank, const std::vector<int>& process_ids) const {
    const int node = layout_.node_of[rank];
    const shm::WaitConfig wait{
        .policy = policy_,
        .progress = {[](void* host) { static_cast<host::Host*>(host)->progress(); }, &host}};
    return std::make_unique<shm::Slice>(memory_[node].get(), shapes_[node], layout_.local_rank_of[rank], wait,
                                        process_ids.data());
  }

 private:
  const patterns::Layout& layout_;
  shm::WaitPolicy policy_;
  std::vector<shm::SliceShape> shapes_;
  std::vector<std::unique_ptr<char, FreeAligned>> memory_;
};

// One call of one rank: the problem has its rank; fill() sets the buffers before, check() looks at them
// after.
struct Call {
  Operation operation = Operation::bcast;
  int root = 0;
  bool is_in_place = false;
  bool is_commutative = true;
  std::int64_t elements = 0;
  int pattern = 0;                                             // uneven blocks: which lengths (block_length)
  std::shared_ptr<const proof::CheckedGraph> graph = nullptr;  // of neighbours
  Build build;
  shm::Combine combine{.call = add_values, .element_bytes = sizeof(std::int64_t)};
  std::function<void(int rank, Values* input, Values* output)> fill;
  std::function<void(int rank, const Values& output)> check;
};

struct Ranks {
  int size = 1;
  fake_host::Options host{};
  patterns::Layout layout{};  // empty: no slices
  std::size_t area_bytes = 4096;
  shm::WaitPolicy policy = shm::WaitPolicy::yield;
  std::uint32_t* rings = nullptr;  // where to say how often the first node's ranks have woken each other
  std::size_t refused = 0;         // of whose memory the kernel copies nothing: a node's first ranks, so many
};

inline Ranks on(const patterns::Layout& layout, const fake_host::Options& host = {},
                std::size_t area_bytes = 4096) {
  Ranks ranks;
  ranks.size = layout.size();
  ranks.host = host;
  ranks.layout = layout;
  ranks.area_bytes = area_bytes;
  return ranks;
}

// All calls one after the other on all ranks, with nothing between them that would keep ranks together. An
// empty output is given as null.
void run_calls(const Ranks& ranks, const std::vector<Call>& calls);

}  // namespace unisono::schedule
