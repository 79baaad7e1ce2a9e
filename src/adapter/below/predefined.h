// SPDX-License-Identifier: BSD-3-Clause
// The predefined datatypes and operators of a family: handle and kind. X(handle, kind).
#pragma once

#include "adapter/below/family.h"

#if defined(UNISONO_FAMILY_OPENMPI)
// Open MPI's handles are addresses of data in its library. Which handles there are depends on its version and
// on the Fortran compiler it was built with. So all are weak symbols here: a handle that the library at hand
// lacks has the address null.
// clang-format off
#define UNISONO_TYPES(X) \
  X(byte, byte) X(packed, byte) X(char, character) X(wchar, other) X(character, character) \
  X(signed_char, signed_integer) X(unsigned_char, unsigned_integer) X(short, signed_integer) \
  X(unsigned_short, unsigned_integer) X(int, signed_integer) X(unsigned, unsigned_integer) \
  X(long, signed_integer) X(unsigned_long, unsigned_integer) X(long_long_int, signed_integer) \
  X(unsigned_long_long, unsigned_integer) X(int8_t, signed_integer) X(uint8_t, unsigned_integer) \
  X(int16_t, signed_integer) X(uint16_t, unsigned_integer) X(int32_t, signed_integer) \
  X(uint32_t, unsigned_integer) X(int64_t, signed_integer) X(uint64_t, unsigned_integer) \
  X(aint, multi_language_integer) X(offset, multi_language_integer) X(count, multi_language_integer) X(float, floating) \
  X(double, floating) X(long_double, floating) X(c_float_complex, complex) \
  X(c_double_complex, complex) X(c_long_double_complex, complex) X(c_bool, c_bool) \
  X(cxx_bool, c_bool) X(cxx_cplex, complex) X(cxx_dblcplex, complex) X(cxx_ldblcplex, complex) \
  X(float_int, float_int) X(double_int, double_int) X(2int, int_int) X(long_int, pair) \
  X(short_int, pair) X(longdbl_int, pair) X(integer, fortran_integer) X(integer1, fortran_integer) \
  X(integer2, fortran_integer) X(integer4, fortran_integer) X(integer8, fortran_integer) \
  X(integer16, fortran_integer) X(real, floating) X(real2, floating) X(real4, floating) \
  X(real8, floating) X(real16, floating) X(dblprec, floating) X(cplex, complex) \
  X(complex4, complex) X(complex8, complex) X(complex16, complex) X(complex32, complex) \
  X(dblcplex, complex) X(logical, logical) X(logical1, logical) X(logical2, logical) \
  X(logical4, logical) X(logical8, logical) X(2integer, int_int) X(2real, pair) X(2dblprec, pair) \
  X(2cplex, other) X(2dblcplex, other)
// clang-format on
#define UNISONO_WEAK_TYPE(name, kind) \
  extern "C" __attribute__((weak)) ompi_predefined_datatype_t ompi_mpi_##name;
struct ompi_predefined_datatype_t;
UNISONO_TYPES(UNISONO_WEAK_TYPE)
#undef UNISONO_WEAK_TYPE
#define UNISONO_TYPE_HANDLE(name) reinterpret_cast<MPI_Datatype>(&ompi_mpi_##name)
#else
// clang-format off
#define UNISONO_TYPES(X) \
  X(BYTE, byte) X(PACKED, byte) X(CHAR, character) X(WCHAR, other) X(CHARACTER, character) \
  X(SIGNED_CHAR, signed_integer) X(UNSIGNED_CHAR, unsigned_integer) X(SHORT, signed_integer) \
  X(UNSIGNED_SHORT, unsigned_integer) X(INT, signed_integer) X(UNSIGNED, unsigned_integer) \
  X(LONG, signed_integer) X(UNSIGNED_LONG, unsigned_integer) X(LONG_LONG_INT, signed_integer) \
  X(UNSIGNED_LONG_LONG, unsigned_integer) X(INT8_T, signed_integer) X(UINT8_T, unsigned_integer) \
  X(INT16_T, signed_integer) X(UINT16_T, unsigned_integer) X(INT32_T, signed_integer) \
  X(UINT32_T, unsigned_integer) X(INT64_T, signed_integer) X(UINT64_T, unsigned_integer) \
  X(AINT, multi_language_integer) X(OFFSET, multi_language_integer) X(COUNT, multi_language_integer) X(FLOAT, floating) \
  X(DOUBLE, floating) X(LONG_DOUBLE, floating) X(C_FLOAT_COMPLEX, complex) \
  X(C_DOUBLE_COMPLEX, complex) X(C_LONG_DOUBLE_COMPLEX, complex) X(C_BOOL, c_bool) \
  X(CXX_BOOL, c_bool) X(CXX_FLOAT_COMPLEX, complex) X(CXX_DOUBLE_COMPLEX, complex) \
  X(CXX_LONG_DOUBLE_COMPLEX, complex) X(FLOAT_INT, float_int) X(DOUBLE_INT, double_int) \
  X(2INT, int_int) X(LONG_INT, pair) X(SHORT_INT, pair) X(LONG_DOUBLE_INT, pair) \
  X(INTEGER, fortran_integer) X(INTEGER1, fortran_integer) X(INTEGER2, fortran_integer) \
  X(INTEGER4, fortran_integer) X(INTEGER8, fortran_integer) X(INTEGER16, fortran_integer) \
  X(REAL, floating) X(REAL4, floating) X(REAL8, floating) X(REAL16, floating) \
  X(DOUBLE_PRECISION, floating) X(COMPLEX, complex) X(COMPLEX8, complex) X(COMPLEX16, complex) \
  X(COMPLEX32, complex) X(DOUBLE_COMPLEX, complex) X(LOGICAL, logical) X(2INTEGER, int_int) \
  X(2REAL, pair) X(2DOUBLE_PRECISION, pair)
// clang-format on
#define UNISONO_TYPE_HANDLE(name) MPI_##name
#endif

// clang-format off
#define UNISONO_OPERATORS(X) \
  X(SUM, sum) X(PROD, prod) X(MIN, min) X(MAX, max) X(LAND, land) X(LOR, lor) X(LXOR, lxor) \
  X(BAND, band) X(BOR, bor) X(BXOR, bxor) X(MINLOC, minloc) X(MAXLOC, maxloc)
// clang-format on
