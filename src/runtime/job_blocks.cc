// SPDX-License-Identifier: BSD-3-Clause
// Calls on uneven blocks: through the lines of shared memory, where the algorithm is the fused one; what is
// left then, and all other algorithms, by schedules.
#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "base/log.h"
#include "base/short_copy.h"
#include "runtime/crash_site.h"
#include "runtime/job.h"
#include "schedule/ranges.h"

namespace unisono::runtime {
namespace {

const std::vector<int>& local_ranks(const Communicator& c) {
  return c.layout->ranks_of[static_cast<std::size_t>(c.layout->node_of[c.rank])];
}

// A fused call on blocks, as one rank sees it.
struct Exchange {
  Operation operation;
  int rank, size, root;
  bool is_in_place;
  int places, lines;          // of a block in shared memory
  std::size_t most_streamed;  // the longest block that goes through a stream; 0: none does
  bool has_single_copy;

  bool is_root() const { return rank == root; }
  bool sends_one() const { return sends_own_block(operation); }
  bool gets_one() const { return gets_own_block(operation); }
  // The first block's number among those that this rank gets.
  int first_got() const { return gets_one() ? rank : is_uneven_alltoall(operation) ? size : 0; }
};

int places_of(const Communicator& c, const Call& call) {
  return is_uneven_alltoall(call.operation) ? c.size : 1;
}

int lines_of(const Communicator& c, const CallClass& entry) {
  return entry.choice->algorithm->block_lines(c.size, entry.choice->parameters);
}

// With a core for each rank one reads a piece while the other one writes the next. Ranks that share cores do
// so in turn: then a long block costs two copies, where the kernel makes one (8 ranks on 2 cores, Open MPI 5,
// over native: alltoallvs of 4 KiB 2.8 to 5.9 through streams and 1.1 by the kernel, of 64 KiB 0.6 to 0.7
// and 1.0).
std::size_t most_streamed(const Communicator& c) {
  constexpr std::size_t most_on_shared_cores = 32 * 1024;
  if (!c.slice->has_streams()) return 0;
  return c.is_oversubscribed && c.has_single_copy ? most_on_shared_cores
                                                  : std::numeric_limits<std::size_t>::max();
}

Exchange exchange_of(const Communicator& c, const Call& call, bool is_in_place, int lines) {
  const bool has_one_reader = call.operation != Operation::allgatherv;
  return {.operation = call.operation,
          .rank = c.rank,
          .size = c.size,
          .root = call.root,
          .is_in_place = is_in_place,
          .places = places_of(c, call),
          .lines = lines,
          .most_streamed = has_one_reader ? most_streamed(c) : 0,
          .has_single_copy = c.has_single_copy && has_one_reader};
}

// The blocks of a side by the rank at the other end: in the program's memory, of one datatype without gaps.
class BlocksInMemory {
 public:
  BlocksInMemory(const BlockArguments& blocks, std::size_t element_bytes)
      : blocks_(blocks), element_bytes_(element_bytes) {}
  std::size_t bytes(int peer) const { return blocks_.count_of(peer) * element_bytes_; }
  char* at(int peer) const {
    auto* begin = static_cast<char*>(blocks_.buffer);
    if (blocks_.counts == nullptr) return begin;
    return begin + blocks_.displacement_of(peer) * static_cast<std::ptrdiff_t>(element_bytes_);
  }

 private:
  const BlockArguments& blocks_;
  std::size_t element_bytes_;
};

// The same where a schedule would find them: by their numbers, `first` is the side's first one.
class BlocksOfData {
 public:
  BlocksOfData(const schedule::Data& data, const void* begin, const std::int64_t* places, int first,
               bool is_one)
      : begin_(static_cast<const char*>(begin)),
        starts_(data.lengths.starts),
        places_(places),
        first_(first),
        is_one_(is_one) {}
  std::size_t bytes(int peer) const {
    return static_cast<std::size_t>(starts_[number(peer) + 1] - starts_[number(peer)]);
  }
  char* at(int peer) const {
    const std::int64_t offset =
        places_ != nullptr ? places_[number(peer) - first_] : starts_[number(peer)] - starts_[first_];
    return const_cast<char*>(begin_) + offset;
  }

