// SPDX-License-Identifier: BSD-3-Clause
// What the core needs from the MPI below, as one interface. The adapter (adapter/below) implements it once
// per ABI family, tests/fake_host implements it with ranks as threads of one process. Nothing else in the
// core knows an MPI.
//
// Every function that can fail returns the host's own error code, `success` (0) on success; such a code goes
// back to the program through call_error_handler. Handles are the host's own, widened to 64 bits; they are
// owned by whoever created them (comm_split -> comm_free).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "base/types.h"

namespace unisono::host {

enum class Comm : std::uintptr_t {};
enum class Datatype : std::uintptr_t {};
enum class Op : std::uintptr_t {};
enum class Request : std::uintptr_t {};

inline constexpr int success = 0;
inline constexpr int no_rank = -1;     // translate_ranks: not in the other communicator
inline constexpr int any_source = -1;  // irecv: from whichever rank

// Layout of a datatype in memory, bytes. A type is `is_contiguous` when count elements are count * size_bytes
// consecutive bytes from the buffer's address on.
struct TypeInfo {
  std::size_t size_bytes = 0;
  std::ptrdiff_t extent_bytes = 0;
  std::ptrdiff_t true_lower_bound_bytes = 0;
  std::size_t true_extent_bytes = 0;
  bool is_contiguous = false;
  ElementType element = ElementType::derived;
};

// What a program said of something, if anything.
enum class Hint : std::uint8_t { none, no, yes };

// What a communicator's topology says of the calling rank, in MPI's order. Cartesian: of each dimension the
// rank below and the rank above, the same in both lists; no_rank where there is none.
struct TopologyNeighbors {
  enum class Kind : std::uint8_t { none, cartesian, graph } kind = Kind::none;
  std::vector<int> sources, destinations;
};

// Operators for the few small reductions that set-up itself needs.
enum class AgreeOp : std::uint8_t { band, bor, min, max, sum };

class Host {
 public:
  virtual ~Host() = default;

  // --- Identity ---
  virtual const std::string& library_name() const = 0;  // "Open MPI 5.0.11"
  virtual const std::string& family_name() const = 0;   // "openmpi", "mpich", "mpiabi", "fake"
  virtual bool is_thread_multiple() const = 0;
  virtual int largest_tag() const = 0;  // that messages may have; 32766 at least
  // May the program go on when ranks have died (user-level failure mitigation)? As this rank's MPI says.
  virtual bool is_fault_tolerant() const { return false; }
  // Does this process use GPUs, whose memory the MPI's collectives take as it is? Asked at set-ups.
  virtual bool takes_device_memory() = 0;

  // --- Communicators ---
  virtual Comm world() const = 0;
  virtual int comm_rank(Comm comm) = 0;
  virtual int comm_size(Comm comm) = 0;
  virtual bool is_intercommunicator(Comm comm) = 0;
  // Collective over `parent`; ranks with equal color form a communicator, ordered by key. Errors return on
  // it.
  virtual int comm_split(Comm parent, int color, int key, Comm* created) = 0;
  // Collective over `parent`, before the program has it: its ranks once more.
  virtual int comm_copy(Comm parent, Comm* created) {
    return comm_split(parent, 0, comm_rank(parent), created);
  }
  virtual int comm_free(Comm* comm) = 0;
  // For every rank of `from` in order: its rank in `to`, or no_rank.
  virtual int translate_ranks(Comm from, Comm to, std::vector<int>* ranks) = 0;
  // Calls `callback(state)` once, when the program frees `comm` (an attribute's delete callback).
  virtual int on_comm_free(Comm comm, void (*callback)(void*), void* state) = 0;
  // The communicator's MPI name, empty where it has none. Local.
  virtual std::string comm_name(Comm comm) = 0;
  // The info key unisono_reproducible, as the program set it on `comm`. Local.
  virtual Hint reproducible_hint(Comm comm) = 0;
  // The info key mpi_assert_strict_persistent_collective_ordering of `comm`: all ranks say that they start
  // its persistent collectives in one order. Local.
  virtual bool has_ordered_persistent(Comm comm) = 0;
  // The rank's neighbours on the topology of `comm`. Local.
  virtual int neighbors(Comm comm, TopologyNeighbors* found) = 0;
  // Has the program ever given `comm`, or what it was duplicated from, an info object? The same on all ranks.
  virtual bool has_hints(Comm comm) = 0;

