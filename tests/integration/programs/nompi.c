// SPDX-License-Identifier: BSD-3-Clause
// A program that knows no MPI. Its output, status and signals are to be as without Unisono.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argument_count, char** arguments) {
  if (argument_count == 3 && strcmp(arguments[1], "signal") == 0) {
    raise(atoi(arguments[2]));
  }
  printf("no MPI here, %d arguments\n", argument_count - 1);
  return argument_count == 3 && strcmp(arguments[1], "exit") == 0 ? atoi(arguments[2]) : 0;
}
