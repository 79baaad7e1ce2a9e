// SPDX-License-Identifier: BSD-3-Clause
// Communicators' slices of the node's pool: who takes the memory, who uses it, who gives it back.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "runtime/communicators/communicator.h"
#include "runtime/communicators/queues_lock.h"
#include "runtime/communicators/set_up_aside.h"
#include "runtime/world/world.h"

namespace unisono::runtime {

class Slices {
 public:
  explicit Slices(const World& world) : world_(world) {}

  // Of all ranks, or of none, where the pool of a node is full: then each rank is a node of its own.
  // Collective.
  void attach(Communicator& c);
  // The same of a place for a persistent call of so many bytes, all blocks together; 0: not known. False
  // where there is no room, on all ranks alike.
  bool attach_place(Communicator& c, std::int64_t bytes);
  // Takes a slice for a node's first rank, of so many windows of the pool (shm::Pool::allocate); `use`: on
  // all of its ranks.
  SliceOffer reserve(const Communicator& c, int windows = 0) const;
  void use(Communicator& c, const SliceOffer& offer) const;
  // Before each call that does not block: the slice that it uses, null: none. Such calls use no streams.
  shm::Slice* of_next_start(Communicator& c) UNISONO_REQUIRES(held_queues);
  void say_pool_is_full(std::string_view what_follows);

 private:
  using Reserve = std::function<SliceOffer(int windows)>;
  std::size_t buffer_bytes(std::size_t locals) const;
  shm::SliceShape shape_of(const Communicator& c, const SliceOffer& offer) const;
  std::int64_t wanted_stream_bytes(const Communicator& c) const;
  SliceOffer reserve_place(const Communicator& c, std::int64_t bytes, int windows) const;
  bool allocate(const Communicator& c, int windows, SliceOffer* offer) const;
  bool offer(Communicator& c, const Reserve& reserve, int windows, std::vector<SliceOffer>* offers) const;
  bool attach(Communicator& c, const Reserve& reserve) const;
  std::unique_ptr<shm::Slice> make(const Communicator& c, const SliceOffer& offer) const;

  const World& world_;
  Mutex mutex_;
  bool is_pool_full_said_ UNISONO_GUARDED_BY(mutex_) = false;
};

}  // namespace unisono::runtime
