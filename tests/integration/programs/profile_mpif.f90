! SPDX-License-Identifier: BSD-3-Clause
program profile_mpif
  implicit none
  include 'mpif.h'
  include 'profile_body.inc'
end program
