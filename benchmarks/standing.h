// SPDX-License-Identifier: BSD-3-Clause
// What a match costs where so many receives or messages wait: see matching_engines.cc.
#pragma once

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "matching/catalogue.h"
#include "matching/queue_profile.h"

namespace unisono::matching {

inline constexpr int ranks = 64;

struct Options {
  std::vector<std::string> structures;
  std::vector<int> depths, peers;
  double ms = 2;
  int batches = 3;
  int seeds = 0;
};

struct Mix {
  const char* name;
  int any_source = 0;  // percent of receives
  int any_tag = 0;
  int apart = 1;                           // tags
  std::vector<int> tags = {};              // other ones; by number
  std::optional<std::uint64_t> seed = {};  // of the hash of Unisono's own
};

inline double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

inline Item item_of(int number) {
  return reinterpret_cast<Item>(static_cast<std::intptr_t>(number) + 1);
}
inline std::size_t number_of(Item item) {
  return static_cast<std::size_t>(reinterpret_cast<std::intptr_t>(item) - 1);
}

// Receives and the messages that they are for.
struct Traffic {
  Traffic(int depth, const Mix& mix) {
    std::mt19937 random(7);
    const auto happens = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
    for (int i = 0; i < depth; ++i) {
      Envelope envelope{.source = i % ranks,
                        .tag = mix.tags.empty() ? i * mix.apart : mix.tags[static_cast<std::size_t>(i)]};
      messages.push_back(envelope);
      if (happens(mix.any_source)) envelope.source = any_source;
      if (happens(mix.any_tag)) envelope.tag = any_tag;
      receives.push_back(envelope);
    }
  }
  std::vector<Envelope> receives, messages;
};

inline const Profile& profile() {
  static const Profile even = [] {
    Profile profile{.ranks = ranks};
    for (int source = 0; source < ranks; ++source)
      profile.posted[{0, source}] = profile.unexpected[{0, source}] = source % 8 == 0 ? 1000 : 100;
    return profile;
  }();
  return even;
}

inline std::unique_ptr<Queues> made(const Descriptor& descriptor, std::optional<std::uint64_t> seed = {}) {
  return make_queues(descriptor, {.ranks = ranks, .profile = &profile(), .hash_seed = seed});
}

// The fewest nanoseconds that one of `count` operations took, in a batch of `run`. The clock is read once in
// some thousand operations, as it takes as long as many of them.
template <class Run>
double fastest(const Options& options, int count, Run run) {
  double best = 1e300;
  for (int batch = 0; batch < options.batches; ++batch) {
    const double begin = cpu_ns();
    double end = begin;
    double operations = 0;
    while (end - begin < options.ms * 1e6) {
      const double next_look = operations + 4096;
      for (; operations < next_look; operations += count) run();
      end = cpu_ns();
    }
    best = std::min(best, (end - begin) / operations);
  }
  return best;
}

inline void complain(std::string_view structure) {
  std::fprintf(stderr, "matching_engines: %s matched nothing where it must\n",
               std::string(structure).c_str());
  std::exit(1);
}

inline double standing(const Options& options, const Descriptor& descriptor, int depth, const Mix& mix,
                       bool are_messages) {
  const Traffic traffic(depth, mix);
  const auto queues = made(descriptor, mix.seed);
  const auto& waiting = are_messages ? traffic.messages : traffic.receives;
  const auto& coming = are_messages ? traffic.receives : traffic.messages;
  const auto add = [&](const Envelope& envelope, Item item) {
    return are_messages ? queues->arrive(envelope, item) : queues->post(envelope, item);
  };
  const auto match = [&](const Envelope& envelope) {
    return are_messages ? queues->post(envelope, item_of(-2)) : queues->arrive(envelope, item_of(-2));
  };
  for (int i = 0; i < depth; ++i) add(waiting[static_cast<std::size_t>(i)], item_of(i));
  constexpr int rounds = 64;
  std::mt19937 random(3);
  std::array<std::uint32_t, 4096> targets;
  for (std::uint32_t& target : targets) target = random() % static_cast<unsigned>(depth);
  std::size_t next = 0;
  return fastest(options, rounds, [&] {
    for (int i = 0; i < rounds; ++i, ++next) {
      const Item found = match(coming[targets[next % targets.size()]]);
      if (found == nullptr) complain(descriptor.name);
      add(waiting[number_of(found)], found);
    }
  });
}

}  // namespace unisono::matching
