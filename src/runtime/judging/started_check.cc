// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/judging/started_check.h"

#include <algorithm>

namespace unisono::runtime {

StartedCheck::StartedCheck(host::Host& host, const Call& call, int rank, int size, std::uint64_t check,
                           const host::TypeInfo& what, const NeighborhoodState* neighborhood)
    : verification(host, call, rank, size, neighborhood),
      number(check),
      host_(host),
      call_(call),
      rank_(rank),
      size_(size),
      what_(what) {
  if (is_reduction(call.operation)) op_ = host.reduce_op(call.op);
  judgement_ = judgement_of(call.operation, op_, what.element);
}

void StartedCheck::begin() {
  verification.save();
  host_part.calls = {call_};
  // Some hosts want memory, and write to it, where the result means nothing.
  if (call_.operation == Operation::exscan && call_.recv_buffer == nullptr)
    host_part.calls[0].recv_buffer = memory_for_nothing();
  if (judgement_ == Judgement::bounded) weigh();
}

// As many elements as the call has, of whatever layout.
void* StartedCheck::memory_for_nothing() {
  if (call_.send_count == 0) return nullptr;
  const auto spread = what_.extent_bytes * static_cast<std::ptrdiff_t>(call_.send_count - 1);
  ignored_.resize(what_.true_extent_bytes + static_cast<std::size_t>(spread < 0 ? -spread : spread));
  return ignored_.data() - what_.true_lower_bound_bytes - (spread < 0 ? spread : 0);
}

// The same reduction of the weights, which stand in memory of our own.
void StartedCheck::weigh() {
  const bool is_uneven = has_uneven_blocks(call_.operation);
  const host::Datatype type = is_uneven ? call_.send_blocks.type : call_.send_type;
  std::size_t elements = call_.send_count, results = call_.send_count;
  if (!is_uneven && is_scattered_reduction(call_.operation)) elements *= static_cast<std::size_t>(size_);
  if (is_uneven) {
    elements = 0;
    for (int r = 0; r < size_; ++r) elements += call_.send_blocks.count_of(r);
    results = call_.send_blocks.count_of(rank_);
  }
  const auto extent = static_cast<std::size_t>(what_.extent_bytes);
  weights_.resize(elements * extent);
  weighed_.resize(results * extent);
  std::vector<char> packed = verification.input();
  has_weights_ = packed.size() == elements * what_.size_bytes;
  if (has_weights_) {
    make_weights(op_, what_.element, packed.data(), elements, what_.size_bytes);
    has_weights_ =
        host_.unpack(packed.data(), packed.size(), weights_.data(), elements, type) == host::success;
  }
  Call& joined = host_part.calls.emplace_back(call_);
  joined.is_in_place = false;
  joined.op = host_.predefined_op(weight_op(op_, what_.element));
  if (is_uneven) {
    joined.send_blocks.buffer = weights_.data();
    joined.recv_blocks.buffer = weighed_.data();
  } else {
    joined.send_buffer = weights_.data();
    if (host_part.calls[0].recv_buffer != nullptr) joined.recv_buffer = weighed_.data();
  }
}

void StartedCheck::end(int own_error, std::vector<char>* own_result) {
  verification.own_error = own_error;
  if (own_result != nullptr) verification.take_own(own_result);
  verification.read_hosts();
  if (host_error != host::success || !verification.has_opinion()) return;
  if (own_error != host::success) {
    verdict_ = Verdict::wrong;
    return;
  }
  wrong_at_ = verification.first_difference();
  if (wrong_at_ < 0) {
    verdict_ = Verdict::equal;
  } else if (judgement_ == Judgement::bounded) {
    judge();
  } else {
    verdict_ = judgement_ == Judgement::exact ? Verdict::wrong : Verdict::unknown;
  }
}

// Of so many ranks' operands this rank's result is made.
std::size_t StartedCheck::operands() const {
  return static_cast<std::size_t>(joined_ranks(call_.operation, rank_, size_));
}

void StartedCheck::judge() {
  const std::vector<char>& own = verification.own();
  const std::vector<char>& hosts = verification.hosts();
  const std::size_t bytes = what_.size_bytes;
  const bool is_uneven = has_uneven_blocks(call_.operation);
  std::vector<char> weights(hosts.size());
  if (!has_weights_ || operands() == 0 || own.size() != hosts.size() ||
      host_.pack(weighed_.data(), hosts.size() / bytes, is_uneven ? call_.send_blocks.type : call_.send_type,
                 weights.data(), weights.size()) != host::success) {
    return;
  }
  verdict_ = Verdict::right;
  for (std::size_t at = 0; at < hosts.size(); at += bytes) {
    const bool is_same = std::equal(&own[at], &own[at] + bytes, &hosts[at]);
    if (is_same || may_both_be(op_, what_.element, &own[at], &hosts[at], &weights[at], operands())) continue;
    verdict_ = Verdict::wrong;
    wrong_at_ = static_cast<std::int64_t>(at);
    return;
  }
}

}  // namespace unisono::runtime
