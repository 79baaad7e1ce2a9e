// SPDX-License-Identifier: BSD-3-Clause
// One process's part of a job: what start() makes and finish() takes down. The functions of runtime.h act on
// the process's one Job; tests make a Job for each thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/options.h"
#include "host/host.h"
#include "model/measured_choices.h"
#include "runtime/call_queue.h"
#include "runtime/communicator.h"
#include "runtime/crash_watch.h"
#include "runtime/identifiers.h"
#include "runtime/left_calls.h"
#include "runtime/persistent.h"
#include "runtime/progress_thread.h"
#include "runtime/report.h"
#include "runtime/runtime.h"
#include "runtime/transfer.h"
#include "shm/pool/pool.h"
#include "shm/slice/costs.h"
#include "shm/slice/wait.h"
#include "tuning/decisions/candidates.h"
#include "tuning/decisions/crash_records.h"
#include "tuning/decisions/decision.h"
#include "tuning/learning/alike.h"
#include "tuning/tables/table.h"
#include "tuning/tables/table_store.h"

namespace unisono::runtime {

class Job {
 public:
  explicit Job(host::Host& host);  // collective over the host's world
  ~Job();
  Job(const Job&) = delete;

  Outcome collective(const Call& call, int* error);
  Outcome collective_staged(const Call& call, int* error);
  void native_finished(const Call& call, double seconds);
  bool leaves_to_host(Operation operation, host::Comm handle, const Reduced* reduced = nullptr);
  Outcome start(const Call& call, const Completion& completion, HostPart** host = nullptr);
  void host_has_started(HostPart* host, bool (*is_over)(void* context, int* error), void* context);
  Prepared prepare(const Call& call);
  Outcome leave(Operation operation, NativeReason reason) {
    left_calls_.add(operation, reason);
    return Outcome::native;
  }
  std::shared_ptr<HostStarts> starts_of_host(Operation operation, NativeReason reason);
  void refuse_persistent(host::Comm handle);
  Outcome start_prepared(const std::shared_ptr<PreparedCall>& made, const Completion& completion,
                         HostPart** host = nullptr);
  void end_prepared(PreparedCall& call);
  void leave_place(PersistentPlace& place);
  bool has_calls_under_way() const { return calls_under_way_.load(std::memory_order_relaxed) != 0; }
  bool make_progress();  // true where a call has ended
  bool shares_cores() const { return cores_[static_cast<std::size_t>(world_rank_)].is_crowded; }
  void end_calls(host::Comm handle);  // waits for those under way on it
  // Around the host's call that frees a communicator, on one thread.
  void begin_freeing(host::Comm handle);
  void end_freeing(host::Comm handle, bool is_freed);
  void forget(host::Comm comm);
  int compare(const Call& call, int host_error);
  // Of this process; they may stand in each other.
  void begin_region(const std::string& name);
  void end_region();
  // What is to be known for the case that this process dies; nothing where that is not looked at.
  std::optional<CrashFacts> crash_facts() const;
  void finish();  // collective over the host's world; idempotent
  // Is nothing set up, and every call the host's, for the whole job?
  bool has_stepped_aside() const { return pool_ == nullptr; }
  // A wait has found a rank of the communicator dead: says so, and returns what the call is to return.
  int end_with_lost_peer(host::Comm comm, const PeerLost& lost);
  void set_enabled(bool is_enabled) { is_enabled_ = is_enabled; }
  bool set_algorithm(const std::string& text);
  std::optional<tuning::Choice> decision(Operation operation, std::int64_t bytes,
                                         std::optional<host::Comm> handle = {});
  double operation_time(host::Comm handle, const shm::Measurement& measurement,
                        std::optional<shm::WaitPolicy> wait);

 private:
  using Lock = std::unique_lock<std::mutex>;

  // job_setup.cc
  std::string as_rank_0_has_it(std::string text);
  void agree_on_options();
  void make_decider();
  void find_nodes();
  void choose_progress();
  void set_up_world();
  Communicator* set_up(host::Comm handle, bool may_wait);
  NativeReason set_up_members(Communicator& c);
  bool may_wait_with_set_up(host::Comm handle);
  bool is_early(Communicator& c, const Call& call);
  bool is_set_up_now(Communicator& c, const Call& call);
  std::int64_t early_weight(const Call& call, const Communicator& c);
  NativeReason agree_on_identifier(Communicator& c, bool is_translated,
                                   Identifiers::Use use = Identifiers::Use::communicator);
  NativeReason take_identifier(Communicator& c, Identifiers::Turn turn, bool is_translated,
                               Identifiers::Use use);
  bool wants_one_order(const Communicator& c) const;
  bool leaves_device_memory(bool is_reproducible) const;
  void say_who_decides_order(const Communicator& c, NativeReason reason) const;
  void describe_ground(Communicator& c);
  shm::WaitConfig wait_config(bool is_oversubscribed) const;
  void report(const std::vector<std::string>& texts);

