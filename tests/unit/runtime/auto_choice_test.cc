// SPDX-License-Identifier: BSD-3-Clause
// Whose messages are where the user leaves it open.
#include "runtime/messages/auto_choice.h"

#include <gtest/gtest.h>

namespace unisono::runtime::auto_choice_test {
namespace {

TEST(AutoChoice, GoesByTheMpiItsVersionAndTheCores) {
  for (const bool shares_cores : {false, true}) {
    EXPECT_TRUE(choose_messages("MPICH 5.0.0", shares_cores, false).is_carried);
    EXPECT_EQ(choose_messages("Open MPI 5.0.11", shares_cores, false).is_carried, !shares_cores);
    EXPECT_EQ(choose_messages("Open MPI 10.1.0", shares_cores, false).is_carried, !shares_cores);
    for (const char* mpi :
         {"Intel MPI 2021.18", "MPICH 4.0.2", "Open MPI 4.1.4", "MPICH ", "Open MPI x", "Other MPI 5.0", ""})
      EXPECT_FALSE(choose_messages(mpi, shares_cores, false).is_carried) << mpi;
  }
  EXPECT_FALSE(choose_messages("MPICH 5.0.0", false, true).is_carried);
}

TEST(AutoChoice, SaysWhy) {
  for (const char* mpi :
       {"MPICH 5.0.0", "MPICH 4.0.2", "Open MPI 4.1.4", "Open MPI 5.0.11", "Intel MPI 2021.18", ""})
    EXPECT_STRNE(choose_messages(mpi, false, false).why, "") << mpi;
}

}  // namespace
}  // namespace unisono::runtime::auto_choice_test
