// SPDX-License-Identifier: BSD-3-Clause
#include "proof/check_algorithm.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "proof/check_cases.h"
#include "proof/check_parts.h"

namespace unisono::proof {
namespace {

// One piece of work for a thread.
struct Item {
  std::string operation, algorithm;
  std::function<Outcome()> run;
};

class Runner {
 public:
  Runner(std::vector<Item> items, const CheckOptions& options)
      : items_(std::move(items)), options_(options) {}

  void run(CheckResult* result) {
    const int wanted = options_.threads > 0
                           ? options_.threads
                           : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    std::vector<std::thread> threads;
    for (int i = 1; i < wanted; ++i) threads.emplace_back([&] { work(result); });
    work(result);
    for (std::thread& thread : threads) thread.join();
  }

 private:
  void work(CheckResult* result) {
    while (true) {
      const std::size_t index = next_++;
      if (index >= items_.size()) return;
      Outcome outcome = items_[index].run();
      const LockGuard lock(mutex_);
      result->cases += outcome.cases;
      std::move(outcome.failures.begin(), outcome.failures.end(), std::back_inserter(result->failures));
      ++done_;
      if (options_.progress) {
        options_.progress({done_, static_cast<std::int64_t>(items_.size()), result->cases,
                           static_cast<std::int64_t>(result->failures.size()), items_[index].operation,
                           items_[index].algorithm});
      }
    }
  }

  std::vector<Item> items_;
  const CheckOptions& options_;
  std::atomic<std::size_t> next_ = 0;
  Mutex mutex_;
  std::int64_t done_ UNISONO_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::vector<int> standard_check_ranks() {
  std::vector<int> ranks;
  for (int size = 1; size <= 33; ++size) ranks.push_back(size);
  ranks.insert(ranks.end(), {64, 100, 127, 128});
  return ranks;
}

CheckResult check(const std::vector<const algorithms::Descriptor*>& descriptors,
                  const CheckOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<int> sizes = options.ranks.empty() ? standard_check_ranks() : options.ranks;
  // The largest first, so that no thread is left with one at the end.
  std::sort(sizes.rbegin(), sizes.rend());
  std::vector<Item> items;
  int turn = 0;
  for (const int size : sizes) {
    int place = turn++;
    const auto is_taken = [&] { return place++ % options.shares == options.share; };
    for (const algorithms::Descriptor* descriptor : descriptors) {
      if (!is_taken()) continue;
      items.push_back({std::string(name(descriptor->operation)), descriptor->name,
                       [=, &options] { return check_size(*descriptor, size, options); }});
    }
    if (size < 2 || size > 6) continue;
    for (const NamedLayout& layout : check_layouts(size)) {
      if (!is_taken()) continue;
      items.push_back({"all", "one after another",
                       [=, &options] { return check_sequences(descriptors, layout, options); }});
    }
  }
  CheckResult result;
  result.algorithms = static_cast<int>(descriptors.size());
  Runner(std::move(items), options).run(&result);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

CheckResult check(const algorithms::Descriptor& descriptor, const CheckOptions& options) {
  return check(std::vector<const algorithms::Descriptor*>{&descriptor}, options);
}

}  // namespace unisono::proof
