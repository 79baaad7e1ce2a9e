// SPDX-License-Identifier: BSD-3-Clause
// The kernel lets ranks read each other's memory up to a point, and then refuses some of them, or some ranks'
// memory. Collectives of all forms go on, with right results. Prints OK.
//
//     refused calls    a filter of system calls forbids all ranks but the first to read
//     refused thread   the process's first thread ends on all ranks but the last: nobody reads their memory
//
// MPI is initialised, called and finalised by one thread, which is not the first one.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "persistent.inc"

enum { most = 40000, most_ranks = 8 };
enum { bcast, reduce, allreduce, scatter, gather, allgather, alltoall, operations };
enum { blocking, not_blocking, persistent, forms };
static const char* const names[] = {"bcast",  "reduce",    "allreduce", "scatter",
                                    "gather", "allgather", "alltoall"};
static const char* const form_names[] = {"blocking", "not blocking", "persistent"};
static int is_calls, rank, size, root;
static sem_t is_enough;
static long in[most_ranks * most], out[most_ranks * most];
static MPI_Comm comms[operations];

static void fail(const char* what, const char* which) {
  fprintf(stderr, "rank %d: %s %s\n", rank, what, which);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Element i of the block for rank b that rank r sends.
static long value(int r, int b, int i) {
  return r * 1009L + b * 31L + i % 97;
}
static long sum(int i) {
  long all = 0;
  for (int r = 0; r < size; ++r) all += value(r, 0, i);
  return all;
}

static void call(int op, int form, int n) {
  const MPI_Datatype type = MPI_LONG;
  MPI_Comm c = comms[op];
  MPI_Info info = MPI_INFO_NULL;
  MPI_Request request = MPI_REQUEST_NULL, *r = &request;
  switch (op) {
#define FORMS(Name, name, ...)                                          \
  case name:                                                            \
    if (form == blocking) MPI_##Name(__VA_ARGS__, c);                   \
    if (form == not_blocking) MPI_I##name(__VA_ARGS__, c, r);           \
    if (form == persistent) MPI_##Name##_init(__VA_ARGS__, c, info, r); \
    break;
    FORMS(Bcast, bcast, out, n, type, root)
    FORMS(Reduce, reduce, in, out, n, type, MPI_SUM, root)
    FORMS(Allreduce, allreduce, in, out, n, type, MPI_SUM)
    FORMS(Scatter, scatter, in, n, type, out, n, type, root)
    FORMS(Gather, gather, in, n, type, out, n, type, root)
    FORMS(Allgather, allgather, in, n, type, out, n, type)
    FORMS(Alltoall, alltoall, in, n, type, out, n, type)
    default:
      break;
  }
  if (form == persistent) MPI_Start(r);
  if (form != blocking) MPI_Wait(r, MPI_STATUS_IGNORE);
  if (form == persistent) MPI_Request_free(r);
}

static long expected(int op, int block, int i) {
  switch (op) {
    case bcast:
      return value(root, 0, i);
    case reduce:
    case allreduce:
      return sum(i);
    case scatter:
      return value(root, rank, i);
    case alltoall:
      return value(block, rank, i);
    default:
      return value(block, 0, i);
  }
}

static void test(int op, int form, int n) {
  for (int b = 0; b < size; ++b) {
    for (int i = 0; i < n; ++i) in[b * n + i] = value(rank, b, i);
  }
  memset(out, 0xff, sizeof out);
  if (op == bcast && rank == root) memcpy(out, in, (size_t)n * sizeof *in);
  call(op, form, n);
  if ((op == reduce || op == gather) && rank != root) return;
  const int blocks = op >= gather ? size : 1;
  for (int b = 0; b < blocks; ++b) {
    for (int i = 0; i < n; ++i) {
      if (out[b * n + i] != expected(op, b, i)) fail(form_names[form], names[op]);
    }
  }
}

static void test_all(int form, int n) {
  for (int op = 0; op < operations; ++op) test(op, form, n);
}

static void forbid_reading(void) {
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
    fail("cannot filter", "system calls");
}

static int is_read(long process, unsigned long address) {
  char byte;
  struct iovec into = {&byte, 1}, from = {(void*)address, 1};
  return process_vm_readv((pid_t)process, &into, 1, &from, 1, 0) == 1;
}

// Until the kernel refuses what it is to refuse.
static void refuse(void) {
  long own[2] = {getpid(), (long)in}, all[most_ranks][2];
  MPI_Allgather(own, 2, MPI_LONG, all, 2, MPI_LONG, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) {
    if (r != rank && !is_read(all[r][0], (unsigned long)all[r][1]))
      fail("no rank may read", "from the start");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_calls && rank > 0) forbid_reading();
  if (!is_calls && rank < size - 1) sem_post(&is_enough);
  for (int r = 0; r < size; ++r) {
    if (r == rank || (is_calls ? rank == 0 : r == size - 1)) continue;
    for (int i = 0; is_read(all[r][0], (unsigned long)all[r][1]); ++i) {
      if (i == 10000) fail("the kernel does not", "refuse");
      usleep(1000);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void* work(void* unused) {
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > most_ranks) fail("too many", "ranks");
  root = size > 1 ? 1 : 0;
  for (int op = 0; op < operations; ++op) MPI_Comm_dup(MPI_COMM_WORLD, &comms[op]);
  test_all(blocking, most);
  refuse();
  const int counts[] = {1, 3000, most};
  for (int k = 0; k < 3; ++k) {
    if (has_persistent_collectives()) test_all(persistent, counts[k]);
    test_all(not_blocking, counts[k]);
  }
  for (int k = 0; k < 3; ++k) {
    for (int form = blocking; form <= not_blocking; ++form) test_all(form, counts[2 - k]);
  }
  for (int op = 0; op < operations; ++op) MPI_Comm_free(&comms[op]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("OK");
  MPI_Finalize();
  exit(0);
  return unused;
}

int main(int argc, char** argv) {
  pthread_t thread;
  is_calls = argc > 1 && strcmp(argv[1], "calls") == 0;
  sem_init(&is_enough, 0, 0);
  if (pthread_create(&thread, NULL, work, NULL) != 0) return 1;
  sem_wait(&is_enough);
  pthread_exit(NULL);
}
