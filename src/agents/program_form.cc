// SPDX-License-Identifier: BSD-3-Clause
#include "agents/program_form.h"

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/wire.h"

namespace unisono::agents {
namespace {

using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Stage;
using schedule::Step;
using schedule::StepKind;
using Rounds = std::vector<std::vector<Step>>;

constexpr WireKind kind{.tag = 0x6167656e74, .version = 1};
constexpr int private_places = 3;  // input, output, scratch
constexpr int step_kinds = 4;      // send, recv, copy, reduce
constexpr std::int64_t most_parts = std::int64_t{1} << 24;
constexpr std::int64_t most_segment_bytes = std::int64_t{1} << 40;
constexpr std::int64_t most_window = 64, most_rounds_under_way = 1 << 20, most_sends_under_way = 1 << 20;
constexpr std::int64_t spare_vectors = 8;  // of scratch space, beside four for each rank

static_assert(static_cast<int>(Place::scratch) == private_places - 1);
static_assert(static_cast<int>(StepKind::reduce) == step_kinds - 1);

bool is_of_vectors(Operation operation) {
  return !is_block_operation(operation) && !is_neighborhood(operation);
}

bool is_told(const Ref& ref) {
  const Ref plain{.place = ref.place, .first = ref.first, .last = ref.last, .parts = ref.parts};
  return ref == plain && static_cast<int>(ref.place) < private_places;
}
bool has_into(StepKind step) {
  return step != StepKind::send;
}
bool has_left(StepKind step) {
  return step != StepKind::recv;
}
bool is_told(const Step& step) {
  if (static_cast<int>(step.kind) >= step_kinds) return false;
  return (!has_into(step.kind) || is_told(step.into)) && (!has_left(step.kind) || is_told(step.left)) &&
         (step.kind != StepKind::reduce || is_told(step.right));
}

void write_ref(WireWriter* writer, const Ref& ref) {
  writer->integer(static_cast<int>(ref.place));
  writer->integer(ref.first);
  writer->integer(ref.last);
  writer->integer(ref.parts);
}

void write_step(WireWriter* writer, const Step& step) {
  writer->integer(static_cast<int>(step.kind));
  if (schedule::is_message(step.kind)) writer->integer(step.peer);
  if (has_into(step.kind)) write_ref(writer, step.into);
  if (has_left(step.kind)) write_ref(writer, step.left);
  if (step.kind == StepKind::reduce) write_ref(writer, step.right);
}

bool write_stage(WireWriter* writer, const Stage& stage) {
  Rounds rounds(static_cast<std::size_t>(stage.rounds));
  for (int round = 0; round < stage.rounds; ++round) {
    schedule::Writer steps(&rounds[static_cast<std::size_t>(round)]);
    stage.write(round, steps);
    for (const Step& step : rounds[static_cast<std::size_t>(round)]) {
      if (!is_told(step)) return false;
    }
  }
  writer->integer(stage.extent);
  writer->integer(stage.extent_parts);
  writer->integer(stage.segment_bytes);
  writer->integer(stage.window);
  writer->integer(stage.rounds_under_way);
  writer->integer(stage.sends_under_way);
  writer->flag(stage.is_blocking);
  writer->flag(stage.begins_apart);
  writer->list(rounds, [](WireWriter* to, const std::vector<Step>& steps) { to->list(steps, write_step); });
  return true;
}

class Reader {
 public:
  Reader(std::string_view bytes, int size, int rank) : from_(bytes), most_vectors_(4 * size + spare_vectors) {
    problem_.size = size;
    problem_.rank = rank;
  }

  std::optional<ReadProgram> read() {
    read_problem();
    program_.scratch = from_.between(0, most_vectors_ * most_parts);
    program_.scratch_parts = static_cast<std::int32_t>(from_.between(1, most_parts));
    if (program_.scratch > most_vectors_ * program_.scratch_parts) from_.fail();
    program_.stages = from_.list<Stage>([this](WireReader*) { return stage(); });
    if (!from_.is_whole()) return std::nullopt;
    problem_.layout = layout_between(problem_.size);
    return ReadProgram{std::move(problem_), std::move(program_)};
  }

