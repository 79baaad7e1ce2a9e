// SPDX-License-Identifier: BSD-3-Clause
// Set-up of a communicator by calls that do not block. It goes on beside the program: those calls stay with
// the host meanwhile, and nothing waits for it but calls that may block.
#include "runtime/communicators/set_up_aside.h"

#include <algorithm>

#include "runtime/communicators/set_up.h"

namespace unisono::runtime {
namespace {

enum Ability : std::uint8_t {
  can_translate = 1,
  can_single_copy = 2,
  any_order = 4,
  takes_device_memory = 8
};

}  // namespace

// At the same call on all ranks, before that is made: so the host's collective below has the same place among
// the communicator's everywhere.
void SetUp::begin_aside(Communicator& c) {
  c.aside = std::make_unique<SetUpAside>();
  SetUpAside& aside = *c.aside;
  const bool is_translated =
      world_.host.translate_ranks(c.handle, world_.comm, &c.rank_in_world) == host::success;
  const NativeReason left_out = why_left_out(c, is_translated);
  if (left_out != NativeReason::none) {
    aside.state = SetUpAside::State::left_out;
    aside.reason = left_out;
    say_who_decides_order(c, left_out);
    return;
  }
  aside.own.abilities =
      (is_translated ? can_translate : 0) | (world_.pool->has_single_copy() ? can_single_copy : 0) |
      (wants_one_order(c) ? 0 : any_order) | (world_.host.takes_device_memory() ? takes_device_memory : 0);
  if (is_translated) aside.own.slice = slices_.reserve(c);
  aside.all.resize(static_cast<std::size_t>(c.size));
  const int error = world_.host.start_allgather_bytes(&aside.own, sizeof aside.own, aside.all.data(),
                                                      c.handle, &aside.request);
  if (error == host::success) return;
  aside.state = SetUpAside::State::failed;
  aside.reason = NativeReason::set_up_failed;
}

// What all ranks know alike, without a word. One first rank takes the memory of a communicator inside a node:
// its offer settles everything. Between nodes there is no memory in which whoever comes first could decide;
// and what was found wrong elsewhere (option verify) is told by agreements that wait.
NativeReason SetUp::why_left_out(Communicator& c, bool is_translated) const {
  if (!world_.options.use_shared_memory || world_.options.verify != "off") return NativeReason::not_set_up;
  if (!is_translated) return NativeReason::none;
  if (std::count(c.rank_in_world.begin(), c.rank_in_world.end(), host::no_rank) != 0)
    return NativeReason::outside_world;
  describe_ground(c);
  return c.layout->nodes() > 1 ? NativeReason::not_set_up : NativeReason::none;
}

// Have all offers come? The host has made this rank's first `calls_of_host` calls since they were sent.
void SetUp::look_at_offers(Communicator& c, std::uint64_t calls_of_host) {
  SetUpAside& aside = *c.aside;
  if (aside.state != SetUpAside::State::under_way) return;
  bool is_done = false;
  const int error = world_.host.test(&aside.request, &is_done);
  if (error == host::success && !is_done) return;
  const NativeReason reason = error == host::success ? take_offers(c) : NativeReason::set_up_failed;
  if (reason != NativeReason::none) {
    aside.state = SetUpAside::State::failed;
    aside.reason = reason;
    say_who_decides_order(c, aside.reason);
    return;
  }
  aside.switch_point = &SliceTail::of(c)->switch_point;
  aside.switch_point->join(calls_of_host);
  aside.state = SetUpAside::State::joined;
}

// All ranks have the same offers before them. No number is among them, by which messages are told apart:
// calls inside a node do without.
NativeReason SetUp::take_offers(Communicator& c) {
  const SetUpAside& aside = *c.aside;
  std::uint64_t abilities = aside.own.abilities;
  for (const SetUpOffer& offer : aside.all) abilities &= offer.abilities;
  const SliceOffer& offer = aside.all.front().slice;
  const bool is_left = is_for_host((abilities & takes_device_memory) != 0, (abilities & any_order) == 0);
  if (is_left || (abilities & can_translate) == 0 || offer.offset < 0) {
    if (aside.own.slice.offset >= 0) world_.pool->release(aside.own.slice.offset);
    if (is_left) return NativeReason::device_memory;
    slices_.say_pool_is_full("a communicator goes without");
    return NativeReason::set_up_failed;
  }
  c.has_single_copy = (abilities & can_single_copy) != 0 && world_.options.use_single_copy;
  c.is_reproducible = (abilities & any_order) == 0;
  c.node.wait = wait_config();
  watch_peers(c);
  slices_.use(c, offer);
  make_cache(c);
  return NativeReason::none;
}

// Where MPI lets us wait, and all ranks come: at blocking calls, and at the communicator's end.
void SetUp::end_aside(Communicator& c) {
  if (c.aside == nullptr) return;
  const shm::WaitConfig wait = wait_config();
  shm::Backoff backoff(wait);
  while (true) {
    look_at_offers(c, c.aside->calls);
    if (c.aside->state != SetUpAside::State::under_way) return;
    backoff.step();
  }
}

}  // namespace unisono::runtime
