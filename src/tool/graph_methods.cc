// SPDX-License-Identifier: BSD-3-Clause
#include "tool/graph_methods.h"

#include <time.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/near_names.h"
#include "patterns/grown_groups.h"
#include "patterns/numbers.h"

namespace unisono::tool {
namespace {

using patterns::Combining;
using patterns::MeshOf;
using patterns::Scope;
using patterns::VirtualMesh;

constexpr std::int64_t smallest_block = 8;

double core_us() {
  constexpr double us_per_s = 1e6, ns_per_us = 1e3;
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * us_per_s + static_cast<double>(now.tv_nsec) / ns_per_us;
}

double edges_of(const GraphQuestion& question) {
  double edges = 0;
  for (const auto& own : question.destinations) edges += static_cast<double>(own.size());
  return edges;
}

double per_rank(const GraphQuestion& question, double all) {
  return all / static_cast<double>(question.destinations.size());
}

double linear_us(const GraphQuestion& question) {
  return time_us(patterns::linear_traffic(question.graph.neighborhood, question.graph.layout), question.costs,
                 smallest_block);
}

// `before`: when the work began that each node does for itself, of which all nodes' was done here.
double setup_of_nodes(const GraphQuestion& question, double before) {
  return (core_us() - before) / question.graph.layout.nodes() + question.costs.agreement_us;
}

// Until a message between nodes is there that somebody waits for.
double round_us(const GraphQuestion& question) {
  return question.costs.between_latency_us + 2 * question.costs.message_us;
}

// All ranks are told of all edges, in two allgathers by Bruck's algorithm (runtime/engines/whole_graph.h):
// how many each has, and which. A node's network card brings them to each of its ranks.
double whole_graph_us(const GraphQuestion& question) {
  const auto& [neighborhood, layout, text, extents] = question.graph;
  if (layout.nodes() == 1) return 0;
  const double bytes = sizeof(std::int64_t) * (edges_of(question) + layout.size());
  std::size_t most_ranks = 0;
  for (const std::vector<int>& ranks : layout.ranks_of) most_ranks = std::max(most_ranks, ranks.size());
  return 2 * patterns::ceil_log2(layout.size()) * round_us(question) +
         bytes * static_cast<double>(most_ranks) * question.costs.between_us_per_byte;
}

Measured linear(const GraphQuestion& question) {
  return Measured(patterns::linear_traffic(question.graph.neighborhood, question.graph.layout));
}

Measured bundles(const GraphQuestion& question) {
  const double before = core_us();
  const auto& [neighborhood, layout, text, extents] = question.graph;
  Measured measured(
      patterns::bundle_traffic(neighborhood, layout, question.has_one_block, question.progress));
  measured.setup_us = setup_of_nodes(question, before);
  // Both nodes know the blocks of a bundle.
  measured.setup_bytes =
      per_rank(question, 2.0 * sizeof(patterns::BlockOnWay) * static_cast<double>(measured.traffic.blocks()) +
                             2.0 * sizeof(patterns::Neighbor) * edges_of(question));
  return measured;
}

Measured once(const GraphQuestion& question) {
  const double before = core_us();
  Measured measured(
      patterns::once_traffic(question.destinations, question.graph.neighborhood, question.graph.layout));
  measured.setup_us = setup_of_nodes(question, before);
  measured.setup_bytes = per_rank(question, 2.0 * sizeof(patterns::Neighbor) * edges_of(question));
  return measured;
}

Measured over_mesh(const GraphQuestion& question, const VirtualMesh& mesh, MeshOf of) {
  const double before = core_us();
  Measured measured(patterns::mesh_traffic(question.destinations, question.graph.neighborhood,
                                           question.graph.layout, mesh, of));
  // Who passes a block on finds out by himself, as soon as he knows the graph.
  measured.setup_us = setup_of_nodes(question, before) + whole_graph_us(question);
  measured.setup_bytes =
      per_rank(question, 2.0 * sizeof(patterns::Hop) * static_cast<double>(measured.traffic.blocks())) +
      sizeof(patterns::Neighbor) * edges_of(question);
  return measured;
}

// Of the groups with the blocks that they leave. The lists of neighbours are exchanged. In each step those
// who get blocks are told, after the rounds of requests (algorithm 7.1, lines 21 and 30).
double setup_of_groups(const GraphQuestion& question, const patterns::Grouping& grouping, double core) {
  const double notices = linear_us(question);
  const auto steps = static_cast<double>(grouping.steps.size());
  return core + whole_graph_us(question) + 2 * notices +
         steps * (notices + round_us(question) * std::max(grouping.request_rounds, 1));
}

double bytes_of(const patterns::Grouping& grouping) {
  double numbers = 0;
  for (const auto& groups : grouping.steps) {
    for (const patterns::Group& group : groups)
      numbers +=
          static_cast<double>(group.members.size() * (group.members.size() + group.destinations.size()));
  }
  return numbers * sizeof(int) + static_cast<double>(grouping.bytes);
}

void count_groups(const GraphQuestion& question, const patterns::GroupOptions& options, Measured* measured) {
  const auto counted = patterns::count_hyperedges(question.destinations, question.graph.layout, options);
  measured->hyperedges = counted.per_rank;
  measured->are_all_counted = counted.is_complete;
}

// Groups are counted, and none is used.
Measured count(const GraphQuestion& question, int size, Scope scope) {
  Measured measured = linear(question);
  patterns::GroupOptions options{.size = size, .scope = scope, .progress = question.progress};
  options.most_steps = question.most_steps;
  count_groups(question, options, &measured);
  return measured;
}

Measured friends(const GraphQuestion& question, int size, Scope scope, Combining combining) {
  patterns::GroupOptions options{
      .size = size, .scope = scope, .combining = combining, .progress = question.progress};
  options.most_steps = question.most_steps;
  const auto& layout = question.graph.layout;
  const double before = core_us();
  patterns::Grouping grouping = patterns::friend_groups(question.destinations, layout, options);
  std::string problem;
  if (!grouping.problem.empty() && combining == Combining::once) {
    problem = grouping.problem + ": groups are grown one friend after the other";
    grouping = patterns::grown_groups(question.destinations, layout,
                                      {.most_members = size, .scope = scope, .progress = question.progress});
  }
  const double core = core_us() - before;
  Measured measured(patterns::group_traffic(grouping, question.destinations, layout, combining));
  measured.setup_us = setup_of_groups(question, grouping, per_rank(question, core));
  measured.setup_bytes = per_rank(question, bytes_of(grouping));
  measured.request_rounds = grouping.request_rounds;
  measured.problem = problem.empty() ? grouping.problem : problem;
  if (question.counts_hyperedges) {
    options.progress = nullptr;
    count_groups(question, options, &measured);
  }
  return measured;
}

Measured grown(const GraphQuestion& question, int most_members, Scope scope,
               patterns::Candidates candidates) {
  const auto& layout = question.graph.layout;
  const double before = core_us();
  const patterns::Grouping grouping = patterns::grown_groups(question.destinations, layout,
                                                             {.most_members = most_members,
                                                              .scope = scope,
                                                              .candidates = candidates,
                                                              .progress = question.progress});
  const double core = core_us() - before;
  Measured measured(patterns::group_traffic(grouping, question.destinations, layout, Combining::once));
  // Inside a node one core does it for all, from the node's own lists.
  const double share = scope == Scope::node ? core / layout.nodes() : per_rank(question, core);
  measured.setup_us = setup_of_groups(question, grouping, share);
  measured.setup_bytes = per_rank(question, bytes_of(grouping));
  return measured;
}

// What stands in brackets: "k=2,scope=all".
class Settings {
 public:
  Settings(const std::string& text, const std::string& method) : method_(method) {
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const std::string one = text.substr(begin, end - begin);
      const std::size_t equals = std::min(one.find('='), one.size());
      values_[one.substr(0, equals)] = equals == one.size() ? "" : one.substr(equals + 1);
      begin = end + 1;
    }
  }
  std::string take(const std::string& name, const std::string& otherwise) {
    const auto found = values_.find(name);
    if (found == values_.end()) return otherwise;
    std::string value = found->second;
    values_.erase(found);
    return value;
  }
  std::string one_of(const std::string& name, const std::vector<std::string>& allowed) {
    std::string value = take(name, allowed.front());
    if (std::ranges::find(allowed, value) != allowed.end()) return value;
    throw UsageError(method_ + ": '" + value + "' is no " + name + "; write " + name + "=" + allowed[0] +
                     " or " + allowed[1]);
  }
  Scope scope() { return one_of("scope", {"node", "all"}) == "all" ? Scope::all : Scope::node; }
  void end() const {
    if (!values_.empty()) throw UsageError(method_ + " takes no setting '" + values_.begin()->first + "'");
  }

