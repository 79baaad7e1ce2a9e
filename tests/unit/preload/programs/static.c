// SPDX-License-Identifier: BSD-3-Clause
// A program that no dynamic loader starts.
#include <stdio.h>

int main(void) {
  puts("static program ran");
  return 0;
}
