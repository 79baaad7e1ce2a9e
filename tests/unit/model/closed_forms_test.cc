// SPDX-License-Identifier: BSD-3-Clause
// Where there is a closed form, the run in virtual time comes to the same.
#include "closed_forms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "machines.h"
#include "model/fnomial.h"
#include "model/predict.h"

namespace unisono::model {
namespace {

using algorithms::Parameters;

constexpr MessageModel all_models[] = {MessageModel::hockney, MessageModel::logp, MessageModel::loggp,
                                       MessageModel::plogp};

struct Form {
  Operation operation;
  const char* algorithm;
  Parameters parameters;
};

double in_virtual_time(const Form& form, int ranks, std::int64_t bytes, MessageModel model) {
  const auto* algorithm = algorithms::find(form.operation, form.algorithm);
  const schedule::Problem problem = problem_on(form.operation, std::to_string(ranks) + "x1");
  const auto us = predict_us(*algorithm, with_standards(*algorithm, form.parameters), problem, bytes,
                             messages_alone(), {.model = model});
  EXPECT_TRUE(us) << form.algorithm << " on " << ranks;
  return us.value_or(-1);
}

// `closed(forms, segment bytes, segments)` for messages of so many segments.
void expect_equal(const Form& form, bool needs_power_of_two, bool has_segments,
                  const std::function<double(const ClosedForms&, std::int64_t, int)>& closed) {
  const Machine machine = messages_alone();
  for (const MessageModel model : all_models) {
    for (const int ranks : {2, 3, 4, 5, 7, 8, 16, 31, 33, 64}) {
      if (needs_power_of_two && (ranks & (ranks - 1)) != 0) continue;
      for (const std::int64_t bytes : {8, 1000, 64000}) {
        for (const int segments : {1, 2, 3, 16}) {
          if (segments > 1 && !has_segments) continue;
          Form cut = form;
          if (segments > 1) cut.parameters.set("segment", bytes);
          const ClosedForms forms(machine.network, model, ranks);
          const double expected = closed(forms, bytes, segments);
          EXPECT_NEAR(in_virtual_time(cut, ranks, bytes * segments, model), expected, 1e-9 * expected)
              << form.algorithm << ", " << name(model) << ", " << ranks << " ranks, " << segments << " of "
              << bytes;
        }
      }
    }
  }
}

TEST(ClosedForms, FlatBroadcast) {
  expect_equal({Operation::bcast, "flat", {}}, false, true,
               [](const ClosedForms& f, std::int64_t bytes, int k) { return f.flat_bcast_us(bytes, k); });
}
TEST(ClosedForms, ChainBroadcast) {
  expect_equal({Operation::bcast, "chain", parameters({{"segment", 0}})}, false, true,
               [](const ClosedForms& f, std::int64_t bytes, int k) { return f.chain_bcast_us(bytes, k); });
}
TEST(ClosedForms, BinomialBroadcast) {
  expect_equal({Operation::bcast, "binomial", {}}, false, false,
               [](const ClosedForms& f, std::int64_t bytes, int) { return f.binomial_bcast_us(bytes); });
}
// One piece at a time to each child in turn, as the form has it.
TEST(ClosedForms, BinaryBroadcast) {
  expect_equal({Operation::bcast, "binary", parameters({{"segment", 0}, {"window", 1}})}, false, true,
               [](const ClosedForms& f, std::int64_t bytes, int k) { return f.binary_bcast_us(bytes, k); });
}
TEST(ClosedForms, RingAllgather) {
  expect_equal({Operation::allgather, "ring", parameters({{"segment", 0}})}, false, false,
               [](const ClosedForms& f, std::int64_t bytes, int) { return f.ring_allgather_us(bytes); });
}
TEST(ClosedForms, DoublingAllgather) {
  expect_equal({Operation::allgather, "recursive_doubling", {}}, true, false,
               [](const ClosedForms& f, std::int64_t bytes, int) { return f.doubling_allgather_us(bytes); });
}
TEST(ClosedForms, PairwiseAlltoall) {
  expect_equal({Operation::alltoall, "pairwise", parameters({{"segment", 0}, {"rounds", 1}})}, false, false,
               [](const ClosedForms& f, std::int64_t bytes, int) { return f.pairwise_alltoall_us(bytes); });
}
TEST(ClosedForms, DoublingAllreduce) {
  expect_equal(
      {Operation::allreduce, "recursive_doubling", {}}, true, false,
      [](const ClosedForms& f, std::int64_t bytes, int) { return f.doubling_allreduce_us(bytes, 0); });
}
TEST(ClosedForms, RingAllreduce) {
  const Machine machine = messages_alone();
  for (const MessageModel model : all_models) {
    for (const int ranks : {2, 3, 8, 17}) {
      const std::int64_t bytes = 8 * ranks * 100;
      const double expected = ClosedForms(machine.network, model, ranks).ring_allreduce_us(bytes, 0);
      const Form form{Operation::allreduce, "ring", parameters({{"segment", 0}})};
      EXPECT_NEAR(in_virtual_time(form, ranks, bytes, model), expected, 1e-9 * expected) << ranks;
    }
  }
}

// The sum of two phases is near: ranks that have their parts early go on, and find links taken.
TEST(ClosedForms, ScatterAndAllgather) {
  const Machine machine = messages_alone();
  for (const MessageModel model : all_models) {
    for (const int ranks : {2, 4, 8, 32}) {
      const std::int64_t bytes = 1024 * ranks;
      const ClosedForms forms(machine.network, model, ranks);
      const double ring =
          in_virtual_time({Operation::bcast, "scatter_ring_allgather", {}}, ranks, bytes, model);
      EXPECT_NEAR(ring / forms.scatter_ring_allgather_us(bytes), 1, 0.25) << name(model) << ranks;
      const double pairs =
          in_virtual_time({Operation::bcast, "scatter_rd_allgather", {}}, ranks, bytes, model);
      EXPECT_NEAR(pairs / forms.scatter_doubling_allgather_us(bytes), 1, 0.25) << name(model) << ranks;
    }
  }
}

// N6, by hand, with C = 1, L = 4, r + c = 2; figure 4.4: 16 ranks, degree 3: two full phases, and one more
// child.
TEST(ClosedForms, FNomialReduction) {
  const FNomial model{.constant_us = 1, .latency_us = 4, .receive_us = 1.5, .combine_us = 0.5};
  EXPECT_DOUBLE_EQ(model.serial_us(5), 1 + 4 + 4 * 2);
  EXPECT_DOUBLE_EQ(model.reduce_us(16, 3), 1 + 3 * 4 + (2 * 2 + 1) * 2);
  EXPECT_DOUBLE_EQ(model.reduce_us(16, 2), 1 + 4 * 4 + 4 * 2);
  EXPECT_DOUBLE_EQ(model.reduce_us(16, 16), model.serial_us(16));
  for (const int ranks : {2, 7, 16, 100}) {
    for (int degree = 2; degree <= ranks; ++degree) {
      EXPECT_LE(model.reduce_us(ranks, model.best_degree(ranks)), model.reduce_us(ranks, degree));
    }
  }
  const double degree = model.best_degree_of_full_trees();
  EXPECT_NEAR(degree * (std::log(degree) - 1), 4.0 / 2 - 1, 1e-9);
}

// Section 4.2.1 with the network card's L and r of table 4.2, and its c of table 4.3. The work is none, an
// integer sum, a maximum of doubles, and sums of 1, 2, 4 and 8 doubles.
TEST(ClosedForms, BestDegreeOfFullTreesOfTheCard) {
  constexpr std::pair<double, double> cases[] = {{0, 5.57},    {0.25, 4.41}, {0.67, 3.53}, {1.50, 2.81},
                                                 {2.95, 2.31}, {5.80, 1.93}, {11.56, 1.65}};
  for (const auto& [combine_us, degree] : cases) {
    const FNomial card{.constant_us = 9.2, .latency_us = 2.1, .receive_us = 0.42, .combine_us = combine_us};
    EXPECT_NEAR(card.best_degree_of_full_trees(), degree, 0.01) << combine_us;
  }
}

// In virtual time, full trees: L is what a single message takes beyond the interval of several.
TEST(ClosedForms, FNomialReductionInVirtualTime) {
  const Machine machine = messages_alone();
  for (const MessageModel model : all_models) {
    for (const auto& [ranks, degree] : {std::pair{16, 2}, {27, 3}, {16, 4}, {64, 4}}) {
      const ClosedForms forms(machine.network, model, ranks);
      const double interval = forms.interval_us(1000);
      const FNomial tree{.latency_us = forms.whole_us(1000) - interval, .receive_us = interval};
      const Form form{Operation::reduce, "k_nomial", parameters({{"degree", degree}})};
      const double expected = tree.reduce_us(ranks, degree);
      EXPECT_NEAR(in_virtual_time(form, ranks, 1000, model), expected, 1e-9 * expected)
          << name(model) << ranks << ", " << degree;
    }
  }
}

}  // namespace
}  // namespace unisono::model
