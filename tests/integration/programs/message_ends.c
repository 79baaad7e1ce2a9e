// SPDX-License-Identifier: BSD-3-Clause
// What MPI promises of sends that nobody receives, and of requests that are over.
#include "messages.inc"

// MPI_Wait returns though nobody receives: a receiver answers while it waits for another message. A send that
// is cancelled never comes; what is sent behind it does.
static void cancelled_sends(void) {
  enum { count = 1 << 18 };
  int *out = calloc(count, sizeof(int)), *in = calloc(count, sizeof(int));
  MPI_Request requests[4];
  MPI_Status statuses[4];
  MPI_Isend(out, count, MPI_INT, next_rank(), 34, MPI_COMM_WORLD, &requests[0]);
  MPI_Issend(out, 1, MPI_INT, next_rank(), 34, MPI_COMM_WORLD, &requests[1]);
  MPI_Send_init(out, count, MPI_INT, next_rank(), 34, MPI_COMM_WORLD, &requests[2]);
  MPI_Start(&requests[2]);
  MPI_Irecv(in, 1, MPI_INT, previous_rank(), 35, MPI_COMM_WORLD, &requests[3]);
  for (int i = 0; i < 4; ++i) MPI_Cancel(&requests[i]);
  MPI_Waitall(4, requests, statuses);
  for (int i = 0; i < 4; ++i) {
    int cancelled = 0;
    MPI_Test_cancelled(&statuses[i], &cancelled);
    CHECK(cancelled);
  }
  MPI_Sendrecv(&rank, 1, MPI_INT, next_rank(), 39, in, 1, MPI_INT, previous_rank(), 39, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < count; ++i) out[i] = 1000 * rank + i;
  MPI_Start(&requests[2]);
  int flag = 1;
  MPI_Probe(previous_rank(), 34, MPI_COMM_WORLD, &statuses[0]);
  check_status(&statuses[0], previous_rank(), 34, count * (int)sizeof(int));
  MPI_Recv(in, count, MPI_INT, previous_rank(), 34, MPI_COMM_WORLD, &statuses[0]);
  MPI_Wait(&requests[2], &statuses[2]);
  int cancelled = 1;
  MPI_Test_cancelled(&statuses[2], &cancelled);
  CHECK(!cancelled);
  for (int i = 0; i < count; ++i) CHECK(in[i] == 1000 * previous_rank() + i);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  MPI_Request_free(&requests[2]);
  free(out);
  free(in);
}

// Buffered sends end whatever their receiver does, of any length, and persistent ones too.
static void buffered_behind_none(void) {
  enum { bytes = 200000 };
  int attached = 3 * (bytes + MPI_BSEND_OVERHEAD);
  void* buffer = malloc((size_t)attached);
  unsigned char* data = malloc(bytes);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Buffer_attach(buffer, attached);
  MPI_Request again, once;
  MPI_Bsend_init(data, bytes, MPI_BYTE, next_rank(), 2, comm, &again);
  for (int turn = 0; turn < 2; ++turn) {
    fill(data, bytes, rank + turn);
    MPI_Start(&again);
    MPI_Wait(&again, MPI_STATUS_IGNORE);
  }
  fill(data, bytes, rank + 2);
  MPI_Ibsend(data, bytes, MPI_BYTE, next_rank(), 2, comm, &once);
  MPI_Wait(&once, MPI_STATUS_IGNORE);
  // No more than was attached. What has left already has made room, which messages to other nodes may have.
  const char* carried = getenv("UNISONO_MESSAGES");
  const int may_have_left = carried != NULL && strcmp(carried, "all") == 0;
  int class = MPI_SUCCESS, more = 0;
  MPI_Error_class(MPI_Bsend(data, bytes, MPI_BYTE, next_rank(), 2, comm), &class);
  CHECK(class == MPI_ERR_BUFFER || (may_have_left && class == MPI_SUCCESS));
  const int sent_more = class == MPI_SUCCESS;
  MPI_Sendrecv(&sent_more, 1, MPI_INT, next_rank(), 3, &more, 1, MPI_INT, previous_rank(), 3, comm,
               MPI_STATUS_IGNORE);
  MPI_Barrier(comm);
  unsigned char* in = malloc(bytes);
  for (int turn = 0; turn < 3; ++turn) {
    MPI_Recv(in, bytes, MPI_BYTE, previous_rank(), 2, comm, MPI_STATUS_IGNORE);
    CHECK(is_filled(in, bytes, previous_rank() + turn));
  }
  if (more) MPI_Recv(in, bytes, MPI_BYTE, previous_rank(), 2, comm, MPI_STATUS_IGNORE);
  MPI_Request_free(&again);
  void* detached = NULL;
  MPI_Buffer_detach(&detached, &attached);
  CHECK(detached == buffer);
  MPI_Comm_free(&comm);
  free(buffer);
  free(data);
  free(in);
}

