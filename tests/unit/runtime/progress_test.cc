// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/progress.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace unisono::runtime::progress_test {
namespace {

// Goes on in so many steps, and says that it has ended in the last one.
class Steps : public Progress::Source {
 public:
  Steps(Progress& progress, int steps) : progress_(progress), left_(steps) {
    progress.join(*this);
    progress.add();
  }

  bool advance() override {
    if (left_ == 0) return false;
    comes_back_ = progress_.make() || comes_back_;
    --left_;
    if (left_ != 0) return false;
    progress_.leave_to_program();
    progress_.remove(1);
    return true;
  }
  bool advance_aside() override {
    ++asked_aside;
    return false;
  }

  int left() const { return left_; }
  bool comes_back() const { return comes_back_; }
  std::atomic<int> asked_aside{0};

 private:
  Progress& progress_;
  int left_;
  bool comes_back_ = false;
};

TEST(Progress, AllThatHaveJoinedGoOn) {
  Progress progress;
  EXPECT_FALSE(progress.make());
  Steps one(progress, 2), other(progress, 3);
  EXPECT_EQ(progress.under_way(), 2);
  EXPECT_FALSE(progress.make());
  EXPECT_EQ(one.left(), 1);
  EXPECT_EQ(other.left(), 2);
  EXPECT_TRUE(progress.make());
  EXPECT_EQ(progress.under_way(), 1);
  EXPECT_TRUE(progress.make());
  EXPECT_EQ(progress.under_way(), 0);
  EXPECT_FALSE(progress.make());
}

TEST(Progress, WhoComesBackFindsNothingToDo) {
  Progress progress;
  Steps steps(progress, 3);
  while (progress.under_way() != 0) progress.make();
  EXPECT_EQ(steps.left(), 0);
  EXPECT_FALSE(steps.comes_back());
}

TEST(Progress, TheThreadAsksAsLongAsSomethingNeedsIt) {
  Progress progress;
  progress.start_thread();
  ASSERT_TRUE(progress.has_thread());
  Steps steps(progress, 1);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (steps.asked_aside == 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GT(steps.asked_aside, 0);
  EXPECT_TRUE(progress.make());
  progress.stop();
  EXPECT_TRUE(progress.has_thread()) << "ranks that decide by it may stop at different calls";
}

TEST(Progress, TheThreadMayBeForOneSource) {
  Progress progress;
  Steps one(progress, 1), other(progress, 1);
  progress.start_thread_for(&other);
  EXPECT_FALSE(progress.has_thread());
  progress.add();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (other.asked_aside < 3 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(other.asked_aside, 3);
  EXPECT_EQ(one.asked_aside, 0);
  progress.stop();
}

}  // namespace
}  // namespace unisono::runtime::progress_test
