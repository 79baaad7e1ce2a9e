// SPDX-License-Identifier: BSD-3-Clause
// Sparse matrix times dense matrix, both in stripes of rows, with several ways to get the rows that are
// needed.
#include <algorithm>
#include <climits>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>

#include "options.h"
#include "product.h"

namespace {

constexpr int exit_passed = 0;
constexpr int exit_wrong = 1;
constexpr int exit_usage = 2;

using spmm::Options;
using spmm::Outcome;

spmm::SparseMatrix made_matrix(const Options& options) {
  switch (options.source) {
    case Options::Source::random:
      return spmm::random_matrix(options.rows, options.density, options.seed);
    case Options::Source::banded:
      return spmm::banded_matrix(options.rows, options.width, options.seed);
    case Options::Source::stencil:
      return spmm::stencil_matrix(options.rows, options.width, options.seed);
    case Options::Source::file:
      break;
  }
  return spmm::read_matrix_market(options.matrix_path);
}

// What is wrong with this matrix for so many ranks; empty: nothing.
std::string objection(const spmm::SparseMatrix& matrix, const Options& options, int ranks) {
  const int rows = std::min(matrix.rows, matrix.columns);
  const std::string sizes = std::to_string(matrix.rows) + " x " + std::to_string(matrix.columns);
  if (ranks > rows) {
    return "there are " + std::to_string(ranks) + " ranks for a matrix of " + sizes +
           ": start at most one for each row";
  }
  if (options.is_squared && matrix.rows != matrix.columns) return "--square: the matrix is " + sizes;
  if (matrix.elements() > INT_MAX) return "the matrix has more than 2147483647 elements";
  return "";
}

// Rank 0 makes or reads the matrix. What is wrong with it ends all ranks.
spmm::SparseMatrix agreed_matrix(const Options& options, int rank, int ranks) {
  spmm::SparseMatrix matrix;
  std::string wrong;
  if (rank == 0) {
    try {
      matrix = made_matrix(options);
      wrong = objection(matrix, options, ranks);
    } catch (const std::exception& error) {
      wrong = error.what();
    }
  }
  int is_wrong = !wrong.empty();
  MPI_Bcast(&is_wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (is_wrong) throw std::invalid_argument(wrong);
  return matrix;
}

void print_outcome(const Outcome& outcome) {
  std::printf("%-20s %6.1f %4d %6lld %10.3f %10.1f %10.1f\n", outcome.gather->name.data(),
              outcome.mean_sources, outcome.most_sources, outcome.calls, outcome.setup_s * 1e3,
              outcome.gather_s * 1e6, outcome.product_s * 1e6);
}

void write_json(const std::string& path, const spmm::SparseMatrix& matrix, const spmm::Problem& problem,
                int ranks, const std::vector<Outcome>& outcomes) {
  std::ofstream file(path);
  file << "{\"program\": \"spmm\", \"ranks\": " << ranks << ", \"rows\": " << matrix.rows
       << ", \"inner\": " << matrix.columns << ", \"columns\": " << problem.columns()
       << ", \"elements\": " << matrix.elements() << ", \"products\": [";
  for (const Outcome& outcome : outcomes) {
    file << (&outcome == outcomes.data() ? "" : ",") << "\n  {\"gather\": \"" << outcome.gather->name
         << "\", \"digest\": \"" << std::hex << outcome.digest << std::dec
         << "\", \"wrong\": " << outcome.wrong << ", \"mean_sources\": " << outcome.mean_sources
         << ", \"most_sources\": " << outcome.most_sources << ", \"calls\": " << outcome.calls
         << ", \"setup_s\": " << outcome.setup_s << ", \"gather_s\": " << outcome.gather_s
         << ", \"product_s\": " << outcome.product_s << "}";
  }
  file << "\n]}\n";
  if (!file.flush()) throw std::runtime_error(path + ": the file cannot be written");
}

int run(const Options& options, int rank, int ranks) {
  if (options.is_help_wanted) {
    if (rank == 0) std::fputs(spmm::help_text().c_str(), stdout);
    return exit_passed;
  }
  spmm::SparseMatrix matrix = agreed_matrix(options, rank, ranks);
  spmm::Problem problem(matrix, options, MPI_COMM_WORLD);
  const bool is_speaking = rank == 0 && !options.is_quiet;
  if (is_speaking) {
    std::printf("spmm: %d x %d with %lld elements, times %d columns, %d at once; %d ranks\n", matrix.rows,
                matrix.columns, static_cast<long long>(matrix.elements()), problem.columns(), options.at_once,
                ranks);
    std::printf("%-20s %6s %4s %6s %10s %10s %10s\n", "rows of B by", "mean", "most", "calls", "set-up ms",
                "gather us", "product us");
  }
  std::vector<Outcome> outcomes;
  bool is_right = true;
  for (const spmm::NamedGather* gather : options.gathers) {
    outcomes.push_back(problem.multiply(*gather, options.repeat));
    if (is_speaking) print_outcome(outcomes.back());
    if (outcomes.back().wrong == 0) continue;
    is_right = false;
    if (rank == 0) {
      std::fprintf(stderr, "spmm: %lld elements by %s are wrong\n", outcomes.back().wrong,
                   gather->name.data());
    }
  }
  if (is_speaking) std::printf("digest of the product: %016llx\n", outcomes.back().digest);
  if (rank == 0 && !options.json_path.empty()) {
    write_json(options.json_path, matrix, problem, ranks, outcomes);
  }
  if (!options.output_path.empty()) problem.write(options.output_path);
  return is_right ? exit_passed : exit_wrong;
}

}  // namespace

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  int rank = 0, ranks = 1, code = exit_passed;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    code = run(spmm::parse_options(argument_count, arguments), rank, ranks);
  } catch (const std::invalid_argument& error) {
    // All ranks are here.
    if (rank == 0) std::fprintf(stderr, "spmm: %s\n", error.what());
    code = exit_usage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "spmm: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, exit_usage);
  }
  MPI_Finalize();
  return code;
}
