// SPDX-License-Identifier: BSD-3-Clause
// Whose messages are where the user leaves it open.
#include "runtime/messages/auto_choice.h"

#include <gtest/gtest.h>

#include <string>

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

// What docs/figures/messages.md tells apart: more ranks than cores are no reason but on Open MPI 5.
TEST(AutoChoice, SaysWhy) {
  const std::string of_cores = "short messages gain nothing with more ranks than cores";
  for (const char* mpi : {"MPICH 5.0.0", "MPICH 4.0.2", "Open MPI 4.1.4", "Intel MPI 2021.18", ""}) {
    const std::string why = choose_messages(mpi, false, false).why;
    EXPECT_NE(why, "") << mpi;
    EXPECT_EQ(why, choose_messages(mpi, true, false).why) << mpi;
    EXPECT_NE(why, of_cores) << mpi;
  }
  EXPECT_EQ(choose_messages("Open MPI 5.0.11", true, false).why, of_cores);
  EXPECT_NE(choose_messages("Open MPI 5.0.11", false, false).why, of_cores);
  EXPECT_EQ(choose_messages("Intel MPI 2021.18", false, false).why,
            std::string("Intel MPI's own are faster from 16 KiB to 1 MiB"));
}

}  // namespace
}  // namespace unisono::runtime::auto_choice_test
