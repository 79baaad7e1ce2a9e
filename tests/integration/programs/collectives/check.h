// SPDX-License-Identifier: BSD-3-Clause
// What the sections of the conformance program share: counting checks, shapes of data, buffers, one
// collective at a time. Every expected result is computed here from the rank numbers alone, never by another
// collective.
#ifndef CHECK_H
#define CHECK_H
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#if MPI_VERSION >= 4
#define HAS_LARGE_COUNTS 1
#else
#define HAS_LARGE_COUNTS 0
#endif

enum { max_ints_per_unit = 4, shape_count = 6, common_multiple = 12 };

// ---- counting and reporting (main.c)
extern int world_rank, world_size;
extern const char* section_name;
void check_passed(void);
// Counts a failure and prints it; ends the job after the first few.
void check_failed(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Errors without a communicator come back as results, or are fatal again: MPIs differ in whose handler they
// call.
void return_errors(int is_wanted);

// ---- numbers
uint32_t hash(uint32_t seed, uint32_t a, uint32_t b, uint32_t c);
double seconds_now(void);

// ---- shapes (data.c): how ints lie in memory for one unit of a datatype
typedef struct {
  const char* name;
  MPI_Datatype type;
  int ints;  // per unit
  MPI_Aint positions[max_ints_per_unit];
  MPI_Aint low, high, extent;  // bytes touched by one unit: [low, high)
} Shape;

extern Shape shapes[shape_count];  // [0] is MPI_INT
void make_shapes(void);
void free_shapes(void);

// ---- buffers (data.c): an array of units with untouched bytes around it
typedef struct {
  const Shape* shape;
  long elements;  // ints
  unsigned char* memory;
  size_t bytes;
  unsigned char* origin;  // where MPI is pointed to
} Buffer;

// The value of element `index` of the block that goes from `source` to `destination`.
int value_of(uint32_t seed, int source, int destination, long index);
Buffer make_buffer(const Shape* shape, long elements);
void free_buffer(Buffer* buffer);
int read_element(const Buffer* buffer, long index);
int is_untouched(const Buffer* buffer, long index);
void write_element(Buffer* buffer, long index, int value);
// All bytes that no element covers must be as they were made. Destroys the elements.
void check_gaps(Buffer* buffer, const char* what);

// ---- one collective (trial.c)
typedef enum {
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce_scatter_block,
  scan,
  exscan,
  allgatherv,
  reduce_scatter,
  alltoallv,
  gatherv,
  scatterv,
  alltoallw,
  operation_count
} Operation;
extern const char* const operation_names[operation_count];
int is_reduction(Operation operation);

// ---- forced algorithms (forced.c)
// Tells Unisono to run the algorithms in `text` from now on. The operations that it does not name are left
// out.
void force(const char* text);
const char* forced_algorithms(void);  // empty: none
int is_tested(Operation operation);

typedef struct {
  MPI_Comm comm;
  int root;
  long elements;  // ints in the vector, or in each block; of uneven blocks each has a multiple of it
  uint32_t seed;
  int is_in_place;
  int is_absolute;     // MPI_BOTTOM and absolute addresses
  int is_large_count;  // the _c variant
  int is_mixed;        // ranks pass different types of one signature
  const Shape* send;   // of this rank; reductions always use MPI_INT
  const Shape* receive;
} Trial;

// What a call needs to know beside its Trial.
typedef struct {
  const Trial* trial;
  Operation operation;
  int rank, size;
  char text[256];  // for messages
} Call;

// How a rank's blocks lie in a buffer: in ints, with gaps between them and in another order where the
// operation takes displacements (blocks.c).
enum { max_ranks = 64 };
typedef struct {
  int count;
  long lengths[max_ranks];
  long starts[max_ranks];
  long elements;  // of the whole buffer
} Blocks;
int is_in_place_here(const Call* call);
Blocks sent_blocks(const Call* call);
Blocks received_blocks(const Call* call);

// A buffer as MPI gets it.
typedef struct {
  void* address;
  long count;  // of one block, in operations whose blocks are all of one length
  MPI_Datatype type;
  MPI_Datatype made;     // to be freed, or MPI_DATATYPE_NULL
  const Blocks* blocks;  // for the others: where they lie, and so many ints make a unit of `type`
  int ints_per_unit;
  MPI_Aint extent;
} Argument;
// Calls MPI_X, or MPI_X_c (dispatch.c). `from` and `to` may be MPI_IN_PLACE.
int dispatch(const Call* call, const void* from, const Argument* sent, void* to, const Argument* received);

Trial plain_trial(MPI_Comm comm, int root, long elements, uint32_t seed);
// Runs one collective and checks its result, the bytes around it and that the input is unchanged.
void run_trial(Operation operation, const Trial* trial);

// ---- what the MPI below gets wrong by itself (host_defects.c)
int has_host_defect(Operation operation, const Trial* trial);
int has_gap_defect(Operation operation);
int has_wildcard_defect(void);

// ---- sections
void section_barrier(void);
void section_counts(void);
void section_roots(void);
void section_in_place(void);
void section_empty_blocks(void);
void section_derived(void);
void section_absolute(void);
void section_large_counts(void);
void section_predefined(void);
void section_types(void);
void section_pairs(void);
void section_user_operators(void);
void section_communicators(void);
void section_intercommunicator(void);
void section_many_communicators(void);
void section_messages(void);
void section_errors(void);
void section_random(void);
extern uint32_t random_seed;
extern int random_steps;
#endif
