// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/large_counts/large.h"

#include <algorithm>
#include <climits>
#include <vector>

#include "adapter/below/elements.h"

namespace unisono::adapter {
namespace {

// MPI leaves some arguments without meaning on some ranks; a type must not be made of them. Negative counts
// stay negative, so that the host reports them.
struct Significant {
  bool in = true;
  bool out = true;
};

Significant significant(bool is_gather, int root, MPI_Comm comm, const void* in, const void* out) {
  Significant result{in != MPI_IN_PLACE, out != MPI_IN_PLACE};
  int is_inter = 0;
  int rank = 0;
  pmpi.Comm_test_inter(comm, &is_inter);
  pmpi.Comm_rank(comm, &rank);
  const bool is_root = is_inter != 0 ? root == MPI_ROOT : root == rank;
  if (!is_root) (is_gather ? result.out : result.in) = false;
  if (is_inter != 0 && is_root) (is_gather ? result.in : result.out) = false;
  return result;
}

struct Blocks {
  Blocks(bool is_in, MPI_Count in_count, MPI_Datatype in_type, bool is_out, MPI_Count out_count,
         MPI_Datatype out_type)
      : in(is_in ? in_count : 0, in_type), out(is_out ? out_count : 0, out_type) {}
  int error() const { return in.error != MPI_SUCCESS ? in.error : out.error; }
  Elements in;
  Elements out;
};

void* at(void* buffer, MPI_Count bytes) {
  return static_cast<char*>(buffer) + bytes;
}
const void* at(const void* buffer, MPI_Count bytes) {
  return buffer == MPI_IN_PLACE ? buffer : static_cast<const char*>(buffer) + bytes;
}

// Calls reduce(in, out, count) piece by piece.
template <class Reduce>
int in_pieces(const void* in, void* out, MPI_Count count, MPI_Datatype type, Reduce reduce) {
  MPI_Count extent = 0;
  int error = extent_of(type, &extent);
  for (MPI_Count done = 0; done < count && error == MPI_SUCCESS; done += piece_elements) {
    const int length = static_cast<int>(std::min(piece_elements, count - done));
    error = reduce(at(in, done * extent), at(out, done * extent), length);
  }
  return error;
}

// Memory for `count` elements beside the program's own.
struct Apart {
  Apart(MPI_Count elements, MPI_Datatype element_type) : count(elements), type(element_type) {
    MPI_Count lower_bound = 0;
    MPI_Count length = 0;
    MPI_Count extent = 0;
    error = pmpi.Type_get_true_extent_x(type, &lower_bound, &length);
    if (error == MPI_SUCCESS) error = extent_of(type, &extent);
    if (error != MPI_SUCCESS || count == 0) return;
    const MPI_Count spread = (count - 1) * extent;
    memory.resize(static_cast<std::size_t>(length + std::max(spread, -spread)));
    origin = memory.data() - lower_bound - std::min<MPI_Count>(spread, 0);
  }
  int copy_to(void* out) const {
    const Elements elements(count, type);
    if (elements.error != MPI_SUCCESS) return elements.error;
    return pmpi.Sendrecv(origin, elements.count, elements.type, 0, 0, out, elements.count, elements.type, 0,
                         0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  }

  MPI_Count count;
  MPI_Datatype type;
  int error = MPI_SUCCESS;
  std::vector<char> memory;
  char* origin = nullptr;
};

}  // namespace

namespace large {

int bcast(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  if (pmpi.bcast.large != nullptr) return pmpi.bcast.large(buffer, count, type, root, comm);
  const Elements elements(count, type);
  if (elements.error != MPI_SUCCESS) return elements.error;
  return pmpi.bcast.small(buffer, elements.count, elements.type, root, comm);
}

int reduce(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm) {
  if (pmpi.reduce.large != nullptr) return pmpi.reduce.large(in, out, count, type, op, root, comm);
  if (fits(count)) return pmpi.reduce.small(in, out, narrowed(count), type, op, root, comm);
  return in_pieces(in, out, count, type, [&](const void* from, void* to, int length) {
    return pmpi.reduce.small(from, to, length, type, op, root, comm);
  });
}

int allreduce(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  if (pmpi.allreduce.large != nullptr) return pmpi.allreduce.large(in, out, count, type, op, comm);
  if (fits(count)) return pmpi.allreduce.small(in, out, narrowed(count), type, op, comm);
  return in_pieces(in, out, count, type, [&](const void* from, void* to, int length) {
    return pmpi.allreduce.small(from, to, length, type, op, comm);
  });
}

int gather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
           MPI_Datatype out_type, int root, MPI_Comm comm) {
  if (pmpi.gather.large != nullptr) {
    return pmpi.gather.large(in, in_count, in_type, out, out_count, out_type, root, comm);
  }
  const Significant is =
      fits(in_count) && fits(out_count) ? Significant{} : significant(true, root, comm, in, out);
  const Blocks blocks(is.in, in_count, in_type, is.out, out_count, out_type);
  if (blocks.error() != MPI_SUCCESS) return blocks.error();
  return pmpi.gather.small(in, blocks.in.count, blocks.in.type, out, blocks.out.count, blocks.out.type, root,
                           comm);
}

int scatter(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
            MPI_Datatype out_type, int root, MPI_Comm comm) {
  if (pmpi.scatter.large != nullptr) {
    return pmpi.scatter.large(in, in_count, in_type, out, out_count, out_type, root, comm);
  }
  const Significant is =
      fits(in_count) && fits(out_count) ? Significant{} : significant(false, root, comm, in, out);
  const Blocks blocks(is.in, in_count, in_type, is.out, out_count, out_type);
  if (blocks.error() != MPI_SUCCESS) return blocks.error();
  return pmpi.scatter.small(in, blocks.in.count, blocks.in.type, out, blocks.out.count, blocks.out.type, root,
                            comm);
}

int allgather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
              MPI_Datatype out_type, MPI_Comm comm) {
  if (pmpi.allgather.large != nullptr) {
    return pmpi.allgather.large(in, in_count, in_type, out, out_count, out_type, comm);
  }
  const Blocks blocks(in != MPI_IN_PLACE, in_count, in_type, true, out_count, out_type);
  if (blocks.error() != MPI_SUCCESS) return blocks.error();
  return pmpi.allgather.small(in, blocks.in.count, blocks.in.type, out, blocks.out.count, blocks.out.type,
                              comm);
}

int alltoall(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
             MPI_Datatype out_type, MPI_Comm comm) {
  if (pmpi.alltoall.large != nullptr) {
    return pmpi.alltoall.large(in, in_count, in_type, out, out_count, out_type, comm);
  }
  const Blocks blocks(in != MPI_IN_PLACE, in_count, in_type, true, out_count, out_type);
  if (blocks.error() != MPI_SUCCESS) return blocks.error();
  return pmpi.alltoall.small(in, blocks.in.count, blocks.in.type, out, blocks.out.count, blocks.out.type,
                             comm);
}

// Counts that do not fit: one reduction after the other, to each rank in turn. In place every one reads what
// the result is to overwrite. (An intercommunicator's are refused by the host: the count is no int.)
int reduce_scatter_block(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm) {
  if (pmpi.reduce_scatter_block.large != nullptr) {
    return pmpi.reduce_scatter_block.large(in, out, count, type, op, comm);
  }
  int is_inter = 0;
  int error = pmpi.Comm_test_inter(comm, &is_inter);
  if (fits(count) || error != MPI_SUCCESS || is_inter != 0) {
    return pmpi.reduce_scatter_block.small(in, out, narrowed(count), type, op, comm);
  }
  int rank = 0;
  int size = 0;
  pmpi.Comm_rank(comm, &rank);
  pmpi.Comm_size(comm, &size);
  const bool is_in_place = in == MPI_IN_PLACE;
  Apart result(is_in_place ? count : 0, type);
  if (result.error != MPI_SUCCESS) return result.error;
  MPI_Count extent = 0;
  error = extent_of(type, &extent);
  for (int root = 0; root < size && error == MPI_SUCCESS; ++root) {
    const void* from = at(static_cast<const void*>(is_in_place ? out : in), root * count * extent);
    error = reduce(from, is_in_place ? result.origin : out, count, type, op, root, comm);
  }
  return error == MPI_SUCCESS && is_in_place ? result.copy_to(out) : error;
}

int scan(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  if (pmpi.scan.large != nullptr) return pmpi.scan.large(in, out, count, type, op, comm);
  if (fits(count)) return pmpi.scan.small(in, out, narrowed(count), type, op, comm);
  return in_pieces(in, out, count, type, [&](const void* from, void* to, int length) {
    return pmpi.scan.small(from, to, length, type, op, comm);
  });
}

int exscan(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  if (pmpi.exscan.large != nullptr) return pmpi.exscan.large(in, out, count, type, op, comm);
  if (fits(count)) return pmpi.exscan.small(in, out, narrowed(count), type, op, comm);
  return in_pieces(in, out, count, type, [&](const void* from, void* to, int length) {
    return pmpi.exscan.small(from, to, length, type, op, comm);
  });
}

// --- Started, not waited for: a made type may be freed while the call that uses it is under way ---

namespace {

// For what cannot be started with so many elements: `done` is what the blocking function returned.
int complete_request(int done, MPI_Request* request) {
  return done == MPI_SUCCESS ? pmpi.barrier.start_small(MPI_COMM_SELF, request) : done;
}

}  // namespace

int bcast(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  if (pmpi.bcast.start_large != nullptr)
    return pmpi.bcast.start_large(buffer, count, type, root, comm, request);
  const Elements elements(count, type);
  if (elements.error != MPI_SUCCESS) return elements.error;
  return pmpi.bcast.start_small(buffer, elements.count, elements.type, root, comm, request);
}

int reduce(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
           MPI_Request* request) {
  if (pmpi.reduce.start_large != nullptr)
    return pmpi.reduce.start_large(in, out, count, type, op, root, comm, request);
  if (fits(count)) return pmpi.reduce.start_small(in, out, narrowed(count), type, op, root, comm, request);
  return complete_request(reduce(in, out, count, type, op, root, comm), request);
}

int allreduce(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request* request) {
  if (pmpi.allreduce.start_large != nullptr)
    return pmpi.allreduce.start_large(in, out, count, type, op, comm, request);
  if (fits(count)) return pmpi.allreduce.start_small(in, out, narrowed(count), type, op, comm, request);
  return complete_request(allreduce(in, out, count, type, op, comm), request);
}

int gather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
           MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request) {
  if (pmpi.gather.start_large != nullptr)
    return pmpi.gather.start_large(in, in_count, in_type, out, out_count, out_type, root, comm, request);
  const Significant is =
      fits(in_count) && fits(out_count) ? Significant{} : significant(true, root, comm, in, out);
  const Blocks blocks(is.in, in_count, in_type, is.out, out_count, out_type);
  if (blocks.error() != MPI_SUCCESS) return blocks.error();
  return pmpi.gather.start_small(in, blocks.in.count, blocks.in.type, out, blocks.out.count, blocks.out.type,
                                 root, comm, request);
}

