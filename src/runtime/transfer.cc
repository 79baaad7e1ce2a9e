// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/transfer.h"

#include <array>

#include "base/copy.h"
#include "base/reduce_kernels.h"
#include "runtime/crash_site.h"

namespace unisono::runtime {

host::TypeInfo type_info(host::Host& host, host::Datatype type, int* error) {
  struct Known {
    host::Host* host = nullptr;
    host::Datatype type{};
    host::TypeInfo info;
  };
  thread_local std::array<Known, 16> known;
  const auto bits = static_cast<std::uintptr_t>(type);
  Known& slot = known[(bits ^ (bits >> 4) ^ (bits >> 9)) % known.size()];
  if (slot.host == &host && slot.type == type) [[likely]]
    return slot.info;
  host::TypeInfo info;
  const int code = host.type_info(type, &info);
  if (code != host::success) {
    if (error != nullptr) *error = code;
  } else if (info.element != ElementType::derived) {
    slot = {&host, type, info};
  }
  return info;
}

Arguments read_arguments(host::Host& host, const Call& call, int rank, int size, int* error) {
  Arguments a;
  const bool is_root = rank == call.root;
  const auto side = [&](std::size_t count, host::Datatype type) {
    return Side{count, type, type_info(host, type, error)};
  };
  const auto bytes_of_one_block = [&](const Side& s, int blocks) {
    return Extent{static_cast<std::int64_t>(s.bytes() / static_cast<std::size_t>(blocks)), 1};
  };
  const auto ranks = static_cast<std::size_t>(size);
  switch (call.operation) {
    case Operation::barrier:
      a.extent = {1, 1};
      break;
    case Operation::bcast:
      a.recv = side(call.send_count, call.send_type);
      a.extent = {static_cast<std::int64_t>(a.recv.bytes()), 1};
      break;
    case Operation::reduce:
    case Operation::allreduce:
      a.send = side(call.send_count, call.send_type);
      a.recv = call.operation == Operation::allreduce || is_root ? a.send : Side{};
      a.extent = {static_cast<std::int64_t>(call.send_count), a.send.info.size_bytes};
      if (call.is_in_place) a.send = {};
      break;
    case Operation::scan:
    case Operation::exscan:
      a.send = side(call.send_count, call.send_type);
      // Rank 0 gets nothing from an exclusive scan.
      if (call.operation == Operation::scan || rank > 0 || call.is_in_place) a.recv = a.send;
      a.extent = {static_cast<std::int64_t>(call.send_count), a.send.info.size_bytes};
      if (call.is_in_place) a.send = {};
      break;
    case Operation::reduce_scatter_block:
      a.send = side(call.send_count * ranks, call.send_type);
      a.recv = side(call.send_count, call.send_type);
      a.extent = {static_cast<std::int64_t>(call.send_count), a.send.info.size_bytes};
      break;
    case Operation::gather:
      if (is_root) a.recv = side(call.recv_count * ranks, call.recv_type);
      if (!call.is_in_place) a.send = side(call.send_count, call.send_type);
      a.extent = is_root ? bytes_of_one_block(a.recv, size) : bytes_of_one_block(a.send, 1);
      break;
    case Operation::scatter:
      if (is_root) a.send = side(call.send_count * ranks, call.send_type);
      if (!call.is_in_place) a.recv = side(call.recv_count, call.recv_type);
      a.extent = is_root ? bytes_of_one_block(a.send, size) : bytes_of_one_block(a.recv, 1);
      break;
    case Operation::allgather:
      a.recv = side(call.recv_count * ranks, call.recv_type);
      if (!call.is_in_place) a.send = side(call.send_count, call.send_type);
      a.extent = bytes_of_one_block(a.recv, size);
      break;
    case Operation::allgatherv:
    case Operation::reduce_scatter:
    case Operation::alltoallv:
    case Operation::alltoallw:
    case Operation::gatherv:
    case Operation::scatterv:
      break;  // blocks.h
    case Operation::alltoall:
      a.recv = side(call.recv_count * ranks, call.recv_type);
      if (!call.is_in_place) a.send = side(call.send_count * ranks, call.send_type);
      a.extent = bytes_of_one_block(a.recv, size);
      break;
  }
  return a;
}

namespace {

void apply_kernel(const void* context, void* into, const void* left, const void* right, std::size_t count) {
  reinterpret_cast<Kernel>(const_cast<void*>(context))(into, left, right, count);
}

}  // namespace

shm::Combine kernel_combine(host::Host& host, host::Op op, host::Datatype type, const host::TypeInfo& info) {
  shm::Combine combine{.element_bytes = info.size_bytes};
  if (!info.is_contiguous || info.element == ElementType::derived) return combine;
  const Kernel kernel = reduce_kernel(host.reduce_op(op), host.kernel_type(op, type, info.element));
  if (kernel == nullptr) return combine;
  combine.call = apply_kernel;
  combine.context = reinterpret_cast<const void*>(kernel);
  return combine;
}

bool needs_copy(const Call& call) {
  return call.is_in_place &&
         (call.operation == Operation::alltoall || call.operation == Operation::reduce_scatter_block);
}

Operator::Operator(host::Host& host, const Handles& handles, const host::TypeInfo& info, bool is_commutative)
    : host_(host), type_(handles.type), op_(handles.op), info_(info), is_commutative_(is_commutative) {
  combine_ = kernel_combine(host, op_, type_, info);
  if (combine_.call != nullptr) return;
  combine_.call = info.is_contiguous ? apply_contiguous : apply_packed;
  combine_.context = this;
}

// Most such operators are the program's own functions.
void Operator::join_by_host(const void* left, void* into, std::size_t count) {
  const OutsideAlgorithms outside;
  keep(host_.reduce_local(left, into, count, type_, op_));
}

void Operator::apply_contiguous(const void* context, void* into, const void* left, const void* right,
                                std::size_t count) {
  auto& self = *static_cast<Operator*>(const_cast<void*>(context));
  const std::size_t bytes = count * self.info_.size_bytes;
  if (into == left && self.is_commutative_) std::swap(left, right);
  if (into == left) {
    // The host reduces into its right operand: that must be a copy here, as `into` holds the left one.
    if (self.right_.size() < bytes) self.right_.resize(bytes);
    copy_bytes(self.right_.data(), right, bytes);
    self.join_by_host(left, self.right_.data(), count);
    copy_bytes(into, self.right_.data(), bytes);
    return;
  }
  if (into != right) copy_bytes(into, right, bytes);
  self.join_by_host(left, into, count);
}

void Operator::apply_packed(const void* context, void* into, const void* left, const void* right,
                            std::size_t count) {
  auto& self = *static_cast<Operator*>(const_cast<void*>(context));
  if (count == 0) return;
  const std::size_t packed_bytes = count * self.info_.size_bytes;
  // Elements as the program's datatype lays them out, with its gaps; the buffers begin at the lowest byte of
  // the first or last element.
  const std::ptrdiff_t stride = self.info_.extent_bytes;
  const auto spread =
      static_cast<std::size_t>((stride < 0 ? -stride : stride) * static_cast<std::ptrdiff_t>(count - 1));
  const std::size_t bytes = spread + self.info_.true_extent_bytes;
  if (self.left_.size() < bytes) self.left_.resize(bytes), self.right_.resize(bytes);
  const std::ptrdiff_t origin =
      -self.info_.true_lower_bound_bytes + (stride < 0 ? static_cast<std::ptrdiff_t>(spread) : 0);
  char* left_origin = self.left_.data() + origin;
  char* right_origin = self.right_.data() + origin;
  self.keep(self.host_.unpack(left, packed_bytes, left_origin, count, self.type_));
  self.keep(self.host_.unpack(right, packed_bytes, right_origin, count, self.type_));
  self.join_by_host(left_origin, right_origin, count);
  self.keep(self.host_.pack(right_origin, count, self.type_, into, packed_bytes));
}

Transfer::Transfer(host::Host& host, const Call& call, const Arguments& arguments, int rank, int size,
                   std::vector<char>* packed_input, std::vector<char>* packed_output)
    : host_(host),
      call_(call),
      arguments_(arguments),
      rank_(rank),
      size_(size),
      packed_input_(packed_input),
      packed_output_(packed_output) {
  input_ = needs_copy(call_) && is_reduction(call.operation) ? call.recv_buffer : call.send_buffer;
  output_ = call.operation == Operation::bcast ? const_cast<void*>(call.send_buffer) : call.recv_buffer;
}

// Is what the output holds before the call part of the call's input?
bool Transfer::needs_output_before() const {
  if (call_.operation == Operation::reduce_scatter_block) return false;
  return call_.operation == Operation::bcast ? rank_ == call_.root : call_.is_in_place;
}

int Transfer::prepare(bool is_apart) {
  is_apart_ = is_apart;
  const Side& send = arguments_.send;
  const Side& recv = arguments_.recv;
  if (send.count != 0 && (is_apart || !send.info.is_contiguous)) {
    packed_input_->resize(send.bytes());
    const int error = host_.pack(input_, send.count, send.type, packed_input_->data(), send.bytes());
    if (error != host::success) return error;
    input_ = packed_input_->data();
  } else if (needs_copy(call_) && send.count != 0) {
    const char* data = static_cast<const char*>(input_);
    packed_input_->assign(data, data + send.bytes());
    input_ = packed_input_->data();
  }
  if (recv.count != 0 && (is_apart || !recv.info.is_contiguous)) {
    packed_output_->resize(recv.bytes());
    is_output_packed_ = true;
    void* program_output = output_;
    output_ = packed_output_->data();
    if (needs_output_before()) {
      const int error = host_.pack(program_output, recv.count, recv.type, output_, recv.bytes());
      if (error != host::success) return error;
    }
  }
  if (needs_copy(call_) && call_.operation == Operation::alltoall) {
    const char* data = static_cast<const char*>(output_);
    packed_input_->assign(data, data + recv.bytes());
    input_ = packed_input_->data();
  }
  return host::success;
}

int Transfer::deliver() {
  const bool is_bcast = call_.operation == Operation::bcast;
  if (!is_output_packed_ || is_apart_ || (is_bcast && rank_ == call_.root)) return host::success;
  const Side& recv = arguments_.recv;
  void* program_output = is_bcast ? const_cast<void*>(call_.send_buffer) : call_.recv_buffer;
  return host_.unpack(packed_output_->data(), recv.bytes(), program_output, recv.count, recv.type);
}

}  // namespace unisono::runtime
