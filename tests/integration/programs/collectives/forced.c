// SPDX-License-Identifier: BSD-3-Clause
// Which algorithms Unisono is told to run, and which operations are tested then: those whose algorithm is
// said.
#include <stdio.h>
#include <string.h>

#include "check.h"

// Only where the program runs under Unisono.
#ifdef __cplusplus
extern "C"
#endif
    int
    unisono_set_algorithm(const char* text);
#pragma weak unisono_set_algorithm

static const char* forced_text = "";

// Is there an entry "operation:..." in the text? Parameters of algorithms hold no colon.
static int is_named(const char* operation) {
  const size_t length = strlen(operation);
  for (const char* at = strstr(forced_text, operation); at != NULL; at = strstr(at + 1, operation)) {
    if ((at == forced_text || at[-1] == ',') && at[length] == ':') return 1;
  }
  return 0;
}

int is_tested(Operation operation) {
  return forced_text[0] == 0 || is_named(operation_names[operation]);
}

const char* forced_algorithms(void) {
  return forced_text;
}

void force(const char* text) {
  forced_text = text;
  if (unisono_set_algorithm == NULL || unisono_set_algorithm(text) != 0) {
    fprintf(stderr, "rank %d: cannot be told to run %s\n", world_rank, text);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}
