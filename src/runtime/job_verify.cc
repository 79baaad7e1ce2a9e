// SPDX-License-Identifier: BSD-3-Clause
// Self-check and quarantine (B9): a sample of calls is made by Unisono and by the host, and the results are
// compared. What is decided here is agreed on by all ranks of the communicator. docs/verify.md.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/log.h"
#include "runtime/job.h"
#include "runtime/judge.h"
#include "runtime/learning.h"
#include "runtime/verification.h"

namespace unisono::runtime {
namespace {

constexpr std::uint64_t has_difference = 1, has_failed = 2, has_no_opinion = 4;
// Operands of all ranks come together in pieces of so many bytes a rank.
constexpr std::size_t piece_bytes = std::size_t{64} << 10;
// Inputs that are longer are not written to files.
constexpr std::size_t most_input_bytes = std::size_t{1} << 20;

// Operands of the first so many ranks make up this rank's result, which begins at so many elements of each.
struct Share {
  int ranks = 0;
  std::int64_t first = 0;
};
Share share_of(const Call& call, int rank, int size) {
  switch (call.operation) {
    case Operation::scan:
      return {rank + 1, 0};
    case Operation::exscan:
      return {rank, 0};
    case Operation::reduce_scatter_block:
      return {size, static_cast<std::int64_t>(call.send_count) * rank};
    case Operation::reduce_scatter: {
      std::int64_t first = 0;
      for (int r = 0; r < rank; ++r) first += static_cast<std::int64_t>(call.send_blocks.count_of(r));
      return {size, first};
    }
    default:
      return {size, 0};
  }
}

std::string hexadecimal(const std::vector<char>& data) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const char c : data) {
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

}  // namespace

// The datatype of the result's elements as far as calls have one; bytes else.
host::TypeInfo Job::element_of(const Call& call) const {
  int error = host::success;
  host::TypeInfo bytes{.size_bytes = 1, .element = ElementType::byte};
  if (has_uneven_blocks(call.operation) && !is_reduction(call.operation)) return bytes;
  const bool has_received = !is_reduction(call.operation) && call.recv_count != 0;
  const host::Datatype type = has_uneven_blocks(call.operation) ? call.send_blocks.type
                              : has_received                    ? call.recv_type
                                                                : call.send_type;
  const host::TypeInfo info = type_info(host_, type, &error);
  return error == host::success && info.size_bytes != 0 ? info : bytes;
}

bool Job::agree_on_quarantine(Communicator& c) {
  const auto& all = algorithms::registry();
  std::vector<std::uint64_t> words((all.size() + 63) / 64);
  {
    const std::lock_guard lock(decide_mutex_);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (quarantined_.contains(&all[i])) words[i / 64] |= std::uint64_t{1} << (i % 64);
    }
  }
  const auto count = static_cast<int>(words.size());
  if (host_.agree(words.data(), count, host::AgreeOp::bor, c.handle) != host::success) return false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((words[i / 64] >> (i % 64) & 1) != 0) c.quarantined.insert(&all[i]);
  }
  return true;
}

void Job::begin_verification(Communicator& c, CallClass& entry, const Call& call) {
  c.verified_class = &entry;
  c.verification = std::make_unique<Verification>(host_, call, c.rank, c.size);
  c.verification->save();
}

