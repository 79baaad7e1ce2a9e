// SPDX-License-Identifier: BSD-3-Clause
// Option 'domains' from MPI_Init to the report: what is forced, pretended, found and refused.
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "program.h"
#include "runtime/world/found_domains.h"

namespace unisono::runtime::domains_test {
namespace {

using shm::in_no_part;
using shm::PartNumbers;

patterns::Layout divided(const std::vector<int>& nodes, const std::vector<PartNumbers>& parts) {
  patterns::Layout layout = patterns::Layout::from_labels(nodes);
  layout.divide(domains_of_parts(parts, nodes));
  return layout;
}

TEST(DomainsOfParts, ANodeIsDividedByWhatItsRanksAreIn) {
  const std::vector<int> one(8, 0);
  const auto on = [](int core) {
    const auto number = [core](int cores) { return static_cast<std::int16_t>(core / cores); };
    return PartNumbers{number(4), number(4), number(2)};
  };
  std::vector<PartNumbers> parts;
  for (int core = 0; core < 8; ++core) parts.push_back(on(core));
  const patterns::Layout layout = divided(one, parts);
  EXPECT_EQ(layout.text(), "1x2x2x2");
  EXPECT_EQ(layout.domains->levels[0].kind, patterns::DomainKind::socket);
  EXPECT_EQ(layout.domains->levels[1].kind, patterns::DomainKind::cache);
}

TEST(DomainsOfParts, ANodeIsDividedAsFarAsAllOfItsRanksAreInOnePart) {
  const std::vector<int> nodes{0, 0, 0, 0, 1, 1, 1, 1};
  const std::vector<PartNumbers> of_first{{0, 0, 0}, {0, 0, 1}, {1, 1, 2}, {1, 1, 3}};
  std::vector<PartNumbers> parts = of_first;
  parts.insert(parts.end(), of_first.begin(), of_first.end());
  EXPECT_EQ(divided(nodes, parts).text(), "2x2x2");  // a rank on each cache
  parts[1][2] = -1;
  EXPECT_EQ(divided(nodes, parts).text(), "2x2x2");
  parts[1] = {0, -1, -1};
  EXPECT_EQ(divided(nodes, parts).text(), "2x2x2");
  parts[1] = in_no_part;
  EXPECT_EQ(divided(nodes, parts).text(), "4,2+2");
  parts.assign(8, in_no_part);
  EXPECT_EQ(divided(nodes, parts).domains, nullptr);
}

class DomainsTest : public ReportedTest {
 protected:
  // A barrier of all ranks and one of every second.
  Json run(int ranks, const std::string& domains, const std::string& nodes = "") {
    options_.domains = domains;
    options_.nodes = nodes;
    run_jobs(ranks, [](Job& job, FakeHost& host, int rank) {
      int error = 0;
      EXPECT_EQ(job.collective({.operation = Operation::barrier, .comm = host.world()}, &error),
                Outcome::done);
      host::Comm half{};
      host.comm_split(host.world(), rank % 2, rank, &half);
      EXPECT_EQ(job.collective({.operation = Operation::barrier, .comm = half}, &error), Outcome::done);
      host.comm_free(&half);
    });
    return report();
  }

  using Layouts = std::set<std::string>;
  static Layouts layouts(const Json& report) {
    Layouts found;
    for (const auto& entry : report["classes"]) found.insert(entry["layout"].get<std::string>());
    return found;
  }
};

TEST_F(DomainsTest, AreForcedOnEachNode) {
  const Json report = run(8, "2x2x2");
  EXPECT_EQ(layouts(report), (Layouts{"1x2x2x2", "1x2x2"})) << report;
  const auto levels =
      Json::array({{{"kind", "numa"}, {"ranks", {4, 4}}}, {{"kind", "cache"}, {"ranks", {2, 2, 2, 2}}}});
  EXPECT_EQ(report["nodes"][0]["domains"], levels);
  EXPECT_TRUE(report["warnings"].empty()) << report["warnings"];
  EXPECT_EQ(layouts(run(8, "1+3", "2x4")), (Layouts{"2x(1+3)", "2x2"}));
}

TEST_F(DomainsTest, ArePretendedWithNodes) {
  const Json report = run(8, "auto", "2x2x2");
  EXPECT_EQ(layouts(report), (Layouts{"2x2x2", "2x2"})) << report;
  EXPECT_EQ(report["nodes"][1]["domains"], Json::array({{{"kind", "numa"}, {"ranks", {2, 2}}}}));
  const Json off = run(8, "off", "2x2x2");
  EXPECT_EQ(layouts(off), (Layouts{"2x4", "2x2"})) << off;
  EXPECT_FALSE(off["nodes"][0].contains("domains"));
}

TEST_F(DomainsTest, ThatDoNotFitAreRefusedWithAWarning) {
  const Json report = run(8, "2x2");
  EXPECT_EQ(layouts(report), (Layouts{"8", "4"}));
  EXPECT_EQ(report["warnings"],
            Json::array({"option domains '2x2' is ignored: it holds 4 ranks, a node has 8"}));
  EXPECT_EQ(run(4, "two")["warnings"].front().get<std::string>().rfind(
                "option domains 'two' is ignored: it is no", 0),
            0u);
}

// These ranks are threads that may run wherever they all may.
TEST_F(DomainsTest, OfRanksThatAreNotBoundThereAreNone) {
  for (const char* option : {"auto", "on"}) {
    const Json report = run(6, option);
    EXPECT_EQ(layouts(report), (Layouts{"6", "3"})) << option;
  }
}

}  // namespace
}  // namespace unisono::runtime::domains_test
