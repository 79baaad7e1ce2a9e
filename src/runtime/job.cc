// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/job.h"

#include <utility>
#include <vector>

#include "algorithms/catalogue/descriptor.h"
#include "base/log.h"
#include "base/wire.h"
#include "runtime/decisions/known_tables.h"
#include "runtime/job_parts.h"
#include "runtime/learning/learned_rules.h"
#include "runtime/reports/job_report.h"
#include "runtime/reports/report.h"
#include "runtime/world/telling.h"

namespace unisono::runtime {

Job::Job(host::Host& host, Options options, const std::vector<std::string>& warnings)
    : parts_(std::make_unique<JobParts>(host, std::move(options), warnings)) {
  is_finished_ = !parts_->world.is_open();
  parts_->gate.set_open(parts_->world.is_open() && parts_->world.options.is_enabled);
  if (is_finished_) return;
  if (parts_->world.rank == 0) remove_old_report(parts_->world.options.report);
  parts_->communicators.when_one_ends([this](Communicator& c, bool is_freed) {
    parts_->started_checks.say_findings(c);
    parts_->records.lock()->absorb(c);
    if (is_freed) parts_->persistent.mark_freed(c.handle);
  });
  parts_->learning.findings().use_board(parts_->world.pool->board());
  std::vector<std::string> warnings_of_tables;
  // All hear it while they set up the world.
  Telling known(parts_->world.host, parts_->world.comm, read_known(&warnings_of_tables));
  Communicator* world = parts_->gate.is_open() ? set_up_world() : nullptr;
  take_known(known.heard(), std::move(warnings_of_tables));
  if (world != nullptr && world->node.slice != nullptr) touch_memory(*world);
  parts_->messages.begin();
  if (parts_->world.options.progress != "calls") parts_->progress.start_thread();
}

// What rank 0 has read of former jobs decides for all ranks.
std::string Job::read_known(std::vector<std::string>* warnings) const {
  if (parts_->world.rank != 0) return {};
  WireWriter own;
  own.text(read_crashes_before(parts_->world));
  own.text(read_tables(parts_->world, warnings));
  return own.bytes();
}

void Job::take_known(const std::string& read, std::vector<std::string> warnings) {
  const World& world = parts_->world;
  WireReader reader(read);
  CrashesBefore before = crashes_before(world, reader.text());
  parts_->own_crash = std::move(before.own);
  parts_->decisions.leave_out(std::move(before.left_out));
  std::vector<tuning::SourcedTable> tables = tables_of(world, reader.text(), &warnings);
  parts_->learning.begin_with(tables);
  parts_->decisions.decide_by(
      tuning::standard_decider(world.options.algorithm, std::move(tables), &warnings));
  if (world.rank == 0) world.notices().warn_of(warnings);
}

// A program may have nothing but non-blocking collectives, which must not wait for a set-up. What every
// program's first calls would wait for is done here, too: making the list of algorithms takes half a
// millisecond.
Communicator* Job::set_up_world() {
  static_cast<void>(algorithms::registry());
  return parts_->communicators.begin(parts_->world.host.world());
}

// Where ranks share cores they do not wait for each other's first touch: the waiting takes longer than the
// pages that their first calls map.
void Job::touch_memory(Communicator& world) {
  world.node.slice->touch_own_share();
  if (parts_->world.shares_cores()) return;
  try {
    world.node.slice->barrier();  // so all of this node have done that
  } catch (const PeerLost& lost) {
    parts_->communicators.end_with_lost_peer(world.handle, lost);
    return;
  }
  world.node.slice->touch_shares();
}

Job::~Job() {
  finish();
}

bool Job::has_stepped_aside() const {
  return !parts_->world.is_open();
}

Outcome Job::collective(const Call& call, int* error) {
  return parts_->blocking.run(call, error);
}

Outcome Job::collective_staged(const Call& call, int* error) {
  return parts_->blocking.run_staged(call, error);
}

bool Job::leaves_to_host(Operation operation, host::Comm handle, const Reduced* reduced) {
  return parts_->blocking.leaves_to_host(operation, handle, reduced);
}

void Job::native_finished(const Call&, double seconds) {
  BlockingCalls::native_finished(seconds);
}

int Job::compare(const Call& call, int host_error) {
  return parts_->blocking.compare(call, host_error);
}

Outcome Job::start(const Call& call, const Completion& completion, HostPart** host) {
  return parts_->started.start(call, completion, host);
}

void Job::host_has_started(HostPart* host, bool (*is_over)(void* context, int* error), void* context) {
  parts_->started_checks.host_has_started(host, is_over, context);
}

bool Job::has_calls_under_way() const {
  return parts_->progress.under_way() != 0;
}

bool Job::make_progress() {
  return parts_->progress.make();
}

Communicators& Job::communicators() {
  return parts_->communicators;
}

PersistentCalls& Job::persistent() {
  return parts_->persistent;
}

// Communicators look again at which region they are in.
void Job::begin_region(const std::string& name) {
  if (!parts_->regions.are_told_apart()) return;
  parts_->regions.begin(name);
  parts_->communicators.look_again();
}

void Job::end_region() {
  if (!parts_->regions.are_told_apart()) return;
  parts_->regions.end();
  parts_->communicators.look_again();
}

bool Job::set_algorithm(const std::string& text) {
  if (!parts_->decisions.force(text)) return false;
  parts_->set_up.serve_all();
  const std::vector<Communicator*> all = parts_->communicators.all();
  const LockGuard lock(parts_->queues.mutex());
  for (Communicator* c : all) {
    for (int op = 0; op < operation_count; ++op)
      parts_->decisions.decide_anew(*c, static_cast<Operation>(op), [](const CallClass&) { return true; });
  }
  return true;
}

std::optional<tuning::Choice> Job::decision(Operation operation, std::int64_t bytes,
                                            std::optional<host::Comm> handle) {
  Communicator* c = parts_->communicators.find_known(handle.value_or(parts_->world.host.world()));
  if (c == nullptr || c->native_reason != NativeReason::none) return std::nullopt;
  return parts_->learning.choice_for(*c, operation, bytes);
}

std::optional<CrashFacts> Job::crash_facts() const {
  return parts_->gate.is_open() ? runtime::crash_facts(parts_->world, parts_->own_crash) : std::nullopt;
}

void Job::finish() {
  if (std::exchange(is_finished_, true)) return;
  parts_->communicators.forget_watches();
  parts_->messages.end();
  end_calls();
  for (Communicator* c : parts_->communicators.all()) {
    parts_->started_checks.say_findings(*c);
    parts_->records.lock()->absorb(*c);
  }
  parts_->gate.left().visit([this](Operation operation, NativeReason reason, std::uint64_t calls) {
    parts_->records.lock()->add_native(operation, reason, calls);
  });
  parts_->records.lock()->absorb_starts();
  parts_->regions.say_open();
  parts_->learning.keep_tested();
  report();
  parts_->communicators.clear();
  parts_->learning.findings().leave_board();
  parts_->world.close();
}

// All ranks come here, unless one has died.
void Job::end_calls() {
  if (!parts_->world.has_lost_peer) {
    Communicator* world = parts_->communicators.find_known(parts_->world.host.world());
    if (world != nullptr && world->queue != nullptr && world->queue->is_to_settle)
      parts_->started_checks.settle(*world);
    for (Communicator* c : parts_->communicators.all()) parts_->set_up.end_aside(*c);
  }
  parts_->progress.stop();
  parts_->persistent.end_all();
}

// Where there are kept rules the job may have gone by them, whether it learns or not.
void Job::report() {
  const bool is_reported = !parts_->world.options.report.empty();
  if ((!is_reported && !parts_->learning.has_known_rules()) || parts_->world.has_lost_peer) return;
  const double under_way_s = parts_->started.under_way_s();
  const auto records = parts_->records.lock();
  const RankRecords own =
      is_reported ? records->all({now_s() - parts_->world.started_s, under_way_s}) : records->learned_alone();
  const JobRecords of_all = gather_records(parts_->world.host, parts_->world.comm, own);
  if (parts_->world.rank != 0) return;
  if (const std::string problem = of_all.problem(); !problem.empty()) parts_->world.notices().warn(problem);
  if (parts_->learning.has_known_rules()) {
    const std::string message = keep_learned(of_all.learned, store_place(parts_->world),
                                             parts_->world.host.library_name(), parts_->world.options.learn);
    if (!message.empty()) log::warning(message);
  }
  if (!is_reported) return;
  std::vector<std::string> hints;
  if (parts_->decisions.has_left_for_progress()) {
    hints.emplace_back(
        "calls that do not block were left to the MPI, since Unisono's messages could not go on while the "
        "program is elsewhere: ask for MPI_THREAD_MULTIPLE (MPI_Init_thread), or set UNISONO_PROGRESS=calls");
  }
  write_job_report(parts_->world, std::move(hints), of_all);
}

}  // namespace unisono::runtime
