// SPDX-License-Identifier: BSD-3-Clause
#include "agents/agent.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "agents/agent_processes.h"
#include "agents/agent_segment.h"
#include "agents/carrier.h"
#include "agents/channel_work.h"
#include "agents/left_memory.h"
#include "agents/meeting.h"
#include "agents/recovery.h"
#include "agents/soft_float.h"
#include "base/clock.h"
#include "base/float_control.h"
#include "base/guarded.h"

namespace unisono::agents {
namespace {

// With nothing to do it looks on for so long, and then sleeps until a rank rings; now and then it looks
// whether it must end.
constexpr std::uint64_t sleep_after_ns = 50'000, longest_sleep_ns = 200'000'000;
// With messages under way that do not come it sleeps between its looks: another node may be late by far.
constexpr std::uint64_t naps_after_ns = 2'000'000;
// With its ranks gone it gives those of other nodes so much time.
constexpr std::uint64_t longest_end_ns = 500'000'000;
constexpr timespec nap{.tv_sec = 0, .tv_nsec = 50'000};

}  // namespace

// What goes on, once all is there.
class Life::Agent {
 public:
  Agent(Carrier& carrier, const CarrierGround& ground, const LifeOptions& options,
        const AgentSegment& segment, const Meeting& meeting, Works works)
      : carrier_(carrier),
        ground_(ground),
        options_(options),
        segment_(segment),
        meeting_(meeting),
        works_(std::move(works)) {}

  // Until nobody needs it any more, or it is stopped.
  void live(const std::atomic<bool>& must_stop) {
    while (!is_over() && !must_stop.load(std::memory_order_relaxed)) {
      if (go_on()) {
        last_work_ns_ = 0;
      } else {
        idle(must_stop);
      }
    }
  }

  // A step that waits for nobody, on whatever thread.
  void step() {
    if (is_over()) return;
    if (go_on()) {
      last_work_ns_ = 0;
    } else if (last_work_ns_ == 0) {
      last_work_ns_ = now_ns();
    }
  }

  bool is_over() const { return is_through() || !why_.empty(); }

  // Why it could serve no longer.
  const std::string& end() {
    SegmentHeader& header = segment_.header();
    if (!why_.empty()) header.has_carrier_failed.store(1, std::memory_order_relaxed);
    if (options_.is_thread) {
      header.failure.store(Failure::job, std::memory_order_release);
    } else if (!why_.empty()) {
      header.failure.store(Failure::agent, std::memory_order_release);
    }
    return why_;
  }

  bool has_work() const {
    for (const auto& work : works_) {
      if (work != nullptr && work->has_work()) return true;
    }
    return false;
  }
  Works take_works() { return std::move(works_); }

 private:
  bool is_through() const {
    if (options_.must_end != nullptr && options_.must_end->load(std::memory_order_relaxed)) return true;
    // Other nodes' ranks may be later; or they have died.
    return have_left_ && (!has_work() || (last_work_ns_ != 0 && now_ns() - last_work_ns_ > longest_end_ns));
  }

  bool go_on() {
    have_left_ = meeting_.arrived() > 0 && meeting_.present() == 0;
    const std::uint32_t changes = segment_.header().changes.load(std::memory_order_acquire);
    if (changes != changes_) look_at_places();
    changes_ = changes;
    bool has_gone_on = false;
    for (std::size_t i = 0; i < works_.size(); ++i) {
      if (works_[i] == nullptr) continue;
      has_gone_on = works_[i]->go_on(&why_) || has_gone_on;
      if (works_[i]->is_closed()) set_free(i);
    }
    return has_gone_on;
  }

  void set_free(std::size_t place) {
    works_[place].reset();
    segment_.header().places[place].state.store(ChannelPlace::State::free, std::memory_order_release);
  }

  void look_at_places() {
    for (std::size_t i = 0; i < works_.size(); ++i) {
      const ChannelPlace::State state = segment_.header().places[i].state.load(std::memory_order_acquire);
      if (state == ChannelPlace::State::closed && works_[i] == nullptr) {
        set_free(i);  // nobody has used it
      } else if (state == ChannelPlace::State::closed) {
        works_[i]->close();
      } else if (state == ChannelPlace::State::open && works_[i] == nullptr) {
        works_[i] = ChannelWork::open(carrier_, ground_, options_.has_soft_float, segment_,
                                      static_cast<int>(i), &why_);
      }
    }
  }

