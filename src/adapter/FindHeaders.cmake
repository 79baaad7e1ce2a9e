# SPDX-License-Identifier: BSD-3-Clause
# Finds one header of each ABI family, in this order: the directory given, the project's own MPI
# environments (.mpi), Debian's packages. Sets UNISONO_OPENMPI_HEADERS, UNISONO_MPICH_HEADERS and
# UNISONO_MPIABI_HEADERS (directories, empty where there is none).

function(unisono_find_header variable header)
  set(${variable} "" PARENT_SCOPE)
  foreach(directory ${ARGN})
    if(EXISTS ${directory}/${header})
      set(${variable} ${directory} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

unisono_find_header(UNISONO_OPENMPI_HEADERS mpi.h
  ${UNISONO_OPENMPI_INCLUDE}
  ${CMAKE_SOURCE_DIR}/.mpi/openmpi/include
  /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi/include)
unisono_find_header(UNISONO_MPICH_HEADERS mpi.h
  ${UNISONO_MPICH_INCLUDE}
  ${CMAKE_SOURCE_DIR}/.mpi/mpich/include
  /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/mpich)
unisono_find_header(UNISONO_MPIABI_HEADERS mpi_abi.h
  ${UNISONO_MPICH_INCLUDE}
  ${CMAKE_SOURCE_DIR}/.mpi/mpich/include)
