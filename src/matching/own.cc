// SPDX-License-Identifier: BSD-3-Clause
// M8: Unisono's own structure. Each communicator has a pair of queues (own_posted.h, own_unexpected.h), so
// that a key is source and tag in one word.
#include <memory>
#include <random>
#include <unordered_map>

#include "matching/catalogue.h"
#include "matching/own_posted.h"
#include "matching/own_unexpected.h"

namespace unisono::matching {
namespace {

class OwnQueues final : public Queues {
 public:
  OwnQueues(HashSeed seed, std::uint32_t first_sequence) : seed_(seed), first_sequence_(first_sequence) {}

  Item post(const Envelope& receive, Item item) override {
    Pair& pair = of(receive.context);
    if (const Item message = find(pair, receive, true)) return message;
    pair.posted.append(key_of(receive), item);
    posted_.added();
    return nullptr;
  }

  Item arrive(const Envelope& message, Item item) override {
    Pair& pair = of(message.context);
    std::uint64_t looked_at = 0;
    const Item receive = posted_.depth == 0 ? nullptr : pair.posted.take(key_of(message), &looked_at);
    posted_.searched(looked_at);
    if (receive != nullptr) {
      posted_.removed();
      return receive;
    }
    pair.unexpected.append(key_of(message), item);
    unexpected_.added();
    return nullptr;
  }

  Item probe(const Envelope& receive) override { return find(of(receive.context), receive, false); }
  Item take(const Envelope& receive) override { return find(of(receive.context), receive, true); }

  bool cancel(const Envelope& receive, Item item) override {
    if (!of(receive.context).posted.cancel(key_of(receive), item)) return false;
    posted_.removed();
    return true;
  }

  std::size_t memory_bytes() const override {
    std::size_t bytes = sizeof(*this);
    for (const auto& [context, pair] : pairs_)
      bytes += sizeof(Pair) + pair->posted.bytes() + pair->unexpected.bytes();
    return bytes;
  }

 private:
  struct Pair {
    OwnPosted posted;
    OwnUnexpected unexpected;
  };

  Pair& of(std::uint32_t context) {
    if (last_ == nullptr || context != last_context_) {
      std::unique_ptr<Pair>& pair = pairs_[context];
      if (!pair) pair.reset(new Pair{OwnPosted(seed_, first_sequence_), OwnUnexpected(seed_)});
      last_ = pair.get();
      last_context_ = context;
    }
    return *last_;
  }

  Item find(Pair& pair, const Envelope& receive, bool is_taken) {
    std::uint64_t looked_at = 0;
    const Item message =
        unexpected_.depth == 0 ? nullptr : pair.unexpected.find(key_of(receive), is_taken, &looked_at);
    unexpected_.searched(looked_at);
    if (message != nullptr && is_taken) unexpected_.removed();
    return message;
  }

  HashSeed seed_;
  std::uint32_t first_sequence_;
  Pair* last_ = nullptr;  // the pair that was asked for last
  std::uint32_t last_context_ = 0;
  std::unordered_map<std::uint32_t, std::unique_ptr<Pair>> pairs_;
};

HashSeed seed_of_process() {
  static const HashSeed seed = [] {
    std::random_device device;
    return hash_seed_from(std::uint64_t{device()} << 32 | device());
  }();
  return seed;
}

const Registration registration([] {
  return Descriptor{
      .name = "own",
      .source = "M8",
      .sentence =
          "The oldest eight entries stand in an array, the others in a table of lists by source and tag.",
      .make = [](const Setup& setup) -> std::unique_ptr<Queues> {
        return std::make_unique<OwnQueues>(
            setup.hash_seed ? hash_seed_from(*setup.hash_seed) : seed_of_process(), setup.first_sequence);
      },
  };
});

}  // namespace
}  // namespace unisono::matching
