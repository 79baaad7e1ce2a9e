// SPDX-License-Identifier: BSD-3-Clause
// From a call's MPI arguments to what a schedule works on: sizes, packed buffers, the operator.
#pragma once

#include <cstdint>
#include <vector>

#include "host/host.h"
#include "runtime/call/call.h"
#include "schedule/executor.h"

namespace unisono::runtime {

// Datatype facts; predefined types are remembered per thread (their handles are never reused).
host::TypeInfo type_info(host::Host& host, host::Datatype type, int* error = nullptr);

// Unisono's own kernel for the operator on the type; without a call where there is none.
shm::Combine kernel_combine(host::Host& host, host::Op op, host::Datatype type, const host::TypeInfo& info);

// What of a call decides, the same on all ranks.
struct Extent {
  std::int64_t elements = 0;  // N of the schedule's unit
  std::size_t element_bytes = 1;
  std::int64_t bytes() const { return elements * static_cast<std::int64_t>(element_bytes); }
};

// One side of a call in memory: `count` elements of `type`, all blocks together.
struct Side {
  std::size_t count = 0;
  host::Datatype type{};
  host::TypeInfo info;
  std::size_t bytes() const { return count * info.size_bytes; }
};

struct Arguments {
  Extent extent;
  Side send;  // count 0 where MPI says that the argument is not significant on this rank
  Side recv;
};
// `rank` and `size` of the communicator. On an error of the host *error is set.
Arguments read_arguments(host::Host& host, const Call& call, int rank, int size, int* error);

// In place, an alltoall and a scattered reduction overwrite what others are still to get: they work on a copy
// of their input.
bool needs_copy(const Call& call);

// Applies the call's operator to packed elements: Unisono's own kernel where there is one, else the host's.
class Operator {
 public:
  struct Handles {
    host::Datatype type;
    host::Op op;
  };
  Operator(host::Host& host, const Handles& handles, const host::TypeInfo& info, bool is_commutative);
  const shm::Combine& combine() const { return combine_; }
  int error() const { return error_; }
  bool is_applied_by_host() const { return combine_.context == this; }

 private:
  static void apply_contiguous(const void* context, void* into, const void* left, const void* right,
                               std::size_t count);
  static void apply_packed(const void* context, void* into, const void* left, const void* right,
                           std::size_t count);
  void keep(int error) {
    if (error_ == host::success) error_ = error;
  }
  void join_by_host(const void* left, void* into, std::size_t count);

  host::Host& host_;
  host::Datatype type_;
  host::Op op_;
  host::TypeInfo info_;
  bool is_commutative_;
  shm::Combine combine_;
  std::vector<char> left_, right_;
  int error_ = host::success;
};

// The buffers of one call: the program's own where they are contiguous, packed copies where not.
class Transfer {
 public:
  Transfer(host::Host& host, const Call& call, const Arguments& arguments, int rank, int size,
           std::vector<char>* packed_input, std::vector<char>* packed_output);
  // Packs. `is_apart`: works on copies alone, whatever the datatypes are, and delivers nothing.
  int prepare(bool is_apart = false);
  int deliver();  // unpacks
  const void* input() const { return input_; }
  void* output() const { return output_; }
  bool has_packed_output() const { return is_output_packed_; }
  // Does the schedule see the call as in place?
  bool is_in_place() const { return call_.is_in_place && !needs_copy(call_); }

 private:
  bool needs_output_before() const;
  host::Host& host_;
  const Call& call_;
  const Arguments& arguments_;
  int rank_, size_;
  std::vector<char>* packed_input_;
  std::vector<char>* packed_output_;
  const void* input_ = nullptr;
  void* output_ = nullptr;
  bool is_output_packed_ = false;
  bool is_apart_ = false;
};

}  // namespace unisono::runtime
