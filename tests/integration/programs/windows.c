// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 completes its access to every other rank's window before a barrier; behind it one MPI_Win_test finds
// that. Not every MPI finds it natively each time: prints on rank 0 how many of all tests missed it.
#include <mpi.h>
#include <stdio.h>

enum { rounds = 200 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, missed = 0, all = 0, value = 0, zero = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win window;
  MPI_Win_create(&value, sizeof value, sizeof value, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Group world, others, first;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_excl(world, 1, &zero, &others);
  MPI_Group_incl(world, 1, &zero, &first);
  for (int round = 0; round < rounds; ++round) {
    if (rank == 0) {
      MPI_Win_start(others, 0, window);
      MPI_Win_complete(window);
      MPI_Barrier(MPI_COMM_WORLD);
    } else {
      int is_over = 0;
      MPI_Win_post(first, 0, window);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_test(window, &is_over);
      missed += !is_over;
      if (!is_over) MPI_Win_wait(window);
    }
  }
  MPI_Reduce(&missed, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) printf("missed %d of %d\n", all, rounds * (size - 1));
  MPI_Group_free(&world);
  MPI_Group_free(&others);
  MPI_Group_free(&first);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
