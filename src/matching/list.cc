// SPDX-License-Identifier: BSD-3-Clause
// M1, section 2.2.5, figure 2.5: what MPICH and MVAPICH have.
#include "matching/catalogue.h"
#include "matching/linked_list.h"
#include "matching/single_queues.h"

namespace unisono::matching {
namespace {

const Registration registration([] {
  return Descriptor{
      .name = "list",
      .source = "M1, section 2.2.5",
      .sentence = "Each queue is one linked list, searched from its begin.",
      .make = [](const Setup&) -> std::unique_ptr<Queues> {
        return std::make_unique<SingleQueues<LinkedList>>(ListSettings());
      },
  };
});

}  // namespace
}  // namespace unisono::matching
