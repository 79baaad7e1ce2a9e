// SPDX-License-Identifier: BSD-3-Clause
#include "agents/ucc_library.h"

#include <dlfcn.h>
#include <sched.h>

#include <cstring>
#include <numeric>

#include "base/clock.h"

namespace unisono::agents {
namespace {

constexpr const char* library_name = "libucc.so.1";
constexpr unsigned api_major = 1, api_minor = 0;
// Ranks wait in MPI_Init for their agents: what does not come about by then is given up.
constexpr double longest_set_up_s = 5, longest_end_s = 1;

// One allgather that the library has asked for. It has memory of its own: where the library gives up its
// messages may still come.
struct AskedAllgather {
  SmallAllgather allgather;
  std::vector<char> in, out;
  void* wanted_at = nullptr;
  double deadline_s = 0;
  bool is_over = false;
};

ucc::Status begin_allgather(void* in, void* out, std::size_t bytes, void* info, void** request) {
  auto asked = std::make_unique<AskedAllgather>();
  const auto& circle = *static_cast<const Circle*>(info);
  asked->deadline_s = now_s() + longest_set_up_s;
  asked->in.assign(static_cast<char*>(in), static_cast<char*>(in) + bytes);
  asked->out.resize(bytes * circle.ranks.size());
  asked->wanted_at = out;
  const int error = asked->allgather.begin(circle, asked->in.data(), asked->out.data(), bytes);
  *request = asked.release();
  return error == host::success ? ucc::ok : ucc::no_message;
}

ucc::Status test_allgather(void* request) {
  auto& asked = *static_cast<AskedAllgather*>(request);
  int error = host::success;
  if (!asked.is_over && !asked.allgather.test(&error))
    return now_s() < asked.deadline_s ? ucc::in_progress : ucc::timed_out;
  if (error != host::success) return ucc::no_message;
  if (!asked.is_over) std::memcpy(asked.wanted_at, asked.out.data(), asked.out.size());
  asked.is_over = true;
  return ucc::ok;
}

ucc::Status free_allgather(void* request) {
  auto* asked = static_cast<AskedAllgather*>(request);
  if (asked->is_over) delete asked;
  return ucc::ok;
}

template <class Function>
bool find(void* library, const char* name, Function** function, std::string* why) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  if (*function == nullptr) *why = std::string(library_name) + " has no function " + name;
  return *function != nullptr;
}

}  // namespace

std::unique_ptr<UccLibrary> UccLibrary::open(const CarrierGround& ground, std::string* why) {
  std::unique_ptr<UccLibrary> made(new UccLibrary(ground));
  // What follows waits for the other agents: none begins before all can.
  if (!made->agree(made->load(why) && made->begin(why))) return nullptr;
  if (!made->agree(made->make_context(why))) return nullptr;
  for (int index = 0; index < most_ucc_teams; ++index) {
    if (!made->agree(made->make_team(index, why))) return nullptr;
  }
  made->is_whole_ = true;
  return made;
}

UccLibrary::UccLibrary(const CarrierGround& ground)
    : host_(ground.host), comm_(ground.comm), circles_(most_ucc_teams + 1) {
  static_assert(most_ucc_teams < carrier_tags);
  std::vector<int> all(static_cast<std::size_t>(host_.comm_size(comm_)));
  std::iota(all.begin(), all.end(), 0);
  for (int i = 0; i <= most_ucc_teams; ++i) {
    circles_[static_cast<std::size_t>(i)] = {.host = &host_,
                                             .comm = comm_,
                                             .ranks = all,
                                             .own = host_.comm_rank(comm_),
                                             .tag = ground.first_tag + i};
  }
}

