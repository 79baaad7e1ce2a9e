# SPDX-License-Identifier: BSD-3-Clause
# Berkeley SoftFloat, where its sources are (tools/setup.sh fetches them): agents can then do without floating point.
set(UNISONO_SOFTFLOAT ${CMAKE_SOURCE_DIR}/.softfloat CACHE PATH "folder of SoftFloat's sources; where there are none it is left out")
set(source ${UNISONO_SOFTFLOAT}/source)
if(EXISTS ${source}/include/softfloat.h)
  set(files
    f32_add.c f32_lt_quiet.c f32_mul.c f64_add.c f64_lt_quiet.c f64_mul.c s_addMagsF32.c s_addMagsF64.c
    s_countLeadingZeros8.c s_countLeadingZeros32.c s_countLeadingZeros64.c s_mul64To128.c s_normRoundPackToF32.c
    s_normRoundPackToF64.c s_normSubnormalF32Sig.c s_normSubnormalF64Sig.c s_roundPackToF32.c s_roundPackToF64.c
    s_shiftRightJam32.c s_shiftRightJam64.c s_shiftRightJam64Extra.c s_shortShiftRightJam64.c s_subMagsF32.c
    s_subMagsF64.c softfloat_state.c RISCV/s_propagateNaNF32UI.c RISCV/s_propagateNaNF64UI.c
    RISCV/softfloat_raiseFlags.c)
  list(TRANSFORM files PREPEND ${source}/)
  target_sources(unisono_core PRIVATE ${files})
  unisono_apart(${files})
  set_source_files_properties(${files} PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON
    COMPILE_OPTIONS -w
    INCLUDE_DIRECTORIES "${source};${source}/include;${source}/RISCV"
    # Its state is the process's: a library that is loaded late has no room for more thread-local variables.
    COMPILE_DEFINITIONS SOFTFLOAT_FAST_INT64)
  set_source_files_properties(src/agents/soft_float.cc TARGET_DIRECTORY unisono_core PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON
    INCLUDE_DIRECTORIES "${source}/include"
    COMPILE_DEFINITIONS "UNISONO_HAS_SOFTFLOAT=1;SOFTFLOAT_FAST_INT64")
endif()
