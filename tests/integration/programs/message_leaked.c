// SPDX-License-Identifier: BSD-3-Clause
// Requests of messages that come to the MPI's own functions past all that stands in for them: an error, and
// no crash. The program's own calls complete them afterwards.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>

#include "messages.inc"

static void* library;
static int find(struct dl_phdr_info* info, size_t bytes, void* unused) {
  (void)bytes, (void)unused;
  const char* file = strrchr(info->dlpi_name, '/');
  if (file == NULL || (strncmp(file, "/libmpi.", 8) != 0 && strncmp(file, "/libmpich.", 10) != 0 &&
                       strncmp(file, "/libmpi_abi.", 12) != 0))
    return 0;
  library = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
  return library != NULL;
}
static void* function(const char* name) {
  void* found = dlsym(library, name);
  CHECK(found != NULL);
  return found;
}

static void refused(int error, int wanted) {
  int class = MPI_SUCCESS;
  MPI_Error_class(error, &class);
  CHECK(class == wanted || class == MPI_ERR_REQUEST || (class == MPI_ERR_ARG && wanted != MPI_SUCCESS));
}

static void hand_over(int is_in_arrays) {
  dl_iterate_phdr(find, NULL);
  CHECK(library != NULL);
  int (*wait)(MPI_Request*, MPI_Status*) = NULL;
  int (*test)(MPI_Request*, int*, MPI_Status*) = NULL;
  int (*waitall)(int, MPI_Request*, MPI_Status*) = NULL;
  int (*waitany)(int, MPI_Request*, int*, MPI_Status*) = NULL;
  int (*testall)(int, MPI_Request*, int*, MPI_Status*) = NULL;
  int (*start)(MPI_Request*) = NULL;
  int (*cancel)(MPI_Request*) = NULL;
  *(void**)&wait = function("PMPI_Wait");
  *(void**)&test = function("PMPI_Test");
  *(void**)&waitall = function("PMPI_Waitall");
  *(void**)&waitany = function("PMPI_Waitany");
  *(void**)&testall = function("PMPI_Testall");
  *(void**)&start = function("PMPI_Start");
  *(void**)&cancel = function("PMPI_Cancel");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int turn = 0; turn < 50; ++turn) {
    enum { count = 4 };
    int in[count], flag = 0, index = 0;
    MPI_Request requests[count], handed[count];
    MPI_Status statuses[count];
    for (int i = 0; i < count; ++i)
      MPI_Irecv(&in[i], 1, MPI_INT, previous_rank(), i, MPI_COMM_WORLD, &requests[i]);
    memcpy(handed, requests, sizeof handed);
    if (is_in_arrays) {
      refused(waitall(1, &handed[0], statuses), MPI_ERR_IN_STATUS);
      refused(waitany(1, &handed[1], &index, &statuses[0]), MPI_ERR_REQUEST);
      refused(testall(1, &handed[2], &flag, statuses), MPI_ERR_IN_STATUS);
    } else {
      refused(wait(&handed[0], &statuses[0]), MPI_ERR_REQUEST);
      refused(test(&handed[1], &flag, &statuses[0]), MPI_ERR_REQUEST);
      refused(start(&handed[2]), MPI_ERR_REQUEST);
      refused(cancel(&handed[3]), MPI_ERR_REQUEST);
    }
    for (int i = 0; i < count; ++i) {
      const int value = rank * 100 + turn + i;
      MPI_Send(&value, 1, MPI_INT, next_rank(), i, MPI_COMM_WORLD);
    }
    MPI_Waitall(count, requests, statuses);
    for (int i = 0; i < count; ++i) CHECK(in[i] == previous_rank() * 100 + turn + i);
  }
}

static void one_by_one(void) {
  hand_over(0);
}
static void in_arrays(void) {
  hand_over(1);
}

int main(int argc, char** argv) {
  static const struct Section sections[] = {
      {"one_by_one", one_by_one}, {"in_arrays", in_arrays}, {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
