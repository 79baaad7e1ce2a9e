// SPDX-License-Identifier: BSD-3-Clause
// What children of MPI_Comm_spawn and MPI_Comm_spawn_multiple are given, and how they end.
//   spawn_ends WAY     what is started: this program again, or what SPAWN_PROGRAM names
//
// The ways: words, where children tell their arguments, folder and number of program; none, the same of
// children without arguments; single, of MPI_Comm_spawn. In absent the second program of two is not there. In
// exit children end before their MPI_Init; in killed, aborted and quiet they do so behind it: by a signal, by
// MPI_Abort, and by exit.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { children = 2, room = 600 };

static const char* way;

static int class_of(int error) {
  int class = MPI_SUCCESS;
  MPI_Error_class(error, &class);
  return class;
}

// Each child's words, on rank 0 of its parents.
static void tell(MPI_Comm parents, int argc, char** argv) {
  char text[room] = "", folder[200] = "";
  int* number = NULL;
  int is_there = 0, flag = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &is_there);
  if (getcwd(folder, sizeof folder) == NULL) folder[0] = '\0';
  flag = snprintf(text, sizeof text, "program %d in %s:", is_there ? *number : -1, strrchr(folder, '/'));
  for (int i = 1; i < argc && flag < room - 100; ++i) flag += snprintf(text + flag, 90, " [%s]", argv[i]);
  MPI_Gather(text, room, MPI_CHAR, NULL, 0, MPI_CHAR, 0, parents);
}

static void hear(MPI_Comm between) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_remote_size(between, &size);
  char* texts = calloc((size_t)size, room);
  MPI_Gather(NULL, 0, MPI_CHAR, texts, room, MPI_CHAR, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, between);
  for (int i = 0; i < size && rank == 0; ++i) puts(texts + (size_t)i * room);
  free(texts);
}

static int start(char* program, MPI_Comm* between, int errors[]) {
  char *first[] = {"words", "two words", "\"quoted\" 'so' $HOME \\", "*", NULL},
       *second[] = {"words", "--", "-x", NULL};
  char** arguments[] = {first, second};
  char* commands[] = {program, strcmp(way, "absent") == 0 ? "/there/is/no/such/program" : program};
  char* as_way[] = {(char*)way, NULL};
  const int counts[] = {1, children - 1};
  MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  if (strcmp(way, "single") == 0)
    return MPI_Comm_spawn(program, first, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, between, errors);
  if (strcmp(way, "none") == 0)
    return MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, counts, infos, 0, MPI_COMM_WORLD, between,
                                   errors);
  if (strcmp(way, "words") != 0 && strcmp(way, "absent") != 0)
    return MPI_Comm_spawn(program, as_way, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, between, errors);
  MPI_Info_create(&infos[1]);
  MPI_Info_set(infos[1], "wdir", "/usr");
  const int result =
      MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, 0, MPI_COMM_WORLD, between, errors);
  MPI_Info_free(&infos[1]);
  return result;
}

static void be_parent(char* program) {
  int errors[children] = {-1, -1}, rank;
  MPI_Comm between = MPI_COMM_NULL, all;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int result = start(program, &between, errors);
  if (rank == 0)
    printf("class %d, of each %d %d\n", class_of(result), class_of(errors[0]), class_of(errors[1]));
  fflush(stdout);
  if (result != MPI_SUCCESS) return;
  MPI_Intercomm_merge(between, 0, &all);
  MPI_Barrier(all);
  if (strcmp(way, "words") == 0 || strcmp(way, "none") == 0 || strcmp(way, "single") == 0) {
    hear(between);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&between);
    return;
  }
  // The children are gone.
  MPI_Barrier(all);
  puts("a barrier with processes that are gone has ended");
}

static void be_child(MPI_Comm parents, int argc, char** argv) {
  MPI_Comm all;
  MPI_Intercomm_merge(parents, 1, &all);
  MPI_Barrier(all);
  if (strcmp(way, "killed") == 0) raise(SIGKILL);
  if (strcmp(way, "aborted") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
  if (strcmp(way, "quiet") == 0) _exit(3);
  tell(parents, argc, argv);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&parents);
}

int main(int argc, char** argv) {
  MPI_Comm parents;
  way = argc > 1 ? argv[1] : "";
  if (strcmp(way, "exit") == 0 && getenv("SPAWN_PARENT") == NULL) return 3;
  unsetenv("SPAWN_PARENT");
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parents);
  if (parents == MPI_COMM_NULL) {
    be_parent(getenv("SPAWN_PROGRAM") == NULL ? argv[0] : getenv("SPAWN_PROGRAM"));
  } else {
    be_child(parents, argc, argv);
  }
  MPI_Finalize();
  return 0;
}