// Up to this length a send ends before its receive. Natively that is Intel MPI's way with any length, MPICH's
// up to 7.5 KiB at least, Open MPI's up to 3.5 KiB; Unisono's inside a node up to 64 KiB.
static int most_sent_at_once(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  const char* carried = getenv("UNISONO_MESSAGES");
  if (strstr(version, "Intel(R) MPI") != NULL) return 16 << 20;
  if (carried != NULL && strcmp(carried, "node") == 0) return 64 << 10;
  return strstr(version, "Open MPI") != NULL ? 7 << 9 : 15 << 9;
}

// Programs rely on it, as far as their MPI does so.
static void sends_before_receives(void) {
  const int most = most_sent_at_once();
  unsigned char* out = malloc((size_t)most);
  unsigned char* in = malloc((size_t)most);
  if (size > 1) {
    fill(out, most, rank);
    MPI_Send(out, most, MPI_BYTE, next_rank(), 36, MPI_COMM_WORLD);
    MPI_Request request;
    MPI_Isend(out, most, MPI_BYTE, next_rank(), 36, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    memset(out, 0, (size_t)most);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2; ++i) {
      MPI_Recv(in, most, MPI_BYTE, previous_rank(), 36, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(is_filled(in, most, previous_rank()));
    }
  }
  free(out);
  free(in);
}

// Completes all of them by this function alone; those that have one request by one after the other, in turn.
enum {
  by_wait,
  by_waitall,
  by_waitany,
  by_waitsome,
  by_test,
  by_testall,
  by_testany,
  by_testsome,
  by_status,
  ways
};
static void complete(int way, int count, MPI_Request* requests) {
  int* places = calloc((size_t)count, sizeof(int));  // by one after the other: is it over?
  for (int over = 0; over < count;) {
    int flag = 0, found = 0;
    switch (way) {
      case by_wait:
        MPI_Wait(&requests[over], MPI_STATUS_IGNORE);
        found = 1;
        break;
      case by_waitall:
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        found = count;
        break;
      case by_waitany:
        MPI_Waitany(count, requests, &places[0], MPI_STATUS_IGNORE);
        found = 1;
        break;
      case by_waitsome:
        MPI_Waitsome(count, requests, &found, places, MPI_STATUSES_IGNORE);
        break;
      case by_testall:
        MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE);
        found = flag ? count : 0;
        break;
      case by_testany:
        MPI_Testany(count, requests, &places[0], &flag, MPI_STATUS_IGNORE);
        found = flag;
        break;
      case by_testsome:
        MPI_Testsome(count, requests, &found, places, MPI_STATUSES_IGNORE);
        break;
      default:
        for (int i = 0; i < count; ++i) {
          if (places[i]) continue;
          if (way == by_status) MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE);
          if (way == by_test || flag) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
          places[i] = flag;
          found += flag ? 1 : 0;
        }
    }
    over += found;
  }
  free(places);
}

// The same of many sends, however the program waits, while their receiver is in the MPI itself, which nobody
// has asked for anything. PMPI_Barrier is never Unisono's.
static void sends_end(int way) {
  enum { many = 1500 };
  const int most = most_sent_at_once();
  const int sends = rank % 2 == 0 && rank + 1 < size, receives = rank % 2 == 1;
  unsigned char* data = malloc((size_t)most);
  int numbers[many];
  if (sends) {
    MPI_Request requests[many + 1];
    for (int i = 0; i < many; ++i) {
      numbers[i] = way * many + i;
      MPI_Isend(&numbers[i], 1, MPI_INT, rank + 1, 43, MPI_COMM_WORLD, &requests[i]);
    }
    fill(data, most, way);
    MPI_Isend(data, most, MPI_BYTE, rank + 1, 44, MPI_COMM_WORLD, &requests[many]);
    complete(way, many + 1, requests);
    memset(data, 0, (size_t)most);
  }
  PMPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; receives && i < many; ++i) {
    int got = -1;
    MPI_Recv(&got, 1, MPI_INT, rank - 1, 43, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == way * many + i);
  }
  if (receives) {
    MPI_Recv(data, most, MPI_BYTE, rank - 1, 44, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(is_filled(data, most, way));
  }
  PMPI_Barrier(MPI_COMM_WORLD);
  free(data);
}
static void ends_by_wait(void) {
  sends_end(by_wait);
}
static void ends_by_waitall(void) {
  sends_end(by_waitall);
}
static void ends_by_waitany(void) {
  sends_end(by_waitany);
}
static void ends_by_waitsome(void) {
  sends_end(by_waitsome);
}
static void ends_by_test(void) {
  sends_end(by_test);
}
static void ends_by_testall(void) {
  sends_end(by_testall);
}
static void ends_by_testany(void) {
  sends_end(by_testany);
}
static void ends_by_testsome(void) {
  sends_end(by_testsome);
}
static void ends_by_status(void) {
  sends_end(by_status);
}

