// SPDX-License-Identifier: BSD-3-Clause
// What rank 0 reads from its standard input, and answers (option --serve).
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "message_costs.h"
#include "noise_looks.h"

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
  if (strcmp(words[0], "noise") == 0) return answer_noise(atof(words[3]));
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