  void idle(const std::atomic<bool>& must_stop) {
    sched_yield();
    const std::uint64_t now = now_ns();
    if (last_work_ns_ == 0) last_work_ns_ = now;
    const std::uint64_t idle_ns = now - last_work_ns_;
    if (has_work()) {
      if (idle_ns > naps_after_ns) nanosleep(&nap, nullptr);
    } else if (idle_ns > sleep_after_ns) {
      const shm::Sleeper sleeper(&segment_.header().bell);
      const bool goes_on = go_on() || is_through() || must_stop.load(std::memory_order_relaxed);
      if (!goes_on) sleeper.sleep(longest_sleep_ns);
      last_work_ns_ = 0;
    }
  }

  Carrier& carrier_;
  const CarrierGround& ground_;
  const LifeOptions& options_;
  const AgentSegment& segment_;
  const Meeting& meeting_;
  Works works_;
  std::uint32_t changes_ = 0;
  bool have_left_ = false;          // had all ranks of this node left, before it last looked what there is?
  std::uint64_t last_work_ns_ = 0;  // since when it has had nothing to do; 0: it had, just now
  std::string why_;
};

namespace {

// The one that is asked for, or `mpi`: the same on all agents. The memory says which, and why.
std::unique_ptr<Carrier> open_carrier(const CarrierGround& ground, const LifeOptions& options,
                                      SegmentHeader& header) {
  std::string why;
  std::unique_ptr<Carrier> carrier;
  const CarrierDescriptor* asked = find_carrier(options.carrier);
  std::uint64_t has_failed = header.has_carrier_failed.load(std::memory_order_relaxed);
  ground.host.agree(&has_failed, 1, host::AgreeOp::max, ground.comm);
  if (asked == nullptr) {
    why = "there is none of this name";
  } else if (options.again > 0 && options.carrier != "mpi") {
    why = "the job's agents were started again";
  } else if (has_failed != 0 && options.carrier != "mpi") {
    why = "it has failed in this job";
  } else {
    carrier = asked->open(ground, &why);
  }
  std::string_view name = options.carrier;
  if (carrier == nullptr) {
    name = "mpi";
    carrier = find_carrier(name)->open(ground, &why);
  }
  std::memset(header.why_not_carrier, 0, sizeof header.why_not_carrier);
  name.copy(header.carrier, sizeof header.carrier - 1);
  why.copy(header.why_not_carrier, sizeof header.why_not_carrier - 1);
  return carrier;
}

// Agents have the numbers that the dead ones had on their nodes. Those that found nothing get what is left.
// Collective over `all`; the same answer on all. `before` is null where this one has found nothing.
bool restore_order(host::Host& host, host::Comm all, const AgentIdentity* before, host::Comm* comm) {
  const int count = host.comm_size(all);
  const std::int32_t own[2] = {before == nullptr ? -1 : before->rank,
                               before == nullptr ? count : before->agents};
  std::vector<std::int32_t> told(2 * static_cast<std::size_t>(count));
  if (host.allgather_bytes(own, sizeof own, told.data(), all) != host::success) return false;
  std::vector<bool> is_taken(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < told.size(); i += 2) {
    const std::int32_t rank = told[i];
    if (told[i + 1] != count || rank >= count) return false;
    if (rank < 0) continue;
    if (is_taken[static_cast<std::size_t>(rank)]) return false;
    is_taken[static_cast<std::size_t>(rank)] = true;
  }
  // Which of those that are left, in their order.
  int to_skip = 0, rank = own[0];
  for (int i = 0; i < host.comm_rank(all); ++i) to_skip += told[2 * static_cast<std::size_t>(i)] < 0;
  for (int i = 0; own[0] < 0 && i < count; ++i) {
    if (!is_taken[static_cast<std::size_t>(i)] && to_skip-- == 0) rank = i;
  }
  return host.comm_split(all, 0, rank, comm) == host::success;
}

// What an agent serves: its memory, which is a dead one's where there is one. Null on failure, with the
// reason.
LeftMemory memory_for(const LifeOptions& options, int place, std::string* why) {
  LeftMemory found;
  if (options.again > 0) found = find_left_memory(options.job, place);
  if (found.segment == nullptr)
    found.segment =
        AgentSegment::create(AgentSegment::name(options.job, place), {}, AgentSegment::standard_bytes, why);
  return found;
}

// Where another node's part never came the MPI has messages still that point there, and the process goes on.
void keep_for_the_mpi(Works works, std::unique_ptr<Carrier> carrier, LeftMemory memory) {
  struct Kept {
    Works works;
    std::unique_ptr<Carrier> carrier;
    LeftMemory memory;
  };
  static Guarded<std::vector<Kept>>* const all = new Guarded<std::vector<Kept>>;
  all->lock()->push_back({std::move(works), std::move(carrier), std::move(memory)});
}

// What the first one says that cannot serve, where one cannot; collective over `all`, the same on all.
std::string why_not_all(host::Host& host, host::Comm all, const std::string& own_why) {
  std::array<char, 160> own{};
  own_why.copy(own.data(), own.size() - 1);
  std::vector<char> told(own.size() * static_cast<std::size_t>(host.comm_size(all)));
  if (host.allgather_bytes(own.data(), own.size(), told.data(), all) != host::success) return own_why;
  for (std::size_t at = 0; at < told.size(); at += own.size()) {
    if (told[at] != 0) return &told[at];
  }
  return "an agent has no memory, or its MPI no tags";
}

}  // namespace

struct Life::Parts {
  explicit Parts(const LifeOptions& life_options) : options(life_options) {}

