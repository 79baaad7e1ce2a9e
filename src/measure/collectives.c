// SPDX-License-Identifier: BSD-3-Clause
// Collectives of the host MPI and of Unisono side by side, alternating in one run (A11, section 2.6).
// `unisono bench` compiles and starts it.
//
//   collectives [--operations a,b] [--sizes 8,1024] [--precision PART] [--samples N] [--seconds S]
//               [--comm world|split:N|strided:N|node|leaders|reversed] [--start barrier|window]
//               [--skew US] [--seed N] [--cold] [--skip-verify]
//               [--candidates 'bcast:chain;bcast:binomial(segment=64K);...' [--finalists N]] [--serve]
//
// A sample is a batch of calls, timed as a whole, divided by their number: the time of the longest rank.
// Batches of native and Unisono alternate; a barrier precedes each, and for small messages of operations that
// synchronise two calls that do not count. From 16 KiB on a batch is one call, and senders write their data
// anew before it; whatever serves is called for a while before it is timed (settle.h). Of the candidates each
// is tried in a few batches; the best take part in the alternation, so that what is told of them was not what
// they were picked by. Rank 0 prints one JSON object per line:
// {"operation","bytes","ranks","batch","native_s":[...],"unisono_s":[...],"unisono":"ring(...)","is_same",
// "candidates":[{"name","tried_s","samples_s":[...]}]}; candidates that may not run there are left out. The
// first line says what is measured on (place.h): {"mpi","ranks","nodes","ranks_per_node":[least,most],
// "is_consecutive","is_uniform","job_nodes","job_ranks_per_node","cores",
// "nodes_on_cores","ranks_of_nodes" (where they differ),"is_active"}: under Unisono?
//
// With --serve rank 0 reads what to measure from its standard input, one request a line, words separated by
// tabs: "choice OPERATION BYTES" begins with these and says what Unisono chooses, "look OPERATION BYTES
// SECONDS CANDIDATES" tries candidates for so long, and cuts short what is slow ("look_alike ..." does not),
// "compare ..." lets native, Unisono's choice and all candidates (at most 8) alternate until their medians
// are precise, "decide ..." until it is known which is the least: what is behind leaves, and has fewer
// samples. Each is answered by one such line. "able OPERATION BYTES 0 CANDIDATES" says which of them may run,
// without a call: {"operation","bytes","able":[name,...]}. "cost WHAT BYTES SECONDS GROUP,BUFFERS,WAIT"
// measures a message or an operation on shared memory (costs.h):
// {"cost","bytes","series":{name:[seconds,...]}}. "end" ends the job.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "communicators.h"
#include "operations.h"
#include "samples.h"

enum { fewest_samples = 5, max_samples = 10000, max_sizes = 64, max_candidates = 4096, max_finalists = 8 };
enum { large_bytes = 16384 };  // from here on a batch is one call, of data that has just been written
enum { lead_in = 2, warming_calls = 16, fewest_tries = 3, most_tries = 9, most_windows = 100 };
static const double most_slack_s = 10e-3;

static int world_rank, world_size;  // of everybody who takes part
static int (*set_enabled)(int);
static int (*set_algorithm)(const char*);
static int (*decision_on)(const void*, const char*, long long, char*, size_t);
static double* expected;

// What serves a batch: the host MPI, Unisono as it decides itself, or an algorithm ("bcast:chain").
static const char native[] = "native", own_choice[] = "";
static const char* candidates[max_candidates];
static int candidate_count;
static int is_led_in;  // where several algorithms take turns

static int decide(const char* operation, long long bytes, char* text, size_t text_bytes) {
  return decision_on == NULL ? -1 : decision_on(&comm, operation, bytes, text, text_bytes);
}

static void enable(int is_enabled) {
  if (set_enabled != NULL) set_enabled(is_enabled);
}

// True where Unisono was told something else than before.
static int select_server(const char* server) {
  static const char* now = own_choice;
  if (server == native || server == now || set_algorithm == NULL) return 0;
  set_algorithm(server);
  now = server;
  return 1;
}

#include "settle.h"
#include "start.h"

// Programs send what they have just computed. A buffer that never changes would stay in its readers' caches,
// and a copy straight out of it would cost next to nothing.
static void write_anew(const struct Operation* op, int bytes) {
  static int seed;
  ++seed;
  fill(input, (size_t)bytes * (size_t)(op->blocks_in ? 1 : size), seed + rank);
  if (op->run == run_bcast && rank == 0) fill(output, (size_t)bytes, seed);
}

