# SPDX-License-Identifier: BSD-3-Clause
# One layout for every kind of installation, below a prefix:
#   bin/unisono, bin/unisono-cli, bin/unisono-exec    commands
#   lib/unisono/                                      what is preloaded, the adapters beside it, unisono-tool, unisono-agent;
#                                                     python/ there is the Python package
#   include/unisono/unisono.h                         for programs
#   share/unisono/programs/                           sources that `unisono bench` compiles with the MPI's own compiler
#   share/man, share/bash-completion, ...             where they are made
# All parts find each other by where they lie, so that the prefix can be moved. A wheel has the same below its environment.
# Components: `runtime` is what a wheel holds beside its Python package, `python` that package for all others.
if(SKBUILD)
  set(bin ${SKBUILD_SCRIPTS_DIR})
  set(prefix ${SKBUILD_DATA_DIR})
else()
  set(bin bin)
  set(prefix .)
endif()

install(TARGETS unisono_exec unisono_front RUNTIME DESTINATION ${bin} COMPONENT runtime)
install(TARGETS unisono_tool unisono_agent RUNTIME DESTINATION ${prefix}/lib/unisono COMPONENT runtime)
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
  set(UNISONO_CLI_PYTHON "/usr/bin/env python3" CACHE STRING "the Python that the installed unisono-cli begins with")
  set(UNISONO_PYTHON_FOLDER lib/unisono/python)
  configure_file(packaging/unisono-cli.in unisono-cli @ONLY)
  install(PROGRAMS ${CMAKE_BINARY_DIR}/unisono-cli DESTINATION bin COMPONENT python)
  install(DIRECTORY python/unisono DESTINATION ${UNISONO_PYTHON_FOLDER} COMPONENT python
    PATTERN __pycache__ EXCLUDE)
  install(FILES LICENSE DESTINATION share/doc/unisono COMPONENT python)
  include(cmake/Package.cmake)
endif()

# Module files: share/unisono/modules/tcl/unisono/VERSION for Environment Modules, .../lua/unisono/VERSION.lua for Lmod, and
# VERSION-on for who wants Unisono in all MPI programs.
foreach(name "" -on)
  install(FILES packaging/modules/tcl/unisono${name} RENAME ${PROJECT_VERSION}${name}
    DESTINATION ${prefix}/share/unisono/modules/tcl/unisono COMPONENT runtime)
  install(FILES packaging/modules/lua/unisono${name}.lua RENAME ${PROJECT_VERSION}${name}.lua
    DESTINATION ${prefix}/share/unisono/modules/lua/unisono COMPONENT runtime)
endforeach()
