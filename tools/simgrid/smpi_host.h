// SPDX-License-Identifier: BSD-3-Clause
// host.h over SMPI: what the executor asks of a host, in virtual time.
//
// All ranks are contexts of one thread, and of one copy of this program: what is static is everybody's. Only
// a call of SMPI hands the thread on.
#pragma once

#include <smpi/mpi.h>

#include "host/host.h"

namespace unisono::simgrid {

// Messages on MPI_COMM_WORLD. What only a job's set-up asks for throws std::logic_error.
class SmpiHost final : public host::Host {
 public:
  const std::string& library_name() const override;
  const std::string& family_name() const override { return library_name(); }
  bool is_thread_multiple() const override { return false; }
  int largest_tag() const override { return 32767; }
  bool takes_device_memory() override { return false; }

  host::Comm world() const override;
  int comm_rank(host::Comm comm) override;
  int comm_size(host::Comm comm) override;
  bool is_intercommunicator(host::Comm) override { return false; }
  int comm_split(host::Comm, int, int, host::Comm*) override;
  int comm_free(host::Comm*) override;
  int translate_ranks(host::Comm, host::Comm, std::vector<int>*) override;
  int on_comm_free(host::Comm, void (*)(void*), void*) override;
  std::string comm_name(host::Comm) override { return {}; }
  host::Hint reproducible_hint(host::Comm) override { return host::Hint::none; }
  bool has_ordered_persistent(host::Comm) override { return false; }
  int neighbors(host::Comm, host::TopologyNeighbors*) override;
  bool has_hints(host::Comm) override { return false; }

  int isend(const void* data, std::size_t bytes, int destination, int tag, host::Comm comm,
            host::Request* request) override;
  int issend(const void* data, std::size_t bytes, int destination, int tag, host::Comm comm,
             host::Request* request) override;
  int irecv(void* data, std::size_t bytes, int source, int tag, host::Comm comm,
            host::Request* request) override;
  int cancel_receive(host::Request* request) override;
  int test(host::Request* request, bool* is_done) override;
  int test_some(int count, host::Request* requests, int* completed_count, int* completed) override;
  void progress() override {}

  int agree(std::uint64_t*, int, host::AgreeOp, host::Comm) override;
  int bcast_bytes(void*, std::size_t, int, host::Comm) override;
  int allgather_bytes(const void*, std::size_t, void*, host::Comm) override;
  int start_allgather_bytes(const void*, std::size_t, void*, host::Comm, host::Request*) override;
  int start_bcast_bytes(void*, std::size_t, int, host::Comm, host::Request*) override;
  int gather_bytes(const void*, std::size_t, void*, int, host::Comm) override;
  int barrier(host::Comm comm) override;

  int type_info(host::Datatype, host::TypeInfo*) override;
  int pack(const void*, std::size_t, host::Datatype, void*, std::size_t) override;
  int unpack(const void*, std::size_t, void*, std::size_t, host::Datatype) override;
  ReduceOp reduce_op(host::Op) override;
  host::Op predefined_op(ReduceOp) override;
  bool is_commutative(host::Op) override;
  bool is_defined(host::Op, host::Datatype) override;
  int reduce_local(const void*, void*, std::size_t, host::Datatype, host::Op) override;

  int call_error_handler(host::Comm, int error_code) override { return error_code; }
  int abort(host::Comm comm, int exit_code) override;

 private:
  // Counts looks that have found nothing. After so many the executor has nothing else to do.
  bool may_wait();
  int looks_ = 0;
};

}  // namespace unisono::simgrid
