// SPDX-License-Identifier: BSD-3-Clause
// The diagrams of everything in the registry: whole, well-formed, every message drawn once.
#include "pictures/print.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "algorithms/catalogue/descriptor.h"
#include "patterns/graphs.h"

namespace unisono::pictures {
namespace {

using algorithms::Descriptor;
using patterns::Layout;

Picture picture_of(const Descriptor& descriptor, const schedule::Problem& asked) {
  schedule::Problem problem = asked;
  Picture picture{.operation = descriptor.operation,
                  .algorithm = descriptor.name,
                  .sentence = descriptor.sentence,
                  .source = descriptor.source,
                  .parameters = with_standards(descriptor).values(),
                  .layout = problem.layout,
                  .root = problem.root,
                  .programs = {},
                  .count = {}};
  if (is_neighborhood(descriptor.operation)) {
    picture.graph = "moore:2,1";
    problem.neighborhood = picture.neighborhood =
        std::make_shared<const patterns::Neighborhood>(*patterns::parse_graph(picture.graph, problem.size));
  }
  for (problem.rank = 0; problem.rank < problem.size; ++problem.rank) {
    picture.programs.push_back(descriptor.build(problem, with_standards(descriptor)));
  }
  return picture;
}

// A6: what stands above each other in the picture overlaps.
TEST(Timeline, ShowsTheOverlap) {
  const Descriptor& descriptor = *algorithms::find(Operation::bcast, "two_level_chain");
  const auto drawn = [&](std::int64_t overlap) {
    schedule::Problem problem{.operation = Operation::bcast, .size = 6};
    problem.layout = std::make_shared<Layout>(*Layout::parse("3x2"));
    algorithms::Parameters parameters;
    parameters.set("segment", 16);
    parameters.set("overlap", overlap);
    Picture picture = picture_of(descriptor, problem);
    picture.count = 64;
    for (problem.rank = 0; problem.rank < problem.size; ++problem.rank) {
      picture.programs[problem.rank] = descriptor.build(problem, with_standards(descriptor, parameters));
    }
    const std::string text = to_text(picture);
    const std::size_t from = text.find("rank 0    sends");
    return from == std::string::npos ? std::string() : text.substr(from, text.find("rank 2") - from);
  };
  EXPECT_EQ(drawn(0),
            "rank 0    sends     00112233\n"
            "          on node   ........00000000\n"
            "rank 1    on node   ................00000000\n");
  EXPECT_EQ(drawn(8),
            "rank 0    sends     00112233\n"
            "          on node   0123....0123\n"
            "rank 1    on node   .0123....0123\n");
  EXPECT_EQ(drawn(16),
            "rank 0    sends     00112233\n"
            "          on node   00112233\n"
            "rank 1    on node   ..00112233\n");
}

// Calls `look(picture)` for every algorithm on every layout where it is legal; returns how many that were.
template <typename Look>
int for_all(const Look& look) {
  int pictures = 0;
  for (const char* text : {"1", "4", "5", "8", "2x4", "3,1,2/cyclic", "4x4"}) {
    for (const Descriptor& descriptor : algorithms::registry()) {
      schedule::Problem problem;
      problem.operation = descriptor.operation;
      problem.layout = std::make_shared<Layout>(*Layout::parse(text));
      problem.size = problem.layout->size();
      problem.root = is_rooted(descriptor.operation) ? problem.size - 1 : 0;
      if (!why_illegal(descriptor, problem, 0, true, true).empty()) continue;
      SCOPED_TRACE(descriptor.name + " on " + text);
      look(picture_of(descriptor, problem));
      ++pictures;
    }
  }
  return pictures;
}

int times(const std::string& part, const std::string& text) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

int messages_of(const Picture& picture) {
  int count = 0;
  for (const schedule::Program& program : picture.programs) {
    for (const schedule::Stage& stage : program.stages) {
      for (int round = 0; round < stage.rounds; ++round) {
        std::vector<schedule::Step> steps;
        schedule::Writer writer(&steps);
        stage.write(round, writer);
        for (const schedule::Step& step : steps) count += step.kind == schedule::StepKind::send ? 1 : 0;
      }
    }
  }
  return count;
}

// Every element that is opened is closed, in order.
bool is_balanced(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos) return false;
    if (tag.back() == '/') continue;
    if (tag.front() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    } else if (open.empty() || open.back() != tag.substr(1)) {
      return false;
    } else {
      open.pop_back();
    }
  }
  return open.empty();
}

