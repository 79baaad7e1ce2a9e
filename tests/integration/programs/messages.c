// SPDX-License-Identifier: BSD-3-Clause
// What MPI promises of messages: modes, lengths, types, order, probes, communicators.
#include "messages.inc"

typedef int (*Send)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*Isend)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

// Every mode and length, before and after its receive.
static void modes(void) {
  static const Isend starts[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
  static const Isend inits[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};
  unsigned char* out = malloc(longest);
  unsigned char* in = malloc(longest);
  int attached = 20 * longest;  // others may be behind
  void* buffer = malloc((size_t)attached);
  MPI_Buffer_attach(buffer, attached);
  for (int l = 0; l < length_count; ++l) {
    for (int mode = 0; mode < 4; ++mode) {
      for (int is_early = 0; is_early < 2; ++is_early) {
        for (int is_persistent = 0; is_persistent < 2; ++is_persistent) {
          const int bytes = lengths[l], tag = 7 + mode;
          if (mode == 3 && !is_early) continue;  // a ready send's receive is there
          MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
          MPI_Status statuses[2];
          fill(out, bytes, rank + l);
          memset(in, 0xEE, (size_t)bytes);
          if (is_early) {
            MPI_Irecv(in, bytes, MPI_BYTE, previous_rank(), tag, MPI_COMM_WORLD, &requests[1]);
            if (mode == 3) MPI_Barrier(MPI_COMM_WORLD);
          }
          if (is_persistent) {
            inits[mode](out, bytes, MPI_BYTE, next_rank(), tag, MPI_COMM_WORLD, &requests[0]);
            MPI_Start(&requests[0]);
          } else {
            starts[mode](out, bytes, MPI_BYTE, next_rank(), tag, MPI_COMM_WORLD, &requests[0]);
          }
          if (!is_early) MPI_Irecv(in, bytes, MPI_BYTE, previous_rank(), tag, MPI_COMM_WORLD, &requests[1]);
          CHECK(MPI_Waitall(2, requests, statuses) == MPI_SUCCESS);
          CHECK(is_filled(in, bytes, previous_rank() + l));
          check_status(&statuses[1], previous_rank(), tag, bytes);
          CHECK(requests[1] == MPI_REQUEST_NULL);
          CHECK((requests[0] == MPI_REQUEST_NULL) == !is_persistent);
          if (is_persistent) MPI_Request_free(&requests[0]);
        }
      }
    }
  }
  void* detached = NULL;
  int detached_bytes = 0;
  MPI_Buffer_detach(&detached, &detached_bytes);
  CHECK(detached == buffer && detached_bytes == attached);
  free(buffer);
  free(in);
  free(out);
}

// Blocking ones, around a ring whose first rank sends first.
static void blocking(void) {
  static const Send sends[] = {MPI_Send, MPI_Ssend};
  unsigned char* data = malloc(longest);
  if (size == 1) {
    free(data);
    return;
  }
  for (int l = 0; l < length_count; ++l) {
    for (int mode = 0; mode < 2; ++mode) {
      MPI_Status status;
      const int bytes = lengths[l];
      if (rank == 0) {
        fill(data, bytes, l);
        sends[mode](data, bytes, MPI_BYTE, next_rank(), 3, MPI_COMM_WORLD);
      }
      memset(data, 0, (size_t)bytes);
      MPI_Recv(data, longest, MPI_BYTE, mode ? MPI_ANY_SOURCE : previous_rank(), mode ? 3 : MPI_ANY_TAG,
               MPI_COMM_WORLD, &status);
      check_status(&status, previous_rank(), 3, bytes);
      CHECK(is_filled(data, bytes, l));
      if (rank != 0) sends[mode](data, bytes, MPI_BYTE, next_rank(), 3, MPI_COMM_WORLD);
    }
  }
  free(data);
}

// To oneself, ahead of their receives. Unisono keeps up to 64 KiB of each; what their MPI keeps differs.
static void to_oneself(void) {
  enum { most = 65536, ahead = 6 };
  const char* carried = getenv("UNISONO_MESSAGES");
  if (carried == NULL || (strcmp(carried, "node") != 0 && strcmp(carried, "all") != 0)) return;
  unsigned char *out = malloc(most), *in = malloc(most);
  for (int l = 0; l < length_count && lengths[l] <= most; ++l) {
    const int bytes = lengths[l];
    for (int i = 0; i < ahead; ++i) {
      fill(out, bytes, i + l);
      if (i % 2 == 0) {
        MPI_Send(out, bytes, MPI_BYTE, rank, 5, MPI_COMM_WORLD);
      } else {
        MPI_Request request;
        MPI_Isend(out, bytes, MPI_BYTE, rank, 5, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      }
      memset(out, 0xEE, (size_t)bytes);
    }
    for (int i = 0; i < ahead; ++i) {
      MPI_Status status;
      MPI_Recv(in, most, MPI_BYTE, i % 3 == 0 ? MPI_ANY_SOURCE : rank, 5, MPI_COMM_WORLD, &status);
      check_status(&status, rank, 5, bytes);
      CHECK(is_filled(in, bytes, i + l));
    }
  }
  free(in);
  free(out);
}

// MPI_Rsend, whose receives are there before.
static void ready(void) {
  unsigned char *in = malloc(longest), *out = malloc(longest);
  for (int l = 0; l < length_count; ++l) {
    MPI_Request request;
    MPI_Status status;
    memset(in, 0, (size_t)lengths[l]);
    fill(out, lengths[l], l + rank);
    MPI_Irecv(in, longest, MPI_BYTE, previous_rank(), 4, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Rsend(out, lengths[l], MPI_BYTE, next_rank(), 4, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    check_status(&status, previous_rank(), 4, lengths[l]);
    CHECK(is_filled(in, lengths[l], l + previous_rank()));
  }
  free(in);
  free(out);
}

// A type like `like` of its own, made with large counts or without.
static void one_more(MPI_Datatype like, int is_by_large_counts, MPI_Datatype* type) {
#if MPI_VERSION >= 4
  if (is_by_large_counts) {
    MPI_Type_contiguous_c(1, like, type);
    MPI_Type_commit(type);
    return;
  }
#else
  (void)is_by_large_counts;
#endif
  MPI_Type_dup(like, type);
}

// Elements with gaps at both ends, at one, at none; parts of elements.
static void types(void) {
  enum { blocks = 3000, ints = 3 * blocks };
  MPI_Datatype gaps, pair;
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);  // two ints with one between
  MPI_Type_create_resized(pair, 0, 4 * sizeof(int), &gaps);
  MPI_Type_commit(&gaps);
  MPI_Type_free(&pair);
  int* out = malloc(4 * blocks * sizeof(int));
  int* in = malloc(4 * blocks * sizeof(int));
  for (int count = 1; count <= blocks; count = count * 7 + 1) {
    for (int is_out = 0; is_out < 2; ++is_out) {
      for (int is_in = 0; is_in < 2; ++is_in) {
        for (int i = 0; i < 4 * blocks; ++i) {
          out[i] = rank * 100000 + i;
          in[i] = -1;
        }
        MPI_Request requests[2];
        MPI_Status statuses[2];
        MPI_Datatype type = gaps;
        if (is_in) {
          one_more(gaps, is_out, &type);
          MPI_Irecv(in, count, type, previous_rank(), 1, MPI_COMM_WORLD, &requests[0]);
          MPI_Type_free(&type);  // the receive goes on
        } else {
          MPI_Irecv(in, 2 * count, MPI_INT, previous_rank(), 1, MPI_COMM_WORLD, &requests[0]);
        }
        if (is_out) {
          MPI_Isend(out, count, gaps, next_rank(), 1, MPI_COMM_WORLD, &requests[1]);
        } else {
          MPI_Isend(out, 2 * count, MPI_INT, next_rank(), 1, MPI_COMM_WORLD, &requests[1]);
        }
        MPI_Waitall(2, requests, statuses);
        int elements = 0, whole = 0;
        MPI_Get_elements(&statuses[0], MPI_INT, &elements);
        MPI_Get_count(&statuses[0], gaps, &whole);
        CHECK(elements == 2 * count && whole == count);
        for (int i = 0; i < 2 * count; ++i) {
          const int from = is_out ? 4 * (i / 2) + 2 * (i % 2) : i;
          const int to = is_in ? 4 * (i / 2) + 2 * (i % 2) : i;
          CHECK(in[to] == previous_rank() * 100000 + from);
        }
        if (is_in) CHECK(in[1] == -1 && in[3] == -1);
      }
    }
  }
  // Three ints into elements of two: one and a half.
  in[0] = in[2] = in[4] = in[6] = -1;
  MPI_Status status;
  MPI_Sendrecv(out, 3, MPI_INT, next_rank(), 2, in, 10, gaps, previous_rank(), 2, MPI_COMM_WORLD, &status);
  int elements = 0, whole = 0;
  MPI_Get_elements(&status, gaps, &elements);
  MPI_Get_count(&status, gaps, &whole);
  CHECK(elements == 3 && whole == MPI_UNDEFINED);
  CHECK(in[0] == previous_rank() * 100000 && in[2] == in[0] + 1 && in[4] == in[0] + 2 && in[6] == -1);
  // From MPI_BOTTOM.
  MPI_Aint address;
  MPI_Datatype absolute;
  const int one = 1;
  MPI_Get_address(out, &address);
  MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &absolute);
  MPI_Type_commit(&absolute);
  MPI_Sendrecv(MPI_BOTTOM, 1, absolute, next_rank(), 2, in, 1, MPI_INT, previous_rank(), 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(in[0] == previous_rank() * 100000);
  MPI_Type_free(&absolute);
  MPI_Type_free(&gaps);
  free(in);
  free(out);
}

// Messages of one pair do not overtake each other, whatever their length and whoever asks.
static void order(void) {
  enum { count = 300 };
  static unsigned char out[count][300000 / count * 2 + 4], in[300000 / count * 2 + 4];
  MPI_Request requests[count];
  for (int turn = 0; turn < 4; ++turn) {
    for (int i = 0; i < count; ++i) {
      const int bytes = i % 7 == 0 ? 2000 : 4 + i % 50;
      memcpy(out[i], &i, 4);
      MPI_Isend(out[i], bytes, MPI_BYTE, next_rank(), turn % 2 ? 1 : i % 3, MPI_COMM_WORLD, &requests[i]);
    }
    int seen[3] = {-1, -1, -1};
    for (int i = 0; i < count; ++i) {
      MPI_Status status;
      MPI_Recv(in, sizeof in, MPI_BYTE, turn < 2 ? MPI_ANY_SOURCE : previous_rank(),
               turn % 2 ? 1 : (i % 2 ? MPI_ANY_TAG : MPI_ANY_TAG), MPI_COMM_WORLD, &status);
      int number = -1;
      memcpy(&number, in, 4);
      const int line = turn % 2 ? 0 : status.MPI_TAG;
      CHECK(number > seen[line]);
      seen[line] = number;
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  }
  // Receives in the reverse order of their tags.
  static int values[count];
  for (int i = 0; i < count; ++i) {
    values[i] = -1;
    MPI_Irecv(&values[i], 1, MPI_INT, previous_rank(), count - 1 - i, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 0; i < count; ++i) MPI_Send(&i, 1, MPI_INT, next_rank(), i, MPI_COMM_WORLD);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; ++i) CHECK(values[i] == count - 1 - i);
}

static void probes(void) {
  for (int l = 0; l < length_count; ++l) {
    for (int way = 0; way < 6; ++way) {
      const int bytes = lengths[l];
      unsigned char* out = malloc((size_t)bytes + 1);
      unsigned char* in = malloc((size_t)bytes + 1);
      MPI_Request send, receive = MPI_REQUEST_NULL;
      MPI_Status status, got;
      MPI_Message message = MPI_MESSAGE_NULL;
      int flag = 0, count = -1;
      fill(out, bytes, rank + way);
      MPI_Isend(out, bytes, MPI_BYTE, next_rank(), 20 + way, MPI_COMM_WORLD, &send);
      const int source = way % 2 ? MPI_ANY_SOURCE : previous_rank();
      const int tag = way % 3 == 0 ? MPI_ANY_TAG : 20 + way;
      if (way < 2) {
        MPI_Probe(source, tag, MPI_COMM_WORLD, &status);
      } else if (way == 2) {
        while (!flag) MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, &status);
      } else if (way == 3) {
        MPI_Mprobe(source, tag, MPI_COMM_WORLD, &message, &status);
      } else {
        while (!flag) MPI_Improbe(source, tag, MPI_COMM_WORLD, &flag, &message, &status);
      }
      MPI_Get_count(&status, MPI_BYTE, &count);
      CHECK(count == bytes && status.MPI_SOURCE == previous_rank() && status.MPI_TAG == 20 + way);
      if (way < 3) {
        MPI_Recv(in, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &got);
      } else if (way < 5) {
        MPI_Mrecv(in, bytes, MPI_BYTE, &message, &got);
      } else {
        MPI_Imrecv(in, bytes, MPI_BYTE, &message, &receive);
        MPI_Wait(&receive, &got);
      }
      CHECK(message == MPI_MESSAGE_NULL);
      check_status(&got, previous_rank(), 20 + way, bytes);
      CHECK(is_filled(in, bytes, previous_rank() + way));
      MPI_Wait(&send, MPI_STATUS_IGNORE);
      free(in);
      free(out);
    }
  }
  int flag = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(flag == 0);
  MPI_Message message;
  MPI_Status status;
  int value = 3;
  MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
  CHECK(message == MPI_MESSAGE_NO_PROC);
  MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
  CHECK(value == 3 && status.MPI_SOURCE == MPI_PROC_NULL);
}

static void both_ways(void) {
  for (int l = 0; l < length_count; ++l) {
    const int bytes = lengths[l];
    unsigned char* out = malloc((size_t)bytes + 1);
    unsigned char* in = malloc((size_t)bytes + 1);
    MPI_Status status;
    fill(out, bytes, rank + l);
    MPI_Sendrecv(out, bytes, MPI_BYTE, next_rank(), 4, in, bytes, MPI_BYTE, previous_rank(), 4,
                 MPI_COMM_WORLD, &status);
    check_status(&status, previous_rank(), 4, bytes);
    CHECK(is_filled(in, bytes, previous_rank() + l));
    MPI_Sendrecv_replace(out, bytes, MPI_BYTE, next_rank(), 5, previous_rank(), 5, MPI_COMM_WORLD, &status);
    check_status(&status, previous_rank(), 5, bytes);
    CHECK(is_filled(out, bytes, previous_rank() + l));
#if MPI_VERSION >= 4
    MPI_Request request;
    fill(out, bytes, rank + l + 1);
    MPI_Isendrecv(out, bytes, MPI_BYTE, next_rank(), 4, in, bytes, MPI_BYTE, previous_rank(), 4,
                  MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK(is_filled(in, bytes, previous_rank() + l + 1));
    MPI_Isendrecv_replace(out, bytes, MPI_BYTE, next_rank(), 5, previous_rank(), 5, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK(is_filled(out, bytes, previous_rank() + l + 1));
#endif
    free(in);
    free(out);
  }
  int value = 5;
  MPI_Status status;
  MPI_Sendrecv(&rank, 1, MPI_INT, MPI_PROC_NULL, 0, &value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
               &status);
  CHECK(value == 5);
  check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  // An open chain.
  const int above = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, below = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  value = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, above, 0, &value, 1, MPI_INT, below, 0, MPI_COMM_WORLD, &status);
  CHECK(value == (rank > 0 ? rank - 1 : -1));
}

// A message around `comm`, whose own end and number of ranks it finds out.
static void send_around(MPI_Comm comm, int tag) {
  int own = 0, of = 0, value = -1, expected = rank;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &of);
  const int before = (own + of - 1) % of;
  MPI_Sendrecv(&rank, 1, MPI_INT, (own + 1) % of, tag, &value, 1, MPI_INT, before, tag, comm,
               MPI_STATUS_IGNORE);
  MPI_Group group, world;
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_translate_ranks(group, 1, &before, world, &expected);
  CHECK(value == expected);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

enum { kinds = 11 };

// One by each of eleven functions that make intracommunicators; null where this rank is in none.
static void make_all_kinds(MPI_Comm made[kinds]) {
  const int yes = 1, no = 0, own = 1, to = next_rank(), from = previous_rank();
  const int lengths_of_line[] = {size, 1}, periodic[] = {1, 0};
  const int line[] = {1, 0};
  MPI_Group world, evens;
  const int range[1][3] = {{0, size - 1, 2}};
  MPI_Request request;
  int* ends = malloc((size_t)size * sizeof *ends);
  int* edges = malloc((size_t)size * sizeof *edges);
  for (int i = 0; i < size; ++i) ends[i] = i + 1, edges[i] = (i + 1) % size;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, (int(*)[3])range, &evens);
  for (int i = 0; i < kinds; ++i) made[i] = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &made[0]);
  MPI_Comm_dup(made[0], &made[1]);
  MPI_Comm_idup(made[1], &made[2], &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_create(MPI_COMM_WORLD, evens, &made[3]);
  if (rank % 2 == 0) MPI_Comm_create_group(MPI_COMM_WORLD, evens, 5, &made[4]);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &made[5]);
  MPI_Cart_create(MPI_COMM_WORLD, 2, lengths_of_line, periodic, no, &made[6]);
  MPI_Cart_sub(made[6], line, &made[7]);
  MPI_Graph_create(MPI_COMM_WORLD, size, ends, edges, yes, &made[8]);
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &own, &to, &own, MPI_INFO_NULL, yes, &made[9]);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, &own, 1, &to, &own, MPI_INFO_NULL, yes, &made[10]);
  MPI_Group_free(&world);
  MPI_Group_free(&evens);
  free(ends);
  free(edges);
}

// Many communicators, of all kinds, made and freed.
static void communicators(void) {
  for (int turn = 0; turn < 20; ++turn) {
    MPI_Comm made[kinds];
    make_all_kinds(made);
    for (int c = 0; c < kinds; ++c) {
      if (made[c] != MPI_COMM_NULL) send_around(made[c], c);
    }
    for (int c = 0; c < kinds; ++c) {
      if (made[c] != MPI_COMM_NULL) MPI_Comm_free(&made[c]);
    }
  }
  int value = -1, own = rank + 7;
  MPI_Sendrecv(&own, 1, MPI_INT, 0, 0, &value, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  CHECK(value == own);
}

int main(int argc, char** argv) {
  static const struct Section sections[] = {
      {"modes", modes},   {"blocking", blocking},   {"to_oneself", to_oneself},
      {"ready", ready},   {"types", types},         {"order", order},
      {"probes", probes}, {"both_ways", both_ways}, {"communicators", communicators},
      {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
