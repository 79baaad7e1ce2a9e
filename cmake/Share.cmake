# SPDX-License-Identifier: BSD-3-Clause
# Manual pages and completion for shells, from what the commands say of themselves, into share/ of the build. That takes a Python
# with the packages that the command line needs: the one that builds a wheel, else the tree's own, else the first of PATH. Where
# there is none, or what is built is for another machine, an installation goes without them.
#   UNISONO_SHARE_HOME   a build whose unisono-tool this machine can start, for builds that are for another one
set(UNISONO_SHARE_HOME "" CACHE PATH "a build that this machine can ask for manual pages, where its own is for another one")

function(unisono_share_python result)
  if(SKBUILD AND Python_EXECUTABLE)
    set(UNISONO_PYTHON ${Python_EXECUTABLE} CACHE FILEPATH "a Python with click and rich")
  endif()
  find_program(UNISONO_PYTHON NAMES python3 HINTS ${CMAKE_SOURCE_DIR}/.venv/bin DOC "a Python with click and rich")
  set(${result} "" PARENT_SCOPE)
  if(UNISONO_PYTHON)
    execute_process(COMMAND ${UNISONO_PYTHON} -c "import click, rich" RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
      set(${result} ${UNISONO_PYTHON} PARENT_SCOPE)
    endif()
  endif()
endfunction()

unisono_share_python(share_python)
set(share_home ${CMAKE_BINARY_DIR})
if(UNISONO_SHARE_HOME)
  set(share_home ${UNISONO_SHARE_HOME})
endif()
set(share ${CMAKE_BINARY_DIR}/share)
if(NOT share_python)
  message(STATUS "no manual pages and completions: no Python with click and rich was found (UNISONO_PYTHON)")
elseif(CMAKE_CROSSCOMPILING AND NOT EXISTS "${UNISONO_SHARE_HOME}/bin/unisono-tool")
  message(STATUS "no manual pages and completions: let UNISONO_SHARE_HOME name a build for this machine")
elseif(NOT UNISONO_SANITIZE)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS python/unisono/*.py tools/man/*.py)
  add_custom_command(
    OUTPUT ${share}/.made
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${share}
    COMMAND ${CMAKE_COMMAND} -E env UNISONO_HOME=${share_home} PYTHONDONTWRITEBYTECODE=1
            ${share_python} ${CMAKE_SOURCE_DIR}/tools/generate_share.py ${share}
    COMMAND ${CMAKE_COMMAND} -E touch ${share}/.made
    DEPENDS unisono_tool unisono_exec ${CMAKE_SOURCE_DIR}/include/unisono/unisono.h
            ${CMAKE_SOURCE_DIR}/tools/generate_share.py ${sources}
    COMMENT "Writing manual pages and completions"
    VERBATIM)
  add_custom_target(unisono_share ALL DEPENDS ${share}/.made)
  install(DIRECTORY ${share}/ DESTINATION ${prefix}/share COMPONENT runtime PATTERN .made EXCLUDE)
endif()
