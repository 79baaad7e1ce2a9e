// SPDX-License-Identifier: BSD-3-Clause
// Random messages in all of MPI's ways, on several communicators, of one or several threads. What comes
// is checked against what MPI promises of order and data.
//     message_stress SEED ROUNDS [THREADS [natively]]
// natively: leaves out what an MPI gets wrong itself. Intel MPI crashes where a communicator is freed with
// messages under way, and MPICH and Intel MPI tell wrong statuses of MPI_Isendrecv.
// Prints OK and a number for each rank that what it has received makes, whoever carries the messages. Or
// LEVEL where the MPI has no MPI_THREAD_MULTIPLE, or what was wrong.
//
// All ranks draw the same messages. Receives that may get each other's messages are a class. Of each class
// either all receives are there before anything blocks, or all sends are, or both come one after the other in
// an order that all ranks share. So no round can stand still.
#include "message_stress.inc"

static int is_native;

#include "message_stress_next.inc"

enum Kind { receives_ahead, sends_ahead, both_repeated, in_order };

static unsigned drawn(unsigned of, unsigned below) {
  unsigned state = of * 2654435761U;
  next(&state);
  next(&state);
  return next(&state) % below;
}

// Of the messages that one rank gets: do they name their source, and their tag?
static int is_any_source(const struct Round* round, int to) {
  return drawn(round->number * 131U + (unsigned)to, 4) % 2 == 1;
}
static int is_any_tag(const struct Round* round, int to) {
  return !round->is_shared && drawn(round->number * 131U + (unsigned)to, 4) >= 2;
}

static enum Kind kind_of(const struct Round* round, const struct Message* message) {
  const int to = message->to;
  const unsigned source = is_any_source(round, to) ? 0 : 1 + (unsigned)message->from;
  const unsigned tag = is_any_tag(round, to) ? 0 : 1 + (unsigned)message->tag;
  const unsigned all = round->is_freed_early ? 2 : 3;
  return (enum Kind)drawn(((round->number * 67U + (unsigned)to) * 67U + source) * 67U + tag,
                          source != 0 && tag != 0 && !round->is_freed_early ? 4 : all);
}

static void draw_messages(struct Traffic* traffic, struct Round* round) {
  static const unsigned most[] = {1, 10, 70, 1500, 18000, 60000};
  unsigned* state = &traffic->same;
  round->count = 1 + (int)(next(state) % most_messages);
  for (int i = 0; i < round->count; ++i) {
    struct Message* message = &round->messages[i];
    message->from = (int)(next(state) % (unsigned)round->size);
    message->to = (int)(next(state) % (unsigned)round->size);
    message->tag = round->first_tag + (int)(next(state) % 3);
    message->ints = head_ints + (int)(next(state) % most[next(state) % 6]);
    message->way = (int)(next(state) % 97);
  }
}

// --- Sends ---

static int is_sent_by_large(const struct Message* message) {
  return message->ints / 2 % 2;
}

static void start_repeated_send(const struct Round* round, const struct Message* message,
                                const struct Item* it, MPI_Request* request) {
  const int to = message->to, tag = message->tag, is_large = is_sent_by_large(message);
  int way = message->way / type_count % 4;
// Open MPI 4 sends other data by a request of MPI_Bsend_init.
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
  if (way == 1) way = 2;
#endif
  if (way == 3 && !round->has_barrier) way = 2;
  switch (way) {
    case 0:
      BY_COUNT(is_large, MPI_Send_init, it->start, it->count, it->type, to, tag, round->comm, request);
      break;
    case 1:
      BY_COUNT(is_large, MPI_Bsend_init, it->start, it->count, it->type, to, tag, round->comm, request);
      break;
    case 2:
      BY_COUNT(is_large, MPI_Ssend_init, it->start, it->count, it->type, to, tag, round->comm, request);
      break;
    default:
      BY_COUNT(is_large, MPI_Rsend_init, it->start, it->count, it->type, to, tag, round->comm, request);
  }
  MPI_Start(request);
}

