// SPDX-License-Identifier: BSD-3-Clause
// Collectives of neighbours: what the runtime is told, and what the host does where it does not take them.
// The one process is its own neighbour on a graph.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "adapter/collectives/collectives.h"
#include "adapter/control.h"
#include "adapter/life.h"
#include "adapter/requests/requests.h"
#include "real_mpi.h"
#include "with_recording.h"

namespace unisono::adapter {
namespace {

class NeighborCollectives : public WithRecording {
 protected:
  void SetUp() override {
    WithRecording::SetUp();
    const int self[] = {0}, weight[] = {1};
    ASSERT_EQ(HOST(Dist_graph_create_adjacent)(MPI_COMM_WORLD, 1, self, weight, 1, self, weight,
                                               MPI_INFO_NULL, 0, &graph),
              MPI_SUCCESS);
  }
  void TearDown() override {
    pmpi = host_functions;
    if (set_enabled(1) == 0) ADD_FAILURE() << "left switched off";
    EXPECT_EQ(pmpi.Comm_free(&graph), MPI_SUCCESS);
    recording.reset();
  }

  // As a host before MPI 4.0.
  static void take_away_persistent_forms() {
#define UNISONO_TAKE(Name, name) pmpi.name.init_small = nullptr;
    UNISONO_COLLECTIVES(UNISONO_TAKE)
#undef UNISONO_TAKE
  }
  // As a host without large counts.
  static void take_away_large_counts() {
#define UNISONO_TAKE(Name, name)   \
  pmpi.name.large = nullptr;       \
  pmpi.name.start_large = nullptr; \
  pmpi.name.init_large = nullptr;
    UNISONO_COLLECTIVES_WITH_COUNTS(UNISONO_TAKE)
#undef UNISONO_TAKE
  }

  // Two elements of a derived type, whose handle and arrays are gone once the call was made.
  struct Given {
    Given() {
      HOST(Type_dup)(MPI_INT, &type);
      types[0] = type;
    }
    ~Given() {
      counts[0] = places[0] = -1;
      bytes[0] = -1;
      types[0] = MPI_DATATYPE_NULL;
      type_free(&type);
    }
    int counts[1] = {2}, places[1] = {1};
    MPI_Aint bytes[1] = {sizeof(int)};
    MPI_Datatype types[1], type = MPI_DATATYPE_NULL;
  };

