// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/worlds.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "adapter/below/parents.h"
#include "base/environment.h"
#include "base/mutex.h"
#include "runtime/runtime.h"

namespace unisono::adapter {
namespace {

constexpr std::size_t board_bytes = 4096;

// Parents and children, all of whom have Unisono.
struct Kinship {
  MPI_Group members = MPI_GROUP_NULL;
};
Mutex mutex;
std::vector<Kinship> kinships UNISONO_GUARDED_BY(mutex);
// Of the process that was spawned, until it is known whether all have come.
std::unique_ptr<SpawnBoard> own_board UNISONO_GUARDED_BY(mutex);
std::atomic<bool> has_kin{false};  // is any of the two there? Most programs spawn nothing

std::optional<SpawnedAs> told_of_itself() {
  return SpawnedAs::from_text(Environment::of_process().find(spawned_variable).value_or(""));
}

bool holds_all(MPI_Group group, MPI_Group of) {
  int count = 0;
  if (pmpi.Group_size(group, &count) != MPI_SUCCESS) return false;
  std::vector<int> ranks(static_cast<std::size_t>(count)), there(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return pmpi.Group_translate_ranks(group, count, ranks.data(), of, there.data()) == MPI_SUCCESS &&
         std::ranges::count(there, MPI_UNDEFINED) == 0;
}

bool is_inside_world(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  if (pmpi.Comm_group(comm, &group) != MPI_SUCCESS) return false;
  const bool is_inside = pmpi.Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS && holds_all(group, world);
  pmpi.Group_free(&group);
  if (world != MPI_GROUP_NULL) pmpi.Group_free(&world);
  return is_inside;
}

// The processes of `comm`, and those of the other side of `between`.
void keep_kinship(MPI_Comm comm, MPI_Comm between) UNISONO_REQUIRES(mutex) {
  MPI_Group own = MPI_GROUP_NULL, others = MPI_GROUP_NULL;
  Kinship kinship;
  if (pmpi.Comm_group(comm, &own) == MPI_SUCCESS && pmpi.Comm_remote_group(between, &others) == MPI_SUCCESS &&
      pmpi.Group_union(own, others, &kinship.members) == MPI_SUCCESS)
    kinships.push_back(kinship);
  if (own != MPI_GROUP_NULL) pmpi.Group_free(&own);
  if (others != MPI_GROUP_NULL) pmpi.Group_free(&others);
}

// Parents settle it behind their MPI_Comm_spawn, which this process's MPI_Init has ended.
void learn_of_parents() UNISONO_REQUIRES(mutex) {
  if (own_board == nullptr) return;
  const std::unique_ptr<SpawnBoard> board = std::move(own_board);
  MPI_Comm parents = MPI_COMM_NULL;
  if (pmpi.Comm_get_parent(&parents) != MPI_SUCCESS || parents == MPI_COMM_NULL) return;
  if (board->have_all_come()) keep_kinship(MPI_COMM_WORLD, parents);
}

bool are_kin(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  if (pmpi.Comm_group(comm, &group) != MPI_SUCCESS) return false;
  bool are = false;
  {
    const LockGuard lock(mutex);
    learn_of_parents();
    // The last spawn's are asked for as a rule.
    for (auto kinship = kinships.rbegin(); kinship != kinships.rend() && !are; ++kinship)
      are = holds_all(group, kinship->members);
  }
  pmpi.Group_free(&group);
  return are;
}

// Does Unisono run in all, and is it the same one?
bool agree_to_join(MpiHost& host, MPI_Comm comm) {
  const std::uint64_t version = std::hash<std::string_view>()(UNISONO_VERSION);
  std::uint64_t least[] = {runtime::is_running() ? 1U : 0U, version, ~version};
  return host.agree(least, 3, host::AgreeOp::min, widen<host::Comm>(comm)) == MPI_SUCCESS && least[0] == 1 &&
         least[1] == ~least[2];
}

}  // namespace

struct SpawnBoard::Shared {
  std::atomic<std::uint32_t> come, verdict;  // 0: not yet
};
namespace {
constexpr std::uint32_t all_have_come = 1, not_all = 2;
}  // namespace

SpawnBoard::SpawnBoard(std::unique_ptr<shm::Segment> segment, std::uint64_t nonce)
    : segment_(std::move(segment)), nonce_(nonce), shared_(reinterpret_cast<Shared*>(segment_->address())) {}

std::unique_ptr<SpawnBoard> SpawnBoard::make() {
  const std::uint64_t nonce = shm::draw_nonce();
  std::string why;
  auto segment = shm::Segment::create(shm::SegmentKind::memfd, nonce, board_bytes, board_bytes, &why);
  if (segment == nullptr) return nullptr;
  return std::unique_ptr<SpawnBoard>(new SpawnBoard(std::move(segment), nonce));
}

std::unique_ptr<SpawnBoard> SpawnBoard::find(const SpawnedAs& place) {
  std::string why;
  if (place.descriptor < 0) return nullptr;
  auto segment = shm::Segment::open_memfd(place.process_id, place.descriptor, place.nonce, &why);
  if (segment == nullptr) return nullptr;
  return std::unique_ptr<SpawnBoard>(new SpawnBoard(std::move(segment), place.nonce));
}

void SpawnBoard::describe(SpawnedAs* place) const {
  place->process_id = ::getpid();
  place->descriptor = segment_->descriptor();
  place->nonce = nonce_;
}

void SpawnBoard::come() {
  shared_->come.fetch_add(1);
}

bool SpawnBoard::settle(int spawned) {
  const bool have_all = shared_->come.load() == static_cast<std::uint32_t>(spawned);
  shared_->verdict.store(have_all ? all_have_come : not_all);
  return have_all;
}

bool SpawnBoard::have_all_come() const {
  std::uint32_t verdict = 0;
  while ((verdict = shared_->verdict.load()) == 0) std::this_thread::yield();
  return verdict == all_have_come;
}

void come_to_world() {
  const std::optional<SpawnedAs> told = told_of_itself();
  if (!told) return;
  auto board = SpawnBoard::find(*told);
  if (board == nullptr) return;
  board->come();
  const LockGuard lock(mutex);
  own_board = std::move(board);
  has_kin = true;
}

std::string name_of_spawned() {
  if (!is_spawned()) return {};
  const std::optional<SpawnedAs> told = told_of_itself();
  return told ? told->name : std::to_string(::getpid());
}

void begin_world(MpiHost& host, MPI_Comm comm, int root, SpawnBoard* board, MPI_Comm between) {
  // Processes of other worlds might not come to this.
  if (!is_inside_world(comm)) {
    if (board != nullptr) board->settle(nobody);
    return;
  }
  int spawned = 0;
  std::uint32_t verdict = not_all;
  if (board != nullptr && pmpi.Comm_remote_size(between, &spawned) == MPI_SUCCESS && board->settle(spawned))
    verdict = all_have_come;
  if (host.bcast_bytes(&verdict, sizeof verdict, root, widen<host::Comm>(comm)) != MPI_SUCCESS ||
      verdict != all_have_come)
    return;
  const LockGuard lock(mutex);
  keep_kinship(comm, between);
  has_kin = true;
}

void join_worlds(MpiHost& host, MPI_Comm merged) {
  if (!has_kin || is_inside_world(merged) || !are_kin(merged)) return;
  if (!agree_to_join(host, merged)) return;
  auto across = std::make_unique<MpiHost>();
  across->begin_across(host, merged);
  runtime::serve_across(std::move(across));
}

}  // namespace unisono::adapter