TEST(Print, SvgDrawsEveryMessageOnce) {
  const int pictures = for_all([](const Picture& picture) {
    const std::string svg = to_svg(picture);
    EXPECT_TRUE(is_balanced(svg));
    EXPECT_EQ(times("<line class=\"message ", svg), messages_of(picture));
  });
  EXPECT_GT(pictures, 100);
}

TEST(Print, TextNamesEveryRankAndFits) {
  for_all([](const Picture& picture) {
    const std::string text = to_text(picture);
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line)) {
      const auto columns = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
      EXPECT_LE(columns, 100) << line;
    }
    for (int rank = 0; rank < picture.layout->size(); ++rank) {
      EXPECT_NE(text.find(std::to_string(rank)), std::string::npos) << text;
    }
    EXPECT_EQ(text.find("→") != std::string::npos, messages_of(picture) > 0) << text;
  });
}

TEST(Print, JsonHoldsEveryMessage) {
  for_all([](const Picture& picture) {
    const auto json = nlohmann::json::parse(to_json(picture));
    int sends = 0;
    for (const auto& stage : json.at("stages")) {
      for (const auto& round : stage.at("rounds")) {
        for (const auto& step : round.at("steps")) sends += step.at("kind") == "send" ? 1 : 0;
      }
    }
    EXPECT_EQ(sends, messages_of(picture));
    EXPECT_EQ(json.at("ranks"), picture.layout->size());
  });
}

Picture two_ranks(schedule::StepKind kind) {
  Picture picture;
  picture.operation = Operation::bcast;
  picture.algorithm = "a<b&\"c\"";
  picture.layout = std::make_shared<Layout>(Layout::one_node(2));
  const schedule::Stage sends{
      .rounds = 1, .write = [kind](int, schedule::Writer& writer) { writer.add({.kind = kind, .peer = 1}); }};
  const schedule::Stage receives{.rounds = 1, .write = [](int, schedule::Writer& writer) {
                                   writer.recv(whole(schedule::Place::output), 0);
                                 }};
  picture.programs = {schedule::Program{.stages = {sends}}, schedule::Program{.stages = {receives}}};
  return picture;
}

TEST(Print, EscapesWords) {
  const std::string svg = to_svg(two_ranks(schedule::StepKind::send));
  EXPECT_TRUE(is_balanced(svg));
  EXPECT_NE(svg.find("a&lt;b&amp;&quot;c&quot;"), std::string::npos);
}

TEST(Print, RefusesWhatNobodySends) {
  EXPECT_THROW(to_text(two_ranks(schedule::StepKind::copy)), std::invalid_argument);
}

// A picture of short blocks has messages between the nodes alone, one of long blocks a message for each edge;
// blocks are named by their places in the rank's buffers.
TEST(Print, NamesTheBlocksOfNeighbors) {
  const Descriptor& descriptor = *algorithms::find(Operation::neighbor_alltoall, "bundles");
  schedule::Problem problem{.operation = descriptor.operation, .size = 8};
  problem.layout = std::make_shared<Layout>(*Layout::parse("2x4"));
  Picture picture = picture_of(descriptor, problem);
  picture.count = 8;
  const std::string short_blocks = to_svg(picture);
  EXPECT_EQ(times("<line class=\"message ", short_blocks), 2);
  EXPECT_NE(short_blocks.find("graph moore:2,1"), std::string::npos);
  EXPECT_NE(
      short_blocks.find("rank 0: copy slot of 0, lane 0 block 2 = input block 2, if short enough for a slot"),
      std::string::npos);
  EXPECT_NE(short_blocks.find(
                "rank 7: copy output block 1 = slot of 0, lane 0 block 8, if short enough for a bundle"),
            std::string::npos);
  picture.count = 1 << 20;
  EXPECT_EQ(times("<line class=\"message outer", to_svg(picture)), 8 * 2);
}

TEST(Print, LeavesOutMessagesOfNoBytes) {
  Picture picture = two_ranks(schedule::StepKind::send);
  EXPECT_EQ(times("<line class=\"message ", to_svg(picture)), 1);
  picture.count = 0;
  EXPECT_EQ(times("<line class=\"message ", to_svg(picture)), 0);
}

}  // namespace
}  // namespace unisono::pictures
