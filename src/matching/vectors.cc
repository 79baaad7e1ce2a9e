// SPDX-License-Identifier: BSD-3-Clause
// M5, section 6.2.2.
#include "matching/catalogue.h"
#include "matching/single_queues.h"
#include "matching/vector_list.h"

namespace unisono::matching {
namespace {

const Registration registration([] {
  return Descriptor{
      .name = "vectors",
      .source = "M5, section 6.2.2",
      .sentence = "Each queue is a linked list of blocks whose keys are compared by vectors.",
      .parameters = {{"block", 1, largest_block, 64, "entries in a block, rounded up to whole vectors of 8"}},
      .make = [](const Setup& setup) -> std::unique_ptr<Queues> {
        const ListSettings settings{.block = static_cast<int>(setup.value("block"))};
        return std::make_unique<SingleQueues<VectorList>>(settings);
      },
  };
});

}  // namespace
}  // namespace unisono::matching
