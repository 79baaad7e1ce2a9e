// SPDX-License-Identifier: BSD-3-Clause
#include "base/own_mpi.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// An ELF file of this machine's kind, as it lies in memory; what a damaged header says is not believed.
struct Image {
  const char* bytes;
  size_t size;
};

// `count` objects of `each` bytes at `offset`, or null where the file does not hold them.
static const void* part(const struct Image* image, size_t offset, size_t count, size_t each) {
  if (each != 0 && count > image->size / each) return NULL;
  return offset <= image->size && count * each <= image->size - offset ? image->bytes + offset : NULL;
}

enum Finding { finds_nothing, finds_users, finds_definition };

static int begins_with(const char* name, const char* beginning) {
  return strncmp(name, beginning, strlen(beginning)) == 0;
}

// Definitions of PMPI_Init; failing that, symbols of MPI that others are to define.
static enum Finding look_at_symbols(const struct Image* image, const ElfW(Shdr) * table,
                                    const ElfW(Shdr) * strings) {
  const size_t count = table->sh_size / sizeof(ElfW(Sym));
  const ElfW(Sym)* symbols = part(image, table->sh_offset, count, sizeof *symbols);
  const char* names = part(image, strings->sh_offset, strings->sh_size, 1);
  if (symbols == NULL || names == NULL || strings->sh_size == 0 || names[strings->sh_size - 1] != '\0')
    return finds_nothing;
  enum Finding finding = finds_nothing;
  for (size_t i = 0; i < count; ++i) {
    if (symbols[i].st_name >= strings->sh_size) continue;
    const char* name = names + symbols[i].st_name;
    if (symbols[i].st_shndx == SHN_UNDEF) {
      if (begins_with(name, "MPI_") || begins_with(name, "PMPI_") || begins_with(name, "mpi_"))
        finding = finds_users;
    } else if (strcmp(name, "PMPI_Init") == 0 && ELF64_ST_TYPE(symbols[i].st_info) != STT_OBJECT) {
      return finds_definition;
    }
  }
  return finding;
}

static enum Finding look_at_tables(const struct Image* image, ElfW(Word) type) {
  const ElfW(Ehdr)* header = part(image, 0, 1, sizeof *header);
  if (header == NULL || header->e_shentsize != sizeof(ElfW(Shdr))) return finds_nothing;
  const ElfW(Shdr)* sections = part(image, header->e_shoff, header->e_shnum, sizeof *sections);
  if (sections == NULL) return finds_nothing;
  for (size_t i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != type || sections[i].sh_link >= header->e_shnum) continue;
    return look_at_symbols(image, &sections[i], &sections[sections[i].sh_link]);
  }
  return finds_nothing;
}

int unisono_has_own_mpi(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0) return 0;
  struct Image image = {MAP_FAILED, 0};
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > (off_t)sizeof(ElfW(Ehdr))) {
    image.size = (size_t)status.st_size;
    image.bytes = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, file, 0);
  }
  close(file);
  if (image.bytes == MAP_FAILED) return 0;
  enum Finding finding = finds_nothing;
  if (begins_with(image.bytes, ELFMAG)) {
    // What a program takes from a library it does not define: then the long table need not be read.
    finding = look_at_tables(&image, SHT_DYNSYM);
    if (finding == finds_nothing) finding = look_at_tables(&image, SHT_SYMTAB);
  }
  munmap((void*)image.bytes, image.size);
  return finding == finds_definition;
}
