// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of a node meet their agent: an abstract socket of Linux, named by the user, the job and a
// place. It has no file, and each network namespace has its own. What the agent hands out there is the
// descriptor of its memory. The connections stay: their end says who has gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agents/agent_segment.h"

namespace unisono::agents {

// `place`: agents of one job that share a machine, as pretended nodes have them, have places 0, 1, 2 ...
inline constexpr int most_places = 64;

// What both sides need.
namespace meeting {

// First words of both; other versions of this library are sent away.
struct Greeting {
  std::uint64_t magic = 0x756e69736f6e6f4d;
  char version[32] = {};
  bool operator==(const Greeting&) const = default;
};
Greeting own_greeting();
// A socket's abstract address: its length for bind and connect.
struct Address {
  explicit Address(const std::string& job, int place);
  alignas(8) char bytes[110] = {};
  std::uint32_t length = 0;
};
bool is_of_this_user(int socket);
// What an agent answers in place of its memory.
struct Refusal {
  Greeting greeting;
  char why[152] = {};
};
// Why `who` could not have a descriptor, as errno says, and what helps.
std::string why_no_descriptor(std::string_view who, int error);

}  // namespace meeting

// Of the agent. A thread receives the ranks.
class Meeting {
 public:
  // At the first free place from `place` on. Null on failure, with the reason. Ranks that come wait until
  // they are received.
  static std::unique_ptr<Meeting> open(const std::string& job, int place, std::string* why);
  // Hands out this memory from now on, which outlives this. `holders` are processes that have it already,
  // from an agent that has died: they are here until they end, or come and leave.
  void receive(const AgentSegment& segment, const std::vector<int>& holders = {});
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  int place() const { return place_; }
  // Ranks that are here, and all that ever came.
  int present() const { return present_.load(std::memory_order_acquire); }
  int arrived() const { return arrived_.load(std::memory_order_acquire); }

 private:
  struct Guest {
    int socket = -1;
    bool is_received = false;  // the memory was handed to it
    bool has_arrived = false;  // and it has said so
    int process = -1;          // that holds the memory and has not come; the socket is its pidfd then
  };
  Meeting(int socket, int place, int stop, int spare)
      : socket_(socket), place_(place), stop_(stop), spare_(spare) {}
  void run();
  void receive_new();
  void refuse_new();
  bool serve(Guest* guest);
  void leave(Guest* guest);
  void take_for_holder(const Guest& guest);

  const AgentSegment* segment_ = nullptr;
  const int socket_, place_;
  const int stop_;  // an eventfd
  // Kept open for nothing but this: where no other descriptor is left, who comes can be told so.
  int spare_;
  bool is_full_ = false;       // nobody can be let in just now, nor sent away
  std::vector<Guest> guests_;  // of the thread
  std::atomic<int> present_{0}, arrived_{0};
  std::thread thread_;
};

// A socket by its number, which the program may close, and have anew for something else.
class KnownSocket {
 public:
  KnownSocket() = default;
  explicit KnownSocket(int number);  // owned from now on
  KnownSocket(KnownSocket&& other) noexcept;
  KnownSocket& operator=(KnownSocket&& other) noexcept;
  ~KnownSocket();
  int number() const { return number_; }  // -1: none
  bool is_there() const;

 private:
  int number_ = -1;
  std::uint64_t inode_ = 0;
};

// Of a rank. One thread at a time.
class Connection {
 public:
  // Waits so long at most until the agent is there, and no longer where it is known that it cannot be met.
  // Null on failure, with the reason.
  static std::unique_ptr<Connection> open(const std::string& job, int place, double longest_s,
                                          std::string* why);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const AgentSegment& segment() const { return *segment_; }
  // Has the agent gone? One system call.
  bool is_lost() const;
  // Is it known that no other one comes? Not on all hosts.
  bool is_for_good() const;
  // A step towards the agent that has taken over the memory of one that has gone; never waits. True: it is
  // met.
  bool meet_again();

 private:
  Connection(const std::string& job, int place, int socket, std::unique_ptr<AgentSegment> segment);

  const std::string job_;
  const meeting::Address address_;
  KnownSocket socket_;
  KnownSocket calling_;  // that has not been answered yet
  std::unique_ptr<AgentSegment> segment_;
};

}  // namespace unisono::agents
