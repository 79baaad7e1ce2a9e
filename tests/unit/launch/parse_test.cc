// SPDX-License-Identifier: BSD-3-Clause
// Where the programs stand in the command lines of all launchers.
#include "launch/parse.h"

#include <gtest/gtest.h>

#include <sstream>

#include "folder.h"
#include "launch/errors.h"

namespace unisono::launch {
namespace {

// Flavour | what stands behind the launcher's name, each program marked with @.
constexpr const char* cases = R"(
openmpi4 | -n 4 @./a
openmpi4 | -np 4 @./a -np 5 --verbose
openmpi4 | --np 4 @./a
openmpi4 | -c 4 @./a
openmpi4 | @./a
openmpi4 | @./a -n 4
openmpi4 | -n 2 @python script.py --mca x
openmpi4 | -n 2 -- @./a -x
openmpi4 | -H node0:2,node1:2 --oversubscribe --mca pml ob1 --mca btl self,tcp -x LD_PRELOAD=/x.so -x HOME -n 8 @./a
openmpi4 | --mca plm_rsh_agent agent.sh --map-by ppr:2:node:OVERSUBSCRIBE --bind-to none -n 8 @/abs/a b c
openmpi4 | -gmca btl tcp -am file --prefix /opt/ompi -wdir /tmp -n 1 @a.out
openmpi4 | -npernode 2 -nolocal --report-bindings -x A=1 @./a
openmpi4 | -N 2 --rank-by core --cpu-set 0,1 -q -v @./a
openmpi4 | -qv -n 2 @./a
openmpi4 | --hostfile hosts --tag-output --timestamp-output --output-filename out -n 4 @env A=1 ./a
openmpi4 | --allow-run-as-root -n 1 @./a : -n 3 --mca a b @./b : @./c x
openmpi4 | --dvm -n 2 @./a
openmpi4 | -n 2 @./a : -n 2 -wdir sub @./b -- :x
openmpi5 | --prtemca plm_ssh_agent agent.sh -H n0:2,n1:2 --map-by ppr:2:node:OVERSUBSCRIBE --bind-to none -n 8 @./a
openmpi5 | --mca osc ^ucx --omca pml ob1 --pmixmca a b --gpmixmca c d -n 8 @./a
openmpi5 | -n=4 @./a
openmpi5 | -n4 @./a
openmpi5 | -xA=1 -Hn0,n1 -N2 @./a
openmpi5 | --map-by=core --np=4 @./a
openmpi5 | --prepend-env PATH[:] /x --append-env A[,] b --set-env C=1 --unset-env D @./a
openmpi5 | --display map --output tag,dir=out --timeout 60 --stop-on-exec -n 2 @./a
openmpi5 | --dvm pid:12 --runtime-options error-nonzero-status --gpu-support 0 @./a -n 2
openmpi5 | --with-ft ulfm --memory-alloc-kinds mpi --personality ompi @./a
openmpi5 | -n 1 @./a : -n 2 @./b
mpich | -n 4 @./a
mpich | -np 4 @./a : -np 2 @./b
mpich | -launcher ssh -launcher-exec agent.sh -hosts node0:2,node1:2 -genv LD_PRELOAD /x.so -n 8 @./a
mpich | -genv A=1 -genv B 2 -genvlist C,D -genvall -n 2 @./a
mpich | -f hosts -ppn 2 -n 4 -env A 1 -envlist B @./a
mpich | --bind-to core --map-by=numa -iface eth0 -prepend-rank -l -verbose -n 2 @./a
mpich | -n=4 -ppn=2 @./a
mpich | -wdir /tmp -outfile-pattern o.%r -errfile-pattern e.%r -usize SYSTEM -n 2 @a.out b
mpich | -rmk slurm -order-nodes ascending -disable-auto-cleanup -print-all-exitcodes @./a
mpich | -env A=1 -n 1 @./a : -env B 2 -n 1 @./b
intel | -n 4 -ppn 2 -genv I_MPI_DEBUG 5 -genv A=1 @./a
intel | -launcher ssh -launcher-exec agent.sh -hosts n0,n1 -ppn 2 -genv I_MPI_THREAD_YIELD 2 -n 8 @./a
intel | -perhost 2 -machinefile m -rr -nolocal -prot -s all -n 2 @./a
intel | -bootstrap fork -print-rank-map -silent-abort -iface eth0 -gtool tool:0=exclusive -n 2 @./a
intel | -host n0 -n 2 @./a : -host n1 -n 2 @./b
intel | -trace -n 2 @./a
srun | -n 4 @./a
srun | -n4 -N2 @./a
srun | -lN2 -n 4 @./a -n 5
srun | --ntasks=4 --nodes 2 @./a
srun | --ntasks-per-node 2 --cpus-per-task=1 --mpi=pmix -p debug -t 10:00 @./a
srun | --exclusive --export=ALL,A=1 --cpu-bind=cores -K0 @./a
srun | -K @./a
srun | -vvl -I30 -u @./a
srun | --job 12 --label @./a
srun | --jobid 12 --kill-on-bad-exit --pty @bash
srun | -w n0,n1 -x n2 -J name -o out.%t -e err -D /tmp @a.out
srun | -n 2 @./a : -n 3 -N 1 @./b c
srun | -n 2 -- @./a
unknown | -n 4 --map-by core @./a
unknown | -np 2 @./a : -np 2 @./b
)";

constexpr const char* flavours[] = {"openmpi4", "openmpi5", "mpich", "intel", "srun", "unknown"};

Words words_of(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

struct Case {
  std::string flavour;
  Words words;
  std::vector<Words> programs;
};

Case case_of(const std::string& line) {
  const std::size_t bar = line.find(" | ");
  Case made{line.substr(0, bar), {}, {}};
  bool is_inside = false;
  for (std::string word : words_of(line.substr(bar + 3))) {
    if (word == ":") is_inside = false;
    const bool begins = word.starts_with('@');
    if (begins) {
      word.erase(0, 1);
      made.programs.emplace_back();
      is_inside = true;
    }
    if (is_inside) made.programs.back().push_back(word);
    made.words.push_back(word);
  }
  return made;
}

std::vector<Section> parsed(const std::string& flavour, const Words& words) {
  return sections_of(flavour_named(flavour), words);
}

std::string refusal(const std::string& flavour, const std::string& text) {
  try {
    parsed(flavour, words_of(text));
  } catch (const UsageError& error) {
    EXPECT_EQ(error.status(), 2);
    return error.what();
  }
  return {};
}

void expect_programs(const std::string& line) {
  SCOPED_TRACE(line);
  const Case given = case_of(line);
  std::vector<Words> programs;
  for (const Section& section : parsed(given.flavour, given.words)) programs.push_back(section.program);
  EXPECT_EQ(programs, given.programs);
}

TEST(LaunchParse, finds_programs_and_loses_no_word) {
  std::istringstream lines(cases);
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    expect_programs(line);
    const Case given = case_of(line);
    Words joined;
    for (const Section& section : parsed(given.flavour, given.words)) {
      if (!joined.empty()) joined.emplace_back(":");
      joined.insert(joined.end(), section.options.begin(), section.options.end());
      joined.insert(joined.end(), section.program.begin(), section.program.end());
    }
    EXPECT_EQ(joined, given.words) << line;
    ++count;
  }
  EXPECT_GT(count, 50);
}

TEST(LaunchParse, goes_on_behind_unknown_options) {
  const Folder folder({"prog"}, {"data"});
  for (const char* flavour : flavours) {
    for (const char* text :
         {"--frob @./prog 1", "--frob 3 @./prog 1", "--frob ./data @./prog 1", "--frob 3 4 @./prog",
          "--frob=3 @./prog", "--frob 3 -n 2 @./prog", "--frob 3 @prog", "--frob @sh -c true",
          "--frob sh -n 2 @unisono-exec nowhere", "-n 2 @unisono-exec --set UNISONO_LOG=info -- ./prog"})
      expect_programs(std::string(flavour) + " | " + text);
  }
}

TEST(LaunchParse, values_may_be_left_out) {
  const Folder folder({"prog"}, {"data"});
  for (const char* line :
       {"intel | -tune @./prog", "intel | -tune data @./prog", "intel | -tune data -n 2 @./nowhere",
        "openmpi5 | --output-proctable @./prog", "openmpi5 | --output-proctable data @./prog"})
    expect_programs(line);
}

TEST(LaunchParse, says_where_there_is_no_program) {
  const Folder folder({"prog"}, {"data"});
  for (const auto& [flavour, text] : {std::pair{"openmpi4", ""},
                                      {"openmpi4", "-n 2"},
                                      {"openmpi5", "--version"},
                                      {"mpich", "-n 2 ./a :"},
                                      {"mpich", "-n 2 ./a : -n 2"},
                                      {"srun", "-n 2 --"},
                                      {"openmpi5", "--frob 3 nowhere"}}) {
    const std::string said = refusal(flavour, text);
    EXPECT_NE(said.find("found no program"), std::string::npos) << flavour << " " << text;
    EXPECT_NE(said.find("unisono-exec"), std::string::npos) << said;
  }
}

TEST(LaunchParse, refuses_what_cannot_work) {
  for (const auto& [flavour, text, says] :
       {std::tuple{"srun", "--multi-prog -n 4 file.conf", "separate them by ':'"},
        {"srun", "--multi-prog=x file.conf", "separate them by ':'"},
        {"srun", "--bcast=/tmp/a ./a", "sbcast"},
        {"openmpi4", "-n 2 --preload-binary ./a", "--preload-binary"},
        {"openmpi5", "-n 2 ./a : -s ./b", "unisono-exec"}}) {
    const std::string said = refusal(flavour, text);
    EXPECT_NE(said.find("unisono run cannot work with"), std::string::npos) << text;
    EXPECT_NE(said.find(says), std::string::npos) << said;
  }
}

class SectionFiles : public testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  Words words(const std::string& rest = "") const {
    Words made{"--host", "n0", GetParam().second, "sections"};
    for (const std::string& word : words_of(rest)) made.push_back(word);
    return made;
  }
  std::string refused(const std::string& content, const std::string& rest = "") const {
    folder_.write("sections", content);
    return refusal(GetParam().first, joined(words(rest)));
  }
  const Folder folder_{{"prog"}, {}};
};

