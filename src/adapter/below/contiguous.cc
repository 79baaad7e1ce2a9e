// SPDX-License-Identifier: BSD-3-Clause
// Whether a derived type is just its bytes in order, found by taking it apart as MPI_Type_get_contents tells
// how it was made.
#include <cstdint>
#include <vector>

#include "adapter/below/datatype.h"
#include "adapter/below/functions.h"
#include "adapter/below/type_envelope.h"

namespace unisono::adapter {
namespace {

// How a type was made. The numbers stand in the constructor's order: integers, then addresses; large-count
// constructors give the same sequence as large counts. Subarrays are the exception, and their numbers are not
// needed.
struct Contents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<std::int64_t> numbers;
  std::vector<MPI_Datatype> types;
};

int get_contents(MPI_Datatype type, const Lengths& lengths, Contents* contents) {
  std::vector<int> integers(static_cast<std::size_t>(lengths.integers) + 1);
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(lengths.addresses) + 1);
  std::vector<MPI_Count> large_counts(static_cast<std::size_t>(lengths.large_counts) + 1);
  contents->types.resize(static_cast<std::size_t>(lengths.types));
  int error = MPI_SUCCESS;
  if (lengths.large_counts > 0) {
    error = pmpi.Type_get_contents_c(type, lengths.integers, lengths.addresses, lengths.large_counts,
                                     lengths.types, integers.data(), addresses.data(), large_counts.data(),
                                     contents->types.data());
  } else {
    error = pmpi.Type_get_contents(type, static_cast<int>(lengths.integers),
                                   static_cast<int>(lengths.addresses), static_cast<int>(lengths.types),
                                   integers.data(), addresses.data(), contents->types.data());
  }
  auto& numbers = contents->numbers;
  numbers.assign(integers.begin(), integers.begin() + lengths.integers);
  numbers.insert(numbers.end(), addresses.begin(), addresses.begin() + lengths.addresses);
  numbers.insert(numbers.end(), large_counts.begin(), large_counts.begin() + lengths.large_counts);
  return error;
}

// The handles in a type's contents are new references; frees those that may be freed.
class ContainedTypes {
 public:
  explicit ContainedTypes(std::vector<MPI_Datatype>* types) : types_(types) {}
  ContainedTypes(const ContainedTypes&) = delete;
  ContainedTypes& operator=(const ContainedTypes&) = delete;
  ~ContainedTypes() {
    for (MPI_Datatype& type : *types_) {
      Lengths lengths;
      int combiner = MPI_COMBINER_NAMED;
      if (get_envelope(type, &lengths, &combiner) == MPI_SUCCESS && !is_built_in(combiner))
        pmpi.Type_free(&type);
    }
  }

 private:
  std::vector<MPI_Datatype>* types_;
};

// Do the blocks follow each other from displacement 0 on?
class Blocks {
 public:
  bool add(std::int64_t displacement_bytes, std::int64_t length_bytes) {
    if (length_bytes != 0 && displacement_bytes != next_) return false;
    next_ += length_bytes;
    return true;
  }

 private:
  std::int64_t next_ = 0;
};

// Numbers: count, one length for all or a length each, then the displacements.
bool are_blocks_in_order(const std::vector<std::int64_t>& numbers, bool has_one_length,
                         std::int64_t displacement_unit, std::int64_t element_bytes) {
  if (numbers.empty()) return false;
  const auto count = static_cast<std::size_t>(numbers[0]);
  const std::size_t first_displacement = has_one_length ? 2 : 1 + count;
  if (numbers.size() != first_displacement + count) return false;
  Blocks blocks;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t length = numbers[has_one_length ? 1 : 1 + i];
    if (!blocks.add(numbers[first_displacement + i] * displacement_unit, length * element_bytes))
      return false;
  }
  return true;
}

