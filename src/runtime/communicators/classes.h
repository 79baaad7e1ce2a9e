// SPDX-License-Identifier: BSD-3-Clause
// Classes of calls: what was decided for one, and what was seen of it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/types.h"
#include "runtime/call/call_times.h"
#include "schedule/executor.h"
#include "tuning/decisions/decision.h"
#include "tuning/decisions/size_class.h"

namespace unisono::runtime {

struct LearnedClass;

enum class CallForm : std::uint8_t { blocking, non_blocking, persistent };

// The schedule that a class used last. The schedules' cache holds it, and those for other roots.
struct LastCompiled {
  std::shared_ptr<const schedule::Compiled> compiled;
  int root = -1;
  bool is_in_place = false;
  std::shared_ptr<const schedule::Compiled> header;  // of an algorithm that has one
  int header_root = -1;
};

// A class that is tested at one of its first calls (A10), or learned from then on.
struct FirstTest {
  bool is_to_come = false;
  std::uint32_t first_call = 64;  // the first one at which it may be
};

// One class of calls: operation x size class x commutative or not. Counts and times are this rank's.
struct CallClass {
  enum class Kind : std::uint8_t { undecided, native, fused, scheduled, learned, by_agents };
  Kind kind = Kind::undecided;
  std::uint32_t sample_mask = 0;  // a call is timed when (calls & sample_mask) == 0
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  std::uint64_t checks = 0, mismatches = 0;  // with option verify: compared with the MPI, and found wrong
  CallTimes times;
  std::unique_ptr<tuning::Choice> choice;
  LastCompiled last;
  // Kind learned: the classes of the candidates, one of which serves a call; and, in those, where they
  // belong.
  std::shared_ptr<LearnedClass> learned;
  LearnedClass* learner = nullptr;
  FirstTest test;
  // Calls that do not block, with option verify: all that were started, by whose number some are checked.
  // `stand_in` runs where the algorithm was found wrong, until a blocking collective lets all decide anew. Of
  // blocking calls that agents make it runs those that they do not serve.
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
    return test.is_to_come && calls >= test.first_call && (calls & (calls - 1)) == 0;
  }
};

// All size classes of one operation, [is_commutative][size class].
using ClassTable = std::array<std::array<CallClass, tuning::size_class_count>, 2>;

using OperationTables = std::array<std::unique_ptr<ClassTable>, operation_count>;

}  // namespace unisono::runtime
