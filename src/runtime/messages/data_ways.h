// SPDX-License-Identifier: BSD-3-Clause
// Which way the data of a long message comes to this rank from another one of its node: through the node's
// memory, or by the host behind Unisono's header. M10.
//
// Its receiver decides, once it has a receive for the message, and tells the sender. Which is faster depends
// on the MPI, on the length, and on where both cores are; nobody tells a program. So a few messages of each
// length are timed in both ways, from then on until all of their data is here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace unisono::runtime {

struct MessageRequest;

enum class DataWay : std::uint8_t { memory, host };

// Those of one sender.
class SendersWay {
 public:
  // Of the next message of so many bytes.
  DataWay next(std::uint64_t bytes, const MessageRequest* receive);
  // Few are: who does not ask reads no clock.
  bool is_timed(const MessageRequest* receive) const { return timed_ == receive; }
  // The one that is timed begins now.
  void began(std::uint64_t now_ns) { began_ns_ = now_ns; }
  // All of its data is here. `was_refused`: the sender could not call the host, and has sent it through
  // memory.
  void ended(std::uint64_t now_ns, bool was_refused);

 private:
  static constexpr int timed_of_each = 4, most_waited = 64;
  static constexpr std::uint32_t first_interval = 8, longest_interval = 4096;
  struct OfLength {
    DataWay way = DataWay::memory;
    std::uint32_t until_trial = first_interval, interval = first_interval;
  };
  // From 64 KiB on, for each doubling; the last one is for all longer ones.
  static constexpr int lengths = 8;
  static std::size_t length_class(std::uint64_t bytes);
  void decide(bool was_refused);
  void give_up_trial();

  std::array<OfLength, lengths> lengths_;
  OfLength* trying_ = nullptr;             // one at a time
  const MessageRequest* timed_ = nullptr;  // one at a time; null: the next one is
  std::uint64_t began_ns_ = 0;
  int ended_ = 0;   // of those that are timed
  int waited_ = 0;  // messages of another length, whose turn it would be
  std::array<std::uint64_t, 2 * timed_of_each> took_ns_{};
};

class DataWays {
 public:
  // Option long_messages.
  enum class Choice : std::uint8_t { memory, host, learned };

  DataWays(Choice choice, int ranks) : choice_(choice), senders_(static_cast<std::size_t>(ranks)) {}

  // Of a message of a rank of the node to `receive`.
  DataWay next(int sender, std::uint64_t bytes, const MessageRequest* receive);
  void ended(int sender, const MessageRequest* receive, bool was_refused);

 private:
  Choice choice_;
  std::vector<SendersWay> senders_;
};

}  // namespace unisono::runtime