 private:
  std::int64_t number(int peer) const { return is_one_ ? first_ : first_ + peer; }

  const char* begin_;
  const std::int64_t* starts_;
  const std::int64_t* places_;
  std::int64_t first_;
  bool is_one_;
};

// One call's blocks through the lines: short ones in them, long ones by single copy, where the kernel allows
// it and a block has one reader. Whoever writes a block and whoever reads it know how long it is, so that
// both take it for short or both for long.
template <class Blocks>
class LineBlocks {
 public:
  // `refused`: takes the numbers of blocks that the kernel copies not, of which both sides hear.
  LineBlocks(shm::Slice& slice, const Exchange& exchange, const Blocks& sent, const Blocks& got,
             std::vector<std::int64_t>* refused)
      : slice_(slice),
        exchange_(exchange),
        sent_(sent),
        got_(got),
        refused_(*refused),
        most_bytes_(shm::Slice::most_block_bytes(exchange.lines)) {}

  // True where blocks are left: the refused ones, or all long ones where nothing is copied by the kernel.
  bool run() {
    refused_.clear();
    slice_.begin_blocks(exchange_.places, exchange_.lines);
    switch (exchange_.operation) {
      case Operation::gatherv:
        gather();
        break;
      case Operation::scatterv:
        scatter();
        break;
      case Operation::allgatherv:
        allgather();
        break;
      default:
        alltoall();
    }
    slice_.end_blocks();
    return has_left_ || !refused_.empty();
  }

 private:
  // How a block goes: a matter of its length and of what the set-up agreed on, so that both sides say alike.
  enum class Way : std::uint8_t { nothing, lines, stream, kernel, message };
  Way way_of(std::size_t bytes) const {
    if (bytes == 0) return Way::nothing;
    if (bytes <= most_bytes_) return Way::lines;
    if (bytes <= exchange_.most_streamed) return Way::stream;
    return exchange_.has_single_copy ? Way::kernel : Way::message;
  }
  void put(int peer, int place, int column) {
    const std::size_t bytes = sent_.bytes(peer);
    switch (way_of(bytes)) {
      case Way::nothing:
        return;
      case Way::lines:
        return slice_.put_block(sent_.at(peer), bytes, place, column);
      case Way::stream:
        return slice_.send_stream(sent_.at(peer), bytes, peer);
      case Way::kernel:
        return slice_.offer_block(sent_.at(peer), place, column);
      case Way::message:
        has_left_ = true;
    }
  }
  // All streams are served before anything else is waited for.
  void get_stream(int peer) {
    const std::size_t bytes = got_.bytes(peer);
    if (way_of(bytes) == Way::stream) slice_.get_stream(got_.at(peer), bytes, peer);
  }
  void get(int peer, int place, int column) {
    const std::size_t bytes = got_.bytes(peer);
    switch (way_of(bytes)) {
      case Way::nothing:
      case Way::stream:
        return;
      case Way::lines:
        return slice_.get_block(got_.at(peer), bytes, place, column);
      case Way::kernel:
        if (!slice_.take_block(got_.at(peer), bytes, peer, place, column))
          refused_.push_back(exchange_.first_got() + (exchange_.gets_one() ? 0 : peer));
        return;
      case Way::message:
        has_left_ = true;
    }
  }
  void finish(int peer, int place, int column) {
    if (way_of(sent_.bytes(peer)) != Way::kernel) return;
    if (!slice_.await_taken(place, column)) refused_.push_back(exchange_.sends_one() ? exchange_.rank : peer);
  }
  void copy_own() {
    if (exchange_.is_in_place) return;
    copy_bytes(got_.at(exchange_.rank), sent_.at(exchange_.rank), got_.bytes(exchange_.rank));
  }
  template <class Do>
  void for_others(Do what) {
    for (int distance = 1; distance < exchange_.size; ++distance) {
      const int peer = exchange_.rank + distance;
      what(peer < exchange_.size ? peer : peer - exchange_.size);
    }
  }

