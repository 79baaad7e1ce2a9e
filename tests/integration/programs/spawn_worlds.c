// SPDX-License-Identifier: BSD-3-Clause
// Collectives of worlds that are spawned, of communicators over two worlds, and of what is made of those.
//   spawn_worlds WAY     what is started: this program again, or what SPAWN_PROGRAM names
//
// SPAWN_SILENT: without messages between two worlds, which some MPIs lose.
// The ways: once; multiple, by MPI_Comm_spawn_multiple; self, each rank by itself; nested, where children
// spawn others. In early children end long before their parents, and loop leaves nothing behind. In alone
// there is no communicator over both, kept frees nothing, and missing says what a spawn fails with. In hosts
// children are on hosts that differ, by the info "KEY=VALUE ..." of SPAWN_INFO.
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { children = 2, most = 5000 };

static void check(int is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "spawn_worlds: %s is wrong\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static long sum_to(int size) {
  return (long)size * (size - 1) / 2;
}

static void reduce(MPI_Comm comm, int rank, int size, int count) {
  static long own[most], sums[most];
  for (int i = 0; i < count; ++i) own[i] = rank * (i + 1L);
  MPI_Allreduce(own, sums, count, MPI_LONG, MPI_SUM, comm);
  for (int i = 0; i < count; ++i) check(sums[i] == sum_to(size) * (i + 1), "allreduce");
  MPI_Request request;
  memset(sums, 0, sizeof sums);
  MPI_Iallreduce(own, sums, count, MPI_LONG, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < count; ++i) check(sums[i] == sum_to(size) * (i + 1), "iallreduce");
  memset(sums, 0, sizeof sums);
  MPI_Reduce(own, sums, count, MPI_LONG, MPI_SUM, size - 1, comm);
  for (int i = 0; i < count && rank == size - 1; ++i) check(sums[i] == sum_to(size) * (i + 1), "reduce");
}

static void exchange(MPI_Comm comm, int rank, int size, int count) {
  int* own = malloc(sizeof(int) * (size_t)(size * count));
  int* all = malloc(sizeof(int) * (size_t)(size * count));
  for (int i = 0; i < size * count; ++i) own[i] = 1000 * rank + i, all[i] = -1;
  MPI_Alltoall(own, count, MPI_INT, all, count, MPI_INT, comm);
  for (int r = 0; r < size; ++r) check(all[r * count] == 1000 * r + rank * count, "alltoall");
  MPI_Allgather(own, count, MPI_INT, all, count, MPI_INT, comm);
  for (int r = 0; r < size; ++r) check(all[r * count + count - 1] == 1000 * r + count - 1, "allgather");
  MPI_Gather(own, count, MPI_INT, all, count, MPI_INT, 0, comm);
  if (rank == size - 1) own[count - 1] = 4711;
  MPI_Bcast(own, count, MPI_INT, size - 1, comm);
  check(own[count - 1] == 4711, "bcast");
  free(own);
  free(all);
}

static void meet(MPI_Comm comm) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int time = 0; time < 3; ++time) {
    for (int count = 1; count <= most; count = count == 1 ? 200 : most + (count == most)) {
      reduce(comm, rank, size, count);
      exchange(comm, rank, size, count);
    }
    MPI_Barrier(comm);
  }
}

// Messages of `comm` and others at once, with wildcards.
static void talk(MPI_Comm between, MPI_Comm all) {
  int rank, size, in_all, of_all, got = 0;
  MPI_Request requests[2];
  MPI_Comm_rank(between, &rank);
  MPI_Comm_remote_size(between, &size);
  MPI_Comm_rank(all, &in_all);
  MPI_Comm_size(all, &of_all);
  if (rank < size) {
    MPI_Isend(&rank, 1, MPI_INT, rank, 5, between, &requests[0]);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, between, MPI_STATUS_IGNORE);
    check(got == rank, "message between the worlds");
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  MPI_Isend(&in_all, 1, MPI_INT, (in_all + 1) % of_all, 6, all, &requests[1]);
  MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, all, MPI_STATUS_IGNORE);
  check(got == (in_all + of_all - 1) % of_all, "message over both worlds");
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
}

// On `between`, and on what is made of it.
static void meet_others(MPI_Comm between, int is_child) {
  MPI_Comm all, made;
  int one = 1, sum = 0, remote = 0, rank;
  MPI_Comm_remote_size(between, &remote);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, between);
  check(sum == remote, "allreduce between the worlds");
  MPI_Intercomm_merge(between, is_child, &all);
  meet(all);
  if (getenv("SPAWN_SILENT") == NULL) talk(between, all);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_dup(all, &made);
  meet(made);
  MPI_Comm_free(&made);
  MPI_Comm_split(all, rank % 2, -rank, &made);  // of both worlds
  meet(made);
  MPI_Comm_free(&made);
  MPI_Comm_split(all, is_child, rank, &made);  // of one world alone
  MPI_Comm_free(&all);
  meet(made);
  MPI_Comm_free(&made);
  MPI_Intercomm_merge(between, !is_child, &all);
  meet(all);
  MPI_Comm_free(&all);
}

// Nothing is freed: MPI_Finalize of both sides ends it.
static void meet_for_good(MPI_Comm between, int is_child) {
  MPI_Comm all;
  MPI_Intercomm_merge(between, is_child, &all);
  meet(all);
}

static int entries_of(const char* folder) {
  int count = 0;
  DIR* directory = opendir(folder);
  while (directory != NULL && readdir(directory) != NULL) ++count;
  if (directory != NULL) closedir(directory);
  return count;
}

