// SPDX-License-Identifier: BSD-3-Clause
// The collectives of neighbours in all forms, on all kinds of topologies, against what the standard says (MPI
// 4.1, section 8.6). The k-th edge from one rank to another is the k-th in the lists of both. On a Cartesian
// topology what is sent down arrives from above. What comes from MPI_PROC_NULL leaves its block alone. Prints
// a line for each call that was wrong somewhere, as "torus-of-two alltoall blocking", and at last "OK".
//
//   neighbor_edges [OPERATION]
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_ranks = 8, most_neighbors = 24, most_elements = 4, turns = 2, operations = 5, forms = 6 };
// An element is two ints: side by side, or with gaps between them and behind.
enum { dense_ints = 2, gapped_ints = 4, block_ints = most_elements * gapped_ints };
enum { buffer_ints = most_neighbors * block_ints, untouched = -1 };
static const char* const operation_names[operations] = {"allgather", "allgatherv", "alltoall", "alltoallv",
                                                        "alltoallw"};
static const char* const form_names[forms] = {"blocking",   "non-blocking",   "persistent",
                                              "blocking_c", "non-blocking_c", "persistent_c"};

static const char* only = "";  // one operation, or all
static int rank, size, is_cartesian;
static int source_count, target_count, sources[most_neighbors], targets[most_neighbors];
static int all_target_counts[most_ranks], all_targets[most_ranks][most_neighbors];

// --- What the standard says ---

// In which place of its list the rank that sends block `i` has this edge.
static int place_at_source(int i) {
  if (is_cartesian) return i ^ 1;
  int before = 0;
  for (int j = 0; j < i; ++j) before += sources[j] == sources[i];
  for (int j = 0; j < all_target_counts[sources[i]]; ++j) {
    if (all_targets[sources[i]][j] == rank && before-- == 0) return j;
  }
  return -1;
}

// Elements of the block that a rank sends as its `place`-th, of each operation.
static int elements_of(int operation, int from, int place) {
  if (operation == 1) return (from + 1) % most_elements;
  if (operation < 3) return most_elements;
  return (3 * from + place) % (most_elements + 1);
}
// An allgather's are the same for all.
static int value_of(int operation, int turn, int from, int place, int of_element) {
  return (((turn * 8 + operation) * most_ranks + from) * most_neighbors + (operation < 2 ? 0 : place)) * 16 +
         of_element;
}

// Which of both types a block has: of alltoallw they take turns.
static int sent_type(int operation, int place) {
  return operation == 4 ? place % 2 : rank % 2;
}
static int received_type(int operation, int place) {
  return operation == 4 ? (place + 1) % 2 : (rank + 1) % 2;
}
// Where a block begins, in ints. Of the operations with displacements blocks stand backwards.
static int start_of(int operation, int place, int count, int type) {
  if (operation == 1 || operation >= 3) return (count - 1 - place) * block_ints;
  return place * most_elements * (type == 0 ? dense_ints : gapped_ints);
}
static void put(int* buffer, int type, int element, int first) {
  int* at = buffer + element * (type == 0 ? dense_ints : gapped_ints);
  at[0] = first;
  at[type == 0 ? 1 : 2] = first + 1;
}

static void fill_input(int* input, int operation, int turn) {
  const int blocks = operation < 2 ? 1 : target_count;
  memset(input, 0x55, buffer_ints * sizeof *input);
  for (int place = 0; place < blocks; ++place) {
    const int type = sent_type(operation, place);
    const int start = operation < 2 ? 0 : start_of(operation, place, target_count, type);
    for (int e = 0; e < elements_of(operation, rank, place); ++e)
      put(input + start, type, e, value_of(operation, turn, rank, place, 2 * e));
  }
}
static void fill_expected(int* expected, int operation, int turn) {
  for (int i = 0; i < buffer_ints; ++i) expected[i] = untouched;
  for (int i = 0; i < source_count; ++i) {
    if (sources[i] < 0) continue;
    const int type = received_type(operation, i), place = place_at_source(i);
    int* block = expected + start_of(operation, i, source_count, type);
    for (int e = 0; e < elements_of(operation, sources[i], place); ++e)
      put(block, type, e, value_of(operation, turn, sources[i], place, 2 * e));
  }
}

