// SPDX-License-Identifier: BSD-3-Clause
// UCC as it was loaded into this process, with a context of all agents and teams of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agents/carrier.h"
#include "agents/small_allgather.h"
#include "agents/ucc_api.h"

namespace unisono::agents {

// Teams of all agents that are made at the start, since only one at a time may be made and in one order.
// Switches that reduce have room for few.
inline constexpr int most_ucc_teams = 4;

class UccLibrary {
 public:
  // Collective. Null on all agents, with the reason where it was found.
  static std::unique_ptr<UccLibrary> open(const CarrierGround& ground, std::string* why);
  ~UccLibrary();
  UccLibrary(const UccLibrary&) = delete;
  UccLibrary& operator=(const UccLibrary&) = delete;

  const ucc::Functions& functions() const { return functions_; }
  ucc::GroupOfRanks* team(int index) const { return teams_[static_cast<std::size_t>(index)]; }
  void go_on() const { functions_.context_progress(context_); }
  // "ucc_team_create_post: Operation is not supported"
  std::string text(const char* function, ucc::Status status) const;

 private:
  explicit UccLibrary(const CarrierGround& ground);
  bool load(std::string* why);
  bool begin(std::string* why);
  bool make_context(std::string* why);
  bool make_team(int index, std::string* why);
  bool is_good(const char* function, ucc::Status status, std::string* why) const;
  bool agree(bool is_good_here) const;
  ucc::OutOfBand out_of_band(int circle) const;

  host::Host& host_;
  const host::Comm comm_;
  std::vector<Circle> circles_;  // of the teams, and of the context
  ucc::Functions functions_;
  ucc::Lib* lib_ = nullptr;
  ucc::Context* context_ = nullptr;
  std::vector<ucc::GroupOfRanks*> teams_;
  bool is_whole_ = false;
};

}  // namespace unisono::agents
