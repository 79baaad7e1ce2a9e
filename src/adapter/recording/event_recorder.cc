// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/recording/event_recorder.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <unordered_map>

#include "adapter/messages/layer.h"
#include "adapter/recording/queue_samples.h"

namespace unisono::adapter::recording {

std::atomic<Recorder*> recorder{nullptr};

namespace {

constexpr std::uint32_t most_context = (1U << 28) - 1;
constexpr std::uint32_t first_hashed_context = 2;  // 0 is the world, 1 a rank alone

std::unordered_map<std::uintptr_t, std::unique_ptr<Known>>& comms() {
  static auto* all = new std::unordered_map<std::uintptr_t, std::unique_ptr<Known>>;
  return *all;
}
// How many communicators had these members so far.
std::map<std::uint64_t, std::uint32_t>& made_before() {
  static auto* all = new std::map<std::uint64_t, std::uint32_t>;
  return *all;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0xFF51AFD7ED558CCDULL;
  return hash ^ hash >> 29;
}

// Ranks of the world; frees the group.
std::vector<int> members_of(MPI_Group group, int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size)), in_world(ranks.size(), MPI_UNDEFINED);
  std::iota(ranks.begin(), ranks.end(), 0);
  MPI_Group world = MPI_GROUP_NULL;
  if (pmpi.Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS) {
    pmpi.Group_translate_ranks(group, size, ranks.data(), world, in_world.data());
    pmpi.Group_free(&world);
  }
  pmpi.Group_free(&group);
  return in_world;
}

std::vector<int> own_members(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  int size = 0;
  if (pmpi.Comm_group(comm, &group) != MPI_SUCCESS || pmpi.Comm_size(comm, &size) != MPI_SUCCESS) return {};
  return members_of(group, size);
}

std::vector<int> remote_members(MPI_Comm comm) {
  static const auto remote_group =
      reinterpret_cast<decltype(&PMPI_Comm_remote_group)>(dlsym(pmpi.library, "PMPI_Comm_remote_group"));
  MPI_Group group = MPI_GROUP_NULL;
  int size = 0;
  if (remote_group == nullptr || remote_group(comm, &group) != MPI_SUCCESS ||
      pmpi.Comm_remote_size(comm, &size) != MPI_SUCCESS)
    return {};
  return members_of(group, size);
}

std::uint64_t hash_of(const std::vector<int>& members) {
  std::uint64_t hash = members.size();
  for (const int member : members) hash = mixed(hash, static_cast<std::uint64_t>(member) + 1);
  return hash;
}

}  // namespace

// --- Requests ---

Requests::Requests() {
  constexpr int bits = 10;
  slots_.resize(std::size_t{1} << bits);
  shift_ = 64 - bits;
}

Request* Requests::find(std::uint64_t handle) {
  for (std::size_t i = place(handle);; i = (i + 1) & mask()) {
    if (slots_[i].handle == handle) return &slots_[i];
    if (slots_[i].handle == 0) return nullptr;
  }
}

void Requests::insert(Request request) {
  if (2 * (count_ + 1) > slots_.size()) grow();
  std::size_t i = place(request.handle);
  while (slots_[i].handle != 0 && slots_[i].handle != request.handle) i = (i + 1) & mask();
  if (slots_[i].handle == 0) ++count_;
  slots_[i] = std::move(request);
}

void Requests::erase(Request* request) {
  std::size_t hole = static_cast<std::size_t>(request - slots_.data());
  --count_;
  // Those behind it that would not be found any more move up.
  for (std::size_t i = (hole + 1) & mask(); slots_[i].handle != 0; i = (i + 1) & mask()) {
    const std::size_t wanted = place(slots_[i].handle);
    const std::size_t from_hole = (i - hole) & mask(), from_wanted = (i - wanted) & mask();
    if (from_wanted < from_hole) continue;
    slots_[hole] = std::move(slots_[i]);
    hole = i;
  }
  slots_[hole] = {};
}

