// SPDX-License-Identifier: BSD-3-Clause
#include "launch/agent_mpi.h"

#include <algorithm>
#include <filesystem>

#include "launch/linked_mpi.h"

namespace unisono::launch {
namespace {

namespace fs = std::filesystem;

// What the MPI of a launcher is called, if the launcher is an MPI's.
Words names_of(const Flavour& flavour) {
  if (flavour.name.starts_with("openmpi")) return {"libmpi.so.40"};
  if (flavour.name == "mpich") return {"libmpi.so.12", "libmpich.so.12"};
  if (flavour.name == "intel") return {"libmpi.so.12"};
  return {};
}

void add(const std::string& library, Words& libraries) {
  if (!library.empty() && std::ranges::find(libraries, library) == libraries.end())
    libraries.push_back(library);
}

// PREFIX/lib of a launcher in PREFIX/bin; Intel's library lies in lib/release of some versions.
void add_beside(const std::string& launcher, const Words& names, Words& libraries) {
  std::error_code failed;
  const fs::path prefix = fs::canonical(launcher, failed).parent_path().parent_path();
  if (failed) return;
  for (const char* folder : {"lib", "lib64", "lib/release"}) {
    for (const std::string& name : names) {
      const std::string file = prefix / folder / name;
      if (fs::exists(file, failed)) return add(file, libraries);
    }
  }
}

}  // namespace

Words agent_libraries(const Understood& understood) {
  const Words names = names_of(*understood.launcher->flavour);
  Words libraries;
  add_beside(understood.launcher->path, names, libraries);
  for (const std::string& program : understood.programs) {
    const LinkedMpi linked = linked_mpi(find_program(program));
    if (linked.family.empty()) continue;
    add(linked.file, libraries);
    add(linked.library, libraries);
  }
  for (const std::string& name : names) add(name, libraries);
  return libraries;
}

}  // namespace unisono::launch
