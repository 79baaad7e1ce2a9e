// SPDX-License-Identifier: BSD-3-Clause
// Conformance program for the collectives: calls MPI_X in every way that MPI allows and checks each result.
//     collectives [--seed N] [--steps N] [--force ALGORITHMS] [section]...        no section: all of them
// What stands behind --force runs with these algorithms (the syntax of Unisono's option 'algorithm'). Prints
// "OK <checks> checks" on rank 0. Otherwise it says what was wrong and ends with a status that is not zero.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

enum { failures_before_abort = 5, report_tag = 77 };

int world_rank, world_size;
const char* section_name = "start";
uint32_t random_seed = 1;
int random_steps = 200;
static long checks;
static long failures;

void check_passed(void) {
  ++checks;
}

void check_failed(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fprintf(stderr, "rank %d of %d: section %s: %s\n", world_rank, world_size, section_name, text);
  if (forced_algorithms()[0] != 0) fprintf(stderr, "  forced: %s\n", forced_algorithms());
  fflush(stderr);
  if (++failures >= failures_before_abort) MPI_Abort(MPI_COMM_WORLD, 3);
}

void return_errors(int is_wanted) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, is_wanted ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, is_wanted ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL);
}

uint32_t hash(uint32_t seed, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t x = seed * 2654435761u + a * 2246822519u + b * 3266489917u + c * 668265263u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  x *= 3266489917u;
  return x ^ (x >> 16);
}

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct {
  const char* name;
  void (*run)(void);
} Section;

static const Section sections[] = {
    {"barrier", section_barrier},
    {"counts", section_counts},
    {"roots", section_roots},
    {"in_place", section_in_place},
    {"empty_blocks", section_empty_blocks},
    {"derived", section_derived},
    {"absolute", section_absolute},
    {"large_counts", section_large_counts},
    {"predefined", section_predefined},
    {"types", section_types},
    {"pairs", section_pairs},
    {"user_operators", section_user_operators},
    {"communicators", section_communicators},
    {"intercommunicator", section_intercommunicator},
    {"many_communicators", section_many_communicators},
    {"messages", section_messages},
    {"errors", section_errors},
    {"random", section_random},
};
enum { section_count = sizeof sections / sizeof sections[0] };

static void run_section(const Section* section) {
  const double begin = seconds_now();
  section_name = section->name;
  section->run();
  if (world_rank == 0 && getenv("COLLECTIVES_TIMES") != NULL) {
    printf("%-20s %8.3f s\n", section->name, seconds_now() - begin);
    fflush(stdout);
  }
}

static void run_selected(int argument_count, char** arguments) {
  int selected = 0;
  for (int i = 1; i < argument_count; ++i) {
    if (strcmp(arguments[i], "--seed") == 0 && i + 1 < argument_count) {
      random_seed = (uint32_t)strtoul(arguments[++i], NULL, 10);
    } else if (strcmp(arguments[i], "--steps") == 0 && i + 1 < argument_count) {
      random_steps = atoi(arguments[++i]);
    } else if (strcmp(arguments[i], "--force") == 0 && i + 1 < argument_count) {
      force(arguments[++i]);
    } else {
      int s = 0;
      while (s < section_count && strcmp(sections[s].name, arguments[i]) != 0) ++s;
      if (s == section_count) {
        fprintf(stderr, "no section %s\n", arguments[i]);
        MPI_Abort(MPI_COMM_WORLD, 2);
      }
      run_section(&sections[s]);
      ++selected;
    }
  }
  if (selected > 0) return;
  for (int s = 0; s < section_count; ++s) run_section(&sections[s]);
}

// By messages alone: the collectives are what is being tested.
static void add_up(long* totals) {
  long own[2] = {checks, failures};
  if (world_rank != 0) {
    MPI_Send(own, 2, MPI_LONG, 0, report_tag, MPI_COMM_WORLD);
    return;
  }
  totals[0] = own[0];
  totals[1] = own[1];
  for (int source = 1; source < world_size; ++source) {
    MPI_Recv(own, 2, MPI_LONG, source, report_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    totals[0] += own[0];
    totals[1] += own[1];
  }
}

int main(int argument_count, char** arguments) {
  long totals[2] = {0, 0};
  MPI_Init(&argument_count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  make_shapes();
  run_selected(argument_count, arguments);
  free_shapes();
  section_name = "end";
  add_up(totals);
  if (world_rank == 0) {
    if (totals[1] == 0) printf("OK %ld checks\n", totals[0]);
    if (totals[1] != 0) printf("FAILED %ld of %ld checks\n", totals[1], totals[0] + totals[1]);
    fflush(stdout);
  }
  MPI_Finalize();
  return failures != 0 || totals[1] != 0;
}
