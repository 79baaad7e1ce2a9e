// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/checks/started_checks.h"

#include <algorithm>
#include <bit>

#include "base/log.h"
#include "base/reduce_kernels.h"
#include "runtime/checks/check_texts.h"
#include "runtime/communicators/learned_class.h"
#include "runtime/engines/call_timing.h"

namespace unisono::runtime {
namespace {

// What an agreement holds of each algorithm: the least check, and of those the least rank, that found it
// wrong; and that could not tell. Large, but positive to a host that takes unsigned numbers for signed ones.
constexpr std::uint64_t nobody = std::uint64_t{1} << 62;
constexpr std::size_t kinds = 2;
enum Kind : std::uint8_t { wrong, doubtful };

constexpr std::size_t most_kept = 8;

std::size_t place_of(const algorithms::Descriptor* algorithm, Kind kind) {
  return kinds * static_cast<std::size_t>(algorithm - algorithms::registry().data()) + kind;
}

std::string text_of(const algorithms::Descriptor& algorithm) {
  return std::string(name(algorithm.operation)) + ":" + std::string(algorithm.name);
}

std::vector<std::uint64_t> findings_to_tell(const Communicator& c) UNISONO_REQUIRES(held_queues) {
  std::vector<std::uint64_t> told(kinds * algorithms::registry().size(), nobody);
  for (const auto& [place, finding] : c.queue->findings) {
    told[place] = finding.check * static_cast<std::uint64_t>(c.size) + static_cast<std::uint64_t>(c.rank);
  }
  return told;
}

}  // namespace

// An agreement costs as much as a small call: they come less and less often after a check.
void StartedChecks::plan(StartedCall* started, bool can_host_start) {
  Communicator& c = *started->communicator;
  CallQueue& queue = *c.queue;
  const Operation operation = started->call.operation;
  StartedVerification& verified = started->verified;
  verified.check.reset();
  if (c.checking.interval == 0) return;
  if (std::has_single_bit(queue.starts_since_check) && agreeing_aside(c) != nullptr)
    started->agreement = StartedCall::Agreement::to_come;
  ++queue.starts_since_check;
  if (started->entry->starts++ % c.checking.interval != 0 || !moves_data(operation)) return;
  if (!can_host_start) {
    if (c.rank == 0)
      log::warning_once("option 'verify': " + std::string(name(operation)) +
                        " of so many elements, not blocking, is not checked: the MPI has no such call");
    return;
  }
  queue.starts_since_check = 1;
  queue.is_to_settle = true;
  Call checked = started->call;
  checked.comm = verified.comm.value_or(checked.comm);
  verified.check =
      std::make_unique<StartedCheck>(world_.host, checked, c.rank, c.size, ++c.checking.calls,
                                     element_of(world_.host, started->call), c.node.neighborhood.get());
  verified.choice = *started->entry->choice;
}

HostPart* StartedChecks::begin(StartedCall* started) {
  StartedCheck& check = *started->verified.check;
  check.begin();
  open_.push_back(&check);
  return &check.host_part;
}

void StartedChecks::host_has_started(HostPart* host, bool (*is_over)(void* context, int* error),
                                     void* context) {
  const LockGuard lock(queues_.mutex());
  host->context = context;
  host->is_over = is_over;
}

// A check stays until it is known that the host is over; other threads do not see it meanwhile.
void StartedChecks::look_at_host_parts() {
  if (open_.empty()) return;
  const auto begun = std::partition(open_.begin(), open_.end(), [](const StartedCheck* check) {
    return check->host_part.is_over == nullptr;
  });
  const std::vector<StartedCheck*> looked_at(begun, open_.end());
  open_.erase(begun, open_.end());
  std::vector<StartedCheck*> over, open;
  {
    const GivenUp given_up(queues_.mutex());
    for (StartedCheck* check : looked_at) {
      const HostPart& host = check->host_part;
      (host.is_over(host.context, &check->host_error) ? over : open).push_back(check);
    }
  }
  for (StartedCheck* check : over) check->is_host_over = true;
  open_.insert(open_.end(), open.begin(), open.end());
}

void StartedChecks::conclude(StartedCall* started) {
  Communicator& c = *started->communicator;
  StartedCheck& check = *started->verified.check;
  Verification& v = check.verification;
  const bool has_output = is_neighborhood(started->call.operation)
                              ? started->work->neighbors.has_packed_output()
                          : started->transfer ? started->transfer->has_packed_output()
                                              : started->work->blocks.has_packed_output();
  check.end(started->error, has_output ? &started->work->packed_output : nullptr);
  started->error = check.host_error;
  using Verdict = StartedCheck::Verdict;
  const Verdict verdict = check.verdict();
  if (c.is_reproducible && (verdict == Verdict::right || verdict == Verdict::unknown)) v.put_own_back();
  if (verdict == Verdict::equal) Checks::correct_host(c, started->call, v);
  const tuning::Choice& choice = started->verified.choice;
  Finding finding{.check = check.number, .text = {}, .closing = {}};
  if (verdict == Verdict::wrong) {
    finding.text = mismatch_text(world_, c, started->call, choice, v, check.wrong_at(), check.number);
    finding.closing = closing_text(world_, c, started->call, choice);
    quarantine_.add(choice.algorithm);
  } else if (verdict == Verdict::unknown) {
    finding.text = doubt_text(started->call, choice);
  }
  KeptCheck kept{.number = check.number,
                 .operation = started->call.operation,
                 .input = v.input(),
                 .own = v.own(),
                 .hosts = v.hosts()};
  const LockGuard lock(queues_.mutex());
  if (verdict != Verdict::unknown && verdict != Verdict::no_opinion) ++started->entry->checks;
  if (verdict == Verdict::wrong) ++started->entry->mismatches;
  CallQueue& queue = *c.queue;
  if (!finding.text.empty()) {
    const Kind kind = verdict == Verdict::wrong ? wrong : doubtful;
    queue.findings.try_emplace(place_of(choice.algorithm, kind), std::move(finding));
  }
  if (may_be_written(world_, kept.input)) queue.kept.push_back(std::move(kept));
  if (queue.kept.size() > most_kept) queue.kept.pop_front();
}

// The schedule of an agreement between calls, which must not wait inside; null: there is none.
const schedule::Compiled* StartedChecks::agreeing_aside(Communicator& c) const {
  CallQueue& queue = *c.queue;
  if (queue.agreeing != nullptr) return queue.agreeing.get();
  const Call call{.operation = Operation::allreduce, .is_in_place = true, .comm = c.handle};
  const std::size_t bytes = kinds * algorithms::registry().size() * sizeof(std::uint64_t);
  tuning::Question asked = decisions_.question(c, call, true, static_cast<std::int64_t>(bytes), false);
  asked.problem.is_reproducible = false;
  asked.quarantined = nullptr;
  for (const algorithms::Descriptor* known : algorithms::agreements()) {
    const tuning::Choice choice{.algorithm = known};
    if (!tuning::why_not_taken(choice, asked).empty()) continue;
    schedule::Problem what = problem_of(c, call, true);
    what.is_in_place = true;
    what.is_reproducible = false;
    queue.agreeing =
        schedule::compile(what, choice.algorithm->build(what, algorithms::with_standards(*choice.algorithm)));
    return queue.agreeing.get();
  }
  return nullptr;
}

void StartedChecks::start_agreement(StartedCall* started) const {
  Communicator& c = *started->communicator;
  started->verified.findings = findings_to_tell(c);
  const shm::Combine least{.element_bytes = sizeof started->verified.findings[0],
                           .kernel = reduce_kernel(ReduceOp::min, ElementType::int64)};
  started->work->executor.start(*c.queue->agreeing, schedules_.ground_of_started(*started),
                                {.output = started->verified.findings.data(),
                                 .elements = static_cast<std::int64_t>(started->verified.findings.size()),
                                 .element_bytes = sizeof started->verified.findings[0],
                                 .combine = least});
}

std::string StartedChecks::write_kept(const Communicator& c, std::uint64_t check) const {
  const auto kept = std::ranges::find(c.queue->kept, check, &KeptCheck::number);
  if (kept == c.queue->kept.end()) return {};
  return write_input(
      world_, c, check,
      {.operation = kept->operation, .input = kept->input, .own = kept->own, .hosts = kept->hosts});
}

// The same on all ranks, between the same calls.
void StartedChecks::take_findings(Communicator& c, const std::vector<std::uint64_t>& told) {
  CallQueue& queue = *c.queue;
  const auto& all = algorithms::registry();
  const auto size = static_cast<std::uint64_t>(c.size);
  for (std::size_t place = 0; place < told.size(); ++place) {
    if (told[place] >= nobody) continue;
    const algorithms::Descriptor* algorithm = &all[place / kinds];
    const bool is_wrong = place % kinds == wrong;
    const auto own = queue.findings.extract(place);
    const bool is_new =
        is_wrong ? !c.checking.quarantined.contains(algorithm) && queue.found.insert(algorithm).second
                 : queue.doubted.insert(algorithm).second;
    if (!is_new) continue;
    const std::uint64_t check = told[place] / size;
    std::string files;
    if (is_wrong) {
      quarantine_.add(algorithm);
      checks_.note_quarantine(c, text_of(*algorithm));
      files = write_kept(c, check);
    }
    if (told[place] % size == static_cast<std::uint64_t>(c.rank) && !own.empty()) {
      const Finding& finding = own.mapped();
      if (is_wrong) log::warning(finding.text + inputs_text(files) + finding.closing);
      if (!is_wrong) log::warning_once(finding.text);
    }
  }
}

void StartedChecks::say_findings(Communicator& c) const {
  if (c.queue == nullptr) return;
  for (const auto& [place, finding] : c.queue->findings) {
    const bool is_wrong = place % kinds == wrong;
    log::warning(is_wrong ? finding.text + inputs_text(write_kept(c, finding.check)) + finding.closing
                          : finding.text);
  }
  c.queue->findings.clear();
}

// Another algorithm of Unisono's. Not the host: it would have to have been started in the order of the calls.
tuning::Choice StartedChecks::find_stand_in(Communicator& c, const StartedCall& started) {
  std::set<const algorithms::Descriptor*> not_used = c.checking.quarantined;
  not_used.insert(c.queue->found.begin(), c.queue->found.end());
  tuning::Question asked = decisions_.question(c, started.call, started.is_commutative, started.bytes, false);
  asked.quarantined = &not_used;
  const std::string reason = "stands in until the next blocking collective for what was found wrong";
  for (tuning::Considered& considered : decisions_.consider(asked)) {
    if (!considered.why_not.empty() || considered.choice.algorithm == nullptr) continue;
    considered.choice.reason = reason;
    return std::move(considered.choice);
  }
  for (const algorithms::Descriptor& algorithm : algorithms::registry()) {
    tuning::Choice choice{.algorithm = &algorithm, .reason = reason, .source = "rule"};
    if (algorithm.operation != started.call.operation || !tuning::why_not_taken(choice, asked).empty())
      continue;
    choice.parameters = algorithms::with_standards(algorithm);
    return choice;
  }
  return {};
}

bool StartedChecks::replace_where_found_wrong(StartedCall* started) {
  Communicator& c = *started->communicator;
  const auto& found = c.queue->found;
  CallClass* entry = started->entry;
  while (!found.empty() && found.contains(started->algorithm)) {
    if (entry->stand_in == nullptr) {
      tuning::Choice choice = find_stand_in(c, *started);
      if (choice.algorithm == nullptr) return false;
      entry->stand_in = std::make_unique<CallClass>();
      entry->stand_in->kind = kind_of(c, choice, problem_of(c, started->call, started->is_commutative));
      entry->stand_in->choice = std::make_unique<tuning::Choice>(std::move(choice));
    }
    const auto bytes = static_cast<std::uint64_t>(started->bytes);
    CallTiming::move(*entry, *entry->stand_in, bytes);
    entry = entry->stand_in.get();
    started->algorithm = entry->choice->algorithm;
  }
  if (entry == started->entry) return false;
  started->entry = entry;
  if (started->verified.check != nullptr) started->verified.choice = *entry->choice;
  Workspace& work = *started->work;
  const bool is_uneven = has_uneven_blocks(started->call.operation);
  const bool is_in_place = is_uneven ? work.blocks.is_in_place() : started->transfer->is_in_place();
  started->compiled = Schedules::compiled(c, *entry, started->call, is_in_place, started->is_commutative);
  started->header = nullptr;
  if (is_uneven)
    started->header = Schedules::header(c, *entry, started->call, false, &work, &started->header_data);
  return true;
}

void StartedChecks::settle(Communicator& c) {
  drain(c, progress_);
  CallQueue& queue = *c.queue;
  if (!queue.is_to_settle) return;
  queue.is_to_settle = false;
  if (std::exchange(queue.gives_up_single_copy, false)) decisions_.give_up_single_copy(c);
  if (c.checking.interval == 0) return;
  std::vector<std::uint64_t> told = findings_to_tell(c);
  if (world_.host.agree(told.data(), static_cast<int>(told.size()), host::AgreeOp::min, c.handle) !=
      host::success)
    return;
  take_findings(c, told);
  queue.kept.clear();
  if (queue.found.empty()) return;
  c.checking.quarantined.insert(queue.found.begin(), queue.found.end());
  queue.found.clear();
  checks_.leave_out_quarantined(c);
}

}  // namespace unisono::runtime
