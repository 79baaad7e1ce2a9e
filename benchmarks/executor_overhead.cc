// SPDX-License-Identifier: BSD-3-Clause
// What the executor costs beyond the host's calls. The same steps run as a schedule, and written by hand on
// the host interface. One rank of the fake host sends to itself, so that nothing but the code is measured.
// Pieces go over a host that does nothing at all (instant_host.h), since the fake host's tests take longer
// the more messages are under way. The column items_per_second counts steps. Compare the column CPU where
// other programs run.
//
//   cmake --build build/release --target executor_overhead && build/release/benchmarks/executor_overhead
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "fake_host/fake_host.h"
#include "instant_host.h"
#include "schedule/executor.h"
#include "shm/slice/slice.h"

namespace unisono::schedule {
namespace {

using fake_host::FakeHost;
using fake_host::FakeWorld;

void add(const void*, void* into, const void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    static_cast<double*>(into)[i] =
        static_cast<const double*>(left)[i] + static_cast<const double*>(right)[i];
  }
}

const shm::Combine sum{.call = add, .element_bytes = sizeof(double)};
constexpr int steps_per_exchange = 3;

Problem one_rank() {
  return {.operation = Operation::allreduce,
          .size = 1,
          .layout = std::make_shared<const patterns::Layout>(patterns::Layout::one_node(1)),
          .blocks = {}};
}

// `rounds` times: send what is there, receive into scratch, add it. The heart of recursive doubling.
Program exchanges(int rounds, std::int64_t segment_bytes) {
  Stage stage{.rounds = rounds, .write = {}, .segment_bytes = segment_bytes};
  stage.write = [](int, Writer& writer) {
    writer.send(whole(Place::output), 0);
    writer.recv(whole(Place::scratch), 0);
    writer.reduce(whole(Place::output), whole(Place::output), whole(Place::scratch));
  };
  return {.stages = {stage}, .scratch = 1};
}

Program additions(int steps) {
  Stage stage{.rounds = steps, .write = {}};
  stage.write = [](int, Writer& writer) {
    writer.reduce(whole(Place::output), whole(Place::output), whole(Place::input));
  };
  return {.stages = {stage}};
}

void run_program(benchmark::State& state, host::Host& host, const Program& program, std::int64_t elements,
                 shm::Slice* slice = nullptr) {
  const int self = 0;
  std::vector<double> input(elements, 1), output(elements, 1);
  const auto compiled = compile(one_rank(), program);
  const Ground ground{.host = &host, .comm = host.world(), .rank_in_comm = &self, .slice = slice};
  const Data data{.input = input.data(),
                  .output = output.data(),
                  .elements = elements,
                  .element_bytes = sizeof(double),
                  .combine = sum};
  Executor executor;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    if (executor.run(*compiled, ground, data) != host::success) state.SkipWithError("the host failed");
    benchmark::ClobberMemory();
  }
}

void run_alone(const std::function<void(FakeHost& host)>& body) {
  FakeWorld(1, {}).run([&](FakeHost& host, int) { body(host); });
}

void exchanges_by_hand(benchmark::State& state) {
  const auto rounds = static_cast<int>(state.range(0));
  run_alone([&](FakeHost& host) {
    double output = 1, scratch = 0;
    for (auto iteration : state) {
      static_cast<void>(iteration);
      for (int round = 0; round < rounds; ++round) {
        host::Request requests[2];
        host.isend(&output, sizeof output, 0, round, host.world(), &requests[0]);
        host.irecv(&scratch, sizeof scratch, 0, round, host.world(), &requests[1]);
        int left = 2;
        while (left > 0) {
          int completed_count = 0, completed[2];
          host.test_some(left, requests, &completed_count, completed);
          left -= completed_count;
          if (left == 1 && completed_count == 1 && completed[0] == 0) requests[0] = requests[1];
        }
        sum(&output, &output, &scratch, 1);
      }
      benchmark::ClobberMemory();
    }
  });
  state.SetItemsProcessed(state.iterations() * rounds * steps_per_exchange);
}