  // --- Messages of bytes (on communicators that the core made by comm_split) ---
  virtual int isend(const void* data, std::size_t bytes, int destination, int tag, Comm comm,
                    Request* request) = 0;
  // The same, complete once its receive has begun.
  virtual int issend(const void* data, std::size_t bytes, int destination, int tag, Comm comm,
                     Request* request) = 0;
  virtual int irecv(void* data, std::size_t bytes, int source, int tag, Comm comm, Request* request) = 0;
  // Ends a receive that no message will match.
  virtual int cancel_receive(Request* request) = 0;
  // On completion frees the request and sets *is_done; also makes progress.
  virtual int test(Request* request, bool* is_done) = 0;
  // Tests `count` requests; completed ones are freed, their indices written to `completed` (room for count),
  // their number to *completed_count. Those that a test has freed before are passed over.
  virtual int test_some(int count, Request* requests, int* completed_count, int* completed) = 0;
  // Waits for the request's end, for set-ups. Others have the core meanwhile.
  virtual int wait(Request* request) {
    bool is_done = false;
    int error = success;
    while (error == success && !is_done) {
      error = test(request, &is_done);
      if (!is_done) std::this_thread::yield();
    }
    return error;
  }
  // Makes the host MPI progress whatever is pending; never blocks.
  virtual void progress() = 0;

  // --- Collectives for set-up, over any communicator that the program or the core holds ---
  virtual int agree(std::uint64_t* values, int count, AgreeOp op, Comm comm) = 0;  // allreduce in place
  virtual int bcast_bytes(void* data, std::size_t bytes, int root, Comm comm) = 0;
  // Every rank gives `bytes` bytes; `out` gets size * bytes on all ranks.
  virtual int allgather_bytes(const void* in, std::size_t bytes, void* out, Comm comm) = 0;
  // The same without waiting: both buffers are in use until `request` is complete (test).
  virtual int start_allgather_bytes(const void* in, std::size_t bytes, void* out, Comm comm,
                                    Request* request) = 0;
  virtual int start_bcast_bytes(void* data, std::size_t bytes, int root, Comm comm, Request* request) = 0;
  // Received by root alone.
  virtual int gather_bytes(const void* in, std::size_t bytes, void* out, int root, Comm comm) = 0;
  virtual int barrier(Comm comm) = 0;

  // --- Data ---
  virtual int type_info(Datatype type, TypeInfo* info) = 0;
  // `packed` holds exactly count * size_bytes bytes; unpack may be given fewer.
  virtual int pack(const void* data, std::size_t count, Datatype type, void* packed,
                   std::size_t packed_bytes) = 0;
  virtual int unpack(const void* packed, std::size_t packed_bytes, void* data, std::size_t count,
                     Datatype type) = 0;
  virtual ReduceOp reduce_op(Op op) = 0;
  virtual Op predefined_op(ReduceOp op) = 0;  // not of ReduceOp::host
  virtual bool is_commutative(Op op) = 0;
  // Does the host apply the operator to elements of the type? If not, the call is an error for it to report.
  // The same answer on all ranks.
  virtual bool is_defined(Op op, Datatype type) = 0;
  // The type whose kernel gives the host's bits for that pair, of elements of `element`; `other`: none does.
  virtual ElementType kernel_type(Op, Datatype, ElementType element) { return element; }
  // inout = in op inout, element by element, in the datatype's memory layout.
  virtual int reduce_local(const void* in, void* inout, std::size_t count, Datatype type, Op op) = 0;

  // --- Errors ---
  // The code for a call that cannot end since one of its ranks has died.
  virtual int rank_has_died() const { return 1; }
  // Invokes the error handler of `comm` and returns what the MPI function is to return.
  virtual int call_error_handler(Comm comm, int error_code) = 0;
  virtual int abort(Comm comm, int exit_code) = 0;
};

}  // namespace unisono::host
