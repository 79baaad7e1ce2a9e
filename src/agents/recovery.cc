// SPDX-License-Identifier: BSD-3-Clause
#include "agents/recovery.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ticks.h"

namespace unisono::agents {
namespace {

// What an agent tells all others: for each of its channels what it has answered.
struct ToldAnswer {
  std::uint64_t number = 0;
  Descriptor what;
  std::int32_t root = 0, error = 0;
  std::uint8_t carrier = 0;
};
struct ToldChannel {
  std::uint64_t members = 0;  // a hash of who they are; 0: there is no channel at this place
  std::array<ToldAnswer, answers_kept> answers;
};
struct Told {
  bool is_left = true;  // its memory is a dead agent's
  std::array<ToldChannel, most_channels> channels;
};

// A result on its way to an agent that lacks it.
struct Gift {
  const ChannelWork* work;
  int from, to;  // agents
  std::size_t bytes;
  ToldAnswer answer;
};

std::uint64_t hash_of(const std::vector<int>& agents) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const int agent : agents) hash = (hash ^ static_cast<std::uint64_t>(agent)) * 0x100000001b3;
  return hash | 1;
}

ToldChannel tell(const ChannelWork& work) {
  ToldChannel told{.members = hash_of(work.agents()), .answers = {}};
  for (std::uint64_t i = 0; i < answers_kept; ++i) {
    const Answer& answer = work.memory().answer(i);
    told.answers[i] = {.number = answer.number.load(std::memory_order_acquire),
                       .what = answer.what,
                       .root = answer.root,
                       .error = answer.error,
                       .carrier = answer.carrier};
  }
  return told;
}

bool has_result(const ToldAnswer& answer) {
  if (answer.error != host::success || static_cast<int>(answer.what.operation) >= operation_count)
    return false;
  return moves_data(answer.what.operation) && answer.what.element <= ElementType::derived;
}
bool is_reduce(const ToldAnswer& answer) {
  return has_result(answer) && is_rooted(answer.what.operation) && is_reduction(answer.what.operation);
}

class Recovery {
 public:
  Recovery(const CarrierGround& ground, const AgentSegment& segment, std::vector<Told> told)
      : ground_(ground), segment_(segment), told_(std::move(told)) {}

  // True where the channel is this agent's still.
  bool settle(ChannelWork& work, std::size_t place) {
    std::vector<const ToldChannel*> members;
    bool is_everywhere = true, is_lost = false;
    for (const int agent : work.agents()) {
      const Told& told = told_[static_cast<std::size_t>(agent)];
      members.push_back(&told.channels[place]);
      const bool is_there = members.back()->members == hash_of(work.agents());
      is_everywhere = is_everywhere && is_there;
      is_lost = is_lost || (!is_there && !told.is_left);
    }
    ChannelPlace& here = segment_.header().places[place];
    if (!is_everywhere && here.state.load(std::memory_order_acquire) == ChannelPlace::State::closed) {
      // Where it is free again all were known to have closed it; or not all have opened it.
      here.state.store(ChannelPlace::State::free, std::memory_order_release);
      return false;
    }
    if (is_lost) {
      // With a node's ranks its part of all calls has gone.
      segment_.header().failure.store(Failure::job, std::memory_order_release);
      work.give_up();
    }
    for (std::uint64_t slot = 0; is_everywhere && slot < window; ++slot) settle_slot(work, members, slot);
    return true;
  }

  // Gives what others lack, and gets what is lacking here. An error's code, or success.
  int exchange() {
    std::vector<host::Request> requests;
    const int own = ground_.host.comm_rank(ground_.comm);
    for (const Gift& gift : gifts_) {
      if (gift.bytes == 0 || (gift.from != own && gift.to != own)) continue;
      char* data = gift.work->memory().data(gift.answer.number, gift.bytes);
      requests.emplace_back();
      host::Host& host = ground_.host;
      const int error =
          gift.from == own
              ? host.isend(data, gift.bytes, gift.to, ground_.first_tag, ground_.comm, &requests.back())
              : host.irecv(data, gift.bytes, gift.from, ground_.first_tag, ground_.comm, &requests.back());
      if (error != host::success) return error;
    }
    for (host::Request& request : requests) {
      const int error = ground_.host.wait(&request);
      if (error != host::success) return error;
    }
    for (const Gift& gift : gifts_) {
      if (gift.to == own) accept(gift);
    }
    return host::success;
  }

