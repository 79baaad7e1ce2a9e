// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/topology.h"

#include <gtest/gtest.h>

namespace unisono::patterns {
namespace {

using Names = std::vector<std::string>;

TEST(SyntheticTopology, GrowsFromTheTop) {
  const ReadTopology one = synthetic_topology("tree:16");
  ASSERT_TRUE(one.topology) << one.problem;
  EXPECT_EQ(one.topology->switches.names, Names{"top"});
  EXPECT_EQ(one.topology->machines.size(), 16u);
  EXPECT_FALSE(one.topology->has_names());

  const ReadTopology four = synthetic_topology("tree:4x8");
  ASSERT_TRUE(four.topology) << four.problem;
  EXPECT_EQ(four.topology->switches.names, (Names{"top", "s0", "s1", "s2", "s3"}));
  EXPECT_EQ(four.topology->switches.above, (std::vector<int>{-1, 0, 0, 0, 0}));
  ASSERT_EQ(four.topology->machines.size(), 32u);
  EXPECT_EQ(four.topology->machines[7].switch_of, 1);
  EXPECT_EQ(four.topology->machines[8].switch_of, 2);

  const ReadTopology deep = synthetic_topology("tree:2x2x3");
  ASSERT_TRUE(deep.topology) << deep.problem;
  EXPECT_EQ(deep.topology->switches.names, (Names{"top", "s0", "s0.0", "s0.1", "s1", "s1.0", "s1.1"}));
  EXPECT_EQ(deep.topology->switches.above, (std::vector<int>{-1, 0, 1, 1, 0, 4, 4}));
  EXPECT_EQ(deep.topology->machines.size(), 12u);

  const ReadTopology uneven = synthetic_topology("tree:2x3,5");
  ASSERT_TRUE(uneven.topology) << uneven.problem;
  EXPECT_EQ(uneven.topology->machines.size(), 16u);
  EXPECT_EQ(uneven.topology->switches.names.size(), 7u);
}

TEST(SyntheticTopology, RefusesWhatIsNone) {
  for (const char* text :
       {"", "tree", "tree:", "4x8", "tree:0", "tree:4x", "tree:x4", "tree:3,,4", "tree:3,4x2", "tree:-1",
        "tree:4 x8", "tree:99999999999", "tree:65537", "tree:65536x2", "tree:300x300x300"}) {
    const ReadTopology read = synthetic_topology(text);
    EXPECT_FALSE(read.topology) << text;
    EXPECT_NE(read.problem.find(std::string("'").append(text).append("' is ")), std::string::npos)
        << read.problem;
  }
  EXPECT_NE(synthetic_topology("tree:a").problem.find("write tree:16"), std::string::npos);
}

TEST(Topology, DepthIsBounded) {
  std::string levels = "tree:1", chain = "SwitchName=s0 Nodes=n\n", brackets = "SwitchName=s0 Nodes=n";
  for (int i = 0; i < 20'000; ++i) levels += "x1";
  for (int i = 1; i < 20'000; ++i)
    chain += "SwitchName=s" + std::to_string(i) + " Switches=s" + std::to_string(i - 1) + "\n";
  for (int i = 0; i < 20'000; ++i) brackets += "[1]";
  EXPECT_FALSE(synthetic_topology(levels).topology);
  EXPECT_FALSE(topology_from_lines(brackets, "t").topology);
  const ReadTopology read = topology_from_lines(chain, "t");
  EXPECT_FALSE(read.topology);
  EXPECT_LT(read.problem.size(), 1000u);
}

TEST(Names, AreExpanded) {
  EXPECT_EQ(expand_names("a,b"), (Names{"a", "b"}));
  EXPECT_EQ(expand_names("n[08-10,3]"), (Names{"n08", "n09", "n10", "n3"}));
  EXPECT_EQ(expand_names("r[0-1]n[0-1].site,login"),
            (Names{"r0n0.site", "r0n1.site", "r1n0.site", "r1n1.site", "login"}));
  for (const char* list : {"", "a,", ",a", "a[", "a]", "a[1", "a[]", "a[x]", "a[2-1]", "a[1-]", "a[-1]",
                           "a[[1]]", "a[1]]", "a[0-99999]", "a[0-999]b[0-999]"}) {
    EXPECT_FALSE(expand_names(list)) << list;
  }
}

constexpr const char* two_racks =
    "# as Slurm reads it\n"
    "SwitchName=top Switches=rack[0-1] LinkSpeed=100\n"
    "\n"
    "switchname=rack0 nodes=n[0-2]\r\n"
    "SwitchName=rack1 Nodes=n3,n4.site.org  # the new ones\n";

TEST(TopologyFile, IsRead) {
  const ReadTopology read = topology_from_lines(two_racks, "f");
  ASSERT_TRUE(read.topology) << read.problem;
  EXPECT_EQ(read.topology->switches.names, (Names{"top", "rack0", "rack1"}));
  EXPECT_EQ(read.topology->switches.above, (std::vector<int>{-1, 0, 0}));
  ASSERT_EQ(read.topology->machines.size(), 5u);
  EXPECT_EQ(read.topology->machines[4].name, "n4.site.org");
  EXPECT_EQ(read.topology->machines[4].switch_of, 2);
  // Machines may hang on any switch, and one switch alone is a tree.
  EXPECT_TRUE(topology_from_lines("SwitchName=a Switches=b Nodes=x\nSwitchName=b Nodes=y\n", "f").topology);
  EXPECT_TRUE(topology_from_lines("SwitchName=a Nodes=x", "f").topology);
}

TEST(TopologyFile, SaysWhereItIsWrongAndWhatToWrite) {
  const auto problem = [](const char* lines) {
    const ReadTopology read = topology_from_lines(lines, "f");
    EXPECT_FALSE(read.topology) << lines;
    return read.problem;
  };
  EXPECT_EQ(problem("SwitchName=a Nodes=x\nhello\n"),
            "f line 2: 'hello' is not of the form KEY=VALUE; write SwitchName=s0 Nodes=a,b");
  EXPECT_EQ(problem("SwitchName=a Hosts=x"),
            "f line 1: there is no key 'Hosts'; a line takes SwitchName, Switches, Nodes and LinkSpeed");
  EXPECT_EQ(problem("Nodes=x"),
            "f line 1: it does not say which switch it describes; begin with SwitchName=s0");
  EXPECT_EQ(problem("SwitchName=a"), "f line 1: nothing hangs on switch a; add Nodes=... or Switches=...");
  EXPECT_EQ(problem("SwitchName=a Nodes=x[0-"),
            "f line 1: 'x[0-' is no list of names; write node7,node9 or node[00-15,20]");
  EXPECT_EQ(problem("SwitchName=a Nodes=x\nSwitchName=a Nodes=y"),
            "f line 2: switch a is described in line 1 already; join the two lines");
  EXPECT_EQ(problem("SwitchName=a Nodes=x\nSwitchName=b Nodes=y,x"),
            "f line 2: machine x hangs on a switch already (line 1); name it once");
  EXPECT_EQ(problem("SwitchName=a Nodes=x Switches=b"),
            "f line 1: there is no switch b; describe it in a line SwitchName=b Nodes=...");
  EXPECT_EQ(problem("SwitchName=a Switches=c\nSwitchName=b Switches=c\nSwitchName=c Nodes=x"),
            "f line 2: switch c hangs on another one already (line 1); in a tree there is one way up");
  EXPECT_EQ(problem("SwitchName=a Switches=b\nSwitchName=b Nodes=x Switches=a"),
            "f line 1: the switches go around in a circle (a, b, a); take one link out");
  EXPECT_EQ(problem("SwitchName=a Switches=a"),
            "f line 1: the switches go around in a circle (a, a); take one link out");
  EXPECT_EQ(problem("SwitchName=t Nodes=x\nSwitchName=c Switches=d\nSwitchName=d Switches=c\n"),
            "f line 2: the switches go around in a circle (c, d, c); take one link out");
  EXPECT_EQ(problem("SwitchName=a Nodes=x\nSwitchName=b Nodes=y"),
            "f: switches a and b are not connected; add a line SwitchName=top Switches=a,b");
  EXPECT_EQ(problem("# nothing\n"), "f: it names no machine; write SwitchName=s0 Nodes=node[0-7]");
}

TEST(Placement, GoesByNamesOrByNumber) {
  const Topology named = *topology_from_lines(two_racks, "f").topology;
  EXPECT_EQ(place(named, {"n3", "n0", "n4.site.org", "n4", "n1.elsewhere"}).switch_of,
            (std::vector<int>{2, 1, 2, 2, 1}));
  EXPECT_EQ(place(named, {"n3", "n9"}).problem, "it does not say on which switch machine n9 hangs");
  // Two machines that only differ behind the dot are not found by their short name.
  const Topology twins = *topology_from_lines("SwitchName=a Nodes=n.x,n.y", "f").topology;
  EXPECT_EQ(place(twins, {"n.y"}).problem, "");
  EXPECT_NE(place(twins, {"n"}).problem, "");

  const Topology counted = *synthetic_topology("tree:1,2").topology;
  EXPECT_EQ(place(counted, {"x", "x", "y"}).switch_of, (std::vector<int>{1, 2, 2}));
  EXPECT_EQ(place(counted, {"x"}).problem, "it describes 3 machines, the job has 1 machine");
}

}  // namespace
}  // namespace unisono::patterns
