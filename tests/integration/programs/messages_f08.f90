! SPDX-License-Identifier: BSD-3-Clause
program messages_f08
  use mpi_f08
  implicit none
  type(MPI_Request) :: requests(12)
  type(MPI_Status) :: status, statuses(12)
  type(MPI_Message) :: message
  include 'messages_body.inc'
contains
  integer function source_of(of)
    type(MPI_Status), intent(in) :: of
    source_of = of%MPI_SOURCE
  end function
  integer function tag_of(of)
    type(MPI_Status), intent(in) :: of
    tag_of = of%MPI_TAG
  end function
end program
