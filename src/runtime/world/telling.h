// SPDX-License-Identifier: BSD-3-Clause
// What rank 0 tells all others at the job's start, as bytes: the length and what is short come by one
// broadcast. It is under way from the constructor on, so that other work can be done meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "host/host.h"

namespace unisono::runtime {

class Telling {
 public:
  // Collective over `comm`, like heard(). Rank 0's words count.
  Telling(host::Host& host, host::Comm comm, std::string words);
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;
  // Waits for them. Once, before this ends.
  std::string heard();

 private:
  struct Head {
    std::uint64_t length = 0;
    std::array<char, 3 << 10> first{};
  };
  host::Host& host_;
  const host::Comm comm_;
  std::string words_;
  Head head_;
  host::Request request_{};
  int error_;
};

}  // namespace unisono::runtime
