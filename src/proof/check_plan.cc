// SPDX-License-Identifier: BSD-3-Clause
#include "proof/check_plan.h"

#include <algorithm>
#include <limits>

#include "schedule/dependencies.h"

namespace unisono::proof {

namespace {

bool sends_any(const LoadedProgram& program, int step) {
  for (int instance = program.first_instance(step); instance < program.first_instance(step + 1); ++instance) {
    if (program.is_sent(instance)) return true;
  }
  return false;
}

}  // namespace

CheckPlan::CheckPlan(std::vector<const CheckedCall*> calls, const std::vector<std::int64_t>& elements,
                     const CheckLoad& load)
    : calls_(std::move(calls)), elements_(elements), load_(load) {
  int total = 0;
  for (std::size_t call = 0; call < calls_.size(); ++call) {
    CheckLoad own = load;
    own.elements = elements[call];
    auto& programs = programs_.emplace_back();
    auto& offsets = offsets_.emplace_back();
    programs.reserve(calls_[call]->problem.size);
    for (int rank = 0; rank < calls_[call]->problem.size; ++rank) {
      const LoadedProgram& program = programs.emplace_back(*calls_[call], rank, own);
      offsets.push_back(total);
      total += program.instances();
      rank_of_.resize(total, rank);
      call_of_.resize(total, static_cast<std::int32_t>(call));
      for (const int channel : program.program().channel_of) channels_ = std::max(channels_, channel + 1);
      for (const CheckedStep& checked : program.program().steps) {
        has_node_steps_ = has_node_steps_ || checked.is_node;
        has_remote_ =
            has_remote_ || is_remote(checked.step.left.place) || is_remote(checked.step.right.place);
      }
    }
    check_messages(static_cast<int>(call));
  }
  find_threads();
  link();
}

// Both sides of a message have equally many pieces of equal lengths. Where one node leaves the stage out,
// which has short blocks alone, nothing is sent.
void CheckPlan::check_messages(int call) {
  for (const LoadedProgram& sender : programs_[call]) {
    const auto& steps = sender.program().steps;
    for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
      if (steps[i].step.kind != schedule::StepKind::send || steps[i].partner < 0) continue;
      const LoadedProgram& receiver = programs_[call][steps[i].step.peer];
      const CheckedStep& recv = receiver.program().steps[steps[i].partner];
      const auto complain = [&](const std::string& what, std::int64_t own, std::int64_t other) {
        failures_.push_back(proof::describe(*calls_[call], sender.rank(), i) + ": " + what + " " +
                            std::to_string(own) + ", but the receiver's are " + std::to_string(other));
      };
      const std::int64_t pieces = sender.pieces(steps[i].stage);
      if (pieces == 0 || receiver.pieces(recv.stage) == 0) {
        if (sends_any(sender, i) || sends_any(receiver, steps[i].partner))
          complain("its pieces, of which some are sent, are", pieces, receiver.pieces(recv.stage));
        continue;
      }
      if (pieces != receiver.pieces(recv.stage)) {
        complain("its pieces are", pieces, receiver.pieces(recv.stage));
        continue;
      }
      for (int piece = 0; piece < pieces; ++piece) {
        const int own = sender.first_instance(i) + piece;
        const int other = receiver.first_instance(steps[i].partner) + piece;
        const std::int64_t length = sender.range(own, steps[i].step.left).length();
        const std::int64_t other_length = receiver.range(other, recv.step.into).length();
        if (length != other_length || sender.is_sent(own) != receiver.is_sent(other)) {
          complain("the elements of piece " + std::to_string(piece) + " are", length, other_length);
          break;
        }
      }
    }
  }
}

