// SPDX-License-Identifier: BSD-3-Clause
// Compiles programs to flat steps with predecessors, and runs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "host/host.h"
#include "schedule/program.h"
#include "schedule/ranges.h"
#include "shm/slice/slice.h"

namespace unisono::schedule {

// A program of one rank, ready to run any number of times with any count. Immutable after compile();
// size_bytes() counts against the cache's bound.
class Compiled;
std::shared_ptr<const Compiled> compile(const Problem& problem, const Program& program);
std::size_t size_bytes(const Compiled& compiled);
// Does a step name several uneven blocks at once in input, or output?
bool has_runs(const Compiled& compiled, Place place);
// Does it call the host for messages?
bool has_messages(const Compiled& compiled);

// Maps the shared memory that the next `calls` of so many bytes (of an even block) write, where the
// `calls_before` of the same kind have not. The calls would otherwise map it page by page. Local.
void touch_slots(const Compiled& compiled, const shm::Slice& slice, std::int64_t bytes,
                 std::int64_t calls_before, std::int64_t calls);

// Where a schedule runs.
struct Ground {
  host::Host* host = nullptr;
  host::Comm comm{};                      // the private world
  const int* rank_in_comm = nullptr;      // communicator's rank -> rank in `comm`
  int tag_base = 0;                       // tags [tag_base, tag_base + tag_count) belong to this communicator
  shm::Slice* slice = nullptr;            // null where the program has no node steps
  const shm::WaitConfig* wait = nullptr;  // how to wait for messages; null: as the slice does
  shm::ProgressHook others{};             // what else must go on while this waits for messages
};
inline constexpr int tag_count = 1 << 12;

// What a schedule works on in one call.
struct Data {
  const void* input = nullptr;
  void* output = nullptr;     // null where it is not significant: the executor backs it with scratch memory
                              // where the program writes to it
  std::int64_t elements = 0;  // N of the unit
  std::size_t element_bytes = 1;
  shm::Combine combine;  // reductions
  // Operations on uneven blocks: `elements` is the length of the longest one, and
  Lengths lengths{};      // of this rank's blocks, by number; those that it does not know of are empty
  std::int64_t most = 0;  // as in Units
  // Where single blocks stand in input and output, elements, by number (the first one's entry first); null:
  // side by side in the order of their numbers. Only for programs that name no runs there.
  const std::int64_t* input_places = nullptr;
  const std::int64_t* output_places = nullptr;
};

// Runs schedules, one at a time. Memory is kept between calls, so that a repeated call allocates nothing.
class Executor {
 public:
  Executor();
  ~Executor();

  // Blocking. Returns host::success or the host's error code. After an error no further step is started, and
  // messages under way are given some time to end.
  int run(const Compiled& compiled, const Ground& ground, const Data& data);

  // The same in parts: start, then poll until it returns true, then finish for the error code. What compiled,
  // ground and data point to must stay. poll never waits, but for fused steps.
  void start(const Compiled& compiled, const Ground& ground, const Data& data);
  bool poll();
  int finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace unisono::schedule
