// SPDX-License-Identifier: BSD-3-Clause
#include "launch/linked_mpi.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/program_file.h"

namespace unisono::launch {
namespace {

constexpr std::string_view openmpi = "Open MPI", mpich = "MPICH or Intel MPI";
constexpr std::size_t most_entries = 4096, most_text = std::size_t{1} << 24;

// What a dynamically linked program asks of the loader.
struct Wanted {
  std::vector<std::string> libraries;
  std::string folders;  // with colons
};

class File {
 public:
  explicit File(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;

  // `count` objects at `offset`; none where the file does not hold them all.
  template <typename T>
  std::vector<T> read(std::size_t offset, std::size_t count) const {
    std::vector<T> objects(count);
    const auto bytes = static_cast<ssize_t>(count * sizeof(T));
    if (descriptor_ < 0 ||
        ::pread(descriptor_, objects.data(), count * sizeof(T), static_cast<off_t>(offset)) != bytes)
      objects.clear();
    return objects;
  }

 private:
  int descriptor_;
};

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Entry = ElfW(Dyn);

std::size_t offset_of(const std::vector<Segment>& segments, std::size_t address) {
  for (const Segment& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return segment.p_offset + (address - segment.p_vaddr);
  }
  return 0;
}

Wanted wanted_by(const std::string& path) {
  Wanted wanted;
  if (unisono_look_at_program(path.c_str()) != unisono_file_dynamic) return wanted;
  const File file(path);
  const std::vector<Header> header = file.read<Header>(0, 1);
  if (header.empty() || header[0].e_phentsize != sizeof(Segment)) return wanted;
  const std::vector<Segment> segments = file.read<Segment>(header[0].e_phoff, header[0].e_phnum);
  const auto dynamic = std::ranges::find(segments, static_cast<unsigned>(PT_DYNAMIC), &Segment::p_type);
  if (dynamic == segments.end()) return wanted;
  const std::vector<Entry> entries =
      file.read<Entry>(dynamic->p_offset, std::min(dynamic->p_filesz / sizeof(Entry), most_entries));
  std::size_t table = 0, size = 0;
  for (const Entry& entry : entries) {
    if (entry.d_tag == DT_STRTAB) table = offset_of(segments, entry.d_un.d_ptr);
    if (entry.d_tag == DT_STRSZ) size = entry.d_un.d_val;
  }
  const std::vector<char> text = file.read<char>(table, std::min(size, most_text));
  if (text.empty() || text.back() != '\0') return wanted;
  for (const Entry& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    const std::string name = entry.d_un.d_val < text.size() ? &text[entry.d_un.d_val] : "";
    if (entry.d_tag == DT_NEEDED) wanted.libraries.push_back(name);
    if (entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH)
      wanted.folders += (wanted.folders.empty() ? "" : ":") + name;
  }
  return wanted;
}

// Open MPI's libmpi has the number 40 since version 3, and had 20 in version 2. The number 12 is that of all
// MPIs with MPICH's interface; Open MPI 1.10 had it too.
std::string_view family_of(std::string_view library) {
  for (const std::string_view name : {"libmpi.so.40", "libmpi.so.20", "libmpi_ibm.so"}) {
    if (library.starts_with(name)) return openmpi;
  }
  for (const std::string_view name : {"libmpi.so.12", "libmpich.so.12"}) {
    if (library.starts_with(name)) return mpich;
  }
  return {};
}

// The folders in which the program looks for its libraries, as far as the MPI lies there.
Words folders_with(const std::string& library, std::string_view folders) {
  Words found;
  while (!folders.empty()) {
    const std::size_t colon = std::min(folders.find(':'), folders.size());
    const std::string folder(folders.substr(0, colon));
    folders.remove_prefix(std::min(colon + 1, folders.size()));
    if (folder.find('$') == std::string::npos && ::access((folder + "/" + library).c_str(), F_OK) == 0)
      found.push_back(folder);
  }
  return found;
}

// bin/mpirun beside one of the folders.
std::string launcher_beside(const Words& folders) {
  for (const std::string& folder : folders) {
    for (const char* name : {"/../bin/mpiexec.hydra", "/../bin/mpirun"}) {
      if (!is_executable(folder + name)) continue;
      char* real = ::realpath((folder + name).c_str(), nullptr);
      const std::string found = real == nullptr ? "" : real;
      std::free(real);
      if (!found.empty()) return found;
    }
  }
  return {};
}

}  // namespace

LinkedMpi linked_mpi(const std::string& program) {
  if (program.empty()) return {};
  const Wanted wanted = wanted_by(program);
  LinkedMpi linked;
  for (const std::string& library : wanted.libraries) {
    const std::string_view family = family_of(library);
    if (family.empty()) continue;
    if (!linked.family.empty() && linked.family != family) return {};  // who does that knows why
    const Words folders = folders_with(library, wanted.folders);
    linked = {std::string(family), library, folders.empty() ? std::string() : folders[0] + "/" + library,
              launcher_beside(folders)};
  }
  return linked;
}

bool uses_no_mpi(const std::string& program) {
  if (program.empty()) return false;
  const Wanted wanted = wanted_by(program);
  return !wanted.libraries.empty() && std::ranges::none_of(wanted.libraries, [](const std::string& library) {
    return library.find("mpi") != std::string::npos;
  });
}

bool starts(const Launcher& launcher, const LinkedMpi& linked) {
  const std::string_view flavour = launcher.flavour->name;
  // By itself it starts whatever knows PMIx, which an MPICH may.
  if (base_name(launcher.path).starts_with("prterun")) return true;
  if (flavour.starts_with("openmpi")) {
    const bool is_ancient = launcher.version.starts_with("1.");
    return linked.family != mpich || is_ancient;
  }
  return (flavour != "mpich" && flavour != "intel") || linked.family != openmpi;
}

}  // namespace unisono::launch
