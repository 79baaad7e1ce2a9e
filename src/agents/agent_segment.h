// SPDX-License-Identifier: BSD-3-Clause
// The memory that an agent shares with the ranks of its node. The agent makes it, without a name, and hands
// it out where they meet (meeting.h): nothing is left behind, whoever dies.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "shm/pool/allocator.h"
#include "shm/slice/wait.h"

namespace unisono::agents {

// Who the agent is. `channels`: so many its MPI has tags for, most_channels at most.
struct AgentIdentity {
  std::int32_t rank = 0, agents = 1;  // among the agents of the job
  std::int32_t process_id = 0;
  std::int32_t channels = 0;
};

inline constexpr int most_channels = 64;

// A channel's place, which communicators take in turn. Its number is the same in the segments of all agents
// that serve the communicator: their messages' tags follow from it.
struct ChannelPlace {
  enum class State : std::uint32_t { free, taken, open, closed };
  // Ranks take a free one, fill it, open it, and close it; the agent makes a closed one free.
  std::atomic<State> state;
  std::atomic<std::int32_t> users;  // ranks that have not left it
  std::uint64_t offset, bytes;      // of its memory in the segment
};

// `agent`: it can do no more for this job's calls, but who comes after it may. `job`: nobody can.
enum class Failure : std::uint32_t { none, agent, job };

// The beginning of the segment. Zero-filled is its initial state.
struct SegmentHeader {
  std::uint64_t magic;
  AgentIdentity agent;
  alignas(64) shm::Doorbell bell;  // the agent sleeps here when there is nothing to do
  // Places that were opened or closed: where this has changed the agent looks at them.
  alignas(64) std::atomic<std::uint32_t> changes;
  std::atomic<std::uint32_t> choosing;  // one rank at a time looks for a free place
  std::atomic<Failure> failure;
  std::atomic<std::uint32_t> starts_again;        // of the job's agents so far
  std::atomic<std::uint32_t> has_carrier_failed;  // agents that are started again take `mpi`
  char carrier[16];                               // what the agents go by between nodes
  char why_not_carrier[160];  // what was asked for does not serve, for this reason; empty: it does
  std::array<ChannelPlace, most_channels> places;
  shm::AllocatorState allocator;
};

class AgentSegment {
 public:
  static constexpr std::size_t standard_bytes = std::size_t{256} << 20;  // taken when they are touched

  // The name that the kernel shows, by which who comes after a dead agent finds it.
  static std::string name(const std::string& job, int place);
  // Null on failure, with the reason.
  static std::unique_ptr<AgentSegment> create(const std::string& name, const AgentIdentity& agent,
                                              std::size_t bytes, std::string* why);
  // What another process has made. The descriptor is kept: who comes after that process takes it over.
  static std::unique_ptr<AgentSegment> open(int descriptor, std::string* why);
  ~AgentSegment();
  AgentSegment(const AgentSegment&) = delete;
  AgentSegment& operator=(const AgentSegment&) = delete;

  SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(memory_); }
  char* at(std::uint64_t offset) const { return memory_ + offset; }
  bool holds(std::uint64_t offset, std::uint64_t bytes) const {
    return offset >= sizeof(SegmentHeader) && offset <= bytes_ && bytes <= bytes_ - offset;
  }
  // Room for a channel, -1 where there is none. What it holds is what others have left there.
  std::int64_t reserve(std::size_t bytes) const;
  void release(std::int64_t offset) const;
  int descriptor() const { return descriptor_; }
  // Of the same memory?
  bool is_same(int descriptor) const;

 private:
  AgentSegment() = default;
  bool map(int descriptor, std::string* why);
  shm::Allocator allocator() const { return {&header().allocator, sizeof(SegmentHeader), bytes_}; }

  char* memory_ = nullptr;
  std::size_t bytes_ = 0;
  int descriptor_ = -1;
  std::uint64_t inode_ = 0;  // the program may close the descriptor, and have its number anew
};

}  // namespace unisono::agents
