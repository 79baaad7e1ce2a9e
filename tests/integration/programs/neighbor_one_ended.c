// SPDX-License-Identifier: BSD-3-Clause
// A ring on which rank 0 names one more destination, which does not name rank 0 as a source. That breaks a
// rule of MPI's, and MPIs deliver what both ends name nevertheless. Blocking calls and others take turns.
// "OK" where each rank has got what the one before it sent.
#include <mpi.h>
#include <stdio.h>

enum { calls = 12, most_neighbors = 2 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, wrong = 0, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int before = (rank + size - 1) % size;
  const int targets[most_neighbors] = {(rank + 1) % size, size - 1};
  const int weights[most_neighbors] = {1, 1};
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, weights, rank == 0 ? most_neighbors : 1, targets,
                                 weights, MPI_INFO_NULL, 0, &graph);
  for (int call = 0; call < calls; ++call) {
    const int sent = rank * calls + call;
    int got = -1;
    if (call % 2 == 0) {
      MPI_Neighbor_allgather(&sent, 1, MPI_INT, &got, 1, MPI_INT, graph);
    } else {
      MPI_Request request;
      MPI_Ineighbor_allgather(&sent, 1, MPI_INT, &got, 1, MPI_INT, graph, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    wrong += got != before * calls + call;
  }
  MPI_Comm_free(&graph);
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf(all == 0 ? "OK\n" : "%d are wrong\n", all);
  MPI_Finalize();
  return all != 0;
}