// The library stays loaded: what it has started in this process is not ours to judge.
bool UccLibrary::load(std::string* why) {
  void* library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    *why = dlerror();
    return false;
  }
  ucc::Functions& f = functions_;
  return find(library, "ucc_lib_config_read", &f.lib_config_read, why) &&
         find(library, "ucc_lib_config_release", &f.lib_config_release, why) &&
         find(library, "ucc_init_version", &f.init_version, why) &&
         find(library, "ucc_finalize", &f.finalize, why) &&
         find(library, "ucc_context_config_read", &f.context_config_read, why) &&
         find(library, "ucc_context_config_release", &f.context_config_release, why) &&
         find(library, "ucc_context_create", &f.context_create, why) &&
         find(library, "ucc_context_progress", &f.context_progress, why) &&
         find(library, "ucc_context_destroy", &f.context_destroy, why) &&
         find(library, "ucc_team_create_post", &f.team_create_post, why) &&
         find(library, "ucc_team_create_test", &f.team_create_test, why) &&
         find(library, "ucc_team_destroy", &f.team_destroy, why) &&
         find(library, "ucc_collective_init", &f.collective_init, why) &&
         find(library, "ucc_collective_post", &f.collective_post, why) &&
         find(library, "ucc_collective_finalize", &f.collective_finalize, why) &&
         find(library, "ucc_status_string", &f.status_string, why);
}

bool UccLibrary::begin(std::string* why) {
  ucc::Config* config = nullptr;
  if (!is_good("ucc_lib_config_read", functions_.lib_config_read(nullptr, nullptr, &config), why))
    return false;
  const ucc::LibParams params{.mask = ucc::lib_has_thread_mode, .thread_mode = ucc::thread_funneled};
  const ucc::Status status = functions_.init_version(api_major, api_minor, &params, config, &lib_);
  functions_.lib_config_release(config);
  if (status != ucc::ok) lib_ = nullptr;
  return is_good("ucc_init", status, why);
}

bool UccLibrary::make_context(std::string* why) {
  ucc::Config* config = nullptr;
  if (!is_good("ucc_context_config_read", functions_.context_config_read(lib_, nullptr, &config), why))
    return false;
  const ucc::ContextParams params{.mask = ucc::context_has_out_of_band,
                                  .out_of_band = out_of_band(most_ucc_teams)};
  const ucc::Status status = functions_.context_create(lib_, &params, config, &context_);
  functions_.context_config_release(config);
  if (status != ucc::ok) context_ = nullptr;
  return is_good("ucc_context_create", status, why);
}

bool UccLibrary::make_team(int index, std::string* why) {
  const ucc::OutOfBand circle = out_of_band(index);
  const ucc::TeamParams params{
      .mask = ucc::team_has_rank | ucc::team_has_rank_range | ucc::team_has_out_of_band,
      .rank = circle.rank,
      .out_of_band = circle};
  ucc::GroupOfRanks* team = nullptr;
  if (!is_good("ucc_team_create_post", functions_.team_create_post(&context_, 1, &params, &team), why))
    return false;
  teams_.push_back(team);
  const double deadline_s = now_s() + longest_set_up_s;
  ucc::Status status = ucc::in_progress;
  while (status == ucc::in_progress || status == ucc::initialized) {
    go_on();
    status = functions_.team_create_test(team);
    if (status == ucc::in_progress && now_s() > deadline_s) status = ucc::timed_out;
    sched_yield();
  }
  return is_good("ucc_team_create_test", status, why);
}

// What came about in part is left alone: its end may wait for agents that have none.
UccLibrary::~UccLibrary() {
  if (!is_whole_) return;
  const double deadline_s = now_s() + longest_end_s;
  for (ucc::GroupOfRanks* team : teams_) {
    while (functions_.team_destroy(team) == ucc::in_progress) {
      if (now_s() > deadline_s) return;
      go_on();
    }
  }
  functions_.context_destroy(context_);
  functions_.finalize(lib_);
}

ucc::OutOfBand UccLibrary::out_of_band(int circle) const {
  const Circle& of = circles_[static_cast<std::size_t>(circle)];
  return {.allgather = begin_allgather,
          .test = test_allgather,
          .free = free_allgather,
          .info = const_cast<Circle*>(&of),
          .size = static_cast<std::uint32_t>(of.ranks.size()),
          .rank = static_cast<std::uint32_t>(of.own)};
}

bool UccLibrary::agree(bool is_good_here) const {
  std::uint64_t word = is_good_here ? 1 : 0;
  return host_.agree(&word, 1, host::AgreeOp::min, comm_) == host::success && word != 0;
}

bool UccLibrary::is_good(const char* function, ucc::Status status, std::string* why) const {
  if (status == ucc::ok) return true;
  *why = text(function, status);
  return false;
}

std::string UccLibrary::text(const char* function, ucc::Status status) const {
  return std::string(function) + ": " + functions_.status_string(status);
}

}  // namespace unisono::agents
