// SPDX-License-Identifier: BSD-3-Clause
#include "proof/check_program.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "proof/check_table.h"
#include "schedule/describe.h"
#include "schedule/executor.h"
#include "shm/slice/slice.h"

namespace unisono::proof {
namespace {

bool is_on_node(const schedule::Ref& ref) {
  return ref.place == schedule::Place::shared || ref.place == schedule::Place::remote_input ||
         ref.place == schedule::Place::remote_output;
}

struct Written {
  schedule::Step step;
  std::int32_t stage, round;
};

// The program as the algorithm wrote it, references in place.
std::vector<Written> written_steps(const schedule::Problem& problem, const schedule::Program& program) {
  std::vector<Written> result;
  std::vector<schedule::Step> steps;
  for (std::size_t stage = 0; stage < program.stages.size(); ++stage) {
    for (int round = 0; round < program.stages[stage].rounds; ++round) {
      steps.clear();
      schedule::Writer writer(&steps);
      program.stages[stage].write(round, writer);
      for (schedule::Step& step : steps) {
        for (schedule::Ref* ref : {&step.into, &step.left, &step.right}) *ref = in_place(problem, *ref);
        if (is_needless_copy(problem, step)) continue;
        result.push_back({step, static_cast<std::int32_t>(stage), round});
      }
    }
  }
  return result;
}

// May the compiler leave the step out? Where nothing is moved.
bool is_nothing(const schedule::Step& step) {
  return (step.kind == schedule::StepKind::copy || step.kind == schedule::StepKind::reduce) &&
         step.into.first == step.into.last;
}

bool is_same(const schedule::Step& a, const schedule::Step& b) {
  return a.kind == b.kind && a.peer == b.peer && a.tick == b.tick && a.into == b.into && a.left == b.left &&
         a.right == b.right && schedule::is_one_tree(a.along, b.along);
}

CheckedStep checked_step(const schedule::Compiled& compiled, const schedule::CompiledStep& from) {
  CheckedStep checked;
  checked.step = {from.kind,
                  from.peer,
                  from.tick,
                  compiled.refs[from.into],
                  compiled.refs[from.left],
                  compiled.refs[from.right],
                  from.tree < 0 ? nullptr : compiled.trees[static_cast<std::size_t>(from.tree)]};
  checked.stage = from.stage;
  checked.is_node = from.is_node_step;
  checked.is_token = from.is_token;
  checked.tag = from.tag;
  checked.first_before = from.first_predecessor;
  checked.last_before = from.last_predecessor;
  return checked;
}

CheckedProgram compiled_program(const schedule::Problem& problem, const schedule::Program& program,
                                const std::vector<Written>& written, std::vector<std::string>* failures) {
  CheckedProgram result;
  result.scratch = program.scratch;
  result.scratch_parts = program.scratch_parts;
  result.blocks = program.blocks;
  result.stages_of_short = program.stages_of_short;
  const std::string who = "rank " + std::to_string(problem.rank);
  std::shared_ptr<const schedule::Compiled> compiled;
  try {
    compiled = compile(problem, program);
  } catch (const std::invalid_argument& error) {
    failures->push_back(who + ": " + error.what());
    return result;
  }
  for (const schedule::CompiledStage& stage : compiled->stages) {
    result.stages.push_back(stage.shape);
    result.channel_of.push_back(stage.channel);
    result.has_node_steps.push_back(stage.has_node_steps);
  }
  result.before = compiled->predecessors;
  result.steps.reserve(compiled->steps.size());
  auto next = written.begin();
  for (const schedule::CompiledStep& from : compiled->steps) {
    CheckedStep checked = checked_step(*compiled, from);
    while (next != written.end() && is_nothing(next->step)) ++next;
    if (next != written.end() && next->stage == checked.stage && is_same(next->step, checked.step)) {
      checked.round = next->round;
      ++next;
    } else if (checked.step.kind == schedule::StepKind::signal &&
               checked.step.tick == result.stages[checked.stage].ticks) {
      checked.round = result.stages[checked.stage].rounds;  // the compiler ends each piece with it
    } else {
      failures->push_back(who + ": the compiler made a step that nobody wrote: " + describe(checked.step));
    }
    while (static_cast<int>(result.first_step.size()) <= checked.stage) {
      result.first_step.push_back(static_cast<int>(result.steps.size()));
    }
    result.steps.push_back(std::move(checked));
  }
  while (next != written.end() && is_nothing(next->step)) ++next;
  if (next != written.end()) failures->push_back(who + ": the compiler lost " + describe(next->step));
  result.first_step.resize(result.stages.size() + 1, static_cast<int>(result.steps.size()));
  return result;
}

std::uint64_t hash_of(const std::vector<Written>& steps) {
  std::uint64_t hash = steps.size();
  const auto mix = [&hash](std::int64_t value) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  for (const Written& written : steps) {
    const schedule::Step& step = written.step;
    mix(static_cast<std::int64_t>(step.kind) << 32 | static_cast<std::uint32_t>(step.peer));
    for (const schedule::Ref* ref : {&step.into, &step.left, &step.right}) {
      mix(ref->first * 8 + static_cast<int>(ref->place));
    }
  }
  return hash;
}

// All that compile() sees of a program: two that are equal in it have one result.
struct Source {
  schedule::Program program;  // its stages write nothing any more
  std::vector<Written> steps;

