// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/learning/agreements.h"

#include <algorithm>

#include "algorithms/catalogue/descriptor.h"
#include "base/reduce_kernels.h"
#include "tuning/learning/learner.h"

namespace unisono::runtime {

int Agreements::least(Communicator& c, std::uint64_t* numbers, std::size_t count) const {
  const shm::Combine least{.element_bytes = sizeof *numbers,
                           .kernel = reduce_kernel(ReduceOp::min, ElementType::int64)};
  return join(c, numbers, count, least);
}

int Agreements::least_and_sums(Communicator& c, std::vector<std::uint64_t>* numbers,
                               std::vector<std::uint64_t>* sums) const {
  std::vector<tuning::LeastAndSum> both(std::max(numbers->size(), sums->size()));
  for (std::size_t i = 0; i < numbers->size(); ++i) both[i].least = (*numbers)[i];
  for (std::size_t i = 0; i < sums->size(); ++i) both[i].sum = (*sums)[i];
  const int error = join(c, both.data(), both.size(),
                         {.element_bytes = sizeof both[0], .kernel = tuning::join_least_and_sum});
  for (std::size_t i = 0; i < numbers->size(); ++i) (*numbers)[i] = both[i].least;
  for (std::size_t i = 0; i < sums->size(); ++i) (*sums)[i] = both[i].sum;
  return error;
}

int Agreements::join(Communicator& c, void* elements, std::size_t count, const shm::Combine& combine) const {
  const std::size_t bytes = combine.element_bytes;
  if (c.node.slice != nullptr && c.layout->nodes() == 1 && c.node.slice->fused_max_bytes() >= bytes) {
    const std::size_t most = c.node.slice->fused_max_bytes() / bytes;
    for (std::size_t done = 0; done < count; done += most) {
      void* part = static_cast<char*>(elements) + done * bytes;
      c.node.slice->allreduce(part, part, std::min(most, count - done), combine);
    }
    return host::success;
  }
  const Call call{.operation = Operation::allreduce, .is_in_place = true, .comm = c.handle};
  if (c.learning.agreeing == nullptr) {
    const algorithms::Descriptor& doubling = *algorithms::find(Operation::allreduce, "recursive_doubling");
    schedule::Problem what = problem_of(c, call, true);
    what.is_in_place = true;
    what.is_reproducible = false;
    c.learning.agreeing = schedule::compile(what, doubling.build(what, algorithms::with_standards(doubling)));
  }
  return schedules_.execute(c, *c.learning.agreeing,
                            {.output = elements,
                             .elements = static_cast<std::int64_t>(count),
                             .element_bytes = bytes,
                             .combine = combine});
}

std::vector<double> Agreements::longest(Communicator& c, const std::vector<double>& seconds) const {
  std::vector<std::uint64_t> numbers;
  for (const double time_s : seconds) numbers.push_back(tuning::time_number(time_s, true));
  const int error = least(c, numbers.data(), numbers.size());
  if (error != host::success) world_.host.call_error_handler(c.handle, error);
  std::vector<double> longest;
  for (const std::uint64_t number : numbers) longest.push_back(tuning::time_of(number, true));
  return longest;
}

int Agreements::meet(Communicator& c) const {
  if (c.node.slice != nullptr && c.layout->nodes() == 1) {
    c.node.slice->barrier();
    return host::success;
  }
  const Call barrier{.operation = Operation::barrier, .comm = c.handle};
  if (c.learning.aligning == nullptr) {
    const algorithms::Descriptor& dissemination = *algorithms::find(Operation::barrier, "dissemination");
    const schedule::Problem what = problem_of(c, barrier, true);
    c.learning.aligning =
        schedule::compile(what, dissemination.build(what, algorithms::with_standards(dissemination)));
  }
  return schedules_.execute(c, *c.learning.aligning, {.elements = 1});
}

}  // namespace unisono::runtime
