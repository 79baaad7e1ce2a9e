// SPDX-License-Identifier: BSD-3-Clause
// What MPI promises of the requests of messages: completion, cancelling, errors, buffers, progress.
#define _GNU_SOURCE
#include <dlfcn.h>

#include "messages.inc"

static void check_empty(MPI_Status* status) {
  check_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
}

// Requests of messages among others, in all functions that complete them.
static void completions(void) {
  enum { count = 9 };
  MPI_Comm other;
  MPI_Request made;
  MPI_Comm_idup(MPI_COMM_WORLD, &other, &made);  // its messages may be the MPI's
  MPI_Wait(&made, MPI_STATUS_IGNORE);
  for (int way = 0; way < 8; ++way) {
    int values[count], is_done[count] = {0};
    MPI_Request requests[count], sends[count];
    for (int i = 0; i < count; ++i) {
      MPI_Comm comm = i % 3 == 1 ? other : MPI_COMM_WORLD;
      values[i] = -1;
      requests[i] = MPI_REQUEST_NULL;
      sends[i] = MPI_REQUEST_NULL;
      if (i == 4) continue;  // a null one among them
      if (i == 8) {
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]);
        continue;
      }
      MPI_Irecv(&values[i], 1, MPI_INT, previous_rank(), i, comm, &requests[i]);
    }
    for (int i = count - 1; i >= 0; --i) {
      static int out[count];
      out[i] = rank * 100 + i;
      if (i == 4 || i == 8) continue;
      MPI_Isend(&out[i], 1, MPI_INT, next_rank(), i, i % 3 == 1 ? other : MPI_COMM_WORLD, &sends[i]);
    }
    MPI_Status statuses[count];
    int indices[count], found = 0, flag = 0, left = count - 1;
    memset(statuses, 0, sizeof statuses);
    switch (way) {
      case 0:
        for (int i = 0; i < count; ++i) MPI_Wait(&requests[i], &statuses[i]);
        for (int i = 0; i < count; ++i) is_done[i] = 1;
        break;
      case 1:
        for (int i = 0; i < count; ++i) {
          for (flag = 0; !flag;) MPI_Test(&requests[i], &flag, &statuses[i]);
          is_done[i] = 1;
        }
        break;
      case 2:
        MPI_Waitall(count, requests, statuses);
        for (int i = 0; i < count; ++i) is_done[i] = 1;
        break;
      case 3:
        while (!flag) MPI_Testall(count, requests, &flag, statuses);
        for (int i = 0; i < count; ++i) is_done[i] = 1;
        break;
      case 4:
      case 5:
        for (int i = 0; i < count - 1;) {
          MPI_Status status;
          flag = 1;
          found = -5;
          if (way == 4) {
            MPI_Waitany(count, requests, &found, &status);
          } else {
            MPI_Testany(count, requests, &found, &flag, &status);
          }
          if (!flag) continue;
          CHECK(found >= 0 && found < count && found != 4 && !is_done[found]);
          if (found < 0 || found >= count) break;
          is_done[found] = 1;
          statuses[found] = status;
          CHECK(requests[found] == MPI_REQUEST_NULL);
          ++i;
        }
        if (way == 4) {
          MPI_Waitany(count, requests, &found, &statuses[4]);
        } else {
          MPI_Testany(count, requests, &found, &flag, &statuses[4]);
          CHECK(flag == 1);
        }
        CHECK(found == MPI_UNDEFINED);
        is_done[4] = 1;
        break;
      default:
        while (left > 0) {
          MPI_Status some[count];
          if (way == 6) {
            MPI_Waitsome(count, requests, &found, indices, some);
            CHECK(found > 0);
          } else {
            MPI_Testsome(count, requests, &found, indices, some);
          }
          CHECK(found >= 0 && found <= left);
          if (found < 0 || found > left) break;
          for (int k = 0; k < found; ++k) {
            CHECK(!is_done[indices[k]]);
            is_done[indices[k]] = 1;
            statuses[indices[k]] = some[k];
          }
          left -= found;
        }
        if (way == 6) {
          MPI_Waitsome(count, requests, &found, indices, statuses);
        } else {
          MPI_Testsome(count, requests, &found, indices, statuses);
        }
        CHECK(found == MPI_UNDEFINED);
        is_done[4] = 1;
    }
    for (int i = 0; i < count; ++i) {
      CHECK(is_done[i] && requests[i] == MPI_REQUEST_NULL);
      if (i == 4 && way < 4) check_empty(&statuses[i]);
      if (i == 4 || i == 8) continue;
      CHECK(values[i] == previous_rank() * 100 + i);
      if (way < 6) check_status(&statuses[i], previous_rank(), i, (int)sizeof(int));
    }
    MPI_Waitall(count, sends, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Comm_free(&other);
}

