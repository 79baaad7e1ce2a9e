// SPDX-License-Identifier: BSD-3-Clause
// Each function of messages that takes large counts, with small ones, found as mpi4py finds them: what each
// sends and receives, the statuses, wrong counts, and MPI_PROC_NULL. A section that needs what is not there
// fails, but for MPI_Get_count_c and MPI_Get_elements_c, which are the MPI's.
#define _GNU_SOURCE
#include <dlfcn.h>

#include "messages.inc"

typedef int Send(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
typedef int StartSend(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
typedef int Receive(void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
typedef int StartReceive(void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
typedef int ReceiveTaken(void*, MPI_Count, MPI_Datatype, MPI_Message*, MPI_Status*);
typedef int StartReceiveTaken(void*, MPI_Count, MPI_Datatype, MPI_Message*, MPI_Request*);
typedef int SendReceive(const void*, MPI_Count, MPI_Datatype, int, int, void*, MPI_Count, MPI_Datatype, int,
                        int, MPI_Comm, MPI_Status*);
typedef int StartSendReceive(const void*, MPI_Count, MPI_Datatype, int, int, void*, MPI_Count, MPI_Datatype,
                             int, int, MPI_Comm, MPI_Request*);
typedef int Replace(void*, MPI_Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status*);
typedef int StartReplace(void*, MPI_Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request*);
typedef int Attach(void*, MPI_Count);
typedef int Detach(void*, MPI_Count*);
typedef int Counts(const MPI_Status*, MPI_Datatype, MPI_Count*);

static struct {
  Send* now;
  StartSend *started, *made;
} sends[4];  // standard, buffered, synchronous, ready
enum { modes = 4, ready = 3 };

static Receive* receive;
static StartReceive *start_receive, *make_receive;
static ReceiveTaken* receive_taken;
static StartReceiveTaken* start_receive_taken;
static SendReceive* send_receive;
static StartSendReceive* start_send_receive;
static Replace* replace;
static StartReplace* start_replace;
static Attach* attach;
static Detach* detach;
static Counts *get_count, *get_elements;

static void* found(const char* name) {
  void* function = dlsym(RTLD_DEFAULT, name);
  if (function == NULL) fprintf(stderr, "there is no %s\n", name);
  CHECK(function != NULL);
  return function;
}

static void find(void) {
  static const char* names[modes][3] = {{"MPI_Send_c", "MPI_Isend_c", "MPI_Send_init_c"},
                                        {"MPI_Bsend_c", "MPI_Ibsend_c", "MPI_Bsend_init_c"},
                                        {"MPI_Ssend_c", "MPI_Issend_c", "MPI_Ssend_init_c"},
                                        {"MPI_Rsend_c", "MPI_Irsend_c", "MPI_Rsend_init_c"}};
  for (int mode = 0; mode < modes; ++mode) {
    *(void**)&sends[mode].now = found(names[mode][0]);
    *(void**)&sends[mode].started = found(names[mode][1]);
    *(void**)&sends[mode].made = found(names[mode][2]);
  }
  *(void**)&receive = found("MPI_Recv_c");
  *(void**)&start_receive = found("MPI_Irecv_c");
  *(void**)&make_receive = found("MPI_Recv_init_c");
  *(void**)&receive_taken = found("MPI_Mrecv_c");
  *(void**)&start_receive_taken = found("MPI_Imrecv_c");
  *(void**)&send_receive = found("MPI_Sendrecv_c");
  *(void**)&start_send_receive = found("MPI_Isendrecv_c");
  *(void**)&replace = found("MPI_Sendrecv_replace_c");
  *(void**)&start_replace = found("MPI_Isendrecv_replace_c");
  *(void**)&attach = found("MPI_Buffer_attach_c");
  *(void**)&detach = found("MPI_Buffer_detach_c");
  *(void**)&get_count = dlsym(RTLD_DEFAULT, "MPI_Get_count_c");
  *(void**)&get_elements = dlsym(RTLD_DEFAULT, "MPI_Get_elements_c");
  MPI_Barrier(MPI_COMM_WORLD);
}

static unsigned char *out, *in;
static MPI_Datatype every_other;  // byte

static void begin(void) {
  MPI_Datatype two;
  find();
  out = malloc(2 * longest);
  in = malloc(2 * longest);
  MPI_Type_vector(1, 1, 1, MPI_BYTE, &two);
  MPI_Type_create_resized(two, 0, 2, &every_other);
  MPI_Type_commit(&every_other);
  MPI_Type_free(&two);
}
static void end(void) {
  MPI_Type_free(&every_other);
  free(out);
  free(in);
}

// What is sent lies at every other byte, or has no gaps, and so does what comes.
static void put(int bytes, int of, int has_gaps) {
  fill(out, bytes, of);
  if (!has_gaps) return;
  for (int i = bytes - 1; i >= 0; --i) out[2 * i] = out[i];
}
static void clear(int bytes) {
  memset(in, 0xEE, 2 * (size_t)bytes + 2);
}
static void check_data(int bytes, int of, int has_gaps) {
  if (has_gaps) {
    for (int i = 0; i < bytes; ++i) {
      if (in[2 * i + 1] != 0xEE) CHECK(!"gaps stay as they are");
      in[i] = in[2 * i];
    }
  }
  CHECK(is_filled(in, bytes, of));
}
static MPI_Datatype type_of(int has_gaps) {
  return has_gaps ? every_other : MPI_BYTE;
}

// Each length with and without gaps at each end, in turn.
static void each_mode(int mode) {
  for (int i = 0; i < length_count; ++i) {
    const int bytes = lengths[i], gaps_out = i % 2, gaps_in = i / 2 % 2;
    MPI_Status status;
    MPI_Request requests[2];
    // Blocking.
    put(bytes, rank, gaps_out);
    clear(bytes);
    start_receive(in, bytes, type_of(gaps_in), previous_rank(), 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    sends[mode].now(out, bytes, type_of(gaps_out), next_rank(), 1, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], &status);
    check_status(&status, previous_rank(), 1, bytes);
    check_data(bytes, previous_rank(), gaps_in);
    // Not blocking.
    put(bytes, rank + 1, gaps_out);
    clear(bytes);
    if (mode == ready) {
      start_receive(in, bytes, type_of(gaps_in), previous_rank(), 2, MPI_COMM_WORLD, &requests[0]);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    sends[mode].started(out, bytes, type_of(gaps_out), next_rank(), 2, MPI_COMM_WORLD, &requests[1]);
    if (mode == ready) {
      MPI_Wait(&requests[0], &status);
    } else {
      receive(in, bytes, type_of(gaps_in), previous_rank(), 2, MPI_COMM_WORLD, &status);
    }
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    check_status(&status, previous_rank(), 2, bytes);
    check_data(bytes, previous_rank() + 1, gaps_in);
    // Persistent, twice.
    make_receive(in, bytes, type_of(gaps_in), previous_rank(), 3, MPI_COMM_WORLD, &requests[0]);
    sends[mode].made(out, bytes, type_of(gaps_out), next_rank(), 3, MPI_COMM_WORLD, &requests[1]);
    for (int turn = 2; turn < 4; ++turn) {
      put(bytes, rank + turn, gaps_out);
      clear(bytes);
      MPI_Start(&requests[0]);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Start(&requests[1]);
      MPI_Wait(&requests[0], &status);
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
      check_status(&status, previous_rank(), 3, bytes);
      check_data(bytes, previous_rank() + turn, gaps_in);
    }
    for (int k = 0; k < 2; ++k) MPI_Request_free(&requests[k]);
  }
}
static void standard_sends(void) {
  each_mode(0);
}
static void synchronous_sends(void) {
  each_mode(2);
}
static void ready_sends(void) {
  each_mode(ready);
}
static void buffered_sends(void) {
  const MPI_Count attached = 4 * longest + 10 * MPI_BSEND_OVERHEAD;
  MPI_Count length = -1;
  void *buffer = malloc((size_t)attached), *detached = NULL;
  attach(buffer, attached);
  each_mode(1);
  detach(&detached, &length);
  CHECK(detached == buffer && length == attached);
  free(buffer);
}

static void taken(void) {
  for (int i = 0; i < length_count; ++i) {
    const int bytes = lengths[i], gaps_in = i % 2;
    for (int is_started = 0; is_started < 2; ++is_started) {
      MPI_Status status, probed;
      MPI_Message message = MPI_MESSAGE_NULL;
      MPI_Request request, sent;
      int flag = 0;
      put(bytes, rank + is_started, 0);
      clear(bytes);
      sends[0].started(out, bytes, MPI_BYTE, next_rank(), 4, MPI_COMM_WORLD, &sent);
      if (is_started) {
        while (!flag) MPI_Improbe(previous_rank(), 4, MPI_COMM_WORLD, &flag, &message, &probed);
        start_receive_taken(in, bytes, type_of(gaps_in), &message, &request);
        MPI_Wait(&request, &status);
      } else {
        MPI_Mprobe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &message, &probed);
        receive_taken(in, bytes, type_of(gaps_in), &message, &status);
      }
      MPI_Wait(&sent, MPI_STATUS_IGNORE);
      CHECK(message == MPI_MESSAGE_NULL);
      check_status(&probed, previous_rank(), 4, bytes);
      check_status(&status, previous_rank(), 4, bytes);
      check_data(bytes, previous_rank() + is_started, gaps_in);
    }
  }
}

static void exchanged(void) {
  for (int i = 0; i < length_count; ++i) {
    const int bytes = lengths[i], gaps_out = i % 2, gaps_in = i / 2 % 2;
    MPI_Status status;
    put(bytes, rank, gaps_out);
    clear(bytes);
    send_receive(out, bytes, type_of(gaps_out), next_rank(), 5, in, bytes, type_of(gaps_in), previous_rank(),
                 5, MPI_COMM_WORLD, &status);
    check_status(&status, previous_rank(), 5, bytes);
    check_data(bytes, previous_rank(), gaps_in);
    clear(bytes);
    put(bytes, rank + 1, 0);
    for (int k = 0; k < bytes; ++k) in[gaps_in ? 2 * k : k] = out[k];
    replace(in, bytes, type_of(gaps_in), next_rank(), 6, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &status);
    check_status(&status, previous_rank(), 6, bytes);
    check_data(bytes, previous_rank() + 1, gaps_in);
  }
}

// MPICH and Intel MPI get statuses of these wrong themselves, and the second one.
static void exchanges_started(void) {
  for (int i = 0; i < length_count; ++i) {
    const int bytes = lengths[i], gaps_out = i % 2, gaps_in = i / 2 % 2;
    MPI_Status status;
    MPI_Request request;
    put(bytes, rank, gaps_out);
    clear(bytes);
    start_send_receive(out, bytes, type_of(gaps_out), next_rank(), 7, in, bytes, type_of(gaps_in),
                       previous_rank(), 7, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    check_status(&status, previous_rank(), 7, bytes);
    check_data(bytes, previous_rank(), gaps_in);
    clear(bytes);
    put(bytes, rank + 1, 0);
    for (int k = 0; k < bytes; ++k) in[gaps_in ? 2 * k : k] = out[k];
    start_replace(in, bytes, type_of(gaps_in), next_rank(), 8, previous_rank(), 8, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    check_status(&status, previous_rank(), 8, bytes);
    check_data(bytes, previous_rank() + 1, gaps_in);
  }
}

static void check_counts(MPI_Status* status, MPI_Datatype type, MPI_Count wanted, MPI_Count wanted_elements) {
  int count = -1, elements = -1;
  MPI_Count large = -1;
  MPI_Get_count(status, type, &count);
  CHECK(count == wanted);
  MPI_Get_elements(status, type, &elements);
  CHECK(elements == wanted_elements);
  MPI_Get_elements_x(status, type, &large);
  CHECK(large == wanted_elements);
  if (get_count != NULL) {
    get_count(status, type, &large);
    CHECK(large == wanted);
  }
  if (get_elements != NULL) {
    get_elements(status, type, &large);
    CHECK(large == wanted_elements);
  }
}

// Of receives with more room, of messages that end inside an element, of empty ones and of nobody's.
static void counts(void) {
  enum { most = 100 };
  int numbers_out[most] = {0}, numbers_in[3 * most];
  MPI_Datatype pair, three_ints;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &three_ints);
  MPI_Type_commit(&three_ints);
  for (int ints = 0; ints < most; ints = 2 * ints + 1) {
    MPI_Request sent;
    MPI_Status status, probed;
    for (int way = 0; way < 3; ++way) {
      sends[0].started(numbers_out, ints, MPI_INT, next_rank(), 9, MPI_COMM_WORLD, &sent);
      MPI_Probe(previous_rank(), 9, MPI_COMM_WORLD, &probed);
      receive(numbers_in, way == 1 ? most / 2 : most,
              way == 0   ? MPI_INT
              : way == 1 ? pair
                         : three_ints,
              MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      MPI_Wait(&sent, MPI_STATUS_IGNORE);
      for (int k = 0; k < 2; ++k) {
        MPI_Status* one = k == 0 ? &probed : &status;
        check_status(one, previous_rank(), 9, ints * (int)sizeof(int));
        check_counts(one, MPI_INT, ints, ints);
        check_counts(one, pair, ints % 2 ? MPI_UNDEFINED : ints / 2, ints);
        check_counts(one, three_ints, ints, ints);
      }
    }
  }
  MPI_Status empty;
  receive(numbers_in, most, MPI_INT, MPI_PROC_NULL, 9, MPI_COMM_WORLD, &empty);
  check_status(&empty, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  check_counts(&empty, pair, 0, 0);
  MPI_Type_free(&pair);
  MPI_Type_free(&three_ints);
}

static int class_of(int error) {
  int class = -1;
  MPI_Error_class(error, &class);
  return class;
}

// A negative count is an error of each, and nothing is sent; so is a receive with too little room.
static void errors(void) {
  int value = 7, other = 8;
  MPI_Comm comm;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  MPI_Message message;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
#define REFUSED(call) CHECK(class_of(call) == MPI_ERR_COUNT)
  for (int mode = 0; mode < modes; ++mode) {
    REFUSED(sends[mode].now(&value, -1, MPI_INT, next_rank(), 1, comm));
    REFUSED(sends[mode].started(&value, -1, MPI_INT, next_rank(), 1, comm, &request));
    REFUSED(sends[mode].made(&value, -1, MPI_INT, next_rank(), 1, comm, &request));
  }
  REFUSED(receive(&value, -1, MPI_INT, previous_rank(), 1, comm, &status));
  REFUSED(start_receive(&value, -1, MPI_INT, previous_rank(), 1, comm, &request));
  REFUSED(make_receive(&value, -1, MPI_INT, previous_rank(), 1, comm, &request));
  REFUSED(send_receive(&value, -1, MPI_INT, rank, 1, &other, 1, MPI_INT, rank, 1, comm, &status));
  REFUSED(send_receive(&value, 1, MPI_INT, rank, 1, &other, -1, MPI_INT, rank, 1, comm, &status));
  REFUSED(replace(&value, -1, MPI_INT, rank, 1, rank, 1, comm, &status));
#undef REFUSED
  CHECK(value == 7 && other == 8);
  int two[2] = {rank, rank + 1};
  sends[0].started(two, 2, MPI_INT, next_rank(), 2, comm, &request);
  value = -1;
  CHECK(class_of(receive(&value, 1, MPI_INT, previous_rank(), 2, comm, &status)) == MPI_ERR_TRUNCATE ||
        size == 1);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(value == previous_rank());
  // Nothing was left of what was refused.
  int flag = 1;
  MPI_Barrier(comm);
  MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &message, &status);
  CHECK(flag == 0);
  MPI_Comm_free(&comm);
}

static void nobody(void) {
  int value = 7, other = 8;
  for (int mode = 0; mode < modes; ++mode) {
    MPI_Request request;
    sends[mode].now(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    sends[mode].started(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sends[mode].made(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
  MPI_Status status;
  send_receive(&value, 1, MPI_INT, MPI_PROC_NULL, 1, &other, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD,
               &status);
  check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  replace(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
  check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  MPI_Message message = MPI_MESSAGE_NO_PROC;
  receive_taken(&other, 1, MPI_INT, &message, &status);
  check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  CHECK(message == MPI_MESSAGE_NULL && value == 7 && other == 8);
}

int main(int argc, char** argv) {
  static const struct Section sections[] = {{"begin", begin},
                                            {"standard_sends", standard_sends},
                                            {"buffered_sends", buffered_sends},
                                            {"synchronous_sends", synchronous_sends},
                                            {"ready_sends", ready_sends},
                                            {"taken", taken},
                                            {"exchanged", exchanged},
                                            {"exchanges_started", exchanges_started},
                                            {"counts", counts},
                                            {"errors", errors},
                                            {"nobody", nobody},
                                            {"end", end},
                                            {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
