// SPDX-License-Identifier: BSD-3-Clause
#include "threads.h"

#include <atomic>
#include <barrier>
#include <thread>

namespace matmul {
namespace {

// Runs `part(number)` in as many threads, the calling one among them.
template <typename Part>
void in_threads(int count, Part part) {
  std::vector<std::jthread> others;
  for (int number = 1; number < count; ++number) others.emplace_back(part, number);
  part(0);
}

// Where share `number` of `total` rows begins.
int begin(int total, int number, int shares) {
  return static_cast<int>(static_cast<long>(total) * number / shares);
}

View rows_of(View whole, int number, int shares) {
  const int first = begin(whole.rows, number, shares);
  return whole.part(first, 0, begin(whole.rows, number + 1, shares) - first, whole.columns);
}

View columns_of(View whole, int number, int shares) {
  const int first = begin(whole.columns, number, shares);
  return whole.part(0, first, whole.rows, begin(whole.columns, number + 1, shares) - first);
}

// Each thread has a strip of A, and reads all of B.
void overlapping(View c, View a, View b, const Work& work) {
  in_threads(work.threads, [&](int own) {
    work.multiply(rows_of(c, own, work.threads), rows_of(a, own, work.threads), b, work.side);
  });
}

// B is cut as well: in each stage every thread has another part of it.
void non_overlapping(View c, View a, View b, const Work& work) {
  std::barrier stage(work.threads);
  in_threads(work.threads, [&](int own) {
    for (int number = 0; number < work.threads; ++number) {
      const int other = (own + number) % work.threads;
      work.multiply(columns_of(rows_of(c, own, work.threads), other, work.threads),
                    rows_of(a, own, work.threads), columns_of(b, other, work.threads), work.side);
      stage.arrive_and_wait();
    }
  });
}

// Square blocks of all matrices. A block of C is one thread's, with all that goes into it, so that nothing
// has to be locked.
int shared_side(View c, const Work& work) {
  const int most = std::max(c.rows, c.columns) / (2 * work.threads);
  return std::max(work.side, most);
}

void blocking(View c, View a, View b, const Work& work) {
  const int side = shared_side(c, work);
  const int across = (c.columns + side - 1) / side;
  const int count = across * ((c.rows + side - 1) / side);
  std::atomic<int> next = 0;
  in_threads(work.threads, [&](int) {
    for (int number = next++; number < count; number = next++) {
      const int i = number / across * side, j = number % across * side;
      for (int k = 0; k < a.columns; k += side) {
        work.multiply(c.part(i, j, side, side), a.part(i, k, side, side), b.part(k, j, side, side),
                      work.side);
      }
    }
  });
}

// The same on copies in which each block lies in one piece; the threads share the copying.
void transform_blocking(View c, View a, View b, const Work& work) {
  const int side = shared_side(c, work);
  Blocks of_c(c, side), of_a(a, side), of_b(b, side);
  std::barrier step(work.threads);
  std::atomic<int> next = 0;
  in_threads(work.threads, [&](int own) {
    for (int i = own; i < of_c.down(); i += work.threads) of_c.take_row(c, i);
    for (int i = own; i < of_a.down(); i += work.threads) of_a.take_row(a, i);
    for (int i = own; i < of_b.down(); i += work.threads) of_b.take_row(b, i);
    step.arrive_and_wait();
    for (int number = next++; number < of_c.across() * of_c.down(); number = next++) {
      const int i = number / of_c.across(), j = number % of_c.across();
      for (int k = 0; k < of_a.across(); ++k) {
        work.multiply(of_c.block(i, j), of_a.block(i, k), of_b.block(k, j), work.side);
      }
    }
    step.arrive_and_wait();
    for (int i = own; i < of_c.down(); i += work.threads) of_c.give_row(c, i);
  });
}

}  // namespace

const std::vector<NamedThreadAlgorithm>& thread_algorithms() {
  static const std::vector<NamedThreadAlgorithm> all = {
      {"overlapping", overlapping, "a strip of A for each thread, all of B"},
      {"non-overlapping", non_overlapping, "B cut as well, another part of it in each stage"},
      {"blocking", blocking, "square blocks of all three matrices"},
      {"transform-blocking", transform_blocking, "the same on copies in which each block is one piece"},
  };
  return all;
}

}  // namespace matmul