 private:
  static void accept(const Gift& gift) {
    Answer& answer = gift.work->memory().answer(gift.answer.number);
    answer.what = gift.answer.what;
    answer.root = gift.answer.root;
    answer.error = gift.answer.error;
    answer.carrier = gift.answer.carrier;
    answer.answered = ticks();
    answer.number.store(gift.answer.number, std::memory_order_release);
  }

  // Of two operations at a place of the window some nodes have an answer, and others not. The first of them
  // is one for which all bring something, so where it has an answer none has to be made again.
  void settle_slot(ChannelWork& work, const std::vector<const ToldChannel*>& members, std::uint64_t slot) {
    std::uint64_t last = 0;
    for (const ToldChannel* member : members)
      last = std::max({last, member->answers[slot].number, member->answers[slot + window].number});
    if (last == 0) return;
    if (last > window) settle_operation(work, members, last - window);
    work.take_up(last, settle_operation(work, members, last));
  }

  // Some have it. True where this agent makes it again, by what it has kept.
  bool settle_operation(ChannelWork& work, const std::vector<const ToldChannel*>& members,
                        std::uint64_t number) {
    const auto has = [&](std::size_t node) {
      return members[node]->answers[number % answers_kept].number == number;
    };
    std::size_t giver = 0, lacking = 0;
    for (std::size_t node = members.size(); node-- > 0;) (has(node) ? giver : lacking) = node;
    if (!has(giver) || has(lacking)) return false;  // nobody lacks it
    const ToldAnswer& answer = members[giver]->answers[number % answers_kept];
    const auto root = static_cast<std::size_t>(answer.root);
    if (is_reduce(answer) && (root >= members.size() || !has(root)))
      return has(static_cast<std::size_t>(work.own_node()));
    const bool is_given = has_result(answer) && !is_reduce(answer);
    const std::size_t bytes = is_given ? answer.what.count * element_bytes(answer.what.element) : 0;
    for (std::size_t node = 0; node < members.size(); ++node) {
      if (!has(node))
        gifts_.push_back({.work = &work,
                          .from = work.agents()[giver],
                          .to = work.agents()[node],
                          .bytes = std::min(bytes, most_bytes),
                          .answer = answer});
    }
    return false;
  }

  const CarrierGround& ground_;
  const AgentSegment& segment_;
  const std::vector<Told> told_;
  std::vector<Gift> gifts_;
};

}  // namespace

std::string recover(Carrier& carrier, const CarrierGround& ground, bool has_soft_float,
                    const LeftMemory& memory, Works* works) {
  SegmentHeader& header = memory.segment->header();
  header.bell.sleepers.store(0, std::memory_order_release);
  if (header.failure.load(std::memory_order_acquire) == Failure::agent)
    header.failure.store(Failure::none, std::memory_order_release);
  const auto own = std::make_unique<Told>();
  own->is_left = memory.is_left;
  std::string why;
  for (std::size_t place = 0; place < works->size() && why.empty(); ++place) {
    const ChannelPlace::State state = header.places[place].state.load(std::memory_order_acquire);
    if (state != ChannelPlace::State::open && state != ChannelPlace::State::closed) continue;
    auto& work = (*works)[place];
    work = ChannelWork::open(carrier, ground, has_soft_float, *memory.segment, static_cast<int>(place), &why);
    if (work == nullptr) break;
    if (state == ChannelPlace::State::closed) work->close();
    own->channels[place] = tell(*work);
  }
  // All come to what all do together, also where one cannot go on.
  std::vector<Told> told(static_cast<std::size_t>(ground.host.comm_size(ground.comm)));
  const int error = ground.host.allgather_bytes(own.get(), sizeof *own, told.data(), ground.comm);
  if (!why.empty()) return why;
  if (error != host::success) return "agents cannot tell each other what they have";
  Recovery recovery(ground, *memory.segment, std::move(told));
  for (std::size_t place = 0; place < works->size(); ++place) {
    auto& work = (*works)[place];
    if (work != nullptr && !recovery.settle(*work, place)) work.reset();
  }
  return recovery.exchange() == host::success ? "" : "agents cannot give each other what they have";
}

}  // namespace unisono::agents