void exchanges_as_schedule(benchmark::State& state) {
  const auto rounds = static_cast<int>(state.range(0));
  run_alone([&](FakeHost& host) { run_program(state, host, exchanges(rounds, 0), 1); });
  state.SetItemsProcessed(state.iterations() * rounds * steps_per_exchange);
}

// The same cut into pieces: `pieces` times as many steps.
void exchanges_in_pieces(benchmark::State& state) {
  const auto pieces = state.range(0);
  run_alone([&](FakeHost& host) { run_program(state, host, exchanges(4, sizeof(double)), pieces); });
  state.SetItemsProcessed(state.iterations() * 4 * pieces * steps_per_exchange);
}

// A rank in the middle of a chain: what comes in goes on, piece by piece, `window` of each under way.
Program chain(std::int64_t segment_bytes, int window) {
  Stage stage{.rounds = 1, .write = {}, .segment_bytes = segment_bytes, .window = window};
  stage.write = [](int, Writer& writer) {
    writer.recv(whole(Place::output), 0);
    writer.send(whole(Place::output), 0);
  };
  return {.stages = {stage}};
}

// The same in a reduction: what comes in is joined before it goes on.
Program joining_chain(std::int64_t segment_bytes, int window) {
  Stage stage{.rounds = 1, .write = {}, .segment_bytes = segment_bytes, .window = window};
  stage.write = [](int, Writer& writer) {
    writer.recv(whole(Place::scratch), 0);
    writer.reduce(whole(Place::output), whole(Place::input), whole(Place::scratch));
    writer.send(whole(Place::output), 0);
  };
  return {.stages = {stage}, .scratch = 1};
}

// Each piece's receive begins when that `window` pieces before it is over, as by double buffering.
template <class Join>
void pass_on(host::Host& host, char* in, char* out, std::int64_t pieces, std::size_t bytes, Join join) {
  constexpr int window = 2;
  host::Request coming[window], going[window];
  const auto wait = [&](host::Request* request) {
    for (bool is_done = false; !is_done;) host.test(request, &is_done);
  };
  const auto receive = [&](std::int64_t piece) {
    host.irecv(in + static_cast<std::size_t>(piece) * bytes, bytes, 0, 0, host.world(),
               &coming[piece % window]);
  };
  for (int i = 0; i < window && i < pieces; ++i) receive(i);
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    wait(&coming[piece % window]);
    if (piece + window < pieces) receive(piece + window);
    join(piece);
    if (piece >= window) wait(&going[piece % window]);
    host.isend(out + static_cast<std::size_t>(piece) * bytes, bytes, 0, 0, host.world(),
               &going[piece % window]);
  }
  for (int i = 0; i < window && i < pieces; ++i) wait(&going[i]);
}

void chain_by_hand(benchmark::State& state) {
  const auto pieces = state.range(0);
  host::InstantHost instant;
  host::Host* host = &instant;
  benchmark::DoNotOptimize(host);  // which host it is is known at run time only
  std::vector<double> output(static_cast<std::size_t>(pieces), 1);
  auto* data = reinterpret_cast<char*>(output.data());
  for (auto iteration : state) {
    static_cast<void>(iteration);
    pass_on(*host, data, data, pieces, sizeof(double), [](std::int64_t) {});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * pieces * 2);
}

void chain_as_schedule(benchmark::State& state) {
  const auto pieces = state.range(0);
  host::InstantHost host;
  run_program(state, host, chain(sizeof(double), static_cast<int>(state.range(1))), pieces);
  state.SetItemsProcessed(state.iterations() * pieces * 2);
}

