// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a fake world share. One mutex guards all of it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "fake_host/fake_host.h"

namespace unisono::fake_host {

// A collective that does not block: all bring bytes, and take all of them when everybody has come.
struct Gathering {
  std::vector<std::vector<char>> brought;
  int arrived = 0;
};

// A request slot of one rank; its handle is the index plus one.
struct Slot {
  enum class Kind { free, send, recv, gathering };
  Kind kind = Kind::free;
  int peer = 0;  // world rank
  int tag = 0;
  host::Comm comm{};
  std::size_t bytes = 0;
  const void* source = nullptr;
  void* target = nullptr;
  bool is_matched = false;
  bool is_done = false;
  int delay = 0;  // calls until a finished request is shown as such
  int error = host::success;
  std::shared_ptr<Gathering> gathering;
};

// A message on its way: unexpected at its destination until it is matched.
struct Message {
  int source = 0;  // world ranks
  int destination = 0;
  int tag = 0;
  host::Comm comm{};
  std::size_t bytes = 0;
  std::vector<char> buffered;  // eager: a copy of the data
  bool is_eager = false;
  std::size_t send_slot = 0;
  std::size_t recv_slot = 0;  // once matched
  int delay = 0;
};

struct RankState {
  std::vector<Slot> slots;
  std::vector<std::size_t> free_slots;
  std::deque<Message> unexpected;  // arrived here, in order
  std::deque<std::size_t> posted;  // receives not matched yet, in order
  std::deque<Message> moving;      // matched; this rank's progress moves the data
  std::mt19937_64 random;
  std::uint64_t idle_at = ~std::uint64_t{0};  // activity count at the last call that changed nothing
  bool is_finished = true;
  const char* blocked_in = nullptr;  // a collective
  int isends = 0;
};

struct CommState {
  std::vector<int> members;  // comm rank -> world rank
  std::vector<int> rank_of;  // world rank -> comm rank or no_rank
  int freed = 0;
  std::map<int, std::string> names;  // by world rank, as the others
  std::map<int, host::Hint> hints;
  std::set<int> ordered_persistent;  // of whose ranks
  bool has_hints = false;
  std::map<int, host::TopologyNeighbors> neighbors;
  std::map<int, bool> inter;
  std::map<int, std::vector<std::pair<void (*)(void*), void*>>> callbacks;
  // The meeting of a collective: all bring bytes, all take all bytes.
  std::uint64_t meeting = 0;
  int arrived = 0;
  std::vector<std::vector<char>> brought;
  std::shared_ptr<const std::vector<std::vector<char>>> result;
  // By communicator rank: the collectives that it has begun. All begin the same ones in the same order; of
  // those that do not block the unfinished ones are kept by their place in it.
  std::vector<std::uint64_t> begun;
  std::map<std::uint64_t, std::shared_ptr<Gathering>> gatherings;
  std::uint64_t meeting_place = 0;
};

struct TypeState {
  std::vector<Segment> segments;
  std::size_t size_bytes = 0;
  std::ptrdiff_t extent_bytes = 0;
  ElementType element = ElementType::derived;
};

struct OpState {
  ReduceOp which = ReduceOp::host;
  bool is_commutative = true;
  UserFunction function;
};

struct State {
  State(int size, const Options& options);

  int size;
  Options options;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t activity = 0;
  std::vector<RankState> ranks;
  std::map<host::Comm, CommState> comms;
  std::uintptr_t next_comm = 1;
  std::map<std::tuple<host::Comm, std::uint64_t, int>, host::Comm>
      splits;  // parent, meeting, color -> created
  std::vector<TypeState> types;
  std::vector<OpState> ops;
  std::string stop_reason;  // not empty: every call throws Stopped

  // All of these are called with the mutex held.
  host::Comm add_comm(const std::vector<int>& members);
  CommState& comm(host::Comm which);
  void check_stopped() const;
  void note_activity();
  int draw_delay(int rank);
  std::size_t take_slot(int rank);
  // Brings the rank's part of the communicator's next collective.
  std::shared_ptr<Gathering> join_gathering(int rank, CommState* group, const void* data, std::size_t bytes);
  bool take_gathered(Slot* slot);  // true when it is over
  void match_recv(int rank, std::size_t slot);
  void deliver(Message&& message);
  void start_moving(Message&& message);
  bool advance(int rank);  // moves data, counts delays down; did anything change?
  std::string describe(bool only_leftovers) const;
};

// Fills the tables with MPI's predefined datatypes and operators.
void add_predefined(State* state);

}  // namespace unisono::fake_host
