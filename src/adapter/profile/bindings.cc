// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/profile/bindings.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace unisono::adapter::profile {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t relocation_call = R_X86_64_JUMP_SLOT, relocation_data = R_X86_64_GLOB_DAT,
                        relocation_pointer = R_X86_64_64;
#elif defined(__aarch64__)
constexpr std::uint32_t relocation_call = R_AARCH64_JUMP_SLOT, relocation_data = R_AARCH64_GLOB_DAT,
                        relocation_pointer = R_AARCH64_ABS64;
#else
#error "bindings.cc knows x86-64 and AArch64 only"
#endif

// One loaded program or library, as its headers describe it.
class Object {
 public:
  explicit Object(const dl_phdr_info& info) : base_(info.dlpi_addr) {
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = info.dlpi_phdr[i];
      if (header.p_type == PT_LOAD) {
        first_ = std::min(first_, base_ + header.p_vaddr);
        last_ = std::max(last_, base_ + header.p_vaddr + header.p_memsz);
      }
      if (header.p_type == PT_GNU_RELRO) {
        const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        sealed_first_ = (base_ + header.p_vaddr) & ~(page - 1);
        sealed_last_ = (base_ + header.p_vaddr + header.p_memsz) & ~(page - 1);
      }
      if (header.p_type == PT_DYNAMIC) read(reinterpret_cast<const ElfW(Dyn)*>(base_ + header.p_vaddr));
    }
  }

  bool holds(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= first_ && at < last_;
  }

  void replace(const Replacements& replacements) {
    if (symbols_ == nullptr || names_ == nullptr) return;
    for (const auto& [table, bytes] : {std::pair(calls_, call_bytes_), std::pair(data_, data_bytes_)}) {
      for (std::size_t i = 0; table != nullptr && i < bytes / sizeof(ElfW(Rela)); ++i)
        look_at(table[i], replacements);
    }
    if (is_open_) mprotect(sealed(), sealed_last_ - sealed_first_, PROT_READ);
  }

 private:
  // The loader has made addresses of most of these; of the kernel's own library it has not.
  template <class T>
  void set(T* member, ElfW(Addr) value) {
    *member = reinterpret_cast<T>(value < base_ ? base_ + value : value);
  }

  void read(const ElfW(Dyn) * entry) {
    for (; entry->d_tag != DT_NULL; ++entry) {
      switch (entry->d_tag) {
        case DT_SYMTAB:
          set(&symbols_, entry->d_un.d_ptr);
          break;
        case DT_STRTAB:
          set(&names_, entry->d_un.d_ptr);
          break;
        case DT_JMPREL:
          set(&calls_, entry->d_un.d_ptr);
          break;
        case DT_PLTRELSZ:
          call_bytes_ = entry->d_un.d_val;
          break;
        case DT_RELA:
          set(&data_, entry->d_un.d_ptr);
          break;
        case DT_RELASZ:
          data_bytes_ = entry->d_un.d_val;
          break;
        default:
          break;
      }
    }
  }

  void look_at(const ElfW(Rela) & relocation, const Replacements& replacements) {
    const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(relocation.r_info));
    const bool is_pointer = type == relocation_pointer && relocation.r_addend == 0;
    if (type != relocation_call && type != relocation_data && !is_pointer) return;
    std::string_view name(names_ + symbols_[ELF64_R_SYM(relocation.r_info)].st_name);
    const bool is_inner = name.starts_with("PMPI_");
    if (!is_inner && !name.starts_with("MPI_")) return;
    name.remove_prefix(is_inner ? 5 : 4);
    const auto found = replacements.find(name);
    if (found == replacements.end()) return;
    auto* place = reinterpret_cast<const void**>(base_ + relocation.r_offset);
    if (leads_to_mpi(*place, found->second) ||
        (type == relocation_call && holds(*place) && (is_inner || !found->second.has_tool)))
      write(place, found->second.wrapper);
  }

  // A call that the loader finds when it is made first leads into the library's own code until then.
  static bool leads_to_mpi(const void* address, const Replacement& replacement) {
    return address != nullptr && (address == replacement.of_mpi || address == replacement.of_mpi_p);
  }

  void write(const void** place, const void* value) {
    const auto at = reinterpret_cast<std::uintptr_t>(place);
    if (!is_open_ && at >= sealed_first_ && at < sealed_last_) {
      if (mprotect(sealed(), sealed_last_ - sealed_first_, PROT_READ | PROT_WRITE) != 0) return;
      is_open_ = true;
    }
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
  }

  void* sealed() const { return reinterpret_cast<void*>(sealed_first_); }

  std::uintptr_t base_, first_ = UINTPTR_MAX, last_ = 0;
  std::uintptr_t sealed_first_ = 0, sealed_last_ = 0;  // what the loader has made read-only
  bool is_open_ = false;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  const ElfW(Rela) * calls_ = nullptr;
  const ElfW(Rela) * data_ = nullptr;
  std::size_t call_bytes_ = 0, data_bytes_ = 0;
};

struct Search {
  const Replacements& replacements;
  const void* mpi;
};

std::set<std::pair<std::uintptr_t, std::string>>& seen_objects() {
  static auto* seen = new std::set<std::pair<std::uintptr_t, std::string>>;
  return *seen;
}

int look_at_object(dl_phdr_info* info, std::size_t, void* data) {
  const auto& search = *static_cast<const Search*>(data);
  const char* name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  if (!seen_objects().emplace(info->dlpi_addr, name).second) return 0;
  Object object(*info);
  if (!object.holds(search.mpi) && !object.holds(reinterpret_cast<const void*>(&look_at_object)))
    object.replace(search.replacements);
  return 0;
}

}  // namespace

void replace_bindings(const Replacements& replacements, const void* mpi) {
  Search search{replacements, mpi};
  dl_iterate_phdr(look_at_object, &search);
}

}  // namespace unisono::adapter::profile
