// SPDX-License-Identifier: BSD-3-Clause
// Random calls with what must come of them.
#pragma once

#include <array>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "matching/catalogue.h"
#include "reference.h"

namespace unisono::matching {

enum class Act { post, arrive, probe, take, cancel };

struct Step {
  Act act;
  Envelope envelope;
  Item item;      // of what is posted, arrives or is cancelled
  Item expected;  // what the call returns; of a cancel the item itself, or null
};

// What calls are drawn from.
struct Traffic {
  std::string name;
  int steps = 20'000;
  int depth = 30;  // about as deep as the queues become
  int sources = 8;
  int tags = 8;
  int stride = 1;  // between tags
  int contexts = 1;
  double any_source = 0.2;  // the share of receives that have it
  double any_tag = 0.2;
  double aimed = 0.8;     // the share of calls that find their counterpart, once queues are deep enough
  double backward = 0.3;  // of these, those that look for the youngest one
  double asides = 0.1;    // the share of probes, takes and cancels
};

struct Trace {
  Traffic traffic;
  std::vector<Step> steps;
  std::size_t posted = 0, unexpected = 0;  // entries in the end
};

class TraceWriter {
 public:
  TraceWriter(const Traffic& traffic, std::uint32_t seed) : random_(seed) { trace_.traffic = traffic; }

  Trace written() {
    for (int i = 0; i < 2 * of().depth; ++i) one(mostly_receives);
    for (int i = 0; i < 4 * of().depth; ++i) one(mostly_messages);
    // Times of receives, of messages and of both follow one another.
    while (static_cast<int>(trace_.steps.size()) < of().steps) {
      const double share_of_receives = std::array{mostly_receives, mostly_messages, 0.5}[random_() % 3];
      const int length = 1 + static_cast<int>(random_() % (2U * static_cast<unsigned>(of().depth)));
      for (int i = 0; i < length; ++i) one(share_of_receives);
    }
    trace_.posted = reference_.posted().size();
    trace_.unexpected = reference_.unexpected().size();
    return std::move(trace_);
  }

 private:
  static constexpr double mostly_receives = 0.95, mostly_messages = 0.05;

  const Traffic& of() const { return trace_.traffic; }
  bool happens(double share) { return std::uniform_real_distribution<>()(random_) < share; }

  Envelope any_envelope() {
    Envelope envelope;
    envelope.source = static_cast<int>(random_() % static_cast<unsigned>(of().sources));
    envelope.tag = static_cast<int>(random_() % static_cast<unsigned>(of().tags)) * of().stride;
    envelope.context = static_cast<std::uint32_t>(random_() % static_cast<unsigned>(of().contexts));
    classify(&envelope);
    return envelope;
  }
  // Odd contexts are of collectives.
  void classify(Envelope* envelope) {
    if (envelope->context % 2 == 0) return;
    envelope->kind.operation = static_cast<std::uint8_t>(1 + envelope->context / 2 % 3);
    envelope->kind.bytes_class = static_cast<std::uint8_t>(random_() % 3);
    envelope->kind.ranks_class = 3;
    envelope->kind.call = static_cast<std::uint8_t>(trace_.steps.size() / 100);
  }
  Envelope with_wildcards(Envelope envelope) {
    if (happens(of().any_source)) envelope.source = any_source;
    if (happens(of().any_tag)) envelope.tag = any_tag;
    return envelope;
  }
  const Reference::Entry& one_of(const std::deque<Reference::Entry>& queue) {
    return happens(of().backward) ? queue.back() : queue[random_() % queue.size()];
  }
  bool is_aimed(const std::deque<Reference::Entry>& queue) {
    if (queue.empty()) return false;
    return static_cast<int>(queue.size()) >= of().depth || happens(of().aimed * 0.5);
  }

  Envelope some_receive() {
    const auto& messages = reference_.unexpected();
    return with_wildcards(is_aimed(messages) ? one_of(messages).envelope : any_envelope());
  }
  Envelope some_message() {
    const Envelope any = any_envelope();
    if (!is_aimed(reference_.posted())) return any;
    Envelope envelope = one_of(reference_.posted()).envelope;
    if (envelope.source == any_source) envelope.source = any.source;
    if (envelope.tag == any_tag) envelope.tag = any.tag;
    return envelope;
  }

  void one(double share_of_receives) {
    if (happens(of().asides)) return aside();
    const Item item = reinterpret_cast<Item>(++items_);
    if (happens(share_of_receives)) {
      const Envelope receive = some_receive();
      add({Act::post, receive, item, reference_.post(receive, item)});
      posted_.push_back({receive, item});
    } else {
      const Envelope message = some_message();
      add({Act::arrive, message, item, reference_.arrive(message, item)});
    }
  }
  void aside() {
    const Envelope receive = some_receive();
    switch (random_() % 3) {
      case 0:
        return add({Act::probe, receive, nullptr, reference_.probe(receive)});
      case 1:
        return add({Act::take, receive, nullptr, reference_.take(receive)});
      default:
        break;
    }
    if (posted_.empty()) return;
    // Some of these have left before.
    const bool is_waiting = !reference_.posted().empty() && happens(0.8);
    const Reference::Entry entry =
        is_waiting ? one_of(reference_.posted()) : posted_[random_() % posted_.size()];
    const bool was_there = reference_.cancel(entry.envelope, entry.item);
    add({Act::cancel, entry.envelope, entry.item, was_there ? entry.item : nullptr});
  }
  void add(const Step& step) { trace_.steps.push_back(step); }

  std::mt19937 random_;
  Trace trace_;
  Reference reference_;
  std::vector<Reference::Entry> posted_;  // ever
  std::uintptr_t items_ = 0;
};

inline Item done(Queues* queues, const Step& step) {
  switch (step.act) {
    case Act::post:
      return queues->post(step.envelope, step.item);
    case Act::arrive:
      return queues->arrive(step.envelope, step.item);
    case Act::probe:
      return queues->probe(step.envelope);
    case Act::take:
      return queues->take(step.envelope);
    case Act::cancel:
      return queues->cancel(step.envelope, step.item) ? step.item : nullptr;
  }
  return nullptr;
}

// The first step that returns something else than it must; the number of steps where there is none.
inline std::size_t first_wrong_step(Queues* queues, const Trace& trace) {
  std::size_t i = 0;
  while (i < trace.steps.size() && done(queues, trace.steps[i]) == trace.steps[i].expected) ++i;
  return i;
}

}  // namespace unisono::matching