// Numbers: count, length, stride.
bool is_vector_in_order(const std::vector<std::int64_t>& numbers, std::int64_t stride_unit,
                        std::int64_t element_bytes) {
  return numbers.size() == 3 && (numbers[0] <= 1 || numbers[2] * stride_unit == numbers[1] * element_bytes);
}

int inspect(MPI_Datatype type, bool* is_contiguous, std::int64_t* extent_bytes);

int inspect_struct(const Contents& contents, bool* is_contiguous) {
  const std::size_t count = contents.types.size();
  *is_contiguous = contents.numbers.size() == 1 + 2 * count;
  Blocks blocks;
  for (std::size_t i = 0; i < count && *is_contiguous; ++i) {
    bool is_part_contiguous = false;
    std::int64_t element_bytes = 0;
    const int error = inspect(contents.types[i], &is_part_contiguous, &element_bytes);
    if (error != MPI_SUCCESS) return error;
    *is_contiguous = is_part_contiguous &&
                     blocks.add(contents.numbers[1 + count + i], contents.numbers[1 + i] * element_bytes);
  }
  return MPI_SUCCESS;
}

int inspect_made_of_one(const Contents& contents, bool* is_contiguous) {
  bool is_inner_contiguous = false;
  std::int64_t bytes = 0;
  const int error = inspect(contents.types.at(0), &is_inner_contiguous, &bytes);
  if (error != MPI_SUCCESS || !is_inner_contiguous) return error;
  const auto& numbers = contents.numbers;
  switch (contents.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_RESIZED:   // to another extent: the caller compares size and extent
    case MPI_COMBINER_SUBARRAY:  // elements in order; equal size and extent mean the whole array
      *is_contiguous = true;
      break;
    case MPI_COMBINER_VECTOR:
      *is_contiguous = is_vector_in_order(numbers, bytes, bytes);
      break;
    case MPI_COMBINER_HVECTOR:
      *is_contiguous = is_vector_in_order(numbers, 1, bytes);
      break;
    case MPI_COMBINER_INDEXED:
      *is_contiguous = are_blocks_in_order(numbers, false, bytes, bytes);
      break;
    case MPI_COMBINER_HINDEXED:
      *is_contiguous = are_blocks_in_order(numbers, false, 1, bytes);
      break;
    case MPI_COMBINER_INDEXED_BLOCK:
      *is_contiguous = are_blocks_in_order(numbers, true, bytes, bytes);
      break;
    case MPI_COMBINER_HINDEXED_BLOCK:
      *is_contiguous = are_blocks_in_order(numbers, true, 1, bytes);
      break;
    default:  // distributed arrays and what later standards add: packing is always right
      *is_contiguous = false;
  }
  return MPI_SUCCESS;
}

// *is_contiguous is set only where size, extent and true extent agree as well.
int inspect(MPI_Datatype type, bool* is_contiguous, std::int64_t* extent_bytes) {
  host::TypeInfo info;
  int error = measure(type, &info);
  *is_contiguous = false;
  *extent_bytes = info.extent_bytes;
  if (error != MPI_SUCCESS || !info.is_contiguous) return error;
  Lengths lengths;
  Contents contents;
  error = get_envelope(type, &lengths, &contents.combiner);
  if (error != MPI_SUCCESS) return error;
  if (is_built_in(contents.combiner)) {
    *is_contiguous = true;
    return MPI_SUCCESS;
  }
  error = get_contents(type, lengths, &contents);
  if (error != MPI_SUCCESS) return error;
  const ContainedTypes owner(&contents.types);
  if (contents.combiner == MPI_COMBINER_STRUCT) return inspect_struct(contents, is_contiguous);
  return contents.types.size() == 1 ? inspect_made_of_one(contents, is_contiguous) : MPI_SUCCESS;
}

}  // namespace

int find_contiguous(MPI_Datatype type, bool* is_contiguous) {
  std::int64_t extent_bytes = 0;
  return inspect(type, is_contiguous, &extent_bytes);
}

}  // namespace unisono::adapter
