// SPDX-License-Identifier: BSD-3-Clause
// Messages of one communicator beside what may be the MPI's: partitioned ones, intercommunicators, sessions,
// buffers of communicators, requests of all kinds in one array, processes that are forked. A section that the
// MPI has no functions for says so.
#include <sys/wait.h>
#include <unistd.h>

#include "messages.inc"

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_4_0 1
#else
#define HAS_4_0 0
#endif
#define HAS_4_1 (MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1))

// Sends a number to the next rank of another communicator too.
enum { most = 16 };
struct Both {
  MPI_Request requests[most];
  int count, in[most], out[most];
};

static void add_pair(struct Both* both, MPI_Comm comm, int to, int from, int tag, int value) {
  const int k = both->count;
  both->in[k] = -1;
  both->out[k] = value;
  MPI_Irecv(&both->in[k], 1, MPI_INT, from, tag, comm, &both->requests[k]);
  MPI_Isend(&both->out[k], 1, MPI_INT, to, tag, comm, &both->requests[k + 1]);
  both->count += 2;
}
static void add_world(struct Both* both, int tag) {
  add_pair(both, MPI_COMM_WORLD, next_rank(), previous_rank(), tag, rank * 100 + tag);
}
static void check_world(const struct Both* both, int k, int tag) {
  CHECK(both->in[k] == previous_rank() * 100 + tag);
}

// By one of the functions that complete requests, each in its turn.
static void complete(struct Both* both, int way) {
  int indices[most], index = 0, flag = 0, found = 0, left = both->count;
  switch (way % 5) {
    case 0:
      MPI_Waitall(both->count, both->requests, MPI_STATUSES_IGNORE);
      break;
    case 1:
      while (!flag) MPI_Testall(both->count, both->requests, &flag, MPI_STATUSES_IGNORE);
      break;
    case 2:
      for (; left > 0; --left) {
        MPI_Waitany(both->count, both->requests, &index, MPI_STATUS_IGNORE);
        CHECK(index >= 0 && index < both->count);
      }
      break;
    case 3:
      for (; left > 0; left -= found) {
        MPI_Waitsome(both->count, both->requests, &found, indices, MPI_STATUSES_IGNORE);
        CHECK(found > 0 && found <= left);
        if (found <= 0) break;
      }
      break;
    default:
      while (left > 0) {
        MPI_Testany(both->count, both->requests, &index, &flag, MPI_STATUS_IGNORE);
        if (flag) --left;
      }
  }
  for (int i = 0; i < both->count; ++i) CHECK(both->requests[i] == MPI_REQUEST_NULL);
}

#if !HAS_4_0 || !HAS_4_1
static void leave_out(void) {
  if (rank == 0) printf("without %s\n", section);
}
#endif

static void partitioned(void) {
#if HAS_4_0
  enum { parts = 4, elements = 1000, turns = 10, kinds = 4 };
  static double out[parts][elements], in[parts][elements];
  int own_out = 0, own_in = 0;
  MPI_Request requests[kinds];
  for (int is_own_first = 0; is_own_first < 2; ++is_own_first) {
    MPI_Request* theirs = requests + (is_own_first ? 2 : 0);
    MPI_Request* own = requests + (is_own_first ? 0 : 2);
    MPI_Psend_init(out, parts, elements, MPI_DOUBLE, next_rank(), 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &theirs[0]);
    MPI_Precv_init(in, parts, elements, MPI_DOUBLE, previous_rank(), 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &theirs[1]);
    MPI_Send_init(&own_out, 1, MPI_INT, next_rank(), 5, MPI_COMM_WORLD, &own[0]);
    MPI_Recv_init(&own_in, 1, MPI_INT, previous_rank(), 5, MPI_COMM_WORLD, &own[1]);
    for (int turn = 0; turn < turns; ++turn) {
      own_out = rank * 1000 + turn;
      MPI_Startall(kinds, requests);
      for (int part = parts - 1; part >= 0; --part) {
        for (int i = 0; i < elements; ++i) out[part][i] = rank * 100000.0 + turn * 10000 + part * 1000 + i;
        MPI_Pready(part, theirs[0]);
      }
      int has_come = 0;
      while (!has_come) MPI_Parrived(theirs[1], turn % parts, &has_come);
      CHECK(in[turn % parts][7] == previous_rank() * 100000.0 + turn * 10000 + turn % parts * 1000 + 7);
      MPI_Waitall(kinds, requests, MPI_STATUSES_IGNORE);
      CHECK(own_in == previous_rank() * 1000 + turn);
      for (int part = 0; part < parts; ++part)
        CHECK(in[part][99] == previous_rank() * 100000.0 + turn * 10000 + part * 1000 + 99);
    }
    for (int i = 0; i < kinds; ++i) MPI_Request_free(&requests[i]);
  }
#else
  leave_out();
#endif
}

