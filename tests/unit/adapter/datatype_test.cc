// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/below/datatype.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "adapter/below/elements.h"
#include "adapter/large_counts/large.h"
#include "real_mpi.h"

namespace unisono::adapter {
namespace {

host::TypeInfo info_of(MPI_Datatype type) {
  host::TypeInfo info;
  EXPECT_EQ(describe(type, &info), MPI_SUCCESS);
  return info;
}

struct Pair {
  double value;
  int index;
};

TEST(Predefined, ElementsOfC) {
  using enum ElementType;
  const struct {
    MPI_Datatype type;
    ElementType element;
    std::size_t bytes;
  } expected[] = {
      {MPI_SIGNED_CHAR, int8, 1},
      {MPI_UNSIGNED_CHAR, uint8, 1},
      {MPI_SHORT, int16, 2},
      {MPI_UNSIGNED_SHORT, uint16, 2},
      {MPI_INT, int32, 4},
      {MPI_UNSIGNED, uint32, 4},
      {MPI_LONG, int64, 8},
      {MPI_UNSIGNED_LONG, uint64, 8},
      {MPI_LONG_LONG, int64, 8},
      {MPI_LONG_LONG_INT, int64, 8},
      {MPI_UNSIGNED_LONG_LONG, uint64, 8},
      {MPI_INT8_T, int8, 1},
      {MPI_UINT16_T, uint16, 2},
      {MPI_INT32_T, int32, 4},
      {MPI_UINT64_T, uint64, 8},
      {MPI_AINT, int64, sizeof(MPI_Aint)},
      {MPI_OFFSET, int64, sizeof(MPI_Offset)},
      {MPI_COUNT, int64, sizeof(MPI_Count)},
      {MPI_FLOAT, float32, 4},
      {MPI_DOUBLE, float64, 8},
      {MPI_LONG_DOUBLE, other, sizeof(long double)},
      {MPI_C_FLOAT_COMPLEX, complex64, 8},
      {MPI_C_DOUBLE_COMPLEX, complex128, 16},
      {MPI_C_BOOL, bool8, 1},
      {MPI_BYTE, byte, 1},
      {MPI_PACKED, byte, 1},
      {MPI_FLOAT_INT, float_int, 8},
      {MPI_DOUBLE_INT, double_int, 12},
      {MPI_2INT, int_int, 8},
      {MPI_LONG_INT, other, 12},
      {MPI_CHAR, int8, 1},  // a character, with which an operator computes where the MPI does
      {MPI_WCHAR, other, sizeof(wchar_t)},
  };
  for (const auto& row : expected) {
    const host::TypeInfo info = info_of(row.type);
    EXPECT_EQ(static_cast<int>(info.element), static_cast<int>(row.element)) << &row - expected;
    EXPECT_EQ(info.size_bytes, row.bytes) << &row - expected;
    EXPECT_TRUE(is_predefined(row.type));
  }
}

TEST(Predefined, PairsKeepTheirGaps) {
  const host::TypeInfo info = info_of(MPI_DOUBLE_INT);
  EXPECT_EQ(info.extent_bytes, static_cast<std::ptrdiff_t>(sizeof(Pair)));
  EXPECT_FALSE(info.is_contiguous);
  EXPECT_TRUE(info_of(MPI_FLOAT_INT).is_contiguous);
  EXPECT_TRUE(info_of(MPI_2INT).is_contiguous);
}

TEST(Predefined, OperatorsAreKnown) {
  EXPECT_EQ(static_cast<int>(classify(MPI_SUM)), static_cast<int>(ReduceOp::sum));
  EXPECT_EQ(static_cast<int>(classify(MPI_BXOR)), static_cast<int>(ReduceOp::bxor));
  EXPECT_EQ(static_cast<int>(classify(MPI_MAXLOC)), static_cast<int>(ReduceOp::maxloc));
  EXPECT_EQ(static_cast<int>(classify(MPI_REPLACE)), static_cast<int>(ReduceOp::host));
}

// A type that a test makes; freed with it.
class Made {
 public:
  template <class Make>
  explicit Made(Make make) {
    EXPECT_EQ(make(&type), MPI_SUCCESS);
    EXPECT_EQ(pmpi.Type_commit(&type), MPI_SUCCESS);
  }
  ~Made() { pmpi.Type_free(&type); }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

// What "contiguous" promises, tried out: the packed bytes are the bytes in memory.
bool packs_as_it_lies(MPI_Datatype type, const host::TypeInfo& info) {
  constexpr int count = 3;
  std::vector<unsigned char> memory(4096);
  std::iota(memory.begin(), memory.end(), static_cast<unsigned char>(1));
  std::vector<unsigned char> packed(count * info.size_bytes);
  int position = 0;
  EXPECT_EQ(pmpi.Pack(memory.data(), count, type, packed.data(), static_cast<int>(packed.size()), &position,
                      MPI_COMM_SELF),
            MPI_SUCCESS);
  return std::memcmp(memory.data(), packed.data(), packed.size()) == 0;
}

void expect(bool is_contiguous, MPI_Datatype type, const char* what) {
  for (int time = 0; time < 2; ++time) {  // the second answer comes from the type's attribute
    const host::TypeInfo info = info_of(type);
    EXPECT_EQ(info.is_contiguous, is_contiguous) << what;
    EXPECT_EQ(packs_as_it_lies(type, info), is_contiguous) << what;
    EXPECT_EQ(static_cast<int>(info.element), static_cast<int>(ElementType::derived)) << what;
    EXPECT_FALSE(is_predefined(type));
  }
}

TEST(Derived, ContiguousOnes) {
  const Made row([](auto* t) { return HOST(Type_contiguous)(5, MPI_INT, t); });
  expect(true, row.type, "contiguous");
  const Made copy([&](auto* t) { return HOST(Type_dup)(row.type, t); });
  expect(true, copy.type, "duplicate");
  const Made dense_vector([&](auto* t) { return HOST(Type_vector)(3, 2, 2, row.type, t); });
  expect(true, dense_vector.type, "vector without gaps");
  const Made dense_hvector([](auto* t) { return HOST(Type_create_hvector)(3, 2, 8, MPI_INT, t); });
  expect(true, dense_hvector.type, "hvector without gaps");
  const int sizes[] = {3, 4};
  const int starts[] = {0, 0};
  const Made whole([&](auto* t) {
    return HOST(Type_create_subarray)(2, sizes, sizes, starts, MPI_ORDER_C, MPI_FLOAT, t);
  });
  expect(true, whole.type, "subarray that is the whole array");
  const int lengths[] = {1, 2, 1};
  const int in_order[] = {0, 1, 3};
  const Made indexed([&](auto* t) { return HOST(Type_indexed)(3, lengths, in_order, MPI_DOUBLE, t); });
  expect(true, indexed.type, "indexed in order");
  const Made resized([&](auto* t) { return HOST(Type_create_resized)(row.type, 0, 20, t); });
  expect(true, resized.type, "resized to its own extent");
}

TEST(Derived, StructsWithoutPaddingAreContiguous) {
  const int lengths[] = {2, 2, 0};
  const MPI_Aint displacements[] = {0, 8, 100};
  const MPI_Datatype types[] = {MPI_INT, MPI_FLOAT, MPI_DOUBLE};
  const Made dense([&](auto* t) { return HOST(Type_create_struct)(2, lengths, displacements, types, t); });
  expect(true, dense.type, "struct without gaps");
  const MPI_Aint apart[] = {0, 12};
  const Made gap([&](auto* t) { return HOST(Type_create_struct)(2, lengths, apart, types, t); });
  expect(false, gap.type, "struct with a gap");
  const MPI_Aint swapped[] = {8, 0};
  const Made permuted([&](auto* t) { return HOST(Type_create_struct)(2, lengths, swapped, types, t); });
  expect(false, permuted.type, "struct whose parts are swapped");
}

TEST(Derived, OthersAreNot) {
  const int lengths[] = {1, 1};
  const int swapped[] = {1, 0};
  const Made permuted([&](auto* t) { return HOST(Type_indexed)(2, lengths, swapped, MPI_INT, t); });
  expect(false, permuted.type, "indexed that permutes: equal size and extent");
  const Made inside([&](auto* t) { return HOST(Type_contiguous)(4, permuted.type, t); });
  expect(false, inside.type, "contiguous of what permutes");
  const MPI_Aint swapped_bytes[] = {4, 0};
  const Made hindexed(
      [&](auto* t) { return HOST(Type_create_hindexed)(2, lengths, swapped_bytes, MPI_INT, t); });
  expect(false, hindexed.type, "hindexed that permutes");
  const Made block([&](auto* t) { return HOST(Type_create_indexed_block)(2, 1, swapped, MPI_INT, t); });
  expect(false, block.type, "indexed block that permutes");
  const Made hblock(
      [&](auto* t) { return HOST(Type_create_hindexed_block)(2, 1, swapped_bytes, MPI_INT, t); });
  expect(false, hblock.type, "hindexed block that permutes");
  const Made backwards([](auto* t) { return HOST(Type_create_hvector)(2, 1, -4, MPI_INT, t); });
  EXPECT_FALSE(info_of(backwards.type).is_contiguous) << "vector that goes backwards";
  const Made vector([](auto* t) { return HOST(Type_vector)(2, 1, 2, MPI_INT, t); });
  expect(false, vector.type, "vector with gaps");
  const Made column([](auto* t) { return HOST(Type_vector)(2, 1, 2, MPI_INT, t); });
  const Made resized([&](auto* t) { return HOST(Type_create_resized)(column.type, 0, 8, t); });
  expect(false, resized.type, "gaps under an extent equal to the size");
  const Made wide([](auto* t) { return HOST(Type_create_resized)(MPI_INT, 0, 8, t); });
  expect(false, wide.type, "resized to more than its size");
  const int one[] = {1};
  const int second[] = {1};
  const Made moved([&](auto* t) { return HOST(Type_indexed)(1, one, second, MPI_INT, t); });
  expect(false, moved.type, "does not begin at the buffer");
}

// mpi4py makes its types with the large-count constructors where the host has them.
TEST(Derived, MadeWithLargeCounts) {
  const auto vector_c =
      reinterpret_cast<int (*)(MPI_Count, MPI_Count, MPI_Count, MPI_Datatype, MPI_Datatype*)>(
          dlsym(mpi_library, "PMPI_Type_vector_c"));
  const auto indexed_c =
      reinterpret_cast<int (*)(MPI_Count, const MPI_Count*, const MPI_Count*, MPI_Datatype, MPI_Datatype*)>(
          dlsym(mpi_library, "PMPI_Type_indexed_c"));
  if (vector_c == nullptr || indexed_c == nullptr) GTEST_SKIP() << "this MPI has none";
  const Made dense([&](auto* t) { return vector_c(3, 2, 2, MPI_INT, t); });
  expect(true, dense.type, "vector without gaps");
  const Made gaps([&](auto* t) { return vector_c(3, 1, 2, MPI_INT, t); });
  expect(false, gaps.type, "vector with gaps");
  const MPI_Count lengths[] = {1, 1};
  const MPI_Count in_order[] = {0, 1};
  const MPI_Count swapped[] = {1, 0};
  const Made indexed([&](auto* t) { return indexed_c(2, lengths, in_order, MPI_INT, t); });
  expect(true, indexed.type, "indexed in order");
  const Made permuted([&](auto* t) { return indexed_c(2, lengths, swapped, MPI_INT, t); });
  expect(false, permuted.type, "indexed that permutes");
}

TEST(Derived, ReusedHandleIsDescribedAnew) {
  std::uintptr_t last = 0;
  int reuses = 0;
  for (int length = 1; length <= 50; ++length) {
    const Made row([&](auto* t) { return HOST(Type_contiguous)(length, MPI_INT, t); });
    EXPECT_EQ(info_of(row.type).size_bytes, 4u * static_cast<unsigned>(length));
    reuses += widen<std::uintptr_t>(row.type) == last ? 1 : 0;
    last = widen<std::uintptr_t>(row.type);
  }
  EXPECT_GT(reuses, 0) << "this MPI does not reuse handles at once; the test shows nothing";
}

TEST(Derived, CopyHasNoDescriptionOfItsOriginal) {
  const Made row([](auto* t) { return HOST(Type_contiguous)(5, MPI_INT, t); });
  EXPECT_EQ(info_of(row.type).size_bytes, 20u);
  {
    const Made copy([&](auto* t) { return HOST(Type_dup)(row.type, t); });
    EXPECT_EQ(info_of(copy.type).size_bytes, 20u);
  }
  EXPECT_EQ(info_of(row.type).size_bytes, 20u) << "still there after the copy has gone";
}

TEST(Large, ElementsBeyondInt) {
  const Elements few(7, MPI_INT);
  EXPECT_EQ(few.count, 7);
  EXPECT_EQ(few.type, MPI_INT);
  EXPECT_EQ(Elements(-3, MPI_INT).count, -1) << "stays invalid";
  EXPECT_EQ(Elements(-(MPI_Count{1} << 32), MPI_INT).count, -1) << "stays invalid";
  const Made wide([](auto* t) { return HOST(Type_create_resized)(MPI_SHORT, 0, 3, t); });
  for (const MPI_Count count :
       {(MPI_Count{1} << 31), (MPI_Count{1} << 31) + 5, (MPI_Count{3} << 30), MPI_Count{6000000001}}) {
    const Elements many(count, wide.type);
    ASSERT_EQ(many.error, MPI_SUCCESS);
    EXPECT_EQ(many.count, 1);
    const host::TypeInfo info = info_of(many.type);
    EXPECT_EQ(info.size_bytes, 2 * static_cast<std::size_t>(count));
    EXPECT_EQ(info.extent_bytes, 3 * static_cast<std::ptrdiff_t>(count)) << "no padding";
  }
}

}  // namespace
}  // namespace unisono::adapter
