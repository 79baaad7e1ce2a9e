// SPDX-License-Identifier: BSD-3-Clause
// Programs made of programs: one after another, on some of the ranks, on other places, reversed, on two
// levels.
#pragma once

#include <cstdint>
#include <functional>

#include "algorithms/catalogue/descriptor.h"
#include "schedule/program.h"

namespace unisono::algorithms {

// Where a place of an inner program lies within the outer one: so many units (of the outer one) into `place`.
struct Seat {
  schedule::Place place;
  std::int64_t units = 0;
};

// How an inner program becomes part of an outer one. Its scratch space is put behind the outer one's.
struct Mapping {
  Seat input{schedule::Place::input};
  Seat output{schedule::Place::output};
  std::int64_t shared_units = 0;    // added to the numbers by which slots of shared memory know uneven blocks
  std::int64_t scale = 1;           // a unit of the inner program is so many units of the outer one
  std::function<int(int)> rank_of;  // rank of the inner program -> rank of the outer one; empty: the same
};

// Collects stages and scratch space, in program order.
class Composition {
 public:
  // Takes `units` units of scratch space: the first one's number.
  std::int64_t reserve(std::int64_t units);
  void add(schedule::Stage stage) { program_.stages.push_back(std::move(stage)); }
  // A copy onto itself, which a mapping may bring about, vanishes.
  void add(const schedule::Program& inner, const Mapping& mapping = {});
  schedule::Program take() { return std::move(program_); }

 private:
  schedule::Program program_;
};

// The program of a rank that does not take part: as many stages with the same properties, and no rounds.
schedule::Program idle(schedule::Program program);

// A stage of local steps.
schedule::Stage local_stage(std::function<void(schedule::Writer&)> write);
// One round of messages, cut by the parameters `segment` and `window` if there are any.
schedule::Stage message_stage(const Parameters& parameters, int rounds,
                              std::function<void(int round, schedule::Writer&)> write);
schedule::Program one_stage(schedule::Stage stage, std::int64_t scratch = 0);

// A part of every piece: `count` of `of` equal parts, from `first` on.
struct Share {
  int first = 0;
  int count = 1;
  int of = 1;
};
// The program with every reference narrowed to that part of its pieces.
schedule::Program narrowed(const schedule::Program& program, const Share& share);

// Turns the program round: what was sent is received, what was last is first, input and output change places.
// A scatter becomes a gather.
schedule::Program reversed(const schedule::Program& program);
// The same for a whole broadcast along a tree, which becomes a reduction: what comes back is joined with what
// is there. `is_before`: do the operands that come from this peer stand before the own ones? `own`: where the
// own operand is; the result is in output.
schedule::Program reversed_into_reduction(const schedule::Program& bcast,
                                          std::function<bool(int peer)> is_before,
                                          schedule::Place own = schedule::Place::input);

}  // namespace unisono::algorithms
