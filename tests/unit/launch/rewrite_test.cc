// SPDX-License-Identifier: BSD-3-Clause
// The shim goes before each program, with the settings as its arguments.
#include "launch/rewrite.h"

#include <gtest/gtest.h>

#include <sstream>

#include "folder.h"
#include "launch/errors.h"

namespace unisono::launch {
namespace {

const Shim shim{
    "/u/bin/unisono-exec", "/u/lib/libunisono.so", {{"UNISONO_LOG", "info"}, {"UNISONO_X", "a b"}}, {}};

// The words of a text in which <shim> stands for the shim and its settings, and the launchers lie in a
// folder.
Words words_of(const std::string& text, const std::string& launchers) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) {
    if (word == "<shim>") {
      const Words own = {"/u/bin/unisono-exec", "--set",     "UNISONO_LOG=info",    "--set",
                         "UNISONO_X=a b",       "--library", "/u/lib/libunisono.so"};
      words.insert(words.end(), own.begin(), own.end());
    } else {
      words.push_back(word == "mpirun" || word == "srun" ? launchers + word : word);
    }
  }
  return words;
}

class LaunchRewrite : public testing::Test {
 protected:
  LaunchRewrite() {
    folder_.script("launchers/mpirun", "echo 'mpirun (Open MPI) 5.0.11'");
    folder_.script("launchers/srun", "exit 1");
  }
  Words words(const std::string& text) const { return words_of(text, folder_.path() + "/launchers/"); }
  Understood rewritten(const std::string& command) const {
    return rewrite(words(command), shim, launcher_of(words(command), ""));
  }

  const Folder folder_{{"prog", "sub/other", "elsewhere/tool"}, {}};
};

TEST_F(LaunchRewrite, puts_the_shim_before_each_program) {
  for (const auto& [command, result] : {
           std::pair{"mpirun -n 2 ./a 1 2", "mpirun -n 2 <shim> -- ./a 1 2"},
           {"mpirun -n 2 -- ./a", "mpirun -n 2 -- <shim> -- ./a"},
           {"mpirun -n 2 ./a : -n 3 ./b x", "mpirun -n 2 <shim> -- ./a : -n 3 <shim> -- ./b x"},
           {"mpirun -n 2 python s.py : ./b", "mpirun -n 2 <shim> -- python s.py : <shim> -- ./b"},
           {"srun -n2 ./a : -n 3 ./b", "srun -n2 <shim> -- ./a : -n 3 <shim> -- ./b"},
           {"timeout 60 mpirun -n 2 ./a", "timeout 60 mpirun -n 2 <shim> -- ./a"},
           {"env A=1 mpirun ./a", "env A=1 mpirun <shim> -- ./a"},
           {"./a 1", "<shim> -- ./a 1"},
           {"python script.py mpirun", "<shim> -- python script.py mpirun"},
           // The user's own mark.
           {"mpirun -n 2 unisono-exec ./a", "mpirun -n 2 <shim> -- ./a"},
           {"mpirun -n 2 /x/unisono-exec -- ./a", "mpirun -n 2 <shim> -- ./a"},
           {"mpirun unisono-exec --set UNISONO_X=1 -- ./a : ./b",
            "mpirun <shim> --set UNISONO_X=1 -- ./a : <shim> -- ./b"},
           {"mpirun -n 2 env A=1 unisono-exec ./a", "mpirun -n 2 env A=1 <shim> -- ./a"},
           {"jsrun -r 2 unisono-exec ./a", "jsrun -r 2 <shim> -- ./a"},
           {"./job.sh unisono-exec ./a : unisono-exec -- ./b", "./job.sh <shim> -- ./a : <shim> -- ./b"},
           // Programs that the launcher would find where the shim does not look.
           {"mpirun -n 2 prog 1", "mpirun -n 2 <shim> -- ./prog 1"},
           {"mpirun -wdir sub other", "mpirun -wdir sub <shim> -- ./other"},
           {"srun -D sub other", "srun -D sub <shim> -- ./other"},
           {"srun -D sub prog", "srun -D sub <shim> -- prog"},
           {"mpirun -n 2 sh prog", "mpirun -n 2 <shim> -- sh prog"},
           {"mpirun -n 2 nowhere", "mpirun -n 2 <shim> -- nowhere"},
       })
    EXPECT_EQ(rewritten(command).words, words(result)) << command;
}

TEST_F(LaunchRewrite, looks_in_the_search_path_of_the_launcher) {
  const Words words = rewritten("mpirun --path elsewhere tool x").words;
  EXPECT_EQ(words[words.size() - 2], folder_.path() + "/elsewhere/tool");
  EXPECT_EQ(words.back(), "x");
}

TEST_F(LaunchRewrite, hydra_looks_in_path_only) {
  folder_.script("launchers/mpirun", "echo 'HYDRA build details:'; echo '    Version:  4.0.2'");
  EXPECT_EQ(rewritten("mpirun prog").words.back(), "prog");
}

TEST_F(LaunchRewrite, explains) {
  const std::string explanation = rewritten("mpirun ./a : unisono-exec ./b").explanation;
  EXPECT_NE(explanation.find("Open MPI 5.0.11"), std::string::npos);
  EXPECT_TRUE(explanation.ends_with("programs: ./a, ./b")) << explanation;
}

TEST_F(LaunchRewrite, refuses) {
  for (const auto& [command, says] :
       {std::pair{"jsrun -r 2 ./a", "does not know the options of jsrun"},
        {"mpirun_rsh -np 2 n0 n1 ./a", "does not know the options of mpirun_rsh"},
        {"mpirun -n 2", "found no program"},
        {"mpirun -n 2 unisono-exec", "no program follows unisono-exec"},
        {"./job.sh unisono-exec --", "no program follows unisono-exec"}}) {
    try {
      rewritten(command);
      ADD_FAILURE() << command << " is not refused";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace unisono::launch
