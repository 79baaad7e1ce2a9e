// SPDX-License-Identifier: BSD-3-Clause
// A write of ours must not end the program. Where a limit for files is reached (ulimit -f), or nobody reads a
// pipe any more, the kernel would send a signal. Signal handlers may use what is here.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace unisono {

// SIGXFSZ and SIGPIPE of this thread's writes do not come, from its beginning to its end. errno stays.
class WithoutWriteSignals {
 public:
  WithoutWriteSignals() {
    const int error = errno;
    ::sigemptyset(&ours_);
    ::sigaddset(&ours_, SIGXFSZ);
    ::sigaddset(&ours_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    // One that came before, and waits since the program has it blocked, is the program's.
    for (const int number : {SIGXFSZ, SIGPIPE}) {
      if (::sigismember(&pending, number) == 1) ::sigdelset(&ours_, number);
    }
    ::pthread_sigmask(SIG_BLOCK, &ours_, &before_);
    errno = error;
  }
  ~WithoutWriteSignals() {
    const int error = errno;
    const timespec at_once{};
    while (::sigtimedwait(&ours_, nullptr, &at_once) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  WithoutWriteSignals(const WithoutWriteSignals&) = delete;

 private:
  sigset_t ours_, before_;
};

}  // namespace unisono