static void start_send(struct Traffic* traffic, struct Round* round, const struct Message* message,
                       int kind) {
  const int item = new_item(traffic, message->ints, message->way % type_count, 0);
  struct Item* it = &traffic->items[item];
  fill(it, round, message, round->sent[message->to]++);
  MPI_Request* request = &traffic->requests[item];
  const int to = message->to, tag = message->tag, way = message->way / type_count % 4;
  const int is_large = is_sent_by_large(message);
  MPI_Comm comm = round->comm;
  if (kind == both_repeated) {
    it->is_persistent = 1;
    start_repeated_send(round, message, it, request);
  } else if (way == 1) {
    BY_COUNT(is_large, MPI_Issend, it->start, it->count, it->type, to, tag, comm, request);
  } else if (way == 2) {
    BY_COUNT(is_large, MPI_Ibsend, it->start, it->count, it->type, to, tag, comm, request);
  } else if (way == 3 && kind == receives_ahead && round->has_barrier) {
    BY_COUNT(is_large, MPI_Irsend, it->start, it->count, it->type, to, tag, comm, request);
  } else {
    BY_COUNT(is_large, MPI_Isend, it->start, it->count, it->type, to, tag, comm, request);
  }
  drop_type(it);
}

static void send_now(struct Traffic* traffic, struct Round* round, const struct Message* message, int kind) {
  const int item = new_item(traffic, message->ints, message->way % type_count, 0);
  struct Item* it = &traffic->items[item];
  it->is_active = 0;
  fill(it, round, message, round->sent[message->to]++);
  const int to = message->to, tag = message->tag, way = message->way / type_count % 4;
  const int is_large = is_sent_by_large(message);
  if (way == 1) {
    BY_COUNT(is_large, MPI_Ssend, it->start, it->count, it->type, to, tag, round->comm);
  } else if (way == 2) {
    BY_COUNT(is_large, MPI_Bsend, it->start, it->count, it->type, to, tag, round->comm);
  } else if (way == 3 && kind == receives_ahead && round->has_barrier) {
    BY_COUNT(is_large, MPI_Rsend, it->start, it->count, it->type, to, tag, round->comm);
  } else {
    BY_COUNT(is_large, MPI_Send, it->start, it->count, it->type, to, tag, round->comm);
  }
}

// --- Receives ---

static int is_got_by_large(const struct Message* message) {
  return (message->ints / 2 + message->way) % 2;
}

static int source_of(const struct Round* round, const struct Message* message) {
  return is_any_source(round, message->to) ? MPI_ANY_SOURCE : message->from;
}
static int tag_of(const struct Round* round, const struct Message* message) {
  return is_any_tag(round, message->to) ? MPI_ANY_TAG : message->tag;
}
// The longest message of its class may come.
static int room_of(const struct Round* round, const struct Message* message) {
  int ints = 0;
  for (int i = 0; i < round->count; ++i) {
    const struct Message* other = &round->messages[i];
    const int may_come = other->to == message->to &&
                         (is_any_source(round, message->to) || other->from == message->from) &&
                         (is_any_tag(round, message->to) || other->tag == message->tag);
    if (may_come && other->ints > ints) ints = other->ints;
  }
  return ints;
}

static void start_receive(struct Traffic* traffic, struct Round* round, const struct Message* message,
                          int kind) {
  const int item = new_item(traffic, room_of(round, message), message->way / 5 % type_count, 1);
  struct Item* it = &traffic->items[item];
  const int is_large = is_got_by_large(message);
  expect(traffic, it, source_of(round, message), tag_of(round, message));
  if (kind == both_repeated) {
    it->is_persistent = 1;
    BY_COUNT(is_large, MPI_Recv_init, it->start, it->count, it->type, it->source, it->tag, round->comm,
             &traffic->requests[item]);
    MPI_Start(&traffic->requests[item]);
  } else {
    BY_COUNT(is_large, MPI_Irecv, it->start, it->count, it->type, it->source, it->tag, round->comm,
             &traffic->requests[item]);
  }
  drop_type(it);
}