  bool is(const schedule::Program& other, const std::vector<Written>& other_steps) const {
    const auto key = [](const schedule::Stage& stage) {
      return std::tie(stage.rounds, stage.extent, stage.extent_parts, stage.segment_bytes, stage.window,
                      stage.rounds_under_way, stage.sends_under_way, stage.is_blocking, stage.begins_apart,
                      stage.shared, stage.ticks, stage.buffers, stage.lanes, stage.continues_channel);
    };
    const bool have_one_table = program.blocks == nullptr || other.blocks == nullptr
                                    ? program.blocks == other.blocks
                                    : *program.blocks == *other.blocks;
    return have_one_table && program.scratch == other.scratch &&
           program.stages_of_short == other.stages_of_short && program.scratch_parts == other.scratch_parts &&
           std::equal(steps.begin(), steps.end(), other_steps.begin(), other_steps.end(),
                      [](const Written& a, const Written& b) {
                        return a.stage == b.stage && a.round == b.round && is_same(a.step, b.step);
                      }) &&
           std::equal(program.stages.begin(), program.stages.end(), other.stages.begin(), other.stages.end(),
                      [&](const schedule::Stage& a, const schedule::Stage& b) { return key(a) == key(b); });
  }
};

class Inspector {
 public:
  Inspector(CheckedCall* call, std::vector<std::string>* failures) : call_(*call), failures_(*failures) {}

  void inspect() {
    for (int rank = 0; rank < call_.problem.size; ++rank) {
      inspect_stages(rank);
      const auto steps = static_cast<int>(call_.programs[rank].steps.size());
      for (int step = 0; step < steps; ++step) inspect_step(rank, step);
    }
    match();
  }

 private:
  void fail(const std::string& text) { failures_.push_back(text); }
  void fail(int rank, int step, const std::string& text) {
    failures_.push_back(describe(call_, rank, step) + ": " + text);
  }

  // What docs/inside/architecture.md wants to be the same on all ranks, or on all of a node.
  void inspect_stages(int rank) {
    const patterns::Layout& layout = *call_.problem.layout;
    const CheckedProgram& own = call_.programs[rank];
    const CheckedProgram& first = call_.programs[layout.ranks_of[layout.node_of[rank]].front()];
    int channels = 0;
    for (std::size_t i = 0; i < own.stages.size(); ++i) {
      const schedule::Stage& stage = own.stages[i];
      const std::string where = "rank " + std::to_string(rank) + ", stage " + std::to_string(i) + ": ";
      if (stage.window < 1) fail(where + "the window is below 1");
      if (stage.extent < 0 || stage.extent_parts < 1) fail(where + "the extent cannot be");
      if (stage.shared == schedule::SharedMode::none) continue;
      if (!stage.continues_channel && ++channels > shm::channel_count)
        fail(where + "there is no channel left for it");
      if (stage.ticks < 1 || stage.buffers < 1 || stage.lanes < 1)
        fail(where + "ticks, buffers or lanes below 1");
      if (i >= first.stages.size()) {
        fail(where + "other ranks of the node do not have it");
        continue;
      }
      const schedule::Stage& other = first.stages[i];
      if (std::tie(stage.shared, stage.ticks, stage.buffers, stage.lanes) !=
          std::tie(other.shared, other.ticks, other.buffers, other.lanes)) {
        fail(where + "mode, ticks, buffers or lanes differ between ranks of a node");
      }
    }
    if (channels_of(own) != channels_of(first)) {
      fail("rank " + std::to_string(rank) + ": ranks of a node use different channels");
    }
  }
  static int channels_of(const CheckedProgram& program) {
    return program.channel_of.empty()
               ? 0
               : *std::max_element(program.channel_of.begin(), program.channel_of.end()) + 1;
  }