void joining_chain_by_hand(benchmark::State& state) {
  const auto pieces = state.range(0);
  host::InstantHost instant;
  host::Host* host = &instant;
  shm::Combine combine = sum;
  benchmark::DoNotOptimize(host);
  benchmark::DoNotOptimize(combine);
  const auto count = static_cast<std::size_t>(pieces);
  std::vector<double> input(count, 1), output(count, 1), scratch(count, 1);
  for (auto iteration : state) {
    static_cast<void>(iteration);
    pass_on(*host, reinterpret_cast<char*>(scratch.data()), reinterpret_cast<char*>(output.data()), pieces,
            sizeof(double), [&](std::int64_t i) { combine(&output[i], &input[i], &scratch[i], 1); });
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * pieces * 3);
}

void joining_chain_as_schedule(benchmark::State& state) {
  const auto pieces = state.range(0);
  host::InstantHost host;
  run_program(state, host, joining_chain(sizeof(double), static_cast<int>(state.range(1))), pieces);
  state.SetItemsProcessed(state.iterations() * pieces * 3);
}

void additions_by_hand(benchmark::State& state) {
  const auto steps = static_cast<int>(state.range(0));
  double input = 1, output = 1;
  shm::Combine combine = sum;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    for (int i = 0; i < steps; ++i) {
      benchmark::DoNotOptimize(combine);  // the operator is known at run time only
      combine(&output, &output, &input, 1);
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * steps);
}

void additions_as_schedule(benchmark::State& state) {
  const auto steps = static_cast<int>(state.range(0));
  run_alone([&](FakeHost& host) { run_program(state, host, additions(steps), 1); });
  state.SetItemsProcessed(state.iterations() * steps);
}

// A slice of one rank: its fused operations only copy.
class Alone {
 public:
  Alone() : memory_(shape_.bytes() / sizeof(Line) + 1) {}
  shm::Slice slice() { return {memory_.data(), shape_, 0, shm::WaitConfig{}}; }

 private:
  struct alignas(shm::cache_line_bytes) Line {
    char bytes[shm::cache_line_bytes] = {};
  };
  shm::SliceShape shape_{.local_size = 1, .area_bytes = 4096, .ring_lines = 256};
  std::vector<Line> memory_;
};

void fused_by_hand(benchmark::State& state) {
  Alone alone;
  shm::Slice slice = alone.slice();
  double input = 1, output = 1;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    slice.allreduce(&output, &input, 1, sum);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

void fused_as_schedule(benchmark::State& state) {
  Alone alone;
  shm::Slice slice = alone.slice();
  Stage stage{.rounds = 1, .write = {}};
  stage.write = [](int, Writer& writer) { writer.node_allreduce(whole(Place::output), whole(Place::input)); };
  run_alone([&](FakeHost& host) { run_program(state, host, {.stages = {stage}}, 1, &slice); });
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(exchanges_by_hand)->Arg(1)->Arg(5)->UseRealTime();
BENCHMARK(exchanges_as_schedule)->Arg(1)->Arg(5)->UseRealTime();
BENCHMARK(exchanges_in_pieces)->Arg(1)->Arg(16)->Arg(256)->UseRealTime();
BENCHMARK(chain_by_hand)->Arg(128)->UseRealTime();
BENCHMARK(chain_as_schedule)->Args({1, 2})->Args({2, 2})->Args({128, 2})->Args({128, 4})->UseRealTime();
BENCHMARK(joining_chain_by_hand)->Arg(128)->UseRealTime();
BENCHMARK(joining_chain_as_schedule)->Args({128, 2})->Args({128, 4})->UseRealTime();
BENCHMARK(additions_by_hand)->Arg(1)->Arg(16)->Arg(256)->UseRealTime();
BENCHMARK(additions_as_schedule)->Arg(1)->Arg(16)->Arg(256)->UseRealTime();
BENCHMARK(fused_by_hand)->UseRealTime();
BENCHMARK(fused_as_schedule)->UseRealTime();

}  // namespace
}  // namespace unisono::schedule

BENCHMARK_MAIN();
