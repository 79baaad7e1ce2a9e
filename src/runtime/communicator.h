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
#include "runtime/blocks.h"
#include "runtime/call_times.h"
#include "runtime/native_reason.h"
#include "runtime/peers.h"
#include "runtime/runtime.h"
#include "runtime/verification.h"
#include "schedule/cache.h"
#include "schedule/executor.h"
#include "shm/pool/pool.h"
#include "shm/slice/slice.h"
#include "tuning/decisions/decision.h"
#include "tuning/decisions/size_class.h"
#include "tuning/learning/learner.h"
#include "tuning/learning/region_log.h"

namespace unisono::runtime {

struct LearnedClass;

enum class CallForm : std::uint8_t { blocking, non_blocking, persistent };

// One class of calls: operation x size class x commutative or not. Counts and times are this rank's.
struct CallClass {
  enum class Kind : std::uint8_t { undecided, native, fused, scheduled, learned };
  Kind kind = Kind::undecided;
  std::uint32_t sample_mask = 0;  // a call is timed when (calls & sample_mask) == 0
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  std::uint64_t checks = 0, mismatches = 0;  // with option verify: compared with the MPI, and found wrong
  CallTimes times;
  std::unique_ptr<tuning::Choice> choice;
  // The schedule used last (the cache holds it and those for other roots).
  std::shared_ptr<const schedule::Compiled> compiled;
  int compiled_root = -1;
  bool is_compiled_in_place = false;
  std::shared_ptr<const schedule::Compiled> header;  // of an algorithm that has one
  int header_root = -1;
  // Kind learned: the classes of the candidates, one of which serves a call; and, in those, where they
  // belong.
  std::shared_ptr<LearnedClass> learned;
  LearnedClass* learner = nullptr;
  bool is_to_be_tested = false;   // at one of its first calls (A10); or learned from then on
  std::uint32_t first_test = 64;  // the first call at which it may be
  // Calls that do not block, with option verify: all that were started, by whose number some are checked; and
  // what runs instead where the algorithm was found wrong, until a blocking collective lets all decide anew.
  std::uint64_t starts = 0;
  std::unique_ptr<CallClass> stand_in;
  int plain_looks = 0;  // so many timed calls change nothing, and take the short way

  bool is_next_timed() const { return (calls & sample_mask) == 0; }
  // Timed, and something may follow from it: the ranks agree, or another candidate comes, or a test.
  bool is_next_to_be_looked_at() const {
    return is_next_timed() && ((learner != nullptr && plain_looks == 0) || is_next_test_due());
  }
  // Less and less often: ranks agree at each of these whether the job has run for long enough. They are timed
  // on all ranks.
  bool is_next_test_due() const {
    return is_to_be_tested && calls >= first_test && (calls & (calls - 1)) == 0;
  }
};

// All size classes of one operation, [is_commutative][size class].
using ClassTable = std::array<std::array<CallClass, tuning::size_class_count>, 2>;

using OperationTables = std::array<std::unique_ptr<ClassTable>, operation_count>;

// What a fused operation moves: a vector or a block, and for reductions how it is joined.
struct FusedSize {
  std::size_t elements = 0;
  std::size_t bytes = 0;
  shm::Combine combine;
};

// A call of one operation, of a predefined type and an operator with a kernel: one with the same arguments
// needs no second look at them. A small collective takes as long as two cache misses; looking everything up
// takes as long again.
struct CallMemo {
  CallClass* entry = nullptr;
  bool is_of_all = false;  // every call of the operation: its arguments do not count
  std::size_t send_count = 0, recv_count = 0;
  host::Datatype send_type{}, recv_type{};
  host::Op op{};
  FusedSize size;
  // Of scheduled calls:
  std::size_t element_bytes = 1;
  bool is_commutative = true;

