// SPDX-License-Identifier: BSD-3-Clause
// What a job has learned on one communicator, for those alike that begin to learn after it. What ranks know
// of it differs, since each is in communicators of its own: one of a communicator's ranks tells the others.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "shm/pool/board.h"
#include "tuning/decisions/candidates.h"

namespace unisono::tuning {

// Of calls, on communicators of a shape: what rules of tables are matched by, and what reductions promise.
// That an algorithm may serve on one of them and not on another makes no other kind of it.
struct Kind {
  Operation operation = Operation::barrier;
  int size_class = 0;
  int ranks = 1, nodes = 1, largest_node = 1;
  bool is_consecutive = true;
  bool is_commutative = true, is_reproducible = false;
  bool is_oversubscribed = false;
  bool has_shared_memory = false;
  std::string region;

  auto operator<=>(const Kind&) const = default;
};
Kind kind_of(const Question& question);

// Stands for an algorithm, as users write it, with its parameters. Never 0.
std::uint64_t digest_of(const std::string& algorithm);

// What was found out of one kind.
struct Finding {
  struct Measured {
    std::uint64_t algorithm = 0;  // its digest
    double time_s = 0, uncertainty = 0;
  };
  std::vector<Measured> measured;
  std::uint64_t chosen = 0;
};

// This rank's, and what ranks of its node have told of communicators that it is not in. Threads may ask at
// the same time.
class Findings {
 public:
  // The node's, until leave_board(); null: nobody tells anything.
  void use_board(shm::Board* board);
  void leave_board() { use_board(nullptr); }
  // A communicator begins to find out something, and may as long as it keeps what this returns.
  std::shared_ptr<const Kind> begin(const Kind& kind);
  bool is_being_learned(const Kind& kind) const;
  // `is_told`: to the node as well, which one rank of a communicator does on each.
  void keep(const Kind& kind, Finding finding, bool is_told = false);
  std::optional<Finding> find(const Kind& kind) const;

 private:
  // What is kept of a beginning may live longer than the board.
  struct Shared {
    Mutex mutex;
    shm::Board* board UNISONO_GUARDED_BY(mutex) UNISONO_PT_GUARDED_BY(mutex) = nullptr;
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  mutable Mutex mutex_;
  struct Known {
    std::optional<Finding> finding;
    std::weak_ptr<const Kind> learner;  // the last one that began
  };
  std::map<Kind, Known> by_kind_ UNISONO_GUARDED_BY(mutex_);
};

// What the rank that tells gives to an agreement on the least of each number, and what all others give; the
// candidates are the same on all of them.
std::vector<std::uint64_t> numbers_to_tell(const Finding* finding, const CandidateList& list);
// What was agreed on becomes what is known of the candidates.
void take_told(const std::vector<std::uint64_t>& numbers, CandidateList* list);

}  // namespace unisono::tuning
