// SPDX-License-Identifier: BSD-3-Clause
#include "model/machine.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace unisono::model {
namespace {

using nlohmann::json;

TEST(Curve, IsLinearBetweenItsPoints) {
  const Curve curve({{100, 1.0}, {200, 3.0}, {400, 4.0}});
  EXPECT_DOUBLE_EQ(curve.at(0), 1.0);
  EXPECT_DOUBLE_EQ(curve.at(100), 1.0);
  EXPECT_DOUBLE_EQ(curve.at(150), 2.0);
  EXPECT_DOUBLE_EQ(curve.at(200), 3.0);
  EXPECT_DOUBLE_EQ(curve.at(300), 3.5);
  EXPECT_DOUBLE_EQ(curve.at(600), 5.0);
  EXPECT_DOUBLE_EQ(Curve({{8, 2.0}}).at(1000), 2.0);
  EXPECT_DOUBLE_EQ(Curve().at(1000), 0.0);
}

// The figures of chapter 4, by hand: L = 3, o = 2, g = 5, G = 0.5 and messages of 4 and 11 bytes.
TEST(Link, CostsAreThoseOfTheFigures) {
  Link link;
  link.hockney = {7, 0.25};
  link.loggp = {3, 2, 5, 0.5, 4};
  link.plogp = {4, Curve({{0, 1.0}, {10, 2.0}}), Curve({{0, 1.0}, {10, 3.0}}), Curve({{0, 2.0}, {10, 6.0}})};
  EXPECT_DOUBLE_EQ(link.message(MessageModel::hockney, 4).whole_us(), 7 + 4 * 0.25);
  EXPECT_DOUBLE_EQ(link.message(MessageModel::logp, 4).whole_us(), 2 + 3 + 2);
  EXPECT_DOUBLE_EQ(link.message(MessageModel::logp, 11).whole_us(), 2 + 2 * 5 + 3 + 2);  // three words
  EXPECT_DOUBLE_EQ(link.message(MessageModel::loggp, 4).whole_us(), 2 + 3 * 0.5 + 3 + 2);
  EXPECT_DOUBLE_EQ(link.message(MessageModel::loggp, 4).occupancy_us, 5 + 3 * 0.5);
  const MessageCost cost = link.message(MessageModel::plogp, 5);
  EXPECT_DOUBLE_EQ(cost.whole_us(), 4 + 4.0);
  EXPECT_DOUBLE_EQ(cost.occupancy_us, 4.0);
  EXPECT_DOUBLE_EQ(cost.send_us, 1.5);
  EXPECT_DOUBLE_EQ(cost.receive_us, 2.0);
  // What was measured of a message by itself holds, and nothing takes longer than that.
  link.plogp.whole_us = Curve({{0, 1.5}, {10, 3.5}});
  const MessageCost measured = link.message(MessageModel::plogp, 5);
  EXPECT_DOUBLE_EQ(measured.whole_us(), 2.5);
  EXPECT_DOUBLE_EQ(measured.occupancy_us, 2.5);
  EXPECT_LE(measured.send_us + measured.receive_us, 2.5);
}

TEST(Machine, BuiltInOnesAreConsistent) {
  ASSERT_FALSE(built_in_machines().empty());
  for (const Machine& machine : built_in_machines()) {
    EXPECT_EQ(find_built_in(machine.name), &machine);
    EXPECT_FALSE(machine.note.empty());
    for (const bool is_between_nodes : {false, true}) {
      const Link& link = machine.link(is_between_nodes);
      // All models mean one network: they agree where it is idle, within what LogP knows.
      for (const std::int64_t bytes : {0, 8, 1024, 1 << 20}) {
        const double hockney = link.message(MessageModel::hockney, bytes).whole_us();
        EXPECT_NEAR(link.message(MessageModel::loggp, bytes).whole_us() / hockney, 1, 0.05);
        EXPECT_NEAR(link.message(MessageModel::plogp, bytes).whole_us() / hockney, 1, 0.3)
            << machine.name << bytes;
        const MessageCost cost = link.message(MessageModel::plogp, bytes);
        EXPECT_LE(cost.receive_us, cost.occupancy_us);
        EXPECT_GT(cost.transit_us, 0);
      }
    }
  }
}

TEST(Machine, GoesThroughItsFile) {
  Machine machine = default_machine();
  machine.name = "mine";
  machine.switch_us.low = 1.2;
  machine.switch_us.high = 1.7;
  std::vector<Curve::Point> points = machine.shared.put_us.points();
  for (Curve::Point& point : points) {
    point.us.low = point.us.value / 2;
    point.us.high = point.us.value * 2;
  }
  machine.shared.put_us = Curve(points);
  machine.network.plogp.whole_us = machine.network.plogp.gap_us;
  machine.fresh_message_us = machine.network.plogp.gap_us;
  machine.call_us = Value(0.25);
  machine.step_us = 0.0625;
  const ReadMachine read = machine_from_json(to_json(machine));
  ASSERT_TRUE(read.machine) << read.problem;
  EXPECT_EQ(*read.machine, machine);
}

std::string problem_of(const json& changed) {
  const ReadMachine read = machine_from_json(changed.dump());
  EXPECT_FALSE(read.machine);
  return read.problem;
}

TEST(Machine, SaysWhatIsWrongWithAFile) {
  const json good = json::parse(to_json(default_machine()));
  ASSERT_TRUE(machine_from_json(good.dump()).machine);
  EXPECT_EQ(machine_from_json("{").problem, "is no JSON");
  EXPECT_EQ(machine_from_json("[]").problem, "the file: is no object");
  json bad = good;
  bad["schema"] = "unisono-table";
  EXPECT_EQ(problem_of(bad), "schema: is not 'unisono-machine'");
  bad = good;
  bad["version"] = 2;
  EXPECT_EQ(problem_of(bad), "version: is not 1, which this Unisono reads");
  bad = good;
  bad["network"]["plogp"].erase("g_us");
  EXPECT_EQ(problem_of(bad), "network.plogp.g_us: is missing");
  bad = good;
  bad["node"]["plogp"]["os_us"] = {{"bytes", {0, 8, 8}}, {"us", {1, 2, 3}}};
  EXPECT_EQ(problem_of(bad), "node.plogp.os_us: its bytes do not ascend");
  bad["node"]["plogp"]["os_us"] = {{"bytes", {0, 8}}, {"us", {1, 2, 3}}};
  EXPECT_EQ(problem_of(bad), "node.plogp.os_us: has not as many us as bytes");
  bad = good;
  bad["message_switch_us"] = -1;
  EXPECT_EQ(problem_of(bad), "message_switch_us: is no number from 0 on");
  bad["message_switch_us"] = 2;
  bad["switch_us"] = -1;
  EXPECT_EQ(problem_of(bad), "switch_us: is no number from 0 on");
  bad["switch_us"] = {{"low", 1}};
  EXPECT_EQ(problem_of(bad), "switch_us: has no value");
  bad = good;
  bad["cores_per_node"] = 0;
  EXPECT_EQ(problem_of(bad), "cores_per_node: is less than 1");
  bad = good;
  bad["nodes_on_cores"] = 0;
  EXPECT_EQ(problem_of(bad), "nodes_on_cores: is less than 1");
  bad.erase("nodes_on_cores");
  EXPECT_EQ(machine_from_json(bad.dump()).machine->nodes_on_cores, 1);
}

}  // namespace
}  // namespace unisono::model
