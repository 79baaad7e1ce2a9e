// SPDX-License-Identifier: BSD-3-Clause
#include "base/types.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace unisono {
namespace {

TEST(Types, operation_names_lead_back) {
  for (int i = 0; i < operation_count; ++i) {
    const auto operation = static_cast<Operation>(i);
    EXPECT_EQ(operation_from_name(name(operation)), operation);
  }
  EXPECT_EQ(name(Operation::barrier), "barrier");
  EXPECT_EQ(name(Operation::alltoall), "alltoall");
  EXPECT_EQ(operation_from_name("Barrier"), std::nullopt);
  EXPECT_EQ(operation_from_name(""), std::nullopt);
}

TEST(Types, names_are_distinct) {
  std::set<std::string_view> ops;
  for (int i = 0; i <= static_cast<int>(ReduceOp::host); ++i) ops.insert(name(static_cast<ReduceOp>(i)));
  EXPECT_EQ(ops.size(), 13U);
  EXPECT_EQ(name(ReduceOp::maxloc), "maxloc");
  std::set<std::string_view> types;
  for (int i = 0; i <= static_cast<int>(ElementType::derived); ++i)
    types.insert(name(static_cast<ElementType>(i)));
  EXPECT_EQ(types.size(), 20U);
  EXPECT_EQ(name(ElementType::double_int), "double_int");
}

}  // namespace
}  // namespace unisono
