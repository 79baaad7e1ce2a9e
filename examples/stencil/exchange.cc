// SPDX-License-Identifier: BSD-3-Clause
#include "exchange.h"

#include <algorithm>
#include <numeric>

// Open MPI 5 has them, though it counts as MPI 3.1.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT_CALLS 1
#else
#define HAS_PERSISTENT_CALLS 0
#endif

namespace stencil {
namespace {

bool is_whole_block(Operation operation) {
  return operation == Operation::allgather || operation == Operation::allgatherv;
}

// These cells of a field as one type, from the field's beginning on.
MPI_Datatype type_of(const Box& cells, const Field& field, int dimensions) {
  const Vector sides = field.sides_with_border();
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (cells.is_empty()) {
    MPI_Type_contiguous(0, MPI_DOUBLE, &type);
  } else {
    const int border = (sides[0] - field.inside().high[0]) / 2;
    Vector starts{}, lengths{};
    for (int d = 0; d < dimensions; ++d) {
      starts[d] = cells.low[d] + border;
      lengths[d] = cells.high[d] - cells.low[d];
    }
    MPI_Type_create_subarray(dimensions, sides.data(), lengths.data(), starts.data(), MPI_ORDER_C, MPI_DOUBLE,
                             &type);
  }
  MPI_Type_commit(&type);
  return type;
}

double* copy_out(Field& field, const Box& cells, int dimensions, double* to) {
  for_each_row(cells, dimensions, [&](const Vector& place, int length) {
    to = std::copy_n(field.data() + field.at(place), length, to);
  });
  return to;
}

}  // namespace

bool has_persistent_calls() {
  return HAS_PERSISTENT_CALLS;
}

Exchange::Exchange(const Options& options, const Neighbors& neighbors, Operation operation, Call call,
                   std::array<Field, 2>& fields)
    : neighbors_(neighbors),
      operation_(operation),
      call_(call),
      fields_(fields),
      dimensions_(options.dimensions),
      comm_(neighbors.comm()) {
  for (int d = 0; d < dimensions_; ++d) sides_[d] = options.cells;
  // Open MPI 4 refuses the null pointers of empty vectors, also where a rank has no neighbours.
  for (auto* numbers : {&counts_out_, &counts_in_, &places_out_, &places_in_}) numbers->reserve(1);
  if (operation == Operation::alltoallw) {
    make_types();
  } else {
    make_places();
  }
  if (call == Call::persistent) make_requests();
}

Exchange::~Exchange() {
  for (MPI_Request& request : requests_) {
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
  for (auto* types : {&types_out_, &types_in_}) {
    for (MPI_Datatype& type : *types) MPI_Type_free(&type);
  }
}

void Exchange::make_types() {
  for (const Edge& edge : neighbors_.out()) {
    types_out_.push_back(type_of(edge.cells, fields_[0], dimensions_));
    counts_out_.push_back(1);
  }
  for (const Edge& edge : neighbors_.in()) {
    types_in_.push_back(type_of(edge.cells, fields_[0], dimensions_));
    counts_in_.push_back(1);
  }
  starts_.assign(std::max({counts_out_.size(), counts_in_.size(), std::size_t{1}}), 0);
  types_out_.reserve(1);
  types_in_.reserve(1);
}

void Exchange::make_places() {
  const auto block = static_cast<int>(fields_[0].inside().cells());
  block_length_ = is_whole_block(operation_) ? block : static_cast<int>(neighbors_.most_cells());
  const bool is_as_long_as_needed = operation_ == Operation::alltoallv;
  const auto fill = [&](const std::vector<Edge>& edges, std::vector<int>& counts, std::vector<int>& places) {
    int place = 0;
    for (const Edge& edge : edges) {
      places.push_back(place);
      counts.push_back(is_as_long_as_needed ? static_cast<int>(edge.cells.cells()) : block_length_);
      place += counts.back();
    }
    return static_cast<std::size_t>(std::max(place, 1));
  };
  in_.resize(fill(neighbors_.in(), counts_in_, places_in_));
  const std::size_t sent = fill(neighbors_.out(), counts_out_, places_out_);
  out_.resize(is_whole_block(operation_) ? static_cast<std::size_t>(block) : sent);
}

void Exchange::pack(int field) {
  if (operation_ == Operation::alltoallw) return;
  if (is_whole_block(operation_)) {
    copy_out(fields_[field], fields_[field].inside(), dimensions_, out_.data());
    return;
  }
  for (std::size_t k = 0; k < neighbors_.out().size(); ++k) {
    copy_out(fields_[field], neighbors_.out()[k].cells, dimensions_, out_.data() + places_out_[k]);
  }
}

void Exchange::unpack(int field) {
  if (operation_ == Operation::alltoallw) return;
  for (std::size_t k = 0; k < neighbors_.in().size(); ++k) {
    const Edge& edge = neighbors_.in()[k];
    const double* from = in_.data() + places_in_[k];
    for_each_row(edge.cells, dimensions_, [&](const Vector& place, int length) {
      const double* row = from;
      if (is_whole_block(operation_)) {
        std::int64_t index = 0;  // of the row in the other block
        for (int d = 0; d < dimensions_; ++d) index = index * sides_[d] + place[d] - edge.moved[d];
        row += index;
      } else {
        from += length;
      }
      std::copy_n(row, length, fields_[field].data() + fields_[field].at(place));
    });
  }
}

void Exchange::call_blocking(int field) {
  double* cells = fields_[field].data();
  switch (operation_) {
    case Operation::allgather:
      MPI_Neighbor_allgather(out_.data(), block_length_, MPI_DOUBLE, in_.data(), block_length_, MPI_DOUBLE,
                             comm_);
      break;
    case Operation::allgatherv:
      MPI_Neighbor_allgatherv(out_.data(), block_length_, MPI_DOUBLE, in_.data(), counts_in_.data(),
                              places_in_.data(), MPI_DOUBLE, comm_);
      break;
    case Operation::alltoall:
      MPI_Neighbor_alltoall(out_.data(), block_length_, MPI_DOUBLE, in_.data(), block_length_, MPI_DOUBLE,
                            comm_);
      break;
    case Operation::alltoallv:
      MPI_Neighbor_alltoallv(out_.data(), counts_out_.data(), places_out_.data(), MPI_DOUBLE, in_.data(),
                             counts_in_.data(), places_in_.data(), MPI_DOUBLE, comm_);
      break;
    case Operation::alltoallw:
      MPI_Neighbor_alltoallw(cells, counts_out_.data(), starts_.data(), types_out_.data(), cells,
                             counts_in_.data(), starts_.data(), types_in_.data(), comm_);
      break;
  }
}

void Exchange::call_nonblocking(int field) {
  double* cells = fields_[field].data();
  MPI_Request* request = &requests_[field];
  switch (operation_) {
    case Operation::allgather:
      MPI_Ineighbor_allgather(out_.data(), block_length_, MPI_DOUBLE, in_.data(), block_length_, MPI_DOUBLE,
                              comm_, request);
      break;
    case Operation::allgatherv:
      MPI_Ineighbor_allgatherv(out_.data(), block_length_, MPI_DOUBLE, in_.data(), counts_in_.data(),
                               places_in_.data(), MPI_DOUBLE, comm_, request);
      break;
    case Operation::alltoall:
      MPI_Ineighbor_alltoall(out_.data(), block_length_, MPI_DOUBLE, in_.data(), block_length_, MPI_DOUBLE,
                             comm_, request);
      break;
    case Operation::alltoallv:
      MPI_Ineighbor_alltoallv(out_.data(), counts_out_.data(), places_out_.data(), MPI_DOUBLE, in_.data(),
                              counts_in_.data(), places_in_.data(), MPI_DOUBLE, comm_, request);
      break;
    case Operation::alltoallw:
      MPI_Ineighbor_alltoallw(cells, counts_out_.data(), starts_.data(), types_out_.data(), cells,
                              counts_in_.data(), starts_.data(), types_in_.data(), comm_, request);
      break;
  }
}

void Exchange::make_requests() {
#if HAS_PERSISTENT_CALLS
  for (int field = 0; field < 2; ++field) {
    double* cells = fields_[field].data();
    MPI_Request* request = &requests_[field];
    switch (operation_) {
      case Operation::allgather:
        MPI_Neighbor_allgather_init(out_.data(), block_length_, MPI_DOUBLE, in_.data(), block_length_,
                                    MPI_DOUBLE, comm_, MPI_INFO_NULL, request);
        break;
      case Operation::allgatherv:
        MPI_Neighbor_allgatherv_init(out_.data(), block_length_, MPI_DOUBLE, in_.data(), counts_in_.data(),
                                     places_in_.data(), MPI_DOUBLE, comm_, MPI_INFO_NULL, request);
        break;
      case Operation::alltoall:
        MPI_Neighbor_alltoall_init(out_.data(), block_length_, MPI_DOUBLE, in_.data(), block_length_,
                                   MPI_DOUBLE, comm_, MPI_INFO_NULL, request);
        break;
      case Operation::alltoallv:
        MPI_Neighbor_alltoallv_init(out_.data(), counts_out_.data(), places_out_.data(), MPI_DOUBLE,
                                    in_.data(), counts_in_.data(), places_in_.data(), MPI_DOUBLE, comm_,
                                    MPI_INFO_NULL, request);
        break;
      case Operation::alltoallw:
        MPI_Neighbor_alltoallw_init(cells, counts_out_.data(), starts_.data(), types_out_.data(), cells,
                                    counts_in_.data(), starts_.data(), types_in_.data(), comm_, MPI_INFO_NULL,
                                    request);
        break;
    }
  }
#endif
}

void Exchange::start(int field) {
  pack(field);
  if (call_ == Call::blocking) {
    call_blocking(field);
  } else if (call_ == Call::nonblocking) {
    call_nonblocking(field);
  } else {
    MPI_Start(&requests_[field]);
  }
}

void Exchange::finish(int field) {
  if (call_ != Call::blocking) MPI_Wait(&requests_[field], MPI_STATUS_IGNORE);
  unpack(field);
}

}  // namespace stencil
