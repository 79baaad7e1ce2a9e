// SPDX-License-Identifier: BSD-3-Clause
// What Unisono keeps for one communicator, from its first collective until the program frees it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/types.h"
#include "host/host.h"
#include "patterns/layout.h"
#include "runtime/call/native_reason.h"
#include "runtime/communicators/agent_share.h"
#include "runtime/communicators/classes.h"
#include "runtime/communicators/memos.h"
#include "runtime/judging/verification.h"
#include "runtime/packing/blocks.h"
#include "runtime/packing/neighbor_blocks.h"
#include "runtime/packing/neighborhood_state.h"
#include "runtime/world/peers.h"
#include "schedule/cache.h"
#include "schedule/executor.h"
#include "shm/pool/pool.h"
#include "shm/slice/slice.h"
#include "tuning/decisions/decision.h"
#include "tuning/decisions/size_class.h"
#include "tuning/learning/learner.h"
#include "tuning/learning/region_log.h"

namespace unisono::runtime {

// What a call works in, kept from one to the next: a repeated call allocates nothing.
struct Workspace {
  schedule::Executor executor;
  shm::Slice* slice = nullptr;                    // Of a call that does not block, in the node's memory.
  std::vector<char> packed_input, packed_output;  // Of derived datatypes.
  BlockTransfer blocks;                           // Uneven ones.
  NeighborBlocks neighbors;                       // Those of neighbours.
  std::vector<char> joined;                       // Of those the ones for one rank, side by side.
  std::vector<std::int64_t> told;                 // What ranks tell each other of them.
  std::vector<std::int64_t> refused;              // Numbers of those that the kernel copied not.

  UnevenMemory memory_of(Operation operation) const {
    return is_neighborhood(operation) ? neighbors.memory() : blocks.memory();
  }
};

struct CallQueue;
struct PersistentPlace;
struct SetUpAside;
struct SliceOffer;

// Calls that were the host's: for the reason that the communicator has, and before it was set up (option
// set_up_after), where they count for something.
struct LeftToHost {
  std::uint64_t calls[operation_count] = {};
  std::uint64_t early_calls[operation_count] = {};
  std::int64_t early_weight = 0;
};

// What this rank shares with those of its node.
struct NodeShare {
  std::unique_ptr<Peers> peers;  // those that share memory with this rank; null: nobody does
  shm::WaitConfig wait;
  // The slice's place in the node's pool, -1 without one. The last local rank to leave gives it back.
  shm::Pool* pool = nullptr;
  std::int64_t slice_offset = -1;
  std::unique_ptr<shm::Slice> slice;
  // Of calls that do not block; null: `slice` serves them, as long as the pool has no room.
  std::unique_ptr<shm::Slice> started_slice;
  // Between nodes, of calls that do not block, and of those that do: neither waits for the other. Null: no
  // agents serve them.
  std::unique_ptr<AgentShare> agents, blocking_agents;
  // The graph, as far as these ranks go; null: no collective of neighbours was called.
  std::unique_ptr<NeighborhoodState> neighborhood;
};

// Persistent calls that all ranks start in one order (info key; null: none was made yet), and starts of those
// that have places of their own.
struct PersistentShare {
  std::shared_ptr<PersistentPlace> ordered;
  std::shared_ptr<std::atomic<std::uint64_t>> starts;
};

// Option verify: one call in so many of a class is checked, 0: none. What was found wrong by all ranks.
struct Checking {
  std::uint64_t interval = 0, calls = 0;
  std::set<const algorithms::Descriptor*> quarantined;
  std::unique_ptr<Verification> verification;  // of the call that the host is making for comparison
  CallClass* entry = nullptr;
};

// Learning (docs/guide/learning.md): the regions of the program, the classes of calls in them, what trials
// may cost, and the schedules by which ranks agree on numbers and begin together.
struct LearningShare {
  tuning::RegionLog regions;
  std::map<std::uint64_t, OperationTables> region_classes;
  tuning::Budget budget;
  std::shared_ptr<const schedule::Compiled> agreeing, aligning;
};

struct Communicator {
  Communicator();
  ~Communicator();

  // A number stands for two ranges of tags on the private world: of blocking calls, and of others.
  static constexpr std::int64_t tags_of_number = 2 * schedule::tag_count;
  static int numbers_within(std::int64_t largest_tag) {
    return static_cast<int>((largest_tag + 1) / tags_of_number);
  }
  int first_tag() const { return static_cast<int>(id * tags_of_number); }
  int first_tag_of_started() const { return first_tag() + schedule::tag_count; }

  host::Comm handle{};
  // Has the program freed the handle? (Persistent calls live on.) It may be another communicator's by now.
  std::atomic<bool> is_freed{false};
  std::uint64_t token = 0;  // what the free callback carries
  int id = -1;              // agreed; gives the tags. -1: there are none, and no messages
  int rank = 0;
  int size = 1;
  std::string name;
  // Set where every call goes to the host: for the communicator's life, but for few_calls, which blocking
  // ones end; `aside` says what becomes of the others.
  NativeReason native_reason = NativeReason::none;
  LeftToHost left;
  std::unique_ptr<SetUpAside> aside;  // begun by calls that do not block; null: none was

  std::shared_ptr<const patterns::Layout> layout;
  std::vector<int> rank_in_world;  // rank -> rank in the private world
  bool has_single_copy = false;
  bool is_oversubscribed = false;
  bool is_reproducible = false;  // agreed: option or info key
  NodeShare node;

  std::uint64_t calls = 0;  // blocking ones, as far as Unisono may take them
  OperationTables classes;
  std::unique_ptr<CallQueue> queue;  // non-blocking calls
  PersistentShare persistent;
  Memos memos;
  std::unique_ptr<schedule::Cache> cache;
  Workspace work;  // of blocking calls

  Checking checking;
  LearningShare learning;

  // Of this rank's node, in the order of the ranks; and its own place among them.
  const std::vector<int>& local_ranks() const {
    return layout->ranks_of[static_cast<std::size_t>(layout->node_of[static_cast<std::size_t>(rank)])];
  }
  int local_rank() const { return layout->local_rank_of[static_cast<std::size_t>(rank)]; }

  BlockMemo& block_memo(Operation operation) { return memos.blocks[static_cast<std::size_t>(operation)]; }
  const BlockMemo& block_memo(Operation operation) const {
    return memos.blocks[static_cast<std::size_t>(operation)];
  }
  void forget_calls(Operation operation) {
    memos.calls[static_cast<int>(operation)] = {};
    if (has_uneven_blocks(operation)) block_memo(operation) = {};
  }

  OperationTables& tables_of(std::uint64_t region) {
    return region == 0 ? classes : learning.region_classes[region];
  }
  CallClass& call_class(Operation operation, bool is_commutative, std::int64_t bytes,
                        std::uint64_t region = 0) {
    return call_class(&tables_of(region)[static_cast<std::size_t>(operation)], is_commutative, bytes);
  }
  static CallClass& call_class(std::unique_ptr<ClassTable>* table, bool is_commutative, std::int64_t bytes) {
    if (*table == nullptr) [[unlikely]]
      *table = std::make_unique<ClassTable>();
    return (**table)[is_commutative][tuning::size_class(bytes)];
  }
};

}  // namespace unisono::runtime
