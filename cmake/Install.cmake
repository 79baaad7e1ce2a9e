# SPDX-License-Identifier: BSD-3-Clause
# One layout for every kind of installation, below a prefix:
#   bin/unisono, bin/unisono-cli, bin/unisono-exec    commands
#   lib/unisono/                                      what is preloaded, the adapters beside it, unisono-tool
#   include/unisono/unisono.h                         for programs
#   share/unisono/programs/                           sources that `unisono bench` compiles with the MPI's own compiler
#   share/man, share/bash-completion, ...             where they are made
# All parts find each other by where they lie, so that the prefix can be moved. A wheel has the same below its environment.
# Components: `runtime` is what is compiled and lies beside it, `python` the package where no wheel installs that.
if(SKBUILD)
  set(bin ${SKBUILD_SCRIPTS_DIR})
  set(prefix ${SKBUILD_DATA_DIR})
else()
  set(bin bin)
  set(prefix .)
endif()

install(TARGETS unisono_exec RUNTIME DESTINATION ${bin} COMPONENT runtime)
install(TARGETS unisono_tool RUNTIME DESTINATION ${prefix}/lib/unisono COMPONENT runtime)
install(TARGETS unisono_entry LIBRARY DESTINATION ${prefix}/lib/unisono COMPONENT runtime)
foreach(family openmpi mpich mpiabi)
  if(TARGET unisono_${family})
    install(TARGETS unisono_${family} LIBRARY DESTINATION ${prefix}/lib/unisono COMPONENT runtime)
  endif()
endforeach()
install(FILES include/unisono/unisono.h DESTINATION ${prefix}/include/unisono COMPONENT runtime)
file(GLOB programs CONFIGURE_DEPENDS src/measure/*.c src/measure/*.h)
install(FILES ${programs} benchmarks/latencies.c DESTINATION ${prefix}/share/unisono/programs COMPONENT runtime)
if(NOT SKBUILD)
  install(FILES LICENSE DESTINATION share/doc/unisono COMPONENT runtime)
endif()
