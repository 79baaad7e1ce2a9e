// SPDX-License-Identifier: BSD-3-Clause
// Agents tell each other that all have come to a point: a barrier by dissemination, which waits for nothing.
#pragma once

#include <vector>

#include "host/host.h"

namespace unisono::agents {

class Confirmation {
 public:
  static constexpr int most_rounds = 32;  // tags that one needs

  // Between the agents (ranks of `comm`), of which this is the one at `own`. They stay as long as it lasts.
  void start(host::Host& host, host::Comm comm, const std::vector<int>& agents, int own, int tag);
  // True when it is over, or an error has ended it.
  bool poll();

 private:
  void begin_round();

  host::Host* host_ = nullptr;
  host::Comm comm_{};
  const std::vector<int>* agents_ = nullptr;
  int own_ = 0, tag_ = 0, round_ = 0;
  int error_ = host::success;
  host::Request requests_[2]{};
  int under_way_ = 0;  // of these two
  char sent_ = 0, received_ = 0;
};

}  // namespace unisono::agents
