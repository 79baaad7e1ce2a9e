// SPDX-License-Identifier: BSD-3-Clause
// Datatypes and operators: everything that only the host can do with the program's handles.
#include <algorithm>

#include "adapter/below/datatype.h"
#include "adapter/below/elements.h"
#include "adapter/below/operators.h"
#include "adapter/host_interface/mpi_host.h"

namespace unisono::adapter {
namespace {

// MPI_Pack and MPI_Reduce_local take ints; pieces of at most this many bytes or elements.
constexpr std::size_t piece = std::size_t{1} << 30;

const char* at(const void* buffer, std::size_t elements, const host::TypeInfo& info) {
  return static_cast<const char*>(buffer) + static_cast<std::ptrdiff_t>(elements) * info.extent_bytes;
}
char* at(void* buffer, std::size_t elements, const host::TypeInfo& info) {
  return static_cast<char*>(buffer) + static_cast<std::ptrdiff_t>(elements) * info.extent_bytes;
}

// A message to oneself copies what the functions with int sizes cannot, and what MPICH 4 refuses: MPI_Pack
// from MPI_BOTTOM.
bool needs_message(const void* data, const host::TypeInfo& info) {
  return info.size_bytes > piece || data == nullptr;
}

std::size_t elements_a_piece(const host::TypeInfo& info) {
  return std::max<std::size_t>(1, piece / info.size_bytes);
}

}  // namespace

int MpiHost::type_info(host::Datatype type, host::TypeInfo* info) {
  return describe(native(type), info);
}

int MpiHost::copy_by_message(const void* from, std::size_t from_count, MPI_Datatype from_type, void* to,
                             std::size_t to_count, MPI_Datatype to_type) {
  const LockGuard lock(self_mutex_);
  const Elements source(static_cast<MPI_Count>(from_count), from_type);
  const Elements target(static_cast<MPI_Count>(to_count), to_type);
  if (source.error != MPI_SUCCESS) return source.error;
  if (target.error != MPI_SUCCESS) return target.error;
  return pmpi.Sendrecv(from, source.count, source.type, 0, 0, to, target.count, target.type, 0, 0, self_comm_,
                       MPI_STATUS_IGNORE);
}

int MpiHost::pack(const void* data, std::size_t count, host::Datatype type, void* packed,
                  std::size_t packed_bytes) {
  host::TypeInfo info;
  int error = type_info(type, &info);
  if (error != MPI_SUCCESS || count == 0 || info.size_bytes == 0) return error;
  if (needs_message(data, info)) {
    return copy_by_message(data, count, native(type), packed, packed_bytes, MPI_BYTE);
  }
  const std::size_t step = elements_a_piece(info);
  for (std::size_t done = 0; done < count && error == MPI_SUCCESS; done += step) {
    const std::size_t length = std::min(step, count - done);
    int position = 0;
    error = pmpi.Pack(at(data, done, info), static_cast<int>(length), native(type),
                      static_cast<char*>(packed) + done * info.size_bytes,
                      static_cast<int>(length * info.size_bytes), &position, self_comm_);
  }
  return error;
}

int MpiHost::unpack(const void* packed, std::size_t packed_bytes, void* data, std::size_t count,
                    host::Datatype type) {
  host::TypeInfo info;
  int error = type_info(type, &info);
  if (error != MPI_SUCCESS || count == 0 || info.size_bytes == 0) return error;
  // MPI_Unpack takes whole elements alone.
  const bool is_part = packed_bytes != count * info.size_bytes;
  if (is_part || needs_message(data, info)) {
    return copy_by_message(packed, packed_bytes, MPI_BYTE, data, count, native(type));
  }
  const std::size_t step = elements_a_piece(info);
  for (std::size_t done = 0; done < count && error == MPI_SUCCESS; done += step) {
    const std::size_t length = std::min(step, count - done);
    int position = 0;
    error = pmpi.Unpack(static_cast<const char*>(packed) + done * info.size_bytes,
                        static_cast<int>(length * info.size_bytes), &position, at(data, done, info),
                        static_cast<int>(length), native(type), self_comm_);
  }
  return error;
}

bool is_user_defined(MPI_Op op) {
  // These two are predefined, but no collective may have them.
  if (op == MPI_OP_NULL || op == MPI_REPLACE || op == MPI_NO_OP) return false;
  return classify(op) == ReduceOp::host;
}

ReduceOp MpiHost::reduce_op(host::Op op) {
  return classify(native(op));
}

host::Op MpiHost::predefined_op(ReduceOp op) {
  return widen<host::Op>(predefined(op));
}

bool MpiHost::is_commutative(host::Op op) {
  if (classify(native(op)) != ReduceOp::host) return true;
  int is_commutative = 0;
  return pmpi.Op_commutative(native(op), &is_commutative) == MPI_SUCCESS && is_commutative != 0;
}

bool MpiHost::is_defined(host::Op op, host::Datatype type) {
  return adapter::is_defined(native(op), native(type));
}

ElementType MpiHost::kernel_type(host::Op op, host::Datatype type, ElementType element) {
  return adapter::kernel_type(native(op), native(type), element);
}

int MpiHost::reduce_local(const void* in, void* inout, std::size_t count, host::Datatype type, host::Op op) {
  if (count <= piece) {
    return count == 0 ? MPI_SUCCESS
                      : pmpi.Reduce_local(in, inout, static_cast<int>(count), native(type), native(op));
  }
  host::TypeInfo info;
  int error = type_info(type, &info);
  for (std::size_t done = 0; done < count && error == MPI_SUCCESS; done += piece) {
    const auto length = static_cast<int>(std::min(piece, count - done));
    error = pmpi.Reduce_local(at(in, done, info), at(inout, done, info), length, native(type), native(op));
  }
  return error;
}

}  // namespace unisono::adapter
