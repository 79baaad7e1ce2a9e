// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/requests/device_memory.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "adapter/below/datatype.h"
#include "adapter/below/functions.h"
#include "adapter/below/neighbors.h"
#include "adapter/below/nesting.h"
#include "adapter/below/place.h"
#include "base/clock.h"

namespace unisono::adapter {
namespace {

using runtime::BlockArguments;
using runtime::Call;

// Consecutive bytes, from an address that the context knows.
struct Run {
  std::ptrdiff_t offset = 0;
  std::size_t bytes = 0;
};

// Where the data of one element is: in gaps the program may do what it likes meanwhile. Found by letting the
// host unpack ones among zeroes.
int find_runs(MPI_Datatype type, const host::TypeInfo& info, std::vector<Run>* runs) {
  if (info.size_bytes > INT_MAX || info.true_extent_bytes > PTRDIFF_MAX) return MPI_ERR_COUNT;
  const std::vector<char> ones(info.size_bytes, '\1');
  std::vector<char> element(info.true_extent_bytes, '\0');
  int position = 0;
  const int error = pmpi.Unpack(ones.data(), static_cast<int>(ones.size()), &position,
                                element.data() - info.true_lower_bound_bytes, 1, type, MPI_COMM_SELF);
  if (error != MPI_SUCCESS) return error;
  for (std::size_t at = 0; at < element.size();) {
    const auto begin = std::find(element.begin() + static_cast<std::ptrdiff_t>(at), element.end(), '\1');
    const auto end = std::find(begin, element.end(), '\0');
    if (begin != end)
      runs->push_back(
          {info.true_lower_bound_bytes + (begin - element.begin()), static_cast<std::size_t>(end - begin)});
    at = static_cast<std::size_t>(end - element.begin());
  }
  return MPI_SUCCESS;
}

// `count` elements of a type, from an offset to the buffer on.
struct Piece {
  std::ptrdiff_t offset = 0;
  std::size_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  host::TypeInfo info;

  bool is_empty() const { return count == 0 || info.size_bytes == 0; }
  std::ptrdiff_t to_last() const { return static_cast<std::ptrdiff_t>(count - 1) * info.extent_bytes; }
  std::ptrdiff_t first_byte() const {
    return offset + info.true_lower_bound_bytes + std::min<std::ptrdiff_t>(0, to_last());
  }
  std::ptrdiff_t end() const {
    return offset + info.true_lower_bound_bytes + static_cast<std::ptrdiff_t>(info.true_extent_bytes) +
           std::max<std::ptrdiff_t>(0, to_last());
  }

  // `copy` takes each run, and says whether it went well.
  template <class Copy>
  int for_runs(Copy copy) const {
    if (info.is_contiguous) return copy(Run{offset, count * info.size_bytes}) ? MPI_SUCCESS : MPI_ERR_OTHER;
    std::vector<Run> of_element;
    const int error = find_runs(type, info, &of_element);
    if (error != MPI_SUCCESS) return error;
    Run next;
    for (std::size_t i = 0; i < count; ++i) {
      for (const Run& run : of_element) {
        const std::ptrdiff_t at = offset + static_cast<std::ptrdiff_t>(i) * info.extent_bytes + run.offset;
        if (next.bytes != 0 && at == next.offset + static_cast<std::ptrdiff_t>(next.bytes)) {
          next.bytes += run.bytes;
          continue;
        }
        if (next.bytes != 0 && !copy(next)) return MPI_ERR_OTHER;
        next = {at, run.bytes};
      }
    }
    return next.bytes == 0 || copy(next) ? MPI_SUCCESS : MPI_ERR_OTHER;
  }
};

// What a call reads and writes of one buffer.
struct Buffer {
  char* begin = nullptr;
  std::vector<Piece> read, written;
};

// One that lies in a GPU's memory, and the copy of it.
class Copied {
 public:
  Copied(Gpu& gpu, Buffer buffer) : gpu_(gpu), buffer_(std::move(buffer)) {
    std::ptrdiff_t first = PTRDIFF_MAX, end = PTRDIFF_MIN;
    for (const auto* pieces : {&buffer_.read, &buffer_.written}) {
      for (const Piece& piece : *pieces) {
        first = std::min(first, piece.first_byte());
        end = std::max(end, piece.end());
      }
    }
    // Memory that is not touched costs nothing. The same place in a cache line as in the program's.
    constexpr std::size_t line_bytes = 64;
    memory_.reset(std::malloc(static_cast<std::size_t>(end - first) + 2 * line_bytes));
    if (memory_ == nullptr) return;
    const auto at = reinterpret_cast<std::uintptr_t>(memory_.get());
    const auto original = reinterpret_cast<std::uintptr_t>(buffer_.begin + first);
    copy_ = static_cast<char*>(memory_.get()) + (original - at) % line_bytes - first;
  }

