// SPDX-License-Identifier: BSD-3-Clause
#define _GNU_SOURCE
#include "base/program_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/own_mpi.h"

#if defined(__x86_64__)
static const ElfW(Half) own_machine = EM_X86_64;
#elif defined(__aarch64__)
static const ElfW(Half) own_machine = EM_AARCH64;
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static const unsigned char own_byte_order = ELFDATA2LSB;
#else
static const unsigned char own_byte_order = ELFDATA2MSB;
#endif

static int has_segment(int file, const ElfW(Ehdr) * header, ElfW(Word) type) {
  for (int i = 0; i < header->e_phnum; ++i) {
    ElfW(Phdr) segment;
    const off_t offset = (off_t)(header->e_phoff + (ElfW(Off))i * header->e_phentsize);
    if (pread(file, &segment, sizeof segment, offset) != (ssize_t)sizeof segment) return 0;
    if (segment.p_type == type) return 1;
  }
  return 0;
}

static enum UnisonoFileKind kind_of(int file, int needs_loader) {
  ElfW(Ehdr) header;
  const ssize_t length = pread(file, &header, sizeof header, 0);
  if (length < 0) return unisono_file_unreadable;
  if (length < SELFMAG || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return unisono_file_no_elf;
  if (length < (ssize_t)sizeof header || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != own_byte_order || header.e_machine != own_machine) {
    return unisono_file_other_machine;
  }
  return !needs_loader || has_segment(file, &header, PT_INTERP) ? unisono_file_dynamic : unisono_file_static;
}

static enum UnisonoFileKind look_at(const char* path, int needs_loader) {
  const int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return unisono_file_unreadable;
  const enum UnisonoFileKind kind = kind_of(file, needs_loader);
  const int error = errno;
  close(file);
  errno = error;
  return kind;
}

enum UnisonoFileKind unisono_look_at_program(const char* path) {
  return look_at(path, 1);
}
enum UnisonoFileKind unisono_look_at_library(const char* path) {
  return look_at(path, 0);
}

int unisono_has_own_rights(const char* path) {
  struct stat status;
  if (stat(path, &status) != 0) return 0;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid()) return 1;
  if ((status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 && status.st_gid != getgid())
    return 1;
  return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static int try_program(const char* path) {
  struct stat status;
  if (stat(path, &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EACCES;
  return access(path, X_OK) == 0 ? 0 : errno;
}

int unisono_find_program(const char* name, char* path, size_t room) {
  if (name[0] == '\0') return ENOENT;
  if (strchr(name, '/') != NULL) {
    if ((size_t)snprintf(path, room, "%s", name) >= room) return ENAMETOOLONG;
    return try_program(path);
  }
  const char* search = getenv("PATH");
  if (search == NULL) search = "/bin:/usr/bin";
  int problem = ENOENT;
  while (search != NULL) {
    const char* end = strchrnul(search, ':');
    const int length = (int)(end - search);
    const int used = length == 0 ? snprintf(path, room, "./%s", name)
                                 : snprintf(path, room, "%.*s/%s", length, search, name);
    if (used > 0 && (size_t)used < room) {
      const int error = try_program(path);
      if (error == 0) return 0;
      if (error == EACCES) problem = EACCES;
    }
    search = *end == ':' ? end + 1 : NULL;
  }
  return problem;
}

const char* unisono_obstacle(const char* path) {
  switch (unisono_look_at_program(path)) {
    case unisono_file_static:
      return "is statically linked";
    case unisono_file_other_machine:
      return "is built for another architecture";
    default:
      if (unisono_has_own_rights(path)) return "runs with rights of its own (set-user-id or the like)";
      return unisono_has_own_mpi(path) ? "has an MPI linked in (it defines PMPI_Init)" : NULL;
  }
}
