// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/reports/learned.h"

#include <algorithm>
#include <cmath>

#include "tuning/decisions/size_class.h"

namespace unisono::runtime {
namespace {

// Does this job know that the choice is faster than what would be used without learning?
bool is_compared(const tuning::Policy& policy, int usual) {
  return policy.is_measured(usual) && policy.is_measured(policy.chosen());
}

LearnedCandidate candidate_of(const LearnedClass& learned, std::size_t k) {
  const tuning::Learner& learner = learned.learner;
  const auto candidate = static_cast<int>(k);
  return {.algorithm = used_algorithm(*learned.blocking[k].choice),
          .is_chosen = learner.policy().chosen() == candidate,
          .calls = learned.blocking[k].calls,
          .measured_calls = learner.measured_calls(candidate),
          .time_s = learner.policy().time_s(candidate),
          .quietest_s = learner.policy().quietest_s(candidate)};
}

void write(WireWriter* writer, const LearnedCandidate& candidate) {
  write(writer, candidate.algorithm);
  writer->flag(candidate.is_chosen);
  writer->number(candidate.calls);
  writer->number(candidate.measured_calls);
  writer->real(candidate.time_s);
  writer->real(candidate.quietest_s);
}

LearnedCandidate read_candidate(WireReader* reader) {
  LearnedCandidate candidate{.algorithm = read_used_algorithm(reader), .is_chosen = reader->flag()};
  candidate.calls = reader->number();
  candidate.measured_calls = reader->number();
  candidate.time_s = reader->real();
  candidate.quietest_s = reader->real();
  return candidate;
}

void write(WireWriter* writer, const LearnedEvent& event) {
  writer->number(event.call);
  writer->text(event.algorithm);
  writer->flag(event.is_trial);
  writer->text(event.why);
}

LearnedEvent read_event(WireReader* reader) {
  LearnedEvent event{.call = reader->number(), .algorithm = reader->text()};
  event.is_trial = reader->flag();
  event.why = reader->text();
  return event;
}

void write_text(WireWriter* writer, const std::string& text) {
  writer->text(text);
}

void write(WireWriter* writer, const LearnedKind& kind) {
  writer->integer(kind.communicator);
  writer->text(kind.shape);
  writer->text(kind.layout);
  for (const bool flag : {kind.is_oversubscribed, kind.is_reproducible, kind.is_commutative})
    writer->flag(flag);
  writer->integer(static_cast<int>(kind.operation));
  writer->integer(kind.size_class);
  writer->text(kind.region);
  writer->integer(static_cast<int>(kind.compared));
  writer->number(kind.calls);
  writer->number(kind.agreements);
  writer->text(kind.chosen);
  writer->real(kind.time_s);
  write(writer, kind.usual);
  writer->flag(kind.is_compared_with_usual);
  for (const double value :
       {kind.uncertainty, kind.trial_loss_s, kind.measuring_overhead_s, kind.monitoring_overhead_s})
    writer->real(value);
  writer->list(kind.candidates, [](WireWriter* to, const LearnedCandidate& of) { write(to, of); });
  writer->list(kind.untried, write_text);
  writer->list(kind.timeline, [](WireWriter* to, const LearnedEvent& of) { write(to, of); });
}

LearnedKind read_kind(WireReader* reader) {
  LearnedKind kind;
  kind.communicator = reader->whole();
  kind.shape = reader->text();
  kind.layout = reader->text();
  for (bool* flag : {&kind.is_oversubscribed, &kind.is_reproducible, &kind.is_commutative})
    *flag = reader->flag();
  kind.operation = reader->one_of<Operation>(operation_count);
  kind.size_class = static_cast<int>(reader->between(0, tuning::size_class_count - 1));
  kind.region = reader->text();
  kind.compared = reader->one_of<Compared>(compared_count);
  kind.calls = reader->number();
  kind.agreements = reader->number();
  kind.chosen = reader->text();
  kind.time_s = reader->real();
  kind.usual = read_used_algorithm(reader);
  kind.is_compared_with_usual = reader->flag();
  for (double* value :
       {&kind.uncertainty, &kind.trial_loss_s, &kind.measuring_overhead_s, &kind.monitoring_overhead_s})
    *value = reader->real();
  kind.candidates = reader->list<LearnedCandidate>(read_candidate);
  kind.untried = reader->list<std::string>([](WireReader* from) { return from->text(); });
  kind.timeline = reader->list<LearnedEvent>(read_event);
  return kind;
}

}  // namespace

UsedAlgorithm used_algorithm(const tuning::Choice& choice) {
  return {.name = std::string(choice.name()), .parameters = choice.parameters.values()};
}

void write(WireWriter* writer, const UsedAlgorithm& used) {
  writer->text(used.name);
  writer->list(used.parameters, [](WireWriter* to, const ParameterValues::value_type& of) {
    to->text(of.first);
    to->integer(of.second);
  });
}

UsedAlgorithm read_used_algorithm(WireReader* reader) {
  UsedAlgorithm used{.name = reader->text(), .parameters = {}};
  used.parameters = reader->list<ParameterValues::value_type>([](WireReader* from) {
    std::string name = from->text();
    return ParameterValues::value_type(std::move(name), from->integer());
  });
  return used;
}

LearnedKind learned_kind(const Communicator& c, Operation operation, int size_class,
                         const LearnedClass& learned) {
  const tuning::Learner& learner = learned.learner;
  const tuning::Policy& policy = learner.policy();
  const auto usual = static_cast<int>(learned.usual);
  const auto name_of = [&](int k) {
    return std::string(learned.blocking[static_cast<std::size_t>(k)].choice->name());
  };
  LearnedKind kind{.communicator = c.id,
                   .shape = c.layout->describe(),
                   .layout = c.layout->text(),
                   .is_oversubscribed = c.is_oversubscribed,
                   .is_reproducible = c.is_reproducible,
                   .is_commutative = learned.is_commutative,
                   .operation = operation,
                   .size_class = size_class,
                   .region = learned.region,
                   .compared = learner.is_mean()      ? Compared::mean
                               : learner.is_longest() ? Compared::longest
                                                      : Compared::shortest,
                   .calls = learned.calls(),
                   .agreements = learner.agreements(),
                   .chosen = name_of(policy.chosen()),
                   .time_s = policy.time_s(policy.chosen()),
                   .usual = used_algorithm(*learned.blocking[learned.usual].choice),
                   .is_compared_with_usual = is_compared(policy, usual),
                   .uncertainty = std::max(policy.uncertainty(policy.chosen()), policy.uncertainty(usual)),
                   .trial_loss_s = learner.trial_loss_s(),
                   .measuring_overhead_s = learner.measuring_overhead_s(),
                   .monitoring_overhead_s = learner.monitoring_overhead_s(),
                   .candidates = {},
                   .untried = {},
                   .timeline = {}};
  for (std::size_t k = 0; k < learned.blocking.size(); ++k) {
    if (learned.blocking[k].calls != 0) {
      kind.candidates.push_back(candidate_of(learned, k));
    } else {
      kind.untried.push_back(name_of(static_cast<int>(k)));
    }
  }
  for (const tuning::Event& event : learner.events())
    kind.timeline.push_back({event.call, name_of(event.candidate), event.is_trial, event.why});
  return kind;
}

void write(WireWriter* writer, const Learned& learned) {
  writer->list(learned.kinds, [](WireWriter* to, const LearnedKind& of) { write(to, of); });
  writer->list(learned.leans, [](WireWriter* to, const tuning::Lean& of) { tuning::write(to, of); });
}

Learned read_learned(WireReader* reader) {
  Learned learned;
  learned.kinds = reader->list<LearnedKind>(read_kind);
  learned.leans = reader->list<tuning::Lean>(tuning::read_lean);
  return learned;
}

void keep_most_important(std::vector<LearnedKind>* kinds) {
  const auto spent_s = [](const LearnedKind& kind) {
    return std::isfinite(kind.time_s) ? kind.time_s * static_cast<double>(kind.calls) : 0.0;
  };
  std::ranges::stable_sort(*kinds, std::greater<>(), spent_s);
  if (kinds->size() > most_learned) kinds->resize(most_learned);
}

tuning::Confirmation confirmation_of(const LearnedClass& learned) {
  const tuning::Policy& policy = learned.learner.policy();
  // Where results must be reproducible what kept rules compared with may not run.
  if (learned.kind.is_reproducible || !is_compared(policy, static_cast<int>(learned.usual)))
    return tuning::Confirmation::none;
  const tuning::Choice& chosen = *learned.blocking[static_cast<std::size_t>(policy.chosen())].choice;
  return tuning::is_same({chosen.algorithm, chosen.parameters}, learned.told)
             ? tuning::Confirmation::confirmed
             : tuning::Confirmation::contradicted;
}

}  // namespace unisono::runtime
