! SPDX-License-Identifier: BSD-3-Clause
program messages_usempi
  use mpi
  implicit none
  integer :: requests(12), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 12), message
  include 'messages_body.inc'
contains
  integer function source_of(of)
    integer, intent(in) :: of(MPI_STATUS_SIZE)
    source_of = of(MPI_SOURCE)
  end function
  integer function tag_of(of)
    integer, intent(in) :: of(MPI_STATUS_SIZE)
    tag_of = of(MPI_TAG)
  end function
end program
