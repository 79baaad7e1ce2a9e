// SPDX-License-Identifier: BSD-3-Clause
// Which launcher it is.
#include "launch/detect.h"

#include <gtest/gtest.h>

#include <sstream>

#include "folder.h"

namespace unisono::launch {
namespace {

Words words_of(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

TEST(LaunchDetect, reads_versions) {
  for (const auto& [text, flavour, number] :
       {std::tuple{"mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n",
                   "openmpi4", "4.1.4"},
        {"mpirun.openmpi (OpenRTE) 4.1.4\n", "openmpi4", "4.1.4"},
        {"mpirun (Open MPI) 5.0.11\n", "openmpi5", "5.0.11"},
        {"mpirun (Open MPI) 3.1.6rc2\n", "openmpi4", "3.1.6rc2"},
        {"prterun (PRRTE) 3.0.11\n", "openmpi5", "3.0.11"},
        {"mpirun (IBM Spectrum MPI) 10.4.0.6\n", "openmpi4", "10.4.0.6"},
        {"HYDRA build details:\n    Version:                                 4.0.2\n    CC: gcc\n", "mpich",
         "4.0.2"},
        {"Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: b4)\n", "intel",
         "2021.18.1"},
        {"PALS version 1.3\n", "unknown", ""},
        {"", "unknown", ""}}) {
    const Version version = parse_version(text);
    EXPECT_EQ(version.flavour->name, flavour) << text;
    EXPECT_EQ(version.number, number) << text;
  }
}

TEST(LaunchDetect, finds_the_launcher) {
  const Folder folder({"launchers/mpirun", "launchers/srun"}, {});
  const std::string launchers = folder.path() + "/launchers/";
  constexpr std::size_t none = 99;
  for (const auto& [text, position] : {std::pair{"mpirun -n 2 ./a", std::size_t{0}},
                                       {"/opt/mpi/bin/mpiexec.hydra -n 2 ./a", 0},
                                       {"mpirun.openmpi ./a", 0},
                                       {"mpiexec-mpich-clang ./a", 0},
                                       {"orterun ./a", 0},
                                       {"prterun ./a", 0},
                                       {"srun ./a", 0},
                                       {"timeout -k 5 60 @mpirun ./a", 4},
                                       {"env A=1 nice -n 5 @mpirun ./a", 5},
                                       {"timeout 60 mpirun-that-is-not-there ./a", none},
                                       {"./a mpirun", none},
                                       {"timeout 60 ./a", none},
                                       {"mpirun.py ./a", none},
                                       {"mpirun_rsh ./a", none},
                                       {"mpicc a.c", none},
                                       {"python mpirun", none}}) {
    std::string command = text;
    if (const std::size_t at = command.find('@'); at != std::string::npos) command.replace(at, 1, launchers);
    EXPECT_EQ(launcher_position(words_of(command)).value_or(none), position) << text;
  }
}

TEST(LaunchDetect, goes_by_the_name_of_a_silent_launcher) {
  const Folder folder({}, {});
  for (const auto& [name, flavour] : {std::pair{"prterun", "openmpi5"},
                                      {"orterun", "openmpi4"},
                                      {"mpirun.openmpi", "openmpi4"},
                                      {"mpiexec.hydra", "mpich"},
                                      {"mpirun.mpich", "mpich"},
                                      {"mpirun", "unknown"},
                                      {"srun", "srun"}}) {
    folder.script(name, "exit 1");
    EXPECT_EQ(identify(folder.path() + "/" + name, "").flavour->name, flavour);
  }
}

TEST(LaunchDetect, has_a_title) {
  const Version version = parse_version("mpirun (Open MPI) 5.0.11");
  EXPECT_EQ((Launcher{"/x", version.flavour, version.number}.title()), "Open MPI 5.0.11");
}

}  // namespace
}  // namespace unisono::launch
