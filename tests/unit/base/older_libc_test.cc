// SPDX-License-Identifier: BSD-3-Clause
// The search for exception frames on C libraries that have none of their own finds what that of newer ones
// does.
#include "base/older_libc.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#ifdef DLFO_STRUCT_HAS_EH_DBASE

namespace {

void* address_of(const char* name) {
  return dlsym(RTLD_DEFAULT, name);
}

TEST(OlderLibc, finds_the_objects_that_the_c_library_finds) {
  using Find = int (*)(void*, dl_find_object*);
  const auto own = reinterpret_cast<Find>(dlvsym(RTLD_DEFAULT, "_dl_find_object", "GLIBC_2.35"));
  if (own == nullptr) GTEST_SKIP() << "this C library is older than 2.35";
  const std::vector<void*> addresses = {address_of("printf"), address_of("__cxa_throw"), address_of("cos"),
                                        reinterpret_cast<void*>(&unisono_find_object_by_headers)};
  for (void* address : addresses) {
    if (address == nullptr) continue;  // the library is not linked
    dl_find_object theirs{}, ours{};
    ASSERT_EQ(own(address, &theirs), 0);
    ASSERT_EQ(unisono_find_object_by_headers(address, &ours), 0);
    EXPECT_EQ(ours.dlfo_eh_frame, theirs.dlfo_eh_frame);
    EXPECT_LE(ours.dlfo_map_start, address);
    EXPECT_GT(ours.dlfo_map_end, address);
  }
}

TEST(OlderLibc, finds_nothing_outside_of_all_objects) {
  int on_stack = 0;
  dl_find_object found{};
  EXPECT_EQ(unisono_find_object_by_headers(&on_stack, &found), -1);
  EXPECT_EQ(unisono_find_object_by_headers(nullptr, &found), -1);
}

}  // namespace

#endif