int scatter(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
            MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request) {
  if (pmpi.scatter.start_large != nullptr)
    return pmpi.scatter.start_large(in, in_count, in_type, out, out_count, out_type, root, comm, request);
  const Significant is =
      fits(in_count) && fits(out_count) ? Significant{} : significant(false, root, comm, in, out);
  const Blocks blocks(is.in, in_count, in_type, is.out, out_count, out_type);
  if (blocks.error() != MPI_SUCCESS) return blocks.error();
  return pmpi.scatter.start_small(in, blocks.in.count, blocks.in.type, out, blocks.out.count, blocks.out.type,
                                  root, comm, request);
}

int allgather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
              MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request) {
  if (pmpi.allgather.start_large != nullptr)
    return pmpi.allgather.start_large(in, in_count, in_type, out, out_count, out_type, comm, request);
  const Blocks blocks(in != MPI_IN_PLACE, in_count, in_type, true, out_count, out_type);
  if (blocks.error() != MPI_SUCCESS) return blocks.error();
  return pmpi.allgather.start_small(in, blocks.in.count, blocks.in.type, out, blocks.out.count,
                                    blocks.out.type, comm, request);
}

int alltoall(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
             MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request) {
  if (pmpi.alltoall.start_large != nullptr)
    return pmpi.alltoall.start_large(in, in_count, in_type, out, out_count, out_type, comm, request);
  const Blocks blocks(in != MPI_IN_PLACE, in_count, in_type, true, out_count, out_type);
  if (blocks.error() != MPI_SUCCESS) return blocks.error();
  return pmpi.alltoall.start_small(in, blocks.in.count, blocks.in.type, out, blocks.out.count,
                                   blocks.out.type, comm, request);
}

int reduce_scatter_block(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm, MPI_Request* request) {
  if (pmpi.reduce_scatter_block.start_large != nullptr)
    return pmpi.reduce_scatter_block.start_large(in, out, count, type, op, comm, request);
  if (fits(count))
    return pmpi.reduce_scatter_block.start_small(in, out, narrowed(count), type, op, comm, request);
  return complete_request(reduce_scatter_block(in, out, count, type, op, comm), request);
}

int scan(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
         MPI_Request* request) {
  if (pmpi.scan.start_large != nullptr) return pmpi.scan.start_large(in, out, count, type, op, comm, request);
  if (fits(count)) return pmpi.scan.start_small(in, out, narrowed(count), type, op, comm, request);
  return complete_request(scan(in, out, count, type, op, comm), request);
}

int exscan(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
           MPI_Request* request) {
  if (pmpi.exscan.start_large != nullptr)
    return pmpi.exscan.start_large(in, out, count, type, op, comm, request);
  if (fits(count)) return pmpi.exscan.start_small(in, out, narrowed(count), type, op, comm, request);
  return complete_request(exscan(in, out, count, type, op, comm), request);
}

}  // namespace large
}  // namespace unisono::adapter
