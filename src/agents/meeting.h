// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of a node meet their agent: an abstract socket of Linux, named by the user, the job and a
// place. It has no file, and each network namespace has its own. What the agent hands out there is the
// descriptor of its memory. The connections stay: their end says who has gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agents/agent_segment.h"

namespace unisono::agents {

// `place`: agents of one job that share a machine, as pretended nodes have them, have places 0, 1, 2 ...
inline constexpr int most_places = 64;

// Of the agent. A thread receives the ranks.
class Meeting {
 public:
  // At the first free place. Null on failure, with the reason.
  static std::unique_ptr<Meeting> open(const std::string& job, const AgentSegment& segment, std::string* why);
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
    bool is_received = false;
  };
  Meeting(const AgentSegment& segment, int socket, int place);
  void run();
  void receive_new();
  bool serve(Guest* guest);
  void leave(Guest* guest);

  const AgentSegment& segment_;
  const int socket_, place_;
  int stop_ = -1;              // an eventfd
  std::vector<Guest> guests_;  // of the thread
  std::atomic<int> present_{0}, arrived_{0};
  std::thread thread_;
};

// Of a rank.
class Connection {
 public:
  // Waits so long at most until the agent is there. Null on failure, with the reason.
  static std::unique_ptr<Connection> open(const std::string& job, int place, double longest_s,
                                          std::string* why);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const AgentSegment& segment() const { return *segment_; }
  // Has the agent gone? One system call.
  bool is_lost() const;

 private:
  Connection(int socket, std::unique_ptr<AgentSegment> segment);
  bool holds_socket() const;

  int socket_;
  std::uint64_t inode_ = 0;  // of the socket: the program may close it, and have its number anew
  std::unique_ptr<AgentSegment> segment_;
};

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

}  // namespace meeting
}  // namespace unisono::agents
