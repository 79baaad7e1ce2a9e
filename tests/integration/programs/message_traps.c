// SPDX-License-Identifier: BSD-3-Clause
// Receivers that sit in a call of the MPI's own while their senders need them: MPI promises that the messages
// come all the same. Sections of what an MPI lacks say nothing.
#include <unistd.h>

#include "messages.inc"

enum { longest_message = 1 << 20, many = 3000 };
static unsigned char data[longest_message];
static char file_name[256];

// Rank 0 sends what the others wait for in `call`, which no rank leaves before rank 0 comes.
static void sit_in(void (*call)(void)) {
  for (int turn = 0; turn < 2; ++turn) {
    const int bytes = turn ? 8 : longest_message, count = turn ? many : 1;
    unsigned char* in = malloc((size_t)bytes * (size_t)count);
    MPI_Request* requests = malloc(sizeof(MPI_Request) * (size_t)count);
    if (rank != 0) {
      for (int i = 0; i < count; ++i)
        MPI_Irecv(in + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int to = 1; to < size && rank == 0; ++to) {
      for (int i = 0; i < count; ++i) {
        fill(data, bytes, i);
        MPI_Send(data, bytes, MPI_BYTE, to, i, MPI_COMM_WORLD);
      }
    }
    call();
    if (rank != 0) {
      MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < count; ++i) CHECK(is_filled(in + (size_t)i * (size_t)bytes, bytes, i));
    }
    free(requests);
    free(in);
  }
}

static MPI_Win window;
static void fence(void) {
  MPI_Win_fence(0, window);
}
static void fences(void) {
  int* memory = NULL;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, (void*)&memory, &window);
  MPI_Win_fence(0, window);
  sit_in(fence);
  MPI_Win_free(&window);
}

static void make_window(void) {
  int* memory = NULL;
  MPI_Win made;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, (void*)&memory, &made);
  MPI_Win_free(&made);
}
static void windows(void) {
  sit_in(make_window);
}

static void open_file(void) {
  MPI_File file;
  CHECK(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                      MPI_INFO_NULL, &file) == MPI_SUCCESS);
  MPI_File_close(&file);
}
static void files(void) {
  if (rank == 0) snprintf(file_name, sizeof file_name, "message_traps.%d", (int)getpid());
  MPI_Bcast(file_name, sizeof file_name, MPI_CHAR, 0, MPI_COMM_WORLD);
  sit_in(open_file);
}

static void idup(void) {
  MPI_Comm made;
  MPI_Request request;
  MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&made);
}
static void idups(void) {
  sit_in(idup);
}

static void dup_and_split(void) {
  MPI_Comm made, part;
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  MPI_Comm_split(made, rank % 2, rank, &part);
  MPI_Comm_free(&part);
  MPI_Comm_free(&made);
}
static void communicators(void) {
  sit_in(dup_and_split);
}

static void barrier(void) {
  MPI_Barrier(MPI_COMM_WORLD);
}
static void barriers(void) {
  sit_in(barrier);
}

int main(int argc, char** argv) {
  const struct Section sections[] = {{"fences", fences},
                                     {"windows", windows},
                                     {"files", files},
                                     {"idups", idups},
                                     {"communicators", communicators},
                                     {"barriers", barriers},
                                     {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
