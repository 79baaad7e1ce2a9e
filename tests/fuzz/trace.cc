// SPDX-License-Identifier: BSD-3-Clause
// What readers call at every branch in a build for fuzzing: nothing, but in the program fuzz.
extern "C" __attribute__((weak)) void __sanitizer_cov_trace_pc() {}
