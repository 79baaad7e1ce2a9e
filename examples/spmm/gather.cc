// SPDX-License-Identifier: BSD-3-Clause
#include "gather.h"

#include <algorithm>
#include <climits>
#include <numeric>
#include <stdexcept>

namespace spmm {
namespace {

// Open MPI 4 refuses the null pointer that an empty vector may have, also where a rank has no neighbors.
std::vector<int> with_address(std::vector<int> numbers) {
  numbers.reserve(1);
  return numbers;
}

// Where blocks of these sizes begin, one after the other.
std::vector<int> places_of(const std::vector<int>& counts) {
  std::vector<int> places = with_address(std::vector<int>(counts.size()));
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  return places;
}

std::vector<int> times(std::vector<int> numbers, int factor) {
  for (int& number : numbers) number *= factor;
  return with_address(std::move(numbers));
}

// Blocks of all ranks, each as long as the longest.
class AllEven : public Gather {
 public:
  explicit AllEven(const Setting& setting)
      : Gather(*setting.stripes, setting.rows, setting.stripes->most(), setting.width), comm_(setting.comm) {
    gathered_.resize(stripe_.size() * static_cast<std::size_t>(ranks_of(comm_)));
    for (int row = 0; row < setting.rows; ++row) {
      const int owner = stripes_.owner(row);
      places_[row] = owner * stripes_.most() + row - stripes_.first(owner);
    }
  }

  void run(int width) override {
    const int count = stripes_.most() * width;
    MPI_Allgather(stripe_.data(), count, MPI_DOUBLE, gathered_.data(), count, MPI_DOUBLE, comm_);
  }

 private:
  MPI_Comm comm_;
};

// Blocks of all ranks, as long as they are.
class AllUneven : public Gather {
 public:
  explicit AllUneven(const Setting& setting)
      : Gather(*setting.stripes, setting.rows, setting.stripes->count(rank_in(setting.comm)), setting.width),
        comm_(setting.comm) {
    gathered_.resize(static_cast<std::size_t>(setting.rows) * setting.width);
    std::iota(places_.begin(), places_.end(), 0);
    for (int other = 0; other < ranks_of(comm_); ++other) counts_.push_back(stripes_.count(other));
  }

  void run(int width) override {
    const std::vector<int> counts = times(counts_, width), places = places_of(counts);
    MPI_Allgatherv(stripe_.data(), own_rows_ * width, MPI_DOUBLE, gathered_.data(), counts.data(),
                   places.data(), MPI_DOUBLE, comm_);
  }

 private:
  MPI_Comm comm_;
  std::vector<int> counts_;
};

// Of neighbours alone: those that have what is needed. The rank's own rows lie behind what comes from them.
class OfNeighbors : public Gather {
 public:
  ~OfNeighbors() override { MPI_Comm_free(&graph_); }

 protected:
  OfNeighbors(const Setting& setting, int own_rows)
      : Gather(*setting.stripes, setting.rows, own_rows, setting.width),
        needs_(*setting.needs),
        rank_(rank_in(setting.comm)) {
    MPI_Dist_graph_create_adjacent(setting.comm, static_cast<int>(needs_.sources.size()),
                                   needs_.sources.data(), MPI_UNWEIGHTED,
                                   static_cast<int>(needs_.destinations.size()), needs_.destinations.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_);
  }

  // Makes room for so many rows of others and for the own ones.
  void make_room(int rows_of_others, int width) {
    behind_ = rows_of_others;
    const int own = stripes_.count(rank_);
    gathered_.resize((static_cast<std::size_t>(behind_) + own) * width);
    for (int i = 0; i < own; ++i) places_[stripes_.first(rank_) + i] = behind_ + i;
  }

  void copy_own_rows(int width) {
    std::copy_n(stripe_.data(), static_cast<std::size_t>(stripes_.count(rank_)) * width,
                gathered_.data() + static_cast<std::size_t>(behind_) * width);
  }

  const Needs& needs_;
  int rank_;
  MPI_Comm graph_ = MPI_COMM_NULL;

 private:
  int behind_ = 0;
};

class NeighborsEven : public OfNeighbors {
 public:
  explicit NeighborsEven(const Setting& setting) : OfNeighbors(setting, setting.stripes->most()) {
    const int most = stripes_.most(), degree = static_cast<int>(needs_.sources.size());
    make_room(degree * most, setting.width);
    for (int i = 0; i < degree; ++i) {
      const int source = needs_.sources[i];
      for (int row : needs_.wanted[i]) places_[row] = i * most + row - stripes_.first(source);
    }
  }

  void run(int width) override {
    const int count = stripes_.most() * width;
    MPI_Neighbor_allgather(stripe_.data(), count, MPI_DOUBLE, gathered_.data(), count, MPI_DOUBLE, graph_);
    copy_own_rows(width);
  }
};

class NeighborsUneven : public OfNeighbors {
 public:
  explicit NeighborsUneven(const Setting& setting)
      : OfNeighbors(setting, setting.stripes->count(rank_in(setting.comm))) {
    for (int source : needs_.sources) counts_.push_back(stripes_.count(source));
    const std::vector<int> places = places_of(counts_);
    make_room(std::accumulate(counts_.begin(), counts_.end(), 0), setting.width);
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      for (int row : needs_.wanted[i]) places_[row] = places[i] + row - stripes_.first(needs_.sources[i]);
    }
  }

