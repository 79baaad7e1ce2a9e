// SPDX-License-Identifier: BSD-3-Clause
// Ranks as processes for tests of what threads cannot show: namespaces, limits, reading another process. Only
// the host's functions that setting up a pool needs; the others end the test.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "host/host.h"
#include "ranks.h"

namespace unisono::shm {

// What the processes share.
struct MeetingPlace {
  static constexpr std::size_t max_ranks = 16;
  static constexpr std::size_t max_bytes = 1024;
  std::atomic<int> arrived;
  std::atomic<int> round;
  std::array<std::array<char, max_bytes>, max_ranks> given;
};

class ProcessHost final : public host::Host {
 public:
  ProcessHost(MeetingPlace* place, int rank, int size) : place_(place), rank_(rank), size_(size) {}

  int comm_rank(host::Comm) override { return rank_; }
  int comm_size(host::Comm) override { return size_; }
  int allgather_bytes(const void* in, std::size_t bytes, void* out, host::Comm) override {
    if (bytes > MeetingPlace::max_bytes) std::abort();
    std::memcpy(place_->given[static_cast<std::size_t>(rank_)].data(), in, bytes);
    meet();
    for (std::size_t i = 0; i < static_cast<std::size_t>(size_); ++i) {
      std::memcpy(static_cast<char*>(out) + i * bytes, place_->given[i].data(), bytes);
    }
    meet();
    return host::success;
  }
  int barrier(host::Comm) override {
    meet();
    return host::success;
  }

  const std::string& library_name() const override { std::abort(); }
  const std::string& family_name() const override { std::abort(); }
  bool is_thread_multiple() const override { std::abort(); }
  int largest_tag() const override { std::abort(); }
  bool takes_device_memory() override { std::abort(); }
  host::Comm world() const override { std::abort(); }
  bool is_intercommunicator(host::Comm) override { std::abort(); }
  int comm_split(host::Comm, int, int, host::Comm*) override { std::abort(); }
  int comm_free(host::Comm*) override { std::abort(); }
  int translate_ranks(host::Comm, host::Comm, std::vector<int>*) override { std::abort(); }
  int on_comm_free(host::Comm, void (*)(void*), void*) override { std::abort(); }
  std::string comm_name(host::Comm) override { std::abort(); }
  host::Hint reproducible_hint(host::Comm) override { std::abort(); }
  bool has_ordered_persistent(host::Comm) override { std::abort(); }
  bool has_hints(host::Comm) override { std::abort(); }
  int neighbors(host::Comm, host::TopologyNeighbors*) override { std::abort(); }
  int isend(const void*, std::size_t, int, int, host::Comm, host::Request*) override { std::abort(); }
  int issend(const void*, std::size_t, int, int, host::Comm, host::Request*) override { std::abort(); }
  int irecv(void*, std::size_t, int, int, host::Comm, host::Request*) override { std::abort(); }
  int cancel_receive(host::Request*) override { std::abort(); }
  int test(host::Request*, bool*) override { std::abort(); }
  int test_some(int, host::Request*, int*, int*) override { std::abort(); }
  void progress() override {}
  int agree(std::uint64_t*, int, host::AgreeOp, host::Comm) override { std::abort(); }
  int bcast_bytes(void*, std::size_t, int, host::Comm) override { std::abort(); }
  int start_allgather_bytes(const void*, std::size_t, void*, host::Comm, host::Request*) override {
    std::abort();
  }
  int start_bcast_bytes(void*, std::size_t, int, host::Comm, host::Request*) override { std::abort(); }
  int gather_bytes(const void*, std::size_t, void*, int, host::Comm) override { std::abort(); }
  int type_info(host::Datatype, host::TypeInfo*) override { std::abort(); }
  int pack(const void*, std::size_t, host::Datatype, void*, std::size_t) override { std::abort(); }
  int unpack(const void*, std::size_t, void*, std::size_t, host::Datatype) override { std::abort(); }
  host::Op predefined_op(ReduceOp) override { std::abort(); }
  ReduceOp reduce_op(host::Op) override { std::abort(); }
  bool is_commutative(host::Op) override { std::abort(); }
  bool is_defined(host::Op, host::Datatype) override { std::abort(); }
  int reduce_local(const void*, void*, std::size_t, host::Datatype, host::Op) override { std::abort(); }
  int call_error_handler(host::Comm, int) override { std::abort(); }
  int abort(host::Comm, int) override { std::abort(); }

 private:
  void meet() {
    const int round = place_->round.load();
    if (place_->arrived.fetch_add(1) + 1 == size_) {
      place_->arrived.store(0);
      place_->round.fetch_add(1);
    }
    while (place_->round.load() == round) sched_yield();
  }

  MeetingPlace* place_;
  int rank_;
  int size_;
};

// A group of ranks with namespaces of their own, as a container or another node would have them. `prepare`
// runs once in the namespaces before the ranks are born; false where this process may not do that.
struct Container {
  int ranks = 1;
  int namespaces = 0;  // CLONE_NEWPID, CLONE_NEWNS, ...
  std::function<bool()> prepare{};
};

// In a mount namespace of one's own.
inline bool make_mounts_private() {
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}
inline bool mount_own_proc() {
  return mount("proc", "/proc", "proc", 0, nullptr) == 0;
}
inline bool mount_own_shm(const char* options) {
  return mount("shm", "/dev/shm", "tmpfs", 0, options) == 0;
}
inline bool hide_proc() {
  return mount("none", "/proc", "tmpfs", 0, "size=4k") == 0;
}

// Runs `body` in all ranks of all containers. False where the namespaces are not to be had.
inline bool run_containers(const std::vector<Container>& containers,
                           const std::function<void(ProcessHost& host, int rank)>& body) {
  constexpr int not_permitted = 77;
  const SharedMemory memory(sizeof(MeetingPlace));
  auto* place = static_cast<MeetingPlace*>(memory.get());
  int size = 0;
  for (const Container& container : containers) size += container.ranks;

  const auto run_ranks = [&](const Container& container, int first) {
    if (container.prepare && !container.prepare()) _exit(not_permitted);
    std::vector<pid_t> ranks;
    for (int rank = first; rank < first + container.ranks; ++rank) {
      ranks.push_back(fork());
      if (ranks.back() == 0) {
        ProcessHost host(place, rank, size);
        body(host, rank);
        _exit(::testing::Test::HasFailure() ? 1 : 0);
      }
    }
    int worst = 0;
    for (const pid_t rank : ranks) {
      int status = 0;
      waitpid(rank, &status, 0);
      if (status != 0) worst = 1;
    }
    _exit(worst);
  };

  // May this process have such namespaces at all? Asked before anybody waits for anybody.
  std::vector<pid_t> parents;
  for (const bool is_trial : {true, false}) {
    int first = 0;
    for (const Container& container : containers) {
      const pid_t parent = fork();
      if (parent == 0) {
        if (unshare(container.namespaces) != 0) _exit(not_permitted);
        const pid_t init = fork();  // the first process of a new PID namespace
        if (init == 0) {
          if (is_trial) _exit(container.prepare && !container.prepare() ? not_permitted : 0);
          run_ranks(container, first);
        }
        int status = 0;
        waitpid(init, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
      }
      parents.push_back(parent);
      first += container.ranks;
    }
    for (const pid_t parent : parents) {
      int status = 0;
      waitpid(parent, &status, 0);
      if (is_trial && WIFEXITED(status) && WEXITSTATUS(status) == not_permitted) return false;
      EXPECT_EQ(status, 0);
    }
    parents.clear();
  }
  return true;
}

}  // namespace unisono::shm