// The time of one call of a batch, of the longest rank (valid on all ranks); less than 0 where a rank came
// too late for the window.
static double time_batch(const struct Operation* op, int bytes, int batch, const char* server) {
  if (bytes >= large_bytes) write_anew(op, bytes);
  // What is around a batch is the same for all, and such as gives cores away where ranks share them: while
  // some spin in a barrier before it, or in what follows it, others get no core for milliseconds.
  // So is a call before it: it decides and makes a schedule where another algorithm ran before, and leaves
  // nothing of a network's bursts.
  const int is_new = select_server(server);
  enable(server != native);
  if (is_new || is_led_in) op->run(bytes);
  enable(1);
  if (start_of.is_cold) purge_caches();
  double start = begin_together(world_rank);
  enable(server != native);
  // Ranks that share cores leave the barrier one after the other, which takes as long as many calls. What
  // synchronises itself begins in step after a call or two; the others need the barrier.
  if (op->is_synchronising && bytes < large_bytes && !is_call_by_call() && !start_of.is_window) {
    for (int i = 0; i < lead_in; ++i) op->run(bytes);
  }
  const int is_late = start == 0;
  if (!start_of.is_window || is_late) start = now_s();
  double mine;
  if (start_of.skew_s > 0) {
    mine = time_skewed_call(op, bytes, start);
  } else {
    for (int i = 0; i < batch; ++i) op->run(bytes);
    mine = (now_s() - start) / batch;
  }
  enable(1);
  double told[2] = {mine, is_late}, longest[2];
  MPI_Allreduce(told, longest, 2, MPI_DOUBLE, MPI_MAX, everybody);
  if (longest[1] == 0) return longest[0];
  // All ranks see it, and give the next window more time.
  if (start_of.slack_s < most_slack_s) start_of.slack_s *= 2;
  return -1;
}

// The same with as many windows as it takes.
static double time_in_time(const struct Operation* op, int bytes, int batch, const char* server) {
  for (int i = 0; i < most_windows; ++i) {
    const double taken = time_batch(op, bytes, batch, server);
    if (taken >= 0) return taken;
  }
  if (world_rank == 0) {
    fprintf(stderr, "collectives: ranks come too late for every window; use --start barrier\n");
  }
  MPI_Abort(MPI_COMM_WORLD, 4);
  return -1;
}

static size_t output_bytes(const struct Operation* op, int bytes) {
  return op->blocks_out ? (size_t)bytes : (size_t)(bytes + bytes / 2 + 1) * (size_t)size;
}

// Once from the same data. Small whole numbers: sums are exact in any order.
static void run_once(const struct Operation* op, int bytes, const char* server) {
  fill(output, output_bytes(op, bytes), rank + 100);
  select_server(server);
  enable(server != native);
  op->run(bytes);
  enable(0);
}

// What the host MPI gives, for is_same().
static void expect(const struct Operation* op, int bytes) {
  fill(input, (size_t)bytes * (size_t)(op->blocks_in ? 1 : size), rank);
  run_once(op, bytes, native);
  memcpy(expected, output, output_bytes(op, bytes));
}

// Does `server` give what the host MPI gives?
static int is_same(const struct Operation* op, int bytes, const char* server) {
  run_once(op, bytes, server);
  int same = memcmp(expected, output, output_bytes(op, bytes)) == 0, all = 0;
  MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, everybody);
  return all;
}

#include "costs.h"

// What is measured: in batches of so many calls, and the shortest time of a call so far. Where only the
// fastest is looked for, that of native and of the own choice counts too, and others need no good figure.
static struct {
  const struct Operation* op;
  int bytes, batch, is_for_best;
  double best_s, own_s;  // own: of the own choice, timed before all others
  double first_s;        // when that was
} asked;

// How long one batch is: long enough that clock and barrier do not count, short enough that many samples fit
// in the time. With more ranks than cores, 64 calls at least, where that is quick enough: for one-way
// operations leaving the barrier in front takes as long as many calls. Warms native and Unisono up. What is
// asked about one operation and size in a row is measured alike.
static void begin_asking(const struct Operation* op, int bytes) {
  const char* both[] = {native, own_choice};
  double longest = 0;
  if (op == asked.op && bytes == asked.bytes) return;
  asked.op = op, asked.bytes = bytes, asked.batch = 1, asked.best_s = no_limit_s;
  asked.own_s = 0, asked.first_s = now_s();
  settled.count = 0;
  for (int i = 0; i < 2; ++i) settle(op, bytes, both[i], no_limit_s);
  if (is_call_by_call()) return;
  for (int i = 0; i < 2; ++i) {
    time_in_time(op, bytes, 2, both[i]);
    const double once = time_in_time(op, bytes, 4, both[i]);
    if (once > longest) longest = once;
    if (both[i] == own_choice) asked.own_s = once;
    if (asked.is_for_best && once < asked.best_s) asked.best_s = once;
  }
  while (bytes < large_bytes && asked.batch < 4096 &&
         (longest * asked.batch < 100e-6 || (asked.batch < 64 && longest * asked.batch < 20e-3))) {
    asked.batch *= 2;
  }
}

