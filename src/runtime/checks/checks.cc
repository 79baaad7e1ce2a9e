// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/checks/checks.h"

#include <algorithm>

#include "base/log.h"
#include "runtime/checks/check_texts.h"
#include "runtime/communicators/learned_class.h"
#include "runtime/judging/judge.h"

namespace unisono::runtime {
namespace {

constexpr std::uint64_t has_difference = 1, has_failed = 2, has_no_opinion = 4;
// Operands of all ranks come together in pieces of so many bytes a rank.
constexpr std::size_t piece_bytes = std::size_t{64} << 10;

// Operands of the first so many ranks make up this rank's result, which begins at so many elements of each.
struct Share {
  int ranks = 0;
  std::int64_t first = 0;
};
Share share_of(const Call& call, int rank, int size) {
  Share share{.ranks = joined_ranks(call.operation, rank, size)};
  if (!is_scattered_reduction(call.operation)) return share;
  if (!has_uneven_blocks(call.operation)) {
    share.first = static_cast<std::int64_t>(call.send_count) * rank;
    return share;
  }
  for (int r = 0; r < rank; ++r) share.first += static_cast<std::int64_t>(call.send_blocks.count_of(r));
  return share;
}

}  // namespace

void Checks::begin(Communicator& c, CallClass& entry, const Call& call) const {
  c.checking.entry = &entry;
  c.checking.verification =
      std::make_unique<Verification>(world_.host, call, c.rank, c.size, c.node.neighborhood.get());
  c.checking.verification->save();
}

void Checks::keep_own(Communicator& c, int error) {
  c.checking.verification->own_error = error;
  c.checking.verification->keep_own();
}

int Checks::compare(Communicator& c, const Call& call, int host_error) {
  const std::unique_ptr<Verification> made = std::move(c.checking.verification);
  Verification& v = *made;
  ++c.checking.calls;
  v.read_hosts();
  std::uint64_t seen = (v.first_difference() >= 0 ? has_difference : 0) |
                       (v.own_error != host::success ? has_failed : 0) |
                       (v.has_opinion() && host_error == host::success ? 0 : has_no_opinion);
  if (world_.host.agree(&seen, 1, host::AgreeOp::bor, call.comm) != host::success) return host_error;
  if ((seen & has_no_opinion) != 0) return host_error;
  ++c.checking.entry->checks;
  if (seen != 0) return conclude(c, call, v, seen, host_error);
  correct_host(c, call, v);
  return host_error;
}

void Checks::correct_host(const Communicator& c, const Call& call, Verification& v) {
  if (!v.do_doubtful_blocks_differ()) return;
  v.put_own_back();
  if (c.rank == 0 || c.layout->local_rank_of[static_cast<std::size_t>(c.rank)] == 0)
    log::warning_once("option 'verify': in " + std::string(name(call.operation)) +
                      " the MPI puts blocks into the wrong places where several edges lead from one rank to "
                      "another (MPI 4.1, section 8.6); Unisono's result is delivered");
}

// The ranks have agreed that some of them have seen a difference, or a failure.
int Checks::conclude(Communicator& c, const Call& call, Verification& v, std::uint64_t seen, int host_error) {
  const host::TypeInfo info = element_of(world_.host, call);
  const ReduceOp op = is_reduction(call.operation) ? world_.host.reduce_op(call.op) : ReduceOp::host;
  const Judgement judgement = judgement_of(call.operation, op, info.element);
  if ((seen & has_failed) == 0 && judgement == Judgement::unknown) {
    --c.checking.entry->checks;  // nobody can tell
    if (c.is_reproducible) v.put_own_back();
    if (c.rank == 0) log::warning_once(doubt_text(call, *c.checking.entry->choice));
    return host_error;
  }
  std::int64_t wrong = v.own_error != host::success ? 0 : v.first_difference();
  if ((seen & has_failed) == 0 && judgement == Judgement::bounded)
    wrong = first_beyond_bound(c, call, info, v);
  // The lowest rank that saw it. (MPICH 4 takes the largest unsigned number for the least.)
  const auto nobody = static_cast<std::uint64_t>(c.size);
  std::uint64_t reporting = wrong >= 0 ? static_cast<std::uint64_t>(c.rank) : nobody;
  if (world_.host.agree(&reporting, 1, host::AgreeOp::min, call.comm) != host::success) return host_error;
  if (reporting == nobody) {
    v.put_own_back();  // what other calls deliver too
    return host_error;
  }
  ++c.checking.entry->mismatches;
  report_mismatch(c, call, v, wrong, static_cast<int>(reporting));
  quarantine(c, call.operation);
  return host_error;
}

// The first byte of an element of the result that no order of the operands explains; -1: there is none.
std::int64_t Checks::first_beyond_bound(Communicator& c, const Call& call, const host::TypeInfo& info,
                                        Verification& v) const {
  const std::size_t bytes = info.size_bytes;
  const Share share = share_of(call, c.rank, c.size);
  const std::vector<char>& own = v.input();
  const auto results = static_cast<std::int64_t>(v.own().size() / bytes);
  const ReduceOp op = world_.host.reduce_op(call.op);
  const std::size_t piece = std::max(piece_bytes / bytes, std::size_t{1}) * bytes;
  std::vector<char> all;
  std::vector<const char*> operands(static_cast<std::size_t>(std::max(share.ranks, 0)));
  std::int64_t found = -1;
  // All ranks have inputs of one length in a reduction, and come to the same pieces.
  for (std::size_t begin = 0; begin < own.size(); begin += piece) {
    const std::size_t length = std::min(piece, own.size() - begin);
    all.resize(length * static_cast<std::size_t>(c.size));
    if (world_.host.allgather_bytes(own.data() + begin, length, all.data(), call.comm) != host::success)
      return -1;
    for (std::size_t at = 0; at < length && found < 0 && !operands.empty(); at += bytes) {
      const std::int64_t result = static_cast<std::int64_t>((begin + at) / bytes) - share.first;
      if (result < 0 || result >= results) continue;
      const char* mine = v.own().data() + static_cast<std::size_t>(result) * bytes;
      const char* theirs = v.hosts().data() + static_cast<std::size_t>(result) * bytes;
      if (std::equal(mine, mine + bytes, theirs)) continue;
      for (std::size_t r = 0; r < operands.size(); ++r) operands[r] = all.data() + r * length + at;
      if (!may_both_be(op, info.element, mine, theirs, operands)) {
        found = result * static_cast<std::int64_t>(bytes);
      }
    }
  }
  return found;
}

// From the first rank that saw it.
void Checks::report_mismatch(Communicator& c, const Call& call, Verification& v, std::int64_t wrong,
                             int reporting) {
  const CheckedData data{.operation = call.operation, .input = v.input(), .own = v.own(), .hosts = v.hosts()};
  const std::string files = write_input(world_, c, c.checking.calls, data);
  const tuning::Choice& choice = *c.checking.entry->choice;
  note_quarantine(c, text_of(call, choice));
  if (c.rank != reporting) return;
  log::warning(mismatch_text(world_, c, call, choice, v, wrong, c.checking.calls) + inputs_text(files) +
               closing_text(world_, c, call, choice));
}

void Checks::note_quarantine(const Communicator& c, const std::string& algorithm) const {
  world_.notices().note(algorithm + " was wrong on " + c.layout->describe() +
                        ", and is quarantined (option 'verify')");
}

// On all ranks of the communicator alike: what was decided for the operation is decided anew.
void Checks::quarantine(Communicator& c, Operation operation) {
  const algorithms::Descriptor* algorithm = c.checking.entry->choice->algorithm;
  c.checking.quarantined.insert(algorithm);
  quarantine_.add(algorithm);
  // None of its calls that do not block is under way: this blocking one came after them.
  decisions_.decide_anew(c, operation, [&](const CallClass& entry) { return may_use(entry, *algorithm); });
}

void Checks::take_up_quarantine(Communicator& c) {
  const auto before = c.checking.quarantined.size();
  if (quarantine_.agree(world_.host, c) && c.checking.quarantined.size() != before) leave_out_quarantined(c);
}

void Checks::leave_out_quarantined(Communicator& c) {
  const auto is_out = [&](const CallClass& entry) {
    return entry.choice != nullptr && c.checking.quarantined.contains(entry.choice->algorithm);
  };
  const auto is_asked = [&](const CallClass& entry) { return any_candidate(entry, is_out); };
  for (int op = 0; op < operation_count; ++op)
    decisions_.decide_anew(c, static_cast<Operation>(op), is_asked);
}

}  // namespace unisono::runtime
