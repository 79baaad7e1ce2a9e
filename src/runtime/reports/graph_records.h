// SPDX-License-Identifier: BSD-3-Clause
// Who sends to whom in collectives of neighbours: as each rank knows it, and as the report says it of whole
// communicators.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/wire.h"
#include "runtime/communicators/communicator.h"

namespace unisono::runtime {

// A rank's neighbours on one communicator; those that are not there (MPI_PROC_NULL) are left out.
struct GraphRecord {
  int communicator = -1;
  int first = 0;  // its rank 0, as a rank of the job: tells communicators of one split apart
  std::string layout;
  int size = 1, rank = 0;
  std::uint64_t ins = 0, outs = 0;
  std::vector<int> destinations;  // empty where there are too many
  bool operator==(const GraphRecord&) const = default;

  static constexpr std::size_t most = 16;           // of a rank
  static constexpr std::size_t most_listed = 4096;  // destinations
};

// Nothing where the communicator's graph is not known.
std::optional<GraphRecord> graph_record(const Communicator& c);

void write(WireWriter* writer, const GraphRecord& record);
GraphRecord read_graph(WireReader* reader);

// Of all ranks of a communicator. Degrees: how many ranks have so many neighbours.
struct JobGraph {
  int communicator = -1, ranks = 1;
  std::string layout;
  std::uint64_t edges = 0;
  std::vector<std::pair<int, int>> listed;  // sender and receiver; empty where there are too many
  std::map<std::uint64_t, std::uint64_t> out_degrees, in_degrees;
  bool is_listed() const { return listed.size() == edges; }
};

class GraphsOfRanks {
 public:
  // What one rank has told, as its communicators ended. A number is given again when a communicator is freed:
  // on all its ranks the k-th one of a number is the same.
  void add(const std::vector<GraphRecord>& of_rank);
  // Those of which all ranks have told. Where several have one number, all but the first one get numbers that
  // none has.
  std::vector<JobGraph> joined() const;

 private:
  static constexpr std::uint64_t most_edges = 200'000;  // that the report lists, of a graph
  struct Sum {
    JobGraph graph;
    int ranks_told = 0;
  };
  static void add(Sum* sum, const GraphRecord& record);
  std::map<std::tuple<int, int, int>, Sum> graphs_;  // by number, first rank, and which one of these
};

}  // namespace unisono::runtime