 private:
  std::string method_;
  std::map<std::string, std::string> values_;
};

VirtualMesh mesh_from(const std::string& text, int points, const std::string& method) {
  if (text == "2") return VirtualMesh::of_twos(points);
  std::vector<int> lengths;
  std::int64_t places = 1;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    lengths.push_back(
        static_cast<int>(number_from(text.substr(begin, end - begin), 1, points, method + ": a length")));
    places = std::min<std::int64_t>(places * lengths.back(), std::int64_t{1} << 30);
    begin = end + 1;
  }
  if (places < points)
    throw UsageError(method + ": a mesh of " + text + " has fewer than " + std::to_string(points) +
                     " places");
  return {lengths, points};
}

GraphMethod mesh_method(const std::string& text, Settings* settings, const GraphQuestion& question) {
  const MeshOf of = settings->one_of("of", {"nodes", "ranks"}) == "ranks" ? MeshOf::ranks : MeshOf::nodes;
  const auto& layout = question.graph.layout;
  const int points = of == MeshOf::ranks ? layout.size() : layout.nodes();
  const VirtualMesh mesh = mesh_from(settings->take("lengths", "2"), points, text);
  return {text, [mesh, of](const GraphQuestion& asked) { return over_mesh(asked, mesh, of); }};
}

GraphMethod group_method(const std::string& text, const std::string& name, Settings* settings) {
  const Scope scope = settings->scope();
  if (name == "cumulative")
    return {text,
            [scope](const GraphQuestion& asked) { return friends(asked, 2, scope, Combining::cumulative); }};
  constexpr int most = 64;
  const auto size =
      static_cast<int>(number_from(settings->take("k", name == "grown" ? "16" : "2"), 2, most, text + ": k"));
  if (name == "count") return {text, [=](const GraphQuestion& asked) { return count(asked, size, scope); }};
  if (name == "friends")
    return {text, [size, scope](const GraphQuestion& asked) {
              return friends(asked, size, scope, Combining::once);
            }};
  const auto candidates = settings->one_of("candidates", {"all", "hashed"}) == "hashed"
                              ? patterns::Candidates::hashed
                              : patterns::Candidates::all;
  return {text, [=](const GraphQuestion& asked) { return grown(asked, size, scope, candidates); }};
}