static void persistent(void) {
  enum { count = 6, turns = 30 };
  int out[count], in[count];
  MPI_Request requests[2 * count];
  MPI_Status statuses[2 * count], status;
  int flag = 0, index = 0;
  for (int i = 0; i < count; ++i) {
    MPI_Recv_init(&in[i], 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : previous_rank(), i, MPI_COMM_WORLD,
                  &requests[i]);
    MPI_Send_init(&out[i], 1, MPI_INT, next_rank(), i, MPI_COMM_WORLD, &requests[count + i]);
  }
  // Inactive ones are complete, and count as none where one of several is asked for.
  MPI_Wait(&requests[0], &status);
  check_empty(&status);
  MPI_Test(&requests[0], &flag, &status);
  CHECK(flag == 1);
  check_empty(&status);
  MPI_Request_get_status(requests[0], &flag, &status);
  CHECK(flag == 1);
  MPI_Waitany(2 * count, requests, &index, &status);
  CHECK(index == MPI_UNDEFINED);
  MPI_Waitall(2 * count, requests, statuses);
  check_empty(&statuses[3]);
  for (int turn = 0; turn < turns; ++turn) {
    for (int i = 0; i < count; ++i) {
      out[i] = rank * 1000 + turn * 10 + i;
      in[i] = -1;
    }
    if (turn % 2) {
      MPI_Startall(2 * count, requests);
    } else {
      for (int i = 0; i < 2 * count; ++i) MPI_Start(&requests[i]);
    }
    MPI_Waitall(2 * count, requests, statuses);
    for (int i = 0; i < count; ++i) {
      CHECK(in[i] == previous_rank() * 1000 + turn * 10 + i);
      check_status(&statuses[i], previous_rank(), i, (int)sizeof(int));
      CHECK(requests[i] != MPI_REQUEST_NULL);
    }
  }
  for (int i = 0; i < 2 * count; ++i) {
    MPI_Request_free(&requests[i]);
    CHECK(requests[i] == MPI_REQUEST_NULL);
  }
}