  void inspect_step(int rank, int index) {
    const CheckedProgram& program = call_.programs[rank];
    const CheckedStep& checked = program.steps[index];
    const schedule::Step& step = checked.step;
    const schedule::Stage& stage = program.stages[checked.stage];
    const int local_size = call_.problem.layout->local_size(rank);
    if (is_message(step.kind) && (step.peer < 0 || step.peer >= call_.problem.size || step.peer == rank)) {
      fail(rank, index, "the peer is not another rank");
    }
    const bool names_local_peer =
        step.kind == schedule::StepKind::await || has_one_source(step.kind) || has_one_sink(step.kind);
    if (names_local_peer && (step.peer < 0 || step.peer >= local_size)) {
      fail(rank, index, "the peer is no local rank");
    }
    const bool ticks = step.kind == schedule::StepKind::signal || step.kind == schedule::StepKind::await ||
                       step.kind == schedule::StepKind::await_all;
    if (ticks && (step.tick < 1 || step.tick > stage.ticks)) {
      fail(rank, index, "the stage has " + std::to_string(stage.ticks) + " ticks");
    }
    const bool needs_channel = checked.is_node && !is_fused(step.kind);
    if (needs_channel && stage.shared == schedule::SharedMode::none)
      fail(rank, index, "the stage has no channel");
    for (const schedule::Ref* ref : {&step.into, &step.left, &step.right}) {
      inspect_ref(rank, index, *ref, stage, local_size);
    }
  }

  void inspect_ref(int rank, int index, const schedule::Ref& ref, const schedule::Stage& stage,
                   int local_size) {
    if (ref.parts < 1 || ref.first < 0 || ref.last < ref.first || ref.sub_parts < 1 || ref.sub_first < 0 ||
        ref.sub_last < ref.sub_first || ref.sub_last > ref.sub_parts) {
      fail(rank, index, "a reference is no range");
    }
    if (!is_on_node(ref)) return;
    const bool is_common =
        ref.place == schedule::Place::shared && stage.shared == schedule::SharedMode::common;
    if (ref.owner < 0 || ref.owner >= (is_common ? 1 : local_size)) {
      fail(rank, index, "a reference's owner is no local rank");
    }
    if (ref.place == schedule::Place::shared && (ref.lane < 0 || ref.lane >= stage.lanes)) {
      fail(rank, index, "a reference's lane does not exist");
    }
  }

  // Every send has exactly one recv in the same stage and round, the k-th of a pair meets the k-th.
  void match() {
    struct End {
      std::tuple<int, int, int, int> where;  // from, to, stage, round
      int rank, step;
    };
    std::array<std::vector<End>, 2> ends;  // sends, recvs
    for (int rank = 0; rank < call_.problem.size; ++rank) {
      const auto& steps = call_.programs[rank].steps;
      for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
        const schedule::Step& step = steps[i].step;
        if (step.kind == schedule::StepKind::send) {
          ends[0].push_back({{rank, step.peer, steps[i].stage, steps[i].round}, rank, i});
        } else if (step.kind == schedule::StepKind::recv) {
          ends[1].push_back({{step.peer, rank, steps[i].stage, steps[i].round}, rank, i});
        }
      }
    }
    for (auto& list : ends) {
      std::stable_sort(list.begin(), list.end(),
                       [](const End& a, const End& b) { return a.where < b.where; });
    }
    auto send = ends[0].begin();
    auto recv = ends[1].begin();
    while (send != ends[0].end() || recv != ends[1].end()) {
      if (recv == ends[1].end() || (send != ends[0].end() && send->where < recv->where)) {
        fail(send->rank, send->step, "nobody receives this in the same stage and round");
        ++send;
      } else if (send == ends[0].end() || recv->where < send->where) {
        fail(recv->rank, recv->step, "nobody sends this in the same stage and round");
        ++recv;
      } else {
        call_.programs[send->rank].steps[send->step].partner = recv->step;
        call_.programs[recv->rank].steps[recv->step].partner = send->step;
        ++send;
        ++recv;
      }
    }
  }