  // `make` makes a request of what moves two elements from `in` to `out`, each shifted as it is told.
  void expect_moves(const std::function<int(const Given&, MPI_Request*)>& make, int in_shift, int out_shift) {
    MPI_Request request = MPI_REQUEST_NULL;
    // Arrays that live no longer than the call, as of language bindings.
    auto given = std::make_unique<Given>();
    ASSERT_EQ(make(*given, &request), MPI_SUCCESS);
    given.reset();
    const MPI_Request made = request;
    for (int turn = 1; turn <= 3; ++turn) {
      for (int i = 0; i < 4; ++i) in[i] = 10 * turn + i, out[i] = 0;
      EXPECT_EQ(turn % 2 == 0 ? startall(1, &request) : start(&request), MPI_SUCCESS);
      int flag = 0;
      if (turn == 2) {
        while (flag == 0) ASSERT_EQ(request_get_status(request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
      }
      if (turn == 3) {
        for (flag = 0; flag == 0;) ASSERT_EQ(test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
      }
      EXPECT_EQ(wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(request, made) << "inactive, not freed";
      for (int i = 0; i < 4; ++i) {
        const bool is_moved = i >= out_shift && i < out_shift + 2;
        EXPECT_EQ(out[i], is_moved ? 10 * turn + i - out_shift + in_shift : 0) << "turn " << turn;
      }
    }
    EXPECT_EQ(request_free(&request), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
  }

  void expect_all_move() {
    expect_moves(
        [this](const Given& a, MPI_Request* request) {
          return neighbor_allgather(in, 2, a.type, out, 2, a.type, graph, MPI_INFO_NULL, request);
        },
        0, 0);
    expect_moves(
        [this](const Given& a, MPI_Request* request) {
          return neighbor_allgatherv(in, 2, a.type, out, a.counts, a.places, a.type, graph, MPI_INFO_NULL,
                                     request);
        },
        0, 1);
    expect_moves(
        [this](const Given& a, MPI_Request* request) {
          return neighbor_alltoall(in, 2, a.type, out, 2, a.type, graph, MPI_INFO_NULL, request);
        },
        0, 0);
    expect_moves(
        [this](const Given& a, MPI_Request* request) {
          return neighbor_alltoallv(in, a.counts, a.places, a.type, out, a.counts, a.places, a.type, graph,
                                    MPI_INFO_NULL, request);
        },
        1, 1);
    expect_moves(
        [this](const Given& a, MPI_Request* request) {
          return neighbor_alltoallw(in, a.counts, a.bytes, a.types, out, a.counts, a.bytes, a.types, graph,
                                    MPI_INFO_NULL, request);
        },
        1, 1);
  }

  const Functions host_functions = pmpi;
  MPI_Comm graph = MPI_COMM_NULL;
};

TEST_F(NeighborCollectives, OfTheHost) {
  expect_all_move();
}

TEST_F(NeighborCollectives, WhereTheHostHasNone) {
  take_away_persistent_forms();
  expect_all_move();
}

// What is switched off is made of the host's calls as well.
TEST_F(NeighborCollectives, WhereTheHostHasNoneSwitchedOff) {
  take_away_persistent_forms();
  set_enabled(0);
  expect_all_move();
  expect_moves(
      [this](const Given& a, MPI_Request* request) {
        const int byte_places[] = {static_cast<int>(a.bytes[0])};
        return alltoallw(in, a.counts, byte_places, a.types, out, a.counts, byte_places, a.types,
                         MPI_COMM_WORLD, MPI_INFO_NULL, request);
      },
      1, 1);
  set_enabled(1);
}

int seen_class = MPI_SUCCESS;

void see(MPI_Comm*, int* code, ...) {
  HOST(Error_class)(*code, &seen_class);
}

// (Intel's ABI library knows MPI_ERRORS_RETURN by another value.)
TEST_F(NeighborCollectives, WithoutATopology) {
  take_away_persistent_forms();
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm flat = MPI_COMM_NULL;
  ASSERT_EQ(HOST(Comm_create_errhandler)(see, &handler), MPI_SUCCESS);
  ASSERT_EQ(HOST(Comm_dup)(MPI_COMM_WORLD, &flat), MPI_SUCCESS);
  ASSERT_EQ(pmpi.Comm_set_errhandler(flat, handler), MPI_SUCCESS);
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_NE(neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, flat, MPI_INFO_NULL, &request), MPI_SUCCESS);
  EXPECT_EQ(seen_class, MPI_ERR_TOPOLOGY) << "the program's handler is told";
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_EQ(pmpi.Comm_free(&flat), MPI_SUCCESS);
  EXPECT_EQ(HOST(Errhandler_free)(&handler), MPI_SUCCESS);
}

// --- Other forms ---

class AllForms : public NeighborCollectives {
 protected:
  template <class Count>
  struct Arrays {
    Count counts[1] = {2};
    Displacement<Count> places[1] = {1};
    MPI_Aint bytes[1] = {sizeof(int)};
    MPI_Datatype types[1] = {MPI_INT};
  };

  // All five, each of two elements from `in` to `out`; `complete` ends it.
  template <class Count, class... Tail, class Complete>
  void expect_all(Complete complete, Tail... tail) {
    const Arrays<Count> a;
    const Count two = 2;
    const auto expect = [&](int error, int in_shift, int out_shift) {
      EXPECT_EQ(error, MPI_SUCCESS);
      complete();
      for (int i = 0; i < 2; ++i) EXPECT_EQ(out[i + out_shift], in[i + in_shift]);
      for (int& element : out) element = 0;
    };
    expect(neighbor_allgather(in, two, MPI_INT, out, two, MPI_INT, graph, tail...), 0, 0);
    expect(neighbor_allgatherv(in, two, MPI_INT, out, a.counts, a.places, MPI_INT, graph, tail...), 0, 1);
    expect(neighbor_alltoall(in, two, MPI_INT, out, two, MPI_INT, graph, tail...), 0, 0);
    expect(
        neighbor_alltoallv(in, a.counts, a.places, MPI_INT, out, a.counts, a.places, MPI_INT, graph, tail...),
        1, 1);
    expect(
        neighbor_alltoallw(in, a.counts, a.bytes, a.types, out, a.counts, a.bytes, a.types, graph, tail...),
        1, 1);
  }

  template <class Count>
  void expect_all_forms() {
    expect_all<Count>([] {});
    MPI_Request request = MPI_REQUEST_NULL;
    expect_all<Count>([&] { EXPECT_EQ(wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS); }, &request);
    const auto start_it = [&] {
      EXPECT_EQ(start(&request), MPI_SUCCESS);
      EXPECT_EQ(wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(request_free(&request), MPI_SUCCESS);
    };
    const MPI_Info none = MPI_INFO_NULL;
    expect_all<Count>(start_it, none, &request);
  }
};

TEST_F(AllForms, AreTheHosts) {
  expect_all_forms<int>();
  EXPECT_EQ(recording.calls.size(), 15U) << "the runtime was asked";
}

TEST_F(AllForms, OfLargeCounts) {
  if (pmpi.neighbor_alltoall.init_large != nullptr) expect_all_forms<MPI_Count>();
  take_away_persistent_forms();
  take_away_large_counts();
  expect_all_forms<MPI_Count>();
}

// The host's part of a call that is checked is made of what the runtime was told.
TEST_F(AllForms, CheckedByTheHost) {
  const auto check = [this] {
    recording.outcome = runtime::Outcome::compared;
    recording.while_progressing = [] {
      runtime::HostPart& host = recording.host_part;
      int error = -1;
      if (host.is_over == nullptr || !host.is_over(host.context, &error)) return;
      EXPECT_EQ(error, MPI_SUCCESS);
      host.is_over = nullptr;
      recording.completions.back().call(recording.completions.back().context, MPI_SUCCESS);
    };
    recording.has_calls_under_way = true;
    MPI_Request request = MPI_REQUEST_NULL;
    const auto complete = [&] { EXPECT_EQ(wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS); };
    expect_all<int>(complete, &request);
    expect_all<MPI_Count>(complete, &request);
    recording.reset();
  };
  check();
  take_away_large_counts();
  check();
}

// --- What the runtime is told ---

class ToldNeighbors : public NeighborCollectives {
 protected:
  void SetUp() override {
    NeighborCollectives::SetUp();
    recording.outcome = runtime::Outcome::done;
    const int none[] = {0}, weight[] = {0};
    ASSERT_EQ(HOST(Dist_graph_create_adjacent)(MPI_COMM_WORLD, 0, none, weight, 0, none, weight,
                                               MPI_INFO_NULL, 0, &alone),
              MPI_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(pmpi.Comm_free(&alone), MPI_SUCCESS);
    NeighborCollectives::TearDown();
  }
  MPI_Comm alone = MPI_COMM_NULL;  // a rank without neighbours
};

TEST_F(ToldNeighbors, BlocksOfOneLength) {
  EXPECT_EQ(neighbor_alltoall(in, 3, MPI_INT, out, 2, MPI_INT, graph), MPI_SUCCESS);
  const runtime::Call& call = only_call();
  EXPECT_EQ(call.operation, Operation::neighbor_alltoall);
  EXPECT_EQ(call.comm, widen<host::Comm>(graph));
  EXPECT_EQ(call.send_blocks.buffer, in);
  EXPECT_EQ(call.send_blocks.counts, nullptr);
  EXPECT_EQ(call.send_blocks.count, 3U);
  EXPECT_EQ(call.recv_blocks.buffer, out);
  EXPECT_EQ(call.recv_blocks.count, 2U);
  EXPECT_EQ(call.recv_blocks.type, widen<host::Datatype>(MPI_INT));
}

TEST_F(ToldNeighbors, BlocksOfDifferentLengths) {
  const int counts[] = {2}, places[] = {1};
  EXPECT_EQ(neighbor_alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, graph),
            MPI_SUCCESS);
  const runtime::Call& call = only_call();
  EXPECT_EQ(call.send_blocks.counts, counts);
  EXPECT_EQ(call.recv_blocks.displacements, places);
  EXPECT_FALSE(call.recv_blocks.are_large);
}

// Displacements are wide, counts not.
TEST_F(ToldNeighbors, BlocksOfDifferentTypes) {
  const int counts[] = {2};
  const MPI_Aint places[] = {4};
  const MPI_Datatype types[] = {MPI_INT};
  recording.while_called = [] {
    const runtime::Call& call = recording.calls.back();
    for (const runtime::BlockArguments& blocks : {call.send_blocks, call.recv_blocks}) {
      EXPECT_TRUE(blocks.are_large);
      EXPECT_EQ(blocks.count_of(0), 2U);
      EXPECT_EQ(blocks.displacement_of(0), 4);
      EXPECT_EQ(blocks.types[0], widen<host::Datatype>(MPI_INT));
    }
  };
  EXPECT_EQ(neighbor_alltoallw(in, counts, places, types, out, counts, places, types, graph), MPI_SUCCESS);
  EXPECT_EQ(recording.calls.size(), 1U);
}

// The others wait for it as for any rank.
TEST_F(ToldNeighbors, NullsOfARankWithoutNeighbors) {
  const int* none = nullptr;
  const MPI_Aint* no_places = nullptr;
  const MPI_Datatype* no_types = nullptr;
  void* nowhere = nullptr;
  EXPECT_EQ(neighbor_allgather(nowhere, 2, MPI_INT, nowhere, 2, MPI_INT, alone), MPI_SUCCESS);
  EXPECT_EQ(recording.calls.back().send_blocks.count, 0U) << "there is nothing to read";
  EXPECT_EQ(neighbor_allgatherv(nowhere, 2, MPI_INT, nowhere, none, none, MPI_INT, alone), MPI_SUCCESS);
  EXPECT_EQ(neighbor_alltoall(nowhere, 2, MPI_INT, nowhere, 2, MPI_INT, alone), MPI_SUCCESS);
  EXPECT_EQ(neighbor_alltoallv(nowhere, none, none, MPI_INT, nowhere, none, none, MPI_INT, alone),
            MPI_SUCCESS);
  EXPECT_EQ(neighbor_alltoallw(nowhere, none, no_places, no_types, nowhere, none, no_places, no_types, alone),
            MPI_SUCCESS);
  EXPECT_EQ(recording.calls.size(), 5U);
}

int host_calls = 0;

// What the host has to judge.
TEST_F(ToldNeighbors, ArgumentsForTheHost) {
  pmpi.neighbor_alltoall.small = [](const void*, int, MPI_Datatype, void*, int, MPI_Datatype,
                                    MPI_Comm) -> int { return ++host_calls, MPI_SUCCESS; };
  pmpi.neighbor_alltoallv.small = [](const void*, const int*, const int*, MPI_Datatype, void*, const int*,
                                     const int*, MPI_Datatype,
                                     MPI_Comm) -> int { return ++host_calls, MPI_SUCCESS; };
  host_calls = 0;
  const void* in_place = MPI_IN_PLACE;
  const int counts[] = {1}, places[] = {0};
  const int* none = nullptr;
  EXPECT_EQ(neighbor_alltoall(in_place, 1, MPI_INT, out, 1, MPI_INT, graph), MPI_SUCCESS);
  EXPECT_EQ(neighbor_alltoall(in, -1, MPI_INT, out, 1, MPI_INT, graph), MPI_SUCCESS);
  EXPECT_EQ(neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_DATATYPE_NULL, graph), MPI_SUCCESS);
  EXPECT_EQ(neighbor_alltoall(nullptr, 1, MPI_INT, out, 1, MPI_INT, graph), MPI_SUCCESS);
  EXPECT_EQ(neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS) << "no topology";
  EXPECT_EQ(neighbor_alltoallv(in, none, places, MPI_INT, out, counts, places, MPI_INT, graph), MPI_SUCCESS);
  EXPECT_EQ(host_calls, 6);
  EXPECT_TRUE(recording.calls.empty());
  EXPECT_EQ(recording.left, std::vector<runtime::NativeReason>(6, runtime::NativeReason::arguments));
}

}  // namespace
}  // namespace unisono::adapter