  bool holds(const Call& call) const {
    return entry != nullptr &&
           (is_of_all || (send_count == call.send_count && send_type == call.send_type && op == call.op &&
                          recv_count == call.recv_count && recv_type == call.recv_type));
  }
  // A call that the host made, and one of a reduction that is like it.
  bool is_left(const Reduced& reduced) const {
    return entry != nullptr && entry->kind == CallClass::Kind::native && send_count == reduced.count &&
           send_type == reduced.type && op == reduced.op;
  }
};

// The same for fused calls on uneven blocks of types without gaps; counts and places differ from call to
// call.
struct BlockMemo {
  CallClass* entry = nullptr;
  int size_class = 0;
  host::Datatype send_type{}, recv_type{};
  std::size_t send_bytes = 0, recv_bytes = 0;  // of an element
  int lines = 1;                               // of a block
};

// Of one operation, the last call that was fused or left to the host, and the last one that was scheduled: a
// program's small and large calls do not drive out each other.
struct CallMemos {
  CallMemo quick, scheduled;
};

// What a call works in, kept from one to the next: a repeated call allocates nothing.
struct Workspace {
  schedule::Executor executor;
  std::vector<char> packed_input, packed_output;  // derived datatypes
  BlockTransfer blocks;                           // uneven ones
  std::vector<std::int64_t> told;                 // what ranks tell each other of them
  std::vector<std::int64_t> refused;              // numbers of those that the kernel copied not
};

struct CallQueue;
struct PersistentPlace;
struct SetUpAside;
struct SliceOffer;

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
  std::uint64_t native_calls[operation_count] = {};
  // Before it was set up (option set_up_after): calls, and what they count for.
  std::uint64_t early_calls[operation_count] = {};
  std::int64_t early_weight = 0;
  std::unique_ptr<SetUpAside> aside;  // begun by calls that do not block; null: none was

  std::shared_ptr<const patterns::Layout> layout;
  std::vector<int> rank_in_world;  // rank -> rank in the private world
  bool has_single_copy = false;
  bool is_oversubscribed = false;
  bool is_reproducible = false;  // agreed: option or info key
  std::unique_ptr<Peers> peers;  // those that share memory with this rank; null: nobody does
  shm::WaitConfig wait;

  // The slice's place in the node's pool, -1 without one. The last local rank to leave gives it back.
  shm::Pool* pool = nullptr;
  std::int64_t slice_offset = -1;
  std::unique_ptr<shm::Slice> slice;
  // Of calls that do not block, from the first one on; null: the pool had no room, and `slice` serves them.
  std::unique_ptr<shm::Slice> started_slice;

  std::uint64_t calls = 0;  // blocking ones, as far as Unisono may take them
  OperationTables classes;
  std::unique_ptr<CallQueue> queue;  // non-blocking calls
  // Of persistent calls that all ranks start in one order (info key); null: none was made yet.
  std::shared_ptr<PersistentPlace> ordered;
  // Starts of persistent calls, which places of their own make.
  std::shared_ptr<std::atomic<std::uint64_t>> persistent_starts;
  CallMemos memos[operation_count];
  BlockMemo block_memos[operation_count];  // of operations on uneven blocks
  std::unique_ptr<schedule::Cache> cache;
  Workspace work;  // of blocking calls

  // Option verify: one call in so many of a class is checked, 0: none. What was found wrong by all ranks.
  std::uint64_t verify_interval = 0, verified_calls = 0;
  std::set<const algorithms::Descriptor*> quarantined;
  std::unique_ptr<Verification> verification;  // of the call that the host is making for comparison
  CallClass* verified_class = nullptr;

  // Learning (docs/learning.md): the regions of the program, the classes of calls in them, what trials may
  // cost, and the schedules by which ranks agree on numbers and begin together.
  tuning::RegionLog regions;
  std::map<std::uint64_t, OperationTables> region_classes;
  tuning::Budget budget;
  std::shared_ptr<const schedule::Compiled> agreeing, aligning;

  BlockMemo& block_memo(Operation operation) { return block_memos[static_cast<std::size_t>(operation)]; }
  const BlockMemo& block_memo(Operation operation) const {
    return block_memos[static_cast<std::size_t>(operation)];
  }
  void forget_calls(Operation operation) {
    memos[static_cast<int>(operation)] = {};
    if (has_uneven_blocks(operation)) block_memo(operation) = {};
  }

  OperationTables& tables_of(std::uint64_t region) { return region == 0 ? classes : region_classes[region]; }
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
