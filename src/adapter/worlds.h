// SPDX-License-Identifier: BSD-3-Clause
// Processes of several MPI_COMM_WORLDs: which of those that were spawned have Unisono, and communicators over
// parents and children alike.
//
// Nobody may be asked who might not have it: a process without it never answers. So who is spawned counts
// itself before its MPI_Init, in memory of the process that spawns. MPI_Comm_spawn returns behind that
// MPI_Init; then the count is final, and what follows from it both sides find in that memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "adapter/host_interface/mpi_host.h"
#include "base/spawned.h"
#include "shm/pool/segment.h"

namespace unisono::adapter {

constexpr int nobody = -1;

// What the process that spawns and those that are spawned share.
class SpawnBoard {
 public:
  // Null where there is no such memory.
  static std::unique_ptr<SpawnBoard> make();
  static std::unique_ptr<SpawnBoard> find(const SpawnedAs& place);

  // Fills in where it is found.
  void describe(SpawnedAs* place) const;
  void come();
  // By the process that has made it: have all come? With `nobody`: no communicator over both is served.
  bool settle(int spawned);
  // Waits for that.
  bool have_all_come() const;

 private:
  struct Shared;
  SpawnBoard(std::unique_ptr<shm::Segment> segment, std::uint64_t nonce);
  std::unique_ptr<shm::Segment> segment_;
  std::uint64_t nonce_;
  Shared* shared_;
};

// Before the host's MPI_Init: this process has Unisono, if it was spawned.
void come_to_world();
// Behind it. The name by which this process was spawned; empty: it was not.
std::string name_of_spawned();

// Collective over `comm`, behind its successful spawn. `board`: of the root, if there is one.
void begin_world(MpiHost& host, MPI_Comm comm, int root, SpawnBoard* board, MPI_Comm between);

// Of what MPI_Intercomm_merge has made. Where its processes are those of parents and of children that all
// have Unisono, they may have their collectives served across. Collective over it.
void join_worlds(MpiHost& host, MPI_Comm merged);

}  // namespace unisono::adapter
