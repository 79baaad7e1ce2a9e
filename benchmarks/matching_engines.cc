// SPDX-License-Identifier: BSD-3-Clause
// What a match costs in each structure of src/matching: nanoseconds of a match and of the entry that takes
// its place, in CPU time of one thread. Of several short batches the fastest one counts.
//
//   cmake --build build/release --target matching_engines && build/release/benchmarks/matching_engines
//   matching_engines [--structure NAME]... [--depth N]... [--ms 2] [--batches 3]
//   matching_engines --peers N...
//   matching_engines --seeds N [--depth N]... [--ms 2] [--batches 3]
//
// It prints tables as Markdown, a row for each structure and a column for each depth:
// - Standing: so many receives (messages) wait. A message (receive) comes for one of them, chosen at random,
// and
//   what was matched is posted (arrives) again. Source is number mod 64, tag the number times `apart`. A
//   share of the receives has wildcards.
// - Fill and drain: so many entries come, then their counterparts in an order.
// With --peers it prints how much memory each structure has for so many peers, and no times. With --seeds it
// prints what patterns of tags cost Unisono's own, with so many beginnings of its hash (tag_patterns.h).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "peer_memory.h"
#include "standing.h"
#include "tag_patterns.h"

namespace unisono::matching {
namespace {

std::vector<int> in_order(const std::string& order, int depth) {
  std::vector<int> numbers(static_cast<std::size_t>(depth));
  std::iota(numbers.begin(), numbers.end(), 0);
  if (order == "reverse") std::ranges::reverse(numbers);
  if (order == "middle") std::ranges::rotate(numbers, numbers.begin() + depth / 2);
  if (order == "random") std::ranges::shuffle(numbers, std::mt19937(5));
  return numbers;
}

double fill_and_drain(const Options& options, const Descriptor& descriptor, int depth, const Mix& mix,
                      const std::string& order, bool are_messages) {
  const Traffic traffic(depth, mix);
  const std::vector<int> numbers = in_order(order, depth);
  const auto queues = made(descriptor);
  return fastest(options, depth, [&] {
    for (int i = 0; i < depth; ++i) {
      const auto at = static_cast<std::size_t>(i);
      are_messages ? queues->arrive(traffic.messages[at], item_of(i))
                   : queues->post(traffic.receives[at], item_of(i));
    }
    for (const int number : numbers) {
      const auto at = static_cast<std::size_t>(number);
      const Item found = are_messages ? queues->post(traffic.receives[at], item_of(-2))
                                      : queues->arrive(traffic.messages[at], item_of(-2));
      if (found == nullptr) complain(descriptor.name);
    }
  });
}

template <class Measure>
void print_table(const Options& options, const std::string& title, const std::vector<int>& depths,
                 Measure measure) {
  std::printf("\n%s\n\n| structure |", title.c_str());
  for (const int depth : depths) std::printf(" %d |", depth);
  std::printf("\n| --- |");
  for (std::size_t i = 0; i < depths.size(); ++i) std::printf(" ---: |");
  std::printf("\n");
  for (const Descriptor& descriptor : registry()) {
    if (!options.structures.empty() &&
        std::ranges::find(options.structures, descriptor.name) == options.structures.end())
      continue;
    std::printf("| `%s` |", std::string(descriptor.name).c_str());
    for (const int depth : depths) {
      const double ns = measure(descriptor, depth);
      std::printf(ns < 99.5 ? " %.1f |" : " %.0f |", ns);
      std::fflush(stdout);
    }
    std::printf("\n");
  }
}

Options options_from(int count, char** words) {
  Options options;
  for (int i = 1; i < count; i += 2) {
    const std::string word = words[i];
    const char* value = i + 1 < count ? words[i + 1] : "";
    if (word == "--structure" && find(value) != nullptr) {
      options.structures.emplace_back(value);
    } else if (word == "--depth" && std::atoi(value) > 0) {
      options.depths.push_back(std::atoi(value));
    } else if (word == "--peers" && std::atoi(value) > 0) {
      options.peers.push_back(std::atoi(value));
    } else if (word == "--seeds" && std::atoi(value) > 0) {
      options.seeds = std::atoi(value);
    } else if (word == "--ms" && std::atof(value) > 0) {
      options.ms = std::atof(value);
    } else if (word == "--batches" && std::atoi(value) > 0) {
      options.batches = std::atoi(value);
    } else {
      std::fprintf(stderr,
                   "usage: matching_engines [--structure NAME] [--depth N] [--ms MS] [--batches N] [--peers "
                   "N] [--seeds N]\n");
      std::exit(2);
    }
  }
  return options;
}

void print_memory(const Options& options) {
  print_table(options, "Bytes, by the number of peers", options.peers,
              [](const Descriptor& d, int peers) { return static_cast<double>(memory_with(d, peers)); });
}

void run(const Options& options) {
  if (!options.peers.empty()) return print_memory(options);
  if (options.seeds != 0) return print_tag_patterns(options);
  const auto or_given = [&](std::vector<int> depths) {
    return options.depths.empty() ? depths : options.depths;
  };
  const std::vector<Mix> mixes = {{"exact"},
                                  {"30 % from any source", 30},
                                  {"all from any source", 100},
                                  {"30 % of any tag", 0, 30},
                                  {"30 % from any source, 30 % of any tag", 30, 30},
                                  {"exact, tags 1021 apart", 0, 0, 1021}};
  for (const Mix& mix : mixes)
    print_table(options, std::string("Standing receives, ") + mix.name,
                or_given({1, 2, 4, 8, 16, 64, 256, 1024, 4096}),
                [&](const Descriptor& d, int depth) { return standing(options, d, depth, mix, false); });
  for (const Mix& mix : {mixes[0], mixes[1]})
    print_table(options, std::string("Standing messages, ") + mix.name, or_given({1, 8, 16, 64, 1024, 4096}),
                [&](const Descriptor& d, int depth) { return standing(options, d, depth, mix, true); });
  for (const bool are_messages : {false, true})
    for (const std::string order : {"forward", "middle", "reverse", "random"})
      print_table(options,
                  "Fill and drain, " + order + (are_messages ? ", messages" : ", receives") + ", exact",
                  or_given({8, 16, 256, 2048}), [&](const Descriptor& d, int depth) {
                    return fill_and_drain(options, d, depth, mixes[0], order, are_messages);
                  });
}

}  // namespace
}  // namespace unisono::matching

int main(int count, char** words) {
  unisono::matching::run(unisono::matching::options_from(count, words));
}
