// SPDX-License-Identifier: BSD-3-Clause
// Which kind of list a structure of several lists is made of: any of those that are structures by themselves.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "matching/array_list.h"
#include "matching/catalogue.h"
#include "matching/linked_list.h"
#include "matching/routed_queues.h"
#include "matching/vector_list.h"

namespace unisono::matching {

inline std::vector<Parameter> with_list_parameters(std::vector<Parameter> parameters) {
  parameters.push_back({"list", 0, 2, 0, "0: linked lists, 1: lists of arrays, 2: lists of vectors"});
  parameters.push_back({"block", 1, largest_block, 8, "entries in a block of arrays or vectors"});
  return parameters;
}

template <class Router>
std::unique_ptr<Queues> routed_queues(const Setup& setup, Router of_receives, Router of_messages) {
  const ListSettings settings{.block = static_cast<int>(setup.value("block"))};
  const auto made = [&]<class List>(List*) -> std::unique_ptr<Queues> {
    return std::make_unique<RoutedQueues<List, Router>>(settings, std::move(of_receives),
                                                        std::move(of_messages));
  };
  switch (setup.value("list")) {
    case 1:
      return made(static_cast<ArrayList*>(nullptr));
    case 2:
      return made(static_cast<VectorList*>(nullptr));
    default:
      return made(static_cast<LinkedList*>(nullptr));
  }
}

}  // namespace unisono::matching
