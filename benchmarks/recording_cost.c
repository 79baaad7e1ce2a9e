// SPDX-License-Identifier: BSD-3-Clause
// What recording a message costs (option record_messages). Compile with any MPI's compiler wrapper, run one
// process under Unisono, which records:
//     mpicc -O2 benchmarks/recording_cost.c -o recording_cost -ldl
//     unisono run --record-messages messages.trace --record-bytes 256M ./recording_cost
// A rank sends messages to itself. Calls by name (jump, wrapper, host) and by the host's own pointer (host)
// take turns in batches; the figures are medians of the differences, with the quartiles, for one message.
// `both sides`: MPI_Irecv, MPI_Isend and their part of MPI_Waitall; `blocking`: MPI_Send and MPI_Recv.
// With `--messages node` they are Unisono's by name, so that one side alone cannot be called so. What
// recording costs there is the difference between a run that records and one that does not.
#define _GNU_SOURCE
#include <mpi.h>

#include "host_calls.h"

enum { under_way = 64, most_batch = calls_a_batch / under_way };

static struct {
  int (*isend)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  int (*irecv)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  int (*waitall)(int, MPI_Request*, MPI_Status*);
  int (*send)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
  int (*recv)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
} functions[2];

// `measure` times calls: each 64th one makes 64 messages.
static void exchange(int send_by_name, int receive_by_name) {
  static int calls;
  static char data[under_way];
  MPI_Request sends[under_way], receives[under_way];
  if (++calls % under_way != 0) return;
  for (int i = 0; i < under_way; ++i)
    functions[receive_by_name].irecv(&data[i], 0, MPI_BYTE, 0, i, MPI_COMM_WORLD, &receives[i]);
  for (int i = 0; i < under_way; ++i)
    functions[send_by_name].isend(&data[i], 0, MPI_BYTE, 0, i, MPI_COMM_WORLD, &sends[i]);
  functions[receive_by_name].waitall(under_way, receives, MPI_STATUSES_IGNORE);
  functions[send_by_name].waitall(under_way, sends, MPI_STATUSES_IGNORE);
}
static void both_sides(int by_name) {
  exchange(by_name, by_name);
}
static void sender(int by_name) {
  exchange(by_name, 0);
}
static void receiver(int by_name) {
  exchange(0, by_name);
}
static void blocking(int by_name) {
  functions[by_name].send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  functions[by_name].recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  void* host = host_library();
  if (host == NULL || dlsym(RTLD_DEFAULT, "unisono_set_enabled") == NULL) {
    fprintf(stderr, "recording_cost: run this under Unisono\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
#define FUNCTION(member, Name)                      \
  functions[0].member = dlsym(host, "PMPI_" #Name); \
  functions[1].member = MPI_##Name;
  FUNCTION(isend, Isend)
  FUNCTION(irecv, Irecv)
  FUNCTION(waitall, Waitall)
  FUNCTION(send, Send)
  FUNCTION(recv, Recv)
#undef FUNCTION
  measure("both sides", both_sides);
  const char* carried = getenv("UNISONO_MESSAGES");
  if (carried == NULL || strcmp(carried, "off") == 0) {
    measure("sender", sender);
    measure("receiver", receiver);
  }
  measure("blocking", blocking);
  MPI_Finalize();
  return 0;
}
