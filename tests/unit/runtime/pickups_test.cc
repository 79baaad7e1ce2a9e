// SPDX-License-Identifier: BSD-3-Clause
// Calls by agents whose results whoever waits picks up, and what ends behind that.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "../agents/fake_agents.h"
#include "base/clock.h"
#include "program.h"
#include "runtime/call/pickup.h"

namespace unisono::runtime {
namespace {

class PickupsTest : public ReportedTest {
 protected:
  PickupsTest() : agents_(2) {
    options_.agents = "1";
    options_.agents_deadline = 20;
    options_.agents_job = agents_.job;
    options_.nodes = "2x1";
  }
  // A rank that loses its core there may find that the result has come before it returns. Nobody lets the
  // call go on behind it.
  static bool has_ended_at_its_start(const End& end) { return end.is_ended; }
  static bool is_picked_up_in_time(Pickup* pickup) {
    const double deadline_s = now_s() + 20;
    while (!pickup->pick_up()) {
      if (now_s() > deadline_s) return false;
      std::this_thread::yield();
    }
    return true;
  }

  agents::FakeAgents agents_;
  const fake_host::Options single_{.is_thread_multiple = false};
};

TEST_F(PickupsTest, what_was_picked_up_is_the_callers) {
  run_jobs(
      2,
      [](Job& job, FakeHost& host, int rank) {
        int picked_up = 0;
        for (int call = 0; call < 20; ++call) {
          const bool is_long = call % 2 == 1;
          std::vector<double> in(is_long ? 1000 : 4, rank + call), out(in.size());
          Pickup pickup;
          End end;
          Call sum = sum_call(host.world(), in.data(), out.data(), in.size());
          sum.pickup = &pickup;
          ASSERT_EQ(job.start(sum, end.completion()), Outcome::done);
          const bool has_ended = has_ended_at_its_start(end);
          if (!has_ended) {
            ASSERT_TRUE(is_picked_up_in_time(&pickup));
            EXPECT_FALSE(end.is_ended) << "nobody has let it go on";
            ++picked_up;
          }
          EXPECT_EQ(out, std::vector<double>(in.size(), 2 * call + 1));
          if (has_ended) continue;
          out.assign(out.size(), -1);
          end.wait(job);
          EXPECT_EQ(end.error, host::success);
          EXPECT_EQ(out, std::vector<double>(in.size(), -1));
          EXPECT_FALSE(pickup.pick_up());
        }
        EXPECT_EQ(job.parts().progress.under_way(), 0);
        EXPECT_GT(picked_up, 0);
      },
      single_);
}

// A call for which rank 1 comes late, and one that nobody waits for. Rank 0 waits for the first one, or
// comes for it a second after rank 1 had its result. Rank 1 picks nothing up: its result may be there before
// its start has returned.
class TimedPickupsTest : public PickupsTest {
 protected:
  static void wait_until(const std::atomic<bool>& is_so) {
    for (const double end_s = now_s() + 60; !is_so && now_s() < end_s;)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(is_so);
  }
  void be_first(Job& job, Call* sum, bool has_waited) {
    Pickup pickup;
    End end;
    sum->pickup = &pickup;
    const double begin_s = now_s();
    ASSERT_EQ(job.start(*sum, end.completion()), Outcome::done);
    if (has_waited) pickup.begin_wait();
    has_begun_ = true;
    if (!has_waited) {
      wait_until(is_over_);
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    EXPECT_TRUE(is_picked_up_in_time(&pickup));
    took_s_ = now_s() - begin_s;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    end.wait(job);
  }
  void be_late(Job& job, const Call& sum) {
    End end;
    wait_until(has_begun_);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(job.start(sum, end.completion()), Outcome::done);
    end.wait(job);
    is_over_ = true;
  }
  nlohmann::json timed(bool has_waited) {
    run_jobs(
        2,
        [this, has_waited](Job& job, FakeHost& host, int rank) {
          const double in = rank;
          double out = 0;
          Pickup other;
          End end;
          Call sum = sum_call(host.world(), &in, &out, 1);
          if (rank == 0) be_first(job, &sum, has_waited);
          if (rank == 1) be_late(job, sum);
          sum.pickup = rank == 0 ? &other : nullptr;
          ASSERT_EQ(job.start(sum, end.completion()), Outcome::done);
          end.wait(job);
        },
        single_);
    return report()["agents"]["timed"];
  }

  std::atomic<bool> has_begun_{false}, is_over_{false};
  double took_s_ = 0;  // until the result was picked up
};

TEST_F(TimedPickupsTest, what_was_waited_for_is_reported) {
  const auto found = timed(true);
  EXPECT_EQ(found["calls"], 1);
  EXPECT_GE(found["waited_s"], 0.25);
  EXPECT_LT(found["waited_s"], took_s_ + 0.25) << "not until it ended for the runtime";
  EXPECT_GE(found["under_way_s"], 0.25);
}

TEST_F(TimedPickupsTest, a_call_was_under_way_until_its_result_was_there) {
  const auto found = timed(false);
  EXPECT_EQ(found["calls"], 1);
  EXPECT_EQ(found["waited_s"], 0);
  EXPECT_GE(found["under_way_s"], 0.25);
  EXPECT_LT(found["under_way_s"], took_s_ - 0.5) << "not until it was picked up";
}

// Nobody knows when calls go on again. The time of this one is not that of the program behind it.
TEST_F(PickupsTest, a_call_has_ended_when_it_was_picked_up) {
  static constexpr auto later = std::chrono::milliseconds(500);
  run_jobs(
      2,
      [](Job& job, FakeHost& host, int rank) {
        const double in = rank;
        double out = 0;
        Pickup pickup;
        End end;
        Call sum = sum_call(host.world(), &in, &out, 1);
        sum.pickup = &pickup;
        const double begin_s = now_s();
        ASSERT_EQ(job.start(sum, end.completion()), Outcome::done);
        if (has_ended_at_its_start(end)) return;
        ASSERT_TRUE(is_picked_up_in_time(&pickup));
        const double took_s = now_s() - begin_s;
        std::this_thread::sleep_for(later);
        end.wait(job);
        EXPECT_LE(job.parts().started.under_way_s(), took_s + 0.001);
        EXPECT_GT(job.parts().started.under_way_s(), 0);
      },
      single_);
}

// Those who let calls go on and those who pick up meet at each of them: one of both has it, and has all of
// it.
TEST_F(PickupsTest, two_threads_do_not_both_end_it) {
  run_jobs(2, [](Job& job, FakeHost& host, int rank) {
    std::atomic<bool> is_over{false};
    std::thread other([&] {
      while (!is_over) job.make_progress();
    });
    int picked_up = 0;
    constexpr int calls = 300;
    for (int call = 0; call < calls; ++call) {
      std::vector<double> in(call % 2 == 0 ? 4 : 2000, rank + call), out(in.size());
      Pickup pickup;
      End end;
      Call sum = sum_call(host.world(), in.data(), out.data(), in.size());
      sum.pickup = &pickup;
      EXPECT_EQ(job.start(sum, end.completion()), Outcome::done);
      bool is_mine = false;
      while (!end.is_ended && !is_mine) is_mine = pickup.pick_up();
      EXPECT_EQ(out, std::vector<double>(in.size(), 2 * call + 1));
      if (is_mine) out.assign(out.size(), -1);
      while (!end.is_ended) std::this_thread::yield();
      EXPECT_EQ(pickup.is_picked_up(), is_mine);
      EXPECT_EQ(out[0], is_mine ? -1 : 2 * call + 1);
      picked_up += is_mine ? 1 : 0;
    }
    is_over = true;
    other.join();
    RecordProperty("picked_up", picked_up);
  });
}

// What is not the agents' is nobody's to pick up.
TEST_F(PickupsTest, other_calls_are_not_picked_up) {
  run_jobs(2, [](Job& job, FakeHost& host, int rank) {
    std::vector<std::int32_t> in(20'000, rank), out(in.size());
    Pickup pickup;
    End end;
    Call sum = sum_call(host.world(), in.data(), out.data(), in.size());
    sum.pickup = &pickup;
    ASSERT_EQ(job.start(sum, end.completion()), Outcome::done);
    EXPECT_FALSE(pickup.is_open()) << "too long";
    end.wait(job);
    EXPECT_EQ(out.back(), 1);
  });
}

}  // namespace
}  // namespace unisono::runtime