#include "looks.h"

struct Settings {
  int samples, finalists, is_verified;  // at most so many of both
  double seconds, most_trying_s;
  struct Purpose purpose;
};

static struct Tried tried[max_candidates];

// Native, Unisono's choice and the first of those tried in turn; where it is asked which is the fastest, what
// is clearly slower only until that is known.
static int compare(const struct Operation* op, int bytes, int tried_count, const struct Settings* settings) {
  static double times[2 + max_finalists][max_samples];
  const char* servers[2 + max_finalists] = {native, own_choice};
  if (settings->is_verified) expect(op, bytes);
  int same = settings->is_verified ? is_same(op, bytes, own_choice) : 1;
  int server_count = 2;
  for (int i = 0; i < tried_count && i < settings->finalists; ++i) {
    servers[server_count++] = tried[i].name;
    if (settings->is_verified) same &= is_same(op, bytes, tried[i].name);
  }
  for (int i = 0; i < server_count; ++i) settle(op, bytes, servers[i], no_limit_s);
  is_led_in = server_count > 2;
  struct Turns turns = {.samples = *times, .stride = max_samples, .series = server_count};
  int order[2 + max_finalists], counts[2 + max_finalists];
  for (int i = 0; i < server_count; ++i) order[i] = i;
  unsigned draws = 1;  // the same on all ranks
  int count = 0;
  const double start = now_s();
  // Where looks have found something clearly faster, the own choice is in doubt since then.
  const double begun = asked.own_s > much_slower * asked.best_s ? asked.first_s : start;
  for (int go = 1; go && count < settings->samples; ++count) {
    // None is always behind the same other one, with its caches and what it has left of the network's bursts.
    shuffle(order, server_count, &draws);
    for (int i = 0; i < server_count; ++i) {
      if (turns.is_behind[order[i]]) continue;
      times[order[i]][count] = time_in_time(op, bytes, asked.batch, servers[order[i]]);
      counts[order[i]] = count + 1;
    }
    turns.seconds = now_s() - begun;
    go = now_s() - start < settings->seconds || count + 1 < fewest_samples;
    if (world_rank == 0 && has_enough(&turns, count + 1, settings->purpose)) go = 0;
    MPI_Bcast(&go, 1, MPI_INT, 0, everybody);
    MPI_Bcast(turns.is_behind, server_count, MPI_INT, 0, everybody);
  }
  is_led_in = 0;
  char decided[256] = "";
  select_server(own_choice);
  decide(op->name, bytes, decided, sizeof decided);
  if (world_rank == 0) {
    printf("{\"operation\": \"%s\", \"bytes\": %d, \"ranks\": %d, \"batch\": %d, \"is_same\": %s", op->name,
           bytes, size, asked.batch, same ? "true" : "false");
    print_samples("native_s", times[of_native], counts[of_native]);
    print_samples("unisono_s", times[of_own_choice], counts[of_own_choice]);
    printf(", \"unisono\": \"%s\", \"candidates\": [", decided);
    for (int i = 0; i < tried_count; ++i) {
      printf("%s{\"name\": \"%s\", \"tried_s\": %.4g", i ? ", " : "", strchr(tried[i].name, ':') + 1,
             tried[i].seconds);
      if (i < settings->finalists) print_samples("samples_s", times[2 + i], counts[2 + i]);
      printf("}");
    }
    printf("]}\n");
    fflush(stdout);
  }
  return same;
}

static int measure(const struct Operation* op, int bytes, const struct Settings* settings) {
  if (start_of.is_window) synchronise_clocks(world_rank, world_size);
  begin_asking(op, bytes);
  const int tried_count = try_candidates(op, bytes, settings->most_trying_s, 0, tried);
  return compare(op, bytes, tried_count, settings);
}

// --- Requests ---

static void print_choice(const struct Operation* op, int bytes) {
  char decided[256] = "";
  select_server(own_choice);
  decide(op->name, bytes, decided, sizeof decided);
  if (world_rank != 0) return;
  printf("{\"operation\": \"%s\", \"bytes\": %d, \"unisono\": \"%s\"}\n", op->name, bytes, decided);
  fflush(stdout);
}

