// SPDX-License-Identifier: BSD-3-Clause
#include "simgrid/schedules.h"

#include <numeric>
#include <stdexcept>

#include "algorithms/catalogue/descriptor.h"
#include "base/reduce_kernels.h"
#include "schedule/ranges.h"
#include "tuning/decisions/algorithm_text.h"

namespace unisono::simgrid {

namespace {

std::shared_ptr<const patterns::Layout> one_rank_a_node(int size) {
  static std::shared_ptr<const patterns::Layout> layout;  // of all ranks
  if (layout == nullptr) {
    std::vector<int> nodes(static_cast<std::size_t>(size));
    std::iota(nodes.begin(), nodes.end(), 0);
    layout = std::make_shared<const patterns::Layout>(patterns::Layout::from_labels(nodes));
  }
  return layout;
}

constexpr std::int64_t element_bytes = sizeof(std::int64_t);

}  // namespace

Schedules::Schedules(int rank, int size) : layout_(one_rank_a_node(size)), ranks_(layout_->node_of) {
  call_.rank = rank;
  call_.size = size;
}

void Schedules::prepare(const Call& call, const std::string& algorithm) {
  const tuning::ReadAlgorithm read = tuning::algorithm_from_text(call.operation, algorithm);
  if (!read.problem.empty()) throw std::runtime_error(read.problem);
  const algorithms::Descriptor* descriptor = read.named.algorithm;
  if (descriptor == nullptr) throw std::runtime_error("'native' has no schedule");
  schedule::Problem problem{.operation = call.operation,
                            .size = call.size,
                            .rank = call.rank,
                            .root = Call::root,
                            .layout = layout_,
                            .blocks = {}};
  const std::string why =
      algorithms::why_illegal(*descriptor, problem, call.elements * element_bytes, false, false);
  if (!why.empty()) throw std::runtime_error(descriptor->name + " " + why);
  const algorithms::Parameters parameters = algorithms::with_standards(*descriptor, read.named.parameters);
  call_ = call;
  program_ = schedule::compile(problem, descriptor->build(problem, parameters));
  header_ = nullptr;
  if (descriptor->build_tree_header) {
    schedule::Problem telling = problem;
    telling.operation = Operation::allgather;
    telling.is_in_place = true;
    header_ = schedule::compile(telling, descriptor->build_tree_header(telling, parameters));
  }
  starts_.clear();
  if (!has_uneven_blocks(call.operation)) return;
  const int blocks = is_uneven_alltoall(call.operation) ? 2 * call.size : call.size;
  for (std::int64_t block = 0; block <= blocks; ++block) starts_.push_back(block * call.elements);
}

void Schedules::run(Buffers* buffers) {
  if (header_ != nullptr) {
    header_output_.assign(static_cast<std::size_t>(call_.size), call_.elements);
    run_program(*header_, {.output = header_output_.data(), .elements = 1, .element_bytes = element_bytes});
  }
  const bool has_output = call_.output_elements() > 0;
  schedule::Data data{.input = buffers->input(),
                      .output = has_output ? buffers->output() : nullptr,
                      .elements = call_.elements,
                      .element_bytes = element_bytes,
                      .combine = {.element_bytes = element_bytes,
                                  .kernel = reduce_kernel(ReduceOp::sum, ElementType::int64)}};
  if (!starts_.empty()) {
    data.lengths = {starts_.data(), std::ssize(starts_) - 1};
    data.most = has_known_blocks(call_.operation) ? starts_.back() : schedule::unknown_elements;
  }
  run_program(*program_, data);
}

void Schedules::run_program(const schedule::Compiled& program, const schedule::Data& data) {
  const schedule::Ground ground{.host = &host_, .comm = host_.world(), .rank_in_comm = ranks_.data()};
  const int error = executor_.run(program, ground, data);
  if (error != host::success) throw std::runtime_error("SMPI: error " + std::to_string(error));
}

}  // namespace unisono::simgrid
