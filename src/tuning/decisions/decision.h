// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm, and why. Choosers are asked in turn, the first answer that is legal wins; where none
// answers, the host MPI's own collective ("native") does the work. An answer depends only on what is equal on
// all ranks (docs/inside/architecture.md, "Agreement").
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/catalogue/descriptor.h"
#include "schedule/program.h"
#include "tuning/decisions/crash_records.h"

namespace unisono {
struct Options;
}

namespace unisono::tuning {

// Why agents make no call that blocks, as a clause behind their name.
inline constexpr const char* no_agents_there =
    "needs agents beside the job (option 'agents'), there are none";

struct Question {
  schedule::Problem problem;  // `rank` and `is_in_place` do not count
  int size_class = 0;
  bool has_shared_memory = false;
  bool has_single_copy = false;
  bool has_streams = false;  // all pairs of a node's ranks (shm::SliceShape)
  bool is_blocking = true;   // may the call wait inside?
  // One that does not block: may it be a fused operation that is begun and asked again? Persistent ones have
  // rings that are too short, and one order of joining needs a schedule.
  bool may_ask_again = true;
  // Why agents make no such call that blocks, as a clause; empty: they do.
  std::string why_no_agents = no_agents_there;
  bool may_send = true;  // may it use messages? (Aside of the program they need threads in the host.)
  bool is_oversubscribed = false;  // some node of it has more of the job's ranks than usable cores
  // Would the choice of a rule that is not for just this case be tested (A10)? Then what such a test has
  // found here before holds in its place.
  bool may_be_tested = false;
  bool forgets_learned = false;  // what would be chosen if nothing had been learned?

  std::string_view region;  // of the program, by its name; empty: none
  std::string mpi;          // the job's MPI (Host::library_name); empty: not known

  // Algorithms that were found wrong on this communicator; null: none.
  const std::set<const algorithms::Descriptor*>* quarantined = nullptr;
  // Those in which jobs before have died, and when; null: none.
  const LeftOut* left_out = nullptr;

  std::int64_t bytes() const;  // upper end of the class
  int largest_node() const;    // ranks on the fullest node
};

// "Open MPI 5", "Open MPI" and "Open MPI 5.0.11" name the MPI "Open MPI 5.0.11"; "Open MPI 5.0.1" does not.
bool names_mpi(std::string_view name, std::string_view mpi);

struct Rule;  // table.h
// A rule that jobs have kept, and the file that it is from. The Decider that the choice is from has it.
struct LeanedOn {
  const Rule* rule;
  const std::string* file;
  bool is_near = false;  // for neighbours of the calls, in size or layout
};

struct Choice {
  const algorithms::Descriptor* algorithm = nullptr;  // null: native
  algorithms::Parameters parameters;                  // complete: standards filled in
  std::string reason;                                 // for people: one clause
  // "forced", "application table", "learned", "site table", "rule", "native"
  std::string_view source = "native";
  bool is_exact = false;         // By a table, of just this layout and size class.
  bool is_tested = false;        // Exact, and by a test at the start of a job (A10).
  bool is_for_progress = false;  // Native, since what would have served the call needs_progress.
  bool is_asked_for = false;     // By a table, for just this case: who wrote it is told why it is refused.
  // Kept rules without which it would be another choice: those that decide, and all that would then
  // (leaning.h).
  std::vector<LeanedOn> leans_on = {};

  std::string_view name() const {
    return algorithm != nullptr ? std::string_view(algorithm->name) : "native";
  }
  // As users write it: "ring(segment=65536,window=2)".
  std::string text() const;
};

class Chooser {
 public:
  virtual ~Chooser() = default;
  // In order of preference; empty: no opinion. An answer may be illegal: the Decider checks.
  virtual std::vector<Choice> candidates(const Question& question) = 0;
};

// Would calls of this kind have been Unisono's, but for what its messages need to go on (why_not_taken)?
inline constexpr std::string_view needs_progress =
    "sends messages, which go on while the program is elsewhere only with MPI_THREAD_MULTIPLE (or --progress "
    "everywhere), and on communicators that have made a blocking or persistent call";

// Do calls of this kind get tests at the start of a job (A10), by the options, where a table's rule is not
// for just their case?
bool may_be_tested(const Options& options, Operation operation, bool is_blocking, bool is_reproducible);

// Why the choice may not be taken, as a clause ("needs several nodes, there is 1"); empty: it may.
std::string why_not_taken(const Choice& choice, const Question& question);

// What a chooser offered; `why_not` says why it may not be taken, empty: it may.
struct Considered {
  Choice choice;
  std::string why_not;
};

class Decider {
 public:
  void add(std::unique_ptr<Chooser> chooser) { choosers_.push_back(std::move(chooser)); }
  // Is asked before all others, in place of the one given before.
  void set_forced(std::unique_ptr<Chooser> chooser) { forced_ = std::move(chooser); }
  Choice decide(const Question& question);
  // All that would be taken in turn, if what stands before were refused; decide() takes the first that may
  // be.
  std::vector<Considered> consider(const Question& question) const;
  // What was refused, and why; emptied by the call.
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

 private:
  std::vector<Chooser*> in_order() const;

  std::unique_ptr<Chooser> forced_;
  std::vector<std::unique_ptr<Chooser>> choosers_;
  std::vector<std::string> warnings_;
  std::set<std::string> refusals_;
};

// The user's own choice, from option `algorithm`. Unknown names and unreadable text are reported in
// `warnings`.
std::unique_ptr<Chooser> make_forced(std::string_view text, std::vector<std::string>* warnings);
// Built-in rules by layout and size class.
std::unique_ptr<Chooser> make_rules();

}  // namespace unisono::tuning