static void receive_now(struct Traffic* traffic, struct Round* round, const struct Message* message) {
  const int item = new_item(traffic, room_of(round, message), message->way / 5 % type_count, 1);
  struct Item* it = &traffic->items[item];
  MPI_Comm comm = round->comm;
  MPI_Status status;
  MPI_Message taken = MPI_MESSAGE_NULL;
  MPI_Request request;
  int flag = 0;
  it->is_active = 0;
  const int is_large = is_got_by_large(message);
  expect(traffic, it, source_of(round, message), tag_of(round, message));
  switch ((message->way + round->rank) % 7) {
    case 0:
      BY_COUNT(is_large, MPI_Recv, it->start, it->count, it->type, it->source, it->tag, comm, &status);
      break;
    case 1:
      BY_COUNT(is_large, MPI_Irecv, it->start, it->count, it->type, it->source, it->tag, comm, &request);
      while (!flag) MPI_Test(&request, &flag, &status);
      break;
    case 2:
      MPI_Probe(it->source, it->tag, comm, &status);
      BY_COUNT(is_large, MPI_Recv, it->start, it->count, it->type, status.MPI_SOURCE, status.MPI_TAG, comm,
               &status);
      break;
    case 3:
      while (!flag) MPI_Iprobe(it->source, it->tag, comm, &flag, &status);
      BY_COUNT(is_large, MPI_Recv, it->start, it->count, it->type, status.MPI_SOURCE, status.MPI_TAG, comm,
               &status);
      break;
    case 4:
      MPI_Mprobe(it->source, it->tag, comm, &taken, &status);
      BY_COUNT(is_large, MPI_Mrecv, it->start, it->count, it->type, &taken, &status);
      break;
    case 5:
      while (!flag) MPI_Improbe(it->source, it->tag, comm, &flag, &taken, &status);
      BY_COUNT(is_large, MPI_Imrecv, it->start, it->count, it->type, &taken, &request);
      MPI_Wait(&request, &status);
      break;
    default:
      BY_COUNT(is_large, MPI_Irecv, it->start, it->count, it->type, it->source, it->tag, comm, &request);
      while (!flag) MPI_Request_get_status(request, &flag, &status);
      MPI_Wait(&request, &status);
  }
  received(traffic, it, &status);
}

// --- A round ---

