// SPDX-License-Identifier: BSD-3-Clause
// One call that does not block, made twice (B9): by Unisono on copies, by the host on the program's memory,
// both at once. Nothing of it waits for other ranks: each one judges what it sees, and tells the others
// later.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/judging/judge.h"
#include "runtime/judging/verification.h"

namespace unisono::runtime {

class StartedCheck {
 public:
  // `number`: of the communicator's checks, the same on all ranks. `what`: of the result's elements.
  StartedCheck(host::Host& host, const Call& call, int rank, int size, std::uint64_t number,
               const host::TypeInfo& what, const NeighborhoodState* neighborhood = nullptr);

  // When the call is started, before the host is; when both have ended.
  void begin();
  void end(int own_error, std::vector<char>* own_result);

  enum class Verdict : std::uint8_t { equal, right, wrong, unknown, no_opinion };
  Verdict verdict() const { return verdict_; }
  std::int64_t wrong_at() const { return wrong_at_; }  // byte of the result, where there is one

  HostPart host_part;
  bool is_host_over = false;
  int host_error = host::success;
  Verification verification;
  const std::uint64_t number;

 private:
  void* memory_for_nothing();
  void weigh();
  void judge();
  std::size_t operands() const;

  host::Host& host_;
  const Call call_;
  const int rank_, size_;
  const host::TypeInfo what_;
  Judgement judgement_;
  ReduceOp op_ = ReduceOp::host;
  // Judgement::bounded: this rank's weights, and all ranks', joined, as elements lie in memory.
  std::vector<char> weights_, weighed_;
  bool has_weights_ = false;
  std::vector<char> ignored_;
  Verdict verdict_ = Verdict::no_opinion;
  std::int64_t wrong_at_ = 0;
};

// What was found, until the ranks have agreed on it.
struct Finding {
  std::uint64_t check = 0;  // its number
  std::string text, closing;
};

// What one of the last checks worked on, should another rank find fault with it.
struct KeptCheck {
  std::uint64_t number = 0;
  Operation operation{};
  std::vector<char> input, own, hosts;
};

}  // namespace unisono::runtime