static void print_able(const struct Operation* op, int bytes, int count) {
  if (world_rank != 0) return;
  printf("{\"operation\": \"%s\", \"bytes\": %d, \"able\": [", op->name, bytes);
  for (int i = 0; i < count; ++i) printf("%s\"%s\"", i ? ", " : "", strchr(candidates[i], ':') + 1);
  printf("]}\n");
  fflush(stdout);
}

static void list_candidates(char* text) {
  candidate_count = 0;
  for (char* at = strtok(text, ";"); at != NULL && candidate_count < max_candidates; at = strtok(NULL, ";"))
    candidates[candidate_count++] = at;
}

// 0 where the request makes no sense.
static int answer(char* request, int largest, struct Settings settings, int* is_all_same) {
  const char* words[5] = {"", "", "", "", ""};
  char* at = request;
  for (int i = 0; i < 5 && at != NULL; ++i) {
    words[i] = at;
    at = i < 4 ? strchr(at, '\t') : NULL;
    if (at != NULL) *at++ = 0;
  }
  if (strcmp(words[0], "cost") == 0) {
    if (atol(words[2]) < 0 || atol(words[2]) > largest) return 0;
    return answer_cost(words[1], (int)atol(words[2]), atof(words[3]), (char*)words[4]);
  }
  const struct Operation* op = find_operation(words[1]);
  const long bytes = atol(words[2]);
  if (op == NULL || bytes < 0 || bytes > largest || (op->is_reduction && bytes % 8 != 0)) return 0;
  list_candidates((char*)words[4]);
  if (strcmp(words[0], "able") == 0) {
    print_able(op, (int)bytes, keep_able(op, (int)bytes));
    return 1;
  }
  settings.seconds = settings.most_trying_s = atof(words[3]);
  if (strcmp(words[0], "choice") == 0) asked.op = NULL;
  begin_asking(op, (int)bytes);
  if (strcmp(words[0], "choice") == 0) {
    print_choice(op, (int)bytes);
  } else if (strcmp(words[0], "look") == 0 || strcmp(words[0], "look_alike") == 0) {
    const int is_alike = strcmp(words[0], "look_alike") == 0;
    const int count = try_candidates(op, (int)bytes, settings.most_trying_s, is_alike, tried);
    print_looks(op, (int)bytes, count, tried);
  } else if (strcmp(words[0], "compare") == 0 || strcmp(words[0], "decide") == 0) {
    if (strcmp(words[0], "decide") == 0) settings.purpose = (struct Purpose){tie, .is_for_best = 1};
    settings.finalists = max_finalists;
    int count = 0;
    for (int c = 0; c < candidate_count && count < max_finalists; ++c) {
      if (may_run(op, (int)bytes, candidates[c])) tried[count++] = (struct Tried){candidates[c], 0};
    }
    *is_all_same &= compare(op, (int)bytes, count, &settings);
  } else {
    return 0;
  }
  return 1;
}