static void start_ahead(struct Traffic* traffic, struct Round* round, int receives) {
  int order[most_messages];
  for (int i = 0; i < round->count; ++i) order[i] = i;
  for (int i = round->count - 1; i > 0; --i) {
    const int other = (int)(next(&traffic->own) % (unsigned)(i + 1)), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  for (int i = 0; i < round->count; ++i) {
    const struct Message* message = &round->messages[order[i]];
    const int kind = kind_of(round, message);
    if (receives && message->to == round->rank && (kind == receives_ahead || kind == both_repeated))
      start_receive(traffic, round, message, kind);
    if (!receives && message->from == round->rank && (kind == sends_ahead || kind == both_repeated))
      start_send(traffic, round, message, kind);
  }
}

static void do_in_order(struct Traffic* traffic, struct Round* round) {
  for (int i = 0; i < round->count; ++i) {
    const struct Message* message = &round->messages[i];
    const int kind = kind_of(round, message);
    const int is_sent = message->from == round->rank && (kind == receives_ahead || kind == in_order);
    const int is_got = message->to == round->rank && (kind == sends_ahead || kind == in_order);
    if (is_sent && (message->from == message->to || (message->way % 5 == 0 && kind != in_order))) {
      start_send(traffic, round, message, kind);
    } else if (is_sent) {
      send_now(traffic, round, message, kind);
    }
    if (is_got) receive_now(traffic, round, message);
    if (next(&traffic->own) % 8 == 0) complete(traffic, 7);
  }
}

// Requests of the MPI's own, among the others.
static void start_others(struct Traffic* traffic) {
  for (int i = 0; i < 3; ++i) {
    MPI_Request request;
    const int item = new_item(traffic, 0, 0, 0);
    if (i == 0) MPI_Ibarrier(traffic->base, &request);
    if (i == 1) MPI_Irecv(NULL, 0, MPI_INT, (world_rank + 1) % world_size, 0, traffic->native[1], &request);
    if (i == 2)
      MPI_Isend(NULL, 0, MPI_INT, (world_rank + world_size - 1) % world_size, 0, traffic->native[1],
                &request);
    traffic->requests[item] = request;
  }
}

static void play(struct Traffic* traffic, struct Round* round) {
  draw_messages(traffic, round);
  start_ahead(traffic, round, 1);
  if (round->has_barrier) MPI_Barrier(round->comm);
  start_ahead(traffic, round, 0);
  do_in_order(traffic, round);
  if (round->is_freed_early && !is_native) MPI_Comm_free(&round->comm);
  start_others(traffic);
  complete(traffic, (int)(next(&traffic->own) % 7));
  check_order(traffic);
  // What any source sends next must not come yet.
  MPI_Barrier(traffic->base);
  // Once more what is persistent, in another order.
  start_again(traffic, round);
  complete(traffic, (int)(next(&traffic->own) % 7));
  check_order(traffic);
  end_items(traffic);
  if (round->is_freed_early && is_native) MPI_Comm_free(&round->comm);
  MPI_Barrier(traffic->base);
}

static void* run_traffic(void* argument) {
  struct Traffic* traffic = argument;
  for (int number = 0; number < traffic->rounds; ++number) {
    struct Round round = {.number =
                              traffic->seed * 31U + (unsigned)(number * threads_most + traffic->thread)};
    round.has_barrier = (int)(next(&traffic->same) % 2);
    begin_round(traffic, &round);
    play(traffic, &round);
    if (round.is_own && !round.is_freed_early) {
      exchange(traffic, &round);
      odd_ends(traffic, &round);
      MPI_Comm_free(&round.comm);
    }
  }
  return NULL;
}

static int run_all(int threads, struct Traffic* all) {
  pthread_t beside[threads_most];
  MPI_Comm shared;
  MPI_Comm_dup(MPI_COMM_WORLD, &shared);
  for (int t = 0; t < threads; ++t) {
    MPI_Request request;
    all[t].shared = shared;
    MPI_Comm_dup(MPI_COMM_WORLD, &all[t].base);
    for (int i = 0; i < 2; ++i) {
      MPI_Comm_idup(MPI_COMM_WORLD, &all[t].native[i], &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  for (int t = 1; t < threads; ++t) pthread_create(&beside[t], NULL, run_traffic, &all[t]);
  run_traffic(&all[0]);
  for (int t = 1; t < threads; ++t) pthread_join(beside[t], NULL);
  unsigned long long own = 0, digests[most_ranks];
  for (int t = 0; t < threads; ++t) {
    own += all[t].digest;
    MPI_Comm_free(&all[t].base);
    for (int i = 0; i < 2; ++i) MPI_Comm_free(&all[t].native[i]);
  }
  MPI_Comm_free(&shared);
  MPI_Gather(&own, 1, MPI_UNSIGNED_LONG_LONG, digests, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  int wrong = failures, sum = 0;
  MPI_Allreduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (world_rank == 0) {
    printf(sum == 0 ? "OK" : "%d failures", sum);
    for (int i = 0; i < world_size; ++i) printf(" %llx", digests[i]);
    puts("");
  }
  return sum != 0;
}

int main(int argc, char** argv) {
  const int threads = argc > 3 ? atoi(argv[3]) : 1;
  static struct Traffic all[threads_most];
  is_native = argc > 4;
  int provided = 0, length = attached_bytes;
  if (argc < 3 || threads < 1 || threads > threads_most) return 2;
  MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  if (threads > 1 && provided < MPI_THREAD_MULTIPLE) {
    puts("LEVEL");
    MPI_Finalize();
    return 0;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  make_types();
  // MPI_Wait knows no communicator: MPIs take another one's handler. Others inherit theirs.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  void* attached = malloc(attached_bytes);
  MPI_Buffer_attach(attached, attached_bytes);
  const unsigned seed = (unsigned)strtoul(argv[1], NULL, 10);
  for (int t = 0; t < threads; ++t) {
    all[t].thread = t;
    all[t].threads = threads;
    all[t].rounds = atoi(argv[2]);
    all[t].seed = seed;
    all[t].same = seed * 77U + (unsigned)t;
    all[t].own = seed * 7919U + (unsigned)(world_rank * 977 + t);
  }
  const int status = run_all(threads, all);
  MPI_Buffer_detach(&attached, &length);
  free(attached);
  free_types();
  MPI_Finalize();
  return status;
}
