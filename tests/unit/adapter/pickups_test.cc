// SPDX-License-Identifier: BSD-3-Clause
// Requests of calls whose results whoever waits picks up: what the program sees of them, over each real MPI.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "adapter/collectives/collectives.h"
#include "adapter/requests/pending.h"
#include "adapter/requests/requests.h"
#include "real_mpi.h"
#include "with_recording.h"

namespace unisono::adapter {
namespace {

using runtime::Outcome;
using runtime::Pickup;

class Pickups : public WithRecording {
 protected:
  void SetUp() override {
    WithRecording::SetUp();
    recording.outcome = Outcome::done;
    recording.has_calls_under_way = true;
    recording.while_called = [this] { post(); };
    recording.while_progressing = [this] { let_go_on(); };
  }
  void TearDown() override {
    for (Posted& posted : posted_) answer(&posted);
    let_go_on();
    EXPECT_EQ(std::ranges::count_if(posted_, [](const Posted& one) { return !one.is_over; }), 0);
    recording.reset();
  }

  // What an agent and the runtime do of a call.
  struct Posted {
    agents::Answer answer{};
    Pickup* pickup = nullptr;
    std::size_t number = 0;  // among the calls that the runtime was told of
    int* output = nullptr;
    bool is_over = false;
    int ended_with = MPI_SUCCESS;
  };
  void post() {
    const runtime::Call& call = recording.calls.back();
    Posted& posted = posted_.emplace_back();
    posted.pickup = call.pickup;
    posted.number = recording.calls.size() - 1;
    posted.output = static_cast<int*>(call.recv_buffer);
    if (posted.pickup != nullptr)
      posted.pickup->open(posted.answer, number_of(posted), posted.answer.data, posted.output, sizeof(int));
  }
  static std::uint64_t number_of(const Posted& posted) { return posted.number + 1; }
  static void answer(Posted* posted, int value = 7, int error = MPI_SUCCESS) {
    std::copy_n(reinterpret_cast<const char*>(&value), sizeof value, posted->answer.data);
    posted->answer.error = error;
    posted->answer.number.store(number_of(*posted), std::memory_order_release);
  }
  // As the engine ends a call, and the runtime behind it.
  void let_go_on() {
    for (Posted& posted : posted_) {
      if (posted.is_over || posted.answer.number != number_of(posted)) continue;
      posted.is_over = true;
      const bool is_picked_up =
          posted.pickup != nullptr && posted.pickup->close() == Pickup::State::picked_up;
      if (!is_picked_up && posted.answer.error == MPI_SUCCESS)
        *posted.output = *reinterpret_cast<const int*>(posted.answer.data);
      if (posted.pickup != nullptr) posted.pickup->end();
      const runtime::Completion& completion = recording.completions[posted.number];
      completion.call(completion.context, posted.answer.error);
    }
  }
  MPI_Request start(int* output) {
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(allreduce(in, output, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    EXPECT_NE(request, MPI_REQUEST_NULL);
    return request;
  }
  Posted& last() { return posted_.back(); }
  static bool is_of_nothing(const MPI_Status& status) {
    int count = -1, is_cancelled = 1;
    HOST(Get_count)(&status, MPI_BYTE, &count);
    HOST(Test_cancelled)(&status, &is_cancelled);
    return count == 0 && is_cancelled == 0;
  }

  std::deque<Posted> posted_;
  MPI_Status status{};
  int flag = 0;
};

TEST_F(Pickups, AWaitLooksAtNothingElse) {
  MPI_Request first = start(out);
  const MPI_Request handle = first;
  answer(&last());
  const int looks = recording.progress_count;
  EXPECT_EQ(wait(&first, &status), MPI_SUCCESS);
  EXPECT_EQ(recording.progress_count, looks);
  EXPECT_EQ(first, MPI_REQUEST_NULL);
  EXPECT_EQ(out[0], 7);
  EXPECT_TRUE(is_of_nothing(status));
  EXPECT_FALSE(last().is_over);
  // The program's memory is its own from now on.
  out[0] = 1;
  MPI_Request second = start(&out[1]);
  EXPECT_TRUE(posted_.front().is_over);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(second, handle) << "the host has never heard that it was over";
  answer(&last());
  EXPECT_EQ(test(&second, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(second, MPI_REQUEST_NULL);
  EXPECT_EQ(out[1], 7);
}

TEST_F(Pickups, WhatIsNotThereIsWaitedFor) {
  MPI_Request request = start(out);
  EXPECT_EQ(test(&request, &flag, &status), MPI_SUCCESS);
  EXPECT_EQ(flag, 0);
  const int looks = recording.progress_count;
  recording.while_progressing = [this, looks] {
    if (recording.progress_count == looks + 3) answer(&last());
  };
  EXPECT_EQ(wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(out[0], 7);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
}

// Then it is the host's request like any other, for all functions.
TEST_F(Pickups, SomebodyElseHasEndedIt) {
  for (int way = 0; way < 9; ++way) {
    std::array<MPI_Request, 2> requests{start(out), MPI_REQUEST_NULL};
    answer(&last());
    int index = -1, count = 0;
    std::array<int, 2> completed{};
    std::array<MPI_Status, 2> statuses{};
    int error = MPI_SUCCESS;
    flag = 1;
    switch (way) {
      case 0:
        let_go_on(), error = wait(&requests[0], &status);
        break;
      case 1:
        let_go_on(), error = test(&requests[0], &flag, &status);
        break;
      case 2:
        error = waitany(2, requests.data(), &index, &status);
        break;
      case 3:
        error = testany(2, requests.data(), &index, &flag, &status);
        break;
      case 4:
        error = waitsome(2, requests.data(), &count, completed.data(), statuses.data());
        break;
      case 5:
        error = testsome(2, requests.data(), &count, completed.data(), statuses.data());
        break;
      case 6:
        error = waitall(2, requests.data(), statuses.data());
        break;
      case 7:
        error = testall(2, requests.data(), &flag, statuses.data());
        break;
      default:
        error = request_get_status(requests[0], &flag, &status);
        EXPECT_EQ(out[0], 7);
        EXPECT_NE(requests[0], MPI_REQUEST_NULL);
        EXPECT_EQ(wait(&requests[0], &status), MPI_SUCCESS);
    }
    EXPECT_EQ(error, MPI_SUCCESS) << way;
    EXPECT_EQ(flag, 1) << way;
    EXPECT_EQ(requests[0], MPI_REQUEST_NULL) << way;
    EXPECT_EQ(out[0], 7) << way;
    if (way == 2 || way == 3) {
      EXPECT_EQ(index, 0) << way;
    }
    if (way == 4 || way == 5) {
      EXPECT_EQ(count, 1) << way;
    }
    out[0] = 0;
  }
}

int told = 0;
void take_note(MPI_Comm*, int* code, ...) {
  told = *code;
}

// By a handler of its own: Intel MPI's library of the standard ABI calls that of fatal errors where
// MPI_ERRORS_RETURN was set.
TEST_F(Pickups, AnErrorIsToldAsEver) {
  MPI_Errhandler before = MPI_ERRHANDLER_NULL, handler = MPI_ERRHANDLER_NULL;
  ASSERT_EQ(HOST(Comm_create_errhandler)(take_note, &handler), MPI_SUCCESS);
  pmpi.Comm_get_errhandler(MPI_COMM_WORLD, &before);
  pmpi.Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Request request = start(out);
  answer(&last(), 7, MPI_ERR_OTHER);
  EXPECT_EQ(wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
  EXPECT_EQ(told, MPI_ERR_OTHER);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_EQ(out[0], 0);
  pmpi.Comm_set_errhandler(MPI_COMM_WORLD, before);
  HOST(Errhandler_free)(&handler);
}

TEST_F(Pickups, FreedBeforeAndBehindItsEnd) {
  for (const bool has_ended : {false, true}) {
    MPI_Request request = start(out);
    if (has_ended) {
      answer(&last());
      let_go_on();
    }
    EXPECT_EQ(request_free(&request), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    answer(&last());
    let_go_on();
    EXPECT_EQ(out[0], 7);
    out[0] = 0;
  }
}

TEST_F(Pickups, MoreThanThereArePlaces) {
  for (int round = 0; round < 3; ++round) {
    constexpr int calls = 3 * runtime::pickup_places;
    std::vector<int> results(calls);
    std::vector<MPI_Request> requests;
    const std::size_t first = posted_.size();
    for (int& result : results) requests.push_back(start(&result));
    for (std::size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(std::ranges::count(requests, requests[i]), 1);
      answer(&posted_[first + i], static_cast<int>(i));
    }
    std::vector<MPI_Status> statuses(requests.size());
    EXPECT_EQ(waitall(calls, requests.data(), round == 0 ? MPI_STATUSES_IGNORE : statuses.data()),
              MPI_SUCCESS);
    for (int i = 0; i < calls; ++i) {
      EXPECT_EQ(results[static_cast<std::size_t>(i)], i);
      EXPECT_EQ(requests[static_cast<std::size_t>(i)], MPI_REQUEST_NULL);
      if (round != 0) {
        EXPECT_TRUE(is_of_nothing(statuses[static_cast<std::size_t>(i)]));
        EXPECT_EQ(statuses[static_cast<std::size_t>(i)].MPI_ERROR, MPI_SUCCESS);
      }
    }
  }
}

// Among them messages of the host's own.
TEST_F(Pickups, ArraysOfBothKinds) {
  for (const bool is_test : {false, true}) {
    int message = 5, got = 0;
    std::array<MPI_Request, 3> requests{};
    ASSERT_EQ(pmpi.Irecv(&got, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &requests[0]), MPI_SUCCESS);
    requests[1] = start(out);
    ASSERT_EQ(pmpi.Isend(&message, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &requests[2]), MPI_SUCCESS);
    answer(&last());
    std::array<MPI_Status, 3> statuses{};
    flag = is_test ? 0 : 1;
    while (is_test && flag == 0) ASSERT_EQ(testall(3, requests.data(), &flag, statuses.data()), MPI_SUCCESS);
    if (!is_test) {
      ASSERT_EQ(waitall(3, requests.data(), statuses.data()), MPI_SUCCESS);
    }
    EXPECT_EQ(got, 5);
    EXPECT_EQ(out[0], 7);
    EXPECT_EQ(statuses[0].MPI_TAG, 9);
    EXPECT_TRUE(is_of_nothing(statuses[1]));
    for (const MPI_Request request : requests) EXPECT_EQ(request, MPI_REQUEST_NULL);
  }
}

TEST_F(Pickups, KeptRequestsEnd) {
  MPI_Request request = start(out);
  answer(&last());
  EXPECT_EQ(wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  let_go_on();
  end_kept_requests();
  end_kept_requests();
  request = start(out);
  answer(&last());
  EXPECT_EQ(wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

}  // namespace
}  // namespace unisono::adapter
