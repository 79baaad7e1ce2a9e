// SPDX-License-Identifier: BSD-3-Clause
// More messages than have room, and receivers that are elsewhere: what MPI promises of progress.
#include "messages.inc"

// A receiver that sits in another call while its sender needs it.
static void trap(void) {
  enum { many = 5000 };
  for (int turn = 0; turn < 2; ++turn) {
    const int bytes = turn ? 8 : 1 << 20, count = turn ? many : 1;
    unsigned char* data = malloc((size_t)bytes * (size_t)count);
    MPI_Request* requests = malloc(sizeof(MPI_Request) * (size_t)count);
    if (rank == 1) {
      for (int i = 0; i < count; ++i)
        MPI_Irecv(data + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
    }
    if (rank == 0 && size > 1) {
      for (int i = 0; i < count; ++i) {
        fill(data + (size_t)i * (size_t)bytes, bytes, i);
        MPI_Send(data + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
      MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < count; ++i) CHECK(is_filled(data + (size_t)i * (size_t)bytes, bytes, i));
    }
    free(requests);
    free(data);
  }
}

// More messages under way than anything has room for.
static void flood(void) {
  enum { count = 20000, bytes = 1000 };
  MPI_Request* requests = malloc(sizeof(MPI_Request) * count);
  unsigned char* out = malloc(bytes);
  unsigned char* in = malloc(bytes);
  fill(out, bytes, rank);
  for (int i = 0; i < count; ++i)
    MPI_Isend(out, bytes, MPI_BYTE, next_rank(), i % 100, MPI_COMM_WORLD, &requests[i]);
  for (int i = count - 1; i >= 0; --i) {
    MPI_Status status;
    MPI_Recv(in, bytes, MPI_BYTE, previous_rank(), i % 100, MPI_COMM_WORLD, &status);
    if (i % 100 == 0) CHECK(is_filled(in, bytes, previous_rank()));
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  free(in);
  free(out);
  free(requests);
}

// All messages wait for their receives, since the last one is received first.
static void backlog(void) {
  enum { count = 20000, bytes = 1000 };
  MPI_Request* requests = malloc(sizeof(MPI_Request) * (count + 1));
  unsigned char* out = malloc(bytes);
  unsigned char* in = malloc(bytes);
  fill(out, bytes, rank);
  for (int i = 0; i < count; ++i)
    MPI_Isend(out, bytes, MPI_BYTE, next_rank(), 1, MPI_COMM_WORLD, &requests[i]);
  MPI_Isend(out, bytes, MPI_BYTE, next_rank(), 2, MPI_COMM_WORLD, &requests[count]);
  for (int i = 0; i <= count; ++i) {
    const int tag = i == 0 ? 2 : 1;
    MPI_Status status;
    MPI_Recv(in, bytes, MPI_BYTE, previous_rank(), tag, MPI_COMM_WORLD, &status);
    check_status(&status, previous_rank(), tag, bytes);
    CHECK(is_filled(in, bytes, previous_rank()));
  }
  MPI_Waitall(count + 1, requests, MPI_STATUSES_IGNORE);
  free(in);
  free(out);
  free(requests);
}

// Messages that MPIs send at once, to a receiver that has posted nothing and sits in another call.
static void unposted(void) {
  enum { many = 8000, long_ones = 2000, long_bytes = 4000 };
  for (int way = 0; way < 3; ++way) {
    const int count = way == 2 ? long_ones : many, bytes = way == 2 ? long_bytes : 4;
    unsigned char* data = malloc((size_t)bytes);
    MPI_Request* requests = malloc(sizeof(MPI_Request) * (size_t)count);
    if (rank == 1) {
      for (int i = 0; i < count; ++i) {
        fill(data, bytes, i);
        if (way == 1) {
          MPI_Isend("send", 4, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
        } else {
          MPI_Send(data, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD);
          memset(data, 0xEE, (size_t)bytes);  // the buffer is the program's again
        }
      }
      if (way == 1) MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = count - 1; i >= 0 && rank == 0 && size > 1; --i) {
      MPI_Recv(data, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(way == 1 ? memcmp(data, "send", 4) == 0 : is_filled(data, bytes, i));
    }
    free(requests);
    free(data);
  }
}

int main(int argc, char** argv) {
  static const struct Section sections[] = {
      {"trap", trap}, {"flood", flood}, {"backlog", backlog}, {"unposted", unposted}, {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