  CheckedCall& call_;
  std::vector<std::string>& failures_;
};

}  // namespace

struct KnownPrograms::State {
  struct Entry {
    Source source;
    CheckedProgram made;
  };
  std::unordered_multimap<std::uint64_t, Entry> entries;
  CheckedProgram refused;

  // The program compiled, unless one like it is known. What is refused is not kept: it fails every time.
  const CheckedProgram& find(const schedule::Problem& problem, schedule::Program&& program,
                             std::vector<std::string>* failures) {
    std::vector<Written> steps = written_steps(problem, program);
    const std::uint64_t hash = hash_of(steps);
    const auto [first, last] = entries.equal_range(hash);
    for (auto entry = first; entry != last; ++entry) {
      if (entry->second.source.is(program, steps)) return entry->second.made;
    }
    const std::size_t failed = failures->size();
    CheckedProgram made = compiled_program(problem, program, steps, failures);
    if (failures->size() > failed) return refused = std::move(made);
    for (schedule::Stage& stage : program.stages) stage.write = nullptr;
    return entries.emplace(hash, Entry{{std::move(program), std::move(steps)}, std::move(made)})->second.made;
  }
};

KnownPrograms::KnownPrograms() : state_(std::make_unique<State>()) {}
KnownPrograms::~KnownPrograms() = default;

bool may_be_in_place(const schedule::Problem& problem) {
  const Operation operation = problem.operation;
  if (!moves_data(operation) || has_one_buffer(operation) || copies_in_place(operation) ||
      is_neighborhood(operation))
    return false;
  return !is_rooted(operation) || problem.rank == problem.root;
}

schedule::Problem CheckedCall::problem_of(int rank) const {
  schedule::Problem result = problem;
  result.rank = rank;
  result.is_in_place = is_in_place && may_be_in_place(result);
  if (graph != nullptr) result.neighborhood = graph->known_on(problem.layout->node_of[rank]);
  return result;
}

std::string describe(const CheckedCall& call, int rank, int step) {
  const CheckedStep& checked = call.programs[rank].steps[step];
  return "rank " + std::to_string(rank) + ", stage " + std::to_string(checked.stage) + ", round " +
         std::to_string(checked.round) + ": " + describe(checked.step);
}

CheckedCall spread_out(std::string title, const schedule::Problem& problem, bool is_in_place,
                       const Build& build, std::vector<std::string>* failures, KnownPrograms* known) {
  CheckedCall call{std::move(title), problem, is_in_place, {}};
  call.programs.reserve(problem.size);
  if (is_neighborhood(problem.operation))
    call.graph = std::make_shared<const CheckedGraph>(problem, problem.neighborhood);
  KnownPrograms own_known;
  KnownPrograms::State& programs = (known != nullptr ? *known : own_known).state();
  for (int rank = 0; rank < problem.size; ++rank) {
    const schedule::Problem own = call.problem_of(rank);
    try {
      call.programs.push_back(programs.find(own, build(own), failures));
    } catch (const std::logic_error& error) {
      failures->push_back("rank " + std::to_string(rank) + ": " + error.what());
      return call;
    }
  }
  if (failures->empty()) Inspector(&call, failures).inspect();
  if (failures->empty()) inspect_tables(call, failures);
  return call;
}

}  // namespace unisono::proof
