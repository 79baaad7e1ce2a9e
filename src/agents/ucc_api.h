// SPDX-License-Identifier: BSD-3-Clause
// What Unisono uses of UCC's public C interface (https://openucx.github.io/ucc), version 1: the library is
// loaded at run time, so no header of it is needed. Names are UCC's without its prefix; sizes and places of
// members are its own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace unisono::agents::ucc {

enum Status : std::int32_t {
  ok = 0,
  in_progress = 1,
  initialized = 2,
  not_supported = -1,
  invalid_param = -3,
  no_memory = -4,
  no_message = -6,
  timed_out = -8
};

enum CollType : std::uint32_t { allreduce = 1U << 2, barrier = 1U << 5, bcast = 1U << 6, reduce = 1U << 11 };

enum ReductionOp : std::uint32_t { sum, prod, max, min, land, lor, lxor, band, bor, bxor };

// A predefined type is its number in the upper bits.
using Datatype = std::uint64_t;
constexpr Datatype predefined(unsigned number) {
  return Datatype{number} << 3;
}
inline constexpr Datatype int32 = predefined(2), int64 = predefined(3), uint8 = predefined(5),
                          uint32 = predefined(7), uint64 = predefined(8), float32 = predefined(11),
                          float64 = predefined(12);

struct LibParams {
  std::uint64_t mask = 0;
  std::uint32_t thread_mode = 0;  // 1: all calls come from one thread
  std::uint64_t coll_types = 0, reduction_types = 0;
  std::uint32_t sync_type = 0;
};
inline constexpr std::uint64_t lib_has_thread_mode = 1;
inline constexpr std::uint32_t thread_funneled = 1;

// The allgather by which the library sets itself up: whoever uses it gives it one.
struct OutOfBand {
  Status (*allgather)(void* in, void* out, std::size_t bytes, void* info, void** request) = nullptr;
  Status (*test)(void* request) = nullptr;
  Status (*free)(void* request) = nullptr;
  void* info = nullptr;
  std::uint32_t size = 0, rank = 0;
};
static_assert(sizeof(OutOfBand) == 40);

struct ContextParams {
  std::uint64_t mask = 0;
  std::uint32_t type = 0, sync_type = 0;
  OutOfBand out_of_band;
  std::uint64_t id = 0;
  void* segments = nullptr;
  std::uint64_t segment_count = 0;
};
static_assert(sizeof(ContextParams) == 80 && offsetof(ContextParams, out_of_band) == 16);
inline constexpr std::uint64_t context_has_out_of_band = 1U << 2;

struct TeamParams {
  std::uint64_t mask = 0, flags = 0;
  std::uint32_t ordering = 0;  // 0: all members post in one order
  std::uint64_t most_under_way = 0;
  std::uint64_t rank = 0;
  std::uint64_t* rank_list = nullptr;
  std::uint32_t rank_range = 0;  // 0: 0 .. size - 1
  std::uint64_t size = 0;
  std::uint32_t sync_type = 0;
  OutOfBand out_of_band;
  void* connections[5] = {};
  void* segments = nullptr;
  std::uint64_t segment_count = 0;
  std::uint64_t rank_map[4] = {};
  std::uint64_t id = 0;
};
static_assert(offsetof(TeamParams, rank) == 32 && offsetof(TeamParams, size) == 56 &&
              offsetof(TeamParams, out_of_band) == 72 && offsetof(TeamParams, id) == 200);
inline constexpr std::uint64_t team_has_rank = 1U << 2, team_has_rank_range = 1U << 4,
                               team_has_out_of_band = 1U << 7;

struct Buffer {
  void* data = nullptr;
  std::uint64_t count = 0;
  Datatype type = 0;
  std::uint32_t memory = 0;  // 0: the host's
  std::uint64_t unused = 0;  // longer forms end here
};

struct CollArgs {
  std::uint64_t mask = 0;
  CollType type = barrier;
  Buffer source, destination;
  ReductionOp op = sum;
  std::uint64_t flags = 0;
  std::uint64_t root = 0;
  std::uint32_t error_type = 0;
  std::uint16_t tag = 0;
  void* work_buffer = nullptr;
  void* callback[2] = {};
  double timeout_s = 0;
  std::uint64_t active_set[3] = {};
  std::uint64_t later[16] = {};  // what newer versions may have behind it
};
static_assert(sizeof(Buffer) == 40 && offsetof(CollArgs, source) == 16 &&
              offsetof(CollArgs, destination) == 56 && offsetof(CollArgs, op) == 96 &&
              offsetof(CollArgs, root) == 112 && offsetof(CollArgs, work_buffer) == 128 &&
              offsetof(CollArgs, timeout_s) == 152 && offsetof(CollArgs, later) == 184);

// Handles. A request begins with its status.
struct Lib;
struct Context;
struct GroupOfRanks;
struct Config;
struct Request {
  Status status;
};

// What is called, by its name in the library.
struct Functions {
  Status (*lib_config_read)(const char* prefix, const char* file, Config** config) = nullptr;
  void (*lib_config_release)(Config* config) = nullptr;
  Status (*init_version)(unsigned major, unsigned minor, const LibParams* params, Config* config,
                         Lib** made) = nullptr;
  Status (*finalize)(Lib* lib) = nullptr;
  Status (*context_config_read)(Lib* lib, const char* file, Config** config) = nullptr;
  void (*context_config_release)(Config* config) = nullptr;
  Status (*context_create)(Lib* lib, const ContextParams* params, Config* config, Context** made) = nullptr;
  Status (*context_progress)(Context* context) = nullptr;
  Status (*context_destroy)(Context* context) = nullptr;
  Status (*team_create_post)(Context** contexts, std::uint32_t count, const TeamParams* params,
                             GroupOfRanks** made) = nullptr;
  Status (*team_create_test)(GroupOfRanks* team) = nullptr;
  Status (*team_destroy)(GroupOfRanks* team) = nullptr;
  Status (*collective_init)(CollArgs* args, Request** made, GroupOfRanks* team) = nullptr;
  Status (*collective_post)(Request* request) = nullptr;
  Status (*collective_finalize)(Request* request) = nullptr;
  const char* (*status_string)(Status status) = nullptr;
};

}  // namespace unisono::agents::ucc
