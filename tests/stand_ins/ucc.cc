// SPDX-License-Identifier: BSD-3-Clause
// Stands in for libucc: the functions that Unisono uses, over the allgather that its user gives it, and
// nothing else. It computes what it is asked for, and refuses products. UCC_STAND_IN_FAILS names functions
// that fail, "post" or "post@1" (of rank 1 alone), separated by commas.
#include <cstdlib>
#include <cstring>
#include <deque>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "agents/ucc_api.h"

namespace unisono::agents::ucc {

struct Config {};
struct Lib {};

namespace {

// What fails, where the variable does not say it: of tests in this process.
std::string failing;

bool fails(const std::string& function, std::uint32_t rank = 0) {
  const char* all = std::getenv("UCC_STAND_IN_FAILS");
  std::istringstream list(all != nullptr ? all : failing);
  for (std::string one; std::getline(list, one, ',');) {
    if (one == function || one == function + "@" + std::to_string(rank)) return true;
  }
  return false;
}

std::size_t bytes_of(Datatype type) {
  if (type == uint8) return 1;
  return type == int32 || type == uint32 || type == float32 ? 4 : 8;
}

// What all ranks must have said alike.
struct Said {
  CollType type = barrier;
  ReductionOp op = sum;
  std::uint64_t count = 0, root = 0;
  Datatype element = 0;
  bool operator==(const Said&) const = default;
};

struct Work : Request {
  GroupOfRanks* team = nullptr;
  Said said;
  CollArgs args;
};

template <typename T>
T joined(ReductionOp op, T a, T b) {
  switch (op) {
    case max:
      return a < b ? b : a;
    case min:
      return b < a ? b : a;
    case land:
      return static_cast<T>(a != 0 && b != 0);
    case lor:
      return static_cast<T>(a != 0 || b != 0);
    case lxor:
      return static_cast<T>((a != 0) != (b != 0));
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == band) return a & b;
    if (op == bor) return a | b;
    if (op == bxor) return a ^ b;
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  } else {
    return a + b;
  }
}

template <typename T>
void join(ReductionOp op, char* into, const char* other, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, into + i * sizeof(T), sizeof(T));
    std::memcpy(&b, other + i * sizeof(T), sizeof(T));
    a = joined(op, a, b);
    std::memcpy(into + i * sizeof(T), &a, sizeof(T));
  }
}

void join(Datatype type, ReductionOp op, char* into, const char* other, std::uint64_t count) {
  if (type == int32) join<std::int32_t>(op, into, other, count);
  if (type == uint32) join<std::uint32_t>(op, into, other, count);
  if (type == int64) join<std::int64_t>(op, into, other, count);
  if (type == uint64) join<std::uint64_t>(op, into, other, count);
  if (type == float32) join<float>(op, into, other, count);
  if (type == float64) join<double>(op, into, other, count);
}

}  // namespace

// A team, and where its first operation stands.
struct GroupOfRanks {
  OutOfBand to_others;
  Status created = in_progress;
  std::deque<Work*> posted;
  void* exchange = nullptr;
  std::vector<char> own, all;

  void begin(const std::vector<char>& mine) {
    own = mine;
    all.resize(own.size() * to_others.size);
    if (to_others.allgather(own.data(), all.data(), own.size(), to_others.info, &exchange) < 0) std::abort();
  }
  // Has the exchange ended? Then there is none.
  bool has_ended(Status* status) {
    *status = to_others.test(exchange);
    if (*status == in_progress) return false;
    to_others.free(exchange);
    exchange = nullptr;
    return true;
  }
  void go_on() {
    Status status = ok;
    if (created == in_progress) {
      if (has_ended(&status)) created = status;
      return;
    }
    if (posted.empty()) return;
    Work& work = *posted.front();
    if (exchange == nullptr) begin(message_of(work));
    if (!has_ended(&status)) return;
    work.status = status < 0 ? status : finish(work);
    if (fails("test", to_others.rank)) work.status = no_message;
    posted.pop_front();
  }
  static std::vector<char> message_of(const Work& work) {
    const std::size_t bytes = work.said.count * bytes_of(work.said.element);
    std::vector<char> message(sizeof(Said) + bytes);
    std::memcpy(message.data(), &work.said, sizeof(Said));
    if (bytes > 0) std::memcpy(message.data() + sizeof(Said), work.args.source.data, bytes);
    return message;
  }
  Status finish(const Work& work) {
    const Said& said = work.said;
    const std::size_t bytes = said.count * bytes_of(said.element);
    const auto of = [&](std::uint64_t rank) { return all.data() + rank * own.size(); };
    for (std::uint32_t rank = 0; rank < to_others.size; ++rank) {
      Said other;
      std::memcpy(static_cast<void*>(&other), of(rank), sizeof(Said));
      if (other != said) return invalid_param;
    }
    if (said.type == bcast) std::memcpy(work.args.source.data, of(said.root) + sizeof(Said), bytes);
    if (said.type != allreduce && (said.type != reduce || said.root != to_others.rank)) return ok;
    std::vector<char> result(of(0) + sizeof(Said), of(0) + sizeof(Said) + bytes);
    for (std::uint32_t rank = 1; rank < to_others.size; ++rank)
      join(said.element, said.op, result.data(), of(rank) + sizeof(Said), said.count);
    std::memcpy(work.args.destination.data, result.data(), bytes);
    return ok;
  }
};