  // job_peers.cc
  bool steps_aside();
  void watch_peers(Communicator& c);

  // job_end.cc: of a communicator.
  void watch_end(Communicator& c);
  void forget_watches();
  static void on_freed(void* token);
  void drop(std::uint64_t token, bool is_freed);
  void end_calls(Communicator& c);
  Communicator* find_ending(host::Comm handle, bool* is_ending) const;
  bool keep_ending(std::unique_ptr<Communicator>* c);  // where the host is freeing it now
  std::unique_ptr<Communicator> take_from_table(host::Comm handle);
  void bury(std::unique_ptr<Communicator> c, bool is_freed);
  static void forget_last_hit();  // job.cc

  // job_slice.cc
  std::size_t buffer_bytes(std::size_t locals) const;
  shm::SliceShape slice_shape(const Communicator& c, const SliceOffer& offer) const;
  std::int64_t wanted_stream_bytes(const Communicator& c) const;
  SliceOffer reserve_slice(const Communicator& c, int windows = 0);
  SliceOffer reserve_place(const Communicator& c, std::int64_t bytes, int windows);
  bool reserve(const Communicator& c, int windows, SliceOffer* offer);
  // Takes a slice for a node's first rank, of so many windows of the pool (shm::Pool::allocate).
  using Reserve = std::function<SliceOffer(int windows)>;
  bool offer_slices(Communicator& c, const Reserve& reserve, int windows, std::vector<SliceOffer>* offers);
  void attach_slice(Communicator& c);
  bool attach(Communicator& c, const Reserve& reserve);
  void use_slice(Communicator& c, const SliceOffer& offer);
  std::unique_ptr<shm::Slice> make_slice(const Communicator& c, const SliceOffer& offer) const;
  void find_slice_of_started(Communicator& c);
  void say_pool_is_full(std::string_view what_follows);

  // job_persistent.cc
  struct Vote {
    bool is_for_host = false, is_ordered = false;
  };
  enum class Decided : std::uint8_t { refused, native, nothing_to_do, scheduled };
  Communicator* come_to_persistent(host::Comm handle, NativeReason* reason);
  Vote vote_on_persistent(Communicator& c, bool is_refused);
  Decided decide_prepared(Communicator& c, const Call& call, PreparedCall* made, Prepared* prepared);
  std::shared_ptr<PersistentPlace> place_for(Communicator& c, const PreparedCall& made, bool is_ordered);
  bool settle_in(PersistentPlace& place, Communicator& c, const PreparedCall* made);
  void take_up_quarantine(Communicator& c);
  void mark_freed(host::Comm handle);
  void absorb_prepared(const PreparedCall& call);
  void end_all_prepared();

  // job_set_up_aside.cc: by calls that do not block.
  bool is_taken_before_set_up(Communicator& c, const Call& call);
  void begin_set_up_aside(Communicator& c);
  NativeReason why_left_out(Communicator& c, bool is_translated);
  void look_at_offers(Communicator& c, std::uint64_t calls_of_host);
  NativeReason take_offers(Communicator& c);
  void end_set_up_aside(Communicator& c);

  // job_tables.cc
  tuning::StorePlace store_place() const;
  std::vector<tuning::SourcedTable> read_tables(std::vector<std::string>* warnings);

  // job_crashes.cc
  void find_left_out();

  // job_predict.cc
  void find_machine();
  std::string text_of_machine(std::string* problem) const;
  void follow_measured(model::MeasuredChoices choices, bool may_choose_buffers);

  // job_topology.cc
  void find_switches();
  patterns::ReadTopology read_topology();

  // job.cc
  Communicator* find(host::Comm handle);         // sets it up at the first time
  Communicator* find_set_up(host::Comm handle);  // null before
  tuning::Question question(const Communicator& c, const Call& call, bool is_commutative, std::int64_t bytes,
                            bool is_blocking);
  tuning::Choice choose(const tuning::Question& question);
  void decide(Communicator& c, CallClass& entry, const Call& call, bool is_commutative, std::int64_t bytes,
              bool is_blocking = true, const tuning::Choice* learned = nullptr);
  int run(Communicator& c, CallClass& entry, const Call& call, const Arguments& arguments,
          bool is_commutative);
  void remember(Communicator& c, CallClass& entry, const Call& call, const Arguments& arguments,
                bool is_commutative);
  Communicator* find_to_take(const Call& call);
  Outcome collective_anew(Communicator& c, const Call& call, int* error);
  Outcome run_remembered(Communicator& c, const CallMemo& memo, const Call& call);
  Outcome run_remembered_schedule(Communicator& c, const CallMemo& memo, const Call& call, int* error);
  Outcome collective_of_blocks(Communicator& c, const Call& call, int* error);

