// SPDX-License-Identifier: BSD-3-Clause
// Endpoints of several nodes' ranks, each in a thread, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "../seed.h"
#include "endpoint_node.h"
#include "fake_host/fake_host.h"

namespace unisono::runtime {

// Ranks may share a core, here and below: one that waits lets others run.
inline MessageRequest* wait_for(Endpoint* end, MessageRequest* request) {
  while (!request->is_done) {
    end->progress();
    std::this_thread::yield();
  }
  return request;
}

// As Messages::end: others may still have something for this rank.
inline void leave_together(fake_host::FakeHost& host, Endpoint* end) {
  while (!end->is_idle()) end->progress();
  const std::byte own{};
  std::vector<std::byte> of_all(static_cast<std::size_t>(host.comm_size(host.world())));
  host::Request request{};
  ASSERT_EQ(host.start_allgather_bytes(&own, 1, of_all.data(), host.world(), &request), host::success);
  for (bool is_done = false; !is_done;) {
    end->progress();
    std::this_thread::yield();
    ASSERT_EQ(host.test(&request, &is_done), host::success);
  }
}

// Ranks of several nodes: inside a node by rings, between nodes by the host's messages, whose completions
// come late. `use(end, rank)` is what each does; nothing is left in the end.
template <class Use>
void run_on_nodes(const std::vector<int>& nodes, bool is_synchronous, const EndpointOptions& like, Use use) {
  const int ranks = static_cast<int>(nodes.size());
  fake_host::Options options;
  options.is_synchronous = is_synchronous;
  options.seed = seed();
  options.max_delay = 5;
  fake_host::FakeWorld world(ranks, options);
  const shm::MailboxShape most{.ranks = ranks, .arena_bytes = 256 << 10};
  std::vector<std::unique_ptr<shm::SharedMemory>> memory;
  for (int node = 0; node < ranks; ++node)
    memory.push_back(std::make_unique<shm::SharedMemory>(most.bytes()));
  world.run([&](fake_host::FakeHost& host, int rank) {
    const int node = nodes[static_cast<std::size_t>(rank)];
    host::Comm comm{};
    ASSERT_EQ(host.comm_copy(host.world(), &comm), host::success);
    HostLink link(host, comm);
    HostMoves moves(host, comm);
    EndpointOptions own = like;
    own.link = &link;
    own.moves = &moves;
    int near = 0, place = 0;
    for (int other = 0; other < ranks; ++other) {
      const bool is_near = nodes[static_cast<std::size_t>(other)] == node;
      if (other == rank) place = near;
      own.number_of_far.push_back(is_near ? near++ : -1);
      (is_near ? own.near : own.far).push_back(other);
    }
    for (std::size_t i = 0; i < own.far.size(); ++i)
      own.number_of_far[static_cast<std::size_t>(own.far[i])] = near + static_cast<int>(i);
    const shm::MailboxShape shape{.ranks = near, .arena_bytes = 256 << 10};
    shm::Mailbox mail(memory[static_cast<std::size_t>(node)]->get(), shape, place, shm::WaitPolicy::yield);
    Endpoint end(&mail, own);
    for (const std::uint32_t context : {0u, 1u}) end.open(context, own.number_of_far);
    use(&end, rank);
    leave_together(host, &end);
    link.end();
    host.comm_free(&comm);
  });
  EXPECT_EQ(world.leftovers(), "");
}

}  // namespace unisono::runtime
