# SPDX-License-Identifier: BSD-3-Clause
# A wheel of what has been built and installed elsewhere: `make wheel`, also for other machines than this one.
if(NOT SKBUILD OR NOT EXISTS ${UNISONO_PREBUILT}/lib/unisono/libunisono.so)
  message(FATAL_ERROR "UNISONO_PREBUILT is for wheels, and names what `cmake --install` has made: ${UNISONO_PREBUILT}")
endif()
install(DIRECTORY ${UNISONO_PREBUILT}/bin/ DESTINATION ${SKBUILD_SCRIPTS_DIR} USE_SOURCE_PERMISSIONS COMPONENT runtime)
foreach(folder lib include share)
  install(DIRECTORY ${UNISONO_PREBUILT}/${folder} DESTINATION ${SKBUILD_DATA_DIR} USE_SOURCE_PERMISSIONS COMPONENT runtime)
endforeach()
