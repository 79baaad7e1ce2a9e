// SPDX-License-Identifier: BSD-3-Clause
#include "simgrid/messages.h"

#include <smpi/mpi.h>
#include <smpi/smpi_helpers.h>

#include <vector>

#include "simgrid/timing.h"

namespace unisono::simgrid {

namespace {

constexpr int tag = 1;

int own_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

void send(std::vector<char>& data, int to) {
  MPI_Send(data.data(), static_cast<int>(data.size()), MPI_CHAR, to, tag, MPI_COMM_WORLD);
}

void receive(std::vector<char>& data, int from) {
  MPI_Recv(data.data(), static_cast<int>(data.size()), MPI_CHAR, from, tag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
}

double ping_pong_s(int from, int to, std::vector<char>& data) {
  const double begin_s = begin_together();
  if (own_rank() == from) {
    send(data, to);
    receive(data, to);
  } else if (own_rank() == to) {
    receive(data, from);
    send(data, from);
  }
  return now_s() - begin_s;
}

// How long the sender's call takes, and the end of a receive whose message came long ago.
double overhead_s(int from, int to, std::vector<char>& data) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (own_rank() == to)
    MPI_Irecv(data.data(), static_cast<int>(data.size()), MPI_CHAR, from, tag, MPI_COMM_WORLD, &request);
  double begin_s = begin_together(), taken_s = 0;
  if (own_rank() == from) {
    MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_CHAR, to, tag, MPI_COMM_WORLD, &request);
    taken_s = now_s() - begin_s;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (own_rank() == to) {
    smpi_usleep(500'000);
    begin_s = now_s();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    taken_s = now_s() - begin_s;
  }
  return taken_s;
}

// So many messages, whose receives wait for them, until the last is there.
double burst_s(int from, int to, std::size_t messages, std::vector<char>& data) {
  std::vector<MPI_Request> requests(messages, MPI_REQUEST_NULL);
  const auto count = static_cast<int>(data.size());
  if (own_rank() == to) {
    for (MPI_Request& request : requests)
      MPI_Irecv(data.data(), count, MPI_CHAR, from, tag, MPI_COMM_WORLD, &request);
  }
  const double begin_s = begin_together();
  if (own_rank() == from) {
    for (MPI_Request& request : requests)
      MPI_Isend(data.data(), count, MPI_CHAR, to, tag, MPI_COMM_WORLD, &request);
  }
  MPI_Waitall(static_cast<int>(messages), requests.data(), MPI_STATUSES_IGNORE);
  return now_s() - begin_s;
}

double gap_s(int from, int to, std::vector<char>& data) {
  constexpr std::size_t messages = 32;
  const double one_s = burst_s(from, to, 1, data);
  return (burst_s(from, to, messages, data) - one_s) / (messages - 1);
}

// What rank `of` has found, on all ranks.
double told_us(double own_s, int of) {
  return 1e6 * latest(own_rank() == of ? own_s : 0);
}

}  // namespace

MessageTimes time_messages(int from, int to, std::int64_t bytes) {
  std::vector<char> data(static_cast<std::size_t>(bytes));
  MessageTimes times;
  times.half_us = told_us(ping_pong_s(from, to, data), from) / 2;
  const double own_s = overhead_s(from, to, data);
  times.send_us = told_us(own_s, from);
  times.receive_us = told_us(own_s, to);
  times.gap_us = told_us(gap_s(from, to, data), to);
  return times;
}

double time_shift(int distance, std::int64_t bytes) {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rank = own_rank();
  std::vector<char> sent(static_cast<std::size_t>(bytes)), received(sent.size());
  const double begin_s = begin_together();
  MPI_Sendrecv(sent.data(), static_cast<int>(bytes), MPI_CHAR, (rank + distance) % size, tag, received.data(),
               static_cast<int>(bytes), MPI_CHAR, (rank + size - distance) % size, tag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  return 1e6 * (latest(now_s()) - begin_s);
}

}  // namespace unisono::simgrid
