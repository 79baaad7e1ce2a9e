// SPDX-License-Identifier: BSD-3-Clause
// Option 'topology' from MPI_Init to the call: what is read, agreed on, gone by and refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "program.h"

namespace unisono::runtime::topology_test {
namespace {

class TopologyTest : public ReportedTest {
 protected:
  TopologyTest() {
    options_.algorithm = "alltoall:topology_light_barrier";
    options_.nodes = "6x1";
  }
  std::string file(const std::string& lines) {
    std::ofstream(folder_ + "/switches.conf") << lines;
    return folder_ + "/switches.conf";
  }

  // Alltoalls of six ranks, and of those of every second; gives the report.
  Json run(const std::string& topology) {
    options_.topology = topology;
    run_jobs(6, [](Job& job, FakeHost& host, int rank) {
      exchange(&job, host.world(), host);
      host::Comm half{};
      host.comm_split(host.world(), rank % 2, -rank, &half);
      exchange(&job, half, host);
      host.comm_free(&half);
    });
    return report();
  }

  static void exchange(Job* job, host::Comm comm, FakeHost& host) {
    const int size = host.comm_size(comm);
    const int rank = host.comm_rank(comm);
    std::vector<std::int32_t> in(static_cast<std::size_t>(size));
    std::iota(in.begin(), in.end(), 100 * rank);
    std::vector<std::int32_t> out(in.size(), -1);
    int error = 0;
    const Call call{.operation = Operation::alltoall,
                    .comm = comm,
                    .send_buffer = in.data(),
                    .recv_buffer = out.data(),
                    .send_count = 1,
                    .recv_count = 1,
                    .send_type = fake_host::datatype(ElementType::int32),
                    .recv_type = fake_host::datatype(ElementType::int32)};
    if (job->collective(call, &error) != Outcome::done) return;
    for (int from = 0; from < size; ++from) EXPECT_EQ(out[from], 100 * from + rank);
  }

  static std::vector<std::string> algorithms(const Json& report) {
    std::vector<std::string> names;
    for (const auto& entry : report["classes"]) names.push_back(entry["algorithm"]);
    return names;
  }
};

const std::vector<std::string> both(2, "topology_light_barrier");

TEST_F(TopologyTest, IsGoneByWhereItDescribesTheJob) {
  const Json synthetic = run("tree:2x3");
  EXPECT_EQ(algorithms(synthetic), both);
  EXPECT_TRUE(synthetic["warnings"].empty()) << synthetic["warnings"];
  EXPECT_NE(synthetic.dump().find("below 3 switches"), std::string::npos);
  const std::string machine = synthetic["nodes"][0]["name"];
  const Json described =
      run(file("SwitchName=top Switches=a,b\nSwitchName=a Nodes=other\nSwitchName=b Nodes=" + machine));
  EXPECT_EQ(algorithms(described), both);
  EXPECT_TRUE(described["warnings"].empty()) << described["warnings"];
}

TEST_F(TopologyTest, IsRefusedWithItsReasonWhereItDoesNot) {
  const auto expect_refused = [&](const std::string& topology, const std::string& why) {
    const Json report = run(topology);
    for (const std::string& name : algorithms(report)) EXPECT_NE(name, both[0]) << topology;
    EXPECT_NE(report["warnings"].dump().find("option topology '" + topology + "' is not used: " + why),
              std::string::npos)
        << report["warnings"];
    EXPECT_NE(report["warnings"].dump().find("is refused: it needs a topology of this job: " + why),
              std::string::npos)
        << report["warnings"];
  };
  expect_refused("tree:2x2", "it describes 4 machines, the job has 6 machines");
  expect_refused("tree:", "'tree:' is no topology; write tree:16");
  expect_refused("/nowhere/switches.conf", "/nowhere/switches.conf cannot be read");
  const std::string name = folder_ + "/switches.conf";
  expect_refused(file("SwitchName=a Nodes=elsewhere"), "it does not say on which switch machine ");
  expect_refused(file("SwitchName=a\n"), name + " line 1: nothing hangs on switch a");
}

TEST_F(TopologyTest, WithoutOneNodesHangOnOneSwitch) {
  const Json report = run("");
  EXPECT_EQ(algorithms(report), both);
  EXPECT_TRUE(report["warnings"].empty()) << report["warnings"];
}

}  // namespace
}  // namespace unisono::runtime::topology_test