  // job_blocks.cc
  // The mean block's bytes, 0 where ranks do not know it, if the call is one that can be made again.
  std::optional<std::int64_t> known_exchange(const Communicator& c, const Call& call) const;
  int exchange_again(Communicator& c, const Call& call, std::int64_t bytes);
  void remember_blocks(Communicator& c, CallClass& entry, const Call& call, std::int64_t bytes);
  int run_long_blocks(Communicator& c, int lines, const Call& call, const schedule::Compiled& what,
                      schedule::Data* data);
  int run_blocks(Communicator& c, CallClass& entry, const Call& call, bool is_commutative,
                 std::int64_t bytes);
  int move_blocks(Communicator& c, CallClass& entry, const Call& call, bool is_commutative,
                  std::int64_t bytes, const schedule::Compiled& what, schedule::Data* moved);
  // What runs before, where ranks must first tell each other of their blocks: null where they need not. Then
  // learn_blocks.
  const std::shared_ptr<const schedule::Compiled>& header(Communicator& c, CallClass& entry, const Call& call,
                                                          bool is_blocking, Workspace* work,
                                                          schedule::Data* data);
  static void learn_blocks(const Communicator& c, const algorithms::Descriptor& algorithm, const Call& call,
                           Workspace* work);

  // job.cc
  // Counts the call, and lets `run_it` serve it unless it is left to the host.
  template <class Run>
  Outcome serve(Communicator& c, CallClass& entry, const Call& call, std::int64_t bytes, Run run_it,
                int* error);
  static CallClass::Kind kind_of(const Communicator& c, const tuning::Choice& choice,
                                 const schedule::Problem& what);
  // The beginning of a call, and its end; of one that is not to be timed its long waits are kept.
  struct Beginning {
    explicit Beginning(bool is_to_be_timed)
        : is_timed(is_to_be_timed), start_s(is_timed ? now_s() : 0), waits_ns(shm::long_waits_ns) {}
    double waited_s() const { return 1e-9 * static_cast<double>(shm::long_waits_ns - waits_ns); }
    bool is_timed;
    double start_s;
    std::uint64_t waits_ns;
  };
  static void keep_time(CallClass& entry, const Beginning& beginning, bool is_well) {
    if (beginning.is_timed) {
      keep_time(entry, now_s() - beginning.start_s, beginning.waited_s(), is_well);
    } else if (beginning.waits_ns != shm::long_waits_ns) [[unlikely]] {
      entry.times.add_waits(beginning.waited_s());
    }
  }
  static void keep_time(CallClass& entry, double seconds, double waited_s, bool is_well);
  static void run_fused(Communicator& c, const Call& call, const void* input, void* output, bool is_in_place,
                        const FusedSize& size);

  // job_learn.cc
  bool is_learning() const { return learn_mode_ != LearnMode::off; }
  // The class of a call, decided for; of a kind that is learned, the class of the candidate that is next.
  CallClass& class_of(Communicator& c, const Call& call, bool is_commutative, std::int64_t bytes);
  // What a call that does not block uses of what was learned; null: nothing was.
  CallClass* learned_class_of_start(Communicator& c, const Call& call, bool is_commutative,
                                    std::int64_t bytes, std::shared_ptr<LearnedClass>* whole);
  void begin_to_learn(Communicator& c, CallClass& entry, const tuning::Question& question);
  void learn(Communicator& c, CallClass& entry, const tuning::Question& question);
  // job_learn_alike.cc
  struct Alike {
    std::optional<tuning::Finding> own;  // what this rank knows
    int teller = -1;                     // the rank that tells; -1: nobody knows anything
    bool is_being_learned = false;
  };
  Alike find_alike(Communicator& c, const tuning::Kind& kind);
  bool waits_for_alike(const CallClass& entry, const tuning::Question& question) const;
  static void ask_later(CallClass& entry);
  void begin_as_alike(Communicator& c, const Alike& alike, tuning::CandidateList* list);
  void keep_for_alike(const LearnedClass& learned);
  // job_learn.cc
  void agree_on_next(Communicator& c, LearnedClass& learned, const Call& call);
  int agree_on_least(Communicator& c, std::uint64_t* numbers, std::size_t count);
  int agree_on_least_and_sums(Communicator& c, std::vector<std::uint64_t>* numbers,
                              std::vector<std::uint64_t>* sums);
  int agree_by(Communicator& c, void* elements, std::size_t count, const shm::Combine& combine);
  // Before the next so many calls of a candidate, or its first one.
  void make_ready(Communicator& c, CallClass& candidate, const Call& call, std::int64_t bytes, int calls);
  void align(Communicator& c, LearnedClass& learned, const Call& call);

