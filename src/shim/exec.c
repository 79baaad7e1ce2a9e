// SPDX-License-Identifier: BSD-3-Clause
// unisono-exec starts one program of a job with Unisono preloaded, on the host where the launcher started it.
// `unisono run` puts it before each program. It checks what would otherwise go wrong silently: ld.so only
// warns of a library it cannot preload, and ranks with and without Unisono must not mix. Then it adds the
// library, and becomes the program.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program_file.h"
#include "preload/error_message.h"
#include "shim/end_job.h"

static const char usage[] =
    "usage: unisono-exec [--set NAME=VALUE]... [--library PATH] [--adapters NAMES] [--] PROGRAM "
    "[ARGUMENT]...\n"
    "\n"
    "Starts PROGRAM with libunisono.so preloaded, after whatever LD_PRELOAD names already.\n"
    "\n"
    "  --set NAME=VALUE  set a variable in the program's environment\n"
    "  --library PATH    the library to preload (default: ../lib/unisono/libunisono.so, seen from this\n"
    "                    program's folder)\n"
    "  --adapters NAMES  end the job unless these adapters, libunisono-NAME.so, lie beside the library: a\n"
    "                    list with commas of what the other hosts have\n"
    "  --help, --version\n"
    "\n"
    "A program that cannot be preloaded into (statically linked, an MPI linked in, set-user-id, for\n"
    "another architecture) is started without Unisono, and a message says so.\n"
    "\n"
    "Exit codes of its own: 125 the library or an adapter cannot be used on this host, or wrong arguments;\n"
    " 126 PROGRAM cannot be executed; 127 PROGRAM was not found. Under MPICH's launcher,\n"
    "SIGTERM instead: that alone makes it end the ranks on other hosts.\n";

struct Arguments {
  const char* library;
  const char* adapters;  // names with commas; null: none asked for
  char** program;        // with its arguments; ends with a null pointer
};

static const char* host_name(void) {
  static char name[256];
  if (gethostname(name, sizeof name - 1) != 0) return "this host";
  return name;
}

__attribute__((noreturn)) static void fail(const char* problem, const char* subject) {
  char shown[1024];
  unisono_show(subject, shown, sizeof shown);
  fprintf(stderr, "unisono-exec: %s%s%s\n%s", problem, shown[0] == '\0' ? "" : ": ", shown, usage);
  unisono_end_job(exit_own_failure);
}

__attribute__((noreturn)) static void refuse_file(const char* path, const char* problem) {
  unisono_say_once_per_node("%s: cannot use %s: %s (is Unisono installed on every host, at the same place?)",
                            host_name(), path, problem);
  unisono_end_job(exit_own_failure);
}

static void set_variable(char* assignment) {
  char* equals = strchr(assignment, '=');
  if (equals == NULL || equals == assignment) fail("--set wants NAME=VALUE", assignment);
  *equals = '\0';
  if (setenv(assignment, equals + 1, 1) != 0) fail("cannot set variable", assignment);
  *equals = '=';
}

// The value of option `name` at *position, given as `--name VALUE` or `--name=VALUE`; null where another
// argument stands there.
static char* option_value(const char* name, char** arguments, int* position) {
  char* argument = arguments[*position];
  const size_t length = strlen(name);
  if (strncmp(argument, name, length) != 0) return NULL;
  if (argument[length] == '=') return argument + length + 1;
  if (argument[length] != '\0') return NULL;
  if (arguments[*position + 1] == NULL) fail("a value is missing after", name);
  return arguments[++*position];
}

static struct Arguments parse(char** arguments) {
  struct Arguments parsed = {NULL, NULL, NULL};
  int position = 1;
  for (; arguments[position] != NULL && arguments[position][0] == '-'; ++position) {
    char* value = NULL;
    if (strcmp(arguments[position], "--") == 0) {
      ++position;
      break;
    }
    if (strcmp(arguments[position], "--help") == 0 || strcmp(arguments[position], "-h") == 0) {
      fputs(usage, stdout);
      exit(0);
    }
    if (strcmp(arguments[position], "--version") == 0) {
      puts("unisono-exec " UNISONO_VERSION);
      exit(0);
    }
    if ((value = option_value("--set", arguments, &position)) != NULL) {
      set_variable(value);
    } else if ((value = option_value("--library", arguments, &position)) != NULL) {
      parsed.library = value;
    } else if ((value = option_value("--adapters", arguments, &position)) != NULL) {
      parsed.adapters = value;
    } else {
      fail("unknown option", arguments[position]);
    }
  }
  parsed.program = arguments + position;
  if (parsed.program[0] == NULL) fail("no program given", "");
  return parsed;
}

// The loader, and every program that this one starts, may look from another directory.
static const char* absolute(const char* file) {
  static char path[PATH_MAX];
  char directory[PATH_MAX];
  if (file[0] == '/') return file;
  if (getcwd(directory, sizeof directory) == NULL) return file;
  const int length = snprintf(path, sizeof path, "%s/%s", directory, file);
  return length < (int)sizeof path ? path : file;
}

