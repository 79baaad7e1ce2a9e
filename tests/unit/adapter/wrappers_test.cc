// SPDX-License-Identifier: BSD-3-Clause
// What the wrappers make of MPI's arguments: a runtime::Call, or a call of the host.
#include <gtest/gtest.h>

#include <climits>
#include <cstdarg>
#include <utility>
#include <vector>

#include "adapter/below/place.h"
#include "adapter/collectives/collectives.h"
#include "adapter/control.h"
#include "adapter/life.h"
#include "adapter/requests/requests.h"
#include "real_mpi.h"
#include "unisono/unisono.h"
#include "with_recording.h"

namespace unisono::adapter {
namespace {

using runtime::Outcome;

class Wrappers : public WithRecording {};

host::Datatype wide(MPI_Datatype type) {
  return widen<host::Datatype>(type);
}

TEST_F(Wrappers, BarrierAndBcast) {
  EXPECT_EQ(barrier(MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(only_call().operation, Operation::barrier);
  EXPECT_EQ(only_call().comm, widen<host::Comm>(MPI_COMM_WORLD));
  recording.reset();
  EXPECT_EQ(bcast(in, 4, MPI_INT, 0, MPI_COMM_SELF), MPI_SUCCESS);
  const auto& call = only_call();
  EXPECT_EQ(call.operation, Operation::bcast);
  EXPECT_EQ(call.comm, widen<host::Comm>(MPI_COMM_SELF));
  EXPECT_EQ(call.send_buffer, in);
  EXPECT_EQ(call.recv_buffer, in);
  EXPECT_EQ(call.send_count, 4u);
  EXPECT_EQ(call.send_type, wide(MPI_INT));
}

TEST_F(Wrappers, Reductions) {
  EXPECT_EQ(allreduce(in, out, 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(out[3], 4) << "the host has done it";
  const auto call = only_call();
  EXPECT_EQ(call.operation, Operation::allreduce);
  EXPECT_EQ(call.send_buffer, in);
  EXPECT_EQ(call.recv_buffer, out);
  EXPECT_EQ(call.send_count, 4u);
  EXPECT_EQ(call.send_type, wide(MPI_INT));
  EXPECT_EQ(call.op, widen<host::Op>(MPI_MAX));
  EXPECT_FALSE(call.is_in_place);
  recording.reset();
  EXPECT_EQ(reduce(in, out, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(only_call().operation, Operation::reduce);
  EXPECT_EQ(only_call().recv_buffer, out);
}

TEST_F(Wrappers, BlockOperations) {
  EXPECT_EQ(gather(in, 4, MPI_INT, out, 2, MPI_LONG_LONG, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(only_call().operation, Operation::gather);
  EXPECT_EQ(only_call().send_count, 4u);
  EXPECT_EQ(only_call().send_type, wide(MPI_INT));
  EXPECT_EQ(only_call().recv_count, 2u);
  EXPECT_EQ(only_call().recv_type, wide(MPI_LONG_LONG));
  recording.reset();
  EXPECT_EQ(scatter(in, 4, MPI_INT, out, 4, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(only_call().operation, Operation::scatter);
  recording.reset();
  EXPECT_EQ(allgather(in, 4, MPI_INT, out, 4, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(only_call().operation, Operation::allgather);
  recording.reset();
  EXPECT_EQ(alltoall(in, 4, MPI_INT, out, 4, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(only_call().operation, Operation::alltoall);
  EXPECT_EQ(only_call().send_buffer, in);
  EXPECT_EQ(only_call().recv_buffer, out);
}

TEST_F(Wrappers, PrefixAndScatteredReductions) {
  EXPECT_EQ(scan(in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(out[3], 4) << "the host has done it";
  EXPECT_EQ(only_call().operation, Operation::scan);
  EXPECT_EQ(only_call().recv_buffer, out);
  recording.reset();
  recording.outcome = Outcome::done;  // some hosts refuse a null buffer that has no meaning
  EXPECT_EQ(exscan(in, static_cast<void*>(nullptr), 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(only_call().operation, Operation::exscan);
  EXPECT_EQ(only_call().recv_buffer, nullptr) << "rank 0 gets nothing";
  recording.reset();
  EXPECT_EQ(reduce_scatter_block(in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(only_call().operation, Operation::reduce_scatter_block);
  EXPECT_EQ(only_call().send_count, 4u);
  recording.reset();
  const int counts[] = {3};
  EXPECT_EQ(reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(only_call().operation, Operation::reduce_scatter);
  EXPECT_EQ(only_call().send_blocks.count_of(0), 3u);
  EXPECT_EQ(only_call().recv_blocks.count_of(0), 3u);
  EXPECT_EQ(only_call().recv_blocks.buffer, out);
  EXPECT_EQ(only_call().op, widen<host::Op>(MPI_SUM));
}

TEST_F(Wrappers, UnevenBlocks) {
  const int counts[] = {2};
  const int places[] = {1};
  const MPI_Datatype types[] = {MPI_INT};
  EXPECT_EQ(allgatherv(in, 2, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(only_call().operation, Operation::allgatherv);
  EXPECT_EQ(only_call().send_blocks.count, 2u);
  EXPECT_EQ(only_call().recv_blocks.count_of(0), 2u);
  EXPECT_EQ(only_call().recv_blocks.displacement_of(0), 1);
  recording.reset();
  EXPECT_EQ(gatherv(in, 2, MPI_INT, out, counts, places, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(only_call().operation, Operation::gatherv);
  EXPECT_EQ(only_call().recv_blocks.buffer, out);
  recording.reset();
  EXPECT_EQ(scatterv(in, counts, places, MPI_INT, out, 2, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(only_call().operation, Operation::scatterv);
  EXPECT_EQ(only_call().send_blocks.displacement_of(0), 1);
  recording.reset();
  EXPECT_EQ(alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD),
            MPI_SUCCESS);
  EXPECT_EQ(only_call().operation, Operation::alltoallv);
  recording.reset();
  EXPECT_EQ(alltoallw(in, counts, places, types, out, counts, places, types, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(only_call().operation, Operation::alltoallw);
  recording.reset();
  // The large-count functions: of the host, or put together.
  const MPI_Count large_counts[] = {2};
  const MPI_Aint large_places[] = {2};
  EXPECT_EQ(allgatherv(in, MPI_Count{2}, MPI_INT, out, large_counts, large_places, MPI_INT, MPI_COMM_WORLD),
            MPI_SUCCESS);
  EXPECT_EQ(only_call().recv_blocks.displacement_of(0), 2);
  EXPECT_EQ(gatherv(in, MPI_Count{2}, MPI_INT, out, large_counts, large_places, MPI_INT, 0, MPI_COMM_WORLD),
            MPI_SUCCESS);
  EXPECT_EQ(scatterv(in, large_counts, large_places, MPI_INT, out, MPI_Count{2}, MPI_INT, 0, MPI_COMM_WORLD),
            MPI_SUCCESS);
  EXPECT_EQ(out[0], 3);
  EXPECT_EQ(alltoallv(in, large_counts, large_places, MPI_INT, out, large_counts, large_places, MPI_INT,
                      MPI_COMM_WORLD),
            MPI_SUCCESS);
  EXPECT_EQ(out[2], 3);
  EXPECT_EQ(reduce_scatter(in, out, large_counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(out[1], 2);
}

TEST_F(Wrappers, InPlace) {
  EXPECT_EQ(allreduce(MPI_IN_PLACE, out, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(reduce(MPI_IN_PLACE, out, 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 4, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 4, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 4, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(recording.calls.size(), 5u);
  for (const auto& call : recording.calls) {
    const auto operation = static_cast<int>(call.operation);
    EXPECT_TRUE(call.is_in_place) << operation;
    EXPECT_EQ(call.send_buffer, nullptr) << operation;
    EXPECT_EQ(call.recv_buffer, out) << operation;
  }
  recording.reset();
  EXPECT_EQ(scatter(in, 4, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_TRUE(only_call().is_in_place);
  EXPECT_EQ(only_call().recv_buffer, nullptr);
  EXPECT_EQ(only_call().send_buffer, in);
}

TEST_F(Wrappers, WhatTheRuntimeHasDoneIsNotDoneAgain) {
  recording.outcome = Outcome::done;
  recording.error = 17;
  EXPECT_EQ(allreduce(in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD), 17);
  EXPECT_EQ(out[0], 0);
}

TEST_F(Wrappers, NativeCallsAreTimedWhereAsked) {
  EXPECT_EQ(barrier(MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_TRUE(recording.native_seconds.empty());
  recording.outcome = Outcome::native_timed;
  EXPECT_EQ(allreduce(in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
  ASSERT_EQ(recording.native_seconds.size(), 1u);
  EXPECT_GE(recording.native_seconds[0], 0.0);
  EXPECT_EQ(out[0], 1);
}

TEST_F(Wrappers, CallsFromInsideAreTheHosts) {
  recording.while_called = [this] {
    EXPECT_EQ(allreduce(in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_SELF), MPI_SUCCESS);
  };
  EXPECT_EQ(barrier(MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(only_call().operation, Operation::barrier);
  EXPECT_EQ(out[3], 4);
  recording.while_called = [] {};
  EXPECT_EQ(barrier(MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(recording.calls.size(), 2u) << "and afterwards ours again";
}

TEST_F(Wrappers, SwitchedOffAndOn) {
  EXPECT_EQ(is_active(), 1);
  EXPECT_EQ(set_enabled(0), 1);
  EXPECT_FALSE(recording.is_enabled);
  EXPECT_EQ(is_active(), 0);
  EXPECT_EQ(barrier(MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_TRUE(recording.calls.empty());
  EXPECT_EQ(set_enabled(1), 0);
  EXPECT_TRUE(recording.is_enabled);
  EXPECT_EQ(is_active(), 1);
}

TEST_F(Wrappers, WhatIsKnownToBeTheHostsIsNotRead) {
  recording.leaves_to_host = true;
  int counts[] = {4}, places[] = {0};
  EXPECT_EQ(gatherv(in, 4, MPI_INT, out, counts, places, MPI_INT, 0, MPI_COMM_SELF), MPI_SUCCESS);
  EXPECT_EQ(out[3], in[3]);
  EXPECT_EQ(alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_SELF), MPI_SUCCESS);
  EXPECT_EQ(scan(in, out, 3, MPI_INT, MPI_SUM, MPI_COMM_SELF), MPI_SUCCESS);
  EXPECT_EQ(out[2], in[2]);
  EXPECT_TRUE(recording.calls.empty());
  ASSERT_EQ(recording.reduced.size(), 1u);
  EXPECT_EQ(recording.reduced[0].count, 3u);
  EXPECT_EQ(recording.reduced[0].type, widen<host::Datatype>(MPI_INT));
  EXPECT_EQ(recording.reduced[0].op, widen<host::Op>(MPI_SUM));
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(gatherv(in, 4, MPI_INT, out, counts, places, MPI_INT, 0, MPI_COMM_SELF, &request), MPI_SUCCESS);
  EXPECT_EQ(wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(recording.calls.size(), 1u) << "calls that do not block are asked about";
}

TEST_F(Wrappers, AlgorithmsAreSetAndDecisionsTold) {
  EXPECT_EQ(set_algorithm("bcast:chain"), 0);
  EXPECT_EQ(recording.algorithm, "bcast:chain");
  EXPECT_EQ(set_algorithm("x"), -1);
  char text[8];
  EXPECT_EQ(decision("bcast", 64, text, sizeof text), 7);
  EXPECT_STREQ(text, "bcast64");
  EXPECT_EQ(decision("reduce_scatter", 8, text, sizeof text), 15) << "the whole length";
  EXPECT_STREQ(text, "reduce_");
  EXPECT_EQ(decision("x", 8, text, sizeof text), -1);
  EXPECT_EQ(decision("bcast", -1, text, sizeof text), -1);
}

// As programs see it.
int (*const called)(int, ...) = reinterpret_cast<int (*)(int, ...)>(&pcontrol);

int told_numbers[3];
double told_fraction = 0;
int listen(const int level, ...) {
  std::va_list arguments;
  va_start(arguments, level);
  for (int& number : told_numbers) number = va_arg(arguments, int);
  told_fraction = va_arg(arguments, double);
  for (int i = 0; i < 4; ++i) told_numbers[i % 3] += va_arg(arguments, int);  // the last ones lie in memory
  va_end(arguments);
  return MPI_SUCCESS;
}

TEST_F(Wrappers, PcontrolHandsOnWhatItIsGiven) {
  const auto hosts = std::exchange(pmpi.Pcontrol, listen);
  EXPECT_EQ(called(7, 1, 2, 3, 0.5, 10, 20, 30, 40), MPI_SUCCESS);
  pmpi.Pcontrol = hosts;
  EXPECT_EQ(told_numbers[0], 1 + 10 + 40);
  EXPECT_EQ(told_numbers[1], 2 + 20);
  EXPECT_EQ(told_numbers[2], 3 + 30);
  EXPECT_EQ(told_fraction, 0.5);
}

TEST_F(Wrappers, SomeLevelsOfPcontrolAreRegions) {
  EXPECT_EQ(called(UNISONO_PCONTROL_BEGIN, "solve"), MPI_SUCCESS);
  EXPECT_EQ(called(UNISONO_PCONTROL_NUMBERED + 42), MPI_SUCCESS);
  for (const int level : {-1, 0, 1, 2, UNISONO_PCONTROL_NUMBERED + 100})
    EXPECT_EQ(called(level), MPI_SUCCESS) << "the host's";
  EXPECT_EQ(called(UNISONO_PCONTROL_END), MPI_SUCCESS);
  EXPECT_EQ(recording.regions, (std::vector<std::string>{"solve", "42", ""}));
}

TEST_F(Wrappers, ACallToCompareIsMadeByTheHostToo) {
  recording.outcome = Outcome::compared;
  EXPECT_EQ(allreduce(in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(out[3], 4);
  EXPECT_EQ(recording.calls.size(), 1u);
  EXPECT_EQ(recording.comparisons, 1);
}

TEST_F(Wrappers, LargeCountsReachTheRuntimeWhole) {
  recording.outcome = Outcome::done;
  const MPI_Count count = (MPI_Count{1} << 33) + 1;
  EXPECT_EQ(allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(only_call().send_count, static_cast<std::size_t>(count));
  recording.reset();
  recording.outcome = Outcome::done;
  EXPECT_EQ(gather(in, count, MPI_INT, out, count, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(only_call().recv_count, static_cast<std::size_t>(count));
}

TEST_F(Wrappers, SmallCountsOfLargeCountFunctions) {
  EXPECT_EQ(allreduce(in, out, MPI_Count{4}, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(out[3], 4);
  EXPECT_EQ(bcast(in, MPI_Count{4}, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  out[3] = 0;
  EXPECT_EQ(reduce(in, out, MPI_Count{4}, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(out[3], 4);
  out[3] = 0;
  EXPECT_EQ(gather(in, MPI_Count{4}, MPI_INT, out, MPI_Count{4}, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(out[3], 4);
  out[3] = 0;
  EXPECT_EQ(scatter(in, MPI_Count{4}, MPI_INT, out, MPI_Count{4}, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(out[3], 4);
  out[3] = 0;
  EXPECT_EQ(allgather(in, MPI_Count{4}, MPI_INT, out, MPI_Count{4}, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(out[3], 4);
  out[3] = 0;
  EXPECT_EQ(alltoall(in, MPI_Count{4}, MPI_INT, out, MPI_Count{4}, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(out[3], 4);
  EXPECT_EQ(recording.calls.size(), 7u);
}

int refusals = 0;

// Stands in for a host function: counts, and refuses.
template <class... Arguments>
int refuse(Arguments...) {
  ++refusals;
  return MPI_ERR_OTHER;
}

// Hosts check more or less, and some crash: these tests look only at whom the call went to.
class RefusingHost : public Wrappers {
 protected:
  void SetUp() override {
    Wrappers::SetUp();
    refusals = 0;
    saved = pmpi;
    pmpi.barrier.small = refuse;
    pmpi.bcast.small = refuse;
    pmpi.reduce.small = refuse;
    pmpi.allreduce.small = refuse;
    pmpi.gather.small = refuse;
    pmpi.scatter.small = refuse;
    pmpi.allgather.small = refuse;
    pmpi.alltoall.small = refuse;
    pmpi.alltoall.large = refuse;
    pmpi.scan.small = refuse;
    pmpi.allgatherv.small = refuse;
    pmpi.gatherv.small = refuse;
    pmpi.reduce_scatter.small = refuse;
  }
  void TearDown() override { pmpi = saved; }

  // The call of the host that `result` comes from was the only one, and the runtime has seen nothing.
  static bool is_hosts(int result) {
    const bool is_refused = result == MPI_ERR_OTHER && refusals == 1 && recording.calls.empty();
    refusals = 0;
    recording.reset();
    return is_refused;
  }

  Functions saved;
};

// Each breaks one of MPI's rules: the host's error handler is to speak, the runtime must not see it.
TEST_F(RefusingHost, GetsInvalidArguments) {
  void* const in_place = MPI_IN_PLACE;
  EXPECT_TRUE(is_hosts(bcast(in, -1, MPI_INT, 0, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(bcast(in, 4, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(bcast(in, 4, MPI_INT, 1, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(bcast(in, 4, MPI_INT, -7, MPI_COMM_SELF)));
  EXPECT_TRUE(is_hosts(bcast(in_place, 4, MPI_INT, 0, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(allreduce(in, out, 4, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(allreduce(in, in_place, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(allreduce(in, out, -4, MPI_INT, MPI_SUM, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(reduce(in, out, -4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(reduce(in, in_place, 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(reduce(in, out, 4, MPI_INT, MPI_SUM, 3, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(gather(in, 4, MPI_INT, out, 4, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(gather(in, -4, MPI_INT, out, 4, MPI_INT, 0, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(scatter(in, -4, MPI_INT, out, 4, MPI_INT, 0, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(scatter(in, 4, MPI_INT, out, 4, MPI_INT, 5, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(allgather(in, 4, MPI_INT, out, -4, MPI_INT, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(alltoall(in, 4, MPI_INT, in_place, 4, MPI_INT, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(alltoall(in, MPI_Count{4}, MPI_INT, out, MPI_Count{-4}, MPI_INT, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(barrier(MPI_COMM_NULL)));
  const int counts[] = {4};
  const int* const none = nullptr;
  EXPECT_TRUE(is_hosts(scan(in, out, -4, MPI_INT, MPI_SUM, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(allgatherv(in, 4, MPI_INT, out, none, counts, MPI_INT, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(gatherv(in, 4, MPI_INT, out, counts, none, MPI_INT, 0, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(gatherv(in, 4, MPI_INT, out, counts, counts, MPI_INT, 7, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(reduce_scatter(in, out, none, MPI_INT, MPI_SUM, MPI_COMM_WORLD)));
}

// A predefined type has no addresses of its own.
TEST_F(RefusingHost, GetsMissingBuffers) {
  int* const none = nullptr;
  EXPECT_TRUE(is_hosts(bcast(none, 4, MPI_INT, 0, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(allreduce(none, out, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(allreduce(in, none, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD)));
  recording.outcome = Outcome::done;
  EXPECT_EQ(bcast(none, 0, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS) << "no data, no rule broken";
  EXPECT_EQ(recording.calls.size(), 1u);
}

TEST_F(RefusingHost, GetsEqualBuffersWhereTheyAreAnError) {
  recording.outcome = Outcome::done;
  EXPECT_TRUE(is_hosts(allreduce(in, in, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD)));
  EXPECT_TRUE(is_hosts(reduce(in, in, 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD)));
  recording.reset();
  recording.outcome = Outcome::done;
  const int result = scan(in, in, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rejects_aliases) {
    EXPECT_TRUE(is_hosts(result));
    EXPECT_TRUE(is_hosts(allgather(in, 4, MPI_INT, in, 4, MPI_INT, MPI_COMM_WORLD)));
  } else {
    EXPECT_EQ(result, MPI_SUCCESS);
    EXPECT_TRUE(only_call().is_in_place);
  }
}

// What this rank's host does not reject must not go to it alone: the other ranks know nothing of it.
TEST_F(RefusingHost, GetsNoEqualBuffersThatItTakes) {
  recording.outcome = Outcome::done;
  const int counts[] = {4}, others[] = {4}, places[] = {0};
  EXPECT_EQ(allgather(in, 4, MPI_INT, in, 16, MPI_BYTE, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(alltoall(in, 4, MPI_INT, in, 16, MPI_BYTE, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(alltoallv(in, counts, places, MPI_INT, in, others, places, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(allreduce(in, in, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(recording.calls.size(), 4u);
}

// A freed communicator's handle comes again as another one's: what was remembered of it must not.
TEST_F(Wrappers, PlaceIsForgottenWithItsCommunicator) {
  MPI_Comm comm = MPI_COMM_NULL;
  Place place{};
  ASSERT_EQ(pmpi.Comm_split(MPI_COMM_WORLD, 0, 0, &comm), MPI_SUCCESS);
  ASSERT_TRUE(find_place(comm, &place));
  EXPECT_EQ(place.rank, 0);
  EXPECT_EQ(place.size, 1);
  const auto before = freed_communicators.load();
  MPI_Comm copy = MPI_COMM_NULL;
  ASSERT_EQ(HOST(Comm_dup)(comm, &copy), MPI_SUCCESS);
  ASSERT_EQ(pmpi.Comm_free(&copy), MPI_SUCCESS);
  EXPECT_EQ(freed_communicators.load(), before) << "nothing was remembered of the copy";
  for (int time = 0; time < 3; ++time) EXPECT_TRUE(find_place(comm, &place));
  ASSERT_EQ(pmpi.Comm_free(&comm), MPI_SUCCESS);
  EXPECT_EQ(freed_communicators.load(), before + 1);
}

TEST_F(Wrappers, AbsoluteAddresses) {
  MPI_Aint address = 0;
  ASSERT_EQ(HOST(Get_address)(in, &address), MPI_SUCCESS);
  const int length = 4;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  ASSERT_EQ(pmpi.Type_create_hindexed(1, &length, &address, MPI_INT, &type), MPI_SUCCESS);
  ASSERT_EQ(pmpi.Type_commit(&type), MPI_SUCCESS);
  EXPECT_EQ(bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(only_call().send_buffer, nullptr);
  EXPECT_EQ(pmpi.Type_free(&type), MPI_SUCCESS);
}

}  // namespace
}  // namespace unisono::adapter
