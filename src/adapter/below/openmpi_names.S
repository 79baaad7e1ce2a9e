// SPDX-License-Identifier: BSD-3-Clause
// The data of Open MPI's library that the adapter and its tests name, for the linker alone: this is never loaded.
        .data
        .irp name, comm_world, comm_self, comm_null, group_null, op_null, datatype_null, errors_return, \
                op_sum, op_prod, op_min, op_max, op_land, op_lor, op_lxor, op_band, op_bor, op_bxor, \
                op_minloc, op_maxloc, op_replace, op_no_op, errhandler_null, byte, packed, char, wchar, \
                character, signed_char, unsigned_char, short, unsigned_short, int, unsigned, long, \
                unsigned_long, long_long_int, unsigned_long_long, int8_t, uint8_t, int16_t, uint16_t, \
                int32_t, uint32_t, int64_t, uint64_t, aint, offset, count, float, double, long_double, \
                c_float_complex, c_double_complex, c_long_double_complex, c_bool, cxx_bool, cxx_cplex, \
                cxx_dblcplex, cxx_ldblcplex, float_int, double_int, 2int, long_int, short_int, \
                longdbl_int, integer, integer1, integer2, integer4, integer8, integer16, real, real2, \
                real4, real8, real16, dblprec, cplex, complex4, complex8, complex16, complex32, dblcplex, \
                logical, logical1, logical2, logical4, logical8, 2integer, 2real, 2dblprec, 2cplex, \
                2dblcplex
        .globl  ompi_mpi_\name
        .type   ompi_mpi_\name, %object
        .size   ompi_mpi_\name, 8
ompi_mpi_\name:
        .quad   0
        .endr
        .irp name, ompi_request_null, ompi_message_null, ompi_mpi_info_null
        .globl  \name
        .type   \name, %object
        .size   \name, 8
\name:
        .quad   0
        .endr
        .section .note.GNU-stack, "", %progbits
