// SPDX-License-Identifier: BSD-3-Clause
// Ways to get the rows of B that a rank's stripe of A needs.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "stripes.h"

namespace spmm {

// Which rows of B this rank needs and does not have, by the ranks that have them, and who needs what of it.
struct Needs {
  // Ranks that have rows which this one needs, in order. Of each: which rows of B.
  std::vector<int> sources;
  std::vector<std::vector<int>> wanted;
  // Ranks that need rows of this one, in order. Of each: which rows of B.
  std::vector<int> destinations;
  std::vector<std::vector<int>> wanted_here;
};

Needs find_needs(const SparseMatrix& stripe_of_a, const Stripes& stripes_of_b, MPI_Comm comm);

// One way, ready for calls with up to `width` columns at once. A row of B is `width` numbers side by side.
class Gather {
 public:
  virtual ~Gather() = default;
  Gather(const Gather&) = delete;
  Gather& operator=(const Gather&) = delete;

  // Of this rank's stripe, which the caller fills.
  double* stripe() { return stripe_.data(); }

  // Collective; all ranks have the same width.
  virtual void run(int width) = 0;

  // Where the rows of B are after run(): row g begins at gathered() + place(g) * width. Only of rows that
  // this rank's stripe of A needs.
  const double* gathered() const { return gathered_.data(); }
  int place(int row) const { return places_[static_cast<std::size_t>(row)]; }

 protected:
  Gather(const Stripes& stripes, int rows, int own_rows, int width);

  const Stripes& stripes_;
  int own_rows_;
  std::vector<double> stripe_;
  std::vector<double> gathered_;
  std::vector<int> places_;
};

struct Setting {
  MPI_Comm comm;
  const Stripes* stripes;
  int rows;  // of B
  int width;
  const Needs* needs;
};

struct NamedGather {
  std::string_view name;
  std::function<std::unique_ptr<Gather>(const Setting&)> make;
  std::string_view about;
};

const std::vector<NamedGather>& gathers();

}  // namespace spmm
