// SPDX-License-Identifier: BSD-3-Clause
// The source's micro-benchmarks (section 6.3) on structures alone: one queue is filled by n - 1 senders, then
// emptied forward, from the middle on, or in reverse.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "tool/answer.h"
#include "tool/commands.h"
#include "tool/match_traces.h"
#include "traces/trace_items.h"

namespace unisono::tool {
namespace {

using matching::Envelope;
using nlohmann::ordered_json;

struct Case {
  bool is_posted = true;  // the queue that is filled; else the one of unexpected messages
  std::string order;
  int wild = 0;  // percent of receives that ask for any source
  int depth = 1;
};

struct Load {
  std::vector<Envelope> receives, messages;
  std::vector<std::uint32_t> drain;
};

Load load_of(const Case& asked, int senders, int apart) {
  Load load;
  std::mt19937 random(7);
  for (int i = 0; i < asked.depth; ++i) {
    Envelope envelope{.source = 1 + i % senders, .tag = i * apart};
    load.messages.push_back(envelope);
    if (static_cast<int>(random() % 100) < asked.wild) envelope.source = matching::any_source;
    load.receives.push_back(envelope);
  }
  load.drain.resize(load.messages.size());
  std::iota(load.drain.begin(), load.drain.end(), 0U);
  if (asked.order == "reverse") std::ranges::reverse(load.drain);
  if (asked.order == "middle") std::ranges::rotate(load.drain, load.drain.begin() + asked.depth / 2);
  return load;
}

void fill_and_drain(const Case& asked, const Load& load, matching::Queues* queues) {
  const auto& waiting = asked.is_posted ? load.receives : load.messages;
  const auto& coming = asked.is_posted ? load.messages : load.receives;
  const auto give = [&](bool is_receive, const Envelope& envelope, std::uint32_t item) {
    return is_receive ? queues->post(envelope, traces::item_of(item))
                      : queues->arrive(envelope, traces::item_of(item));
  };
  for (std::uint32_t i = 0; i < waiting.size(); ++i) give(asked.is_posted, waiting[i], i);
  for (const std::uint32_t i : load.drain) {
    if (give(!asked.is_posted, coming[i], i) == nullptr)
      throw std::runtime_error("a structure matched nothing where it must");
  }
}

ordered_json measured(const Case& asked, const Load& load, const Engine& engine, int ranks, double most_ms) {
  matching::Profile profile{.ranks = ranks};
  for (const Envelope& message : load.messages) ++profile.posted[{0, message.source}];
  profile.unexpected = profile.posted;
  const auto queues = engine.queues(ranks, &profile);
  fill_and_drain(asked, load, queues.get());
  const matching::QueueCounters& queue = asked.is_posted ? queues->posted() : queues->unexpected();
  const double traversals = static_cast<double>(queue.traversals) / static_cast<double>(load.drain.size());
  // The clock is read once in some thousand matches, as it takes as long as many of them.
  const int times = std::max(1, 4096 / asked.depth);
  const double matches = static_cast<double>(times) * asked.depth;
  double best = 1e300;
  const double begin = cpu_ns();
  for (double last = begin; last - begin < most_ms * 1e6;) {
    for (int i = 0; i < times; ++i) fill_and_drain(asked, load, queues.get());
    const double now = cpu_ns();
    best = std::min(best, (now - last) / matches);
    last = now;
  }
  return {{"engine", engine.text},    {"queue", asked.is_posted ? "posted" : "unexpected"},
          {"order", asked.order},     {"any_source", asked.wild},
          {"depth", asked.depth},     {"ns", best},
          {"traversals", traversals}, {"memory", queues->memory_bytes()}};
}

std::vector<int> numbers(const Arguments& arguments, const char* name, int low, int high,
                         std::vector<int> standard) {
  return arguments.has(name) ? numbers_from(arguments.text(name), low, high, std::string("--") + name)
                             : standard;
}

}  // namespace

int measure_matching(const std::vector<std::string>& words) {
  const Arguments arguments(
      words, {"engine", "depth", "senders", "apart", "any-source", "order", "queue", "ms"}, {"progress"});
  constexpr int most_depth = 1 << 20, most_senders = 1 << 17, most_apart = 1 << 10;
  const std::vector<Engine> engines = engines_from(arguments);
  const int senders = static_cast<int>(arguments.number("senders", 1, most_senders, 63));
  const int apart = static_cast<int>(arguments.number("apart", 1, most_apart, 1));
  const auto ms = static_cast<double>(arguments.number("ms", 1, 10000, 2));
  std::vector<Case> cases;
  const auto chosen = [&](const char* name, const char* value) {
    return !arguments.has(name) || arguments.text(name) == value;
  };
  for (const bool is_posted : {true, false})
    for (const char* order : {"forward", "middle", "reverse"})
      for (const int wild : numbers(arguments, "any-source", 0, 100, {0, 50, 100}))
        for (const int depth : numbers(arguments, "depth", 1, most_depth, {16, 256, 2048}))
          if (chosen("queue", is_posted ? "posted" : "unexpected") && chosen("order", order))
            cases.push_back({is_posted, order, wild, depth});
  if (cases.empty())
    throw UsageError("--order takes forward, middle or reverse, --queue takes posted or unexpected");
  double done = 0;
  for (const Case& asked : cases) {
    const Load load = load_of(asked, senders, apart);
    for (const Engine& engine : engines) {
      tell_progress(arguments, done++ / static_cast<double>(cases.size() * engines.size()), engine.text);
      print_line(measured(asked, load, engine, senders + 1, ms));
    }
  }
  return 0;
}

}  // namespace unisono::tool
