// SPDX-License-Identifier: BSD-3-Clause
// The program's signal handlers are for its own threads.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace unisono {

// Threads that begin while this lives take no signals, but for those of what they do themselves. Where such a
// signal is blocked the kernel ends the process, whatever handler there is.
class WithoutProgramSignals {
 public:
  WithoutProgramSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutProgramSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutProgramSignals(const WithoutProgramSignals&) = delete;
  WithoutProgramSignals& operator=(const WithoutProgramSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace unisono