// --- Calls ---

// A call's arrays, for ints and for large counts, and its types. They end with it.
struct Arrays {
  int in_counts[most_neighbors + 1], in_places[most_neighbors + 1], out_counts[most_neighbors + 1],
      out_places[most_neighbors + 1];
  MPI_Count large_in[most_neighbors + 1], large_out[most_neighbors + 1];
  MPI_Aint wide_in[most_neighbors + 1], wide_out[most_neighbors + 1];
  MPI_Datatype in_types[most_neighbors + 1], out_types[most_neighbors + 1], own[2];
};

static void make_types(MPI_Datatype made[2]) {
  MPI_Datatype vector;
  MPI_Type_contiguous(dense_ints, MPI_INT, &made[0]);
  MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
  MPI_Type_create_resized(vector, 0, gapped_ints * (MPI_Aint)sizeof(int), &made[1]);
  MPI_Type_free(&vector);
  MPI_Type_commit(&made[0]);
  MPI_Type_commit(&made[1]);
}

static struct Arrays* make_arrays(int operation) {
  struct Arrays* a = calloc(1, sizeof *a);
  make_types(a->own);
  for (int i = 0; i < target_count; ++i) {
    const int type = sent_type(operation, i), start = start_of(operation, i, target_count, type);
    a->large_in[i] = a->in_counts[i] = targets[i] < 0 ? 0 : elements_of(operation, rank, i);
    a->wide_in[i] = a->in_places[i] = start / (type == 0 ? dense_ints : gapped_ints);
    if (operation == 4) a->wide_in[i] = start * (MPI_Aint)sizeof(int);
    a->in_types[i] = a->own[type];
  }
  for (int i = 0; i < source_count; ++i) {
    const int type = received_type(operation, i), start = start_of(operation, i, source_count, type);
    const int place = sources[i] < 0 ? 0 : place_at_source(i);
    a->large_out[i] = a->out_counts[i] = sources[i] < 0 ? 0 : elements_of(operation, sources[i], place);
    a->wide_out[i] = a->out_places[i] = start / (type == 0 ? dense_ints : gapped_ints);
    if (operation == 4) a->wide_out[i] = start * (MPI_Aint)sizeof(int);
    a->out_types[i] = a->own[type];
  }
  return a;
}
static void end_arrays(struct Arrays* a) {
  MPI_Type_free(&a->own[0]);
  MPI_Type_free(&a->own[1]);
  memset(a, 0xFF, sizeof *a);
  free(a);
}

// Null where neither the MPI nor Unisono has it.
static void* function_of(int operation, int form) {
  char name[64];
  const int is_large = form >= 3;
  snprintf(name, sizeof name, "MPI_%seighbor_%s%s%s", form % 3 == 1 ? "In" : "N", operation_names[operation],
           form % 3 == 2 ? "_init" : "", is_large ? "_c" : "");
  return dlsym(RTLD_DEFAULT, name);
}

// Of any of the functions: what is passed has the types that it takes.
typedef int (*Function)();

