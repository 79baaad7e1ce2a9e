// SPDX-License-Identifier: BSD-3-Clause
// unisono-agent is one process of the job that `unisono run --agents` starts beside the user's. It loads the
// MPI of that job and the adapter for it, whose function is an agent's life. It ends with the launcher's
// process that has started it, and when `unisono run` says so to the first agent, or is gone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core_list.h"
#include "preload/agent_library.h"
#include "preload/error_message.h"
#include "preload/mapped.h"
#include "shim/end_job.h"

enum { most_libraries = 16, watch_ms = 500, grace_ms = 3000 };

static const char usage[] =
    "usage: unisono-agent --job NAME [--carrier NAME] [--cores LIST] [--float KIND] [--again NUMBER] --mpi "
    "LIBRARY [--mpi LIBRARY]...\n"
    "\n"
    "Part of `unisono run --agents`, which starts it; it does nothing by itself.\n";

struct Arguments {
  const char* job;
  const char* carrier;
  const char* cores;  // "3,8-11"; NULL: any
  int has_soft_float;
  int again;                              // how often the job's agents were started before
  const char* libraries[most_libraries];  // the first that can be loaded is used
  int library_count;
};

static unsigned char must_end;
static pid_t launcher;

__attribute__((noreturn)) static void fail(const char* problem) {
  unisono_say("an agent cannot start: %s", problem);
  unisono_end_job(exit_own_failure);
}

static struct Arguments parse(int count, char** words) {
  struct Arguments parsed = {NULL, "mpi", NULL, 0, 0, {NULL}, 0};
  for (int i = 1; i < count; i += 2) {
    const char* value = i + 1 < count ? words[i + 1] : NULL;
    if (value != NULL && strcmp(words[i], "--job") == 0) {
      parsed.job = value;
    } else if (value != NULL && strcmp(words[i], "--carrier") == 0) {
      parsed.carrier = value;
    } else if (value != NULL && strcmp(words[i], "--cores") == 0) {
      parsed.cores = value;
    } else if (value != NULL && strcmp(words[i], "--float") == 0) {
      parsed.has_soft_float = strcmp(value, "softfloat") == 0;
    } else if (value != NULL && strcmp(words[i], "--again") == 0) {
      parsed.again = atoi(value);
    } else if (value != NULL && strcmp(words[i], "--mpi") == 0 && parsed.library_count < most_libraries) {
      parsed.libraries[parsed.library_count++] = value;
    } else {
      parsed.job = NULL;
      break;
    }
  }
  if (parsed.job == NULL || parsed.library_count == 0) {
    fputs(usage, stderr);
    exit(exit_own_failure);
  }
  return parsed;
}

static int reads_first(void) {
  const char* const names[] = {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    const char* value = getenv(names[i]);
    if (value != NULL) return strcmp(value, "0") == 0;
  }
  return 1;
}

// After at most watch_ms. A word is said, and then the input is closed: not all launchers hand on its end.
static int is_told_to_end(struct pollfd* input) {
  input->revents = 0;
  return poll(input, 1, watch_ms) > 0 && input->revents != 0;
}

// Without the launcher's process no call of the MPI is certain to return, MPI_Finalize least of all.
static void* watch(void* unused) {
  (void)unused;
  struct pollfd input = {reads_first() ? STDIN_FILENO : -1, POLLIN, 0};
  while (getppid() == launcher) {
    if (!is_told_to_end(&input)) continue;
    __atomic_store_n(&must_end, 1, __ATOMIC_RELEASE);
    input.fd = -1;
    for (int waited = 0; waited < grace_ms && getppid() == launcher; waited += watch_ms)
      poll(NULL, 0, watch_ms);
    break;
  }
  _exit(exit_own_failure);
}

static void start_watch(void) {
  pthread_t thread;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  if (pthread_create(&thread, NULL, watch, NULL) != 0) fail("no thread can be made");
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_detach(thread);
}

// Before any thread is made, so that all of them run there.
static void bind_to(const char* cores) {
  const int error = unisono_bind_to_cores(cores);
  if (error == 0) return;
  char why[512];
  unisono_why_not_on_cores(cores, error, why, sizeof why);
  unisono_say("%s", why);
  unisono_end_job(exit_own_failure);
}

// Open MPI's components want its names to be global.
static void* load_mpi(const struct Arguments* arguments) {
  char problem[PATH_MAX + 512] = "";
  for (int i = 0; i < arguments->library_count; ++i) {
    void* mpi = dlopen(arguments->libraries[i], RTLD_NOW | RTLD_GLOBAL);
    if (mpi != NULL) return mpi;
    if (problem[0] == '\0') snprintf(problem, sizeof problem, "%s", dlerror());
  }
  fail(problem);
}

// Beside this program, where it is installed; in a build tree in ../lib.
static void* load_adapter(const char* family) {
  char own[PATH_MAX], path[PATH_MAX + 64], problem[PATH_MAX + 512];
  const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  if (length < 0) fail("/proc is not mounted");
  own[length] = '\0';
  *strrchr(own, '/') = '\0';
  const char* const folders[] = {"", "/../lib"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; ++i) {
    snprintf(path, sizeof path, "%s%s/libunisono-%s.so", own, folders[i], family);
    if (access(path, F_OK) == 0) break;
  }
  void* adapter = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (adapter != NULL) return adapter;
  snprintf(problem, sizeof problem, "%s", dlerror());
  fail(problem);
}

int main(int count, char** words) {
  const struct Arguments arguments = parse(count, words);
  launcher = getppid();
  if (arguments.cores != NULL) bind_to(arguments.cores);
  start_watch();
  void* mpi = load_mpi(&arguments);
  struct UnisonoMappedMpi mapped;
  if (unisono_find_mapped_mpis(&mapped, 1, usage) != 1 || mapped.family == unisono_unknown_family)
    fail("the MPI is of no ABI family that Unisono knows");
  void* adapter = load_adapter(unisono_family_name(mapped.family));
  UnisonoRunAgent* run = (UnisonoRunAgent*)dlsym(adapter, UNISONO_RUN_AGENT);
  if (run == NULL) fail("its adapter is of another version of Unisono");
  char problem[1024] = "";
  const struct UnisonoAgent agent = {UNISONO_VERSION,          arguments.job,   arguments.carrier,
                                     arguments.has_soft_float, arguments.again, &must_end};
  const int status = run(mpi, &agent, problem, sizeof problem);
  if (problem[0] != '\0') unisono_say("an agent has ended: %s", problem);
  return status;
}
