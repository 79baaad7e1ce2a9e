// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/packing/transfer.h"

#include <utility>

#include "base/reduce_kernels.h"
#include "base/short_copy.h"
#include "runtime/call/crash_site.h"

namespace unisono::runtime {
namespace {

struct Known {
  host::Host* host = nullptr;
  host::Datatype type{};
  host::TypeInfo info;
};
constexpr std::size_t most_known = 16;
// By a pointer: a library that is loaded late has room for few thread-local bytes.
[[gnu::tls_model("initial-exec")]] constinit thread_local Known* known = nullptr;

void begin_known() {
  struct GivesBack {
    ~GivesBack() { delete[] std::exchange(known, nullptr); }
  };
  known = new Known[most_known];
  thread_local GivesBack gives_back;
}

}  // namespace

host::TypeInfo type_info(host::Host& host, host::Datatype type, int* error) {
  if (known == nullptr) [[unlikely]]
    begin_known();
  const auto bits = static_cast<std::uintptr_t>(type);
  Known& slot = known[(bits ^ (bits >> 4) ^ (bits >> 9)) % most_known];
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

namespace {

Extent of_one_block(const Side& side, int blocks) {
  return {static_cast<std::int64_t>(side.bytes() / static_cast<std::size_t>(blocks)), 1};
}

// The sides of a call on one rank: a count and a type, as MPI names them for the operation.
class Reader {
 public:
  Reader(host::Host& host, const Call& call, int rank, int size, int* error)
      : host_(host), call_(call), rank_(rank), size_(size), error_(error) {}

  Arguments read() const {
    const Operation operation = call_.operation;
    if (!moves_data(operation)) return {.extent = {1, 1}};
    if (is_scattered_reduction(operation)) return scattered();
    return is_block_operation(operation) ? blocks() : vectors();
  }

 private:
  Side side(std::size_t count, host::Datatype type) const {
    return {count, type, type_info(host_, type, error_)};
  }
  std::size_t ranks() const { return static_cast<std::size_t>(size_); }
  bool is_root() const { return rank_ == call_.root; }

  Arguments vectors() const {
    const Side vector = side(call_.send_count, call_.send_type);
    if (!is_reduction(call_.operation))
      return {.extent = {static_cast<std::int64_t>(vector.bytes()), 1}, .recv = vector};
    Arguments a{.extent = {static_cast<std::int64_t>(call_.send_count), vector.info.size_bytes}};
    // Rank 0 gets nothing from an exclusive scan.
    const bool has_operands = joined_ranks(call_.operation, rank_, size_) > 0 || call_.is_in_place;
    if (ends_at_root(call_.operation) ? is_root() : has_operands) a.recv = vector;
    if (!call_.is_in_place) a.send = vector;
    return a;
  }

  Arguments scattered() const {
    Arguments a;
    a.send = side(call_.send_count * ranks(), call_.send_type);
    a.recv = side(call_.send_count, call_.send_type);
    a.extent = {static_cast<std::int64_t>(call_.send_count), a.send.info.size_bytes};
    return a;
  }

  Arguments blocks() const {
    const Operation operation = call_.operation;
    const bool gets_all = gets_all_blocks(operation), sends_all = sends_all_blocks(operation);
    Arguments a;
    if (is_scatter(operation) ? !call_.is_in_place : !ends_at_root(operation) || is_root())
      a.recv = side(call_.recv_count * (gets_all ? ranks() : 1), call_.recv_type);
    if (is_scatter(operation) ? is_root() : !call_.is_in_place)
      a.send = side(call_.send_count * (sends_all ? ranks() : 1), call_.send_type);
    if (is_rooted(operation) && !is_root()) {
      a.extent = of_one_block(gets_all ? a.send : a.recv, 1);
    } else {
      a.extent = of_one_block(gets_all ? a.recv : a.send, size_);
    }
    return a;
  }

  host::Host& host_;
  const Call& call_;
  int rank_, size_;
  int* error_;
};

}  // namespace

// Of operations on uneven blocks blocks.h reads the arguments.
Arguments read_arguments(host::Host& host, const Call& call, int rank, int size, int* error) {
  if (has_uneven_blocks(call.operation)) return {};
  return Reader(host, call, rank, size, error).read();
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
  return call.is_in_place && copies_in_place(call.operation) && !has_uneven_blocks(call.operation);
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
  output_ = has_one_buffer(call.operation) ? const_cast<void*>(call.send_buffer) : call.recv_buffer;
}

// Is what the output holds before the call part of the call's input?
bool Transfer::needs_output_before() const {
  if (is_scattered_reduction(call_.operation)) return false;
  return has_one_buffer(call_.operation) ? rank_ == call_.root : call_.is_in_place;
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
  if (needs_copy(call_) && is_alltoall(call_.operation)) {
    const char* data = static_cast<const char*>(output_);
    packed_input_->assign(data, data + recv.bytes());
    input_ = packed_input_->data();
  }
  return host::success;
}

int Transfer::deliver() {
  const bool is_bcast = has_one_buffer(call_.operation);
  if (!is_output_packed_ || is_apart_ || (is_bcast && rank_ == call_.root)) return host::success;
  const Side& recv = arguments_.recv;
  void* program_output = is_bcast ? const_cast<void*>(call_.send_buffer) : call_.recv_buffer;
  return host_.unpack(packed_output_->data(), recv.bytes(), program_output, recv.count, recv.type);
}

}  // namespace unisono::runtime