  void* begin() const { return copy_; }
  int fetch() const { return to_host(buffer_.read); }
  int fetch_written() const { return to_host(buffer_.written); }
  int deliver() const {
    return for_runs(buffer_.written, [this](const Run& run) {
      return gpu_.copy_to_device(buffer_.begin + run.offset, copy_ + run.offset, run.bytes);
    });
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  template <class Copy>
  int for_runs(const std::vector<Piece>& pieces, Copy copy) const {
    if (memory_ == nullptr) return MPI_ERR_NO_MEM;
    for (const Piece& piece : pieces) {
      const int error = piece.for_runs(copy);
      if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
  }
  int to_host(const std::vector<Piece>& pieces) const {
    return for_runs(pieces, [this](const Run& run) {
      return gpu_.copy_to_host(copy_ + run.offset, buffer_.begin + run.offset, run.bytes);
    });
  }

  Gpu& gpu_;
  Buffer buffer_;
  std::unique_ptr<void, Free> memory_;
  char* copy_ = nullptr;
};

// What a call works in, as MPI defines it for the operation.
class Reader {
 public:
  Reader(const Call& call, const Place& place) : call_(call), place_(place) {
    if (has_uneven_blocks(call.operation)) {
      read_blocks();
    } else {
      read_vectors();
    }
  }
  // False where a type cannot be described: the host says what is wrong.
  bool is_well() const { return is_well_; }
  Buffer& send() { return send_; }
  Buffer& receive() { return receive_; }

 private:
  void add(std::vector<Piece>* pieces, std::ptrdiff_t offset, std::size_t count, MPI_Datatype type) {
    Piece piece{.offset = offset, .count = count, .type = type, .info = {}};
    if (count == 0) return;
    is_well_ = is_well_ && describe(type, &piece.info) == MPI_SUCCESS;
    if (is_well_ && !piece.is_empty()) pieces->push_back(piece);
  }

  void read_vectors() {
    const auto ranks = static_cast<std::size_t>(place_.size);
    const bool is_root = call_.root == place_.rank;
    const Operation operation = call_.operation;
    send_.begin = static_cast<char*>(const_cast<void*>(call_.send_buffer));
    receive_.begin = static_cast<char*>(call_.recv_buffer);
    const MPI_Datatype send_type = adapter::native(call_.send_type),
                       receive_type = adapter::native(call_.recv_type);
    if (!moves_data(operation)) return;
    if (has_one_buffer(operation)) {
      add(is_root ? &receive_.read : &receive_.written, 0, call_.send_count, send_type);
      return;
    }
    const bool is_rooted_scatter = is_scatter(operation);
    // In place the input is where the output goes, but for a scatter, which then has no output.
    const bool has_send = is_rooted_scatter ? is_root : !call_.is_in_place;
    if (has_send)
      add(&send_.read, 0, call_.send_count * (sends_all_blocks(operation) ? ranks : 1), send_type);
    const bool has_receive = is_rooted_scatter                ? !call_.is_in_place
                             : ends_at_root(operation)        ? is_root
                             : operation == Operation::exscan ? place_.rank != 0 || call_.is_in_place
                                                              : true;
    if (!has_receive) return;
    const bool is_reducing = is_reduction(operation);
    const MPI_Datatype type = is_reducing ? send_type : receive_type;
    const std::size_t count =
        is_reducing ? call_.send_count : call_.recv_count * (gets_all_blocks(operation) ? ranks : 1);
    add(&receive_.written, 0, count, type);
    if (call_.is_in_place)
      add(&receive_.read, 0, count * (is_scattered_reduction(operation) ? ranks : 1), type);
  }

  void read_blocks() {
    if (is_neighborhood(call_.operation)) return read_neighbor_blocks();
    const bool is_root = call_.root == place_.rank;
    const Operation operation = call_.operation;
    send_.begin = static_cast<char*>(call_.send_blocks.buffer);
    receive_.begin = static_cast<char*>(call_.recv_blocks.buffer);
    const bool is_from_output = call_.is_in_place && !is_scatter(operation);
    if (is_from_output) {
      if (!ends_at_root(operation) || is_root)
        add_all_blocks(&receive_.read, is_reduction(operation) ? call_.send_blocks : call_.recv_blocks);
    } else if (!is_scatter(operation) || is_root) {
      add_all_blocks(&send_.read, call_.send_blocks);
    }
    const bool has_output = ends_at_root(operation) ? is_root : !is_scatter(operation) || !call_.is_in_place;
    if (has_output) add_all_blocks(&receive_.written, call_.recv_blocks);
  }

  void read_neighbor_blocks() {
    NeighborCounts neighbors;
    is_well_ = count_neighbors(adapter::native(call_.comm), &neighbors) == MPI_SUCCESS;
    if (!is_well_) return;
    send_.begin = static_cast<char*>(call_.send_blocks.buffer);
    receive_.begin = static_cast<char*>(call_.recv_blocks.buffer);
    add_blocks(&send_.read, call_.send_blocks, sends_neighbor_blocks(call_.operation) ? neighbors.out : 1);
    // Blocks of neighbours that are not there stay as they are, and are delivered with the others.
    for (auto* pieces : {&receive_.read, &receive_.written})
      add_blocks(pieces, call_.recv_blocks, neighbors.in);
  }

  // One block, or one for each rank.
  void add_all_blocks(std::vector<Piece>* pieces, const BlockArguments& blocks) {
    add_blocks(pieces, blocks, blocks.counts == nullptr ? 1 : place_.size);
  }

  // `many`: blocks there are.
  void add_blocks(std::vector<Piece>* pieces, const BlockArguments& blocks, int many) {
    if (blocks.counts == nullptr)
      return add(pieces, 0, blocks.count * static_cast<std::size_t>(many), adapter::native(blocks.type));
    std::ptrdiff_t next = 0;
    std::ptrdiff_t extent = 1;
    if (blocks.types == nullptr) {
      host::TypeInfo info;
      is_well_ = is_well_ && describe(adapter::native(blocks.type), &info) == MPI_SUCCESS;
      extent = info.extent_bytes;
    }
    for (int i = 0; i < many; ++i) {
      is_well_ = is_well_ && blocks.is_valid(i);
      if (!is_well_) return;
      const std::ptrdiff_t offset =
          blocks.displacements == nullptr
              ? next
              : blocks.displacement_of(i) * (blocks.types == nullptr ? extent : std::ptrdiff_t{1});
      next += static_cast<std::ptrdiff_t>(blocks.count_of(i)) * extent;
      add(pieces, offset, blocks.count_of(i),
          adapter::native(blocks.types == nullptr ? blocks.type : blocks.types[i]));
    }
  }

  const Call& call_;
  Place place_;
  bool is_well_ = true;
  Buffer send_, receive_;
};

// An allocation is of one memory as a whole: the first byte speaks for all.
std::optional<Copied> copied(Buffer& buffer) {
  const Piece* first = !buffer.read.empty()      ? &buffer.read.front()
                       : !buffer.written.empty() ? &buffer.written.front()
                                                 : nullptr;
  if (first == nullptr) return std::nullopt;
  Gpu* gpu = gpu_of(buffer.begin + first->first_byte());
  if (gpu == nullptr) return std::nullopt;
  return std::make_optional<Copied>(*gpu, std::move(buffer));
}

class Staged final : public StagedCall {
 public:
  explicit Staged(const Call& call, Reader& reader)
      : StagedCall(call), send_(copied(reader.send())), receive_(copied(reader.receive())) {
    if (send_) call_.send_buffer = call_.send_blocks.buffer = send_->begin();
    if (!receive_) return;
    call_.recv_buffer = call_.recv_blocks.buffer = receive_->begin();
    if (has_one_buffer(call.operation)) call_.send_buffer = receive_->begin();
  }
  bool is_needed() const { return send_ || receive_; }

  int fetch() override {
    return for_both([](const Copied& copied) { return copied.fetch(); });
  }
  int fetch_written() override {
    return for_both([](const Copied& copied) { return copied.fetch_written(); });
  }
  int deliver() override {
    return for_both([](const Copied& copied) { return copied.deliver(); });
  }

 private:
  template <class Do>
  int for_both(Do what) const {
    int error = MPI_SUCCESS;
    if (send_) error = what(*send_);
    if (error == MPI_SUCCESS && receive_) error = what(*receive_);
    return error;
  }

  std::optional<Copied> send_, receive_;
};

}  // namespace

std::unique_ptr<StagedCall> stage(const Call& call) {
  const MPI_Comm comm = adapter::native(call.comm);
  Place place{};
  int is_inter = 0;
  if (pmpi.Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter != 0 || !find_place(comm, &place))
    return nullptr;
  Reader reader(call, place);
  if (!reader.is_well()) return nullptr;
  auto staged = std::make_unique<Staged>(call, reader);
  return staged->is_needed() ? std::move(staged) : nullptr;
}

int run_staged(StagedCall& staged, const std::function<int()>& native_call) {
  int result = MPI_SUCCESS;
  const Call& call = staged.call();
  runtime::Outcome outcome = runtime::Outcome::native;
  {
    const Nested nested;
    outcome = runtime::collective_staged(call, &result);
  }
  switch (outcome) {
    case runtime::Outcome::done:
      return result;
    case runtime::Outcome::native_timed: {
      const double before_s = now_s();
      result = native_call();
      runtime::native_finished(call, now_s() - before_s);
      return result;
    }
    case runtime::Outcome::compared: {
      const int error = native_call();
      const Nested nested;
      const int fetched = staged.fetch_written();
      result = runtime::compare(call, error != MPI_SUCCESS ? error : fetched);
      const int delivered = staged.deliver();
      return result != MPI_SUCCESS ? result : delivered;
    }
    case runtime::Outcome::native:
      break;
  }
  return native_call();
}

}  // namespace unisono::adapter
