// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/spawn.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "adapter/below/functions.h"
#include "adapter/below/nesting.h"
#include "adapter/life.h"
#include "adapter/shim_line.h"
#include "adapter/worlds.h"
#include "runtime/runtime.h"

namespace unisono::adapter {
namespace {

std::atomic<int> spawns{0};

// What the root of a spawn has prepared: the programs with the shim before each, or nothing.
class Preparation {
 public:
  Preparation(MPI_Comm comm, int root) {
    int rank = -1, is_inter = 0;
    is_ours_ = nesting == 0 && is_alive() && comm != MPI_COMM_NULL && runtime::serves_spawned();
    const Nested nested;
    is_root_ = is_ours_ && pmpi.Comm_test_inter(comm, &is_inter) == MPI_SUCCESS && is_inter == 0 &&
               pmpi.Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
    if (!is_root_) return;
    int in_world = 0;
    pmpi.Comm_rank(MPI_COMM_WORLD, &in_world);
    const std::string own = name_of_spawned();
    told_.name = own + (own.empty() ? "" : ".") + std::to_string(in_world) + "." + std::to_string(++spawns);
    board_ = SpawnBoard::make();
    if (board_ != nullptr) board_->describe(&told_);
  }

  bool is_root() const { return is_root_; }

  // False: nothing can be done with this program, nor with the others.
  bool add(const char* command, char* const arguments[], MPI_Info info) {
    const Nested nested;
    lines_.push_back(ShimLine::of(command, arguments, info, told_.text()));
    if (lines_.back() == nullptr) lines_.clear();
    return !lines_.empty();
  }
  // Programs with Unisono and without it cannot be one world.
  void finish() {
    const bool is_mixed = std::ranges::any_of(
        lines_, [this](const auto& line) { return line->is_loadable() != lines_.front()->is_loadable(); });
    if (is_mixed) lines_.clear();
  }

  const std::vector<std::unique_ptr<ShimLine>>& lines() const { return lines_; }

  // Behind the host's call, on all ranks.
  int end(int result, int root, MPI_Comm comm, const MPI_Comm* made) {
    if (!is_ours_) return result;
    const Nested nested;
    if (result != MPI_SUCCESS || !runtime::is_running()) {
      // There may be children all the same, which wait for the answer.
      if (board_ != nullptr) board_->settle(nobody);
      return result;
    }
    const MPI_Comm between = *made;
    int spawned = 0;
    if (is_root_ && pmpi.Comm_remote_size(between, &spawned) == MPI_SUCCESS) runtime::has_spawned(spawned);
    begin_world(host_of_job(), comm, root, lines_.empty() ? nullptr : board_.get(), between);
    return result;
  }

 private:
  bool is_ours_ = false, is_root_ = false;
  SpawnedAs told_;
  std::unique_ptr<SpawnBoard> board_;
  std::vector<std::unique_ptr<ShimLine>> lines_;
};

}  // namespace

int comm_spawn(const char* command, char* arguments[], int most, MPI_Info info, int root, MPI_Comm comm,
               MPI_Comm* between, int errors[]) {
  Preparation preparation(comm, root);
  if (preparation.is_root()) preparation.add(command, arguments, info);
  int result = MPI_SUCCESS;
  if (preparation.lines().empty()) {
    result = pmpi.Comm_spawn(command, arguments, most, info, root, comm, between, errors);
  } else {
    ShimLine& line = *preparation.lines().front();
    result = pmpi.Comm_spawn(line.command(), line.arguments(), most, info, root, comm, between, errors);
  }
  return preparation.end(result, root, comm, between);
}

int comm_spawn_multiple(int count, char* commands[], char** arguments[], const int most[],
                        const MPI_Info infos[], int root, MPI_Comm comm, MPI_Comm* between, int errors[]) {
  Preparation preparation(comm, root);
  for (int i = 0; preparation.is_root() && i < count; ++i) {
    char** const own = arguments == MPI_ARGVS_NULL ? MPI_ARGV_NULL : arguments[i];
    if (!preparation.add(commands[i], own, infos[i])) break;
  }
  preparation.finish();
  std::vector<char*> shims;
  std::vector<char**> rest;
  for (const auto& line : preparation.lines()) {
    shims.push_back(line->command());
    rest.push_back(line->arguments());
  }
  const bool is_ours = !shims.empty();
  const int result =
      pmpi.Comm_spawn_multiple(count, is_ours ? shims.data() : commands, is_ours ? rest.data() : arguments,
                               most, infos, root, comm, between, errors);
  return preparation.end(result, root, comm, between);
}

}  // namespace unisono::adapter
