// SPDX-License-Identifier: BSD-3-Clause
// Reproducible reductions (B5): the bits of float32 and float64 results are those of the one order, computed
// here once more, whatever algorithm, parameters, nodes and variant of the call.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "../case_turns.h"
#include "program.h"
#include "runtime/communicators/communicators.h"

namespace unisono::runtime::reproducible_test {
namespace {

// Exponents far apart: nearly every other order gives other bits.
template <typename T>
T value(int rank, std::size_t i) {
  const std::uint64_t mixed = (static_cast<std::uint64_t>(rank) * 7919 + i + 1) * 0x9E3779B97F4A7C15u;
  const int exponent = static_cast<int>(mixed >> 58) - 32;
  const double fraction = 1.0 + static_cast<double>(mixed >> 8 & 0xFFFFFFFFu) / 4294967296.0;
  return static_cast<T>(std::ldexp((mixed & 1) != 0 ? fraction : -fraction, exponent / 2));
}

// Pairs of neighbours first, as many as leave a power of two; then pairs of all that is left.
template <typename T>
T in_one_order(int ranks, std::size_t i) {
  std::array<T, 8> values{};
  for (int rank = 0; rank < ranks; ++rank) values.at(static_cast<std::size_t>(rank)) = value<T>(rank, i);
  auto left = static_cast<std::size_t>(ranks);
  std::size_t members = 1;
  while (2 * members <= left) members *= 2;
  for (std::size_t pairs = left - members; left > 1; pairs = left / 2) {
    for (std::size_t p = 0; p < pairs; ++p) values[p] = values[2 * p] + values[2 * p + 1];
    for (std::size_t k = 2 * pairs; k < left; ++k) values[k - pairs] = values[k];
    left -= pairs;
  }
  return values[0];
}
template <typename T>
T from_the_left(int ranks, std::size_t i) {
  T sum = value<T>(0, i);
  for (int rank = 1; rank < ranks; ++rank) sum = sum + value<T>(rank, i);
  return sum;
}

struct Case {
  Operation operation = Operation::allreduce;
  int size = 4;
  std::string nodes, algorithm;
  std::size_t count = 9;
  bool is_in_place = false;
  host::Hint hint = host::Hint::none;
  bool is_blocking = true;
};
std::string print(const Case& c) {
  return std::string(name(c.operation)) + ", " + std::to_string(c.size) + " ranks, nodes '" + c.nodes +
         "', algorithm '" + c.algorithm + "', count " + std::to_string(c.count) +
         (c.is_in_place ? ", in place" : "") + (c.is_blocking ? "" : ", non-blocking");
}

class ReproducibleTest : public ProgramTest {
 protected:
  // How many results of each case, of all ranks, differ from the one order; -1 where a call was not taken.
  // One job makes them all, with each type: what ranks, nodes, algorithm and hint are, the first case says.
  template <typename... T>
  std::vector<int> differences_of(const std::vector<Case>& cases) {
    const Case& c = cases.front();
    std::vector<std::atomic<int>> different(cases.size()), refused(cases.size());
    if (!c.nodes.empty()) options_.nodes = c.nodes;
    if (!c.algorithm.empty()) options_.algorithm = c.algorithm;
    FakeWorld world(c.size);
    world.run([&](FakeHost& host, int rank) {
      if (c.hint != host::Hint::none) host.set_reproducible_hint(host.world(), c.hint);
      Job job(host, options_);
      for (std::size_t i = 0; i < cases.size(); ++i) {
        for (int repeat = 0; repeat < 2; ++repeat) {
          const int root = (c.size - 1 + repeat) % c.size;
          ((refused[i] += run<T>(job, host, cases[i], rank, root, &different[i]) ? 0 : 1), ...);
        }
      }
      job.finish();
    });
    EXPECT_EQ(world.leftovers(), "") << print(c);
    std::vector<int> all;
    for (std::size_t i = 0; i < cases.size(); ++i) all.push_back(refused[i] > 0 ? -1 : different[i].load());
    return all;
  }

  int differences(const Case& c) { return differences_of<double>({c}).front(); }

