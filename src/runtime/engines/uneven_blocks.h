// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls on uneven blocks through the lines and streams of shared memory; what is left then goes by
// the algorithm's schedule.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/engines/engine.h"
#include "runtime/engines/schedules.h"

namespace unisono::runtime {

// The longest block with one reader that goes through a stream; longer ones are copied by the kernel, where
// it does. 0: there are no streams.
std::size_t most_streamed(const Communicator& c);

// All counts that MPI says are significant here are valid, and the memory is somewhere: `count` blocks.
bool is_readable(const BlockArguments& blocks, int count);
// The one datatype of all `count` blocks, and its bytes. Nothing where datatypes differ, or it is derived or
// has gaps. Where it is not significant here: none.
struct PlainType {
  host::Datatype type{};
  std::size_t bytes = 0;
};
std::optional<PlainType> plain_type(host::Host& host, const BlockArguments& blocks, int count);
// Are all `count` blocks of this datatype, or is none significant here?
bool are_of(const BlockArguments& blocks, int count, host::Datatype type);

// Once: blocks that the kernel was to copy go another way.
void say_copy_is_refused();

class UnevenBlocks final : public Engine {
 public:
  UnevenBlocks(const World& world, const Schedules& schedules) : Engine(world), schedules_(schedules) {}

  int start(Run& run) const override;
  bool poll(Run& run) const override;

  // A call of types without gaps of which only the counts and places are new: the mean block's bytes, 0 where
  // ranks do not know it. It can be made again.
  static std::optional<std::int64_t> known(const Communicator& c, const Call& call);
  int run_again(Communicator& c, const Call& call, std::int64_t bytes) const;
  void remember(Communicator& c, CallClass& entry, const Call& call, std::int64_t bytes) const;

 private:
  int run_long(Communicator& c, int lines, const schedule::Compiled& what, schedule::Data* data) const;
  const Schedules& schedules_;
};

}  // namespace unisono::runtime
