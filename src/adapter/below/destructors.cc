// SPDX-License-Identifier: BSD-3-Clause
// Programs call MPI from their own exit handlers and destructors (mpi4py finalizes at exit). The adapter is
// loaded after the program has started, so its static objects would be destroyed before those run. Therefore
// none is: every registration of a destructor made by code in this library ends here. The memory goes with
// the process.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*) {
  return 0;
}
