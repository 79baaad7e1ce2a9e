// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/profile/known.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include "adapter/below/functions.h"
#include "base/guarded.h"

namespace unisono::adapter::profile {
namespace {

std::atomic<unsigned> types_generation{1}, communicators_generation{1}, windows_generation{1},
    requests_generation{1};

// Never destroyed: programs call MPI from their exit handlers.
template <class Value>
Guarded<std::map<std::uintptr_t, Value>>& kept() {
  static auto* map = new Guarded<std::map<std::uintptr_t, Value>>;
  return *map;
}
struct OfCommunicator {
  std::unique_ptr<Partners> partners;
};
struct OfWindow {
  std::unique_ptr<Partners> partners;
};

struct More {
  decltype(&PMPI_Comm_remote_group) Comm_remote_group = nullptr;
  decltype(&PMPI_Win_get_group) Win_get_group = nullptr;
  decltype(&PMPI_Group_size) Group_size = nullptr;
  decltype(&PMPI_Get_elements_x) Get_elements_x = nullptr;
} more;

template <class Function>
void find(Function* function, const char* name) {
  *function = reinterpret_cast<Function>(dlsym(pmpi.library, name));
}

std::vector<int> nodes;  // by rank of the world
int world_rank = 0;

Distance distance_to(int rank) {
  if (rank < 0 || static_cast<std::size_t>(rank) >= nodes.size()) return Distance::unknown;
  if (rank == world_rank) return Distance::same_rank;
  const auto own = static_cast<std::size_t>(world_rank);
  return nodes[static_cast<std::size_t>(rank)] == nodes[own] ? Distance::same_node : Distance::other_node;
}

// Frees the group.
void add_members(MPI_Group group, Partners* partners) {
  int size = 0;
  MPI_Group world = MPI_GROUP_NULL;
  if (!nodes.empty() && more.Group_size(group, &size) == MPI_SUCCESS &&
      pmpi.Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS) {
    std::vector<int> ranks(static_cast<std::size_t>(size)), in_world(ranks.size(), MPI_UNDEFINED);
    std::iota(ranks.begin(), ranks.end(), 0);
    if (pmpi.Group_translate_ranks(group, size, ranks.data(), world, in_world.data()) == MPI_SUCCESS) {
      for (const int rank : in_world)
        partners->distance.push_back(distance_to(rank == MPI_UNDEFINED ? -1 : rank));
    }
  }
  if (!partners->distance.empty()) partners->farthest = *std::ranges::max_element(partners->distance);
  if (world != MPI_GROUP_NULL) pmpi.Group_free(&world);
  pmpi.Group_free(&group);
}

int neighbors(MPI_Comm comm, int rank) {
  int topology = MPI_UNDEFINED, count = 0, sources = 0, is_weighted = 0;
  if (pmpi.Topo_test(comm, &topology) != MPI_SUCCESS) return 0;
  if (topology == MPI_CART) {
    pmpi.Cartdim_get(comm, &count);
    return 2 * count;
  }
  if (topology == MPI_GRAPH) pmpi.Graph_neighbors_count(comm, rank, &count);
  if (topology == MPI_DIST_GRAPH) pmpi.Dist_graph_neighbors_count(comm, &sources, &count, &is_weighted);
  return count;
}

std::unique_ptr<Partners> members_of(MPI_Comm comm) {
  auto found = std::make_unique<Partners>();
  int is_inter = 0;
  pmpi.Comm_rank(comm, &found->rank);
  pmpi.Comm_test_inter(comm, &is_inter);
  MPI_Group group = MPI_GROUP_NULL;
  const int error = is_inter != 0 ? more.Comm_remote_group(comm, &group) : pmpi.Comm_group(comm, &group);
  if (error == MPI_SUCCESS) add_members(group, found.get());
  if (is_inter == 0) found->neighbors = neighbors(comm, found->rank);
  return found;
}

std::unique_ptr<Partners> on_window(MPI_Win window) {
  auto found = std::make_unique<Partners>();
  MPI_Group group = MPI_GROUP_NULL;
  if (more.Win_get_group(window, &group) == MPI_SUCCESS) add_members(group, found.get());
  return found;
}

// The low bits of a pointer say little, those of an int all.
template <class Value, std::size_t count>
Remembered<Value>& place(Remembered<Value> (&places)[count], std::uintptr_t handle) {
  return places[(handle ^ handle >> 7) % count];
}

template <class Kept, class Handle, std::size_t count>
const Partners& remembered(Remembered<const Partners*> (&places)[count], const std::atomic<unsigned>& now,
                           Handle handle, std::unique_ptr<Partners> (*find)(Handle)) {
  const auto bits = widen<std::uintptr_t>(handle);
  const unsigned generation = now.load(std::memory_order_relaxed);
  Remembered<const Partners*>& at = place(places, bits);
  if (at.handle != bits || at.generation != generation) {
    auto all = kept<Kept>().lock();
    std::unique_ptr<Partners>& found = (*all)[bits].partners;
    if (found == nullptr) found = find(handle);
    at = {bits, generation, found.get()};
  }
  return *at.value;
}

template <class Kept>
void forget(std::atomic<unsigned>* generation, std::uintptr_t handle) {
  kept<Kept>().lock()->erase(handle);
  generation->fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void begin_known(const std::vector<int>* node_labels) {
  find(&more.Comm_remote_group, "PMPI_Comm_remote_group");
  find(&more.Win_get_group, "PMPI_Win_get_group");
  find(&more.Group_size, "PMPI_Group_size");
  find(&more.Get_elements_x, "PMPI_Get_elements_x");
  if (node_labels != nullptr) nodes = *node_labels;
  pmpi.Comm_rank(MPI_COMM_WORLD, &world_rank);
}

std::int64_t type_bytes(ThreadTable* table, MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return 0;
  const auto bits = widen<std::uintptr_t>(type);
  const unsigned generation = types_generation.load(std::memory_order_relaxed);
  Remembered<std::int64_t>& at = place(table->type_bytes, bits);
  if (at.handle != bits || at.generation != generation) {
    MPI_Count bytes = 0;
    if (pmpi.Type_size_x(type, &bytes) != MPI_SUCCESS || bytes < 0) bytes = 0;
    at = {bits, generation, static_cast<std::int64_t>(bytes)};
  }
  return at.value;
}

const Partners& partners(ThreadTable* table, MPI_Comm comm) {
  return remembered<OfCommunicator>(table->communicators, communicators_generation, comm, members_of);
}

const Partners& partners_on(ThreadTable* table, MPI_Win window) {
  return remembered<OfWindow>(table->windows, windows_generation, window, on_window);
}

Movement moved_at_start(ThreadTable* table, MPI_Request request) {
  const auto bits = widen<std::uintptr_t>(request);
  const unsigned generation = requests_generation.load(std::memory_order_relaxed);
  Remembered<Movement>& at = place(table->requests, bits);
  if (at.handle != bits || at.generation != generation) {
    auto all = kept<Movement>().lock();
    const auto found = all->find(bits);
    at = {bits, generation, found == all->end() ? Movement{} : found->second};
  }
  return at.value;
}

void remember_start(MPI_Request request, const Movement& movement) {
  kept<Movement>().lock()->insert_or_assign(widen<std::uintptr_t>(request), movement);
  requests_generation.fetch_add(1, std::memory_order_relaxed);
}

void forget_type() {
  types_generation.fetch_add(1, std::memory_order_relaxed);
}

void forget_communicator(std::uintptr_t comm) {
  forget<OfCommunicator>(&communicators_generation, comm);
}

void forget_window(std::uintptr_t window) {
  forget<OfWindow>(&windows_generation, window);
}

void forget_request(std::uintptr_t request) {
  forget<Movement>(&requests_generation, request);
}

std::int64_t received_bytes(const MPI_Status& status) {
  MPI_Count bytes = 0;
  if (more.Get_elements_x == nullptr || more.Get_elements_x(&status, MPI_BYTE, &bytes) != MPI_SUCCESS ||
      bytes == MPI_UNDEFINED)
    return -1;
  return static_cast<std::int64_t>(bytes);
}

}  // namespace unisono::adapter::profile
