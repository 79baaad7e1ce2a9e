// SPDX-License-Identifier: BSD-3-Clause
// Latencies between machines: one rank of each takes part, and each pair exchanges small messages for a
// while. Prints one line of JSON: the machines' names and a matrix of half round trips in microseconds (the
// least of many). In each of the rounds of a tournament every machine has one partner, so that all pairs take
// rounds * seconds.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { name_bytes = 256, least_trips = 20, most_trips = 2000, message_bytes = 8 };

typedef struct {
  int count;
  char (*names)[name_bytes];
  int* ranks;  // the lowest of each
} Machines;

static Machines find_machines(int size) {
  char own[name_bytes] = "";
  int length = 0;
  char processor[MPI_MAX_PROCESSOR_NAME];
  MPI_Get_processor_name(processor, &length);
  snprintf(own, sizeof own, "%.*s", length < name_bytes ? length : name_bytes - 1, processor);
  char(*all)[name_bytes] = malloc((size_t)size * name_bytes);
  MPI_Allgather(own, name_bytes, MPI_CHAR, all, name_bytes, MPI_CHAR, MPI_COMM_WORLD);
  Machines machines = {0, all, malloc((size_t)size * sizeof(int))};
  for (int rank = 0; rank < size; ++rank) {
    int known = 0;
    while (known < machines.count && strcmp(all[known], all[rank]) != 0) ++known;
    if (known < machines.count) continue;
    machines.ranks[machines.count] = rank;
    memmove(all[machines.count], all[rank], name_bytes);
    ++machines.count;
  }
  return machines;
}

// Of a tournament among `count` (even) players, in round 0 .. count - 2: everybody but the last sits in a
// ring that turns.
static int partner_of(int player, int round, int count) {
  const int ring = count - 1;
  if (player == ring) return round % ring;
  if (player == round % ring) return ring;
  return ((2 * round - player) % ring + ring) % ring;
}

// The least half round trip. The lower rank says when it is enough.
static double exchange(int peer, int is_first, double seconds) {
  char message[message_bytes] = {0};
  double least = -1;
  const double end = MPI_Wtime() + seconds;
  for (int trip = 0; message[0] == 0; ++trip) {
    const double start = MPI_Wtime();
    if (is_first) {
      message[0] = trip + 1 >= most_trips || (trip + 1 >= least_trips && start > end);
      MPI_Send(message, message_bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
    }
    MPI_Recv(message, message_bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double half_us = (MPI_Wtime() - start) / 2 * 1e6;
    if (!is_first) MPI_Send(message, message_bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
    if (least < 0 || half_us < least) least = half_us;
  }
  return least;
}

static void print(const Machines* machines, const double* latencies) {
  printf("{\"machines\": [");
  for (int i = 0; i < machines->count; ++i) printf("%s\"%s\"", i > 0 ? ", " : "", machines->names[i]);
  printf("], \"latencies_us\": [");
  for (int i = 0; i < machines->count; ++i) {
    printf("%s[", i > 0 ? ", " : "");
    for (int j = 0; j < machines->count; ++j) {
      printf("%s%.3f", j > 0 ? ", " : "", latencies[i * machines->count + j]);
    }
    printf("]");
  }
  printf("]}\n");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double seconds = argc > 1 ? atof(argv[1]) : 1.0;
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const Machines machines = find_machines(size);
  int own = -1;
  for (int i = 0; i < machines.count; ++i) own = machines.ranks[i] == rank ? i : own;
  const int players = machines.count + machines.count % 2;
  const size_t cells = (size_t)machines.count * (size_t)machines.count;
  double* measured = calloc(cells, sizeof(double));
  double* latencies = calloc(cells, sizeof(double));
  for (int round = 0; round + 1 < players; ++round) {
    const int partner = own < 0 ? -1 : partner_of(own, round, players);
    if (partner >= 0 && partner < machines.count) {
      const double share = seconds / (players - 1);
      const double least = exchange(machines.ranks[partner], own < partner, share);
      // Only who starts a round trip sees all of it.
      if (own < partner)
        measured[own * machines.count + partner] = measured[partner * machines.count + own] = least;
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Reduce(measured, latencies, (int)cells, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) print(&machines, latencies);
  free(measured);
  free(latencies);
  free(machines.names);
  free(machines.ranks);
  MPI_Finalize();
  return 0;
}
