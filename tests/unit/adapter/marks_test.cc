// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/below/marks.h"

#include <gtest/gtest.h>

#include "adapter/communicator_calls.h"
#include "real_mpi.h"
#include "recording_runtime.h"

namespace unisono::adapter {
namespace {

class MarksTest : public testing::Test {
 protected:
  void SetUp() override {
    recording.reset();
    ASSERT_EQ(pmpi.Comm_split(MPI_COMM_WORLD, 0, 0, &comm), MPI_SUCCESS);
  }
  void TearDown() override {
    if (comm != MPI_COMM_NULL) {
      EXPECT_EQ(pmpi.Comm_free(&comm), MPI_SUCCESS);
    }
  }
  void expect_marks(const Marks& expected) const { EXPECT_EQ(marks_of(comm).bits(), expected.bits()); }

  MPI_Comm comm = MPI_COMM_NULL;
};

const Marks all_marks{.reproducible = host::Hint::yes,
                      .ordered_persistent = host::Hint::no,
                      .has_info = true,
                      .is_of_session = true};

TEST_F(MarksTest, EachIsKeptByItself) {
  const Marks each[] = {{},
                        {.reproducible = host::Hint::no},
                        {.ordered_persistent = host::Hint::yes},
                        {.has_info = true},
                        {.is_of_session = true},
                        all_marks};
  for (const Marks& marks : each) {
    set_marks(comm, marks);
    const Marks read = marks_of(comm);
    EXPECT_EQ(read.reproducible, marks.reproducible);
    EXPECT_EQ(read.ordered_persistent, marks.ordered_persistent);
    EXPECT_EQ(read.has_info, marks.has_info);
    EXPECT_EQ(read.is_of_session, marks.is_of_session);
  }
}

TEST_F(MarksTest, DuplicatesInheritThem) {
  set_marks(comm, all_marks);
  MPI_Comm copy = MPI_COMM_NULL, part = MPI_COMM_NULL;
  ASSERT_EQ(HOST(Comm_dup)(comm, &copy), MPI_SUCCESS);
  ASSERT_EQ(pmpi.Comm_split(comm, 0, 0, &part), MPI_SUCCESS);
  EXPECT_EQ(marks_of(copy).bits(), all_marks.bits());
  EXPECT_EQ(marks_of(part).bits(), Marks{}.bits());
  pmpi.Comm_free(&copy);
  pmpi.Comm_free(&part);
}

Marks seen_in_callback;

int look(MPI_Comm comm, int, void*, void*) {
  seen_in_callback = marks_of(comm);
  return MPI_SUCCESS;
}

TEST_F(MarksTest, DeleteCallbacksOfTheProgramFindThem) {
  int keyval = MPI_KEYVAL_INVALID;
  const auto copy_none = [](MPI_Comm, int, void*, void*, void*, int* is_copied) {
    *is_copied = 0;
    return static_cast<int>(MPI_SUCCESS);
  };
  ASSERT_EQ(pmpi.Comm_create_keyval(copy_none, look, &keyval, nullptr), MPI_SUCCESS);
  // Set before ours and behind it: hosts call the callbacks in either order.
  for (const bool is_first : {true, false}) {
    MPI_Comm freed = MPI_COMM_NULL;
    ASSERT_EQ(pmpi.Comm_split(MPI_COMM_WORLD, 0, 0, &freed), MPI_SUCCESS);
    if (!is_first) set_marks(freed, all_marks);
    pmpi.Comm_set_attr(freed, keyval, nullptr);
    if (is_first) set_marks(freed, all_marks);
    seen_in_callback = {};
    EXPECT_EQ(comm_free(&freed), MPI_SUCCESS);
    EXPECT_EQ(seen_in_callback.bits(), all_marks.bits());
    EXPECT_TRUE(recording.marks.empty());
  }
}

TEST_F(MarksTest, ComeBackWhereTheHostHasRefused) {
  set_marks(comm, all_marks);
  detach_marks(comm);
  expect_marks({});
  restore_marks(comm, all_marks);
  expect_marks(all_marks);
  // What was said meanwhile holds; where it was made from stays true.
  const Marks said{.reproducible = host::Hint::no, .has_info = true};
  set_marks(comm, said);
  restore_marks(comm, all_marks);
  expect_marks({.reproducible = host::Hint::no, .has_info = true, .is_of_session = true});
}

}  // namespace
}  // namespace unisono::adapter