  const LifeOptions options;
  LeftMemory memory;  // outlives the meeting, which hands it out
  std::unique_ptr<Meeting> meeting;
  std::unique_ptr<CarrierGround> ground;
  std::unique_ptr<Carrier> carrier;
  std::unique_ptr<Agent> agent;
};

Life::Life(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Life::~Life() = default;

std::unique_ptr<Life> Life::begin(host::Host& host, host::Comm all, const LifeOptions& options,
                                  std::string* why) {
  const auto fail = [why](std::string text) {
    *why = std::move(text);
    return nullptr;
  };
  set_standard_float_control();
  if (options.has_soft_float && !is_soft_float_there()) return fail("this build is without SoftFloat");
  if (options.again > 0) end_agents_before(options.job, options.again);
  auto parts = std::make_unique<Parts>(options);
  LeftMemory& memory = parts->memory;
  parts->meeting = Meeting::open(options.job, options.place, why);
  if (parts->meeting != nullptr) memory = memory_for(options, parts->meeting->place(), why);
  const int channels = ChannelWork::channels_within(host.largest_tag());
  // Ranks find an agent everywhere, or nowhere.
  std::uint64_t can = memory.segment != nullptr && channels > 0 ? 1 : 0;
  host.agree(&can, 1, host::AgreeOp::min, all);
  if (can == 0) return fail(why_not_all(host, all, *why));
  SegmentHeader& header = memory.segment->header();
  host::Comm comm = all;
  if (options.again > 0 && !restore_order(host, all, memory.is_left ? &header.agent : nullptr, &comm))
    return fail("there are not as many agents as before");
  header.agent = {.rank = host.comm_rank(comm),
                  .agents = host.comm_size(comm),
                  .process_id = getpid(),
                  .channels = channels};
  header.starts_again.store(static_cast<std::uint32_t>(options.again), std::memory_order_relaxed);
  parts->ground = std::make_unique<CarrierGround>(
      CarrierGround{.host = host, .comm = comm, .first_tag = ChannelWork::first_tag(channels)});
  parts->carrier = open_carrier(*parts->ground, options, header);
  Works works;
  if (options.again > 0)
    *why = recover(*parts->carrier, *parts->ground, options.has_soft_float, memory, &works);
  if (!why->empty()) return nullptr;
  parts->meeting->receive(*memory.segment, memory.holders);
  if (options.tell) options.tell(ready_words);
  parts->agent = std::make_unique<Agent>(*parts->carrier, *parts->ground, parts->options, *memory.segment,
                                         *parts->meeting, std::move(works));
  return std::unique_ptr<Life>(new Life(std::move(parts)));
}

void Life::live(const std::atomic<bool>& must_stop) {
  parts_->agent->live(must_stop);
}

void Life::step() {
  parts_->agent->step();
}

bool Life::is_over() const {
  return parts_->agent->is_over();
}

std::string Life::end() {
  std::string why = parts_->agent->end();
  if (parts_->options.is_thread && parts_->agent->has_work())
    keep_for_the_mpi(parts_->agent->take_works(), std::move(parts_->carrier), std::move(parts_->memory));
  if (parts_->options.tell && why.empty()) parts_->options.tell(ended_words);
  return why;
}

std::string run(host::Host& host, host::Comm all, const LifeOptions& options) {
  std::string why;
  const std::unique_ptr<Life> life = Life::begin(host, all, options, &why);
  if (life == nullptr) return why;
  life->live(std::atomic<bool>(false));
  return life->end();
}

}  // namespace unisono::agents
