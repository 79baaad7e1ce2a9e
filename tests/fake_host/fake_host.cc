// SPDX-License-Identifier: BSD-3-Clause
// Communicators, messages and the collectives of set-up.
#include "fake_host/fake_host.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "fake_host/state.h"

namespace unisono::fake_host {

namespace {

constexpr host::Comm world_handle{1};

host::Request handle_of(std::size_t slot) {
  return host::Request{slot + 1};
}
std::size_t slot_of(host::Request request) {
  return static_cast<std::size_t>(request) - 1;
}

// Has the request finished? A finished one is freed and nulled, and its error given back.
bool finish(State& state, int rank, host::Request* request, int* error) {
  RankState& own = state.ranks[rank];
  Slot& slot = own.slots.at(slot_of(*request));
  if (slot.kind == Slot::Kind::free) throw std::logic_error("fake host: test of a request that is free");
  if (slot.gathering != nullptr) slot.is_done = state.take_gathered(&slot);
  if (!slot.is_done) return false;
  state.note_activity();
  if (slot.delay > 0) {
    --slot.delay;
    return false;
  }
  if (slot.error != host::success) *error = slot.error;
  slot.kind = Slot::Kind::free;
  own.free_slots.push_back(slot_of(*request));
  *request = host::Request{};
  return true;
}

void note_idle(State& state, int rank, std::uint64_t activity_before) {
  if (state.activity == activity_before) state.ranks[rank].idle_at = state.activity;
}

}  // namespace

FakeHost::FakeHost(State* state, int rank) : state_(state), rank_(rank) {}

void FakeHost::set_comm_name(host::Comm comm, const std::string& name) {
  const std::lock_guard lock(state_->mutex);
  state_->comm(comm).names[rank_] = name;
}

void FakeHost::set_reproducible_hint(host::Comm comm, host::Hint hint) {
  const std::lock_guard lock(state_->mutex);
  state_->comm(comm).hints[rank_] = hint;
  state_->comm(comm).has_hints = true;
}

void FakeHost::set_ordered_persistent(host::Comm comm) {
  const std::lock_guard lock(state_->mutex);
  state_->comm(comm).ordered_persistent.insert(rank_);
  state_->comm(comm).has_hints = true;
}

void FakeHost::declare_intercommunicator(host::Comm comm) {
  const std::lock_guard lock(state_->mutex);
  state_->comm(comm).inter[rank_] = true;
}

const std::string& FakeHost::library_name() const {
  static const std::string name = "fake host, ranks as threads";
  return name;
}

const std::string& FakeHost::family_name() const {
  static const std::string name = "fake";
  return name;
}

bool FakeHost::is_thread_multiple() const {
  return state_->options.is_thread_multiple;
}
int FakeHost::largest_tag() const {
  return state_->options.largest_tag;
}

bool FakeHost::takes_device_memory() {
  return state_->options.takes_device_memory;
}

host::Comm FakeHost::world() const {
  return world_handle;
}

int FakeHost::comm_rank(host::Comm comm) {
  const std::lock_guard lock(state_->mutex);
  return state_->comm(comm).rank_of[rank_];
}

int FakeHost::comm_size(host::Comm comm) {
  const std::lock_guard lock(state_->mutex);
  return static_cast<int>(state_->comm(comm).members.size());
}

bool FakeHost::is_intercommunicator(host::Comm comm) {
  const std::lock_guard lock(state_->mutex);
  return state_->comm(comm).inter.count(rank_) != 0;
}

int FakeHost::comm_split(host::Comm parent, int color, int key, host::Comm* created) {
  const int wish[2] = {color, key};
  std::uint64_t meeting = 0;
  const auto wishes = exchange(parent, wish, sizeof wish, &meeting);
  *created = host::Comm{};
  if (color < 0) return host::success;
  struct Member {
    int key, world_rank;
  };
  const std::lock_guard lock(state_->mutex);
  const auto place = std::make_tuple(parent, meeting, color);
  const auto known = state_->splits.find(place);
  if (known != state_->splits.end()) {
    *created = known->second;
    return host::success;
  }
  std::vector<Member> members;
  for (std::size_t i = 0; i < wishes->size(); ++i) {
    int other[2];
    std::memcpy(other, (*wishes)[i].data(), sizeof other);
    if (other[0] == color) members.push_back({other[1], state_->comm(parent).members[i]});
  }
  std::stable_sort(members.begin(), members.end(),
                   [](const Member& a, const Member& b) { return a.key < b.key; });
  std::vector<int> world_ranks;
  for (const Member& member : members) world_ranks.push_back(member.world_rank);
  *created = state_->add_comm(world_ranks);
  state_->splits[place] = *created;
  return host::success;
}

int FakeHost::comm_free(host::Comm* comm) {
  std::vector<std::pair<void (*)(void*), void*>> callbacks;
  {
    const std::lock_guard lock(state_->mutex);
    callbacks = std::move(state_->comm(*comm).callbacks[rank_]);
  }
  for (const auto& [callback, argument] : callbacks) callback(argument);
  const std::lock_guard lock(state_->mutex);
  CommState& freed = state_->comm(*comm);
  if (++freed.freed == static_cast<int>(freed.members.size())) state_->comms.erase(*comm);
  *comm = host::Comm{};
  return host::success;
}

int FakeHost::translate_ranks(host::Comm from, host::Comm to, std::vector<int>* ranks) {
  const std::lock_guard lock(state_->mutex);
  ranks->clear();
  for (const int world_rank : state_->comm(from).members) {
    ranks->push_back(state_->comm(to).rank_of[world_rank]);
  }
  return host::success;
}

int FakeHost::on_comm_free(host::Comm comm, void (*callback)(void*), void* state) {
  const std::lock_guard lock(state_->mutex);
  state_->comm(comm).callbacks[rank_].emplace_back(callback, state);
  return host::success;
}

std::string FakeHost::comm_name(host::Comm comm) {
  const std::lock_guard lock(state_->mutex);
  const auto& names = state_->comm(comm).names;
  const auto found = names.find(rank_);
  return found == names.end() ? std::string{} : found->second;
}

host::Hint FakeHost::reproducible_hint(host::Comm comm) {
  const std::lock_guard lock(state_->mutex);
  return state_->comm(comm).hints[rank_];
}

bool FakeHost::has_ordered_persistent(host::Comm comm) {
  const std::lock_guard lock(state_->mutex);
  return state_->comm(comm).ordered_persistent.contains(rank_);
}

int FakeHost::neighbors(host::Comm comm, host::TopologyNeighbors* found) {
  const std::lock_guard lock(state_->mutex);
  *found = state_->comm(comm).neighbors[rank_];
  return host::success;
}

void FakeHost::set_neighbors(host::Comm comm, const host::TopologyNeighbors& neighbors) {
  const std::lock_guard lock(state_->mutex);
  state_->comm(comm).neighbors[rank_] = neighbors;
}

bool FakeHost::has_hints(host::Comm comm) {
  const std::lock_guard lock(state_->mutex);
  return state_->comm(comm).has_hints;
}

int FakeHost::isend(const void* data, std::size_t bytes, int destination, int tag, host::Comm comm,
                    host::Request* request) {
  return start_send(data, bytes, destination, tag, comm, false, request);
}

int FakeHost::issend(const void* data, std::size_t bytes, int destination, int tag, host::Comm comm,
                     host::Request* request) {
  return start_send(data, bytes, destination, tag, comm, true, request);
}

int FakeHost::start_send(const void* data, std::size_t bytes, int destination, int tag, host::Comm comm,
                         bool waits, host::Request* request) {
  const std::lock_guard lock(state_->mutex);
  state_->check_stopped();
  RankState& own = state_->ranks[rank_];
  const Options& options = state_->options;
  if (rank_ == options.failing_rank && own.isends++ == options.failing_isend) return options.failing_code;
  const CommState& group = state_->comm(comm);
  if (destination < 0 || destination >= static_cast<int>(group.members.size())) return error_argument;
  if (tag < 0 || tag > state_->options.largest_tag) return error_argument;
  Message message;
  message.source = rank_;
  message.destination = group.members[destination];
  message.tag = tag;
  message.comm = comm;
  message.bytes = bytes;
  message.is_eager = !waits && !options.is_synchronous && bytes <= options.eager_limit_bytes;
  message.send_slot = state_->take_slot(rank_);
  Slot& slot = own.slots[message.send_slot];
  slot.kind = Slot::Kind::send;
  slot.peer = message.destination;
  slot.tag = tag;
  slot.comm = comm;
  slot.bytes = bytes;
  slot.source = data;
  slot.delay = state_->draw_delay(rank_);
  if (message.is_eager) {
    const char* begin = static_cast<const char*>(data);
    message.buffered.assign(begin, begin + bytes);
    slot.is_done = true;
    slot.is_matched = true;
  }
  *request = handle_of(message.send_slot);
  state_->deliver(std::move(message));
  state_->note_activity();
  return host::success;
}

int FakeHost::irecv(void* data, std::size_t bytes, int source, int tag, host::Comm comm,
                    host::Request* request) {
  const std::lock_guard lock(state_->mutex);
  state_->check_stopped();
  const CommState& group = state_->comm(comm);
  const bool is_any = source == host::any_source;
  if (!is_any && (source < 0 || source >= static_cast<int>(group.members.size()))) return error_argument;
  if (tag < 0 || tag > state_->options.largest_tag) return error_argument;
  const std::size_t index = state_->take_slot(rank_);
  Slot& slot = state_->ranks[rank_].slots[index];
  slot.kind = Slot::Kind::recv;
  slot.peer = is_any ? host::any_source : group.members[source];
  slot.tag = tag;
  slot.comm = comm;
  slot.bytes = bytes;
  slot.target = data;
  slot.delay = state_->draw_delay(rank_);
  *request = handle_of(index);
  state_->match_recv(rank_, index);
  state_->note_activity();
  return host::success;
}

int FakeHost::cancel_receive(host::Request* request) {
  const std::lock_guard lock(state_->mutex);
  state_->check_stopped();
  const std::size_t index = slot_of(*request);
  RankState& own = state_->ranks[rank_];
  if (std::erase(own.posted, index) == 0)
    throw std::logic_error("fake host: a receive that is cancelled has got a message");
  own.slots[index].kind = Slot::Kind::free;
  own.free_slots.push_back(index);
  *request = host::Request{};
  state_->note_activity();
  return host::success;
}

int FakeHost::test(host::Request* request, bool* is_done) {
  const std::lock_guard lock(state_->mutex);
  state_->check_stopped();
  const std::uint64_t before = state_->activity;
  int error = host::success;
  state_->advance(rank_);
  *is_done = finish(*state_, rank_, request, &error);
  note_idle(*state_, rank_, before);
  return error;
}

int FakeHost::test_some(int count, host::Request* requests, int* completed_count, int* completed) {
  const std::lock_guard lock(state_->mutex);
  state_->check_stopped();
  const std::uint64_t before = state_->activity;
  int error = host::success;
  state_->advance(rank_);
  *completed_count = 0;
  for (int i = 0; i < count; ++i) {
    if (requests[i] != host::Request{} && finish(*state_, rank_, &requests[i], &error))
      completed[(*completed_count)++] = i;
  }
  note_idle(*state_, rank_, before);
  return error;
}

void FakeHost::progress() {
  const std::lock_guard lock(state_->mutex);
  state_->check_stopped();
  const std::uint64_t before = state_->activity;
  ++progress_calls_;
  state_->advance(rank_);
  note_idle(*state_, rank_, before);
}

std::shared_ptr<const FakeHost::Contributions> FakeHost::exchange(host::Comm comm, const void* data,
                                                                  std::size_t bytes, std::uint64_t* number) {
  ++collective_calls_;
  std::unique_lock lock(state_->mutex);
  state_->check_stopped();
  CommState& group = state_->comm(comm);
  const std::uint64_t meeting = group.meeting;
  if (number != nullptr) *number = meeting;
  const char* begin = static_cast<const char*>(data);
  group.brought[group.rank_of[rank_]].assign(begin, begin + bytes);
  const std::uint64_t place = group.begun[group.rank_of[rank_]]++;
  if (group.arrived == 0) group.meeting_place = place;
  if (group.meeting_place != place)
    throw std::logic_error("fake host: collectives in another order than on another rank");
  state_->note_activity();
  if (++group.arrived == static_cast<int>(group.members.size())) {
    group.result = std::make_shared<const Contributions>(std::move(group.brought));
    group.brought = Contributions(group.members.size());
    group.arrived = 0;
    ++group.meeting;
    state_->changed.notify_all();
    return group.result;
  }
  state_->ranks[rank_].blocked_in = "waits in a collective of the host";
  // As in an MPI, messages move on while a rank waits in a collective.
  while (group.meeting == meeting && state_->stop_reason.empty()) {
    state_->advance(rank_);
    state_->changed.wait_for(lock, std::chrono::microseconds(200));
  }
  state_->ranks[rank_].blocked_in = nullptr;
  state_->check_stopped();
  return group.result;
}

int FakeHost::agree(std::uint64_t* values, int count, host::AgreeOp op, host::Comm comm) {
  const std::size_t bytes = count * sizeof *values;
  const auto all = exchange(comm, values, bytes);
  for (std::size_t member = 0; member < all->size(); ++member) {
    for (int i = 0; i < count; ++i) {
      std::uint64_t other;
      std::memcpy(&other, (*all)[member].data() + i * sizeof other, sizeof other);
      if (member == 0) {
        values[i] = other;
        continue;
      }
      switch (op) {
        case host::AgreeOp::band:
          values[i] &= other;
          break;
        case host::AgreeOp::bor:
          values[i] |= other;
          break;
        case host::AgreeOp::min:
          values[i] = std::min(values[i], other);
          break;
        case host::AgreeOp::max:
          values[i] = std::max(values[i], other);
          break;
        case host::AgreeOp::sum:
          values[i] += other;
          break;
      }
    }
  }
  return host::success;
}

int FakeHost::bcast_bytes(void* data, std::size_t bytes, int root, host::Comm comm) {
  const bool is_root = comm_rank(comm) == root;
  const auto all = exchange(comm, data, is_root ? bytes : 0);
  if (!is_root && bytes != 0) std::memcpy(data, (*all)[root].data(), bytes);
  return host::success;
}

int FakeHost::allgather_bytes(const void* in, std::size_t bytes, void* out, host::Comm comm) {
  const auto all = exchange(comm, in, bytes);
  char* into = static_cast<char*>(out);
  for (const auto& one : *all) into = std::copy(one.begin(), one.end(), into);
  return host::success;
}

int FakeHost::start_allgather_bytes(const void* in, std::size_t bytes, void* out, host::Comm comm,
                                    host::Request* request) {
  return start_gathering(in, bytes, out, comm, request);
}

// What all bring together is what the root brings.
int FakeHost::start_bcast_bytes(void* data, std::size_t bytes, int root, host::Comm comm,
                                host::Request* request) {
  return start_gathering(data, comm_rank(comm) == root ? bytes : 0, data, comm, request);
}

int FakeHost::start_gathering(const void* in, std::size_t bytes, void* out, host::Comm comm,
                              host::Request* request) {
  ++collective_calls_;
  const std::lock_guard lock(state_->mutex);
  state_->check_stopped();
  const std::size_t index = state_->take_slot(rank_);
  Slot& slot = state_->ranks[rank_].slots[index];
  slot.kind = Slot::Kind::gathering;
  slot.comm = comm;
  slot.target = out;
  slot.delay = state_->draw_delay(rank_);
  slot.gathering = state_->join_gathering(rank_, &state_->comm(comm), in, bytes);
  *request = handle_of(index);
  return host::success;
}

int FakeHost::gather_bytes(const void* in, std::size_t bytes, void* out, int root, host::Comm comm) {
  const auto all = exchange(comm, in, bytes);
  if (comm_rank(comm) != root) return host::success;
  char* into = static_cast<char*>(out);
  for (const auto& one : *all) into = std::copy(one.begin(), one.end(), into);
  return host::success;
}

int FakeHost::barrier(host::Comm comm) {
  exchange(comm, nullptr, 0);
  return host::success;
}

int FakeHost::call_error_handler(host::Comm, int error_code) {
  handled_errors_.push_back(error_code);
  return error_code;
}

int FakeHost::abort(host::Comm, int exit_code) {
  throw Stopped("rank " + std::to_string(rank_) + " aborts with " + std::to_string(exit_code));
}

}  // namespace unisono::fake_host