  // job_learned_tables.cc
  // Of all ranks; rank 0 calls it. And what it costs kept rules that the job went by them.
  void keep_learned(const std::vector<std::string>& texts);
  std::string_view region_name(std::uint64_t region);  // as long as the job lives
  void say_open_regions();

  // job_startup_test.cc
  static bool is_worth_a_test(const tuning::Choice& choice);
  void test_at_start(Communicator& c, CallClass& entry, const Call& call, bool is_commutative,
                     std::int64_t bytes);
  struct Tested;
  std::vector<Tested> candidates_of_test(Communicator& c, const CallClass& entry,
                                         const tuning::Question& asked);
  void run_test(Communicator& c, CallClass& entry, Operation operation, bool is_commutative,
                std::int64_t bytes, void* input, void* output);
  std::vector<double> agree_on_longest(Communicator& c, const std::vector<double>& seconds);
  void keep_test(const tuning::Question& asked, const std::vector<Tested>& list, std::size_t best);
  void keep_tested();

  // job_decisions.cc
  // Classes of the operation, of blocking calls and others, begin anew, where what was decided asks for it.
  void decide_anew(Communicator& c, Operation operation,
                   const std::function<bool(const CallClass&)>& is_asked);

  // job_verify.cc
  host::TypeInfo element_of(const Call& call) const;
  bool agree_on_quarantine(Communicator& c);
  void begin_verification(Communicator& c, CallClass& entry, const Call& call);
  std::int64_t first_beyond_bound(Communicator& c, const Call& call, const host::TypeInfo& info,
                                  Verification& v);
  static std::string doubt_text(const Call& call, const tuning::Choice& choice);
  bool may_be_written(const std::vector<char>& input) const;
  std::string write_input(const Communicator& c, Operation operation, std::uint64_t check,
                          const std::vector<char>& input, const std::vector<char>& own,
                          const std::vector<char>& hosts) const;
  // A report: this, inputs_text, closing_text.
  std::string mismatch_text(const Communicator& c, const Call& call, const tuning::Choice& choice,
                            const Verification& v, std::int64_t wrong, std::uint64_t check) const;
  static std::string inputs_text(const std::string& files);
  std::string closing_text(const Communicator& c, const Call& call, const tuning::Choice& choice) const;
  void report_mismatch(Communicator& c, const Call& call, Verification& v, std::int64_t wrong, int reporting);
  void note_quarantine(const Communicator& c, const std::string& algorithm);
  void quarantine(Communicator& c, Operation operation);

  // job_verify_started.cc: calls that do not block.
  void plan_check(StartedCall* started, bool can_host_start);
  void look_at_host_parts(Lock* lock);
  void conclude_check(StartedCall* started);
  const schedule::Compiled* agreeing_aside(Communicator& c);
  std::vector<std::uint64_t> findings_to_tell(const Communicator& c) const;
  void start_agreement(StartedCall* started);
  std::string write_kept(const Communicator& c, std::uint64_t check) const;
  void take_findings(Communicator& c, const std::vector<std::uint64_t>& told);
  void say_findings(Communicator& c);
  tuning::Choice find_stand_in(Communicator& c, const StartedCall& started);
  void replace_where_found_wrong(StartedCall* started);
  void settle(Communicator& c);
  void leave_out_quarantined(Communicator& c);

  // job.cc
  const std::shared_ptr<const schedule::Compiled>& compiled(Communicator& c, CallClass& entry,
                                                            const Call& call, bool is_in_place,
                                                            bool is_commutative);
  schedule::Ground ground(const Communicator& c);
  schedule::Ground ground_of_started(const Communicator& c);
  int execute(Communicator& c, const Call& call, const schedule::Compiled& what, const schedule::Data& data);
  void give_up_single_copy(const Call& call);
  // May operands change places?
  bool is_commutative(const Communicator& c, const Call& call) const;
  schedule::Problem problem(const Communicator& c, const Call& call, bool is_commutative) const;

