// SPDX-License-Identifier: BSD-3-Clause
// The data of Open MPI's library that the adapter names, for the linker alone: this is never loaded.
// (Datatypes are weak in the adapter and need no entry here, except those used by name.)
        .data
        .irp name, comm_world, comm_self, comm_null, group_null, op_null, datatype_null, errors_return, \
                op_sum, op_prod, op_min, op_max, op_land, op_lor, op_lxor, op_band, op_bor, op_bxor, \
                op_minloc, op_maxloc, byte, uint64_t
        .globl  ompi_mpi_\name
        .type   ompi_mpi_\name, %object
        .size   ompi_mpi_\name, 8
ompi_mpi_\name:
        .quad   0
        .endr
        .globl  ompi_request_null
        .type   ompi_request_null, %object
        .size   ompi_request_null, 8
ompi_request_null:
        .quad   0
        .section .note.GNU-stack, "", %progbits