static int serve(int largest, struct Settings settings) {
  int is_all_same = 1;
  asked.is_for_best = 1;
  make_cost_buffers(largest);
  for (;;) {
    char* line = NULL;
    size_t room = 0;
    int length = world_rank == 0 ? (int)getline(&line, &room, stdin) : 0;
    // Nothing is measured meanwhile: the MPI's own way to wait does.
    enable(0);
    MPI_Bcast(&length, 1, MPI_INT, 0, everybody);
    if (length <= 0) return is_all_same;
    if (world_rank != 0) line = malloc((size_t)length + 1);
    if (line == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Bcast(line, length, MPI_CHAR, 0, everybody);
    line[length] = 0;
    if (line[length - 1] == '\n') line[length - 1] = 0;
    // Not every launcher tells rank 0 that its input has ended.
    if (strcmp(line, "end") == 0) return is_all_same;
    if (!answer(line, largest, settings, &is_all_same)) {
      if (world_rank == 0) fprintf(stderr, "collectives: no request: %s\n", line);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    select_server(own_choice);
    free(line);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  if (world_size > most_ranks) MPI_Abort(MPI_COMM_WORLD, 2);
  const char *names = "", *sizes = "8,1024,65536,1048576", *layout_name = "world";
  char* listed = NULL;
  int is_serving = 0;
  struct Settings settings = {1000, 2, 1, 1, 1e9, {.precision = 0.01}};
  for (int i = 1; i < argc; ++i) {
    char* value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--skip-verify") == 0) {
      settings.is_verified = 0;
      continue;
    } else if (strcmp(argv[i], "--serve") == 0) {
      is_serving = 1;
      continue;
    } else if (strcmp(argv[i], "--cold") == 0) {
      start_of.is_cold = 1;
      continue;
    } else if (strcmp(argv[i], "--comm") == 0) {
      layout_name = value;
    } else if (strcmp(argv[i], "--start") == 0) {
      start_of.is_window = strcmp(value, "window") == 0;
    } else if (strcmp(argv[i], "--skew") == 0) {
      start_of.skew_s = atof(value) * 1e-6;
    } else if (strcmp(argv[i], "--seed") == 0) {
      start_of.seed = strtoull(value, NULL, 10);
    } else if (strcmp(argv[i], "--operations") == 0) {
      names = value;
    } else if (strcmp(argv[i], "--sizes") == 0) {
      sizes = value;
    } else if (strcmp(argv[i], "--samples") == 0) {
      settings.samples = atoi(value);
    } else if (strcmp(argv[i], "--seconds") == 0) {
      settings.seconds = atof(value);
    } else if (strcmp(argv[i], "--precision") == 0) {
      settings.purpose.precision = atof(value);
    } else if (strcmp(argv[i], "--candidates") == 0) {
      listed = value;
    } else if (strcmp(argv[i], "--finalists") == 0) {
      settings.finalists = atoi(value);
    } else {
      if (world_rank == 0) fprintf(stderr, "collectives: unknown option %s\n", argv[i]);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    ++i;
  }
  comm = communicator_named(layout_name, world_rank, world_size);
  const struct Place job = place_of(MPI_COMM_WORLD);
  if (everybody == MPI_COMM_NULL) {
    sleep_until_finished();
    MPI_Finalize();
    return 0;
  }
  if (comm == MPI_COMM_NULL) {
    if (world_rank == 0)
      fprintf(stderr, "collectives: no communicator %s of %d ranks\n", layout_name, world_size);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Comm_rank(everybody, &world_rank);
  MPI_Comm_size(everybody, &world_size);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (settings.samples < fewest_samples) settings.samples = fewest_samples;
  if (settings.samples > max_samples) settings.samples = max_samples;
  if (settings.finalists > max_finalists) settings.finalists = max_finalists;
  if (listed != NULL) list_candidates(listed);
  int bytes[max_sizes], largest = 8;
  const int count = read_sizes(sizes, bytes, max_sizes);
  if (count < 0 || (!is_serving && !have_counts(names, bytes, count, world_rank))) {
    if (count < 0 && world_rank == 0) fprintf(stderr, "collectives: no sizes that an int holds: %s\n", sizes);
    wake_sleepers(world_rank);
    MPI_Finalize();
    return 2;
  }
  for (int s = 0; s < count; ++s) largest = bytes[s] > largest ? bytes[s] : largest;
  // Uneven blocks are up to half as long again.
  const size_t room = ((size_t)largest + (size_t)largest / 2 + 64) * (size_t)size;
  input = aligned_alloc(4096, (room + 4095) / 4096 * 4096);
  output = aligned_alloc(4096, (room + 4095) / 4096 * 4096);
  expected = aligned_alloc(4096, (room + 4095) / 4096 * 4096);
  if (input == NULL || output == NULL || expected == NULL) {
    fprintf(stderr, "collectives: no memory for messages of %d bytes\n", largest);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  memset(input, 0, room), memset(output, 0, room), memset(expected, 0, room);
  set_enabled = (int (*)(int))dlsym(RTLD_DEFAULT, "unisono_set_enabled");
  set_algorithm = (int (*)(const char*))dlsym(RTLD_DEFAULT, "unisono_set_algorithm");
  decision_on =
      (int (*)(const void*, const char*, long long, char*, size_t))dlsym(RTLD_DEFAULT, "unisono_decision_on");
  operation_time = (OperationTime*)dlsym(RTLD_DEFAULT, "unisono_operation_time");
  MPI_Barrier(comm);  // sets the communicator up
  enable(0);
  print_place(comm, job);
  int is_all_same = is_serving ? serve(largest, settings) : 1;
  for (size_t o = 0; !is_serving && o < sizeof operations / sizeof *operations; ++o) {
    if (!is_listed(names, operations[o].name)) continue;
    for (int s = 0; s < count; ++s) {
      if (!operations[o].is_sized && s > 0) break;
      const int n = operations[o].is_sized ? bytes[s] : 0;
      if (operations[o].is_reduction && n % 8 != 0) continue;
      is_all_same &= measure(&operations[o], n, &settings);
    }
  }
  enable(1);
  wake_sleepers(world_rank);
  MPI_Finalize();
  return is_all_same ? 0 : 1;
}
