// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/messages/data_ways.h"

#include <algorithm>
#include <bit>

#include "base/clock.h"

namespace unisono::runtime {
namespace {

constexpr std::uint64_t shortest = 64 << 10;
// Small differences are the machine's. What is far off is not asked again soon.
constexpr double worth_it = 0.95, far_off = 1.3;
constexpr std::uint32_t usual_growth = 4, growth_if_far_off = 32;

DataWay other_than(DataWay way) {
  return way == DataWay::memory ? DataWay::host : DataWay::memory;
}

}  // namespace

std::size_t SendersWay::length_class(std::uint64_t bytes) {
  const int doublings = static_cast<int>(std::bit_width(bytes / shortest));
  return static_cast<std::size_t>(std::clamp(doublings - 1, 0, lengths - 1));
}

// Each way a few times, one behind the other, since what lies in the caches comes from the copies before.
DataWay SendersWay::next(std::uint64_t bytes, const MessageRequest* receive) {
  OfLength& length = lengths_[length_class(bytes)];
  if (length.until_trial != 0) {
    --length.until_trial;
    return length.way;
  }
  if (trying_ != nullptr && trying_ != &length && ++waited_ == most_waited) give_up_trial();
  if (trying_ == nullptr) {
    trying_ = &length;
    ended_ = waited_ = 0;
  }
  if (trying_ != &length) return length.way;
  if (timed_ == nullptr) timed_ = receive;
  return ended_ < timed_of_each ? length.way : other_than(length.way);
}

// The program sends no messages of that length any more.
void SendersWay::give_up_trial() {
  trying_->until_trial = trying_->interval;
  trying_ = nullptr;
  timed_ = nullptr;
}

void SendersWay::ended(std::uint64_t now_ns, bool was_refused) {
  timed_ = nullptr;
  took_ns_[static_cast<std::size_t>(ended_++)] = now_ns - began_ns_;
  if (ended_ == 2 * timed_of_each || was_refused) decide(was_refused);
}

// The first one of each way finds what the other way has left.
void SendersWay::decide(bool was_refused) {
  const auto median_from = [this](int first) {
    const auto begin = took_ns_.begin() + first + 1, end = took_ns_.begin() + first + timed_of_each;
    std::sort(begin, end);
    return static_cast<double>(*(begin + (timed_of_each - 1) / 2));
  };
  OfLength& length = *trying_;
  trying_ = nullptr;
  std::uint32_t growth = usual_growth;
  if (was_refused) {
    length.way = DataWay::memory;
    growth = growth_if_far_off;
  } else {
    const double present = median_from(0), other = median_from(timed_of_each);
    if (other < worth_it * present) {
      length.way = other_than(length.way);
      length.interval = first_interval;
    } else if (other > far_off * present) {
      growth = growth_if_far_off;
    }
  }
  length.interval = std::min(growth * length.interval, longest_interval);
  length.until_trial = length.interval;
}

DataWay DataWays::next(int sender, std::uint64_t bytes, const MessageRequest* receive) {
  if (choice_ != Choice::learned) return choice_ == Choice::host ? DataWay::host : DataWay::memory;
  SendersWay& senders = senders_[static_cast<std::size_t>(sender)];
  const DataWay way = senders.next(bytes, receive);
  if (senders.is_timed(receive)) senders.began(now_ns());
  return way;
}

void DataWays::ended(int sender, const MessageRequest* receive, bool was_refused) {
  SendersWay& senders = senders_[static_cast<std::size_t>(sender)];
  if (senders.is_timed(receive)) senders.ended(now_ns(), was_refused);
}

}  // namespace unisono::runtime
