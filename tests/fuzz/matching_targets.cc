// SPDX-License-Identifier: BSD-3-Clause
#include "matching_targets.h"

#include <cstdio>
#include <cstdlib>
#include <random>

#include "matching/catalogue.h"
#include "matching/queue_profile.h"
#include "traces/queue_order.h"
#include "traces/queue_replay.h"
#include "traces/trace.h"
#include "unit/matching/traces.h"

namespace unisono::fuzz {
namespace {

using matching::Act;
using matching::Descriptor;
using matching::Envelope;
using matching::Item;
using matching::Reference;
using matching::Step;

constexpr int ranks = 16;
constexpr std::size_t head_bytes = 6;
constexpr std::size_t step_bytes = 4;
constexpr std::size_t most_steps = 3000;

void require(bool holds, const char* what, std::string_view structure) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %.*s: this does not hold: %s\n", static_cast<int>(structure.size()),
               structure.data(), what);
  std::abort();
}

unsigned byte(std::string_view input, std::size_t at) {
  return static_cast<unsigned char>(input[at]);
}

// The first bytes: which structure, with which values of its parameters.
matching::Setup setup_of(const Descriptor& descriptor, std::string_view input,
                         const matching::Profile* profile) {
  matching::Setup setup{.ranks = ranks, .profile = profile, .hash_seed = byte(input, 1)};
  for (std::size_t i = 0; i < descriptor.parameters.size(); ++i) {
    const matching::Parameter& parameter = descriptor.parameters[i];
    setup.values.emplace_back(parameter.name, parameter.low + byte(input, 2 + i % 3));
  }
  setup.first_sequence = 0xFFFFFFFF - byte(input, 5) * 4;
  return setup;
}

// A call of four bytes: what it is, source, tag, context.
Step step_of(std::string_view bytes, const std::vector<Reference::Entry>& posted, std::uintptr_t number) {
  Step step{.act = static_cast<Act>(byte(bytes, 0) % 5), .item = reinterpret_cast<Item>(number)};
  Envelope& envelope = step.envelope;
  envelope.source = static_cast<int>(byte(bytes, 1) % ranks);
  envelope.tag = static_cast<int>(byte(bytes, 2) & 0x3F) << (byte(bytes, 2) >> 6) * 8;
  envelope.context = byte(bytes, 3) % 4;
  if (envelope.context % 2 == 1)
    envelope.kind = {.operation = static_cast<std::uint8_t>(envelope.context),
                     .bytes_class = static_cast<std::uint8_t>(byte(bytes, 3) >> 6),
                     .call = static_cast<std::uint8_t>(byte(bytes, 3) >> 2 & 15)};
  if (step.act == Act::cancel) {
    const Reference::Entry none{envelope, step.item};
    const Reference::Entry& entry =
        posted.empty() ? none : posted[(byte(bytes, 1) << 8 | byte(bytes, 2)) % posted.size()];
    step.envelope = entry.envelope;
    step.item = entry.item;
  } else if (step.act != Act::arrive) {
    if ((byte(bytes, 0) & 0x40) != 0) envelope.source = matching::any_source;
    if ((byte(bytes, 0) & 0x80) != 0) envelope.tag = matching::any_tag;
  }
  return step;
}

Item expected_of(Reference* reference, const Step& step) {
  switch (step.act) {
    case Act::post:
      return reference->post(step.envelope, step.item);
    case Act::arrive:
      return reference->arrive(step.envelope, step.item);
    case Act::probe:
      return reference->probe(step.envelope);
    case Act::take:
      return reference->take(step.envelope);
    case Act::cancel:
      return reference->cancel(step.envelope, step.item) ? step.item : nullptr;
  }
  return nullptr;
}

