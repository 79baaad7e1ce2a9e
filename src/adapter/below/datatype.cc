// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/below/datatype.h"

#include <utility>

#include "adapter/below/functions.h"
#include "adapter/below/predefined.h"
#include "base/mutex.h"

namespace unisono::adapter {
namespace {

// Open addressing; at most a third full, so that a lookup is one or two probes.
constexpr std::size_t table_size = 256;
std::array<PredefinedType, table_size> predefined_types;
// Of types, whose descriptions lie in atomics and in the host's attributes: each is made once.
Mutex describe_mutex;

std::size_t place_of(std::uintptr_t handle) {
  return static_cast<std::size_t>((handle * 0x9E3779B97F4A7C15ull) >> 56) % table_size;
}

PredefinedType* find_handle(std::uintptr_t handle) {
  for (std::size_t place = place_of(handle);; place = (place + 1) % table_size) {
    PredefinedType& entry = predefined_types[place];
    if (entry.handle == handle) return &entry;
    if (entry.handle == 0) return nullptr;
  }
}

void add_predefined(std::uintptr_t handle, Kind kind) {
  if (handle == 0 || handle == widen<std::uintptr_t>(MPI_DATATYPE_NULL)) return;
  std::size_t place = place_of(handle);
  while (predefined_types[place].handle != 0) {
    if (predefined_types[place].handle == handle) return;  // two names of one type
    place = (place + 1) % table_size;
  }
  predefined_types[place].handle = handle;
  predefined_types[place].kind = kind;
}

// Sizes come from the host: what a Fortran INTEGER or a C long is depends on how the host was built.
ElementType element_of(Kind kind, std::size_t bytes) {
  using enum ElementType;
  const auto by_size = [bytes](ElementType one, ElementType two, ElementType four, ElementType eight) {
    return bytes == 1 ? one : bytes == 2 ? two : bytes == 4 ? four : bytes == 8 ? eight : other;
  };
  switch (kind) {
    case Kind::byte:
      return bytes == 1 ? byte : other;
    case Kind::character:
      return bytes == 1 ? int8 : other;
    case Kind::signed_integer:
    case Kind::fortran_integer:
    case Kind::multi_language_integer:
      return by_size(int8, int16, int32, int64);
    case Kind::unsigned_integer:
      return by_size(uint8, uint16, uint32, uint64);
    case Kind::floating:
      return by_size(other, other, float32, float64);
    case Kind::complex:
      return bytes == 8 ? complex64 : bytes == 16 ? complex128 : other;
    case Kind::c_bool:
      return bytes == 1 ? bool8 : other;
    case Kind::logical:
      return bytes == 4 ? logical32 : other;
    case Kind::float_int:
      return bytes == 8 ? float_int : other;
    case Kind::double_int:
      return bytes == 12 ? double_int : other;
    case Kind::int_int:
      return bytes == 8 ? int_int : other;
    case Kind::pair:
    case Kind::other:
      break;
  }
  return other;
}

int describe_predefined(PredefinedType* entry, MPI_Datatype type, host::TypeInfo* info)
    UNISONO_EXCLUDES(describe_mutex) {
  if (!entry->is_described.load(std::memory_order_acquire)) {
    host::TypeInfo measured;
    const int error = measure(type, &measured);
    if (error != MPI_SUCCESS) return error;
    measured.element = element_of(entry->kind, measured.size_bytes);
    const LockGuard lock(describe_mutex);
    if (!entry->is_described.load(std::memory_order_relaxed)) {
      entry->info = measured;
      entry->is_described.store(true, std::memory_order_release);
    }
  }
  *info = entry->info;
  return MPI_SUCCESS;
}

// --- Derived types: an attribute of the type holds what was found out ---

// The type that the host is freeing for this thread. A delete callback of the program's may use it, but the
// host takes its attributes apart meanwhile: none can be asked or set.
thread_local MPI_Datatype ending_type = MPI_DATATYPE_NULL;

MPI_Comm trial_comm = MPI_COMM_NULL;

// As the host itself judges; it reads nothing.
int try_call_with(MPI_Datatype type) {
  char nothing = 0;
  if (trial_comm == MPI_COMM_NULL) return MPI_SUCCESS;
  return pmpi.Send(&nothing, 1, type, MPI_PROC_NULL, 0, trial_comm);
}

int copy_no_attribute(MPI_Datatype, int, void*, void*, void*, int* is_copied) {
  *is_copied = 0;
  return MPI_SUCCESS;
}

int delete_attribute(MPI_Datatype, int, void* value, void*) {
  delete static_cast<host::TypeInfo*>(value);
  return MPI_SUCCESS;
}

int info_keyval() {
  static const int keyval = [] {
    int created = MPI_KEYVAL_INVALID;
    pmpi.Type_create_keyval(copy_no_attribute, delete_attribute, &created, nullptr);
    return created;
  }();
  return keyval;
}

int describe_derived(MPI_Datatype type, host::TypeInfo* info) UNISONO_EXCLUDES(describe_mutex) {
  const int keyval = type == ending_type ? MPI_KEYVAL_INVALID : info_keyval();
  // Two threads may use one type at once; freeing it meanwhile would be the program's error.
  const LockGuard lock(describe_mutex);
  if (keyval != MPI_KEYVAL_INVALID) {
    void* value = nullptr;
    int is_set = 0;
    const int error = pmpi.Type_get_attr(type, keyval, static_cast<void*>(&value), &is_set);
    if (error != MPI_SUCCESS) return error;
    if (is_set != 0) {
      *info = *static_cast<const host::TypeInfo*>(value);
      return MPI_SUCCESS;
    }
  }
  int error = try_call_with(type);
  if (error == MPI_SUCCESS) error = measure(type, info);
  if (error != MPI_SUCCESS) return error;
  info->element = ElementType::derived;
  if (info->is_contiguous) {
    error = find_contiguous(type, &info->is_contiguous);
    if (error != MPI_SUCCESS) return error;
  }
  if (keyval != MPI_KEYVAL_INVALID) {
    auto* kept = new host::TypeInfo(*info);
    if (pmpi.Type_set_attr(type, keyval, kept) != MPI_SUCCESS) delete kept;
  }
  return MPI_SUCCESS;
}

}  // namespace

int end_type(MPI_Datatype* type) {
  if (type == nullptr) return pmpi.Type_free(type);
  const MPI_Datatype outer = std::exchange(ending_type, *type);
  const int error = pmpi.Type_free(type);
  ending_type = outer;
  return error;
}

void load_predefined() {
#define UNISONO_ADD(name, kind) add_predefined(widen<std::uintptr_t>(UNISONO_TYPE_HANDLE(name)), Kind::kind);
  UNISONO_TYPES(UNISONO_ADD)
#undef UNISONO_ADD
}

PredefinedType* find_predefined(MPI_Datatype type) {
  return find_handle(widen<std::uintptr_t>(type));
}

void try_types_on(MPI_Comm comm) {
  trial_comm = comm;
}

bool may_be_at_bottom(MPI_Datatype type) {
  host::TypeInfo info;
  if (is_predefined(type)) return false;
  return describe(type, &info) != MPI_SUCCESS || info.true_lower_bound_bytes != 0 || info.size_bytes == 0;
}

bool is_predefined(MPI_Datatype type) {
  return find_predefined(type) != nullptr;
}

int describe(MPI_Datatype type, host::TypeInfo* info) {
  PredefinedType* entry = find_predefined(type);
  return entry != nullptr ? describe_predefined(entry, type, info) : describe_derived(type, info);
}

int measure(MPI_Datatype type, host::TypeInfo* info) {
  MPI_Count size = 0;
  MPI_Count lower_bound = 0;
  MPI_Count extent = 0;
  MPI_Count true_lower_bound = 0;
  MPI_Count true_extent = 0;
  int error = pmpi.Type_size_x(type, &size);
  if (error == MPI_SUCCESS) error = pmpi.Type_get_extent_x(type, &lower_bound, &extent);
  if (error == MPI_SUCCESS) error = pmpi.Type_get_true_extent_x(type, &true_lower_bound, &true_extent);
  if (error != MPI_SUCCESS) return error;
  info->size_bytes = static_cast<std::size_t>(size);
  info->extent_bytes = static_cast<std::ptrdiff_t>(extent);
  info->true_lower_bound_bytes = static_cast<std::ptrdiff_t>(true_lower_bound);
  info->true_extent_bytes = static_cast<std::size_t>(true_extent);
  info->is_contiguous = lower_bound == 0 && true_lower_bound == 0 && size == extent && size == true_extent;
  return MPI_SUCCESS;
}

ReduceOp classify(MPI_Op op) {
#define UNISONO_CLASSIFY(name, value) \
  if (op == MPI_##name) return ReduceOp::value;
  UNISONO_OPERATORS(UNISONO_CLASSIFY)
#undef UNISONO_CLASSIFY
  return ReduceOp::host;
}

MPI_Op predefined(ReduceOp op) {
#define UNISONO_CLASSIFY(name, value) \
  if (op == ReduceOp::value) return MPI_##name;
  UNISONO_OPERATORS(UNISONO_CLASSIFY)
#undef UNISONO_CLASSIFY
  return MPI_OP_NULL;
}

}  // namespace unisono::adapter
