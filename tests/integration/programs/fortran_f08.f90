! SPDX-License-Identifier: BSD-3-Clause
! Collectives through `use mpi_f08`.
program fortran_f08
  use mpi_f08
  implicit none
  include 'fortran_body.inc'
end program
