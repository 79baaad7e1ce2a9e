// SPDX-License-Identifier: BSD-3-Clause
// M5, section 6.2.1. For applications the source has as many elements in a block as fit into a line: two
// receives, three messages. Here it is two of both (block.h). In its micro-benchmarks a block is as large as
// the first cache: 2048 and 1360 elements, where 32 KiB hold 1365 of 24 bytes.
#include "matching/array_list.h"
#include "matching/catalogue.h"
#include "matching/single_queues.h"

namespace unisono::matching {
namespace {

const Registration registration([] {
  return Descriptor{
      .name = "arrays",
      .source = "M5, section 6.2.1",
      .sentence = "Each queue is a linked list of blocks with several entries each.",
      .parameters = {{"block", 1, largest_block, 2, "entries in a block; two fill a line"}},
      .make = [](const Setup& setup) -> std::unique_ptr<Queues> {
        const ListSettings settings{.block = static_cast<int>(setup.value("block"))};
        return std::make_unique<SingleQueues<ArrayList>>(settings);
      },
  };
});

}  // namespace
}  // namespace unisono::matching
