! SPDX-License-Identifier: BSD-3-Clause
! Collectives through `include 'mpif.h'`.
program fortran_mpif
  implicit none
  include 'mpif.h'
  include 'fortran_body.inc'
end program