static void cancelling(void) {
  int value = -1, cancelled = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 31, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &cancelled);
  CHECK(cancelled);
  MPI_Barrier(MPI_COMM_WORLD);
  // What it would have got goes to the next one.
  MPI_Request sending;
  MPI_Isend(&rank, 1, MPI_INT, next_rank(), 31, MPI_COMM_WORLD, &sending);
  MPI_Recv(&value, 1, MPI_INT, previous_rank(), 31, MPI_COMM_WORLD, &status);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  CHECK(value == previous_rank());
  // One that has its message cannot be cancelled.
  int other = -1;
  value = -1;
  MPI_Irecv(&value, 1, MPI_INT, previous_rank(), 32, MPI_COMM_WORLD, &request);
  MPI_Sendrecv(&rank, 1, MPI_INT, next_rank(), 33, &other, 1, MPI_INT, previous_rank(), 33, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Ssend(&rank, size > 1 ? 1 : 0, MPI_INT, size > 1 ? next_rank() : MPI_PROC_NULL, 32, MPI_COMM_WORLD);
  if (size == 1) MPI_Send(&rank, 1, MPI_INT, 0, 32, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  int flag = 0;
  while (!flag) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  check_status(&status, previous_rank(), 32, (int)sizeof(int));
  CHECK(value == previous_rank());
}

// The first of these two fails, and each is found once: what has failed says so in its status.
static void find_some(int is_waiting, MPI_Request requests[2]) {
  int is_found[2] = {0, 0};
  for (int left = 2; left > 0;) {
    MPI_Status statuses[2];
    int indices[2], found = 0, class = MPI_SUCCESS, failed = 0;
    const int error = is_waiting ? MPI_Waitsome(2, requests, &found, indices, statuses)
                                 : MPI_Testsome(2, requests, &found, indices, statuses);
    CHECK(found >= is_waiting && found <= left);
    if (found < 0 || found > left) return;
    for (int k = 0; k < found; ++k) {
      CHECK(!is_found[indices[k]]);
      is_found[indices[k]] = 1;
      failed = failed || indices[k] == 0;
    }
    MPI_Error_class(error, &class);
    CHECK(class == (failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS));
    for (int k = 0; failed && k < found; ++k) {
      MPI_Error_class(statuses[k].MPI_ERROR, &class);
      CHECK(class == (indices[k] == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    }
    left -= found;
  }
}

static void truncation(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  // MPI_Waitall knows no communicator: MPIs take another one's handler.
  MPI_Comm all[] = {comm, MPI_COMM_WORLD, MPI_COMM_SELF};
  for (int c = 0; c < 3; ++c) MPI_Comm_set_errhandler(all[c], MPI_ERRORS_RETURN);
  for (int l = 0; l < length_count; ++l) {
    const int bytes = lengths[l];
    if (bytes < 2) continue;
    for (int way = 0; way < 6; ++way) {
      unsigned char* out = malloc((size_t)bytes);
      unsigned char* in = malloc((size_t)bytes);
      MPI_Request requests[3];
      MPI_Status statuses[3];
      int class = MPI_SUCCESS, value = 9, got = -1;
      fill(out, bytes, rank);
      memset(in, 0xEE, (size_t)bytes);
      MPI_Irecv(in, bytes / 2, MPI_BYTE, previous_rank(), 6, comm, &requests[0]);
      MPI_Irecv(&got, 1, MPI_INT, previous_rank(), 8, comm, &requests[1]);
      MPI_Isend(out, bytes, MPI_BYTE, next_rank(), 6, comm, &requests[2]);
      MPI_Send(&value, 1, MPI_INT, next_rank(), 8, comm);
      int error = MPI_SUCCESS;
      if (way == 0) {
        error = MPI_Wait(&requests[0], &statuses[0]);
        MPI_Error_class(error, &class);
        CHECK(class == MPI_ERR_TRUNCATE);
        MPI_Waitall(2, requests + 1, MPI_STATUSES_IGNORE);
      } else if (way < 3) {
        if (way == 1) error = MPI_Waitall(2, requests, statuses);
        for (int flag = way == 1; !flag && error == MPI_SUCCESS;) {
          error = MPI_Testall(2, requests, &flag, statuses);
        }
        MPI_Error_class(error, &class);
        CHECK(class == MPI_ERR_IN_STATUS);
        MPI_Error_class(statuses[0].MPI_ERROR, &class);
        CHECK(class == MPI_ERR_TRUNCATE);
        CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS || statuses[1].MPI_ERROR == MPI_ERR_PENDING);
        if (statuses[1].MPI_ERROR == MPI_ERR_PENDING) MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
      } else if (way < 5) {
        find_some(way == 3, requests);
        MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
      } else {
        int index = -1;
        error = MPI_Waitany(1, requests, &index, &statuses[0]);
        MPI_Error_class(error, &class);
        CHECK(class == MPI_ERR_TRUNCATE);
        MPI_Waitall(2, requests + 1, MPI_STATUSES_IGNORE);
      }
      CHECK(got == 9);
      int untouched = bytes / 2;
      while (untouched < bytes && in[untouched] == 0xEE) ++untouched;
      CHECK(untouched == bytes);
      free(in);
      free(out);
    }
  }
  MPI_Comm_free(&comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

// Communicators whose handle is freed while messages are under way.
static void freed(void) {
  for (int turn = 0; turn < 40; ++turn) {
    MPI_Comm comm;
    unsigned char out[300], in[300];
    MPI_Request requests[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    fill(out, 300, rank + turn);
    MPI_Irecv(in, 300, MPI_BYTE, previous_rank(), 1, comm, &requests[0]);
    MPI_Isend(out, 300, MPI_BYTE, next_rank(), 1, comm, &requests[1]);
    MPI_Comm_free(&comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(is_filled(in, 300, previous_rank() + turn));
  }
  // Persistent ones are started after that too.
  MPI_Comm comm;
  int out = 0, in = 0;
  MPI_Request requests[2];
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Recv_init(&in, 1, MPI_INT, previous_rank(), 1, comm, &requests[0]);
  MPI_Send_init(&out, 1, MPI_INT, next_rank(), 1, comm, &requests[1]);
  MPI_Comm_free(&comm);
  for (int turn = 0; turn < 5; ++turn) {
    out = rank * 10 + turn;
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in == previous_rank() * 10 + turn);
  }
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
}

// Requests that nobody waits for.
static void abandoned(void) {
  enum { bytes = 200000 };
  unsigned char* out = malloc(bytes);
  unsigned char* in = malloc(bytes);
  MPI_Request request;
  fill(out, bytes, rank);
  memset(in, 0, bytes);
  MPI_Irecv(in, bytes, MPI_BYTE, previous_rank(), 2, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  CHECK(request == MPI_REQUEST_NULL);
  MPI_Isend(out, bytes, MPI_BYTE, next_rank(), 2, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  // A later message of the same pair tells that the first one has come.
  for (int i = 0; i < 2; ++i) {
    int value = 0;
    MPI_Sendrecv(&rank, 1, MPI_INT, next_rank(), 3, &value, 1, MPI_INT, previous_rank(), 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  const double begin = MPI_Wtime();
  while (!is_filled(in, bytes, previous_rank()) && MPI_Wtime() - begin < 20) {
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
  CHECK(is_filled(in, bytes, previous_rank()));
  MPI_Barrier(MPI_COMM_WORLD);
  // Into elements with gaps.
  volatile int* gaps = calloc(6, sizeof(int));
  MPI_Datatype every_other;
  MPI_Type_vector(3, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  MPI_Irecv((void*)gaps, 1, every_other, previous_rank(), 4, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  MPI_Type_free(&every_other);
  const int values[] = {rank + 1, rank + 2, rank + 3};
  MPI_Send(values, 3, MPI_INT, next_rank(), 4, MPI_COMM_WORLD);
  while (gaps[4] == 0 && MPI_Wtime() - begin < 30) {
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
  CHECK(gaps[0] == previous_rank() + 1 && gaps[1] == 0 && gaps[4] == previous_rank() + 3);
  MPI_Barrier(MPI_COMM_WORLD);
  free((void*)gaps);
  free(in);
  free(out);
}

// What is buffered is as much as was attached, and no more.
static void buffers(void) {
  enum { bytes = 1000 };
  int attached = 3 * (bytes + MPI_BSEND_OVERHEAD), sent = 0;
  void* buffer = malloc((size_t)attached);
  unsigned char data[bytes];
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  fill(data, bytes, rank);
  MPI_Buffer_attach(buffer, attached);
  for (int i = 0; i < 3; ++i) sent += MPI_Bsend(data, bytes, MPI_BYTE, next_rank(), 1, comm) == MPI_SUCCESS;
  CHECK(sent == 3);
  sent = 3;
  for (int i = 0; i < sent; ++i) {
    MPI_Status status;
    unsigned char in[bytes];
    MPI_Recv(in, bytes, MPI_BYTE, previous_rank(), 1, comm, &status);
    CHECK(is_filled(in, bytes, previous_rank()));
  }
  void* detached = NULL;
  MPI_Buffer_detach(&detached, &attached);
  CHECK(detached == buffer);
  MPI_Comm_free(&comm);
  free(buffer);
}

// Of a buffer that was flushed all is free again, also where its messages were not received yet. MPI 4.1.
static void flushed(void) {
  enum { bytes = 100000, count = 2 };
  int version = 0, subversion = 0;
  MPI_Get_version(&version, &subversion);
  int (*flush)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "MPI_Buffer_flush");
  if (flush == NULL || version < 4 || (version == 4 && subversion < 1)) return;
  int attached = count * (bytes + MPI_BSEND_OVERHEAD);
  void* buffer = malloc((size_t)attached);
  unsigned char* data = malloc(bytes);
  fill(data, bytes, rank);
  MPI_Buffer_attach(buffer, attached);
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < count; ++i) MPI_Bsend(data, bytes, MPI_BYTE, next_rank(), 1, MPI_COMM_WORLD);
    flush();
  }
  for (int i = 0; i < 2 * count; ++i) {
    MPI_Recv(data, bytes, MPI_BYTE, previous_rank(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(is_filled(data, bytes, previous_rank()));
  }
  void* detached = NULL;
  MPI_Buffer_detach(&detached, &attached);
  free(buffer);
  free(data);
}

// Handles as numbers, and back.
static void numbers(void) {
  int (*toint)(MPI_Request) = (int (*)(MPI_Request))dlsym(RTLD_DEFAULT, "MPI_Request_toint");
  MPI_Request (*fromint)(int) = (MPI_Request(*)(int))dlsym(RTLD_DEFAULT, "MPI_Request_fromint");
  int (*message_toint)(MPI_Message) = (int (*)(MPI_Message))dlsym(RTLD_DEFAULT, "MPI_Message_toint");
  MPI_Message (*message_fromint)(int) = (MPI_Message(*)(int))dlsym(RTLD_DEFAULT, "MPI_Message_fromint");
  if (toint == NULL || fromint == NULL || message_toint == NULL || message_fromint == NULL) return;
  int value = -1, sent = rank;
  MPI_Request requests[2];
  MPI_Irecv(&value, 1, MPI_INT, previous_rank(), 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);  // may be the MPI's
  for (int i = 0; i < 2; ++i) {
    const int number = toint(requests[i]);
    CHECK(number != toint(MPI_REQUEST_NULL) && fromint(number) == requests[i]);
    CHECK(number != toint(requests[1 - i]));
  }
  CHECK(fromint(toint(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
  MPI_Send(&sent, 1, MPI_INT, next_rank(), 3, MPI_COMM_WORLD);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(value == previous_rank());
  MPI_Request out;
  MPI_Message message;
  MPI_Isend(&sent, 1, MPI_INT, next_rank(), 4, MPI_COMM_WORLD, &out);
  MPI_Mprobe(previous_rank(), 4, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Message again = message_fromint(message_toint(message));
  CHECK(again == message);
  MPI_Mrecv(&value, 1, MPI_INT, &again, MPI_STATUS_IGNORE);
  MPI_Wait(&out, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  static const struct Section sections[] = {{"completions", completions},
                                            {"persistent", persistent},
                                            {"cancelling", cancelling},
                                            {"truncation", truncation},
                                            {"freed", freed},
                                            {"abandoned", abandoned},
                                            {"buffers", buffers},
                                            {"flushed", flushed},
                                            {"numbers", numbers},
                                            {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