  void gather() {
    if (exchange_.is_root()) {
      copy_own();
      for_others([this](int peer) { get_stream(peer); });
      slice_.run_streams();
      for_others([this](int peer) { get(peer, 0, peer); });
    } else {
      put(exchange_.root, 0, exchange_.rank);
      slice_.run_streams();
      finish(exchange_.root, 0, exchange_.rank);
    }
  }
  void scatter() {
    if (exchange_.is_root()) {
      for_others([this](int peer) { put(peer, 0, peer); });
      copy_own();
      slice_.run_streams();
      for_others([this](int peer) { finish(peer, 0, peer); });
    } else {
      get_stream(exchange_.root);
      slice_.run_streams();
      get(exchange_.root, 0, exchange_.rank);
    }
  }
  void allgather() {
    const int rank = exchange_.rank;
    const Blocks& own = exchange_.is_in_place ? got_ : sent_;
    const std::size_t bytes = own.bytes(rank);
    if (way_of(bytes) == Way::lines) {
      slice_.put_block(own.at(rank), bytes, 0, rank);
    } else if (bytes != 0) {
      has_left_ = true;
    }
    copy_own();
    for_others([this](int peer) { get(peer, 0, peer); });
  }
  void alltoall() {
    for_others([this](int peer) { put(peer, peer, exchange_.rank); });
    copy_own();
    for_others([this](int peer) { get_stream(peer); });
    slice_.run_streams();
    for_others([this](int peer) { get(peer, exchange_.rank, peer); });
    for_others([this](int peer) { finish(peer, peer, exchange_.rank); });
  }

