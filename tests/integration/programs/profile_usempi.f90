! SPDX-License-Identifier: BSD-3-Clause
program profile_usempi
  use mpi
  implicit none
  include 'profile_body.inc'
end program
