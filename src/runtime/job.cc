// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/job.h"

#include <utility>
#include <vector>

#include "algorithms/catalogue/descriptor.h"
#include "base/log.h"
#include "runtime/decisions/known_tables.h"
#include "runtime/learning/learned_rules.h"
#include "runtime/reports/job_report.h"

namespace unisono::runtime {

Job::Job(host::Host& host, Options options, const std::vector<std::string>& warnings)
    : world_(host, std::move(options), warnings),
      regions_(world_),
      slices_(world_),
      set_up_(world_, progress_, slices_, quarantine_),
      communicators_(world_, progress_, gate_, regions_, set_up_),
      single_copy_(queues_),
      schedules_(world_, progress_, single_copy_),
      engines_(world_, schedules_),
      decisions_(world_, regions_, records_),
      learning_(world_, decisions_, schedules_),
      checks_(world_, decisions_, quarantine_),
      started_checks_(world_, progress_, queues_, decisions_, schedules_, quarantine_, checks_),
      started_(world_, gate_, progress_, queues_, communicators_, slices_, decisions_, engines_, learning_,
               started_checks_),
      persistent_(world_, gate_, queues_, communicators_, set_up_, slices_, started_, checks_,
                  started_checks_, records_),
      blocking_(world_, gate_, communicators_, schedules_, engines_, learning_, checks_, started_checks_) {
  is_finished_ = !world_.is_open();
  gate_.set_open(world_.is_open() && world_.options.is_enabled);
  if (is_finished_) return;
  communicators_.when_one_ends([this](Communicator& c, bool is_freed) {
    started_checks_.say_findings(c);
    records_.lock()->absorb(c);
    if (is_freed) persistent_.mark_freed(c.handle);
  });
  learning_.findings().use_board(world_.pool->board());
  CrashesBefore before = find_crashes_before(world_);
  own_crash_ = std::move(before.own);
  decisions_.leave_out(std::move(before.left_out));
  make_decider();
  set_up_world();
}

void Job::make_decider() {
  std::vector<std::string> warnings;
  std::vector<tuning::SourcedTable> tables = read_tables(world_, &warnings);
  learning_.begin_with(tables);
  decisions_.decide_by(tuning::standard_decider(world_.options.algorithm, std::move(tables), &warnings));
  if (world_.rank == 0) world_.notices().warn_of(warnings);
}

// A program may have nothing but non-blocking collectives, which must not wait for a set-up. What every
// program's first calls would wait for is done here, too: making the list of algorithms takes half a
// millisecond.
void Job::set_up_world() {
  const shm::Slice* slice = nullptr;
  if (gate_.is_open()) {
    static_cast<void>(algorithms::registry());
    slice = communicators_.find(world_.host.world())->node.slice.get();
  }
  if (slice != nullptr) slice->touch_own_share();
  world_.agree_on_calls_aside();  // so all have done that
  if (world_.options.progress != "calls") progress_.start_thread();
  if (slice != nullptr) slice->touch_shares();
}

// Communicators look again at which region they are in.
void Job::begin_region(const std::string& name) {
  regions_.begin(name);
  communicators_.look_again();
}

void Job::end_region() {
  regions_.end();
  communicators_.look_again();
}

bool Job::set_algorithm(const std::string& text) {
  if (!decisions_.force(text)) return false;
  set_up_.serve_all();
  const std::vector<Communicator*> all = communicators_.all();
  const LockGuard lock(queues_.mutex());
  for (Communicator* c : all) {
    for (int op = 0; op < operation_count; ++op)
      decisions_.decide_anew(*c, static_cast<Operation>(op), [](const CallClass&) { return true; });
  }
  return true;
}

std::optional<tuning::Choice> Job::decision(Operation operation, std::int64_t bytes,
                                            std::optional<host::Comm> handle) {
  Communicator* c = communicators_.find_known(handle.value_or(world_.host.world()));
  if (c == nullptr || c->native_reason != NativeReason::none) return std::nullopt;
  return learning_.choice_for(*c, operation, bytes);
}

std::optional<CrashFacts> Job::crash_facts() const {
  return gate_.is_open() ? runtime::crash_facts(world_, own_crash_) : std::nullopt;
}

void Job::finish() {
  if (std::exchange(is_finished_, true)) return;
  communicators_.forget_watches();
  end_calls();
  for (Communicator* c : communicators_.all()) {
    started_checks_.say_findings(*c);
    records_.lock()->absorb(*c);
  }
  gate_.left().visit([this](Operation operation, NativeReason reason, std::uint64_t calls) {
    records_.lock()->add_native(operation, reason, calls);
  });
  records_.lock()->absorb_starts();
  regions_.say_open();
  learning_.keep_tested();
  report();
  communicators_.clear();
  learning_.findings().leave_board();
  world_.close();
}

// All ranks come here, unless one has died.
void Job::end_calls() {
  if (!world_.has_lost_peer) {
    Communicator* world = communicators_.find_known(world_.host.world());
    if (world != nullptr && world->queue != nullptr && world->queue->is_to_settle)
      started_checks_.settle(*world);
    for (Communicator* c : communicators_.all()) set_up_.end_aside(*c);
  }
  progress_.stop();
  persistent_.end_all();
}

// Where there are kept rules the job may have gone by them, whether it learns or not.
void Job::report() {
  const bool is_reported = !world_.options.report.empty();
  if ((!is_reported && !learning_.has_known_rules()) || world_.has_lost_peer) return;
  const double under_way_s = started_.under_way_s();
  const auto records = records_.lock();
  const RankRecords own =
      is_reported ? records->all({now_s() - world_.started_s, under_way_s}) : records->learned_alone();
  const JobRecords of_all = gather_records(world_.host, world_.comm, own);
  if (world_.rank != 0) return;
  if (const std::string problem = of_all.problem(); !problem.empty()) world_.notices().warn(problem);
  if (learning_.has_known_rules()) {
    const std::string message =
        keep_learned(of_all.learned, store_place(world_), world_.host.library_name(), world_.options.learn);
    if (!message.empty()) log::warning(message);
  }
  if (!is_reported) return;
  std::vector<std::string> hints;
  if (decisions_.has_left_for_progress()) {
    hints.emplace_back(
        "calls that do not block were left to the MPI, since Unisono's messages could not go on while the "
        "program is elsewhere: ask for MPI_THREAD_MULTIPLE (MPI_Init_thread), or set UNISONO_PROGRESS=calls");
  }
  write_job_report(world_, std::move(hints), of_all);
}

}  // namespace unisono::runtime