  // nonblocking.cc
  enum class Start : std::uint8_t { native, nothing_to_do, scheduled };
  static StartedCall* take_started(Communicator* c, const Call& call);
  Start look_at(Communicator* c, const Call& call, StartedCall** taken);
  // Under the lock, which it gives up.
  Outcome launch(StartedCall* started, const Completion& completion, HostPart** host, Lock* lock);
  void drain(Communicator& c);
  std::optional<std::int64_t> read(StartedCall* started, int* error);
  int prepare(StartedCall* started);
  bool advance(StartedCall* call, Lock* lock);
  bool advance(Communicator* c, Lock* lock);
  template <class Choose>
  bool advance_all(Choose choose, Lock* lock);
  bool may_go_on_aside(const Communicator& c) const;
  bool may_send_aside(const Communicator& c) const;
  bool advance_aside();
  void conclude(std::vector<std::unique_ptr<StartedCall>>* calls);
  void deliver_staged(StartedCall& call);

  // job_poll.cc
  bool is_left_for_operator(const Communicator& c, const Call& call, host::Datatype type) const;
  bool is_of_program_alone(const Call& call) const;
  static bool may_call_program(const StartedCall& call);
  static bool poll(StartedCall* call, Lock* lock);

  host::Host& host_;
  Options options_;
  std::atomic<bool> is_enabled_{true};
  bool is_finished_ = false;
  std::atomic<bool> has_lost_peer_ = false;  // what is collective would wait for ever
  int world_rank_ = 0;
  int world_size_ = 1;
  host::Comm world_{};  // the private world
  std::unique_ptr<shm::Pool> pool_;
  std::vector<int> node_labels_;                          // world rank -> node
  std::shared_ptr<const patterns::SwitchTree> switches_;  // null: nothing is known of any
  std::vector<int> switch_of_;                            // world rank -> the switch that its node hangs on
  std::vector<shm::CoreShare> cores_;                     // world rank -> what its node may use
  Identifiers identifiers_;
  enum class LearnMode : std::uint8_t { off, star, guarded } learn_mode_ = LearnMode::off;
  tuning::LearnSettings learn_settings_;
  std::optional<tuning::TableRules> known_rules_;  // where learning is on, or jobs have kept any
  tuning::Findings findings_;                      // of this job's communicators, for those alike
  std::vector<tuning::Rule> tested_rules_;         // of this rank's communicators
  tuning::Predict predict_;                        // empty: nothing is predicted
  model::MeasuredChoices measured_choices_;        // of the machine's file, as far as the user says nothing
  std::mutex region_mutex_;
  std::vector<std::uint64_t> region_stack_;
  std::map<std::uint64_t, std::string> region_names_;
  std::atomic<std::uint64_t> region_{0};  // the innermost one
  std::mutex decide_mutex_;
  tuning::Decider decider_;
  std::atomic<bool> is_told_algorithm_{false};           // has the program ever forced one?
  std::set<const algorithms::Descriptor*> quarantined_;  // by this rank, on any communicator
  tuning::Crash known_of_crash_;                         // what this process can say of one before it comes
  tuning::LeftOut left_out_;                             // by crashes of jobs before; the same on all ranks
  std::vector<std::string> warnings_;
  bool has_left_for_progress_ = false;  // some calls to the host (tuning::needs_progress)
  bool is_pool_full_said_ = false;
  double started_s_ = now_s();

  std::mutex table_mutex_;
  std::map<std::uintptr_t, std::unique_ptr<Communicator>> table_;
  Records records_;                   // of communicators that are gone
  std::set<PreparedCall*> prepared_;  // that have places
  // Held by whoever lets calls go on, but where the program's functions may run; guards every communicator's
  // queue.
  std::mutex progress_mutex_;
  std::atomic<int> calls_under_way_{0};
  double under_way_since_s_ = 0, under_way_s_ = 0;  // any of them; and before that
  std::vector<Communicator*> active_;               // with calls under way
  std::vector<std::unique_ptr<StartedCall>> over_;  // but for what the host has to do
  std::vector<StartedCheck*> open_checks_;          // whose part of the host's is under way
  // May calls go on by the host's functions wherever the program is? Else by shared memory alone.
  bool may_call_host_aside_ = false;
  LeftCalls left_calls_;
  std::unique_ptr<ProgressThread> thread_;

  std::atomic<std::uint64_t> generation_{
      1};  // changes when a communicator is freed: invalidates the threads' last hit
};

}  // namespace unisono::runtime
