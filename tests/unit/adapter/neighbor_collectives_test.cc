// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives of neighbours: the host's, or what is made of its non-blocking ones. The one process
// is its own neighbour on a graph.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "adapter/collectives/collectives.h"
#include "adapter/control.h"
#include "adapter/life.h"
#include "adapter/requests/requests.h"
#include "real_mpi.h"
#include "with_recording.h"

namespace unisono::host::mpi {
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
    EXPECT_TRUE(recording.calls.empty()) << "the runtime has nothing to do with them";
  }

  // As a host before MPI 4.0.
  static void take_away_persistent_forms() {
#define UNISONO_TAKE(Name, name) pmpi.name.init_small = nullptr;
    UNISONO_COLLECTIVES(UNISONO_TAKE)
    UNISONO_NEIGHBOR_COLLECTIVES(UNISONO_TAKE)
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
          return neighbor_allgather_init(in, 2, a.type, out, 2, a.type, graph, MPI_INFO_NULL, request);
        },
        0, 0);
    expect_moves(
        [this](const Given& a, MPI_Request* request) {
          return neighbor_allgatherv_init(in, 2, a.type, out, a.counts, a.places, a.type, graph,
                                          MPI_INFO_NULL, request);
        },
        0, 1);
    expect_moves(
        [this](const Given& a, MPI_Request* request) {
          return neighbor_alltoall_init(in, 2, a.type, out, 2, a.type, graph, MPI_INFO_NULL, request);
        },
        0, 0);
    expect_moves(
        [this](const Given& a, MPI_Request* request) {
          return neighbor_alltoallv_init(in, a.counts, a.places, a.type, out, a.counts, a.places, a.type,
                                         graph, MPI_INFO_NULL, request);
        },
        1, 1);
    expect_moves(
        [this](const Given& a, MPI_Request* request) {
          return neighbor_alltoallw_init(in, a.counts, a.bytes, a.types, out, a.counts, a.bytes, a.types,
                                         graph, MPI_INFO_NULL, request);
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
  EXPECT_NE(neighbor_alltoall_init(in, 1, MPI_INT, out, 1, MPI_INT, flat, MPI_INFO_NULL, &request),
            MPI_SUCCESS);
  EXPECT_EQ(seen_class, MPI_ERR_TOPOLOGY) << "the program's handler is told";
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_EQ(pmpi.Comm_free(&flat), MPI_SUCCESS);
  EXPECT_EQ(HOST(Errhandler_free)(&handler), MPI_SUCCESS);
}

}  // namespace
}  // namespace unisono::host::mpi
