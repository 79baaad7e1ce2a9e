// SPDX-License-Identifier: BSD-3-Clause
// Which machine's description predictions go by where programs learn, and what they are good for.
#include <unistd.h>

#include <cctype>
#include <map>

#include "learning_program.h"
#include "model/machine.h"

namespace unisono::runtime::learning_machine_test {
namespace {

Json slowed(const Json& value) {
  if (value.is_number()) return value.get<double>() * 1e7;
  Json made = value;
  if (value.is_structured()) {
    for (auto& [key, part] : made.items()) {
      if (key != "bytes" && key != "channel_bytes") part = slowed(part);
    }
  }
  return made;
}

// A machine on which everything takes ten million times as long as is usual.
Json slow_machine() {
  Json machine = Json::parse(model::to_json(model::default_machine()));
  for (const char* part : {"node", "network", "shared_memory"}) machine[part] = slowed(machine.at(part));
  return machine;
}

class LearningMachineTest : public LearningTest {
 protected:
  // Four ranks make allreduces that take the host a tenth of a millisecond: how many candidates there were
  // for them.
  std::size_t candidates_of_job() {
    constexpr int size = 4;
    options_.learn = "auto";
    options_.learn_budget = 100;
    run_jobs(size, [](Job& job, FakeHost& host, int rank) {
      LearningRank me{job, host, rank, size};
      for (int i = 0; i < 20000; ++i) me.call(Operation::allreduce, 3, true, 1e-4);
    });
    return report()["learning"][0]["candidates"].size();
  }
};

TEST_F(LearningMachineTest, WhatTheModelExpectsToBeSlowIsNotTried) {
  std::ofstream(folder_ + "/slow.json") << slow_machine();
  std::map<std::string, std::size_t> tried;
  for (const std::string& name : {std::string("none"), folder_ + "/slow.json"}) {
    options_.machine = name;
    tried[name] = candidates_of_job();
    EXPECT_TRUE(report()["warnings"].empty()) << report()["warnings"].dump();
  }
  EXPECT_EQ(tried[folder_ + "/slow.json"], 2u)
      << "the host's, and what would be used without learning: " << report()["learning"][0].dump(1);
  EXPECT_GT(tried["none"], 2u);
}

TEST_F(LearningMachineTest, AMachineOfTheCacheDirectoryIsFoundByItsName) {
  std::filesystem::create_directory(folder_ + "/machines");
  std::ofstream(folder_ + "/machines/kept.json") << slow_machine();
  options_.cache = folder_;
  options_.machine = "kept";
  const std::size_t tried = candidates_of_job();
  EXPECT_TRUE(report()["warnings"].empty()) << report()["warnings"].dump();
  EXPECT_EQ(tried, 2u) << "the host's, and what would be used without learning";
}

// Predictions go by the file of this host where nobody names one: if it was measured for jobs like this one.
TEST_F(LearningMachineTest, WhatWasMeasuredWithAnotherMpiIsNotUsed) {
  char host_name[256] = "";
  ASSERT_EQ(::gethostname(host_name, sizeof host_name - 1), 0);
  std::string name = std::string(host_name).substr(0, std::string(host_name).find('.'));
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ? c : '_';
  std::filesystem::create_directory(folder_ + "/machines");
  const auto tried = [&](const Json& measured) {
    Json machine = slow_machine();
    machine["measured"] = measured;
    std::ofstream(folder_ + "/machines/" + name + ".json") << machine;
    // Nothing is to be known from the run before.
    std::filesystem::remove_all(folder_ + "/tables");
    options_.cache = folder_;
    return candidates_of_job();
  };
  const std::string own = "fake host, ranks as threads";
  EXPECT_EQ(tried({{"mpi", own}, {"is_steady", true}, {"not_measured", {"network"}}}), 2u);
  EXPECT_TRUE(report()["warnings"].empty()) << report()["warnings"].dump();
  EXPECT_GT(tried({{"mpi", "Other MPI 1"}, {"is_steady", true}}), 2u);
  EXPECT_NE(report()["warnings"].dump().find("it was measured with Other MPI 1"), std::string::npos);
  EXPECT_GT(tried({{"mpi", own}, {"is_steady", false}}), 2u);
  EXPECT_NE(report()["warnings"].dump().find("measure again"), std::string::npos);
}

TEST_F(LearningMachineTest, AMachineThatIsNoneIsSaid) {
  std::ofstream(folder_ + "/machine.json") << "{}";
  options_.learn = "auto";
  for (const std::string& machine : {folder_ + "/machine.json", folder_ + "/nowhere.json"}) {
    options_.machine = machine;
    run_jobs(2, [](Job& job, FakeHost& host, int rank) {
      LearningRank me{job, host, rank, 2};
      for (int i = 0; i < 100; ++i) me.call(Operation::allreduce, 3);
    });
    const Json warnings = report()["warnings"];
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].get<std::string>().find("option machine '" + machine + "' is not used: "),
              std::string::npos);
  }
}

}  // namespace
}  // namespace unisono::runtime::learning_machine_test
