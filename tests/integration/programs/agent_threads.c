// SPDX-License-Identifier: BSD-3-Clause
// Calls that agents' threads go on with.
//   agent_threads init|0|1|2|3 finalize|exit|abort
// With MPI_Init, or MPI_Init_thread for the level that comes so far among the four of MPI. The program gets
// this level, or a higher one. At the end the ranks call MPI_Finalize, or exit without it, or one of them
// MPI_Abort, with calls under way.
#include <dirent.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_elements = 3000 };

static int rank, size;

#define require(fact)                                                         \
  do {                                                                        \
    if (fact) break;                                                          \
    fprintf(stderr, "rank %d, line %d: not so: %s\n", rank, __LINE__, #fact); \
    MPI_Abort(MPI_COMM_WORLD, 1);                                             \
  } while (0)

static void begin(int* count, char*** words, const char* how) {
  const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
  int asked = MPI_THREAD_SINGLE, provided = MPI_THREAD_SINGLE, queried = -1, is_main = 0;
  if (strcmp(how, "init") == 0) {
    MPI_Init(count, words);
  } else {
    asked = levels[atoi(how)];
    MPI_Init_thread(count, words, asked, &provided);
    require(provided >= asked);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Query_thread(&queried);
  require(queried >= asked && (strcmp(how, "init") == 0 || queried == provided));
  MPI_Is_thread_main(&is_main);
  require(is_main);
}

// How many threads of this process are agents, which handle none of the program's signals.
static int count_agents(void) {
  int found = 0;
  DIR* tasks = opendir("/proc/self/task");
  for (struct dirent* task; (task = readdir(tasks)) != NULL;) {
    char path[300], line[300], is_agent = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
    FILE* status = fopen(path, "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
      if (strcmp(line, "Name:\tunisono-agents\n") == 0) is_agent = 1;
      unsigned long long blocked = 0;
      if (is_agent && sscanf(line, "SigBlk:\t%llx", &blocked) == 1) require((blocked >> 14 & 1) != 0);
    }
    if (status != NULL) fclose(status);
    found += is_agent;
  }
  closedir(tasks);
  return found;
}

#define ALL_OF_TYPE(NAME, TYPE, MPI_TYPE)                                                        \
  static void NAME(int count, int root) {                                                        \
    static TYPE in[most_elements], sum[most_elements], most[most_elements], told[most_elements]; \
    MPI_Request requests[4];                                                                     \
    MPI_Status statuses[4];                                                                      \
    for (int i = 0; i < count; ++i) {                                                            \
      in[i] = (TYPE)(3 * rank + i % 7);                                                          \
      most[i] = 111;                                                                             \
      told[i] = (TYPE)(rank == root ? i : 99);                                                   \
    }                                                                                            \
    MPI_Iallreduce(in, sum, count, MPI_TYPE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);             \
    MPI_Ireduce(in, most, count, MPI_TYPE, MPI_MAX, root, MPI_COMM_WORLD, &requests[1]);         \
    MPI_Ibcast(told, count, MPI_TYPE, root, MPI_COMM_WORLD, &requests[2]);                       \
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[3]);                                                  \
    MPI_Waitall(4, requests, statuses);                                                          \
    for (int i = 0; i < count; ++i) {                                                            \
      require(sum[i] == (TYPE)(3 * size * (size - 1) / 2 + size * (i % 7)));                     \
      require(most[i] == (TYPE)(rank == root ? 3 * (size - 1) + i % 7 : 111));                   \
      require(told[i] == (TYPE)i);                                                               \
    }                                                                                            \
  }

ALL_OF_TYPE(all_of_int32, int32_t, MPI_INT32_T)
ALL_OF_TYPE(all_of_uint32, uint32_t, MPI_UINT32_T)
ALL_OF_TYPE(all_of_int64, int64_t, MPI_INT64_T)
ALL_OF_TYPE(all_of_uint64, uint64_t, MPI_UINT64_T)
ALL_OF_TYPE(all_of_float, float, MPI_FLOAT)
ALL_OF_TYPE(all_of_double, double, MPI_DOUBLE)

static void pass(long milliseconds) {
  const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&time, NULL);
}

// Between more than two nodes a call takes more than one message of each: who sleeps takes part all the same.
static void overlap(void) {
  enum { asleep_ms = 600 };
  double in = rank, out = -1;
  MPI_Request request;
  MPI_Barrier(MPI_COMM_WORLD);
  const double before = MPI_Wtime();
  MPI_Iallreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  if (rank == 0) pass(asleep_ms);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const double took_ms = (MPI_Wtime() - before) * 1e3;
  require(out == size * (size - 1) / 2.0);
  require(rank == 0 || took_ms < asleep_ms / 2.0);
}

int main(int count, char** words) {
  begin(&count, &words, words[1]);
  printf("rank %d: %d\n", rank, count_agents());
  for (int root = 0; root < size; ++root) {
    const int counts[] = {1, 8, most_elements};
    for (int i = 0; i < 3; ++i) {
      all_of_int32(counts[i], root);
      all_of_uint32(counts[i], root);
      all_of_int64(counts[i], root);
      all_of_uint64(counts[i], root);
      all_of_float(counts[i], root);
      all_of_double(counts[i], root);
    }
  }
  if (size > 2) overlap();
  fflush(stdout);
  if (strcmp(words[2], "finalize") != 0) {
    static double in, out;
    MPI_Request request;
    if (rank != size - 1) MPI_Iallreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    pass(100);
    if (strcmp(words[2], "exit") == 0) exit(0);
    if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    pass(60000);
  }
  MPI_Finalize();
  if (count_agents() != 0) return 1;
  if (rank == 0) puts("OK");
  return 0;
}
