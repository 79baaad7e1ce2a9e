// SPDX-License-Identifier: BSD-3-Clause
#include "fake_host/state.h"

#include <algorithm>
#include <cstring>
#include <sstream>

namespace unisono::fake_host {

State::State(int size_of_world, const Options& given) : size(size_of_world), options(given), ranks(size) {
  if (options.node_labels.empty()) options.node_labels.assign(size, 0);
  if (static_cast<int>(options.node_labels.size()) != size) {
    throw std::invalid_argument("fake host: one node label for each rank");
  }
  std::vector<int> everybody(size);
  for (int rank = 0; rank < size; ++rank) {
    everybody[rank] = rank;
    ranks[rank].random.seed(options.seed * 1000003 + rank);
  }
  add_comm(everybody);
}

host::Comm State::add_comm(const std::vector<int>& members) {
  const host::Comm handle{next_comm++};
  CommState& created = comms[handle];
  created.members = members;
  created.rank_of.assign(size, host::no_rank);
  for (std::size_t i = 0; i < members.size(); ++i) created.rank_of[members[i]] = static_cast<int>(i);
  created.brought.resize(members.size());
  created.begun.resize(members.size());
  return handle;
}

CommState& State::comm(host::Comm which) {
  const auto found = comms.find(which);
  if (found == comms.end()) throw std::logic_error("fake host: no such communicator");
  return found->second;
}

void State::check_stopped() const {
  if (!stop_reason.empty()) throw Stopped(stop_reason);
}

void State::note_activity() {
  ++activity;
  if (options.steps_left == nullptr || *options.steps_left == 0 || --*options.steps_left != 0) return;
  stop_reason = "all of its steps are done";
  changed.notify_all();
}

int State::draw_delay(int rank) {
  if (options.max_delay == 0) return 0;
  return static_cast<int>(ranks[rank].random() % (options.max_delay + 1));
}

std::size_t State::take_slot(int rank) {
  RankState& own = ranks[rank];
  if (own.free_slots.empty()) {
    own.slots.emplace_back();
    return own.slots.size() - 1;
  }
  const std::size_t slot = own.free_slots.back();
  own.free_slots.pop_back();
  own.slots[slot] = Slot();
  return slot;
}

std::shared_ptr<Gathering> State::join_gathering(int rank, CommState* group, const void* data,
                                                 std::size_t bytes) {
  const auto own = static_cast<std::size_t>(group->rank_of[rank]);
  const std::uint64_t place = group->begun[own]++;
  auto& gathering = group->gatherings[place];
  if (gathering == nullptr) {
    gathering = std::make_shared<Gathering>();
    gathering->brought.resize(group->members.size());
  }
  const std::shared_ptr<Gathering> joined = gathering;
  const char* begin = static_cast<const char*>(data);
  joined->brought[own].assign(begin, begin + bytes);
  if (++joined->arrived == static_cast<int>(group->members.size())) group->gatherings.erase(place);
  note_activity();
  return joined;
}

bool State::take_gathered(Slot* slot) {
  if (slot->gathering->arrived != static_cast<int>(slot->gathering->brought.size())) return false;
  char* into = static_cast<char*>(slot->target);
  for (const auto& one : slot->gathering->brought) into = std::copy(one.begin(), one.end(), into);
  slot->gathering.reset();
  return true;
}

namespace {

bool does_match(const Slot& receive, const Message& message) {
  return (receive.peer == host::any_source || receive.peer == message.source) && receive.tag == message.tag &&
         receive.comm == message.comm;
}

}  // namespace

void State::match_recv(int rank, std::size_t slot) {
  RankState& own = ranks[rank];
  for (auto message = own.unexpected.begin(); message != own.unexpected.end(); ++message) {
    if (!does_match(own.slots[slot], *message)) continue;
    message->recv_slot = slot;
    Message matched = std::move(*message);
    own.unexpected.erase(message);
    start_moving(std::move(matched));
    return;
  }
  own.posted.push_back(slot);
}

void State::deliver(Message&& message) {
  RankState& there = ranks[message.destination];
  for (auto slot = there.posted.begin(); slot != there.posted.end(); ++slot) {
    if (!does_match(there.slots[*slot], message)) continue;
    message.recv_slot = *slot;
    there.posted.erase(slot);
    start_moving(std::move(message));
    return;
  }
  there.unexpected.push_back(std::move(message));
}

void State::start_moving(Message&& message) {
  Slot& receive = ranks[message.destination].slots[message.recv_slot];
  receive.is_matched = true;
  if (!message.is_eager) ranks[message.source].slots[message.send_slot].is_matched = true;
  if (message.bytes > receive.bytes) receive.error = error_truncated;
  // Buffered data is taken out by the receiver's progress, other data is pushed by the sender's.
  const int mover = message.is_eager ? message.destination : message.source;
  message.delay = draw_delay(mover);
  ranks[mover].moving.push_back(std::move(message));
  note_activity();
}

bool State::advance(int rank) {
  std::deque<Message>& moving = ranks[rank].moving;
  bool has_changed = false;
  for (auto message = moving.begin(); message != moving.end();) {
    has_changed = true;
    if (message->delay > 0) {
      --message->delay;
      ++message;
      continue;
    }
    Slot& receive = ranks[message->destination].slots[message->recv_slot];
    const void* from = message->buffered.data();
    if (!message->is_eager) {
      Slot& send = ranks[message->source].slots[message->send_slot];
      from = send.source;
      send.is_done = true;
    }
    const std::size_t bytes = std::min(message->bytes, receive.bytes);
    if (bytes != 0) std::memcpy(receive.target, from, bytes);
    receive.is_done = true;
    message = moving.erase(message);
  }
  if (has_changed) note_activity();
  return has_changed;
}

std::string State::describe(bool only_leftovers) const {
  std::ostringstream text;
  for (int rank = 0; rank < size; ++rank) {
    const RankState& own = ranks[rank];
    if (!only_leftovers) {
      text << "rank " << rank << ": "
           << (own.is_finished             ? "finished"
               : own.blocked_in != nullptr ? own.blocked_in
                                           : "polling")
           << '\n';
    }
    for (const Slot& slot : own.slots) {
      if (slot.kind == Slot::Kind::free) continue;
      if (slot.kind == Slot::Kind::gathering) {
        text << "  rank " << rank << " collective that does not block, communicator "
             << static_cast<std::uintptr_t>(slot.comm) << ": not over, or not tested\n";
        continue;
      }
      const bool is_send = slot.kind == Slot::Kind::send;
      text << "  rank " << rank << (is_send ? " send to " : " receive from ") << slot.peer << ", tag "
           << slot.tag << ", communicator " << static_cast<std::uintptr_t>(slot.comm) << ", " << slot.bytes
           << " bytes: "
           << (slot.is_done      ? "done, not tested"
               : slot.is_matched ? "matched"
                                 : "not matched")
           << '\n';
    }
    for (const Message& message : own.unexpected) {
      text << "  rank " << rank << " has not received a message from " << message.source << ", tag "
           << message.tag << ", communicator " << static_cast<std::uintptr_t>(message.comm) << ", "
           << message.bytes << " bytes\n";
    }
  }
  return text.str();
}

}  // namespace unisono::fake_host
