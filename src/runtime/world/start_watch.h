// SPDX-License-Identifier: BSD-3-Clause
// Looks after the set-up in MPI_Init, where each rank waits for all others. While nothing goes on it says for
// whom this rank waits, and it ends a job in which a rank will never come since it runs without Unisono.
#pragma once

#include <chrono>
#include <condition_variable>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace unisono::runtime {

class StartWatch {
 public:
  // How long nothing is said. A rank that is only slow is not worth a word at once; ranks of other hosts say
  // something later still.
  struct Patience {
    std::chrono::milliseconds first_look{2'000};
    std::chrono::milliseconds longest_pause{60'000};
    std::chrono::milliseconds first_words{8'000};
    std::chrono::milliseconds first_words_elsewhere{30'000};
  };

  // From here to the destructor. Needs no word from other ranks: they may never send one.
  StartWatch(int rank, int size);
  StartWatch(int rank, int size, const Patience& patience);
  ~StartWatch();
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

 private:
  void run();
  // Says what is to be said after so long. Ends the job where that is sure.
  void look(std::chrono::milliseconds waited);
  void end_job(const std::string& who_runs, const std::vector<int>& strangers, bool speaks);
  bool is_over_within(std::chrono::milliseconds time);

  const int rank_, size_;
  const Patience patience_;
  int looks_with_stranger_ = 0;  // in a row
  std::chrono::milliseconds next_words_;
  Mutex mutex_;
  bool is_over_ UNISONO_GUARDED_BY(mutex_) = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace unisono::runtime
