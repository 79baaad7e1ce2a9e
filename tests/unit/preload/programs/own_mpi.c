// SPDX-License-Identifier: BSD-3-Clause
// A program with an MPI linked in, as far as its symbols tell.
int PMPI_Init(int* count, char*** arguments);

int PMPI_Init(int* count, char*** arguments) {
  (void)count;
  (void)arguments;
  return 0;
}

int main(int count, char** arguments) {
  return PMPI_Init(&count, &arguments);
}
