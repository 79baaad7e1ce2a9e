// SPDX-License-Identifier: BSD-3-Clause
// A host whose messages are over when they are first tested, and carry nothing: what is measured over it is
// the code that calls it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "host/host.h"

namespace unisono::host {

class InstantHost final : public Host {
 public:
  const std::string& library_name() const override { return name_; }
  const std::string& family_name() const override { return name_; }
  bool is_thread_multiple() const override { return false; }
  int largest_tag() const override { return 32767; }
  bool takes_device_memory() override { return false; }

  Comm world() const override { return Comm{1}; }
  int comm_rank(Comm) override { return 0; }
  int comm_size(Comm) override { return 1; }
  bool is_intercommunicator(Comm) override { return false; }
  int comm_split(Comm, int, int, Comm*) override { return not_here; }
  int comm_free(Comm*) override { return not_here; }
  int translate_ranks(Comm, Comm, std::vector<int>*) override { return not_here; }
  int on_comm_free(Comm, void (*)(void*), void*) override { return not_here; }
  std::string comm_name(Comm) override { return name_; }
  Hint reproducible_hint(Comm) override { return Hint::none; }
  bool has_ordered_persistent(Comm) override { return false; }
  bool has_hints(Comm) override { return false; }
  int neighbors(Comm, TopologyNeighbors*) override { return not_here; }

  int isend(const void*, std::size_t, int, int, Comm, Request* request) override { return start(request); }
  int issend(const void*, std::size_t, int, int, Comm, Request* request) override { return start(request); }
  int irecv(void*, std::size_t, int, int, Comm, Request* request) override { return start(request); }
  int cancel_receive(Request* request) override {
    *request = Request{};
    return success;
  }
  int test(Request* request, bool* is_done) override {
    *request = Request{};
    *is_done = true;
    return success;
  }
  int test_some(int count, Request* requests, int* completed_count, int* completed) override {
    for (int i = 0; i < count; ++i) {
      requests[i] = Request{};
      completed[i] = i;
    }
    *completed_count = count;
    return success;
  }
  void progress() override {}

  int agree(std::uint64_t*, int, AgreeOp, Comm) override { return not_here; }
  int bcast_bytes(void*, std::size_t, int, Comm) override { return not_here; }
  int allgather_bytes(const void*, std::size_t, void*, Comm) override { return not_here; }
  int start_allgather_bytes(const void*, std::size_t, void*, Comm, Request*) override { return not_here; }
  int start_bcast_bytes(void*, std::size_t, int, Comm, Request*) override { return not_here; }
  int gather_bytes(const void*, std::size_t, void*, int, Comm) override { return not_here; }
  int barrier(Comm) override { return not_here; }

  int type_info(Datatype, TypeInfo*) override { return not_here; }
  int pack(const void*, std::size_t, Datatype, void*, std::size_t) override { return not_here; }
  int unpack(const void*, std::size_t, void*, std::size_t, Datatype) override { return not_here; }
  ReduceOp reduce_op(Op) override { return ReduceOp::host; }
  Op predefined_op(ReduceOp) override { return Op{}; }
  bool is_commutative(Op) override { return true; }
  bool is_defined(Op, Datatype) override { return false; }
  int reduce_local(const void*, void*, std::size_t, Datatype, Op) override { return not_here; }

  int call_error_handler(Comm, int error_code) override { return error_code; }
  int abort(Comm, int) override { return not_here; }

 private:
  static constexpr int not_here = 1;
  static int start(Request* request) {
    *request = Request{1};
    return success;
  }
  std::string name_ = "instant";
};

}  // namespace unisono::host