// As near to each other as their product allows, or larger where the number has no such factors.
std::string even_mesh(int points, int dimensions) {
  int length = 1;
  const auto places = [&] {
    std::int64_t product = 1;
    for (int i = 0; i < dimensions; ++i) product *= length;
    return product;
  };
  while (places() < points) ++length;
  return VirtualMesh(std::vector<int>(static_cast<std::size_t>(dimensions), length), points).text();
}

}  // namespace

GraphMethod method_from(const std::string& text, const GraphQuestion& question) {
  const std::size_t bracket = std::min(text.find('('), text.size());
  const std::string name = text.substr(0, bracket);
  const bool has_end = bracket == text.size() || text.back() == ')';
  const std::vector<std::string> names = {"linear",  "bundles", "once",       "mesh",
                                          "friends", "grown",   "cumulative", "count"};
  if (!has_end || std::ranges::find(names, name) == names.end()) {
    std::string known;
    for (const std::string& one : names) known += (known.empty() ? "" : ", ") + one;
    throw UsageError("there is no method '" + text + "'" + did_you_mean(name, names) + "; there are " +
                     known);
  }
  if (!question.has_one_block && name != "linear" && name != "bundles")
    throw UsageError(name + " is for blocks that all neighbours get, as in neighbor_allgather");
  Settings settings(bracket == text.size() ? "" : text.substr(bracket + 1, text.size() - bracket - 2), name);
  GraphMethod method;
  if (name == "linear") method = {text, linear};
  if (name == "bundles") method = {text, bundles};
  if (name == "once") method = {text, once};
  if (name == "mesh") method = mesh_method(text, &settings, question);
  if (name == "friends" || name == "grown" || name == "cumulative" || name == "count")
    method = group_method(text, name, &settings);
  settings.end();
  return method;
}

std::vector<std::string> standard_methods(const GraphQuestion& question) {
  std::vector<std::string> names = {"linear", "bundles"};
  if (!question.has_one_block) return names;
  names.emplace_back("once");
  const auto& [neighborhood, layout, text, extents] = question.graph;
  constexpr double many_edges = 2e6;  // for what takes each edge several times
  if (edges_of(question) > many_edges) {
    if (layout.nodes() < layout.size()) names.emplace_back("grown");
    return names;
  }
  constexpr int few_ranks = 4, least_for_two = 4, least_for_more = 8;
  if (layout.nodes() >= least_for_two) names.push_back("mesh(lengths=" + even_mesh(layout.nodes(), 2) + ")");
  if (layout.nodes() > least_for_more) {
    names.push_back("mesh(lengths=" + even_mesh(layout.nodes(), 3) + ")");
    names.emplace_back("mesh(lengths=2)");
  }
  if (extents.size() > 1) {
    const std::string lengths = VirtualMesh(extents, layout.size()).text();
    names.push_back("mesh(of=ranks,lengths=" + lengths + ")");
  }
  if (layout.size() <= few_ranks * layout.nodes()) names.emplace_back("mesh(of=ranks,lengths=2)");
  if (layout.nodes() < layout.size()) {
    names.insert(names.end(), {"friends(k=2)", "friends(k=3)", "friends(k=4)", "grown", "cumulative"});
  }
  return names;
}

}  // namespace unisono::tool
