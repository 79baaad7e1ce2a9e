// SPDX-License-Identifier: BSD-3-Clause
#include "agents/rank_channel.h"

#include <cstring>

#include "base/short_copy.h"

namespace unisono::agents {
namespace {

constexpr std::size_t page_size = 4096;

constexpr std::size_t up_to(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

ChannelMemory memory_at(const AgentSegment& segment, int place) {
  char* memory = segment.at(segment.header().places[static_cast<std::size_t>(place)].offset);
  const ChannelShape& shape = *reinterpret_cast<ChannelShape*>(memory);
  return {memory, shape.nodes, shape.ranks};
}

// A place keeps its memory for whoever takes it next. Ranks alone reserve and release: they do not die while
// others live on.
bool give_memory(const AgentSegment& segment, ChannelPlace* place, std::size_t bytes) {
  if (place->bytes >= bytes) return true;
  if (place->bytes != 0) segment.release(static_cast<std::int64_t>(place->offset));
  place->bytes = 0;
  const std::int64_t offset = segment.reserve(bytes);
  if (offset < 0) return false;
  place->offset = static_cast<std::uint64_t>(offset);
  place->bytes = bytes;
  return true;
}

}  // namespace

std::size_t ChannelMemory::schedules_at(std::int32_t nodes) {
  return up_to(sizeof(ChannelShape) + static_cast<std::size_t>(nodes) * sizeof(std::int32_t), sizeof(Line));
}
std::size_t ChannelMemory::lines_at(std::int32_t nodes) {
  return up_to(schedules_at(nodes) + most_schedules * sizeof(Schedule), sizeof(Line));
}
std::size_t ChannelMemory::answers_at(std::int32_t nodes, std::int32_t ranks) {
  return lines_at(nodes) + window * static_cast<std::size_t>(ranks) * sizeof(Line);
}
std::size_t ChannelMemory::areas_at(std::int32_t nodes, std::int32_t ranks) {
  return up_to(answers_at(nodes, ranks) + answers_kept * sizeof(Answer), page_size);
}
std::size_t ChannelMemory::bytes(std::int32_t nodes, std::int32_t ranks) {
  return areas_at(nodes, ranks) + (window * static_cast<std::size_t>(ranks) + answers_kept) * most_bytes;
}

void ChannelMemory::clear() const {
  std::memset(memory_, 0, schedules_at(nodes_));
  std::memset(memory_ + lines_at(nodes_), 0, areas_at(nodes_, ranks_) - lines_at(nodes_));
}

bool RankChannel::make(const AgentSegment& segment, int place, const ChannelShape& shape,
                       const std::vector<std::int32_t>& agents) {
  ChannelPlace& taken = segment.header().places[static_cast<std::size_t>(place)];
  if (!give_memory(segment, &taken, ChannelMemory::bytes(shape.nodes, shape.ranks))) {
    taken.state.store(ChannelPlace::State::free, std::memory_order_release);
    return false;
  }
  taken.users.store(shape.ranks, std::memory_order_relaxed);
  const ChannelMemory memory(segment.at(taken.offset), shape.nodes, shape.ranks);
  memory.clear();
  memory.shape() = shape;
  std::memcpy(memory.agents(), agents.data(), agents.size() * sizeof agents[0]);
  taken.state.store(ChannelPlace::State::open, std::memory_order_release);
  segment.header().changes.fetch_add(1, std::memory_order_acq_rel);
  shm::ring(&segment.header().bell);
  return true;
}

RankChannel::RankChannel(const AgentSegment& segment, int place, int rank)
    : segment_(segment), place_(place), rank_(rank), memory_(memory_at(segment, place)) {}

RankChannel::~RankChannel() {
  ChannelPlace& place = segment_.header().places[static_cast<std::size_t>(place_)];
  if (place.users.fetch_sub(1, std::memory_order_acq_rel) == 1) unmake(segment_, place_);
}

void RankChannel::unmake(const AgentSegment& segment, int place) {
  SegmentHeader& header = segment.header();
  header.places[static_cast<std::size_t>(place)].state.store(ChannelPlace::State::closed,
                                                             std::memory_order_release);
  header.changes.fetch_add(1, std::memory_order_acq_rel);
  shm::ring(&header.bell);
}

std::uint64_t RankChannel::post(Descriptor descriptor, const void* operand, std::size_t bytes) {
  const std::uint64_t number = ++posted_;
  Line& line = memory_.line(number, rank_);
  if (is_first() && descriptor.schedule < most_schedules) {
    kept_[descriptor.schedule].last_number = number;
    descriptor.schedule_version = version(descriptor.schedule);
  }
  line.descriptor = descriptor;
  if (operand != nullptr)
    copy_bytes(bytes <= Line::inline_bytes ? line.data : memory_.area(number, rank_), operand, bytes);
  line.number.store(number, std::memory_order_release);
  shm::ring(&segment_.header().bell);
  return number;
}

int RankChannel::find(const ScheduleKey& key) const {
  for (int index = 0; index < most_schedules; ++index) {
    const Kept& kept = kept_[static_cast<std::size_t>(index)];
    if (kept.is_used && kept.key == key) return index;
  }
  return -1;
}

int RankChannel::keep(const ScheduleKey& key, std::string_view form) {
  if (form.size() > most_schedule_bytes) return -1;
  std::size_t oldest = 0;
  for (std::size_t index = 0; index < kept_.size(); ++index) {
    if (kept_[index].last_number < kept_[oldest].last_number) oldest = index;
  }
  Schedule& schedule = memory_.schedule(static_cast<int>(oldest));
  ++schedule.version;
  schedule.bytes = static_cast<std::uint32_t>(form.size());
  std::memcpy(schedule.form, form.data(), form.size());
  kept_[oldest] = {.key = key, .is_used = true, .last_number = posted_ + 1};
  return static_cast<int>(oldest);
}

}  // namespace unisono::agents