TEST_P(SectionFiles, become_sections) {
  folder_.write("sections", "# first\n-n 1 ./a x\n\n  -n 2 ./b   y # second\n");
  const std::vector<Section> sections = parsed(GetParam().first, words());
  ASSERT_EQ(sections.size(), 2U);
  EXPECT_EQ(sections[0].options, (Words{"--host", "n0", "-n", "1"}));
  EXPECT_EQ(sections[0].program, (Words{"./a", "x"}));
  EXPECT_EQ(sections[1].options, (Words{"-n", "2"}));
  EXPECT_EQ(sections[1].program, (Words{"./b", "y"}));
}

TEST_P(SectionFiles, are_refused_with_a_program_beside) {
  EXPECT_NE(refused("-n 1 ./a\n", "./b").find("both given"), std::string::npos);
}

TEST_P(SectionFiles, are_refused_with_quotes) {
  for (const char* line : {"-n 1 ./a \"b c\"", "-n 1 ./a b\\ c", "-n 1 ./a 'b'"})
    EXPECT_NE(refused(line).find("quotes"), std::string::npos) << line;
}

TEST_P(SectionFiles, are_refused_where_they_say_nothing) {
  EXPECT_NE(refused("# nothing\n").find("names no program"), std::string::npos);
  EXPECT_NE(refusal(GetParam().first, std::string(GetParam().second) + " nowhere").find("cannot be read"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Launchers, SectionFiles,
                         testing::Values(std::pair{"openmpi4", "--app"}, std::pair{"openmpi5", "--app"},
                                         std::pair{"mpich", "-configfile"},
                                         std::pair{"intel", "-configfile"}));

}  // namespace
}  // namespace unisono::launch
