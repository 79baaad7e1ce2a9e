// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/messages/data.h"

#include <algorithm>
#include <new>

#include "adapter/below/datatype.h"
#include "adapter/below/gpu.h"
#include "adapter/below/nesting.h"
#include "adapter/host_interface/mpi_host.h"

namespace unisono::adapter::messages {
namespace {

// Bytes from the buffer's first one to its last one, and where they begin.
struct Span {
  std::ptrdiff_t begin = 0;
  std::size_t bytes = 0;
};
Span span_of(const host::TypeInfo& info, std::uint64_t count) {
  if (count == 0) return {};
  const std::ptrdiff_t steps = static_cast<std::ptrdiff_t>(count - 1) * info.extent_bytes;
  return {.begin = info.true_lower_bound_bytes + std::min<std::ptrdiff_t>(steps, 0),
          .bytes = info.true_extent_bytes + static_cast<std::size_t>(std::abs(steps))};
}

// The first byte of the elements, which may lie elsewhere than the buffer begins (MPI_BOTTOM).
std::byte* first_byte(const Data& data, const Span& span) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::intptr_t>(data.buffer) + span.begin);
}

// What a GPU has, copied to where the host can read it, and back.
class Staged {
 public:
  Staged(const Data& data, const host::TypeInfo& info)
      : span_(span_of(info, data.count)), device_(first_byte(data, span_)), gpu_(gpu_of(device_)) {
    if (gpu_ != nullptr) copy_.reset(new (std::nothrow) std::byte[span_.bytes]);
  }
  bool is_needed() const { return gpu_ != nullptr; }
  bool fetch() { return copy_ != nullptr && gpu_->copy_to_host(copy_.get(), device_, span_.bytes); }
  bool deliver() { return gpu_->copy_to_device(device_, copy_.get(), span_.bytes); }
  void* buffer() const { return copy_.get() - span_.begin; }

 private:
  Span span_;
  std::byte* device_;
  Gpu* gpu_;
  std::unique_ptr<std::byte[]> copy_;
};

// Elements without gaps are copied as they are. Null: the host can read them, or they have gaps.
Gpu* gpu_of_contiguous(const Data& data, const host::TypeInfo& info) {
  return info.is_contiguous && has_gpus() ? gpu_of(data.buffer) : nullptr;
}

}  // namespace

template <class Count>
bool describe_data(const void* buffer, Count count, MPI_Datatype type, Data* data) {
  const bool is_type = type != MPI_DATATYPE_NULL && widen<std::uintptr_t>(type) != 0;
  if (count < 0 || !is_type || buffer == MPI_IN_PLACE) return false;
  if (buffer == nullptr && count != 0 && !may_be_at_bottom(type)) return false;
  host::TypeInfo info;
  if (describe(type, &info) != MPI_SUCCESS) return false;
  *data = {.buffer = const_cast<void*>(buffer),
           .count = static_cast<std::uint64_t>(count),
           .bytes = static_cast<std::uint64_t>(count) * info.size_bytes,
           .type = type,
           .is_copied = !info.is_contiguous};
  if (has_gpus() && data->bytes != 0 && gpu_of(first_byte(*data, span_of(info, data->count))) != nullptr)
      [[unlikely]]
    data->is_copied = true;
  return true;
}
template bool describe_data(const void*, int, MPI_Datatype, Data*);
template bool describe_data(const void*, MPI_Count, MPI_Datatype, Data*);

std::unique_ptr<std::byte[]> packed(const Data& data) {
  const Nested nested;
  std::unique_ptr<std::byte[]> copy(new (std::nothrow) std::byte[std::max<std::uint64_t>(data.bytes, 1)]);
  host::TypeInfo info;
  if (copy == nullptr || describe(data.type, &info) != MPI_SUCCESS) return nullptr;
  if (Gpu* gpu = gpu_of_contiguous(data, info))
    return data.bytes == 0 || gpu->copy_to_host(copy.get(), data.buffer, data.bytes) ? std::move(copy)
                                                                                     : nullptr;
  Staged staged(data, info);
  if (staged.is_needed() && !staged.fetch()) return nullptr;
  const void* from = staged.is_needed() ? staged.buffer() : data.buffer;
  const int error =
      host_of_messages().pack(from, data.count, widen<host::Datatype>(data.type), copy.get(), data.bytes);
  return error == MPI_SUCCESS ? std::move(copy) : nullptr;
}

int unpack(const std::byte* from, std::uint64_t bytes, const Data& data) {
  const Nested nested;
  host::TypeInfo info;
  int error = describe(data.type, &info);
  if (error != MPI_SUCCESS || bytes == 0) return error;
  if (Gpu* gpu = gpu_of_contiguous(data, info))
    return gpu->copy_to_device(data.buffer, from, std::min(bytes, data.bytes)) ? MPI_SUCCESS : MPI_ERR_OTHER;
  Staged staged(data, info);
  // Between the elements there may be the program's own.
  if (staged.is_needed() && !staged.fetch()) return MPI_ERR_OTHER;
  error = host_of_messages().unpack(from, bytes, staged.is_needed() ? staged.buffer() : data.buffer,
                                    data.count, widen<host::Datatype>(data.type));
  if (error == MPI_SUCCESS && staged.is_needed() && !staged.deliver()) error = MPI_ERR_OTHER;
  return error;
}

}  // namespace unisono::adapter::messages
