! SPDX-License-Identifier: BSD-3-Clause
program profile_f08
  use mpi_f08
  implicit none
  include 'profile_body.inc'
end program
