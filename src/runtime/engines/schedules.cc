// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engines/schedules.h"

#include "runtime/call/crash_site.h"
#include "schedule/compiled.h"

namespace unisono::runtime {

CallClass::Kind kind_of(const Communicator& c, const tuning::Choice& choice, const schedule::Problem& what) {
  if (choice.algorithm == nullptr) return CallClass::Kind::native;
  if (choice.algorithm->engine == algorithms::Engine::agents) return CallClass::Kind::by_agents;
  // The slice's own reductions join from the left, which is the reproducible order of scans, and of others
  // among few ranks alone.
  constexpr int most_from_left = 3;
  const bool is_in_order = !what.is_reproducible || is_scan(what.operation) || c.size <= most_from_left;
  const bool is_fused =
      choice.algorithm->engine == algorithms::Engine::fused && c.layout->nodes() == 1 && is_in_order;
  return is_fused ? CallClass::Kind::fused : CallClass::Kind::scheduled;
}

bool is_commutative(const World& world, const Communicator& c, const Call& call) {
  return !is_reduction(call.operation) || (!c.is_reproducible && world.host.is_commutative(call.op));
}

schedule::Problem problem_of(const Communicator& c, const Call& call, bool is_commutative) {
  return {.operation = call.operation,
          .size = c.size,
          .rank = c.rank,
          .root = is_rooted(call.operation) ? call.root : 0,
          .is_commutative = is_commutative,
          .is_reproducible = c.is_reproducible && is_reduction(call.operation),
          .layout = c.layout,
          .blocks = {},
          .neighborhood = is_neighborhood(call.operation) && c.node.neighborhood != nullptr
                              ? c.node.neighborhood->neighbors
                              : nullptr};
}

const Schedules::Made& Schedules::compiled(Communicator& c, CallClass& entry, const Call& call,
                                           bool is_in_place, bool is_commutative) {
  const int root = is_rooted(call.operation) ? call.root : 0;
  if (entry.last.compiled == nullptr || entry.last.root != root || entry.last.is_in_place != is_in_place) {
    schedule::Problem wanted = problem_of(c, call, is_commutative);
    wanted.is_in_place = is_in_place;
    const tuning::Choice& choice = *entry.choice;
    entry.last.compiled =
        c.cache->get({std::string(choice.name()), choice.parameters.values(), wanted.operation, wanted.root,
                      wanted.is_in_place, is_commutative},
                     [&] {
                       const InsideAlgorithm here(&entry, -1);
                       return schedule::compile(wanted, choice.algorithm->build(wanted, choice.parameters));
                     });
    entry.last.root = root;
    entry.last.is_in_place = is_in_place;
  }
  return entry.last.compiled;
}

schedule::Ground Schedules::ground(const Communicator& c) const {
  return {.host = &world_.host,
          .comm = world_.comm,
          .rank_in_comm = c.rank_in_world.data(),
          .tag_base = c.first_tag(),
          .slice = c.node.slice.get(),
          .wait = &c.node.wait,
          .others = {[](void* progress) { static_cast<Progress*>(progress)->make(); }, &progress_}};
}

schedule::Ground Schedules::ground_of_started(const Run& run) const {
  schedule::Ground made = ground(*run.communicator);
  made.tag_base = run.communicator->first_tag_of_started();
  made.slice = run.work->slice;
  return made;
}

int Schedules::execute(Communicator& c, const schedule::Compiled& what, const schedule::Data& data) const {
  const int error = c.work.executor.run(what, ground(c), data);
  if (what.has_single_copy && c.node.slice->gives_up_single_copy()) [[unlikely]]
    single_copy_.give_up_later(c);
  return error;
}

const Schedules::Made& Schedules::header(Communicator& c, CallClass& entry, const Call& call,
                                         bool is_blocking, Workspace* work, schedule::Data* data) {
  const tuning::Choice& choice = *entry.choice;
  if (choice.algorithm->build_tree_header) {
    if (entry.last.header == nullptr || entry.last.header_root != call.root) {
      schedule::Problem telling = problem_of(c, call, true);
      telling.operation = Operation::allgather;
      telling.is_in_place = true;
      entry.last.header =
          schedule::compile(telling, choice.algorithm->build_tree_header(telling, choice.parameters));
      entry.last.header_root = call.root;
    }
    work->blocks.lengths(&work->told);
    *data = {.output = work->told.data(), .elements = 1, .element_bytes = sizeof work->told[0]};
  } else if (choice.algorithm->build_header) {
    const auto count = static_cast<int>(c.local_ranks().size());
    if (entry.last.header == nullptr && count > 1) {
      const schedule::Problem node{
          .operation = Operation::allgather,
          .size = count,
          .rank = c.layout->local_rank_of[c.rank],
          .is_in_place = true,
          .layout = std::make_shared<patterns::Layout>(patterns::Layout::one_node(count)),
          .blocks = {}};
      const auto& build = is_blocking ? choice.algorithm->build_header : choice.algorithm->build_header_aside;
      entry.last.header = schedule::compile(node, build(node, choice.parameters));
    }
    std::int64_t numbers = 1;
    if (is_neighborhood(call.operation)) {
      numbers = work->neighbors.tell(*entry.last.compiled, c.local_rank(), count, &work->told);
    } else {
      work->told.assign(static_cast<std::size_t>(count), work->blocks.to_tell(call.operation));
    }
    *data = {.output = work->told.data(), .elements = numbers, .element_bytes = sizeof work->told[0]};
  } else if (is_neighborhood(call.operation)) {
    work->neighbors.tell(*entry.last.compiled, c.local_rank(), static_cast<int>(c.local_ranks().size()),
                         &work->told);
  }
  return entry.last.header;
}

void Schedules::learn_blocks(const Communicator& c, const algorithms::Descriptor& algorithm, const Call& call,
                             Workspace* work) {
  if (algorithm.build_tree_header) work->blocks.set_lengths(work->told);
  if (algorithm.build_header) work->blocks.learn(call.operation, c.local_ranks(), work->told);
}

}  // namespace unisono::runtime