void run_queues(std::string_view input) {
  if (input.size() < head_bytes) return;
  const auto& all = matching::registry();
  const Descriptor& descriptor = all[byte(input, 0) % all.size()];
  matching::Profile profile{.ranks = ranks};
  for (int source = 0; source < ranks; ++source)
    profile.posted[{0, source}] = profile.unexpected[{1, source}] = 1U << (byte(input, 1) + 3U * source) % 12;
  const auto queues = matching::make_queues(descriptor, setup_of(descriptor, input, &profile));
  Reference reference;
  std::vector<Reference::Entry> posted;
  const std::size_t end = std::min(input.size(), head_bytes + most_steps * step_bytes);
  for (std::size_t at = head_bytes; at + step_bytes <= end; at += step_bytes) {
    const Step step = step_of(input.substr(at, step_bytes), posted, at);
    if (step.act == Act::post) posted.push_back({step.envelope, step.item});
    require(matching::done(queues.get(), step) == expected_of(&reference, step), "a call's answer",
            descriptor.name);
    require(queues->posted().depth == reference.posted().size(), "the depth of receives", descriptor.name);
    require(queues->unexpected().depth == reference.unexpected().size(), "the depth of messages",
            descriptor.name);
  }
}

void run_profiles(std::string_view input) {
  const matching::ReadProfile read = matching::read_profiles(input);
  if (!read.problem.empty()) return;
  const matching::ReadProfile again = matching::read_profiles(matching::to_text(read.ranks, read.of_ranks));
  require(again.problem.empty() && again.of_ranks == read.of_ranks, "a profile that is written is read again",
          "profile");
}

// Text and order of a trace. Ranks have memory each before they have events, so that only jobs of some are
// ordered.
void run_traces(std::string_view input) {
  const traces::ReadTrace read = traces::read_trace(input);
  if (!read.problem.empty()) return;
  const std::string text = traces::to_text(read.trace);
  const traces::ReadTrace again = traces::read_trace(text);
  require(again.problem.empty() && traces::to_text(again.trace) == text,
          "a trace that is written is read again", "trace");
  constexpr int most_ranks = 1024;
  if (read.trace.ranks > most_ranks) return;
  const traces::Incoming incoming(read.trace);
  for (const auto& [rank, of_one] : read.trace.of_rank) {
    for (const traces::Rule rule : {traces::Rule::until_match, traces::Rule::all_sent}) {
      const traces::RankOrder order = traces::order_of(read.trace, rank, incoming, rule);
      const auto queues = traces::queues_for(*matching::find("list"), read.trace.ranks,
                                             traces::profile_of(order, read.trace.ranks));
      traces::replay(order, queues.get());
      require(order.as_recorded + order.otherwise + order.unmatched <= order.receives,
              "each receive ends once at most", "trace");
    }
  }
}

constexpr const char* trace_seed =
    "unisono-message-trace 1\nwith-end\nranks 3\nmpi Open MPI 5\nnodes 0 0 1\nrank 0\nrun 99\nexact 5\n"
    "send 1 1 7 0 64\npost 2 0 any any 0 8\ndone 5 0 1 3 8\nprobe 6 1 any 0\ncancel 7 1\nsample 8 9\n"
    "sample 8 9 1 0\narrive 9 1 2 5 4\npost 9 2 1 2 5 4\nrank 1\nfull 90\ncount sends 1\n"
    "send 3 0 3 0 8 # a comment\nsend 4 0 2 0 8 collective 3 1 2 1\nend\n";

// Calls of each structure.
std::vector<std::string> calls() {
  constexpr std::size_t steps = 200;
  std::mt19937 random(1);
  std::vector<std::string> all;
  for (std::size_t structure = 0; structure < matching::registry().size(); ++structure) {
    std::string& input = all.emplace_back(1, static_cast<char>(structure));
    while (input.size() < head_bytes + steps * step_bytes) input += static_cast<char>(random());
  }
  return all;
}

}  // namespace

std::vector<Target> matching_targets() {
  return {{"matching", run_queues, calls()},
          {"trace", run_traces, {trace_seed}},
          {"profile",
           run_profiles,
           {"unisono-matching-profile 1\nranks 4\nrank 1\nposted 0 3 12\nunexpected 7 0 1 # one\nrank 2\n"}}};
}

}  // namespace unisono::fuzz
