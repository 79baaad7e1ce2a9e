// SPDX-License-Identifier: BSD-3-Clause
// Calls that tests tell apart by their number: allreduces and broadcasts of int64, with what must come out.
#pragma once

#include <cstdint>
#include <vector>

#include "fake_host/fake_host.h"
#include "runtime/job.h"

namespace unisono::runtime {

struct Numbers {
  std::vector<std::int64_t> in, out;
  std::int64_t expected = 0;
};

// Call number `number` on `comm`, the same on all its ranks.
inline Call numbered_call(host::fake::FakeHost& host, host::Comm comm, int number, std::size_t count,
                          Numbers* numbers) {
  const int rank = host.comm_rank(comm), size = host.comm_size(comm);
  numbers->in.assign(count, number + rank);
  numbers->out.assign(count, -1);
  Call call{.operation = Operation::allreduce,
            .comm = comm,
            .send_buffer = numbers->in.data(),
            .recv_buffer = numbers->out.data(),
            .send_count = count,
            .recv_count = count,
            .send_type = host::fake::datatype(ElementType::int64),
            .recv_type = host::fake::datatype(ElementType::int64),
            .op = host::fake::op(ReduceOp::sum)};
  numbers->expected = std::int64_t{number} * size + size * (size - 1) / 2;
  if (number % 3 == 0) {
    call.operation = Operation::bcast;
    call.root = number % size;
    numbers->expected = number + call.root;
    numbers->out = numbers->in;
    call.send_buffer = call.recv_buffer = numbers->out.data();
  }
  return call;
}

}  // namespace unisono::runtime
