// SPDX-License-Identifier: BSD-3-Clause
// What a job did: records of all communicators, merged over the ranks, written as JSON (docs/report.md) or as
// a short text.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "host/host.h"
#include "runtime/communicators/communicator.h"
#include "tuning/tables/leaning.h"

namespace unisono::runtime {

// What one rank has seen of calls that were decided alike.
struct Record {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  std::uint64_t checks = 0, mismatches = 0;
  CallTimes::Sum time;
  bool is_sampled = false;
  std::string parameters;  // "segment=65536 window=2"
  std::string reason, source;
  std::string layout;  // one of the communicators': "4x8"
  bool is_oversubscribed = false;
};

// A rank's time from MPI_Init on, and how much of it calls that do not block were under way.
struct RankTime {
  double wall_s = std::numeric_limits<double>::infinity();
  double under_way_s = 0;
};

class Records {
 public:
  // Adds what `communicator` has seen; once per communicator, when it is freed or the job ends.
  void absorb(const Communicator& communicator);
  void add_native(Operation operation, NativeReason reason, std::uint64_t calls);
  // What the starts of a persistent call are counted in that is left to the host: by decision, or before one.
  // The program may start it when its communicator is gone.
  std::shared_ptr<HostStarts> starts_of_host(const Communicator& c, Operation operation, int size_class,
                                             const tuning::Choice& choice);
  std::shared_ptr<HostStarts> starts_of_host(Operation operation, NativeReason reason);
  void absorb_starts();  // all that were made since the last time
  // Only one class of it, which begins anew. How many calls these are.
  std::uint64_t absorb(const Communicator& communicator, Operation operation, int size_class,
                       const CallClass& entry, CallForm form);
  // This rank's records as JSON text, and the merge of all ranks' texts (rank order): counts of the busiest
  // rank, time as maximum and mean. What is estimated does not make a rank's blocking calls take longer than
  // the rank ran.
  std::string to_text(const RankTime& rank_time = {}) const;
  static std::string merge(const std::vector<std::string>& texts);
  // Of that only what later jobs are told: what was learned (`learned_in` reads it), and which kept rules the
  // job went by (`leans_in`). Empty on most ranks.
  std::string learning_text() const;

 private:
  struct Key {
    std::string shape;
    int operation;
    int size_class;
    std::string algorithm;
    CallForm form;
    auto operator<=>(const Key&) const = default;
  };
  struct Seen {
    int id;
    std::string name, ppn;  // ranks per node: "8", or "3,5,8" where they differ; empty: not known
    int size, nodes;
    std::uint64_t calls;
  };
  CallTimes::Sum blocking_time() const;
  void describe(const Communicator& c, const tuning::Choice& choice, Record* record);
  void absorb_class(const Communicator& c, const Key& key, const CallClass& entry);
  std::uint64_t absorb_learned(const Communicator& c, Operation operation, int size_class,
                               const LearnedClass& learned);
  std::uint64_t absorb_classes(const Communicator& c, const ClassTable& table, Operation operation,
                               CallForm form);
  static constexpr std::size_t most_communicators = 64;  // listed by name; the records hold all
  std::vector<std::string> learned_;                     // JSON
  tuning::Leans leans_;                                  // one rank of a communicator tells them
  std::map<Key, Record> classes_;
  struct Left {
    Record record;
    std::shared_ptr<HostStarts> starts = std::make_shared<HostStarts>();
  };
  std::map<Key, Left> left_;
  std::map<std::pair<Operation, NativeReason>, std::shared_ptr<HostStarts>> left_for_;
  std::map<std::pair<int, std::string>, std::uint64_t> native_;  // operation, reason
  std::vector<Seen> communicators_;
};

// What the report says of the job as a whole; rank 0's.
struct JobFacts {
  std::string mpi, family, options;  // options: lines `key = value`
  int ranks = 1;
  double wall_s = 0;
  std::vector<std::string> node_names;  // one per node, with its number of ranks and usable cores beside it
  std::vector<int> node_ranks;
  std::vector<int> node_cores;
  std::string machine;  // what this machine's file has decided; empty: nothing
  std::vector<std::string> warnings, hints;
};

// Gathers every rank's records to rank 0 of `world` (collective).
std::vector<std::string> gather_texts(host::Host& host, host::Comm world, const std::string& text);
// On rank 0: to a file (written whole, then renamed), or "-": a summary on standard error. Empty, or what
// went wrong.
std::string write_report(const std::string& where, const JobFacts& facts,
                         const std::vector<std::string>& texts);

}  // namespace unisono::runtime