  shm::Slice& slice_;
  const Exchange& exchange_;
  const Blocks& sent_;
  const Blocks& got_;
  std::vector<std::int64_t>& refused_;
  std::size_t most_bytes_;
  bool has_left_ = false;
};

template <class Blocks>
bool run_in_lines(Communicator& c, const Exchange& exchange, const Blocks& sent, const Blocks& got) {
  return LineBlocks<Blocks>(*c.slice, exchange, sent, got, &c.work.refused).run();
}

// All counts that MPI says are significant here are valid, and the memory is somewhere.
bool is_readable(const BlockArguments& blocks, int size) {
  if (blocks.counts == nullptr) return blocks.buffer != nullptr || blocks.count == 0;
  bool are_valid = blocks.buffer != nullptr;
  for (int i = 0; i < size; ++i) are_valid = are_valid && blocks.is_valid(i);
  return are_valid;
}

}  // namespace

// Of types without gaps, a call of which only the counts and places are new.
std::optional<std::int64_t> Job::known_exchange(const Communicator& c, const Call& call) const {
  const BlockMemo& memo = c.block_memo(call.operation);
  if (memo.entry == nullptr || memo.entry->is_next_to_be_looked_at()) return std::nullopt;
  const auto holds = [](host::Datatype known, host::Datatype type) {
    return type == host::Datatype{} || type == known;
  };
  if (!holds(memo.send_type, call.send_blocks.type) || !holds(memo.recv_type, call.recv_blocks.type) ||
      (call.is_in_place && is_uneven_alltoall(call.operation)) || !is_readable(call.send_blocks, c.size) ||
      !is_readable(call.recv_blocks, c.size))
    return std::nullopt;
  if (!has_known_blocks(call.operation)) return 0;
  const std::int64_t mean = mean_bytes(call.recv_blocks, memo.recv_bytes, c.size);
  return tuning::size_class(mean) == memo.size_class ? std::optional(mean) : std::nullopt;
}

int Job::exchange_again(Communicator& c, const Call& call, std::int64_t bytes) {
  const BlockMemo& memo = c.block_memo(call.operation);
  CallClass& entry = *memo.entry;
  const bool is_timed = (entry.calls++ & entry.sample_mask) == 0;
  entry.bytes += static_cast<std::uint64_t>(bytes);
  const Beginning beginning(is_timed);
  const Exchange exchange = exchange_of(c, call, call.is_in_place, memo.lines);
  const BlocksInMemory sent(call.send_blocks, memo.send_bytes), got(call.recv_blocks, memo.recv_bytes);
  int error = host::success;
  bool is_left = false;
  {
    const UnevenMemory uneven{.send_bytes = memo.send_bytes, .recv_bytes = memo.recv_bytes};
    const InsideAlgorithm here(&entry, tuning::class_high(memo.size_class),
                               {.call = &call, .ranks = c.size, .uneven = &uneven});
    is_left = run_in_lines(c, exchange, sent, got);
  }
  if (is_left) {
    c.work.blocks.read(host_, call, c.rank, c.size, &error);
    const schedule::Compiled& what = *compiled(c, entry, call, c.work.blocks.is_in_place(), true);
    schedule::Data data;
    if (error == host::success)
      error = c.work.blocks.prepare(host_, call, what, &data, &c.work.packed_input, &c.work.packed_output);
    if (error == host::success) {
      const UnevenMemory uneven{.read = &c.work.blocks};
      const InsideAlgorithm here(&entry, tuning::class_high(memo.size_class),
                                 {.call = &call, .ranks = c.size, .uneven = &uneven});
      error = run_long_blocks(c, exchange.lines, call, what, &data);
    }
    if (error == host::success) error = c.work.blocks.deliver(host_, c.work.packed_output);
  }
  keep_time(entry, beginning, error == host::success);
  return error == host::success ? error : host_.call_error_handler(call.comm, error);
}

void Job::remember_blocks(Communicator& c, CallClass& entry, const Call& call, std::int64_t bytes) {
  BlockMemo& memo = c.block_memo(call.operation);
  if (is_reduction(call.operation) || call.operation == Operation::alltoallw) return;
  const auto keep = [&](host::Datatype type, host::Datatype* known, std::size_t* element_bytes) {
    if (type == host::Datatype{}) return true;
    const host::TypeInfo info = type_info(host_, type);
    *known = type;
    *element_bytes = info.size_bytes;
    return info.is_contiguous && info.element != ElementType::derived &&
           info.extent_bytes == static_cast<std::ptrdiff_t>(info.size_bytes);
  };
  BlockMemo next = memo;
  next.entry = &entry;
  next.size_class = tuning::size_class(bytes);
  next.lines = lines_of(c, entry);
  const bool are_plain = keep(call.send_blocks.type, &next.send_type, &next.send_bytes) &&
                         keep(call.recv_blocks.type, &next.recv_type, &next.recv_bytes);
  memo = are_plain ? next : BlockMemo{};
}

// What is too long for lines, or could not be copied, as the algorithm's schedule moves blocks of any length:
// the others count as empty there, on both sides.
int Job::run_long_blocks(Communicator& c, int lines, const Call& call, const schedule::Compiled& what,
                         schedule::Data* data) {
  if (c.work.refused.empty()) {
    c.work.blocks.leave_out_short(static_cast<std::int64_t>(shm::Slice::most_block_bytes(lines)), data);
  } else {
    log::warning_once(
        "the kernel refuses to copy a block out of another rank's memory, though it did so at the start; "
        "such "
        "blocks go as messages (UNISONO_SINGLE_COPY=0 spares the attempts)");
    c.work.blocks.leave_out_all_but(c.work.refused, data);
  }
  return execute(c, call, what, *data);
}

int Job::run_blocks(Communicator& c, CallClass& entry, const Call& call, bool is_commutative,
                    std::int64_t bytes) {
  Workspace& work = c.work;
  const schedule::Compiled& what = *compiled(c, entry, call, work.blocks.is_in_place(), is_commutative);
  schedule::Data data;
  int error = work.blocks.prepare(host_, call, what, &data, &work.packed_input, &work.packed_output);
  if (error != host::success) return error;
  error = move_blocks(c, entry, call, is_commutative, bytes, what, &data);
  return error == host::success ? work.blocks.deliver(host_, work.packed_output) : error;
}

// Between packing and delivering, which the host does.
int Job::move_blocks(Communicator& c, CallClass& entry, const Call& call, bool is_commutative,
                     std::int64_t bytes, const schedule::Compiled& what, schedule::Data* moved) {
  const UnevenMemory uneven{.read = &c.work.blocks};
  const InsideAlgorithm here(&entry, bytes, {.call = &call, .ranks = c.size, .uneven = &uneven});
  Workspace& work = c.work;
  schedule::Data& data = *moved;
  int error = host::success;
  if (entry.kind == CallClass::Kind::fused && !is_reduction(call.operation)) {
    const Exchange exchange = exchange_of(c, call, work.blocks.is_in_place(), lines_of(c, entry));
    const BlocksOfData sent(data, data.input, data.input_places, exchange.sends_one() ? c.rank : 0,
                            exchange.sends_one());
    const BlocksOfData got(data, data.output, data.output_places, exchange.first_got(), exchange.gets_one());
    if (run_in_lines(c, exchange, sent, got)) error = run_long_blocks(c, exchange.lines, call, what, &data);
    return error;
  }
  schedule::Data told;
  if (const schedule::Compiled* telling = header(c, entry, call, true, &work, &told).get();
      telling != nullptr) {
    error = execute(c, call, *telling, told);
    if (error != host::success) return error;
  }
  learn_blocks(c, *entry.choice->algorithm, call, &work);
  data.elements = work.blocks.longest();
  if (is_reduction(call.operation)) {
    const host::TypeInfo info = type_info(host_, call.send_blocks.type, &error);
    Operator op(host_, {call.send_blocks.type, call.op}, info, is_commutative);
    data.combine = op.combine();
    error = execute(c, call, what, data);
    return error == host::success ? op.error() : error;
  }
  return execute(c, call, what, data);
}

// Lengths travel along the blocks' tree, ahead of them, or the ranks of a node tell each other of their
// blocks.
const std::shared_ptr<const schedule::Compiled>& Job::header(Communicator& c, CallClass& entry,
                                                             const Call& call, bool is_blocking,
                                                             Workspace* work, schedule::Data* data) {
  const tuning::Choice& choice = *entry.choice;
  if (choice.algorithm->build_tree_header) {
    if (entry.header == nullptr || entry.header_root != call.root) {
      schedule::Problem telling = problem(c, call, true);
      telling.operation = Operation::allgather;
      telling.is_in_place = true;
      entry.header =
          schedule::compile(telling, choice.algorithm->build_tree_header(telling, choice.parameters));
      entry.header_root = call.root;
    }
    work->blocks.lengths(&work->told);
    *data = {.output = work->told.data(), .elements = 1, .element_bytes = sizeof work->told[0]};
  } else if (choice.algorithm->build_header) {
    const auto count = static_cast<int>(local_ranks(c).size());
    if (entry.header == nullptr && count > 1) {
      const schedule::Problem node{
          .operation = Operation::allgather,
          .size = count,
          .rank = c.layout->local_rank_of[c.rank],
          .is_in_place = true,
          .layout = std::make_shared<patterns::Layout>(patterns::Layout::one_node(count)),
          .blocks = {}};
      const auto& build = is_blocking ? choice.algorithm->build_header : choice.algorithm->build_header_aside;
      entry.header = schedule::compile(node, build(node, choice.parameters));
    }
    work->told.assign(static_cast<std::size_t>(count), work->blocks.to_tell(call.operation));
    *data = {.output = work->told.data(), .elements = 1, .element_bytes = sizeof work->told[0]};
  }
  return entry.header;
}

void Job::learn_blocks(const Communicator& c, const algorithms::Descriptor& algorithm, const Call& call,
                       Workspace* work) {
  if (algorithm.build_tree_header) work->blocks.set_lengths(work->told);
  if (algorithm.build_header) work->blocks.learn(call.operation, local_ranks(c), work->told);
}

}  // namespace unisono::runtime
