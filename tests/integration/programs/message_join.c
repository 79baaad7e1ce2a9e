// SPDX-License-Identifier: BSD-3-Clause
// Two ranks of one communicator join by a socket (MPI_Comm_join), and send messages by what comes of it, on
// the communicator over both, and on MPI_COMM_WORLD.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "messages.inc"

enum { turns = 20, elements = 30000 };

// Of rank 0, which listens on the loopback interface and says where by a message.
static int accepted(int tag) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(bind(listener, (struct sockaddr*)&address, sizeof address) == 0 && listen(listener, 1) == 0);
  CHECK(getsockname(listener, (struct sockaddr*)&address, &length) == 0);
  int port = address.sin_port;
  MPI_Send(&port, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
  const int connection = accept(listener, NULL, NULL);
  close(listener);
  return connection;
}
static int connected(int tag) {
  int port = 0;
  MPI_Recv(&port, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  address.sin_port = (in_port_t)port;
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(connect(connection, (struct sockaddr*)&address, sizeof address) == 0);
  return connection;
}

// The other of two ranks sends the same, and one message of each communicator is under way at a time.
static void exchange(const MPI_Comm comms[], const int others[], int count) {
  static int out[3][elements], in[3][elements];
  for (int turn = 0; turn < turns; ++turn) {
    MPI_Request requests[6];
    const int length = turn % 2 ? elements : 1;
    for (int k = 0; k < count; ++k) {
      for (int i = 0; i < length; ++i) out[k][i] = rank * 1000000 + k * 100000 + turn + i, in[k][i] = -1;
      const int source = turn % 3 ? others[k] : MPI_ANY_SOURCE;
      MPI_Irecv(in[k], length, MPI_INT, source, 7, comms[k], &requests[2 * k]);
      MPI_Isend(out[k], length, MPI_INT, others[k], 7, comms[k], &requests[2 * k + 1]);
    }
    MPI_Status statuses[6];
    MPI_Waitall(2 * count, requests, statuses);
    for (int k = 0; k < count; ++k) {
      const int first = (1 - rank) * 1000000 + k * 100000 + turn;
      check_status(&statuses[2 * k], others[k], 7, length * (int)sizeof(int));
      CHECK(in[k][0] == first && in[k][length - 1] == first + length - 1);
    }
  }
}

static void joined(void) {
  for (int time = 0; time < 2; ++time) {
    MPI_Comm between = MPI_COMM_NULL, merged = MPI_COMM_NULL;
    const int connection = rank == 0 ? accepted(time) : connected(time);
    // A message that is under way meanwhile, and whose receive comes behind the join.
    int early = 70 + rank, late = -1, others_size = 0, place = -1;
    MPI_Request request;
    MPI_Isend(&early, 1, MPI_INT, 1 - rank, 50, MPI_COMM_WORLD, &request);
    MPI_Comm_join(connection, &between);
    close(connection);
    MPI_Recv(&late, 1, MPI_INT, 1 - rank, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(late == 70 + 1 - rank && between != MPI_COMM_NULL);
    MPI_Comm_remote_size(between, &others_size);
    CHECK(others_size == 1);
    MPI_Intercomm_merge(between, rank, &merged);
    MPI_Comm_rank(merged, &place);
    CHECK(place == rank);
    exchange((MPI_Comm[]){between, MPI_COMM_WORLD, merged}, (int[]){0, 1 - rank, 1 - rank}, 3);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&between);
    exchange((MPI_Comm[]){MPI_COMM_WORLD}, (int[]){1 - rank}, 1);
  }
}

int main(int argc, char** argv) {
  const struct Section sections[] = {{"joined", joined}, {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
