// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/messages/messages.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/pages.h"
#include "matching/catalogue.h"
#include "runtime/messages/auto_choice.h"
#include "runtime/messages/recorded_queues.h"

namespace unisono::runtime {
namespace {

constexpr const char* structure = "own";  // M8
constexpr std::uint64_t refused = UINT64_MAX;

}  // namespace

Messages::~Messages() = default;

void Messages::find_node() {
  const std::vector<int>& labels = world_.node_labels;
  const int own_label = labels[static_cast<std::size_t>(world_.rank)];
  first_of_node_ = static_cast<int>(std::ranges::find(labels, own_label) - labels.begin());
  rank_on_node_.assign(labels.size(), -1);
  shape_.ranks = 0;
  for (std::size_t rank = 0; rank < labels.size(); ++rank) {
    if (labels[rank] == own_label) rank_on_node_[rank] = shape_.ranks++;
  }
  shape_.arena_bytes = shm::MailboxShape::arena_bytes_of(shape_.ranks);
  const bool is_crowded = world_.cores[static_cast<std::size_t>(first_of_node_)].is_crowded;
  shape_.ring_lines = shm::MailboxShape::ring_lines_of(shape_.ranks, is_crowded);
}

// By rank of the world: where the memory of its node lies that it has taken for all (shm::Pool::allocate), or
// -1. Empty where the host fails.
std::vector<std::int64_t> Messages::offered(int windows) {
  const bool may_share = world_.options.use_shared_memory && world_.pool->is_available() &&
                         shape_.ranks <= shm::MailboxShape::most_ranks;
  if (offset_ < 0 && first_of_node_ == world_.rank && may_share && shape_.ranks > 1)
    offset_ = world_.pool->allocate(shape_.bytes(), windows);
  std::vector<std::int64_t> of_all(static_cast<std::size_t>(world_.size));
  const bool is_told =
      world_.host.allgather_bytes(&offset_, sizeof offset_, of_all.data(), world_.comm) == host::success;
  return is_told ? of_all : std::vector<std::int64_t>();
}

// A node's first rank takes the memory and tells all of it. Where the pool is too small as far as it is
// mapped all map more of it, as long as all can.
bool Messages::agree_on_memory() {
  std::vector<std::int64_t> of_all;
  for (std::uint64_t windows = 0;;) {
    of_all = offered(static_cast<int>(windows));
    if (of_all.empty()) return false;
    const bool has_memory = shape_.ranks == 1 || of_all[static_cast<std::size_t>(first_of_node_)] >= 0;
    // Of all: is it enough, and how much could be had?
    const int mapped = world_.pool->mapped_windows(has_memory ? 0 : static_cast<int>(windows) + 1);
    std::uint64_t least[] = {has_memory ? 1U : 0U, static_cast<std::uint64_t>(mapped)};
    if (world_.host.agree(least, 2, host::AgreeOp::min, world_.comm) != host::success) return false;
    if (least[0] != 0 || least[1] <= windows) break;
    windows = least[1];
  }
  const std::int64_t offset = of_all[static_cast<std::size_t>(first_of_node_)];
  if (offset >= 0) {
    memory_ = world_.pool->address(offset);
  } else if (shape_.ranks == 1) {
    std::size_t room = shape_.bytes() + page_bytes;
    alone_ = std::make_unique<std::byte[]>(room);
    memory_ = alone_.get();
    std::align(page_bytes, shape_.bytes(), memory_, room);
  }
  return memory_ != nullptr;
}

// Between nodes the host is called by whoever makes progress, also beside the program: it must allow that.
bool Messages::may_link_nodes() {
  if (world_.options.messages != "all" || std::ranges::count(rank_on_node_, -1) == 0) return false;
  if (!world_.are_thread_multiple && world_.rank == 0)
    world_.notices().warn(
        "option 'messages': those between nodes are left to the MPI, which gives no MPI_THREAD_MULTIPLE");
  return world_.are_thread_multiple;
}

void Messages::begin_host_share() {
  peer_of_ = rank_on_node_;
  std::vector<int> labels = world_.node_labels;
  std::ranges::sort(labels);
  const bool has_long =
      world_.options.long_messages != "memory" && std::ranges::adjacent_find(labels) != labels.end();
  const bool has_link = may_link_nodes();
  if (!has_long && !has_link) return;
  if (world_.host.comm_copy(world_.comm, &host_comm_) != host::success) return;
  moves_ = std::make_unique<HostMoves>(world_.host, host_comm_);
  if (!has_link) return;
  link_ = std::make_unique<HostLink>(world_.host, host_comm_);
  int peers = shape_.ranks;
  for (int& peer : peer_of_) {
    if (peer < 0) peer = peers++;
  }
}

EndpointOptions Messages::options_of_endpoint() {
  EndpointOptions options;
  // A half each: for what queues see, and for what the program asks for.
  if (!world_.options.record_messages.empty())
    events_ = std::make_unique<EventStream>(static_cast<std::uint64_t>(world_.options.record_bytes) / 2);
  const int ranks = link_ == nullptr ? shape_.ranks : world_.size;
  options.make_queues = [ranks, events = events_.get()]() -> std::unique_ptr<matching::Queues> {
    auto queues = matching::make_queues(*matching::find(structure), {.ranks = ranks, .values = {}});
    if (events == nullptr) return queues;
    return std::make_unique<RecordedQueues>(std::move(queues), events);
  };
  options.most_unexpected_bytes = static_cast<std::uint64_t>(world_.options.unexpected_bytes);
  options.leaves_long_sends = sends_all_at_once(world_.host.library_name());
  options.moves = moves_.get();
  options.may_call_host_aside = world_.are_thread_multiple;
  const std::string& long_messages = world_.options.long_messages;
  options.long_data = long_messages == "mpi"      ? DataWays::Choice::host
                      : long_messages == "memory" ? DataWays::Choice::memory
                                                  : DataWays::Choice::learned;
  for (int rank = 0; rank < world_.size; ++rank) {
    if (rank_on_node_[static_cast<std::size_t>(rank)] >= 0) options.near.push_back(rank);
  }
  if (link_ == nullptr) return options;
  options.link = link_.get();
  options.number_of_far = peer_of_;
  for (int rank = 0; rank < world_.size; ++rank) {
    if (rank_on_node_[static_cast<std::size_t>(rank)] < 0) options.far.push_back(rank);
  }
  return options;
}

// The same on all ranks.
bool Messages::is_wanted() {
  const std::string& wanted = world_.options.messages;
  if (wanted == "off" || !world_.options.is_enabled) return false;
  if (wanted != "auto") return true;
  const bool shares_cores = std::ranges::any_of(world_.cores, &shm::CoreShare::is_crowded);
  const AutoChoice choice =
      choose_messages(world_.host.library_name(), shares_cores, world_.takes_device_memory);
  auto_text_ = std::string("messages of nodes are ") + (choice.is_carried ? "Unisono's" : "the MPI's") +
               ", since " + choice.why + " (option 'messages')";
  return choice.is_carried;
}

void Messages::begin() {
  if (!is_wanted()) return;
  find_node();
  std::unique_ptr<Endpoint> endpoint;
  if (agree_on_memory()) {
    choose_wait();
    mailbox_ = std::make_unique<shm::Mailbox>(
        memory_, shape_, rank_on_node_[static_cast<std::size_t>(world_.rank)], wait_.policy);
    wait_.doorbell = mailbox_->doorbell();
    begin_host_share();
    endpoint = std::make_unique<Endpoint>(mailbox_.get(), options_of_endpoint());
  }
  // On all ranks of the job or on none, so that one sentence says it.
  std::uint64_t is_here = endpoint != nullptr && endpoint->requests().bytes() != 0 ? 1 : 0;
  if (world_.host.agree(&is_here, 1, host::AgreeOp::band, world_.comm) != host::success) is_here = 0;
  if (is_here == 0) {
    if (world_.rank == 0) {
      world_.notices().warn(
          "option 'messages': all messages are left to the MPI, since a node shares no memory, or too little "
          "(options 'shared_memory' and 'pool_bytes')");
    }
    return;
  }
  // The thread beside the program is a visitor.
  if (!world_.host.is_thread_multiple()) lock_.give_to_owner();
  endpoint_ = std::move(endpoint);
  requests_ = &endpoint_->requests();
  progress_.join(*this);
}

void Messages::choose_wait() {
  wait_.policy = world_.wait_policy();
  wait_.progress = {[](void* messages) { static_cast<Messages*>(messages)->let_others_go_on(); }, this};
  const shm::Members* members = world_.pool->members();
  if (members == nullptr) return;
  std::vector<int> ranks;
  for (int rank = 0; rank < world_.size; ++rank) {
    if (rank_on_node_[static_cast<std::size_t>(rank)] >= 0 && rank != world_.rank) ranks.push_back(rank);
  }
  peers_ = std::make_unique<Peers>(*members, std::move(ranks));
  wait_.peers = peers_->watch();
}

void Messages::let_others_go_on() {
  world_.host.progress();
  progress_.make();
  settle_ended();
}

void Messages::settle_ended() {
  std::vector<MessageRequest*> ended;
  {
    const BiasedGuard guard(lock_);
    ended = endpoint_->ended();
  }
  for (MessageRequest* request : ended) {
    settle_(request);
    const BiasedGuard guard(lock_);
    endpoint_->release(request);
  }
}

void Messages::finish_all() {
  if (!is_on() || world_.has_lost_peer) return;
  try {
    wait_until([this] { return endpoint_->is_idle(); });
    // Others may still have something for this rank, which must take it in.
    std::byte own{};
    std::vector<std::byte> of_all(static_cast<std::size_t>(world_.size));
    host::Request request{};
    if (world_.host.start_allgather_bytes(&own, 1, of_all.data(), world_.comm, &request) == host::success) {
      bool is_done = false;
      const auto is_over = [&] {
        return is_done || world_.host.test(&request, &is_done) != host::success || is_done;
      };
      shm::Backoff backoff(wait_);
      while (!is_over_by_now(is_over)) backoff.step_awake();
    }
  } catch (const PeerLost&) {
    world_.has_lost_peer = true;
    // Nobody waits for messages of a job that is breaking off.
  }
}

void Messages::end() {
  finish_all();
  if (!is_on() || world_.has_lost_peer) return;
  if (link_ != nullptr) {
    const BiasedGuard guard(lock_);
    link_->end();
  }
  if (moves_ != nullptr) world_.host.comm_free(&host_comm_);
  add_up();
}

void Messages::add_up() {
  MessageTotals own;
  {
    const BiasedGuard guard(lock_);
    own = endpoint_->totals();
  }
  std::uint64_t sums[] = {own.sent, own.floods, own.by_host};
  std::uint64_t most[] = {own.deepest_posted, own.deepest_unexpected, own.most_unexpected_bytes};
  host::Host& host = world_.host;
  if (host.agree(sums, 3, host::AgreeOp::sum, world_.comm) != host::success ||
      host.agree(most, 3, host::AgreeOp::max, world_.comm) != host::success)
    return;
  totals_ = {.sent = sums[0],
             .by_host = sums[2],
             .deepest_posted = most[0],
             .deepest_unexpected = most[1],
             .most_unexpected_bytes = most[2],
             .floods = sums[1],
             .are_between_nodes = link_ != nullptr};
}

std::optional<std::uint32_t> Messages::open(host::Comm comm) {
  if (!is_on() || world_.host.is_intercommunicator(comm)) return std::nullopt;
  // All members see the same: those of one node know that they are, and of others each sees another's node.
  std::vector<int> in_world;
  bool is_here = world_.host.translate_ranks(comm, world_.comm, &in_world) == host::success;
  std::vector<int> on_node;
  for (const int rank : in_world) {
    const int place = rank < 0 ? -1 : peer_of_[static_cast<std::size_t>(rank)];
    is_here = is_here && place >= 0;
    on_node.push_back(place);
  }
  if (!is_here) return std::nullopt;
  std::uint64_t number = world_.host.comm_rank(comm) == 0 ? next_number() : 0;
  if (world_.host.agree(&number, 1, host::AgreeOp::max, comm) != host::success || number == refused)
    return std::nullopt;
  const BiasedGuard guard(lock_);
  endpoint_->open(static_cast<std::uint32_t>(number), std::move(on_node));
  return static_cast<std::uint32_t>(number);
}

// A communicator's first rank numbers it, and no two ranks have a number in common. So several threads may
// make communicators of the same ranks at once.
std::uint64_t Messages::next_number() {
  const BiasedGuard guard(lock_);
  const std::uint64_t number =
      numbered_ * static_cast<std::uint64_t>(world_.size) + static_cast<std::uint64_t>(world_.rank);
  if (number >= matching::most_contexts >> 2) return refused;
  ++numbered_;
  return number;
}

void Messages::close(std::uint32_t context) {
  const BiasedGuard guard(lock_);
  endpoint_->close(context);
}

void Messages::begin_looking_after() {
  is_looked_after_ = true;
  progress_.add();
}

bool Messages::advance() {
  if (!lock_.try_lock()) return false;
  endpoint_->progress();
  lock_.unlock();
  return false;
}

// Where nothing is unfinished any more the thread may sleep until there is something again.
bool Messages::advance_aside() {
  if (!lock_.try_visit()) return false;
  const bool has_gone_on = endpoint_->progress_aside();
  if (is_looked_after_ && !endpoint_->has_unfinished()) {
    is_looked_after_ = false;
    progress_.leave_to_program();
    progress_.remove(1);
  }
  lock_.end_visit();
  return has_gone_on;
}

}  // namespace unisono::runtime
