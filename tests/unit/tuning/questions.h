// SPDX-License-Identifier: BSD-3-Clause
// Questions of the tests of decisions.
#pragma once

#include <memory>

#include "tuning/decisions/decision.h"
#include "tuning/decisions/size_class.h"

namespace unisono::tuning {

inline Question question(Operation operation, const char* layout, std::int64_t bytes,
                         bool has_shared_memory = true) {
  Question q;
  q.problem.operation = operation;
  q.problem.layout = std::make_shared<patterns::Layout>(*patterns::Layout::parse(layout));
  q.problem.size = q.problem.layout->size();
  q.size_class = size_class(bytes);
  q.has_shared_memory = has_shared_memory;
  return q;
}

}  // namespace unisono::tuning