// The same of persistent ones, which are started again while their first messages still have no receive.
static void repeated_sends_end(int way) {
  enum { repeated = 2, turns = 2 };
  const int most = most_sent_at_once();
  const int sends = rank % 2 == 0 && rank + 1 < size, receives = rank % 2 == 1;
  unsigned char* data = malloc((size_t)most * repeated);
  MPI_Request requests[repeated];
  for (int i = 0; sends && i < repeated; ++i)
    MPI_Send_init(data + (size_t)most * i, most, MPI_BYTE, rank + 1, 47, MPI_COMM_WORLD, &requests[i]);
  for (int turn = 0; sends && turn < turns; ++turn) {
    for (int i = 0; i < repeated; ++i) fill(data + (size_t)most * i, most, way + turn * repeated + i);
    MPI_Startall(repeated, requests);
    complete(way, repeated, requests);
    memset(data, 0, (size_t)most * repeated);
  }
  PMPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; receives && i < turns * repeated; ++i) {
    MPI_Recv(data, most, MPI_BYTE, rank - 1, 47, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(is_filled(data, most, way + i));
  }
  for (int i = 0; sends && i < repeated; ++i) MPI_Request_free(&requests[i]);
  PMPI_Barrier(MPI_COMM_WORLD);
  free(data);
}
#define REPEATED(way)                   \
  static void repeated_by_##way(void) { \
    repeated_sends_end(by_##way);       \
  }
REPEATED(wait)
REPEATED(waitall)
REPEATED(waitany)
REPEATED(waitsome)
REPEATED(test)
REPEATED(testall)
REPEATED(testany)
REPEATED(testsome)
REPEATED(status)