 private:
  template <typename T>
  static bool run(Job& job, FakeHost& host, const Case& c, int rank, int root, std::atomic<int>* different) {
    const std::size_t n = c.count;
    const bool is_block = c.operation == Operation::reduce_scatter_block;
    const bool is_uneven = c.operation == Operation::reduce_scatter;
    const std::size_t vectors = is_block || is_uneven ? static_cast<std::size_t>(c.size) : 1;
    std::vector<T> in(n * vectors), out(n * vectors);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = value<T>(rank, i);
    const bool is_at_root = c.operation == Operation::reduce && rank != root;
    const auto type =
        fake_host::datatype(sizeof(T) == sizeof(float) ? ElementType::float32 : ElementType::float64);
    Call call{.operation = c.operation,
              .is_in_place = c.is_in_place && !is_at_root,
              .root = root,
              .comm = host.world(),
              .send_buffer = in.data(),
              .recv_buffer = out.data(),
              .send_count = n,
              .send_type = type,
              .op = fake_host::op(ReduceOp::sum)};
    const std::vector<int> counts(vectors, static_cast<int>(n));
    if (call.is_in_place) out = in, call.send_buffer = nullptr;
    if (is_uneven) {
      void* from = call.is_in_place ? out.data() : in.data();
      call.send_blocks = {.buffer = from, .counts = counts.data(), .type = type};
      call.recv_blocks = {.buffer = out.data(), .count = n, .type = type};
    }
    if (c.operation == Operation::exscan && rank == 0 && !call.is_in_place) call.recv_buffer = nullptr;
    int error = -1;
    const Outcome outcome = c.is_blocking ? job.collective(call, &error) : start_and_wait(job, call, &error);
    if (outcome != Outcome::done || error != host::success) return false;
    const bool has_result = !is_at_root && !(c.operation == Operation::exscan && rank == 0);
    const std::size_t first = is_block || is_uneven ? static_cast<std::size_t>(rank) * n : 0;
    for (std::size_t i = 0; i < n && has_result; ++i) {
      const T wanted = c.operation == Operation::scan     ? from_the_left<T>(rank + 1, i)
                       : c.operation == Operation::exscan ? from_the_left<T>(rank, i)
                                                          : in_one_order<T>(c.size, first + i);
      if (std::memcmp(&wanted, &out[i], sizeof wanted) != 0) ++*different;
    }
    return true;
  }
};

const std::vector<Operation> reductions{Operation::reduce,         Operation::allreduce,
                                        Operation::reduce_scatter, Operation::reduce_scatter_block,
                                        Operation::scan,           Operation::exscan};

std::vector<std::string> layouts_of(int size) {
  std::vector<std::string> layouts{"", std::to_string(size) + "x1"};
  if (size >= 4 && size % 2 == 0) {
    layouts.push_back(std::to_string(size / 2) + "x2");
    layouts.push_back("2x" + std::to_string(size / 2) + "/cyclic");
  }
  if (size >= 3) layouts.push_back(std::to_string(size - 2) + ",2");
  return layouts;
}

TEST_F(ReproducibleTest, TheRulesServeEveryReductionInTheOneOrder) {
  int jobs = 0;
  for (const Operation operation : reductions) {
    for (const int size : {2, 3, 5, 7, 8}) {
      for (const std::string& nodes : layouts_of(size)) {
        if (!case_turns().has(jobs++)) continue;
        options_ = quiet_options();
        options_.is_reproducible = true;
        std::vector<Case> cases;
        int number = 0;
        for (const std::size_t count : {1, 300, 20000}) {
          for (const bool is_in_place : {false, true}) {
            for (const bool is_blocking : {true, false}) {
              // Of the long ones another each time.
              if (count == 20000 && ++number % 4 != jobs % 4) continue;
              cases.push_back(
                  {operation, size, nodes, "", count, is_in_place, host::Hint::none, is_blocking});
            }
          }
        }
        const std::vector<int> different = differences_of<double, float>(cases);
        for (std::size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(different[i], 0) << print(cases[i]);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(ReproducibleTest, EveryAlgorithmThatMayGivesTheSameBits) {
  int runs = 0;
  for (const algorithms::Descriptor& d : algorithms::registry()) {
    if (!d.legality.keeps_one_order) continue;
    for (const int size : {4, 5, 8}) {
      for (const std::string& nodes : layouts_of(size)) {
        if (!case_turns().has(runs++)) continue;
        options_ = quiet_options();
        options_.is_reproducible = true;
        const bool has_segment = std::ranges::find(d.parameters, "segment",
                                                   &algorithms::ParameterSpec::name) != d.parameters.end();
        const Case c{
            d.operation, size,
            nodes,       std::string(name(d.operation)) + ":" + d.name + (has_segment ? "(segment=1K)" : ""),
            700,         runs % 2 == 0};
        EXPECT_EQ(differences(c), 0) << print(c);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(ReproducibleTest, OtherwiseTheBitsDiffer) {
  for (const Operation operation :
       {Operation::reduce, Operation::allreduce, Operation::reduce_scatter_block}) {
    const Case c{operation, 8, "", std::string(name(operation)) + ":shared", 300};
    EXPECT_GT(differences(c), 0) << print(c);
  }
}

TEST_F(ReproducibleTest, AnAlgorithmWithAnOrderOfItsOwnIsRefused) {
  options_.is_reproducible = true;
  for (const char* algorithm : {"allreduce:ring", "allreduce:native"}) {
    const Case c{Operation::allreduce, 8, "", algorithm, 3000};
    EXPECT_EQ(differences(c), 0) << print(c);
  }
}

TEST_F(ReproducibleTest, AHintOnTheCommunicatorIsEnough) {
  const Case c{Operation::allreduce, 8, "", "allreduce:shared", 300, false, host::Hint::yes};
  EXPECT_EQ(differences(c), 0);
}

TEST_F(ReproducibleTest, AHintOverridesTheOption) {
  options_.is_reproducible = true;
  const Case c{Operation::allreduce, 8, "", "allreduce:shared", 300, false, host::Hint::no};
  EXPECT_GT(differences(c), 0);
}

TEST_F(ReproducibleTest, ChangedHintsHoldFromTheNextCallOn) {
  std::atomic<int> equal{0};
  run_jobs(4, [&](Job& job, FakeHost& host, int rank) {
    const auto sum = [&](std::size_t i) {
      double in = value<double>(rank, i), out = 0;
      const Call call = sum_call(host.world(), &in, &out, 1);
      int error = -1;
      EXPECT_EQ(job.collective(call, &error), Outcome::done);
      return out;
    };
    // An element whose two orders differ.
    std::size_t i = 0;
    while (in_one_order<double>(4, i) == from_the_left<double>(4, i)) ++i;
    if (sum(i) == from_the_left<double>(4, i)) ++equal;
    host.set_reproducible_hint(host.world(), host::Hint::yes);
    job.parts().communicators.forget(host.world());
    if (sum(i) == in_one_order<double>(4, i)) ++equal;
  });
  EXPECT_EQ(equal, 8);
}

}  // namespace
}  // namespace unisono::runtime::reproducible_test
