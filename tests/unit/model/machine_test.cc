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
  machine.shared.distances = {{patterns::DomainKind::socket, 0.5, 0.25, 0.125},
                              {patterns::DomainKind::cache, Value(1), 0.25, 0}};
  machine.shared.distances.back().line_us.low = 0.5;
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
  EXPECT_EQ(machine_from_json("{").problem, "it is no JSON: line 1 cannot be understood");
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
  bad["shared_memory"]["distances"] = {{{"across", "street"}, {"line_us", 1}, {"us_per_byte", 0}}};
  EXPECT_EQ(problem_of(bad), "shared_memory.distances.across: is none of socket, numa, cache");
  bad["shared_memory"]["distances"][0]["across"] = "numa";
  ASSERT_TRUE(machine_from_json(bad.dump()).machine);
  bad["shared_memory"]["distances"].push_back(bad["shared_memory"]["distances"][0]);
  EXPECT_EQ(problem_of(bad), "shared_memory.distances.across: is given twice");
  bad["shared_memory"]["distances"][1].erase("us_per_byte");
  bad["shared_memory"]["distances"][1]["across"] = "cache";
  EXPECT_EQ(problem_of(bad), "shared_memory.distances.us_per_byte: is missing");
  bad = good;
  bad["cores_per_node"] = 0;
  EXPECT_EQ(problem_of(bad), "cores_per_node: is less than 1");
  bad = good;
  bad["nodes_on_cores"] = 0;
  EXPECT_EQ(problem_of(bad), "nodes_on_cores: is less than 1");
  bad.erase("nodes_on_cores");
  EXPECT_EQ(machine_from_json(bad.dump()).machine->nodes_on_cores, 1);
}

// G1's four numbers describe a machine; the rest follows from them, or is usual, and is said.
TEST(Machine, FourNumbersSuffice) {
  const json least = {{"schema", "unisono-machine"},
                      {"version", 1},
                      {"node", {{"hockney", {{"alpha_us", 1}, {"beta_us_per_byte", 1.4e-3}}}}},
                      {"network", {{"hockney", {{"alpha_us", 40}, {"beta_us_per_byte", 2.6e-2}}}}}};
  const ReadMachine read = machine_from_json(least.dump());
  ASSERT_TRUE(read.machine) << read.problem;
  const Machine& of_g1 = *find_built_in("myrinet");
  for (const bool is_between_nodes : {false, true}) {
    for (const MessageModel model : {MessageModel::hockney, MessageModel::loggp, MessageModel::plogp}) {
      for (const std::int64_t bytes : {0, 1024, 1 << 20}) {
        const double us = read.machine->link(is_between_nodes).message(model, bytes).whole_us();
        EXPECT_NEAR(us / of_g1.link(is_between_nodes).message(model, bytes).whole_us(), 1, 0.05);
      }
    }
  }
  EXPECT_NEAR(read.machine->card.us_per_byte, 2.6e-2, 1e-12);
  EXPECT_GT(read.machine->shared.put_us.at(1 << 20), 0.9 * of_g1.shared.put_us.at(1 << 20));
  EXPECT_EQ(read.machine->switch_us.value, default_machine().switch_us.value);
  const std::vector<std::string> filled = {"cores_per_node", "switch_us",     "node.loggp",
                                           "node.plogp",     "network.loggp", "network.plogp",
                                           "network_card",   "shared_memory", "overlap_penalty_us"};
  EXPECT_EQ(read.machine->filled, filled);
  const ReadMachine again = machine_from_json(to_json(*read.machine));
  ASSERT_TRUE(again.machine) << again.problem;
  EXPECT_EQ(again.machine->filled, filled) << "a file that was filled still says so";
  EXPECT_TRUE(machine_from_json(to_json(default_machine())).machine->filled.empty());

  json by_loggp = least;
  by_loggp["network"] = {{"loggp", {{"L_us", 20}, {"o_us", 10}, {"g_us", 12}, {"G_us_per_byte", 2.6e-2}}}};
  const ReadMachine other = machine_from_json(by_loggp.dump());
  ASSERT_TRUE(other.machine) << other.problem;
  EXPECT_NEAR(other.machine->network.hockney.alpha_us, 40, 1e-9);
  by_loggp["network"] = json::object();
  EXPECT_EQ(machine_from_json(by_loggp.dump()).problem, "network.hockney: is missing, and loggp too");
}

json interval(double low, double high) {
  return {{"value", (low + high) / 2}, {"low", low}, {"high", high}};
}

MeasuredChoices choices_of(const json& waits, const json& buffers) {
  json file = json::parse(to_json(default_machine()));
  file["findings"] = {{"waits_us", waits}, {"buffers", buffers}};
  return machine_from_json(file.dump()).choices;
}

// What is clearly better than what serves by itself decides; what is not, or is damaged, decides nothing.
TEST(MeasuredChoices, AreWhatIsClearlyBetter) {
  const json shared = {{"yield", interval(10, 11)}, {"futex", interval(7, 8)}};
  MeasuredChoices choices = choices_of(shared, json::array());
  EXPECT_EQ(choices.wait, "futex");
  EXPECT_TRUE(choices.is_sharing_cores);
  EXPECT_EQ(choices.text(), "ranks that share cores wait by 'futex'");
  const json alone = {{"spin", interval(1.0, 1.1)},
                      {"pause", interval(2, 2.1)},
                      {"yield", interval(4, 5)},
                      {"futex", interval(8, 9)}};
  choices = choices_of(alone, json::array());
  EXPECT_EQ(choices.wait, "spin");
  EXPECT_FALSE(choices.is_sharing_cores);
  json near = alone;
  near["spin"] = interval(1.0, 2.05);
  EXPECT_EQ(choices_of(near, json::array()).wait, "") << "the intervals meet";
  near.erase("pause");
  EXPECT_EQ(choices_of(near, json::array()).wait, "") << "nothing to compare with";

  const auto buffer = [](std::int64_t piece, int count, double low, double high) {
    const auto bytes = static_cast<double>(piece);
    return json{{"piece_bytes", piece}, {"buffers", count}, {"us", interval(low * bytes, high * bytes)}};
  };
  const json clear = {buffer(1 << 14, 8, 1e-5, 1e-5), buffer(1 << 16, 4, 3e-5, 4e-5),
                      buffer(1 << 18, 4, 5e-5, 6e-5), buffer(1 << 20, 4, 7e-5, 8e-5)};
  choices = choices_of(json::object(), clear);
  EXPECT_EQ(choices.buffer_bytes, 4 << 16) << "of as many buffers as algorithms have";
  EXPECT_EQ(choices.text(), "buffers of 256K for each rank");
  EXPECT_EQ(choices_of(json::object(), {buffer(1 << 16, 4, 3e-5, 6e-5), buffer(1 << 18, 4, 5e-5, 6e-5)}),
            choices_of(json::object(), json::array()));
  for (const json& damaged : {json(3), json("x"), json({{"yield", "x"}}), json({{"yield", {{"low", -1}}}})}) {
    EXPECT_FALSE(choices_of(damaged, damaged).is_any());
  }
}

}  // namespace
}  // namespace unisono::model
