// SPDX-License-Identifier: BSD-3-Clause
// Any program does what its steps do one after the other, each on its whole range, however it is cut into
// pieces and whenever its messages arrive. One rank, messages to itself.
#include <gtest/gtest.h>

#include <random>

#include "schedule/ranges.h"
#include "world_of_programs.h"

namespace unisono::schedule {
namespace {

constexpr int units = 6;  // of each place

class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {
    const int stage_count = pick(1, 3);
    for (int i = 0; i < stage_count; ++i) {
      std::vector<std::vector<Step>> rounds(pick(1, 8));
      for (auto& steps : rounds) write_round(&steps);
      Stage stage{.rounds = static_cast<int>(rounds.size()), .write = {}};
      stage.write = [rounds](int round, Writer& writer) {
        for (const Step& step : rounds[round]) {
          if (step.kind == StepKind::copy) writer.copy(step.into, step.left);
          if (step.kind == StepKind::reduce) writer.reduce(step.into, step.left, step.right);
          if (step.kind == StepKind::send) writer.send(step.left, 0);
          if (step.kind == StepKind::recv) writer.recv(step.into, 0);
        }
      };
      stage.segment_bytes = pick(0, 5) * 24;
      stage.extent = units;
      stage.window = pick(1, 4);
      program_.stages.push_back(stage);
    }
    program_.scratch = units;
  }

  const Program& program() const { return program_; }

 private:
  int pick(int low, int high) { return low + static_cast<int>(random_() % (high - low + 1)); }

  // Of one length each: whole units, or the same number of sixths.
  Ref range(Place place, int length, int parts) {
    const int first = pick(0, units * parts - length);
    return {.place = place, .first = first, .last = first + length, .parts = parts};
  }
  Ref range_beside(Place place, const Ref& other) {
    for (;;) {
      const Ref ref = range(place, static_cast<int>(other.last - other.first), other.parts);
      if (ref.place != other.place || ref.last <= other.first || other.last <= ref.first) return ref;
    }
  }

  void write_round(std::vector<Step>* steps) {
    Writer writer(steps);
    const int count = pick(1, 3);
    for (int i = 0; i < count; ++i) {
      const int parts = pick(0, 1) == 0 ? 1 : 6;
      const Place into_place = pick(0, 1) == 0 ? Place::output : Place::scratch;
      const Place from_place = static_cast<Place>(pick(0, 2));
      Ref into = range(into_place, pick(1, 2), parts);
      Ref from = range_beside(from_place, into);
      if (pick(0, 2) == 0) {
        const int index = pick(0, 2);
        into = into.sub(index, 3);
        from = from.sub(index, 3);
      }
      switch (pick(0, 2)) {
        case 0:
          writer.copy(into, from);
          break;
        case 1:
          writer.reduce(into, pick(0, 1) == 0 ? into : from, from);
          break;
        default:
          writer.send(from, 0);
          writer.recv(into, 0);
      }
    }
  }

  std::mt19937 random_;
  Program program_;
};

// The meaning: steps in order. A message to itself is a copy when it is received.
void interpret(const Program& program, std::int64_t elements, std::int64_t pieces_of_stage(const Stage&),
               Values* places) {
  for (const Stage& stage : program.stages) {
    const std::int64_t pieces = pieces_of_stage(stage);
    for (int round = 0; round < stage.rounds; ++round) {
      std::vector<Step> steps;
      Writer writer(&steps);
      stage.write(round, writer);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        Step step = steps[i];
        if (step.kind == StepKind::send) continue;
        if (step.kind == StepKind::recv) step.left = steps[i - 1].left;
        for (std::int64_t piece = 0; piece < pieces; ++piece) {
          const ElementRange into = piece_range(step.into, elements, piece, pieces);
          const ElementRange left = piece_range(step.left, elements, piece, pieces);
          const ElementRange right = piece_range(step.right, elements, piece, pieces);
          for (std::int64_t k = 0; k < into.length(); ++k) {
            std::int64_t value = places[static_cast<int>(step.left.place)][left.first + k];
            if (step.kind == StepKind::reduce) {
              value += 3 * places[static_cast<int>(step.right.place)][right.first + k];
            }
            places[static_cast<int>(step.into.place)][into.first + k] = value;
          }
        }
      }
    }
  }
}

void add_thrice(const void*, void* into, const void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    static_cast<std::int64_t*>(into)[i] =
        static_cast<const std::int64_t*>(left)[i] + 3 * static_cast<const std::int64_t*>(right)[i];
  }
}

// Scratch begins undefined: the program first fills it.
Program with_scratch_filled(Program program) {
  Stage fill{.rounds = 1, .write = {}};
  fill.write = [](int, Writer& writer) {
    writer.copy(blocks(Place::scratch, 0, units), blocks(Place::input, 0, units));
  };
  program.stages.insert(program.stages.begin(), fill);
  return program;
}

Call random_call(unsigned seed) {
  constexpr std::int64_t elements = 12;  // a multiple of the parts, so that equal fractions are equally long
  const Program program = with_scratch_filled(RandomProgram(seed).program());
  Values start(units * elements);
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = static_cast<std::int64_t>(i + 1);
  Values places[3] = {start, start, Values(units * elements, 0)};
  interpret(
      program, elements, [](const Stage& stage) { return piece_count(stage, elements, 8, 0); }, places);
  Call call;
  call.operation = Operation::bcast;
  call.elements = elements;
  call.build = [=](const Problem&) { return program; };
  call.combine = {.call = add_thrice, .element_bytes = 8};
  call.fill = [=](int, Values* input, Values* output) { *input = *output = start; };
  call.check = [=, expected = places[static_cast<int>(Place::output)]](int, const Values& output) {
    EXPECT_EQ(output, expected) << "seed " << seed;
  };
  return call;
}

TEST(RandomPrograms, DoWhatTheirStepsDoInOrder) {
  for (unsigned world = 0; world < 40; ++world) {
    std::vector<Call> calls;
    for (unsigned i = 0; i < 50; ++i) calls.push_back(random_call(world * 50 + i));
    Ranks ranks;
    ranks.host.eager_limit_bytes = world % 3 * 16;
    ranks.host.seed = world;
    ranks.host.max_delay = static_cast<int>(world % 7);
    run_calls(ranks, calls);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace unisono::schedule