static void make_call(Function function, int operation, int form, const int* in, int* out,
                      const struct Arrays* a, MPI_Comm comm, MPI_Request* request) {
  const int is_large = form >= 3;
  const MPI_Datatype in_type = a->own[sent_type(operation, 0)],
                     out_type = a->own[received_type(operation, 0)];
  const int count = most_elements, own_count = elements_of(1, rank, 0);
#define CALL(...)                                                               \
  do {                                                                          \
    if (form % 3 == 0) function(__VA_ARGS__);                                   \
    if (form % 3 == 1) function(__VA_ARGS__, request);                          \
    if (form % 3 == 2) function(__VA_ARGS__, (MPI_Info)MPI_INFO_NULL, request); \
  } while (0)
  if (operation == 0 || operation == 2) {
    if (is_large)
      CALL(in, (MPI_Count)count, in_type, out, (MPI_Count)count, out_type, comm);
    else
      CALL(in, count, in_type, out, count, out_type, comm);
  } else if (operation == 1) {
    if (is_large)
      CALL(in, (MPI_Count)own_count, in_type, out, a->large_out, a->wide_out, out_type, comm);
    else
      CALL(in, own_count, in_type, out, a->out_counts, a->out_places, out_type, comm);
  } else if (operation == 3) {
    if (is_large)
      CALL(in, a->large_in, a->wide_in, in_type, out, a->large_out, a->wide_out, out_type, comm);
    else
      CALL(in, a->in_counts, a->in_places, in_type, out, a->out_counts, a->out_places, out_type, comm);
  } else if (is_large) {
    CALL(in, a->large_in, a->wide_in, a->in_types, out, a->large_out, a->wide_out, a->out_types, comm);
  } else {
    CALL(in, a->in_counts, a->wide_in, a->in_types, out, a->out_counts, a->wide_out, a->out_types, comm);
  }
#undef CALL
}

// Several turns of one call. All ranks say whether it was wrong on some.
static void check_call(const char* graph, MPI_Comm comm, int operation, int form) {
  static int input[buffer_ints], output[buffer_ints], expected[buffer_ints];
  const Function function = (Function)function_of(operation, form);
  const int is_persistent = form % 3 == 2;
  struct Arrays* arrays = NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  int is_wrong = 0, is_wrong_somewhere;
  if (function == NULL || (*only != 0 && strcmp(only, operation_names[operation]) != 0)) return;
  for (int turn = 0; turn < turns; ++turn) {
    fill_input(input, operation, turn);
    fill_expected(expected, operation, turn);
    for (int i = 0; i < buffer_ints; ++i) output[i] = untouched;
    if (arrays == NULL) {
      arrays = make_arrays(operation);
      make_call(function, operation, form, input, output, arrays, comm, &request);
    }
    if (is_persistent) MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    is_wrong |= memcmp(output, expected, sizeof output) != 0;
    if (is_persistent) continue;
    end_arrays(arrays);
    arrays = NULL;
  }
  if (is_persistent) {
    MPI_Request_free(&request);
    end_arrays(arrays);
  }
  MPI_Allreduce(&is_wrong, &is_wrong_somewhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (is_wrong_somewhere && rank == 0)
    printf("%s %s %s\n", graph, operation_names[operation], form_names[form]), fflush(stdout);
}

// On the communicator and on a duplicate of it, which goes.
static void check_graph(const char* graph, MPI_Comm comm) {
  int told[most_neighbors] = {0};
  MPI_Comm copy;
  memcpy(told, targets, sizeof told);
  MPI_Allgather(&target_count, 1, MPI_INT, all_target_counts, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Allgather(told, most_neighbors, MPI_INT, all_targets, most_neighbors, MPI_INT, MPI_COMM_WORLD);
  for (int operation = 0; operation < operations; ++operation) {
    for (int form = 0; form < forms; ++form) check_call(graph, comm, operation, form);
  }
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_free(&comm);
  for (int operation = 0; operation < operations; ++operation)
    check_call(graph, copy, operation, operation % forms);
  MPI_Comm_free(&copy);
}

// --- Topologies ---

static void check_grid(const char* name, int dimensions, const int lengths[], const int periods[]) {
  MPI_Comm grid;
  int ranks = 1;
  for (int d = 0; d < dimensions; ++d) ranks *= lengths[d];
  if (ranks != size) return;
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, lengths, periods, 0, &grid);
  is_cartesian = 1;
  source_count = target_count = 2 * dimensions;
  for (int d = 0; d < dimensions; ++d) {
    MPI_Cart_shift(grid, d, 1, &sources[2 * d], &sources[2 * d + 1]);
    for (int i = 2 * d; i < 2 * d + 2; ++i) sources[i] = sources[i] == MPI_PROC_NULL ? -1 : sources[i];
  }
  memcpy(targets, sources, sizeof targets);
  check_graph(name, grid);
  is_cartesian = 0;
}

// A ring of double edges, and each rank its own neighbour once in each direction.
static void check_old_graph(void) {
  int ends[most_ranks], edges[most_ranks * most_neighbors], count = 0;
  MPI_Comm graph;
  for (int i = 0; i < size; ++i) {
    const int below = (i + size - 1) % size, above = (i + 1) % size;
    const int neighbors[] = {above, below, i, below, above};
    for (int j = 0; j < 5; ++j) edges[count++] = neighbors[j];
    ends[i] = count;
  }
  MPI_Graph_create(MPI_COMM_WORLD, size, ends, edges, 0, &graph);
  MPI_Graph_neighbors_count(graph, rank, &source_count);
  MPI_Graph_neighbors(graph, rank, source_count, sources);
  target_count = source_count;
  memcpy(targets, sources, sizeof targets);
  check_graph("graph", graph);
}

// How many edges there are from one rank to another: none to or from some, several to others.
static int edges_between(const char* kind, int from, int to) {
  if (strcmp(kind, "simple") == 0) return from != to && (3 * from + 2 * to) % 4 != 0;
  if (strcmp(kind, "double") == 0) return to == (from + 1) % size ? 2 : 0;
  if (strcmp(kind, "self") == 0) return from == to || to == (from + 1) % size;
  // "mixed": nothing comes to rank 0, and nothing goes out from the last one.
  return to == 0 || from == size - 1 ? 0 : (from + 2 * to) % 4;
}

static void list_neighbors(const char* kind) {
  source_count = target_count = 0;
  for (int step = 0; step < size; ++step) {
    // Not in the order of ranks.
    const int from = (rank + 2 * size - step) % size, to = (rank + step) % size;
    for (int k = edges_between(kind, from, rank); k > 0; --k) sources[source_count++] = from;
    for (int k = edges_between(kind, rank, to); k > 0; --k) targets[target_count++] = to;
  }
}

static void check_adjacent_graph(const char* kind) {
  int weights[most_neighbors] = {0};
  char name[64];
  MPI_Comm graph;
  list_neighbors(kind);
  snprintf(name, sizeof name, "adjacent-%s", kind);
  // Weights say nothing of the order.
  for (int i = 0; i < most_neighbors; ++i) weights[i] = most_neighbors - i;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, source_count, sources, weights, target_count, targets,
                                 weights, MPI_INFO_NULL, 0, &graph);
  check_graph(name, graph);
}

