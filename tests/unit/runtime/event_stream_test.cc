// SPDX-License-Identifier: BSD-3-Clause
// What a rank's messages have done, written down and read again.
#include "runtime/messages/event_stream.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "../seed.h"

namespace unisono::runtime::event_stream_test {
namespace {

std::vector<RecordedEvent> events_of(const EventStream& stream) {
  std::vector<RecordedEvent> found;
  EventReader reader(stream);
  for (RecordedEvent event; reader.next(&event);) found.push_back(event);
  return found;
}

void expect_equal(const RecordedEvent& one, const RecordedEvent& other) {
  EXPECT_EQ(one.ticks, other.ticks);
  EXPECT_EQ(one.kind, other.kind);
  EXPECT_EQ(one.number, other.number);
  EXPECT_EQ(one.tag, other.tag);
  EXPECT_EQ(one.place, other.place);
}

// Writes any event, and says what must be read of it.
class Writer {
 public:
  explicit Writer(EventStream* stream) : stream_(*stream), random_(seed()) {}

  RecordedEvent write(std::uint64_t ticks) {
    RecordedEvent event{.ticks = ticks, .kind = static_cast<EventKind>(random_() % 7)};
    event.place = {.context = random_() % 5 == 0 ? (1U << 28) - 1 : static_cast<std::uint32_t>(random_() % 3),
                   .peer = static_cast<std::int32_t>(random_() % 1000) - 1,
                   .bytes = random_() % 7 == 0 ? std::uint64_t{1} << 40 : random_() % 4};
    event.tag = random_() % 4 == 0 ? INT32_MAX : static_cast<std::int32_t>(random_() % 100) - 1;
    switch (event.kind) {
      case EventKind::send:
        stream_.sent(ticks, event.place, event.tag);
        break;
      case EventKind::probe:
        stream_.probed(ticks, event.place, event.tag);
        break;
      case EventKind::arrive:
        stream_.arrived(ticks, event.place, event.tag);
        break;
      case EventKind::sample:
        event.tag = 0;
        event.place.peer = 0;
        event.number = random_();
        event.place.bytes = random_();
        stream_.sampled(ticks, event.place.context, event.place.bytes, event.number);
        break;
      default:
        return write_receive(event);
    }
    return event;
  }

 private:
  // A receive that is over is one that was posted; else one is posted.
  RecordedEvent write_receive(RecordedEvent event) {
    if (event.kind == EventKind::post || under_way_.empty()) {
      event.kind = EventKind::post;
      event.number = stream_.posted(event.ticks, event.place, event.tag);
      under_way_.push_back(event);
      return event;
    }
    const std::size_t chosen = random_() % under_way_.size();
    const RecordedEvent posted = under_way_[chosen];
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(chosen));
    RecordedEvent over = posted;
    over.ticks = event.ticks;
    over.kind = event.kind;
    if (event.kind == EventKind::cancel) {
      stream_.cancelled(event.ticks, posted.number);
    } else if (posted.place.peer >= 0 && posted.tag >= 0) {
      stream_.done(event.ticks, posted.number);
    } else {
      over.place.peer = 7;
      over.tag = 9;
      stream_.done(event.ticks, posted.number, over.place.peer, over.tag);
    }
    return over;
  }

  EventStream& stream_;
  std::mt19937 random_;
  std::vector<RecordedEvent> under_way_;
};

TEST(EventStream, is_read_as_it_was_written) {
  EventStream stream(std::uint64_t{16} << 20);
  stream.start();
  Writer writer(&stream);
  std::mt19937 random(seed() + 1);
  std::vector<RecordedEvent> expected;
  std::uint64_t now = stream.now();
  for (int i = 0; i < 50000; ++i) {
    now += random() % 3 == 0 ? random() : random() % 1000;
    expected.push_back(writer.write(now));
  }
  const std::vector<RecordedEvent> found = events_of(stream);
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_EQ(stream.count(), expected.size());
  EXPECT_TRUE(stream.is_in_order());
  for (std::size_t i = 0; i < found.size(); ++i) expect_equal(found[i], expected[i]);
}

TEST(EventStream, may_go_back_in_time_but_not_before_its_start) {
  EventStream stream(std::uint64_t{1} << 16);
  stream.start();
  const std::uint64_t start = stream.now();
  stream.sent(start + 5000, {}, 1);
  stream.sent(start + 10, {}, 2);
  stream.sent(0, {}, 3);
  EXPECT_FALSE(stream.is_in_order());
  const std::vector<RecordedEvent> found = events_of(stream);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].ticks, start + 5000);
  EXPECT_EQ(found[1].ticks, start + 10);
  EXPECT_LE(found[2].ticks, start);
}

TEST(EventStream, leaves_out_what_comes_when_it_is_full) {
  EventStream stream(4096);
  stream.start();
  std::uint32_t last = 0, posted = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    last = stream.posted(stream.now(), {.context = 1, .peer = 2, .bytes = 8}, 3);
    if (last != EventStream::no_number) posted = last + 1;
  }
  EXPECT_EQ(last, EventStream::no_number);
  EXPECT_GT(posted, 500U);  // a word each
  EXPECT_LT(posted, 513U);
  EXPECT_NE(stream.full_ticks(), UINT64_MAX);
  stream.done(stream.now(), last);
  stream.cancelled(stream.now(), 0);
  EXPECT_EQ(events_of(stream).size(), posted);
  EXPECT_LE(stream.used_bytes(), 4096U);
}

// What most programs do takes a word an event.
TEST(EventStream, takes_eight_bytes_for_what_repeats) {
  EventStream stream(std::uint64_t{1} << 20);
  stream.start();
  std::uint64_t now = stream.now();
  for (int i = 0; i < 1000; ++i) {
    const EventPlace place{.context = 0, .peer = i % 16, .bytes = 64};
    stream.sent(now += 100, place, i);
    const std::uint32_t number = stream.posted(now, place, i);
    stream.done(now += 100, number);
  }
  EXPECT_LT(stream.used_bytes(), 3000U * 8 + 16U * 3 * 8 + 1);
}

}  // namespace
}  // namespace unisono::runtime::event_stream_test
