// SPDX-License-Identifier: BSD-3-Clause
// What serves the calls that are measured: the host MPI, Unisono as it decides itself, or one of its
// algorithms.
#pragma once

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "measured_operations.h"

enum { max_candidates = 4096 };

static int (*set_enabled)(int);
static int (*set_algorithm)(const char*);
static int (*decision_on)(const void*, const char*, long long, char*, size_t);

// An algorithm is named "bcast:chain".
static const char native[] = "native", own_choice[] = "";
static const char* candidates[max_candidates];
static int candidate_count;

static int decide(const char* operation, long long bytes, char* text, size_t text_bytes) {
  const MPI_Comm* on = is_of_neighbors(operation) ? &neighbors_comm : &comm;
  char name[64];
  snprintf(name, sizeof name, "%s%s", is_non_blocking ? "i" : "", operation);
  return decision_on == NULL ? -1 : decision_on(on, name, bytes, text, text_bytes);
}

static void enable(int is_enabled) {
  if (set_enabled != NULL) set_enabled(is_enabled);
}

// True where Unisono was told something else than before.
static int select_server(const char* server) {
  static const char* now = own_choice;
  if (server == native || server == now || set_algorithm == NULL) return 0;
  set_algorithm(server);
  now = server;
  return 1;
}

static void list_candidates(char* text) {
  candidate_count = 0;
  for (char* at = strtok(text, ";"); at != NULL && candidate_count < max_candidates; at = strtok(NULL, ";"))
    candidates[candidate_count++] = at;
}

// Of the library that is loaded, if one is.
static void find_servers(void) {
  set_enabled = (int (*)(int))dlsym(RTLD_DEFAULT, "unisono_set_enabled");
  set_algorithm = (int (*)(const char*))dlsym(RTLD_DEFAULT, "unisono_set_algorithm");
  decision_on =
      (int (*)(const void*, const char*, long long, char*, size_t))dlsym(RTLD_DEFAULT, "unisono_decision_on");
}
