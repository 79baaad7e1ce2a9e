! SPDX-License-Identifier: BSD-3-Clause
! Collectives through `use mpi`.
program fortran_usempi
  use mpi
  implicit none
  include 'fortran_body.inc'
end program
