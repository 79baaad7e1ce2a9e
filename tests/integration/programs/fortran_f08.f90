! SPDX-License-Identifier: BSD-3-Clause
! Collectives through `use mpi_f08`.
module operators
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  use mpi_f08
  implicit none
contains
  include 'fortran_maps.inc'

  subroutine compose(first, later, n, type)
    type(c_ptr), value :: first, later
    integer :: n
    type(MPI_Datatype) :: type
    integer, pointer :: first_maps(:, :), later_maps(:, :)
    call c_f_pointer(first, first_maps, (/2, n/))
    call c_f_pointer(later, later_maps, (/2, n/))
    call compose_maps(first_maps, later_maps, n)
  end subroutine
end module

program fortran_f08
  use mpi_f08
  use operators
  implicit none
  type(MPI_Datatype), allocatable :: types(:)
  type(MPI_Op) :: compose_operator
  type(MPI_Comm) :: ring
  type(MPI_Request) :: request
  include 'fortran_body.inc'
end program