static void intercommunicators(void) {
  if (size < 2) return;
  MPI_Comm half, between, again, merged;
  const int is_upper = rank >= size / 2;
  MPI_Comm_split(MPI_COMM_WORLD, is_upper, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_upper ? 0 : size / 2, 3, &between);
  MPI_Comm_dup(between, &again);
  MPI_Intercomm_merge(between, is_upper, &merged);
  int others = 0, place = 0, merged_rank = 0;
  MPI_Comm_remote_size(between, &others);
  MPI_Comm_rank(half, &place);
  MPI_Comm_rank(merged, &merged_rank);
  CHECK(merged_rank == rank);
  for (int turn = 0; turn < 10; ++turn) {
    struct Both both = {.count = 0};
    // Each talks to the one of its place on the other side, if there is one.
    const int partner = place < others ? place : MPI_PROC_NULL;
    add_pair(&both, between, partner, partner, 1, rank + turn);
    add_world(&both, 1);
    add_pair(&both, again, partner, partner, 1, rank + turn + 50);
    add_pair(&both, merged, next_rank(), previous_rank(), 1, rank + 500);
    add_pair(&both, half, 0, place == 0 ? MPI_ANY_SOURCE : MPI_PROC_NULL, 2, rank);
    if (place == 0) {
      int half_size = 0, ignored = 0;
      MPI_Comm_size(half, &half_size);
      for (int i = 1; i < half_size; ++i)
        MPI_Recv(&ignored, 1, MPI_INT, MPI_ANY_SOURCE, 2, half, MPI_STATUS_IGNORE);
    }
    complete(&both, turn);
    const int partner_in_world = is_upper ? place : size / 2 + place;
    if (partner != MPI_PROC_NULL) CHECK(both.in[0] == partner_in_world + turn);
    if (partner != MPI_PROC_NULL) CHECK(both.in[4] == partner_in_world + turn + 50);
    check_world(&both, 2, 1);
    CHECK(both.in[6] == previous_rank() + 500);
    MPI_Status status;
    int value = 0, is_there = 0;
    MPI_Sendrecv(&rank, 1, MPI_INT, partner, 4, &value, 1, MPI_INT, partner, 4, again, &status);
    MPI_Isend(&rank, 1, MPI_INT, partner, 6, between, &both.requests[0]);
    while (!is_there && partner != MPI_PROC_NULL) MPI_Iprobe(partner, 6, between, &is_there, &status);
    MPI_Recv(&value, 1, MPI_INT, partner, 6, between, MPI_STATUS_IGNORE);
    MPI_Wait(&both.requests[0], MPI_STATUS_IGNORE);
    if (partner != MPI_PROC_NULL) CHECK(value == partner_in_world);
  }
  MPI_Comm_free(&merged);
  MPI_Comm_free(&again);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

static void sessions(void) {
#if HAS_4_0
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm, copy;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "unisono.message_beside", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  MPI_Comm_dup(comm, &copy);
  int place = 0, members = 0;
  MPI_Comm_rank(comm, &place);
  MPI_Comm_size(comm, &members);
  for (int turn = 0; turn < 10; ++turn) {
    // MPI forbids to complete requests of a session together with others.
    struct Both both = {.count = 0}, world = {.count = 0};
    const int next = (place + 1) % members, previous = (place + members - 1) % members;
    add_pair(&both, comm, next, previous, 1, place + turn);
    add_world(&world, 1);
    add_pair(&both, copy, next, previous, 1, place + turn + 50);
    complete(&both, turn);
    complete(&world, turn + 1);
    CHECK(both.in[0] == previous + turn);
    check_world(&world, 0, 1);
    CHECK(both.in[2] == previous + turn + 50);
  }
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
#else
  leave_out();
#endif
}

static void own_buffers(void) {
#if HAS_4_1
  enum { bytes = 2000, count = 3 };
  static unsigned char out[bytes], in[bytes];
  static char buffer[count * (bytes + MPI_BSEND_OVERHEAD)], of_session[count * (bytes + MPI_BSEND_OVERHEAD)];
  void* detached = NULL;
  int size_of_it = 0;
  MPI_Comm comm, other;
  MPI_Session session;
  MPI_Group group;
  fill(out, bytes, rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "unisono.own_buffers", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &other);
  MPI_Group_free(&group);
  for (int turn = 0; turn < 5; ++turn) {
    MPI_Comm_attach_buffer(comm, buffer, (int)sizeof buffer);
    MPI_Session_attach_buffer(session, of_session, (int)sizeof of_session);
    for (int i = 0; i < count; ++i) {
      MPI_Request request;
      MPI_Bsend(out, bytes, MPI_BYTE, next_rank(), i, comm);
      MPI_Ibsend(out, bytes, MPI_BYTE, next_rank(), i, other, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (turn % 2) MPI_Comm_flush_buffer(comm);
    for (int i = count - 1; i >= 0; --i) {
      memset(in, 0, bytes);
      MPI_Recv(in, bytes, MPI_BYTE, previous_rank(), i, comm, MPI_STATUS_IGNORE);
      CHECK(is_filled(in, bytes, previous_rank()));
      memset(in, 0, bytes);
      MPI_Recv(in, bytes, MPI_BYTE, previous_rank(), i, other, MPI_STATUS_IGNORE);
      CHECK(is_filled(in, bytes, previous_rank()));
    }
    MPI_Comm_detach_buffer(comm, &detached, &size_of_it);
    CHECK(detached == (void*)buffer && size_of_it == (int)sizeof buffer);
    MPI_Session_detach_buffer(session, &detached, &size_of_it);
    CHECK(detached == (void*)of_session);
  }
  MPI_Comm_free(&comm);
  MPI_Comm_free(&other);
  MPI_Session_finalize(&session);
#else
  leave_out();
#endif
}

// Persistent requests of all kinds, started together.
static void started_together(void) {
  enum { turns = 20 };
  MPI_Comm other;
  MPI_Request made, requests[8];
  MPI_Comm_idup(MPI_COMM_WORLD, &other, &made);  // its messages may be the MPI's
  MPI_Wait(&made, MPI_STATUS_IGNORE);
  int out[2] = {0, 0}, in[2] = {0, 0}, synchronous_in = 0, value = 0, sum = 0, count = 0;
  MPI_Send_init(&out[0], 1, MPI_INT, next_rank(), 1, MPI_COMM_WORLD, &requests[count++]);
  MPI_Recv_init(&in[1], 1, MPI_INT, previous_rank(), 1, other, &requests[count++]);
#if HAS_4_0
  MPI_Allreduce_init(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[count++]);
#endif
  MPI_Recv_init(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[count++]);
  MPI_Send_init(&out[1], 1, MPI_INT, next_rank(), 1, other, &requests[count++]);
  MPI_Ssend_init(&out[0], 1, MPI_INT, next_rank(), 2, MPI_COMM_WORLD, &requests[count++]);
  MPI_Recv_init(&synchronous_in, 1, MPI_INT, previous_rank(), 2, MPI_COMM_WORLD, &requests[count++]);
  for (int turn = 0; turn < turns; ++turn) {
    out[0] = rank * 1000 + turn;
    out[1] = rank * 1000 + turn + 500;
    value = turn;
    MPI_Startall(count, requests);
    int index = 0, left = count;
    if (turn % 2) {
      MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    } else {
      for (; left > 0; --left) {
        MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
        CHECK(index >= 0 && index < count);
      }
      MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
      CHECK(index == MPI_UNDEFINED);
    }
    CHECK(in[0] == previous_rank() * 1000 + turn && synchronous_in == in[0]);
    CHECK(in[1] == previous_rank() * 1000 + turn + 500);
    CHECK(!HAS_4_0 || sum == value * size);
  }
  for (int i = 0; i < count; ++i) MPI_Request_free(&requests[i]);
  MPI_Comm_free(&other);
}

// What asks and completes nothing.
static void asked(void) {
#if HAS_4_1
  MPI_Comm other;
  MPI_Request made;
  MPI_Comm_idup(MPI_COMM_WORLD, &other, &made);
  MPI_Wait(&made, MPI_STATUS_IGNORE);
  for (int turn = 0; turn < 5; ++turn) {
    struct Both both = {.count = 0};
    int index = -1, flag = 0, found = 0, indices[most];
    MPI_Status status, statuses[most];
    MPI_Barrier(MPI_COMM_WORLD);
    // Nobody has sent this yet.
    int late = -1;
    MPI_Request waiting;
    MPI_Irecv(&late, 1, MPI_INT, previous_rank(), 9, MPI_COMM_WORLD, &waiting);
    MPI_Request_get_status_all(1, &waiting, &flag, statuses);
    CHECK(flag == 0);
    MPI_Request_get_status_any(1, &waiting, &index, &flag, &status);
    CHECK(flag == 0);
    MPI_Request_get_status_some(1, &waiting, &found, indices, statuses);
    CHECK(found == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&turn, 1, MPI_INT, next_rank(), 9, MPI_COMM_WORLD);
    add_world(&both, 1);
    add_pair(&both, other, next_rank(), previous_rank(), 1, rank + 7);
    both.requests[both.count] = MPI_REQUEST_NULL;
    both.requests[both.count + 1] = waiting;
    both.count += 2;
    for (flag = 0; !flag;) MPI_Request_get_status_any(both.count, both.requests, &index, &flag, &status);
    CHECK(index >= 0 && index < both.count && index != 4);
    for (found = 0; found < 5;) {
      MPI_Request_get_status_some(both.count, both.requests, &found, indices, statuses);
      CHECK(found >= 0 && found <= 5);
    }
    for (flag = 0; !flag;) MPI_Request_get_status_all(both.count, both.requests, &flag, statuses);
    check_status(&statuses[0], previous_rank(), 1, (int)sizeof(int));
    check_status(&statuses[2], previous_rank(), 1, (int)sizeof(int));
    check_status(&statuses[4], MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    check_status(&statuses[5], previous_rank(), 9, (int)sizeof(int));
    CHECK(late == turn && both.in[2] == previous_rank() + 7);
    check_world(&both, 0, 1);
    MPI_Waitall(both.count, both.requests, MPI_STATUSES_IGNORE);
    MPI_Request none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Request_get_status_any(2, none, &index, &flag, &status);
    CHECK(flag == 1 && index == MPI_UNDEFINED);
    MPI_Request_get_status_some(2, none, &found, indices, statuses);
    CHECK(found == MPI_UNDEFINED);
  }
  MPI_Comm_free(&other);
#else
  leave_out();
#endif
}

// A child that calls nothing of MPI, and ends while messages of its parent are under way.
static void forked(void) {
  enum { bytes = 1500000 };
  unsigned char* out = malloc(bytes);
  unsigned char* in = malloc(bytes);
  for (int turn = 0; turn < 3; ++turn) {
    MPI_Request requests[2];
    fill(out, bytes, rank + turn);
    MPI_Irecv(in, bytes, MPI_BYTE, previous_rank(), 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, bytes, MPI_BYTE, next_rank(), 1, MPI_COMM_WORLD, &requests[1]);
    const pid_t child = fork();
    if (child == 0) {
      if (turn == 2) execl("/bin/true", "true", (char*)NULL);
      usleep(turn * 20000);
      _exit(3);
    }
    int status = 0;
    if (turn != 1) CHECK(waitpid(child, &status, 0) == child);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (turn == 1) CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == (turn == 2 ? 0 : 3));
    CHECK(is_filled(in, bytes, previous_rank() + turn));
  }
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  const struct Section sections[] = {{"partitioned", partitioned},
                                     {"intercommunicators", intercommunicators},
                                     {"sessions", sessions},
                                     {"own_buffers", own_buffers},
                                     {"started_together", started_together},
                                     {"asked", asked},
                                     {"forked", forked},
                                     {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
