// SPDX-License-Identifier: BSD-3-Clause
// Set-up: of the job at MPI_Init, of a communicator at its first blocking collective. Everything that can
// fail on one rank is tried here, and one agreement decides for all.
#include <algorithm>
#include <cstdint>
#include <thread>
#include <utility>

#include "algorithms/descriptor.h"
#include "base/log.h"
#include "patterns/layout_text.h"
#include "runtime/call_queue.h"
#include "runtime/job.h"
#include "runtime/learning.h"
#include "runtime/report_place.h"
#include "runtime/set_up_aside.h"

namespace unisono::runtime {
Job::Job(host::Host& host) : host_(host), identifiers_(Communicator::numbers_within(host.largest_tag())) {
  world_rank_ = host.comm_rank(host.world());
  world_size_ = host.comm_size(host.world());
  if (host.comm_split(host.world(), 0, world_rank_, &world_) != host::success) {
    is_enabled_ = false;
    is_finished_ = true;
    log::warning("the private communicator could not be made; every collective goes to the MPI");
    return;
  }
  if (steps_aside()) return;
  agree_on_options();
  shm::PoolOptions pool_options{.capacity_bytes = static_cast<std::size_t>(options_.pool_bytes),
                                .use_memfd = options_.segment == "memfd",
                                .use_single_copy = options_.use_single_copy};
  pool_ = shm::Pool::create(host, world_, pool_options);
  findings_.use_board(pool_->board());
  if (!pool_->why_unavailable().empty() && options_.use_shared_memory) {
    warnings_.push_back("this rank shares no memory: " + pool_->why_unavailable());
    // What holds for one rank holds for its neighbours as a rule: one of each host says it.
    const auto& hosts = pool_->host_names();
    const auto first = std::find(hosts.begin(), hosts.end(), hosts[static_cast<std::size_t>(world_rank_)]);
    if (first - hosts.begin() == world_rank_) log::warning_once(warnings_.back());
  }
  find_nodes();
  find_switches();
  find_machine();
  find_left_out();
  make_decider();
  set_up_world();
}

// A program may have nothing but non-blocking collectives, which must not wait for a set-up. What every
// program's first calls would wait for is done here, too: making the list of algorithms takes half a
// millisecond.
void Job::set_up_world() {
  const shm::Slice* slice = nullptr;
  if (is_enabled_) {
    static_cast<void>(algorithms::registry());
    slice = find(host_.world())->slice.get();
  }
  if (slice != nullptr) slice->touch_own_share();
  choose_progress();  // the ranks agree, so all have done that
  if (slice != nullptr) slice->touch_shares();
}

// Messages go on aside where every rank's host may be called by several threads; what goes by shared memory
// does so everywhere.
void Job::choose_progress() {
  std::uint64_t is_multiple = host_.is_thread_multiple() ? 1 : 0;
  const int error = host_.agree(&is_multiple, 1, host::AgreeOp::band, world_);
  may_call_host_aside_ = (error == host::success && is_multiple != 0) || options_.progress == "calls";
  if (options_.progress == "calls") return;
  thread_ = std::make_unique<ProgressThread>(
      ProgressThread::Work{[](void* job) { return static_cast<Job*>(job)->advance_aside(); }, this});
}

void Job::find_nodes() {
  node_labels_ = pool_->node_labels();
  if (!options_.nodes.empty()) {
    const auto pretended = patterns::Layout::parse(options_.nodes);
    if (pretended && pretended->size() == world_size_) {
      for (std::size_t r = 0; r < node_labels_.size(); ++r)
        node_labels_[r] = node_labels_[r] * world_size_ + pretended->node_of[r];
    } else {
      warnings_.push_back("option nodes '" + options_.nodes + "' is ignored: it " +
                          (pretended ? "holds " + std::to_string(pretended->size()) + " ranks, the job has " +
                                           std::to_string(world_size_)
                                     : patterns::why_no_layout(options_.nodes)));
      if (world_rank_ == 0) log::warning(warnings_.back());
    }
  }
  // Pretended nodes share the cores of the real one.
  cores_ = pool_->cores();
  if (options_.cores == 0) return;
  std::map<int, std::int64_t> ranks_on_node;
  for (int label : pool_->node_labels()) ++ranks_on_node[label];
  for (std::size_t r = 0; r < cores_.size(); ++r) {
    cores_[r] = {.cores = static_cast<int>(options_.cores),
                 .is_crowded = ranks_on_node[pool_->node_labels()[r]] > options_.cores};
  }
}

Job::~Job() {
  finish();
}

std::string Job::as_rank_0_has_it(std::string text) {
  std::uint64_t length = text.size();
  host_.bcast_bytes(&length, sizeof length, 0, world_);
  text.resize(length);
  host_.bcast_bytes(text.data(), length, 0, world_);
  return text;
}

void Job::agree_on_options() {
  // Rank 0's options hold for all.
  std::vector<std::string> warnings;
  options_ = read_options(&warnings);
  log::set_level(log::level_from_name(options_.log));
  const std::string text = as_rank_0_has_it(to_text(options_));
  if (world_rank_ == 0) {
    for (const std::string& w : warnings) log::warning(w);
    warnings_ = std::move(warnings);
  } else {
    std::vector<std::string> none;
    options_ = options_from_text(text, &none);
  }
  log::set_level(log::level_from_name(options_.log));
  is_enabled_ = options_.is_enabled;
  learn_mode_ = options_.learn == "star"   ? LearnMode::star
                : options_.learn == "auto" ? LearnMode::guarded
                                           : LearnMode::off;
  learn_settings_ = {.iterations = static_cast<int>(options_.learn_iterations),
                     .tolerance = options_.learn_tolerance / 100,
                     .most_factor = static_cast<int>(options_.learn_factor),
                     .has_groups = options_.learn_groups,
                     .prune = options_.learn_prune / 100,
                     .budget_share = options_.learn_budget / 100};
  if (options_.is_reproducible && !options_.is_enabled && world_rank_ == 0) {
    log::warning("option 'reproducible' has no effect: Unisono is switched off (option 'enable')");
  }
}

void Job::make_decider() {
  std::vector<std::string> warnings;
  std::vector<tuning::SourcedTable> tables = read_tables(&warnings);
  const bool has_kept = std::ranges::any_of(tables, [](const tuning::SourcedTable& sourced) {
    return sourced.source == tuning::learned_source && !sourced.table.rules.empty();
  });
  if (is_learning() || has_kept) known_rules_.emplace(tables);
  decider_ = tuning::standard_decider(options_.algorithm, std::move(tables), &warnings);
  if (world_rank_ != 0) return;
  for (const std::string& w : warnings) log::warning(w);
  warnings_.insert(warnings_.end(), warnings.begin(), warnings.end());
}

shm::WaitConfig Job::wait_config(bool is_oversubscribed) const {
  shm::WaitConfig config;
  const bool is_measured = measured_choices_.is_sharing_cores == is_oversubscribed;
  const std::string_view measured = is_measured ? std::string_view(measured_choices_.wait) : "";
  const shm::WaitPolicy by_itself = shm::wait_policy_from_name(measured).value_or(
      is_oversubscribed ? shm::WaitPolicy::yield : shm::WaitPolicy::pause);
  config.policy = shm::wait_policy_from_name(options_.wait).value_or(by_itself);
  config.progress = {[](void* job) {
                       static_cast<Job*>(job)->host_.progress();
                       static_cast<Job*>(job)->make_progress();
                     },
                     const_cast<Job*>(this)};
  return config;
}

// Where `may_wait` is false the first calls come without a set-up, whatever they are.
Communicator* Job::set_up(host::Comm handle, bool may_wait) {
  auto made = std::make_unique<Communicator>();
  Communicator& c = *made;
  c.handle = handle;
  c.name = host_.comm_name(handle);
  c.rank = host_.comm_rank(handle);
  c.size = host_.comm_size(handle);
  if (host_.is_intercommunicator(handle)) {
    c.native_reason = NativeReason::intercommunicator;
  } else if (c.size == 1) {
    c.native_reason = NativeReason::one_rank;
  } else if (!may_wait || may_wait_with_set_up(handle)) {
    c.native_reason = NativeReason::few_calls;
  } else {
    c.native_reason = set_up_members(c);
  }
  const bool is_set_up_aside = !may_wait && c.native_reason == NativeReason::few_calls;
  say_who_decides_order(c, is_set_up_aside ? NativeReason::being_set_up : c.native_reason);
  if (keep_ending(&made)) return &c;
  {
    const std::lock_guard lock(table_mutex_);
    table_[static_cast<std::uintptr_t>(handle)] = std::move(made);
  }
  watch_end(c);
  return &c;
}

bool Job::may_wait_with_set_up(host::Comm handle) {
  const bool wants_all_calls = options_.set_up_after == 0 || options_.is_reproducible ||
                               options_.verify != "off" || !options_.algorithm.empty() ||
                               is_told_algorithm_.load(std::memory_order_relaxed);
  return !wants_all_calls && handle != host_.world() && !host_.has_hints(handle);
}

// Another call on a communicator that had few. What it counts for is the same on all ranks, and so is where
// the set-up takes place.
bool Job::is_early(Communicator& c, const Call& call) {
  c.early_weight += early_weight(call, c);
  if (c.early_weight >= options_.set_up_after || !may_wait_with_set_up(c.handle)) return false;
  ++c.early_calls[static_cast<std::size_t>(call.operation)];
  return true;
}

bool Job::is_set_up_now(Communicator& c, const Call& call) {
  if (c.aside == nullptr && is_early(c, call)) return false;
  c.native_reason = set_up_members(c);
  if (c.native_reason == NativeReason::none) return true;
  ++c.native_calls[static_cast<std::size_t>(call.operation)];
  return false;
}

// Long messages gain more. Of uneven blocks ranks may know their own alone.
std::int64_t Job::early_weight(const Call& call, const Communicator& c) {
  constexpr std::int64_t bytes_per_call = 4096;
  if (call.operation == Operation::barrier || has_uneven_blocks(call.operation)) return 1;
  int error = host::success;
  const Arguments arguments = read_arguments(host_, call, c.rank, c.size, &error);
  return error == host::success ? 1 + arguments.extent.bytes() / bytes_per_call : 1;
}

void Job::finish() {
  if (std::exchange(is_finished_, true)) return;
  forget_watches();
  Communicator* world = has_lost_peer_ ? nullptr : find_set_up(host_.world());
  if (world != nullptr && world->queue != nullptr && world->queue->is_to_settle) settle(*world);
  if (!has_lost_peer_) {
    for (const auto& [handle, c] : table_) end_set_up_aside(*c);
  }
  thread_.reset();
  end_all_prepared();
  for (const auto& [handle, c] : table_) {
    say_findings(*c);
    records_.absorb(*c);
  }
  left_calls_.visit([this](Operation operation, NativeReason reason, std::uint64_t calls) {
    records_.add_native(operation, reason, calls);
  });
  records_.absorb_starts();
  say_open_regions();
  keep_tested();
  // Where there are kept rules the job may have gone by them, whether it learns or not.
  if ((!options_.report.empty() || known_rules_) && !has_lost_peer_) {
    const bool is_reported = !options_.report.empty();
    const std::vector<std::string> texts = gather_texts(
        host_, world_,
        is_reported ? records_.to_text({now_s() - started_s_, under_way_s_}) : records_.learning_text());
    if (world_rank_ == 0 && known_rules_) keep_learned(texts);
    if (world_rank_ == 0 && is_reported) report(texts);
  }
  table_.clear();
  generation_.fetch_add(1, std::memory_order_release);
  if (shm::Members* members = pool_->members()) members->leave();
  findings_.leave_board();
  pool_.reset();
  if (!has_lost_peer_) host_.comm_free(&world_);
}

void Job::report(const std::vector<std::string>& texts) {
  JobFacts facts{.mpi = host_.library_name(),
                 .family = host_.family_name(),
                 .options = to_text(options_),
                 .ranks = world_size_,
                 .wall_s = now_s() - started_s_,
                 .machine = measured_choices_.text(),
                 .warnings = warnings_,
                 .hints = {}};
  if (has_left_for_progress_) {
    facts.hints.emplace_back(
        "calls that do not block were left to the MPI, since Unisono's messages could not go on while the "
        "program is "
        "elsewhere: ask for MPI_THREAD_MULTIPLE (MPI_Init_thread), or set UNISONO_PROGRESS=calls");
  }
  const auto layout = patterns::Layout::from_labels(node_labels_);
  for (const auto& ranks : layout.ranks_of) {
    const auto first = static_cast<std::size_t>(ranks.front());
    facts.node_names.push_back(pool_->host_names()[first]);
    facts.node_ranks.push_back(static_cast<int>(ranks.size()));
    facts.node_cores.push_back(cores_[first].cores);
  }
  std::string problem = write_report(options_.report, facts, texts);
  if (problem.empty()) return;
  // The launcher, and who reads this, may be on another host.
  problem.insert(0, name_of_this_host() + ": ");
  const std::string place = other_place_of_report(options_.report);
  if (!place.empty() && write_report(place, facts, texts).empty()) problem += "; it is in " + place;
  log::warning(problem);
}

NativeReason Job::set_up_members(Communicator& c) {
  end_calls(c);  // none, but where calls that do not block have begun a set-up
  const bool is_translated = host_.translate_ranks(c.handle, world_, &c.rank_in_world) == host::success;
  // Processes of two programs each see the others outside, so all know it alike. Nothing is asked of the
  // others: they may run without Unisono (spawned ones do, where nobody put the shim before them).
  if (is_translated && std::count(c.rank_in_world.begin(), c.rank_in_world.end(), host::no_rank) != 0)
    return NativeReason::outside_world;
  c.verify_interval = static_cast<std::uint64_t>(verify_interval(options_.verify));
  if (c.verify_interval != 0 && !agree_on_quarantine(c)) return NativeReason::set_up_failed;
  const NativeReason reason = agree_on_identifier(c, is_translated);
  if (reason != NativeReason::none) return reason;
  if (c.slice != nullptr) return NativeReason::none;
  describe_ground(c);
  c.wait = wait_config(shares_cores());
  watch_peers(c);
  attach_slice(c);
  c.cache = std::make_unique<schedule::Cache>(static_cast<std::size_t>(options_.cache_bytes));
  return NativeReason::none;
}

bool Job::wants_one_order(const Communicator& c) const {
  switch (host_.reproducible_hint(c.handle)) {
    case host::Hint::yes:
      return true;
    case host::Hint::no:
      return false;
    case host::Hint::none:
      break;
  }
  return options_.is_reproducible;
}

// Whoever relies on the order must hear where Unisono does not decide it.
void Job::say_who_decides_order(const Communicator& c, NativeReason reason) const {
  if (reason == NativeReason::none || reason == NativeReason::one_rank || c.rank != 0) return;
  if (!wants_one_order(c)) return;
  log::warning_once("reductions on a communicator are not reproducible, they go to the MPI: " +
                    std::string(describe(reason)));
}

NativeReason Job::agree_on_identifier(Communicator& c, bool is_translated, Identifiers::Use use) {
  Identifiers::Turn turn = identifiers_.propose(world_rank_);
  if (host_.agree(&turn, 1, host::AgreeOp::max, c.handle) != host::success)
    return NativeReason::set_up_failed;
  identifiers_.enter(turn);
  const NativeReason reason = take_identifier(c, turn, is_translated, use);
  identifiers_.leave(turn);
  return reason;
}

// Where all ranks use GPUs whose memory the host takes as it is, each call of ours would copy it twice. Who
// wants more than speed gets it.
bool Job::leaves_device_memory(bool is_reproducible) const {
  return options_.algorithm.empty() && options_.verify == "off" && !is_reproducible &&
         !is_told_algorithm_.load(std::memory_order_relaxed);
}

NativeReason Job::take_identifier(Communicator& c, Identifiers::Turn turn, bool is_translated,
                                  Identifiers::Use use) {
  // Word 0: what this rank can do; the rest: its free numbers. While other threads' set-ups come first on
  // some member, that member offers nothing: try again.
  constexpr std::uint64_t can_translate = 1, can_single_copy = 2, has_offered = 4, any_order = 8,
                          takes_device_memory = 16;
  std::uint64_t words[1 + Identifiers::words];
  while (true) {
    bool is_held = false;
    const Identifiers::Set offer = identifiers_.offer(turn, &is_held, use);
    words[0] = (is_translated ? can_translate : 0) | (pool_->has_single_copy() ? can_single_copy : 0) |
               (is_held ? has_offered : 0) | (wants_one_order(c) ? 0 : any_order) |
               (host_.takes_device_memory() ? takes_device_memory : 0);
    std::copy(offer.begin(), offer.end(), words + 1);
    const int error = host_.agree(words, 1 + Identifiers::words, host::AgreeOp::band, c.handle);
    const bool is_usable = error == host::success && (words[0] & can_translate) != 0;
    const bool is_for_host =
        (words[0] & takes_device_memory) != 0 && leaves_device_memory((words[0] & any_order) == 0);
    const int id = is_usable && !is_for_host ? Identifiers::lowest(words + 1) : -1;
    if (is_held) identifiers_.settle(id);
    if (!is_usable) return NativeReason::set_up_failed;
    if (is_for_host) return NativeReason::device_memory;
    if (id >= 0) {
      c.id = id;
      c.has_single_copy = (words[0] & can_single_copy) != 0 && options_.use_single_copy;
      // Where one rank wants it all have it: whoever asked relies on it.
      c.is_reproducible = (words[0] & any_order) == 0;
      return NativeReason::none;
    }
    if ((words[0] & has_offered) != 0) return NativeReason::no_identifier;
    std::this_thread::yield();
  }
}

void Job::describe_ground(Communicator& c) {
  std::vector<int> labels;
  for (int i = 0; i < c.size; ++i) {
    const auto r = static_cast<std::size_t>(c.rank_in_world[static_cast<std::size_t>(i)]);
    labels.push_back(options_.use_shared_memory ? node_labels_[r] : i);
    c.is_oversubscribed = c.is_oversubscribed || cores_[r].is_crowded;
  }
  auto layout = std::make_shared<patterns::Layout>(patterns::Layout::from_labels(labels));
  layout->switches = switches_;
  for (const auto& ranks : layout->ranks_of) {
    if (switch_of_.empty()) break;
    const int in_world = c.rank_in_world[static_cast<std::size_t>(ranks.front())];
    layout->switch_of.push_back(switch_of_[static_cast<std::size_t>(in_world)]);
  }
  c.layout = std::move(layout);
}

}  // namespace unisono::runtime