// Each rank names edges of the next one. The MPI says in which order they are.
static void check_distributed_graph(const char* kind) {
  int weights[most_neighbors] = {0}, starts[1], counts[1], own[most_neighbors], is_weighted;
  char name[64];
  MPI_Comm graph;
  starts[0] = (rank + 1) % size, counts[0] = 0;
  for (int to = 0; to < size; ++to) {
    for (int k = edges_between(kind, starts[0], to); k > 0; --k) own[counts[0]++] = to;
  }
  snprintf(name, sizeof name, "distributed-%s", kind);
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, starts, counts, own, weights, MPI_INFO_NULL, 0, &graph);
  MPI_Dist_graph_neighbors_count(graph, &source_count, &target_count, &is_weighted);
  MPI_Dist_graph_neighbors(graph, source_count, sources, weights, target_count, targets, own);
  check_graph(name, graph);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > most_ranks) MPI_Abort(MPI_COMM_WORLD, 2);
  if (argc > 1) only = argv[1];
  check_grid("line", 1, (int[]){size}, (int[]){0});
  check_grid("ring", 1, (int[]){size}, (int[]){1});
  check_grid("ring-of-one-beside", 2, (int[]){1, size}, (int[]){1, 1});
  check_grid("torus-of-two", 2, (int[]){size / 2, 2}, (int[]){1, 1});
  check_grid("borders", 2, (int[]){size / 2, 2}, (int[]){1, 0});
  check_old_graph();
  check_adjacent_graph("simple");
  check_adjacent_graph("double");
  check_adjacent_graph("self");
  check_adjacent_graph("mixed");
  check_distributed_graph("simple");
  check_distributed_graph("mixed");
  if (rank == 0) printf("OK\n"), fflush(stdout);
  MPI_Finalize();
  return 0;
}
