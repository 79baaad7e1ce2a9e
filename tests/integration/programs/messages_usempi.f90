! SPDX-License-Identifier: BSD-3-Clause
program messages_usempi
  use mpi
  implicit none
  integer :: requests(12), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 12), message
  include 'messages_body.inc'
  include 'messages_statuses.inc'
end program
