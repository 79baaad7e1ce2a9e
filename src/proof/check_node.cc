// SPDX-License-Identifier: BSD-3-Clause
#include "proof/check_node.h"

#include <algorithm>

namespace unisono::proof {

NodeMemory::NodeMemory(int local_size, int channels, std::int64_t area_elements)
    : local_size_(local_size),
      channels_(channels),
      threads_(channels + 1),
      area_elements_(area_elements),
      clocks_(static_cast<std::size_t>(local_size * threads_), start_clock()),
      flags_(static_cast<std::size_t>(channels * local_size)),
      uses_(channels),
      cells_(channels),
      marks_(channels),
      exposures_(channels) {
  for (int channel = 0; channel < channels; ++channel) {
    cells_[channel].resize(local_size * area_elements);
    marks_[channel].resize(local_size * area_elements);
  }
}

ChannelUse NodeMemory::begin_use(int channel, const SlotGeometry& geometry, std::int64_t pieces, int ticks) {
  Channel& state = uses_[channel];
  if (state.geometry.is_common != geometry.is_common || state.geometry.buffers != geometry.buffers ||
      state.geometry.slot_elements != geometry.slot_elements) {
    state.geometry = geometry;
    state.base_piece = 0;
    state.epoch_tick = state.base_tick;
    state.end_ticks.clear();
  }
  ChannelUse use{channel, geometry, pieces, ticks, state.base_tick, state.base_piece, state.epoch_tick, {}};
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    state.end_ticks.push_back(state.base_tick + static_cast<std::uint64_t>((piece + 1) * ticks));
    const std::int64_t number = static_cast<std::int64_t>(state.base_piece) + piece;
    use.space_tick.push_back(number < geometry.buffers ? state.epoch_tick
                                                       : state.end_ticks[number - geometry.buffers]);
  }
  state.base_piece += static_cast<std::uint64_t>(pieces);
  state.base_tick += static_cast<std::uint64_t>(pieces * ticks);
  return use;
}

void NodeMemory::join(Clock* clock, const Clock& other) {
  for (std::size_t i = 0; i < other.size(); ++i) (*clock)[i] = std::max((*clock)[i], other[i]);
}

void NodeMemory::join_threads(int local_rank) {
  Clock& first = clock(local_rank, 0);
  for (int thread = 1; thread < threads_; ++thread) join(&first, clock(local_rank, thread));
  for (int thread = 1; thread < threads_; ++thread) clock(local_rank, thread) = first;
}

void NodeMemory::set_flag(int channel, int local_rank, const Signal& signal) {
  Flag& flag = flags_[index(channel, local_rank)];
  flag.value = signal.tick;
  flag.history.push_back(signal);
}

const NodeMemory::Signal& NodeMemory::signal(int channel, int local_rank, std::uint64_t tick) const {
  const auto& history = flags_[index(channel, local_rank)].history;
  return *std::lower_bound(history.begin(), history.end(), tick,
                           [](const Signal& signal, std::uint64_t wanted) { return signal.tick < wanted; });
}

std::int64_t NodeMemory::address(const ChannelUse& use, std::int64_t piece, int owner, int lane,
                                 std::int64_t offset) const {
  const auto slot = static_cast<std::int64_t>((use.base_piece + static_cast<std::uint64_t>(piece)) %
                                              static_cast<std::uint64_t>(use.geometry.buffers));
  const std::int64_t area = use.geometry.is_common ? 0 : owner * area_elements_;
  return area + slot * use.geometry.slot_elements + lane * use.geometry.lane_elements + offset;
}

std::string NodeMemory::mark_read(Mark* mark, const Clock& clock, int local_rank, int thread) {
  std::string found;
  if (mark->writer >= 0 && !has_happened(clock, mark->writer, thread, mark->writer_index)) {
    found = "reads what local rank " + std::to_string(mark->writer) + " may not have written yet";
  }
  reads_.push_back({local_rank, clock[local_rank * threads_ + thread], mark->readers});
  mark->readers = static_cast<std::int32_t>(reads_.size()) - 1;
  return found;
}

std::string NodeMemory::mark_write(Mark* mark, const Clock& clock, int local_rank, int thread) {
  std::string found;
  if (mark->writer >= 0 && !has_happened(clock, mark->writer, thread, mark->writer_index)) {
    found = "writes where local rank " + std::to_string(mark->writer) + " may be writing";
  }
  for (std::int32_t i = mark->readers; i >= 0 && found.empty(); i = reads_[i].next) {
    if (!has_happened(clock, reads_[i].local_rank, thread, reads_[i].index)) {
      found = "overwrites what local rank " + std::to_string(reads_[i].local_rank) + " may not have read yet";
    }
  }
  mark->writer = local_rank;
  mark->writer_index = clock[local_rank * threads_ + thread];
  mark->readers = -1;
  return found;
}

std::string NodeMemory::read(int channel, std::int64_t address, std::int64_t length, int local_rank,
                             const Clock& clock) {
  std::string found;
  for (std::int64_t i = address; i < address + length && found.empty(); ++i) {
    found = mark_read(&marks_[channel][i], clock, local_rank, channel);
  }
  return found;
}

std::string NodeMemory::write(int channel, std::int64_t address, std::int64_t length, int local_rank,
                              const Clock& clock) {
  std::string found;
  for (std::int64_t i = address; i < address + length && found.empty(); ++i) {
    found = mark_write(&marks_[channel][i], clock, local_rank, channel);
  }
  return found;
}

NodeMemory::Exposed& NodeMemory::exposed(const ChannelUse& use, std::int64_t piece, int owner) {
  const auto slot =
      (use.base_piece + static_cast<std::uint64_t>(piece)) % static_cast<std::uint64_t>(use.geometry.buffers);
  auto& list = exposures_[use.channel];
  const std::size_t wanted = slot * local_size_ + owner;
  if (list.size() <= wanted) list.resize(wanted + 1);
  return list[wanted];
}

std::string NodeMemory::expose(const ChannelUse& use, std::int64_t piece, int local_rank, int call) {
  Exposed& slot = exposed(use, piece, local_rank);
  slot.call = call;
  return mark_write(&slot.mark, clock(local_rank, use.channel), local_rank, use.channel);
}

std::string NodeMemory::see_exposed(const ChannelUse& use, std::int64_t piece, int owner, int local_rank,
                                    int call) {
  Exposed& slot = exposed(use, piece, owner);
  if (slot.call != call) return "local rank " + std::to_string(owner) + " has not exposed its buffers";
  return mark_read(&slot.mark, clock(local_rank, use.channel), local_rank, use.channel);
}

}  // namespace unisono::proof