// A long persistent send is cancelled, sent all the same, and freed while it is active.
static void repeated_cancelled_and_freed(void) {
  const int most = most_sent_at_once();
  const int sends = rank % 2 == 0 && rank + 1 < size, receives = rank % 2 == 1;
  unsigned char* data = malloc((size_t)most);
  MPI_Request request;
  MPI_Status status;
  int cancelled = 0;
  if (sends) {
    fill(data, most, 3);
    MPI_Send_init(data, most, MPI_BYTE, rank + 1, 48, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    MPI_Send(&cancelled, 1, MPI_INT, rank + 1, 49, MPI_COMM_WORLD);
    MPI_Start(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(!cancelled);
    MPI_Start(&request);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
  }
  if (receives) {
    MPI_Recv(&cancelled, 1, MPI_INT, rank - 1, 49, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = cancelled ? 1 : 0; i < 3; ++i) {
      MPI_Recv(data, most, MPI_BYTE, rank - 1, 48, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(is_filled(data, most, 3));
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  free(data);
}

// The send of MPI_Isendrecv too: what it receives has come.
static void ends_of_both_ways(void) {
#if MPI_VERSION >= 4
  enum { many = 1500 };
  const int sends = rank % 2 == 0 && rank + 1 < size, receives = rank % 2 == 1;
  int out[many] = {0}, in[many] = {0};
  if (receives) {
    for (int i = 0; i < many; ++i) MPI_Send(&i, 1, MPI_INT, rank - 1, 45, MPI_COMM_WORLD);
  }
  PMPI_Barrier(MPI_COMM_WORLD);
  if (sends) {
    MPI_Request requests[many];
    for (int i = 0; i < many; ++i) {
      out[i] = i;
      MPI_Isendrecv(&out[i], 1, MPI_INT, rank + 1, 46, &in[i], 1, MPI_INT, rank + 1, 45, MPI_COMM_WORLD,
                    &requests[i]);
    }
    MPI_Waitall(many, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < many; ++i) CHECK(in[i] == i);
  }
  PMPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; receives && i < many; ++i) {
    int got = -1;
    MPI_Recv(&got, 1, MPI_INT, rank - 1, 46, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == i);
  }
#endif
}

// The copy of a handle whose request is over: an error, and no other request pays for it.
static void stale(void) {
  int value = 0, others[2];
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Request request, copy, two[2];
  MPI_Irecv(&value, 1, MPI_INT, rank, 37, MPI_COMM_WORLD, &request);
  copy = request;
  MPI_Send(&rank, 1, MPI_INT, rank, 37, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  int class = MPI_SUCCESS;
  MPI_Error_class(MPI_Wait(&copy, MPI_STATUS_IGNORE), &class);
  CHECK(class == MPI_ERR_REQUEST);
  for (int i = 0; i < 2; ++i) MPI_Irecv(&others[i], 1, MPI_INT, rank, 38, MPI_COMM_WORLD, &two[i]);
  CHECK(two[0] != two[1]);
  for (int i = 0; i < 2; ++i) MPI_Send(&i, 1, MPI_INT, rank, 38, MPI_COMM_WORLD);
  MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
  CHECK(others[0] == 0 && others[1] == 1);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static int deleted;

// The communicator still has its messages, also those that were sent before.
static int use_at_the_end(MPI_Comm comm, int key, void* value, void* extra) {
  (void)key, (void)value, (void)extra;
  int before = -1, now = -1;
  MPI_Recv(&before, 1, MPI_INT, previous_rank(), 40, comm, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&rank, 1, MPI_INT, next_rank(), 41, &now, 1, MPI_INT, previous_rank(), 41, comm,
               MPI_STATUS_IGNORE);
  CHECK(before == previous_rank() && now == previous_rank());
  ++deleted;
  return MPI_SUCCESS;
}

// MPI_Comm_free calls what the program has set for an attribute, which may use the communicator.
static void attributes(void) {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, use_at_the_end, &key, NULL);
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, key, NULL);
    MPI_Request request;
    MPI_Isend(&rank, 1, MPI_INT, next_rank(), 40, comm, &request);
    if (turn == 0) {
      MPI_Comm_free(&comm);
    } else {
      MPI_Comm_disconnect(&comm);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(deleted == turn + 1);
  }
  MPI_Comm_free_keyval(&key);
}

// A message that a probe has taken outlives its communicator, and so does its error.
static void probed_and_freed(void) {
  int out[4] = {rank, rank, rank, rank}, in[4] = {-1, -1, -1, -1};
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Request request;
  MPI_Isend(out, 4, MPI_INT, next_rank(), 42, comm, &request);
  MPI_Message message;
  MPI_Mprobe(previous_rank(), 42, comm, &message, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
  int class = MPI_SUCCESS;
  MPI_Error_class(MPI_Mrecv(in, 2, MPI_INT, &message, MPI_STATUS_IGNORE), &class);
  CHECK(class == MPI_ERR_TRUNCATE);
  CHECK(in[0] == previous_rank() && in[1] == previous_rank() && in[2] == -1);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  static const struct Section sections[] = {{"cancelled_sends", cancelled_sends},
                                            {"buffered_behind_none", buffered_behind_none},
                                            {"sends_before_receives", sends_before_receives},
                                            {"ends_by_wait", ends_by_wait},
                                            {"ends_by_waitall", ends_by_waitall},
                                            {"ends_by_waitany", ends_by_waitany},
                                            {"ends_by_waitsome", ends_by_waitsome},
                                            {"ends_by_test", ends_by_test},
                                            {"ends_by_testall", ends_by_testall},
                                            {"ends_by_testany", ends_by_testany},
                                            {"ends_by_testsome", ends_by_testsome},
                                            {"ends_by_status", ends_by_status},
                                            {"ends_of_both_ways", ends_of_both_ways},
                                            {"repeated_by_wait", repeated_by_wait},
                                            {"repeated_by_waitall", repeated_by_waitall},
                                            {"repeated_by_waitany", repeated_by_waitany},
                                            {"repeated_by_waitsome", repeated_by_waitsome},
                                            {"repeated_by_test", repeated_by_test},
                                            {"repeated_by_testall", repeated_by_testall},
                                            {"repeated_by_testany", repeated_by_testany},
                                            {"repeated_by_testsome", repeated_by_testsome},
                                            {"repeated_by_status", repeated_by_status},
                                            {"repeated_cancelled_and_freed", repeated_cancelled_and_freed},
                                            {"stale", stale},
                                            {"attributes", attributes},
                                            {"probed_and_freed", probed_and_freed},
                                            {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