void Requests::grow() {
  std::vector<Request> old(2 * slots_.size());
  old.swap(slots_);
  --shift_;
  count_ = 0;
  for (Request& request : old)
    if (request.handle != 0) insert(std::move(request));
}

// --- Events ---

void Recorder::received(const Known& known, std::uint32_t number, bool had_wildcard, const MPI_Status& status,
                        std::uint64_t now) {
  if (!had_wildcard) return events.done(now, number);
  if (status.MPI_SOURCE < 0 || status.MPI_TAG < 0) return;
  events.done(now, number, known.world_rank[static_cast<std::size_t>(status.MPI_SOURCE)], status.MPI_TAG);
}

Recorder::Recorder(std::uint64_t bytes, runtime::EventStream* queues)
    : events(queues == nullptr ? bytes : bytes / 2), of_queues(queues) {
  events.start();
  if (queues != nullptr) queues->start();
}

const Known* Recorder::with_queues(std::uint32_t context) const {
  const auto found = with_queues_.find(context);
  return found == with_queues_.end() ? nullptr : found->second;
}

std::vector<std::uint32_t> Recorder::exact_contexts() const {
  std::vector<std::uint32_t> contexts;
  for (const auto& [number, known] : with_queues_) contexts.push_back(known->context);
  return contexts;
}

// --- Communicators and types ---

const Known* Recorder::known(MPI_Comm comm) {
  if (comm != comm_ || known_ == nullptr) {
    const auto found = comms().find(widen<std::uintptr_t>(comm));
    known_ = found == comms().end() ? make(comm) : found->second.get();
    comm_ = comm;
  }
  if (!known_->is_left_out) return known_;
  ++left_out;
  return nullptr;
}

void Recorder::made(MPI_Comm comm) {
  forget(comm);
  make(comm);
}

void Recorder::forget(MPI_Comm comm) {
  if (comm == comm_) known_ = nullptr;
  // Requests may still need it.
  const auto found = comms().find(widen<std::uintptr_t>(comm));
  if (found == comms().end()) return;
  end_samples(found->second.get());
  static auto* ended = new std::vector<std::unique_ptr<Known>>;
  ended->push_back(std::move(found->second));
  comms().erase(found);
}

Known* Recorder::make(MPI_Comm comm) {
  auto known = std::make_unique<Known>();
  int is_inter = 0;
  pmpi.Comm_test_inter(comm, &is_inter);
  const std::vector<int> own = own_members(comm);
  known->world_rank = is_inter != 0 ? remote_members(comm) : own;
  known->is_left_out = known->world_rank.empty() ||
                       std::ranges::find(known->world_rank, MPI_UNDEFINED) != known->world_rank.end();
  const std::uint64_t hash = is_inter != 0 ? hash_of(own) + hash_of(known->world_rank) + 1 : hash_of(own);
  const std::uint32_t before = made_before()[hash]++;
  known->context = first_hashed_context +
                   static_cast<std::uint32_t>(mixed(hash, before) % (most_context - first_hashed_context));
  if (comm == MPI_COMM_WORLD) known->context = 0;
  if (comm == MPI_COMM_SELF) known->context = 1;
  if (const messages::OwnComm* own = of_queues == nullptr ? nullptr : messages::own_comm(comm)) {
    known->is_exact = true;
    with_queues_[own->context] = known.get();
  }
  return (comms()[widen<std::uintptr_t>(comm)] = std::move(known)).get();
}

std::uint64_t Recorder::type_bytes(MPI_Datatype type) {
  if (type == type_) return type_bytes_;
  MPI_Count bytes = 0;
  if (type == MPI_DATATYPE_NULL || pmpi.Type_size_x(type, &bytes) != MPI_SUCCESS || bytes < 0) return 0;
  type_ = type;
  return type_bytes_ = static_cast<std::uint64_t>(bytes);
}

}  // namespace unisono::adapter::recording
