// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/building/compose.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace unisono::algorithms {

using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Stage;
using schedule::Step;
using schedule::StepKind;
using schedule::Writer;

namespace {

Ref mapped(Ref ref, const Mapping& mapping, std::int64_t scratch_units) {
  ref.first *= mapping.scale;
  ref.last *= mapping.scale;
  switch (ref.place) {
    case Place::input:
      return ref.in(mapping.input.place).shifted(mapping.input.units);
    case Place::output:
      return ref.in(mapping.output.place).shifted(mapping.output.units);
    case Place::scratch:
      return ref.shifted(scratch_units);
    case Place::shared:
      return ref.shifted(mapping.shared_units);
    case Place::remote_input:
    case Place::remote_output:
      break;
  }
  return ref;
}

std::vector<Step> steps_of(const Stage& stage, int round) {
  std::vector<Step> steps;
  Writer writer(&steps);
  stage.write(round, writer);
  return steps;
}

Stage mapped(const Stage& stage, const Mapping& mapping, std::int64_t scratch_units) {
  Stage outer = stage;
  outer.extent *= mapping.scale;
  outer.write = [stage, mapping, scratch_units](int round, Writer& writer) {
    for (Step step : steps_of(stage, round)) {
      step.into = mapped(step.into, mapping, scratch_units);
      step.left = mapped(step.left, mapping, scratch_units);
      step.right = mapped(step.right, mapping, scratch_units);
      if (schedule::is_message(step.kind) && mapping.rank_of) step.peer = mapping.rank_of(step.peer);
      if (step.kind != StepKind::copy || step.into != step.left) writer.add(step);
    }
  };
  return outer;
}

std::int64_t whole_units(const Program& program) {
  return (program.scratch + program.scratch_parts - 1) / program.scratch_parts;
}

// Every round backwards, by `turn_round`, which writes what becomes of one step; `trip` counts the steps.
using TurnRound = std::function<void(const Step& step, int trip, Writer& writer)>;
Program backwards(const Program& program, const TurnRound& turn_round) {
  Program result = program;
  std::reverse(result.stages.begin(), result.stages.end());
  for (Stage& stage : result.stages) {
    stage.write = [write = stage.write, rounds = stage.rounds, turn_round](int round, Writer& writer) {
      std::vector<Step> steps;
      Writer forwards(&steps);
      write(rounds - 1 - round, forwards);
      std::reverse(steps.begin(), steps.end());
      for (int trip = 0; trip < static_cast<int>(steps.size()); ++trip) turn_round(steps[trip], trip, writer);
    };
  }
  return result;
}

Ref exchanged(const Ref& ref) {
  if (ref.place == Place::input) return ref.in(Place::output);
  if (ref.place == Place::output) return ref.in(Place::input);
  return ref;
}

}  // namespace

std::int64_t Composition::reserve(std::int64_t units) {
  const std::int64_t first = program_.scratch;
  program_.scratch += units;
  return first;
}

void Composition::add(const Program& inner, const Mapping& mapping) {
  const std::int64_t scratch_units = reserve(whole_units(inner) * mapping.scale);
  for (const Stage& stage : inner.stages) program_.stages.push_back(mapped(stage, mapping, scratch_units));
}

Program idle(Program program) {
  for (Stage& stage : program.stages) {
    stage.rounds = 0;
    stage.write = [](int, Writer&) {};
  }
  program.scratch = 0;
  return program;
}

Stage local_stage(std::function<void(Writer&)> write) {
  Stage stage;
  stage.rounds = 1;
  stage.write = [write = std::move(write)](int, Writer& writer) { write(writer); };
  return stage;
}

Stage message_stage(const Parameters& parameters, int rounds, std::function<void(int, Writer&)> write) {
  Stage stage;
  stage.rounds = rounds;
  stage.write = std::move(write);
  stage.segment_bytes = parameters.get_or("segment", 0);
  stage.window = static_cast<int>(parameters.get_or("window", stage.window));
  stage.rounds_under_way = static_cast<int>(parameters.get_or("rounds", 0));
  stage.sends_under_way = static_cast<int>(parameters.get_or("pace", 0));
  stage.is_blocking = parameters.get_or("blocking", 0) != 0;
  return stage;
}

Program one_stage(Stage stage, std::int64_t scratch) {
  Program program;
  program.stages.push_back(std::move(stage));
  program.scratch = scratch;
  return program;
}

Program narrowed(const Program& program, const Share& share) {
  const auto narrow = [share](Ref ref) {
    const int length = ref.sub_parts;
    ref.sub_first = share.first * length + share.count * ref.sub_first;
    ref.sub_last = share.first * length + share.count * ref.sub_last;
    ref.sub_parts = share.of * length;
    return ref;
  };
  Program result = program;
  for (Stage& stage : result.stages) {
    stage.write = [inner = stage, narrow](int round, Writer& writer) {
      for (Step step : steps_of(inner, round)) {
        for (Ref* ref : {&step.into, &step.left, &step.right}) *ref = narrow(*ref);
        writer.add(step);
      }
    };
  }
  return result;
}

Program reversed(const Program& program) {
  return backwards(program, [](const Step& step, int, Writer& writer) {
    const Ref into = exchanged(step.into);
    const Ref left = exchanged(step.left);
    if (step.kind == StepKind::send) writer.recv(left, step.peer);
    if (step.kind == StepKind::recv) writer.send(into, step.peer);
    if (step.kind == StepKind::copy) writer.copy(left, into);
  });
}

Program reversed_into_reduction(const Program& bcast, std::function<bool(int peer)> is_before, Place own) {
  Program program =
      backwards(bcast, [is_before = std::move(is_before), own](const Step& step, int trip, Writer& writer) {
        // What this rank has: at first its own contribution, then what it has joined.
        const Place mine = trip == 0 ? own : Place::output;
        if (step.kind == StepKind::recv) writer.send(step.into.in(mine), step.peer);
        if (step.kind != StepKind::send) return;
        const Ref result = step.left;
        const Ref arrived = result.in(Place::scratch).shifted(trip % 2);
        writer.recv(arrived, step.peer);
        if (is_before(step.peer)) {
          writer.reduce(result, arrived, result.in(mine));
        } else {
          writer.reduce(result, result.in(mine), arrived);
        }
      });
  program.scratch = 2;
  return program;
}

}  // namespace unisono::algorithms
