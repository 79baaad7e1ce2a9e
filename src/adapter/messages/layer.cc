// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/messages/layer.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "adapter/below/nesting.h"
#include "adapter/messages/message_calls.h"
#include "adapter/messages/own_requests.h"
#include "adapter/messages/statuses.h"
#include "base/environment.h"
#include "base/mutex.h"
#include "base/options.h"
#include "runtime/runtime.h"

namespace unisono::adapter::messages {

runtime::Messages* layer = nullptr;
__thread RememberedComm remembered[remembered_comms];
std::atomic<unsigned> generation{1};
int largest_tag = 32767;
std::uintptr_t first_place = 0, end_of_places = 0;

namespace {

MpiHost* host_below = nullptr;
Mutex mutex;
std::unordered_map<std::uintptr_t, std::unique_ptr<OwnComm>> comms UNISONO_GUARDED_BY(mutex);
// What a thread is freeing, which it alone knows still: the functions of its attributes, which the MPI calls
// then, may use it. Not thread-local: a library that is loaded late has little room for that.
struct Freed {
  std::thread::id by;
  const OwnComm* own;
};
std::vector<Freed> freed UNISONO_GUARDED_BY(mutex);

const OwnComm* being_freed(MPI_Comm comm) UNISONO_REQUIRES(mutex) {
  const auto found = std::ranges::find_if(freed, [comm](const Freed& one) {
    return one.own->comm == comm && one.by == std::this_thread::get_id();
  });
  return found == freed.end() ? nullptr : found->own;
}

void keep(std::unique_ptr<OwnComm> own) {
  const LockGuard lock(mutex);
  const auto handle = widen<std::uintptr_t>(own->comm);
  comms[handle] = std::move(own);
  generation.fetch_add(1, std::memory_order_release);
}

}  // namespace

MpiHost& host_of_messages() {
  return *host_below;
}

const std::string& asked_for() {
  static const std::string asked = [] {
    std::vector<std::string> warnings;
    return read_options(Environment::of_process(), &warnings).messages;
  }();
  return asked;
}

void begin(MpiHost& host) {
  host_below = &host;
  layer = runtime::messages();
  if (layer == nullptr) return;
  // Rank 0 asks for it. Where another rank does not its functions are the MPI's own.
  std::uint64_t is_wanted_by_all = is_wanted() ? 1 : 0;
  host.agree(&is_wanted_by_all, 1, host::AgreeOp::band, host.world());
  if (is_wanted_by_all == 0) layer = nullptr;
  if (layer == nullptr) return;
  const runtime::RequestTable& requests = layer->requests();
  first_place = requests.begin();
  end_of_places = requests.begin() + requests.bytes();
  int* value = nullptr;
  int is_set = 0;
  if (pmpi.Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&value), &is_set) == MPI_SUCCESS &&
      is_set != 0)
    largest_tag = *value;
  begin_statuses();
  begin_leaked();
  begin_own_requests();
  begin_conversions();
  open(MPI_COMM_WORLD);
  open(MPI_COMM_SELF);
}

void end() {
  layer = nullptr;
  generation.fetch_add(1, std::memory_order_release);
}

void open(MPI_Comm comm) {
  if (!is_on()) return;
  const std::optional<std::uint32_t> context = layer->open(widen<host::Comm>(comm));
  if (!context) return;
  auto own = std::make_unique<OwnComm>();
  own->comm = comm;
  own->context = *context;
  pmpi.Comm_rank(comm, &own->rank);
  pmpi.Comm_size(comm, &own->size);
  keep(std::move(own));
}

std::unique_ptr<OwnComm> forget(MPI_Comm comm) {
  if (!is_on()) return nullptr;
  const LockGuard lock(mutex);
  const auto found = comms.find(widen<std::uintptr_t>(comm));
  if (found == comms.end()) return nullptr;
  std::unique_ptr<OwnComm> own = std::move(found->second);
  comms.erase(found);
  freed.push_back({std::this_thread::get_id(), own.get()});
  generation.fetch_add(1, std::memory_order_release);
  return own;
}

void end_forgotten(std::unique_ptr<OwnComm> own, bool has_ended) {
  if (own == nullptr) return;
  {
    const LockGuard lock(mutex);
    std::erase_if(freed, [&own](const Freed& one) { return one.own == own.get(); });
    generation.fetch_add(1, std::memory_order_release);
  }
  if (!is_on()) return;
  if (has_ended) return layer->close(own->context);
  keep(std::move(own));
}

const OwnComm* look_up(MPI_Comm comm, RememberedComm* place) {
  const LockGuard lock(mutex);
  const auto found = comms.find(widen<std::uintptr_t>(comm));
  const OwnComm* own = found == comms.end() ? being_freed(comm) : found->second.get();
  *place = {comm, generation.load(std::memory_order_relaxed), own};
  return own;
}

}  // namespace unisono::adapter::messages
