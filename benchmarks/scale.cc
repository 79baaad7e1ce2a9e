// SPDX-License-Identifier: BSD-3-Clause
// What one rank of a very large communicator keeps: its layout, and the schedules of collectives. They are
// built, and measured. Nothing is sent. Prints the tables of docs/inside/scale.md.
//
//     build/release/benchmarks/scale [--per-node 50] [--ranks 1000,10000,100000,1000000]
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "algorithms/catalogue/descriptor.h"
#include "patterns/layout.h"
#include "runtime/communicators/classes.h"
#include "runtime/communicators/set_up_aside.h"
#include "schedule/compiled.h"
#include "schedule/executor.h"
#include "shm/pool/identity.h"

namespace {

using namespace unisono;
using std::chrono::steady_clock;

// Of the C library, large pieces included.
double allocated_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

double since_ms(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

std::string bytes_text(double bytes) {
  char text[32];
  const char* const units[] = {"B", "KiB", "MiB", "GiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 3; ++unit) bytes /= 1024;
  std::snprintf(text, sizeof text, "%.3g %s", bytes, units[unit]);
  return text;
}

std::shared_ptr<const patterns::Layout> make_layout(int ranks, int per_node) {
  std::vector<int> labels(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) labels[static_cast<std::size_t>(rank)] = rank / per_node;
  const double before = allocated_bytes();
  const auto start = steady_clock::now();
  auto layout = std::make_shared<const patterns::Layout>(patterns::Layout::from_labels(labels));
  std::printf("| %d | the layout | | %.1f ms | %s |\n", ranks, since_ms(start),
              bytes_text(allocated_bytes() - before).c_str());
  return layout;
}

struct Asked {
  Operation operation;
  const char* algorithm;
  int most_ranks = 1 << 30;  // beyond, it is left out
};

void measure(const Asked& asked, const std::shared_ptr<const patterns::Layout>& layout) {
  const int ranks = layout->size();
  const algorithms::Descriptor* descriptor = algorithms::find(asked.operation, asked.algorithm);
  if (descriptor == nullptr || ranks > asked.most_ranks) return;
  // The first rank is a tree's root and a node's leader, the last one takes part in all rounds of exchanges.
  std::shared_ptr<const schedule::Compiled> longest;
  double longest_ms = 0;
  for (const int rank : {0, ranks - 1}) {
    const schedule::Problem problem{
        .operation = asked.operation, .size = ranks, .rank = rank, .layout = layout, .blocks = {}};
    if (!algorithms::why_illegal(*descriptor, problem, 8, true, true).empty()) return;
    const auto start = steady_clock::now();
    const schedule::Program program = descriptor->build(problem, algorithms::with_standards(*descriptor));
    auto compiled = schedule::compile(problem, program);
    longest_ms = std::max(longest_ms, since_ms(start));
    if (longest == nullptr || compiled->steps.size() > longest->steps.size()) longest = std::move(compiled);
  }
  std::printf("| %d | %s, %s | %zu | %.1f ms | %s |\n", ranks, std::string(name(asked.operation)).c_str(),
              asked.algorithm, longest->steps.size(), longest_ms,
              bytes_text(static_cast<double>(schedule::size_bytes(*longest))).c_str());
  std::fflush(stdout);
}

constexpr Asked all_asked[] = {
    {Operation::barrier, "dissemination"},
    {Operation::bcast, "binomial"},
    {Operation::bcast, "two_level_binomial"},
    {Operation::reduce, "binomial"},
    {Operation::allreduce, "recursive_doubling"},
    {Operation::allreduce, "two_level_fused_recursive_doubling"},
    {Operation::allreduce, "rabenseifner"},
    {Operation::allreduce, "ring"},
    {Operation::allgather, "bruck"},
    {Operation::allgather, "ring"},
    {Operation::gather, "binomial"},
    {Operation::alltoall, "bruck", 10'000},
    {Operation::alltoall, "pairwise"},
    {Operation::alltoallv, "pairwise"},
    {Operation::scan, "recursive_doubling"},
};

}  // namespace

int main(int argc, char** argv) {
  int per_node = 50;
  std::string ranks_text = "1000,10000,100000,1000000";
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--per-node") per_node = std::atoi(argv[i + 1]);
    if (option == "--ranks") ranks_text = argv[i + 1];
  }
  if (argc % 2 == 0 || per_node < 1) {
    std::fputs("scale [--per-node RANKS] [--ranks NUMBERS]\n", stderr);
    return 2;
  }
  std::printf(
      "A rank tells in MPI_Init %zu bytes of itself, and %zu of a slice; a table of an operation has "
      "%zu.\n\n",
      sizeof(shm::Identity), sizeof(runtime::SliceOffer), sizeof(runtime::ClassTable));
  std::printf("| ranks | what | steps | made in | memory of a rank |\n| --- | --- | --- | --- | --- |\n");
  std::istringstream counts(ranks_text);
  for (std::string one; std::getline(counts, one, ',');) {
    const int ranks = std::atoi(one.c_str());
    if (ranks < 2) continue;
    const auto layout = make_layout(ranks, per_node);
    for (const Asked& asked : all_asked) measure(asked, layout);
  }
  return 0;
}