// The library of the installation that this program's file belongs to: ../lib/unisono/libunisono.so; in a
// build tree ../lib/libunisono.so.
static const char* own_library(void) {
  static char path[PATH_MAX + sizeof "/lib/unisono/libunisono.so"];
  char file[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", file, sizeof file - 1);
  if (length < 0) fail("cannot tell where this program lies; give --library", "");
  file[length] = '\0';
  for (int level = 0; level < 2; ++level) {
    char* slash = strrchr(file, '/');
    if (slash != NULL) *slash = '\0';
  }
  snprintf(path, sizeof path, "%s/lib/unisono/libunisono.so", file);
  if (access(path, F_OK) != 0) snprintf(path, sizeof path, "%s/lib/libunisono.so", file);
  return path;
}

static void check_file(const char* path) {
  switch (unisono_look_at_library(path)) {
    case unisono_file_dynamic:
    case unisono_file_static:
      break;
    case unisono_file_unreadable:
      refuse_file(path, strerror(errno));
    case unisono_file_no_elf:
      refuse_file(path, "it is no shared library");
    case unisono_file_other_machine:
      refuse_file(path, "it is built for another architecture");
  }
}

static void check_library(const char* path) {
  if (strpbrk(path, ": \t\n") != NULL) {
    refuse_file(path, "LD_PRELOAD cannot hold a path with colons or blanks");
  }
  check_file(path);
}

// A rank without the adapter that the others have would wait for other messages than they send.
static void check_adapters(const char* library, const char* names) {
  const char* slash = strrchr(library, '/');
  const int directory_length = slash == NULL ? 0 : (int)(slash - library) + 1;
  while (*names != '\0') {
    char path[PATH_MAX];
    const int length = (int)strcspn(names, ",");
    if (length > 0) {
      snprintf(path, sizeof path, "%.*slibunisono-%.*s.so", directory_length, library, length, names);
      check_file(path);
    }
    names += length + (names[length] == ',');
  }
}

static int is_in_list(const char* list, const char* path) {
  const size_t length = strlen(path);
  for (const char* found = strstr(list, path); found != NULL; found = strstr(found + 1, path)) {
    const int begins = found == list || found[-1] == ':' || found[-1] == ' ';
    const int ends = found[length] == '\0' || found[length] == ':' || found[length] == ' ';
    if (begins && ends) return 1;
  }
  return 0;
}

// Last, so that what the user preloads (a profiler that defines MPI_ functions, say) stays between the
// program and us.
static void preload(const char* library) {
  const char* given = getenv("LD_PRELOAD");
  if (given == NULL || given[0] == '\0') {
    if (setenv("LD_PRELOAD", library, 1) != 0) fail("cannot set variable", "LD_PRELOAD");
    return;
  }
  if (is_in_list(given, library)) return;
  char* list = NULL;
  if (asprintf(&list, "%s:%s", given, library) < 0 || setenv("LD_PRELOAD", list, 1) != 0) {
    fail("cannot set variable", "LD_PRELOAD");
  }
  free(list);
}

// AddressSanitizer's shared runtime refuses to start where another library comes first, for fear of functions
// that the other one defines. Of those that the runtime replaces the library defines dlopen alone, and hands
// it on; the runtime still comes before the C library. To preload the runtime itself would bring it into
// every program that this one starts. What the user says of the check stands behind ours, and wins.
static void admit_sanitizer(void) {
  static const char admission[] = "verify_asan_link_order=0";
  const char* given = getenv("ASAN_OPTIONS");
  if (given == NULL) given = "";
  if (strstr(given, admission) != NULL) return;
  char* options = NULL;
  if (asprintf(&options, "%s%s%s", admission, given[0] == '\0' ? "" : ":", given) < 0 ||
      setenv("ASAN_OPTIONS", options, 1) != 0) {
    fail("cannot set variable", "ASAN_OPTIONS");
  }
  free(options);
}

__attribute__((noreturn)) static void no_program(const char* name, int error) {
  unisono_say_once_per_node("%s: cannot run %s: %s", host_name(), name,
                            error == ENOENT ? "no such program" : strerror(error));
  unisono_end_job(error == ENOENT || error == ENOTDIR ? exit_not_found : exit_not_executable);
}

int main(int argc, char** argv) {
  (void)argc;
  const struct Arguments arguments = parse(argv);
  const char* library = arguments.library != NULL ? absolute(arguments.library) : own_library();
  check_library(library);
  if (arguments.adapters != NULL) check_adapters(library, arguments.adapters);
  char program[PATH_MAX];
  const int error = unisono_find_program(arguments.program[0], program, sizeof program);
  if (error != 0) no_program(arguments.program[0], error);
  const char* reason = unisono_obstacle(program);
  if (reason == NULL) {
    preload(library);
    admit_sanitizer();
  } else {
    unisono_say_once_per_job("%s %s; it runs without Unisono", program, reason);
  }
  // What is neither ELF nor has a #! line is left to the shell, as execvp does and some launchers with it.
  if (unisono_look_at_program(program) == unisono_file_no_elf) {
    execvp(arguments.program[0], arguments.program);
  } else {
    execv(program, arguments.program);
  }
  no_program(arguments.program[0], errno);
}