  void run(int width) override {
    const std::vector<int> counts = times(counts_, width), places = places_of(counts);
    MPI_Neighbor_allgatherv(stripe_.data(), own_rows_ * width, MPI_DOUBLE, gathered_.data(), counts.data(),
                            places.data(), MPI_DOUBLE, graph_);
    copy_own_rows(width);
  }

 private:
  std::vector<int> counts_;
};

// Each neighbour sends only the rows that are needed, packed.
class NeededRows : public OfNeighbors {
 public:
  explicit NeededRows(const Setting& setting)
      : OfNeighbors(setting, setting.stripes->count(rank_in(setting.comm))) {
    int place = 0;
    for (const std::vector<int>& rows : needs_.wanted) {
      counts_.push_back(static_cast<int>(rows.size()));
      for (int row : rows) places_[row] = place++;
    }
    for (const std::vector<int>& rows : needs_.wanted_here) {
      counts_out_.push_back(static_cast<int>(rows.size()));
      for (int row : rows) packed_rows_.push_back(row - stripes_.first(rank_));
    }
    make_room(place, setting.width);
    packed_.resize(packed_rows_.size() * static_cast<std::size_t>(setting.width));
  }

  void run(int width) override {
    double* to = packed_.data();
    for (int row : packed_rows_) {
      to = std::copy_n(stripe_.data() + static_cast<std::size_t>(row) * width, width, to);
    }
    const std::vector<int> counts = times(counts_, width), places = places_of(counts);
    const std::vector<int> counts_out = times(counts_out_, width), places_out = places_of(counts_out);
    MPI_Neighbor_alltoallv(packed_.data(), counts_out.data(), places_out.data(), MPI_DOUBLE, gathered_.data(),
                           counts.data(), places.data(), MPI_DOUBLE, graph_);
    copy_own_rows(width);
  }

 private:
  std::vector<int> counts_, counts_out_, packed_rows_;
  std::vector<double> packed_;
};

template <typename Kind>
std::unique_ptr<Gather> made(const Setting& setting) {
  return std::make_unique<Kind>(setting);
}

}  // namespace

Gather::Gather(const Stripes& stripes, int rows, int own_rows, int width)
    : stripes_(stripes),
      own_rows_(own_rows),
      stripe_(static_cast<std::size_t>(own_rows) * width),
      places_(static_cast<std::size_t>(rows), 0) {
  if ((static_cast<double>(rows) + 64.0 * stripes.most()) * width > INT_MAX) {
    throw std::invalid_argument("--at-once: so many columns are too much for one call");
  }
}

Needs find_needs(const SparseMatrix& stripe_of_a, const Stripes& stripes_of_b, MPI_Comm comm) {
  const int rank = rank_in(comm), ranks = ranks_of(comm);
  std::vector<int> rows = stripe_of_a.column_of;
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  std::erase_if(rows, [&](int row) { return stripes_of_b.owner(row) == rank; });
  std::vector<int> counts(static_cast<std::size_t>(ranks)), counts_here(counts);
  for (int row : rows) ++counts[stripes_of_b.owner(row)];
  MPI_Alltoall(counts.data(), 1, MPI_INT, counts_here.data(), 1, MPI_INT, comm);
  const std::vector<int> places = places_of(counts), places_here = places_of(counts_here);
  std::vector<int> rows_here(static_cast<std::size_t>(places_here.back() + counts_here.back()));
  MPI_Alltoallv(rows.data(), counts.data(), places.data(), MPI_INT, rows_here.data(), counts_here.data(),
                places_here.data(), MPI_INT, comm);
  Needs needs;
  for (int other = 0; other < ranks; ++other) {
    if (counts[other] > 0) {
      needs.sources.push_back(other);
      needs.wanted.emplace_back(rows.begin() + places[other], rows.begin() + places[other] + counts[other]);
    }
    if (counts_here[other] > 0) {
      const auto first = rows_here.begin() + places_here[other];
      needs.destinations.push_back(other);
      needs.wanted_here.emplace_back(first, first + counts_here[other]);
    }
  }
  return needs;
}

const std::vector<NamedGather>& gathers() {
  static const std::vector<NamedGather> all = {
      {"allgather", made<AllEven>, "all rows from all ranks, stripes filled up to one length"},
      {"allgatherv", made<AllUneven>, "all rows from all ranks"},
      {"neighbor_allgather", made<NeighborsEven>, "stripes of the ranks that have a row which is needed"},
      {"neighbor_allgatherv", made<NeighborsUneven>, "the same, stripes as long as they are"},
      {"neighbor_alltoallv", made<NeededRows>, "only the rows that are needed, packed"},
  };
  return all;
}

}  // namespace spmm