void CheckPlan::link() {
  const int total = instances();
  predecessor_counts_.assign(total, 0);
  first_successor_.assign(total + 1, 0);
  if (has_remote_) {
    releases_.assign(static_cast<std::size_t>(total) * (channels_ + 1),
                     std::numeric_limits<std::int32_t>::max());
  }
  std::vector<std::vector<std::int32_t>> thread_steps(
      ranks(), std::vector<std::int32_t>(static_cast<std::size_t>(channels_ + 1), 0));
  edges_.resize(calls_.size());
  for (std::size_t call = 0; call < calls_.size(); ++call) {
    edges_[call].reserve(ranks());
    for (int rank = 0; rank < ranks(); ++rank) {
      const int offset = offsets_[call][rank];
      const auto& edges = edges_[call].emplace_back(instance_edges(programs_[call][rank]));
      for (const InstanceEdge& edge : edges) {
        ++predecessor_counts_[offset + edge.to];
        ++first_successor_[offset + edge.from + 1];
      }
      if (has_remote_) find_releases(programs_[call][rank], offset, edges, &thread_steps[rank]);
      // Instances of a rank are consecutive and follow those before: the list can be filled as it grows.
      const int count = programs_[call][rank].instances();
      for (int i = offset; i < offset + count; ++i) first_successor_[i + 1] += first_successor_[i];
      successors_.resize(first_successor_[offset + count]);
      std::vector<std::int32_t> fill(first_successor_.begin() + offset,
                                     first_successor_.begin() + offset + count);
      for (const InstanceEdge& edge : edges) {
        successors_[fill[edge.from]++] = {offset + edge.to, edge.is_start};
      }
    }
  }
}

void CheckPlan::find_releases(const LoadedProgram& program, int offset,
                              const std::vector<InstanceEdge>& edges,
                              std::vector<std::int32_t>* thread_steps) {
  const int threads = channels_ + 1;
  const CheckedProgram& steps = program.program();
  std::vector<std::int32_t> own_thread(program.instances(), -1);
  std::vector<std::int32_t> own_place(program.instances(), 0);
  for (std::size_t stage = 0; stage < steps.stages.size(); ++stage) {
    for (int piece = 0; piece < program.pieces(static_cast<int>(stage)); ++piece) {
      for (int step = steps.first_step[stage]; step < steps.first_step[stage + 1]; ++step) {
        if (!steps.steps[step].is_node) continue;
        const int instance = program.first_instance(step) + piece;
        own_thread[instance] = thread_of(offset + instance);
        own_place[instance] = ++(*thread_steps)[own_thread[instance]];
      }
    }
  }
  const auto order = topological_order(program, edges);
  std::vector<std::int32_t> place(program.instances(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<std::int32_t>(i);
  std::vector<InstanceEdge> by_source = edges;
  std::sort(by_source.begin(), by_source.end(),
            [&](const InstanceEdge& a, const InstanceEdge& b) { return place[a.from] > place[b.from]; });
  const auto of = [&](int instance, int thread) -> std::int32_t& {
    return releases_[static_cast<std::size_t>(offset + instance) * threads + thread];
  };
  for (const InstanceEdge& edge : by_source) {
    if (edge.is_start) continue;
    for (int thread = 0; thread < threads; ++thread) {
      of(edge.from, thread) = std::min(of(edge.from, thread), of(edge.to, thread));
    }
    const int thread = own_thread[edge.to];
    if (thread >= 0) of(edge.from, thread) = std::min(of(edge.from, thread), own_place[edge.to]);
  }
  for (int i = 0; i < program.instances(); ++i) {
    if (own_thread[i] >= 0) of(i, own_thread[i]) = std::min(of(i, own_thread[i]), own_place[i]);
  }
}

void CheckPlan::find_threads() {
  thread_of_.assign(rank_of_.size(), -1);
  for (int instance = 0; instance < instances(); ++instance) {
    const CheckedStep& checked = step_of(instance);
    if (!checked.is_node) continue;
    const int channel = program_of(instance).program().channel_of[checked.stage];
    thread_of_[instance] = static_cast<std::int8_t>(channel >= 0 ? channel : channels_);
  }
}

int CheckPlan::partner_of(int instance) const {
  const CheckedStep& checked = step_of(instance);
  const int call = call_of_[instance];
  return offsets_[call][checked.step.peer] +
         programs_[call][checked.step.peer].first_instance(checked.partner) + piece_of(instance);
}

std::string CheckPlan::describe(int instance) const {
  const int call = call_of_[instance];
  const LoadedProgram& program = program_of(instance);
  const int local_instance = local(instance);
  std::string text;
  if (calls_.size() > 1) text = "call " + std::to_string(call) + " (" + calls_[call]->title + "), ";
  text += proof::describe(*calls_[call], rank_of_[instance], program.step_of(local_instance));
  const CheckedStep& checked = step_of(instance);
  if (program.pieces(checked.stage) > 1) {
    text += " (piece " + std::to_string(program.piece_of(local_instance)) + ")";
  }
  return text;
}

}  // namespace unisono::proof