 private:
  void read_problem() {
    problem_.operation = from_.one_of<Operation>(operation_count);
    if (!is_of_vectors(problem_.operation)) from_.fail();
    if (from_.integer() != problem_.size || from_.integer() != problem_.rank) from_.fail();
    problem_.root = static_cast<int>(from_.between(0, problem_.size - 1));
    problem_.is_commutative = from_.flag();
    problem_.is_in_place = from_.flag();
    problem_.is_reproducible = from_.flag();
  }

  // What the place holds.
  std::int64_t vectors(Place place) const { return place == Place::scratch ? most_vectors_ : 1; }

  Ref ref(bool is_written) {
    Ref ref;
    ref.place = from_.one_of<Place>(private_places);
    ref.first = from_.between(0, most_vectors_ * most_parts);
    ref.last = from_.between(0, most_vectors_ * most_parts);
    ref.parts = static_cast<std::int32_t>(from_.between(1, most_parts));
    if (ref.last < ref.first || ref.last > vectors(ref.place) * ref.parts) from_.fail();
    if (is_written && ref.place == Place::input) from_.fail();
    return ref;
  }

  Step step() {
    Step step;
    step.kind = from_.one_of<StepKind>(step_kinds);
    if (schedule::is_message(step.kind)) {
      step.peer = static_cast<std::int32_t>(from_.between(0, problem_.size - 1));
      if (step.peer == problem_.rank) from_.fail();
    }
    if (has_into(step.kind)) step.into = ref(true);
    if (has_left(step.kind)) step.left = ref(false);
    if (step.kind == StepKind::reduce) step.right = ref(false);
    return step;
  }

  Stage stage() {
    Stage stage;
    stage.extent = from_.between(0, most_vectors_ * most_parts);
    stage.extent_parts = static_cast<std::int32_t>(from_.between(1, most_parts));
    stage.segment_bytes = from_.between(0, most_segment_bytes);
    stage.window = static_cast<int>(from_.between(1, most_window));
    stage.rounds_under_way = static_cast<int>(from_.between(0, most_rounds_under_way));
    stage.sends_under_way = static_cast<int>(from_.between(0, most_sends_under_way));
    stage.is_blocking = from_.flag();
    stage.begins_apart = from_.flag();
    const auto rounds = std::make_shared<const Rounds>(from_.list<std::vector<Step>>(
        [this](WireReader*) { return from_.list<Step>([this](WireReader*) { return step(); }); }));
    stage.rounds = static_cast<int>(rounds->size());
    stage.write = [rounds](int round, schedule::Writer& writer) {
      for (const Step& step : (*rounds)[static_cast<std::size_t>(round)]) writer.add(step);
    };
    return stage;
  }

  WireReader from_;
  const std::int64_t most_vectors_;
  Problem problem_;
  Program program_;
};

}  // namespace

std::shared_ptr<const patterns::Layout> layout_between(int nodes) {
  std::vector<int> labels(static_cast<std::size_t>(nodes));
  std::iota(labels.begin(), labels.end(), 0);
  return std::make_shared<const patterns::Layout>(patterns::Layout::from_labels(labels));
}

std::optional<std::string> write_program(const Problem& problem, const Program& program) {
  if (!is_of_vectors(problem.operation)) return std::nullopt;
  WireWriter writer;
  writer.integer(static_cast<int>(problem.operation));
  writer.integer(problem.size);
  writer.integer(problem.rank);
  writer.integer(problem.root);
  writer.flag(problem.is_commutative);
  writer.flag(problem.is_in_place);
  writer.flag(problem.is_reproducible);
  writer.integer(program.scratch);
  writer.integer(program.scratch_parts);
  bool is_told = true;
  writer.list(program.stages, [&is_told](WireWriter* to, const Stage& stage) {
    is_told = is_told && stage.shared == schedule::SharedMode::none && write_stage(to, stage);
  });
  if (!is_told) return std::nullopt;
  return sealed(kind, writer.bytes());
}

std::optional<ReadProgram> read_program(std::string_view bytes, int size, int rank) {
  const std::optional<std::string_view> content = unsealed(kind, bytes);
  if (!content) return std::nullopt;
  return Reader(*content, size, rank).read();
}

}  // namespace unisono::agents