// Mappings of memory that Unisono shares.
static int mapped(void) {
  int count = 0;
  char line[4096];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
    count += strstr(line, "memfd:unisono") != NULL;
  if (maps != NULL) fclose(maps);
  return count;
}

static MPI_Comm spawn(char** command, int processes, MPI_Comm comm) {
  MPI_Comm between;
  MPI_Info info;
  char keys[200] = "";
  MPI_Info_create(&info);
  if (getenv("SPAWN_INFO") != NULL) strncpy(keys, getenv("SPAWN_INFO"), sizeof keys - 1);
  for (char* key = strtok(keys, "= "); key != NULL; key = strtok(NULL, "= "))
    MPI_Info_set(info, key, strtok(NULL, "= "));
  MPI_Comm_spawn(command[0], command + 1, processes, info, 0, comm, &between, MPI_ERRCODES_IGNORE);
  MPI_Info_free(&info);
  return between;
}

static void check_hosts_differ(void) {
  char names[children][64] = {{0}};
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  gethostname(names[rank], sizeof names[0] - 1);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, names, sizeof names[0], MPI_CHAR, MPI_COMM_WORLD);
  check(strcmp(names[0], names[1]) != 0, "children's host");
}

static void spawn_again_and_again(char** command) {
  MPI_Comm between, all;
  int files = 0, maps = 0, one = 1, sum = 0;
  const int loops = getenv("SPAWN_LOOPS") == NULL ? 12 : atoi(getenv("SPAWN_LOOPS"));
  for (int i = 0; i < loops; ++i) {
    between = spawn(command, 1, MPI_COMM_WORLD);
    MPI_Intercomm_merge(between, 0, &all);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    check(sum == 3, "allreduce in the loop");
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&between);
    if (i == loops / 4) files = entries_of("/proc/self/fd"), maps = mapped();
  }
  if (getenv("SPAWN_SAYS") != NULL)
    fprintf(stderr, "%d -> %d files, %d -> %d mappings\n", files, entries_of("/proc/self/fd"), maps,
            mapped());
  check(mapped() == maps, "number of mappings behind the loop");
  // The MPI itself may keep some for each spawn.
  if (getenv("SPAWN_MOST_FILES") != NULL)
    check(entries_of("/proc/self/fd") - files <= atoi(getenv("SPAWN_MOST_FILES")), "number of open files");
}

static MPI_Comm spawn_both(char** command) {
  MPI_Comm between;
  char* commands[] = {command[0], command[0]};
  char** arguments[] = {command + 1, command + 1};
  const int counts[] = {1, children - 1};
  const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, 0, MPI_COMM_WORLD, &between,
                          MPI_ERRCODES_IGNORE);
  return between;
}

// What is started: the program, and the way.
static char* words[3];

static void be_child(const char* way, MPI_Comm parents) {
  if (strcmp(way, "loop") == 0) {
    MPI_Comm all;
    int one = 1, sum = 0;
    MPI_Intercomm_merge(parents, 1, &all);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    MPI_Comm_free(&all);
  } else {
    if (strcmp(way, "hosts") == 0) check_hosts_differ();
    meet(MPI_COMM_WORLD);
    if (strcmp(way, "nested") == 0) {
      words[1] = "once";
      MPI_Comm between = spawn(words, children, MPI_COMM_WORLD);
      meet_others(between, 0);
      MPI_Comm_disconnect(&between);
    }
    if (strcmp(way, "kept") == 0) return meet_for_good(parents, 1);
    if (strcmp(way, "alone") != 0) meet_others(parents, 1);
  }
  MPI_Comm_disconnect(&parents);
}

static void be_parent(const char* way) {
  MPI_Comm between;
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  meet(MPI_COMM_WORLD);
  if (strcmp(way, "missing") == 0) {
    int error, class = MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    error = MPI_Comm_spawn(words[0], words + 1, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                           MPI_ERRCODES_IGNORE);
    MPI_Error_class(error, &class);
    if (rank == 0) printf("class %d\n", class);
    return;
  }
  if (strcmp(way, "loop") == 0) return spawn_again_and_again(words);
  if (strcmp(way, "self") == 0) {
    for (int turn = 0; turn < size; ++turn) {
      MPI_Barrier(MPI_COMM_WORLD);
      if (turn != rank) continue;
      between = spawn(words, children, MPI_COMM_SELF);
      meet_others(between, 0);
      MPI_Comm_disconnect(&between);
    }
    return meet(MPI_COMM_WORLD);
  }
  between = strcmp(way, "multiple") == 0 ? spawn_both(words) : spawn(words, children, MPI_COMM_WORLD);
  meet(MPI_COMM_WORLD);
  if (strcmp(way, "kept") == 0) return meet_for_good(between, 0);
  if (strcmp(way, "alone") != 0) meet_others(between, 0);
  MPI_Comm_disconnect(&between);
  if (strcmp(way, "early") == 0) sleep(1);
  meet(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Comm parents;
  int rank = 0;
  MPI_Init(&argc, &argv);
  if (argc != 2) return 2;
  words[0] = getenv("SPAWN_PROGRAM") == NULL ? argv[0] : getenv("SPAWN_PROGRAM");
  words[1] = argv[1];
  MPI_Comm_get_parent(&parents);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (parents == MPI_COMM_NULL) {
    be_parent(argv[1]);
    if (rank == 0) puts("OK");
  } else {
    be_child(argv[1], parents);
  }
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
