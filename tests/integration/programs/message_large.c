// SPDX-License-Identifier: BSD-3-Clause
// Messages of more than 2 GiB from rank 0 to rank 1, whose bytes no int counts. What is sent is a short part
// of memory again and again, so that the sender needs little of it.
#include "messages.inc"

// A prime number of bytes, so that no piece of a message is like the one before it.
enum { part = 1048573, parts = 2300, gap = 4096 };
static const MPI_Count bytes = (MPI_Count)part * parts;
static unsigned char *out, *in;
static MPI_Datatype again, parts_of_bytes;  // all that is sent, and one part of what comes

static void begin(void) {
  if (out != NULL) return;
  MPI_Datatype one;
  out = malloc(part);
  in = rank == 1 ? malloc((size_t)(part + gap) * parts) : NULL;
  CHECK(out != NULL && (rank != 1 || in != NULL));
  fill(out, part, 1);
  MPI_Type_contiguous(part, MPI_BYTE, &parts_of_bytes);
  MPI_Type_commit(&parts_of_bytes);
  MPI_Type_create_resized(parts_of_bytes, 0, 0, &one);
  MPI_Type_contiguous(parts, one, &again);
  MPI_Type_commit(&again);
  MPI_Type_free(&one);
}

static void check_data(size_t step) {
  for (size_t k = 0; k < parts; ++k) {
    if (memcmp(in + k * step, out, part) == 0) continue;
    CHECK(!"the data came");
    break;
  }
  memset(in, 0, step * parts);
}

// Of a message of `all` bytes.
static void check_large(MPI_Status* status, int tag, MPI_Count all) {
  int count = 0, elements = 0;
  MPI_Count large = 0;
  CHECK(status->MPI_SOURCE == 0 && status->MPI_TAG == tag);
  MPI_Get_count(status, MPI_BYTE, &count);
  CHECK(count == MPI_UNDEFINED);
  MPI_Get_count(status, parts_of_bytes, &count);
  CHECK(count == parts);
  MPI_Get_elements(status, MPI_BYTE, &elements);
  CHECK(elements == MPI_UNDEFINED);
  MPI_Get_elements_x(status, MPI_BYTE, &large);
  CHECK(large == all);
  MPI_Get_elements_x(status, parts_of_bytes, &large);
  CHECK(large == all);
#if MPI_VERSION >= 4 && !defined(OMPI_MAJOR_VERSION)
  MPI_Get_count_c(status, MPI_BYTE, &large);
  CHECK(large == all);
  MPI_Get_elements_c(status, MPI_BYTE, &large);
  CHECK(large == all);
#endif
}

static void of_parts(void) {
  begin();
  MPI_Status status;
  if (rank == 0) MPI_Send(out, 1, again, 1, 1, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Probe(0, 1, MPI_COMM_WORLD, &status);
    check_large(&status, 1, bytes);
    MPI_Recv(in, parts, parts_of_bytes, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    check_large(&status, 1, bytes);
    check_data(part);
  }
}

// Parts with gaps between them, twice by one request.
static void with_gaps(void) {
  begin();
  MPI_Request request;
  MPI_Datatype apart;
  MPI_Type_create_resized(parts_of_bytes, 0, part + gap, &apart);
  MPI_Type_commit(&apart);
  if (rank == 0) MPI_Send_init(out, 1, again, 1, 2, MPI_COMM_WORLD, &request);
  if (rank == 1) MPI_Recv_init(in, parts, apart, 0, 2, MPI_COMM_WORLD, &request);
  for (int turn = 0; turn < 2 && rank < 2; ++turn) {
    MPI_Status status;
    MPI_Start(&request);
    MPI_Wait(&request, &status);
    if (rank == 1) check_large(&status, 2, bytes);
    if (rank == 1) check_data(part + gap);
  }
  if (rank < 2) MPI_Request_free(&request);
  MPI_Type_free(&apart);
}

// A receive with less room, and what both ends exchange in one buffer.
static void too_short(void) {
  begin();
  MPI_Status status;
  MPI_Comm comm;
  int class = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (rank == 0) MPI_Send(out, 1, again, 1, 3, comm);
  if (rank == 1) {
    MPI_Error_class(MPI_Recv(in, parts - 200, parts_of_bytes, 0, 3, comm, &status), &class);
    CHECK(class == MPI_ERR_TRUNCATE);
    CHECK(memcmp(in + (size_t)(parts - 201) * part, out, part) == 0);
    const unsigned char* behind = in + (size_t)(parts - 200) * part;
    for (int i = 0; i < part; ++i) {
      if (behind[i] == 0) continue;
      CHECK(!"nothing lies behind the receive");
      break;
    }
    memset(in, 0, (size_t)part * parts);
  }
  MPI_Comm_free(&comm);
}

static void replaced(void) {
  begin();
  MPI_Status status;
  unsigned char* both = rank == 0 ? malloc((size_t)bytes) : in;
  CHECK(both != NULL);
  if (rank > 1) return;
  for (size_t k = 0; k < parts; ++k) {
    memcpy(both + k * part, out, part);
    both[k * part] = (unsigned char)(rank + 7);
  }
  MPI_Sendrecv_replace(both, parts, parts_of_bytes, 1 - rank, 4, 1 - rank, 4, MPI_COMM_WORLD, &status);
  for (size_t k = 0; k < parts; ++k) {
    if (both[k * part] == 1 - rank + 7 && memcmp(both + k * part + 1, out + 1, part - 1) == 0) continue;
    CHECK(!"the other end's data came");
    break;
  }
  if (rank == 0) free(both);
}

#if MPI_VERSION >= 4 && !defined(OMPI_MAJOR_VERSION)
// Counts that no int holds, there and back.
static void of_bytes(void) {
  begin();
  MPI_Request request;
  MPI_Status status;
  if (rank == 0) {
    MPI_Send(out, 1, again, 1, 5, MPI_COMM_WORLD);
    unsigned char* back = malloc((size_t)bytes);
    MPI_Message message;
    MPI_Mprobe(1, 6, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv_c(back, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    for (size_t k = 0; k < parts; k += 10) CHECK(memcmp(back + k * part, out, part) == 0);
    free(back);
  }
  if (rank == 1) {
    MPI_Irecv_c(in, bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    check_large(&status, 5, bytes);
    MPI_Send_c(in, bytes, MPI_BYTE, 0, 6, MPI_COMM_WORLD);
    check_data(part);
  }
}
#else
static void of_bytes(void) {}
#endif

int main(int argc, char** argv) {
  static const struct Section sections[] = {{"of_parts", of_parts},   {"with_gaps", with_gaps},
                                            {"too_short", too_short}, {"replaced", replaced},
                                            {"of_bytes", of_bytes},   {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
