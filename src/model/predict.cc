// SPDX-License-Identifier: BSD-3-Clause
#include "model/predict.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "algorithms/building/levels.h"
#include "model/symmetry.h"
#include "model/virtual_time.h"
#include "shm/slice/slice.h"

namespace unisono::model {

using algorithms::Descriptor;
using algorithms::Parameters;
using algorithms::ParameterSpec;
using schedule::Problem;
using schedule::Program;

namespace {

constexpr std::int64_t many_steps = standard_many_steps;

// Where ranks share cores, short calls follow each other without all ranks having had a turn in between. So a
// loop of calls takes no more than a part of what one call by itself does, or a half where all wait for all.
// `unisono bench` measures short calls so too: in batches below this size.
constexpr std::int64_t batched_bytes = 16 * 1024;
constexpr int calls_of_batch = 16;

CallSize size_of(Operation operation, std::int64_t bytes, const Machine& machine) {
  // What is reduced has elements: doubles, as far as the bytes are some.
  std::int64_t element_bytes = 1;
  if (is_reduction(operation)) element_bytes = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 1;
  return {.elements = bytes / element_bytes,
          .element_bytes = element_bytes,
          .channel_bytes = static_cast<std::int64_t>(machine.shared.channel_bytes)};
}

// How many steps the stage has on a rank: some rounds stand for all.
std::int64_t estimated_steps(const schedule::Stage& stage) {
  constexpr int most_rounds = 4;
  const int looked_at = std::min(stage.rounds, most_rounds);
  std::vector<schedule::Step> steps;
  schedule::Writer writer(&steps);
  for (int i = 0; i < looked_at; ++i) {
    stage.write(static_cast<int>(static_cast<std::int64_t>(i) * stage.rounds / looked_at), writer);
  }
  return looked_at == 0 ? 0 : std::ssize(steps) * stage.rounds / looked_at;
}

// Some of a node's ranks stand for all ranks, of one node or of all.
std::int64_t estimated_steps_of_node(const Problem& problem, const BuildProgram& build,
                                     const CallSize& size) {
  const auto& locals = problem.layout->ranks_of[static_cast<std::size_t>(problem.layout->nodes() / 2)];
  const auto count = std::ssize(locals);
  std::int64_t leader = 0, others = 0;
  for (const std::int64_t local : {std::int64_t{0}, count / 2, count - 1}) {
    Problem own = problem;
    own.rank = locals[static_cast<std::size_t>(local)];
    std::int64_t steps = 0;
    const Program program = build(own);
    const LiveSteps planned(own, program, size, static_cast<int>(count), 1);
    // Those for long blocks may have gone.
    for (std::size_t i = 0; i < planned.uses().size(); ++i) {
      steps += estimated_steps(program.stages[i]) * planned.uses()[i].pieces;
    }
    (local == 0 ? leader : others) = std::max(local == 0 ? leader : others, steps);
  }
  return leader + others * (count - 1);
}

// For which blocks of neighbours the slots of all nodes have room.
schedule::SlotRoom room_for(const Problem& problem, const CallSize& size) {
  schedule::SlotRoom least;
  const patterns::Layout& layout = *problem.layout;
  for (int node = 0; node < layout.nodes(); ++node) {
    const int locals = static_cast<int>(layout.ranks_of[static_cast<std::size_t>(node)].size());
    const schedule::SlotRoom room =
        schedule::slot_room(*problem.neighborhood, layout, node, !sends_neighbor_blocks(problem.operation),
                            area_bytes(size.channel_bytes, locals));
    least = {std::min(least.bundled, room.bundled), std::min(least.own, room.own)};
  }
  return least;
}

std::string steps_text(std::int64_t steps) {
  return "takes about " + std::to_string(steps) + " steps";
}

BuildProgram build_of(const Descriptor& algorithm, const Parameters& parameters, int ranks,
                      const CallSize& size) {
  const bool is_short =
      algorithm.build_short &&
      size.elements * size.element_bytes <=
          static_cast<std::int64_t>(shm::Slice::most_block_bytes(algorithm.block_lines(ranks, parameters)));
  return [&algorithm, parameters, is_short](const Problem& own) {
    return (is_short ? algorithm.build_short : algorithm.build)(own, parameters);
  };
}

Prediction run(const Candidate& candidate, const Problem& problem, const Prepared& prepared,
               const Machine& machine, const PredictOptions& options) {
  const auto& [no_problem, build, size] = prepared;
  const algorithms::KeptLayouts leaders;
  Prediction prediction{.candidate = candidate};
  RunOptions run_options{.model = options.model};
  const std::int64_t of_node = estimated_steps_of_node(problem, build, size);
  const std::int64_t steps = of_node * problem.layout->nodes();
  std::int64_t expected = steps;
  if (options.progress) {
    run_options.progress = [&](std::int64_t pieces) {
      options.progress(std::min(1.0, static_cast<double>(pieces) / static_cast<double>(expected)));
    };
  }
  const CallSize equal = with_equal_parts(size, problem.size);
  std::optional<Crew> node;
  // Where nodes share cores, one cannot stand for all.
  if (steps > options.many_steps && machine.nodes_on_cores == 1)
    node = one_node_for_all(problem, build, equal);
  if (node) expected = of_node;
  const std::int64_t most = node ? options.most_pieces_of_node : options.most_pieces;
  prediction.expected = expected;
  prediction.is_for_all_nodes = node.has_value();
  if (expected > most) {
    prediction.problem = steps_text(expected) + ", more than " + std::to_string(most);
    return prediction;
  }
  run_options.most_pieces = most;
  if (size.elements * size.element_bytes < batched_bytes && !node &&
      is_sharing_cores(*problem.layout, machine)) {
    const std::int64_t allowed = std::min(many_steps, most) / std::max<std::int64_t>(1, steps);
    run_options.calls = static_cast<int>(std::clamp<std::int64_t>(allowed, 1, calls_of_batch));
  }
  const Outcome result = run_in_virtual_time(problem, build, node ? equal : size, machine,
                                             node ? *std::move(node) : everyone(problem.layout), run_options);
  prediction.us = result.us / run_options.calls;
  prediction.problem = result.problem;
  prediction.pieces = result.pieces;
  prediction.most_waiting = result.most_waiting;
  return prediction;
}

std::vector<std::string_view> textbook_names(Operation operation) {
  switch (operation) {
    case Operation::barrier:
      return {"dissemination"};
    case Operation::bcast:
      return {"binomial", "scatter_rd_allgather", "scatter_ring_allgather"};
    case Operation::reduce:
      return {"binomial", "rabenseifner"};
    case Operation::allreduce:
      return {"recursive_doubling", "rabenseifner", "ring"};
    case Operation::gather:
    case Operation::scatter:
      return {"binomial", "flat"};
    case Operation::gatherv:
    case Operation::scatterv:
      return {"flat"};
    case Operation::allgather:
    case Operation::allgatherv:
      return {"recursive_doubling", "bruck", "ring"};
    case Operation::alltoall:
      return {"bruck", "pairwise"};
    case Operation::alltoallv:
    case Operation::alltoallw:
      return {"pairwise"};
    case Operation::reduce_scatter_block:
    case Operation::reduce_scatter:
      return {"recursive_halving", "pairwise"};
    case Operation::scan:
    case Operation::exscan:
      return {"recursive_doubling", "binomial", "chain"};
    case Operation::neighbor_allgather:
    case Operation::neighbor_allgatherv:
    case Operation::neighbor_alltoall:
    case Operation::neighbor_alltoallv:
    case Operation::neighbor_alltoallw:
      return {"linear"};
  }
  return {};
}

bool stands_before(const Prediction& a, const Prediction& b) {
  if (a.problem.empty() != b.problem.empty()) return a.problem.empty();
  return a.us < b.us;
}

// The best of the textbooks' algorithms, of which some may be predicted already.
Prediction native_from(const std::vector<Prediction>& known, const Problem& problem, std::int64_t bytes,
                       const Machine& machine, const PredictOptions& options) {
  Prediction best;
  best.problem = "no textbook algorithm can be run";
  std::vector<std::string> not_run;
  for (const std::string_view name : textbook_names(problem.operation)) {
    const Descriptor* algorithm = algorithms::find(problem.operation, name);
    if (algorithm == nullptr) continue;
    const Candidate candidate{algorithm, with_standards(*algorithm)};
    const auto found = std::ranges::find(known, candidate, &Prediction::candidate);
    Prediction one = found != known.end() ? *found : predict(candidate, problem, bytes, machine, options);
    if (!one.problem.empty() && one.expected > 0) not_run.push_back(algorithm->name);
    if (!one.problem.empty() || !stands_before(one, best)) continue;
    best = std::move(one);
    best.stands_for = algorithm->name;
  }
  best.candidate = {};
  best.not_run = std::move(not_run);
  return best;
}

PredictOptions with_few_steps(PredictOptions options) {
  options.most_pieces = std::min(options.most_pieces, many_steps);
  options.most_pieces_of_node = std::min(options.most_pieces_of_node, many_steps);
  return options;
}

bool is_textbook(const Candidate& candidate) {
  const auto names = textbook_names(candidate.algorithm->operation);
  return std::ranges::find(names, candidate.algorithm->name) != names.end() &&
         candidate.parameters == with_standards(*candidate.algorithm);
}

// Those that took too many steps so far, the quickest first; before them, where `native` is asked for, those
// that it may be taken to be.
std::vector<Prediction*> postponed(std::vector<Prediction>* all, bool has_native) {
  std::vector<Prediction*> list;
  for (Prediction& one : *all) {
    if (!one.problem.empty() && one.expected > 0) list.push_back(&one);
  }
  std::ranges::stable_sort(list, std::less<>(), [has_native](const Prediction* one) {
    return std::pair(!has_native || !is_textbook(one->candidate), one->expected);
  });
  return list;
}

}  // namespace

bool is_sharing_cores(const patterns::Layout& layout, const Machine& machine) {
  const auto cores = static_cast<std::size_t>(machine.cores_per_node);
  return std::ranges::any_of(ranks_on_cores(layout.ranks_of, machine),
                             [&](std::size_t ranks) { return ranks > cores; });
}

Prepared prepare(const Candidate& candidate, const Problem& problem, std::int64_t bytes,
                 const Machine& machine, const PredictOptions& options) {
  const Descriptor& algorithm = *candidate.algorithm;
  std::string why =
      why_illegal(algorithm, problem, bytes, options.has_shared_memory, options.has_single_copy);
  if (why.empty() && !algorithm.legality.may_start() && !options.is_blocking)
    why = "waits inside, which the call must not";
  if (!why.empty()) return {.problem = std::move(why), .build = {}, .size = {}};
  CallSize size = size_of(problem.operation, bytes, machine);
  if (is_neighborhood(problem.operation) && algorithm.legality.needs_shared_memory)
    size.room = room_for(problem, size);
  const Parameters parameters = with_standards(algorithm, candidate.parameters);
  return {.problem = {}, .build = build_of(algorithm, parameters, problem.size, size), .size = size};
}

Prediction predict(const Candidate& candidate, const Problem& problem, std::int64_t bytes,
                   const Machine& machine, const PredictOptions& options) {
  if (candidate.algorithm == nullptr) return predict_native(problem, bytes, machine, options);
  Candidate complete = candidate;
  complete.parameters = with_standards(*candidate.algorithm, candidate.parameters);
  const Prepared prepared = prepare(complete, problem, bytes, machine, options);
  if (!prepared.problem.empty()) return {.candidate = candidate, .problem = prepared.problem};
  return run(complete, problem, prepared, machine, options);
}

std::optional<double> predict_us(const Descriptor& algorithm, const Parameters& parameters,
                                 const Problem& problem, std::int64_t bytes, const Machine& machine,
                                 const PredictOptions& options) {
  const Prediction prediction = predict({&algorithm, parameters}, problem, bytes, machine, options);
  if (!prediction.problem.empty()) return std::nullopt;
  return prediction.us;
}

Prediction predict_native(const Problem& problem, std::int64_t bytes, const Machine& machine,
                          const PredictOptions& options) {
  return native_from({}, problem, bytes, machine, options);
}

namespace {

// Neighbours' blocks that are passed on: meshes of more dimensions, and cells that are as long as the block.
void add_meshes(const Parameters& standard, std::int64_t bytes, std::vector<Candidate>* all) {
  Candidate other{all->back().algorithm, standard};
  if (other.parameters.get_or("cell", 0) == 0) return;
  constexpr std::int64_t longest_cell = 4 << 10;
  if (bytes <= longest_cell) {
    const std::int64_t cell = std::max<std::int64_t>(16, std::bit_ceil(static_cast<std::uint64_t>(bytes)));
    if (cell != other.parameters.get("cell")) {
      other.parameters.set("cell", cell);
      all->push_back(other);
    }
  }
  if (other.parameters.get_or("dimensions", 0) == 0) return;
  constexpr std::int64_t most_dimensions = 16;  // all of length 2
  for (const std::int64_t dimensions : {std::int64_t{3}, most_dimensions}) {
    other.parameters.set("dimensions", dimensions);
    all->push_back(other);
  }
}

}  // namespace

std::vector<Candidate> candidates_for(Operation operation, std::int64_t bytes) {
  std::vector<Candidate> all;
  for (const Descriptor& algorithm : algorithms::registry()) {
    if (algorithm.operation != operation) continue;
    const Parameters standard = with_standards(algorithm);
    all.push_back({&algorithm, standard});
    for (const Parameters& other : algorithms::other_ways(algorithm, standard, bytes))
      all.push_back({&algorithm, other});
    add_meshes(standard, bytes, &all);
    if (standard.get_or("segment", -1) < 0) continue;
    for (std::int64_t segment = 8 << 10; segment <= 1 << 20 && segment < bytes; segment *= 4) {
      if (segment == standard.get("segment")) continue;
      Candidate other = all.back();
      other.parameters.set("segment", segment);
      all.push_back(std::move(other));
    }
  }
  all.push_back({});
  return all;
}

std::vector<Prediction> rank(const std::vector<Candidate>& candidates, const Problem& problem,
                             std::int64_t bytes, const Machine& machine, const PredictOptions& options) {
  std::vector<Prediction> all;
  const auto total = static_cast<double>(candidates.size());
  double done = 0;
  const auto run_one = [&](const Candidate& candidate, PredictOptions of_one) {
    if (options.progress)
      of_one.progress = [&](double share) { options.progress(std::min(1.0, (done + share) / total)); };
    Prediction made = predict(candidate, problem, bytes, machine, of_one);
    ++done;
    if (options.progress) options.progress(std::min(1.0, done / total));
    return made;
  };
  const PredictOptions first = options.is_over ? with_few_steps(options) : options;
  bool has_native = false;
  for (const Candidate& candidate : candidates) {
    if (candidate.algorithm == nullptr) {
      has_native = true;
    } else if (!all.empty() && all.back().candidate.algorithm == candidate.algorithm &&
               (!all.back().problem.empty() || all.back().pieces > many_steps)) {
      ++done;  // a further setting of what is illegal, or takes long
    } else {
      all.push_back(run_one(candidate, first));
    }
  }
  for (Prediction* later : postponed(&all, has_native)) {
    PredictOptions of_one = options;
    // Of neighbours, all steps of all ranks are held at a time.
    if (has_native && is_textbook(later->candidate) && problem.neighborhood == nullptr) {
      of_one.most_pieces *= options.textbook_factor;
      of_one.most_pieces_of_node *= options.textbook_factor;
    }
    const std::int64_t most = later->is_for_all_nodes ? of_one.most_pieces_of_node : of_one.most_pieces;
    if (later->expected > most) {
      later->problem = steps_text(later->expected) + ", more than " + std::to_string(most);
    } else if (!options.is_over || !options.is_over()) {
      *later = run_one(later->candidate, of_one);
    } else {
      later->problem = steps_text(later->expected) + ", for which there was no time";
    }
  }
  if (has_native) all.push_back(native_from(all, problem, bytes, machine, options));
  std::stable_sort(all.begin(), all.end(), stands_before);
  return all;
}

}  // namespace unisono::model