int Job::compare(const Call& call, int host_error) {
  Communicator& c = *find(call.comm);
  const std::unique_ptr<Verification> made = std::move(c.verification);
  Verification& v = *made;
  ++c.verified_calls;
  v.read_hosts();
  const std::int64_t difference = v.first_difference();
  std::uint64_t seen = (difference >= 0 ? has_difference : 0) |
                       (v.own_error != host::success ? has_failed : 0) |
                       (v.has_opinion() && host_error == host::success ? 0 : has_no_opinion);
  if (host_.agree(&seen, 1, host::AgreeOp::bor, call.comm) != host::success) return host_error;
  if ((seen & has_no_opinion) != 0) return host_error;
  ++c.verified_class->checks;
  if (seen == 0) return host_error;

  const host::TypeInfo info = element_of(call);
  const Judgement judgement = judgement_of(
      call.operation, is_reduction(call.operation) ? host_.reduce_op(call.op) : ReduceOp::host, info.element);
  if ((seen & has_failed) == 0 && judgement == Judgement::unknown) {
    --c.verified_class->checks;  // nobody can tell
    if (c.is_reproducible) v.put_own_back();
    if (c.rank == 0) {
      log::warning_once(doubt_text(call, *c.verified_class->choice));
    }
    return host_error;
  }
  std::int64_t wrong = v.own_error != host::success ? 0 : difference;
  if ((seen & has_failed) == 0 && judgement == Judgement::bounded) {
    wrong = first_beyond_bound(c, call, info, v);
  }
  // The lowest rank that saw it. (MPICH 4 takes the largest unsigned number for the least.)
  const auto nobody = static_cast<std::uint64_t>(c.size);
  std::uint64_t reporting = wrong >= 0 ? static_cast<std::uint64_t>(c.rank) : nobody;
  if (host_.agree(&reporting, 1, host::AgreeOp::min, call.comm) != host::success) return host_error;
  if (reporting == nobody) {
    v.put_own_back();  // what other calls deliver too
    return host_error;
  }
  ++c.verified_class->mismatches;
  report_mismatch(c, call, v, wrong, static_cast<int>(reporting));
  quarantine(c, call.operation);
  return host_error;
}

