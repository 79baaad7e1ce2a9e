// SPDX-License-Identifier: BSD-3-Clause
#include "base/options.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/option_lines.h"

namespace unisono {
namespace {

class OptionsTest : public ::testing::Test {
 protected:
  void SetUp() override { write(""); }
  void TearDown() override { std::remove(path_.c_str()); }
  void write(const std::string& text) { std::ofstream(path_) << text; }
  // In an environment that names the file, with these variables.
  Options read(std::vector<std::string> variables = {}) {
    variables.push_back("UNISONO_CONFIG=" + path_);
    return warnings_.clear(), read_options(Environment(variables), &warnings_);
  }

  std::string path_ = ::testing::TempDir() + "unisono_options_test.conf";
  std::vector<std::string> warnings_;
};

TEST_F(OptionsTest, SizesAreReadAndWritten) {
  EXPECT_EQ(bytes_from_text("64K"), 65536);
  EXPECT_EQ(bytes_from_text("2MiB"), 2 << 20);
  EXPECT_EQ(bytes_from_text("3gb"), std::int64_t{3} << 30);
  EXPECT_EQ(bytes_from_text("17"), 17);
  for (const char* wrong : {"", "x", "-4", "4X", "4 K B", "99999999999999999999", "9999999999T"}) {
    EXPECT_EQ(bytes_from_text(wrong), -1) << wrong;
  }
  for (std::int64_t n : {0L, 1L, 1023L, 1024L, 65536L, 3L << 30, (1L << 40) + 1}) {
    EXPECT_EQ(bytes_from_text(bytes_to_text(n)), n);
  }
}

TEST_F(OptionsTest, EnvironmentWinsOverFile) {
  write("# site\npool_bytes = 64M   # small\nalgorithm = bcast:chain\n");
  Options options = read();
  EXPECT_EQ(options.pool_bytes, 64 << 20);
  EXPECT_EQ(options.algorithm, "bcast:chain");
  EXPECT_TRUE(warnings_.empty());
  options = read({"UNISONO_POOL_BYTES=128M"});
  EXPECT_EQ(options.pool_bytes, 128 << 20);
}

TEST_F(OptionsTest, TildeIsTheHomeInNamesOfFiles) {
  write("table = ~/a.json:/b.json:~/c.json\nreport = ~\nalgorithm = ~/x\n");
  Options options = read({"HOME=/users/me", "UNISONO_MACHINE=~/m.json", "UNISONO_CACHE=/a/~/b"});
  EXPECT_EQ(options.table, "/users/me/a.json:/b.json:/users/me/c.json");
  EXPECT_EQ(options.report, "/users/me");
  EXPECT_EQ(options.machine, "/users/me/m.json");
  EXPECT_EQ(options.cache, "/a/~/b");
  EXPECT_EQ(options.algorithm, "~/x") << "no file";
  options = read();
  EXPECT_EQ(options.report, "~") << "nobody knows where";
}

TEST_F(OptionsTest, OriginsSayWhatHasSetAnOption) {
  write("log = info\nwait = nap\nverify = all\n");
  std::vector<OptionOrigin> origins;
  const Environment environment({"UNISONO_CONFIG=" + path_, "UNISONO_LOG=quiet"});
  read_options(environment, &warnings_, &origins);
  ASSERT_EQ(origins.size(), 3u);
  EXPECT_EQ(origins[0].where, path_ + " line 1");
  EXPECT_EQ(origins[1].name, "verify");
  EXPECT_EQ(origins[2].where, "UNISONO_LOG");
}

TEST_F(OptionsTest, ProblemsAreNamedAndIgnored) {
  write("nonsense\nno_such = 1\nenable = perhaps\nwait = nap\npool_bytes = 12\n");
  const Options options = read({"UNISONO_NO_SUCH=1"});
  EXPECT_EQ(to_text(options), to_text(Options{}));
  ASSERT_EQ(warnings_.size(), 6u);
  EXPECT_NE(warnings_[0].find("line 1"), std::string::npos);
  EXPECT_NE(warnings_[1].find("no_such"), std::string::npos);
  EXPECT_NE(warnings_[5].find("UNISONO_NO_SUCH"), std::string::npos);
}

TEST_F(OptionsTest, MissingExplicitFileIsAWarning) {
  std::remove(path_.c_str());
  read();
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("UNISONO_CONFIG"), std::string::npos);
}

// Names that begin alike are others; of two variables of one name the first counts, as for getenv.
TEST_F(OptionsTest, VariablesAreFoundByTheirWholeName) {
  const Environment environment(
      {"UNISONO_LOGS=a", "UNISONO_LOG", "UNISONO_LOG=info", "UNISONO_LOG=quiet", "A="});
  EXPECT_EQ(environment.find("UNISONO_LOG"), "info");
  EXPECT_EQ(environment.find("A"), "");
  EXPECT_FALSE(environment.find("UNISONO_LO"));
}

TEST_F(OptionsTest, OwnFileIsFoundByTheEnvironment) {
  const std::string folder = ::testing::TempDir() + "unisono_options_home";
  std::filesystem::create_directories(folder + "/.config/unisono");
  std::filesystem::create_directories(folder + "/unisono");
  std::ofstream(folder + "/.config/unisono/unisono.conf") << "algorithm = bcast:chain\n";
  std::ofstream(folder + "/unisono/unisono.conf") << "algorithm = bcast:ring\n";
  const auto algorithm = [&](const std::vector<std::string>& variables) {
    return read_options(Environment(variables), &warnings_).algorithm;
  };
  EXPECT_EQ(algorithm({"HOME=" + folder}), "bcast:chain");
  EXPECT_EQ(algorithm({"HOME=" + folder, "XDG_CONFIG_HOME=" + folder}), "bcast:ring");
  EXPECT_EQ(algorithm({"HOME=" + folder, "XDG_CONFIG_HOME="}), "bcast:chain");
  EXPECT_EQ(algorithm({"UNISONO_CONFIG=", "HOME=" + folder}), "bcast:chain");
  EXPECT_EQ(algorithm({}), "");
  EXPECT_TRUE(warnings_.empty());
  std::filesystem::remove_all(folder);
}

TEST_F(OptionsTest, TravelAsText) {
  Options options;
  options.algorithm = "allreduce:ring(segment=64K),bcast:native";
  options.use_single_copy = false;
  options.channel_bytes = 1 << 20;
  const Options back = options_from_text(to_text(options), &warnings_);
  EXPECT_EQ(to_text(back), to_text(options));
  EXPECT_TRUE(warnings_.empty());
}

const std::vector<std::string> hostile_pieces = {"#",  " ",  "\"",   "\\", "\n", "=", "a",
                                                 "\r", "\t", "\xa0", "é",  "n",  "\v"};

// A rank that reads a value in another way than rank 0 decides in another way.
TEST_F(OptionsTest, AnyTextTravelsAsItIs) {
  std::vector<std::string> values = {"", std::string(60'000, '#'), "report = b", "a\nreport = b", "\x1b[31m"};
  for (const auto& first : hostile_pieces) {
    for (const auto& second : hostile_pieces) values.insert(values.end(), {first, first + second});
  }
  for (const std::string& value : values) {
    Options options;
    options.report = options.table = options.algorithm = options.nodes = value;
    const Options back = options_from_text(to_text(options), &warnings_);
    ASSERT_EQ(back.report, value);
    ASSERT_EQ(back.nodes, value);
    ASSERT_EQ(to_text(back), to_text(options));
    ASSERT_TRUE(warnings_.empty()) << warnings_[0];
  }
}

TEST_F(OptionsTest, AnyTextStandsInALine) {
  std::vector<std::string> values = {""};
  for (std::size_t i = 0; values[i].size() < 3; ++i) {
    for (const auto& piece : hostile_pieces) values.push_back(values[i] + piece);
  }
  for (const std::string& value : values) {
    const auto lines = option_lines("# x\n\n report=" + option_value_text(value) + "  # the page\n");
    ASSERT_EQ(lines.size(), 1u);
    ASSERT_EQ(lines[0].name, "report");
    ASSERT_EQ(lines[0].value, value);
    ASSERT_EQ(lines[0].problem, "");
  }
}

TEST_F(OptionsTest, NumbersTravelToTheirLastDigit) {
  for (const double number : {0.1, 1.0 / 3, 1e-300, 5e-324, 99999.000000000015, 100'000.0, 12.3456789}) {
    Options options;
    options.learn_prune = number;
    EXPECT_EQ(options_from_text(to_text(options), &warnings_).learn_prune, number);
  }
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(OptionsTest, ValuesOfAFile) {
  write(
      "report =#\ntable = a#b # c\nnodes = \"4 # \\\"\\\\\\n\"# d\nalgorithm= \n#enable = 0\ncache "
      "=\"\"\r\n");
  const Options options = read();
  EXPECT_EQ(options.report, "#");
  EXPECT_EQ(options.table, "a#b");
  EXPECT_EQ(options.nodes, "4 # \"\\\n");
  EXPECT_EQ(options.algorithm, "");
  EXPECT_EQ(options.cache, "");
  EXPECT_TRUE(options.is_enabled);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(OptionsTest, QuotesAndBytesThatAreWrong) {
  write("report = \"a\nreport = \"a\"b\nreport = \"\\t\"\nreport = \"\\\nreport = a" + std::string(1, '\0') +
        "b\n");
  EXPECT_EQ(read().report, "");
  ASSERT_EQ(warnings_.size(), 5u);
  EXPECT_NE(warnings_[0].find("line 1 is ignored: the quotes of its value have no end"), std::string::npos);
  EXPECT_NE(warnings_[1].find("behind the quotes"), std::string::npos);
  EXPECT_NE(warnings_[2].find("in quotes"), std::string::npos);
  EXPECT_NE(warnings_[4].find("has a byte of 0"), std::string::npos);
}

TEST_F(OptionsTest, EveryOptionHasANameOfItsOwnAndHelp) {
  std::set<std::string_view> names, variables;
  for (const OptionSpec& spec : option_list()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_TRUE(variables.insert(spec.environment).second) << spec.environment;
    EXPECT_EQ(spec.environment.rfind("UNISONO_", 0), 0u);
    EXPECT_GT(spec.help.size(), 20u) << spec.name;
    Options options;
    EXPECT_EQ(spec.set(options, spec.get(options)), "") << spec.name;
  }
}

}  // namespace
}  // namespace unisono
