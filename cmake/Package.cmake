# SPDX-License-Identifier: BSD-3-Clause
# `cpack -G DEB` and `cpack -G RPM` in the build tree: one package of all components, below /usr.
# No tool looks for libraries that it needs: of what is linked, Open MPI's name is a stand-in, and the rest is the C library.
set(CPACK_PACKAGE_NAME unisono)
set(CPACK_PACKAGE_VENDOR "Unisono")
set(CPACK_PACKAGE_CONTACT "Unisono developers <unisono@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "collective communication that tunes itself, under any MPI program")
set(CPACK_PACKAGE_DESCRIPTION
  "Unisono is preloaded into MPI programs and makes their collectives
faster: put `unisono run` before mpirun. It works under Open MPI, MPICH,
Intel MPI and the standard ABI; programs are not compiled anew.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime python system)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DEPENDS
  "libc6 (>= 2.34), python3 (>= 3.10), python3-click (>= 8.1), python3-rich (>= 13.3)")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-numpy, python3-jinja2, libhwloc15")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-matplotlib, mpi-default-bin")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${CMAKE_SOURCE_DIR}/packaging/debian/postinst ${CMAKE_SOURCE_DIR}/packaging/debian/prerm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# `unisono run` needs no Python: machines whose own is too old can have the package.
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE "BSD-3-Clause")
set(CPACK_RPM_PACKAGE_GROUP "Productivity/Clustering/Computing")
set(CPACK_RPM_PACKAGE_AUTOREQPROV no)
set(CPACK_RPM_PACKAGE_REQUIRES "glibc >= 2.34")
set(CPACK_RPM_PACKAGE_DESCRIPTION ${CPACK_PACKAGE_DESCRIPTION})
set(CPACK_RPM_POST_INSTALL_SCRIPT_FILE ${CMAKE_SOURCE_DIR}/packaging/rpm/post.sh)
set(CPACK_RPM_PRE_UNINSTALL_SCRIPT_FILE ${CMAKE_SOURCE_DIR}/packaging/rpm/preun.sh)
# Folders that others own.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
  /usr/share/man /usr/share/man/man1 /usr/share/man/man3 /usr/share/man/man5
  /usr/share/bash-completion /usr/share/bash-completion/completions
  /usr/share/zsh /usr/share/zsh/site-functions /usr/share/fish /usr/share/fish/vendor_completions.d)
# Text for the spec file: what CPack has no setting for.
set(CPACK_RPM_SPEC_MORE_DEFINE
  "%define _build_id_links none
%define __brp_mangle_shebangs %{nil}
%define __brp_python_bytecompile %{nil}
Recommends: python3 >= 3.10
Recommends: hwloc-libs
Recommends: python3-click
Recommends: python3-rich")

# Debian wants it so: under this name, and small.
find_program(UNISONO_GZIP gzip)
if(UNISONO_GZIP)
  execute_process(COMMAND ${UNISONO_GZIP} -9nc ${CMAKE_SOURCE_DIR}/CHANGELOG.md OUTPUT_FILE ${CMAKE_BINARY_DIR}/changelog.gz)
  install(FILES ${CMAKE_BINARY_DIR}/changelog.gz DESTINATION share/doc/unisono COMPONENT system)
  # Manual pages too, in packages alone: there this component is installed by itself, after the others.
  install(CODE "
    if(CMAKE_INSTALL_COMPONENT STREQUAL \"system\")
      file(GLOB pages \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/man/man*/*.[1-9]\")
      if(pages)
        execute_process(COMMAND ${UNISONO_GZIP} -9nf \${pages})
      endif()
    endif()" COMPONENT system)
endif()
install(FILES packaging/debian/copyright DESTINATION share/doc/unisono COMPONENT system)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  set(CPACK_RPM_PACKAGE_ARCHITECTURE aarch64)
endif()
include(CPack)
