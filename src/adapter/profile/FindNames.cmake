# SPDX-License-Identifier: BSD-3-Clause
# The names of a family's MPI functions, read from its header: what the profile counts. Writes the header
# profile_names.h with one macro, UNISONO_PROFILE_NAMES(X), into a directory of the build, and sets `result` to
# that directory.
#
# Left out are what MPI has removed, what turns handles into numbers of Fortran and back, and MPI_Pcontrol.
set(UNISONO_NAMES_NOT_PROFILED
  Address Errhandler_create Errhandler_get Errhandler_set Type_extent Type_hindexed Type_hvector Type_lb
  Type_struct Type_ub Pcontrol)

function(unisono_profile_names family include_directory result)
  set(names)
  foreach(file mpi.h mpi_proto.h mpi_abi.h)
    if(family STREQUAL mpiabi AND NOT file STREQUAL mpi_abi.h)
      continue()
    elseif(NOT family STREQUAL mpiabi AND file STREQUAL mpi_abi.h)
      continue()
    elseif(EXISTS ${include_directory}/${file})
      file(STRINGS ${include_directory}/${file} lines REGEX "PMPI_[A-Z][a-z][A-Za-z0-9_]* *\\(")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${include_directory}/${file})
      foreach(line IN LISTS lines)
        if(NOT line MATCHES "^[ ]*#" AND line MATCHES "PMPI_([A-Z][a-z][A-Za-z0-9_]*) *\\(")
          list(APPEND names ${CMAKE_MATCH_1})
        endif()
      endforeach()
    endif()
  endforeach()
  list(REMOVE_ITEM names ${UNISONO_NAMES_NOT_PROFILED})
  list(FILTER names EXCLUDE REGEX "_(f2c|c2f|f082c|c2f08|f2f08|f082f|toint|fromint)$")
  list(REMOVE_DUPLICATES names)
  list(SORT names)
  set(text "// Made by src/adapter/profile/FindNames.cmake from ${include_directory}.\n#pragma once\n\n")
  string(APPEND text "#define UNISONO_PROFILE_NAMES(X)")
  foreach(name IN LISTS names)
    string(APPEND text " \\\n  X(${name})")
  endforeach()
  if(NOT "Allreduce_c" IN_LIST names)
    string(APPEND text "\n\n#define UNISONO_PROFILE_LACKS_LARGE_COLLECTIVES")
  endif()
  set(directory ${CMAKE_CURRENT_BINARY_DIR}/profile/${family})
  file(CONFIGURE OUTPUT ${directory}/profile_names.h CONTENT "${text}\n" @ONLY)
  set(${result} ${directory} PARENT_SCOPE)
endfunction()
