! SPDX-License-Identifier: BSD-3-Clause
! Collectives through `use mpi`.
module operators
  implicit none
contains
  include 'fortran_maps.inc'

  subroutine compose(first, later, n, type)
    integer :: n, type, first(2, n), later(2, n)
    call compose_maps(first, later, n)
  end subroutine
end module

program fortran_usempi
  use mpi
  use operators
  implicit none
  integer, allocatable :: types(:)
  integer :: compose_operator, ring, request
  include 'fortran_body.inc'
end program
