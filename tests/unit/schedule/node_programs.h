// SPDX-License-Identifier: BSD-3-Clause
// Calls and stages that the tests of node programs share.
#pragma once

#include <algorithm>

#include "world_of_programs.h"

namespace unisono::schedule {

inline std::int64_t value(int rank, std::int64_t i) {
  return rank * 1000 + i;
}
inline Values values(int rank, std::int64_t count) {
  Values made;
  for (std::int64_t i = 0; i < count; ++i) made.push_back(value(rank, i));
  return made;
}

inline std::vector<fake_host::Options> hosts() {
  return {{}, {.is_synchronous = true, .seed = 3, .max_delay = 8}, {.seed = 4, .max_delay = 30}};
}

inline Call bcast_call(int root, std::int64_t elements, const Build& build) {
  return {
      .operation = Operation::bcast,
      .root = root,
      .elements = elements,
      .build = build,
      .fill = [=](int rank, Values*,
                  Values* output) { *output = rank == root ? values(root, elements) : Values(elements, -1); },
      .check = [=](int, const Values& output) { EXPECT_EQ(output, values(root, elements)); }};
}

inline Call allreduce_call(int size, std::int64_t elements, const Build& build, bool is_in_place = false) {
  return {
      .operation = Operation::allreduce,
      .is_in_place = is_in_place,
      .elements = elements,
      .build = build,
      .combine = {.call = join_runs, .element_bytes = 8},
      .fill =
          [=](int rank, Values* input, Values* output) {
            (is_in_place ? *output : *input).assign(elements, run_of(rank, rank));
            output->resize(elements, -1);
          },
      .check = [=](int, const Values& output) { EXPECT_EQ(output, Values(elements, run_of(0, size - 1))); }};
}

inline Call allgather_call(int size, std::int64_t elements, const Build& build, bool is_in_place = false) {
  return {.operation = Operation::allgather,
          .is_in_place = is_in_place,
          .elements = elements,
          .build = build,
          .fill =
              [=](int rank, Values* input, Values* output) {
                output->assign(elements * size, -1);
                if (!is_in_place) *input = values(rank, elements);
                const Values own = values(rank, elements);
                if (is_in_place) std::copy(own.begin(), own.end(), output->begin() + rank * elements);
              },
          .check =
              [=](int, const Values& output) {
                for (int rank = 0; rank < size; ++rank) {
                  for (std::int64_t i = 0; i < elements; ++i) {
                    EXPECT_EQ(output[rank * elements + i], value(rank, i));
                  }
                }
              }};
}

// Blocks that differ by who gives them and to whom: from the root, to it, or from everybody to everybody.
inline std::int64_t block_value(int from, int to, std::int64_t i) {
  return from * 100000 + to * 1000 + i;
}
inline Values block_values(int from, int to, std::int64_t count) {
  Values made;
  for (std::int64_t i = 0; i < count; ++i) made.push_back(block_value(from, to, i));
  return made;
}
inline Values joined_blocks(int size, const std::function<Values(int)>& block_of) {
  Values all;
  for (int rank = 0; rank < size; ++rank) {
    const Values block = block_of(rank);
    all.insert(all.end(), block.begin(), block.end());
  }
  return all;
}

inline Call gather_call(int size, int root, std::int64_t elements, const Build& build) {
  return {.operation = Operation::gather,
          .root = root,
          .elements = elements,
          .build = build,
          .fill =
              [=](int rank, Values* input, Values* output) {
                *input = block_values(rank, root, elements);
                if (rank == root) output->assign(elements * size, -1);
              },
          .check =
              [=](int rank, const Values& output) {
                if (rank != root) return;
                EXPECT_EQ(output,
                          joined_blocks(size, [&](int r) { return block_values(r, root, elements); }));
              }};
}

inline Call scatter_call(int size, int root, std::int64_t elements, const Build& build) {
  return {.operation = Operation::scatter,
          .root = root,
          .elements = elements,
          .build = build,
          .fill =
              [=](int rank, Values* input, Values* output) {
                if (rank == root) {
                  *input = joined_blocks(size, [&](int r) { return block_values(root, r, elements); });
                }
                output->assign(elements, -1);
              },
          .check = [=](int rank,
                       const Values& output) { EXPECT_EQ(output, block_values(root, rank, elements)); }};
}

inline Call alltoall_call(int size, std::int64_t elements, const Build& build) {
  return {.operation = Operation::alltoall,
          .elements = elements,
          .build = build,
          .fill =
              [=](int rank, Values* input, Values* output) {
                *input = joined_blocks(size, [&](int r) { return block_values(rank, r, elements); });
                output->assign(elements * size, -1);
              },
          .check =
              [=](int rank, const Values& output) {
                EXPECT_EQ(output,
                          joined_blocks(size, [&](int r) { return block_values(r, rank, elements); }));
              }};
}

struct Shape {
  std::int64_t segment_bytes;
  int buffers;
  SharedMode mode;
};
inline const Shape shapes[] = {{0, 2, SharedMode::common},
                               {8, 3, SharedMode::own},
                               {40, 2, SharedMode::common},
                               {24, 1, SharedMode::own},
                               {64, 8, SharedMode::common}};

inline Stage channel_stage(const Shape& shape, int ticks) {
  return {.rounds = 1,
          .write = {},
          .segment_bytes = shape.segment_bytes,
          .shared = shape.mode,
          .ticks = ticks,
          .buffers = shape.buffers};
}

// The local root writes each piece, the others read it.
inline Stage node_bcast(const Shape& shape, int local_rank, int local_root) {
  Stage stage = channel_stage(shape, 1);
  const int owner = shape.mode == SharedMode::own ? local_root : 0;
  stage.write = [=](int, Writer& writer) {
    const Ref data = whole(Place::output);
    if (local_rank == local_root) {
      writer.await_space();
      writer.copy(data.in_slot_of(owner), data);
      writer.signal(1);
    } else {
      writer.await(local_root, 1);
      writer.copy(data, data.in_slot_of(owner));
    }
  };
  return stage;
}

}  // namespace unisono::schedule