struct Context {
  std::uint32_t rank = 0;
  std::set<GroupOfRanks*> teams;
};

}  // namespace unisono::agents::ucc

using namespace unisono::agents::ucc;
#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void ucc_stand_in_fails(const char* functions) {
  failing = functions;
}

EXPORTED Status ucc_lib_config_read(const char*, const char*, Config** config) {
  *config = new Config;
  return ok;
}
EXPORTED void ucc_lib_config_release(Config* config) {
  delete config;
}
EXPORTED Status ucc_init_version(unsigned major, unsigned, const LibParams*, Config*, Lib** made) {
  if (major != 1 || fails("init")) return no_memory;
  *made = new Lib;
  return ok;
}
EXPORTED Status ucc_finalize(Lib* lib) {
  delete lib;
  return ok;
}
EXPORTED Status ucc_context_config_read(Lib*, const char*, Config** config) {
  *config = new Config;
  return ok;
}
EXPORTED void ucc_context_config_release(Config* config) {
  delete config;
}
EXPORTED Status ucc_context_create(Lib*, const ContextParams* params, Config*, Context** made) {
  const OutOfBand& to_others = params->out_of_band;
  if ((params->mask & context_has_out_of_band) == 0) return invalid_param;
  if (fails("context", to_others.rank)) return no_memory;
  std::vector<std::uint32_t> ranks(to_others.size);
  std::uint32_t own = to_others.rank;
  void* request = nullptr;
  to_others.allgather(&own, ranks.data(), sizeof own, to_others.info, &request);
  Status status = in_progress;
  while (status == in_progress) status = to_others.test(request);
  to_others.free(request);
  if (status < 0) return status;
  for (std::uint32_t rank = 0; rank < to_others.size; ++rank) {
    if (ranks[rank] != rank) return invalid_param;
  }
  *made = new Context{.rank = own};
  return ok;
}
EXPORTED Status ucc_context_progress(Context* context) {
  for (GroupOfRanks* team : context->teams) team->go_on();
  return ok;
}
EXPORTED Status ucc_context_destroy(Context* context) {
  delete context;
  return ok;
}
EXPORTED Status ucc_team_create_post(Context** contexts, std::uint32_t count, const TeamParams* params,
                                     GroupOfRanks** made) {
  if (count != 1 || (params->mask & team_has_out_of_band) == 0 || params->rank != params->out_of_band.rank)
    return invalid_param;
  *made = new GroupOfRanks{.to_others = params->out_of_band};
  (*made)->begin({'t'});
  contexts[0]->teams.insert(*made);
  return ok;
}
EXPORTED Status ucc_team_create_test(GroupOfRanks* team) {
  team->go_on();
  return fails("team", team->to_others.rank) ? no_memory : team->created;
}
EXPORTED Status ucc_team_destroy(GroupOfRanks* team) {
  team->posted.clear();  // the memory stays: a context may know it
  return ok;
}
EXPORTED Status ucc_collective_init(CollArgs* args, Request** made, GroupOfRanks* team) {
  if (fails("collective_init", team->to_others.rank)) return not_supported;
  if ((args->type == allreduce || args->type == reduce) && args->op == prod) return not_supported;
  auto* work = new Work;
  work->status = initialized;
  work->team = team;
  work->args = *args;
  if (args->type != barrier)
    work->said = {args->type, args->op, args->source.count, args->root, args->source.type};
  *made = work;
  return ok;
}
EXPORTED Status ucc_collective_post(Request* request) {
  auto& work = *static_cast<Work*>(request);
  if (fails("post", work.team->to_others.rank)) return not_supported;
  work.status = in_progress;
  work.team->posted.push_back(&work);
  return ok;
}
EXPORTED Status ucc_collective_finalize(Request* request) {
  delete static_cast<Work*>(request);
  return ok;
}
EXPORTED const char* ucc_status_string(Status status) {
  if (status == not_supported) return "Operation is not supported";
  if (status == no_memory) return "Out of memory";
  if (status == timed_out) return "Timeout expired";
  return status == invalid_param ? "Invalid parameter" : "Unhandled error";
}
