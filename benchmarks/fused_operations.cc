// SPDX-License-Identifier: BSD-3-Clause
// What a fused operation on the node's shared memory costs, without any MPI: forked processes on a shared
// mapping.
//     fused_operations [--ranks 2,4,8,16] [--bytes 8] [--wait auto|spin|pause|yield|futex] [--seconds 1]
// Ranks are pinned to a core each where there are enough of them. It prints nanoseconds a call, the median
// and the best over batches, and switches of rank 0 a call. The operations take turns, so that a disturbance
// hits all alike.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cores.h"
#include "shm/slice/slice.h"

namespace {

using unisono::now_s;
using unisono::shm::Combine;
using unisono::shm::Slice;
using unisono::shm::SliceShape;
using unisono::shm::WaitConfig;
using unisono::shm::WaitPolicy;

struct Settings {
  std::vector<int> ranks = {2, 4, 8, 16};
  std::size_t bytes = 8;
  std::string wait = "auto";
  double seconds = 1;
};

// Switches away from this process so far.
double switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_nvcsw + usage.ru_nivcsw);
}

void* shared(std::size_t bytes) {
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  return memory;
}

struct Operation {
  const char* name;
  std::function<void()> call;
  std::vector<double> samples{};
  double calls = 0, switches = 0;
};

// One rank's part; rank 0 prints.
void measure(Slice& slice, const Settings& settings, int batch) {
  const std::size_t count = settings.bytes / sizeof(double);
  std::vector<double> from(count + 1, 1.0), into(count + 1);
  std::vector<char> blocks(settings.bytes * static_cast<std::size_t>(slice.local_size()) + 1);
  std::vector<char> all(blocks.size());
  const Combine sum = {
      .element_bytes = sizeof(double),
      .kernel = unisono::reduce_kernel(unisono::ReduceOp::sum, unisono::ElementType::float64)};
  std::array<Operation, 6> operations = {{
      {"barrier", [&] { slice.barrier(); }},
      {"bcast", [&] { slice.bcast(from.data(), settings.bytes, 0); }},
      {"reduce", [&] { slice.reduce(into.data(), from.data(), count, sum, 0); }},
      {"allreduce", [&] { slice.allreduce(into.data(), from.data(), count, sum); }},
      {"allgather", [&] { slice.allgather(blocks.data(), from.data(), settings.bytes); }},
      {"alltoall", [&] { slice.alltoall(all.data(), blocks.data(), settings.bytes); }},
  }};
  // Rank 0 decides when it has been long enough, and tells the others in a broadcast.
  const double end_s = now_s() + settings.seconds;
  for (int go_on = 1; go_on != 0;) {
    for (Operation& operation : operations) {
      slice.barrier();
      const double switches_before = switches();
      const double start_s = now_s();
      for (int i = 0; i < batch; ++i) operation.call();
      slice.barrier();
      operation.samples.push_back((now_s() - start_s) * 1e9 / batch);
      operation.switches += switches() - switches_before;
      operation.calls += batch;
    }
    go_on = now_s() < end_s ? 1 : 0;
    slice.bcast(&go_on, sizeof go_on, 0);
  }
  if (slice.local_rank() != 0) return;
  for (Operation& operation : operations) {
    std::sort(operation.samples.begin(), operation.samples.end());
    std::printf("%5d  %-10s %10.1f %10.1f %9.2f\n", slice.local_size(), operation.name,
                operation.samples[operation.samples.size() / 2], operation.samples.front(),
                operation.switches / operation.calls);
  }
}

bool run(const Settings& settings, int ranks) {
  const std::vector<int> usable = unisono::usable_cores();
  const bool is_oversubscribed = ranks > static_cast<int>(usable.size());
  WaitPolicy policy = is_oversubscribed ? WaitPolicy::yield : WaitPolicy::pause;
  if (const auto named = unisono::shm::wait_policy_from_name(settings.wait); named) policy = *named;
  const SliceShape shape = {.local_size = ranks};
  void* memory = shared(shape.bytes());
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    if (!is_oversubscribed) {
      unisono::stay_on(usable[static_cast<std::size_t>(rank)]);
    }
    Slice slice(memory, shape, rank, WaitConfig{.policy = policy});
    measure(slice, settings, is_oversubscribed ? 200 : 5000);
    std::fflush(stdout);
    _exit(0);
  }
  bool is_well = true;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    is_well = is_well && status == 0;
  }
  munmap(memory, shape.bytes());
  return is_well;
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i];
    if (key == "--ranks") {
      settings.ranks.clear();
      std::istringstream list(argv[i + 1]);
      for (std::string word; std::getline(list, word, ',');) settings.ranks.push_back(std::stoi(word));
    }
    if (key == "--bytes") settings.bytes = std::stoul(argv[i + 1]);
    if (key == "--wait") settings.wait = argv[i + 1];
    if (key == "--seconds") settings.seconds = std::stod(argv[i + 1]);
  }
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  std::printf("ranks  operation   median ns    best ns  switches\n");
  std::fflush(stdout);
  bool is_well = true;
  for (const int ranks : settings.ranks) is_well = run(settings, ranks) && is_well;
  return is_well ? 0 : 1;
}