// The first byte of an element of the result that no order of the operands explains; -1: there is none.
std::int64_t Job::first_beyond_bound(Communicator& c, const Call& call, const host::TypeInfo& info,
                                     Verification& v) {
  const std::size_t bytes = info.size_bytes;
  const Share share = share_of(call, c.rank, c.size);
  const std::vector<char>& own = v.input();
  const auto results = static_cast<std::int64_t>(v.own().size() / bytes);
  const ReduceOp op = host_.reduce_op(call.op);
  const std::size_t piece = std::max(piece_bytes / bytes, std::size_t{1}) * bytes;
  std::vector<char> all;
  std::vector<const char*> operands(static_cast<std::size_t>(std::max(share.ranks, 0)));
  std::int64_t found = -1;
  // All ranks have inputs of one length in a reduction, and come to the same pieces.
  for (std::size_t begin = 0; begin < own.size(); begin += piece) {
    const std::size_t length = std::min(piece, own.size() - begin);
    all.resize(length * static_cast<std::size_t>(c.size));
    if (host_.allgather_bytes(own.data() + begin, length, all.data(), call.comm) != host::success) return -1;
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

std::string Job::doubt_text(const Call& call, const tuning::Choice& choice) {
  const std::string operation(name(call.operation));
  return "option 'verify': " + operation + " with " + operation + ":" + choice.text() +
         " gives other bits than the MPI's own; whether that is right for an operator of the program, or for "
         "its type, cannot be told";
}

bool Job::may_be_written(const std::vector<char>& input) const {
  return !options_.verify_inputs.empty() && input.size() <= most_input_bytes;
}

// What a rank gave to a check, and both results. Says how the files of all ranks are called, or
// why there is none of this one.
std::string Job::write_input(const Communicator& c, Operation operation, std::uint64_t check,
                             const std::vector<char>& input, const std::vector<char>& own,
                             const std::vector<char>& hosts) const {
  if (!may_be_written(input)) return {};
  const std::string stem = options_.verify_inputs + "-" + std::string(name(operation)) + "-" +
                           std::to_string(c.id) + "-" + std::to_string(check) + "-rank";
  const std::string path = stem + std::to_string(c.rank) + ".json";
  const nlohmann::ordered_json content = {{"schema", "unisono-mismatch"},
                                          {"version", 1},
                                          {"operation", std::string(name(operation))},
                                          {"rank", c.rank},
                                          {"ranks", c.size},
                                          {"input", hexadecimal(input)},
                                          {"unisono", hexadecimal(own)},
                                          {"mpi", hexadecimal(hosts)}};
  const std::string problem = replace_file(path, content.dump(1) + '\n');
  return problem.empty() ? stem + "*.json" : path + " " + problem;
}

namespace {

std::string report_line(const std::string& key, const std::string& value) {
  constexpr std::size_t width = 20;
  return "  " + key + std::string(std::max(key.size() + 2, width) - key.size(), ' ') + value + "\n";
}

std::string text_of(const Call& call, const tuning::Choice& choice) {
  return std::string(name(call.operation)) + ":" + choice.text();
}

}  // namespace

// Everything that is needed to see it again, from the first rank that saw it.
void Job::report_mismatch(Communicator& c, const Call& call, Verification& v, std::int64_t wrong,
                          int reporting) {
  const std::string files = write_input(c, call.operation, c.verified_calls, v.input(), v.own(), v.hosts());
  const tuning::Choice& choice = *c.verified_class->choice;
  note_quarantine(c, text_of(call, choice));
  if (c.rank != reporting) return;
  log::warning(mismatch_text(c, call, choice, v, wrong, c.verified_calls) + inputs_text(files) +
               closing_text(c, call, choice));
}

// For the report.
void Job::note_quarantine(const Communicator& c, const std::string& algorithm) {
  const std::lock_guard lock(decide_mutex_);
  warnings_.push_back(algorithm + " was wrong on " + c.layout->describe() +
                      ", and is quarantined (option 'verify')");
}

std::string Job::mismatch_text(const Communicator& c, const Call& call, const tuning::Choice& choice,
                               const Verification& v, std::int64_t wrong, std::uint64_t check) const {
  const host::TypeInfo info = element_of(call);
  const std::size_t bytes = info.size_bytes;
  const std::size_t element = static_cast<std::size_t>(wrong) / bytes;
  std::string text =
      text_of(call, choice) + " was wrong on " + c.layout->describe() + ": its result is not the MPI's\n";
  text += report_line("chosen because", choice.reason);
  text +=
      report_line("communicator", (c.name.empty() ? "number " + std::to_string(c.id) : c.name) + ", " +
                                      c.layout->describe() + ", its check number " + std::to_string(check));
  text += report_line(
      "call",
      (is_rooted(call.operation) ? "root " + std::to_string(call.root) + ", " : "") +
          std::to_string(v.hosts().size() / bytes) + " elements of the result here, datatype " +
          std::string(name(info.element)) + " of " + std::to_string(info.size_bytes) + " bytes" +
          (is_reduction(call.operation) ? ", operator " + std::string(name(host_.reduce_op(call.op))) : "") +
          (call.is_in_place ? ", in place" : ""));
  if (v.own_error != host::success) {
    return text + report_line("failure", "on rank " + std::to_string(c.rank) +
                                             ", with the MPI's error code " + std::to_string(v.own_error));
  }
  const std::size_t first = element * bytes;
  const std::size_t shown = std::min(bytes, v.hosts().size() - first);
  const auto shown_as = [&](const std::vector<char>& data) {
    return value_text(info.element, data.data() + first, shown);
  };
  return text + report_line("first difference", "on rank " + std::to_string(c.rank) + ", element " +
                                                    std::to_string(element) + ": " + shown_as(v.own()) +
                                                    ", the MPI has " + shown_as(v.hosts()));
}

std::string Job::inputs_text(const std::string& files) {
  return report_line("inputs",
                     files.empty() ? "too long to be written, or option 'verify_inputs' is empty" : files);
}

std::string Job::closing_text(const Communicator& c, const Call& call, const tuning::Choice& choice) const {
  std::string again = "UNISONO_VERIFY=all UNISONO_ALGORITHM='" + text_of(call, choice) + "'";
  if (!options_.nodes.empty()) again += " UNISONO_NODES=" + options_.nodes;
  if (c.is_reproducible) again += " UNISONO_REPRODUCIBLE=1";
  return report_line("to see it again", again) +
         "  The MPI's result is delivered; the algorithm is not used on this communicator any more, nor on "
         "new ones.";
}

// On all ranks of the communicator alike: what was decided for the operation is decided anew.
void Job::quarantine(Communicator& c, Operation operation) {
  const algorithms::Descriptor* algorithm = c.verified_class->choice->algorithm;
  c.quarantined.insert(algorithm);
  {
    const std::lock_guard lock(decide_mutex_);
    quarantined_.insert(algorithm);
  }
  // None of its calls that do not block is under way: this blocking one came after them.
  decide_anew(c, operation, [&](const CallClass& entry) { return may_use(entry, *algorithm); });
}

}  // namespace unisono::runtime
