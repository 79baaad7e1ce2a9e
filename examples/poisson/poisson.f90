! SPDX-License-Identifier: BSD-3-Clause
! Poisson's equation on the unit square by conjugate gradients, in Fortran with mpi_f08.
!   usage: poisson [N]        (under mpirun; N x N points inside of the square, 64 without it)
! Each rank has some columns of the grid. An iteration exchanges the columns at the borders and makes two sums over all ranks.
! The exact solution is known; the program ends with 1 where the result is further from it than the grid explains.
module grid
  use mpi_f08
  implicit none
  integer, parameter :: real64 = kind(1.0d0)
  integer :: rank, ranks, points, first, last  ! the columns of this rank
  real(real64) :: distance  ! of two points
contains
  ! Columns are dealt out as evenly as it goes.
  subroutine share_columns()
    first = rank * points / ranks + 1
    last = (rank + 1) * points / ranks
  end subroutine

  ! Zero at both edges, and what it is bent by between them: its second derivative with the other sign.
  function hill(place) result(height)
    integer, intent(in) :: place
    real(real64) :: x, height
    x = place * distance
    height = x * (1 - x) * exp(x)
  end function
  function bend(place) result(value)
    integer, intent(in) :: place
    real(real64) :: x, value
    x = place * distance
    value = x * (3 + x) * exp(x)
  end function

  ! The columns beside those of this rank, from its neighbours; zeros at the edges of the square.
  subroutine exchange(values)
    real(real64), intent(inout) :: values(0:, first - 1:)
    integer :: left, right
    if (last < first) return
    left = merge(rank - 1, MPI_PROC_NULL, first > 1)
    right = merge(rank + 1, MPI_PROC_NULL, last < points)
    call MPI_Sendrecv(values(:, first), points + 2, MPI_DOUBLE_PRECISION, left, 1, &
                      values(:, last + 1), points + 2, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call MPI_Sendrecv(values(:, last), points + 2, MPI_DOUBLE_PRECISION, right, 2, &
                      values(:, first - 1), points + 2, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
  end subroutine

  ! Four times the point less its neighbours: the equation's left side, times the square of the distance.
  subroutine apply(values, made)
    real(real64), intent(inout) :: values(0:, first - 1:)
    real(real64), intent(out) :: made(0:, first - 1:)
    integer :: i, j
    call exchange(values)
    made = 0
    do j = first, last
      do i = 1, points
        made(i, j) = 4 * values(i, j) - values(i - 1, j) - values(i + 1, j) - values(i, j - 1) - values(i, j + 1)
      end do
    end do
  end subroutine

  function dot(one, other) result(total)
    real(real64), intent(in) :: one(0:, first - 1:), other(0:, first - 1:)
    real(real64) :: own, total
    own = sum(one(1:points, first:last) * other(1:points, first:last))
    call MPI_Allreduce(own, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  end function
end module

program poisson
  use grid
  implicit none
  ! Unisono learns what happens between these two calls apart from the rest; natively they do nothing. A number is all that
  ! MPI_Pcontrol of Fortran takes: 7400 and more begin a region, 7301 ends it (unisono.h).
  integer, parameter :: begin_solver = 7401, end_region = 7301
  real(real64), allocatable :: solution(:, :), residual(:, :), direction(:, :), applied(:, :)
  real(real64) :: error, largest, squares, before, step
  integer :: i, j, iterations
  character(32) :: text

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  points = 64
  if (rank == 0 .and. command_argument_count() > 0) then
    call get_command_argument(1, text)
    read (text, *, iostat=i) points
    if (i /= 0) points = 0
  end if
  call MPI_Bcast(points, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
  if (points < ranks .or. points > 20000) then
    if (rank == 0) print '(a, i0, a)', 'poisson: N must be a number from ', ranks, ' (the ranks) to 20000'
    call MPI_Finalize()
    stop 2, quiet=.true.
  end if
  call share_columns()
  distance = 1.0d0 / (points + 1)
  allocate (solution(0:points + 1, first - 1:last + 1), source=0.0d0)
  allocate (residual, direction, applied, mold=solution)

  ! The right side of the equation, for which hill(x) hill(y) is the solution.
  residual = 0
  do j = first, last
    do i = 1, points
      residual(i, j) = distance**2 * (bend(i) * hill(j) + hill(i) * bend(j))
    end do
  end do
  direction = residual
  call MPI_Pcontrol(begin_solver)
  squares = dot(residual, residual)
  do iterations = 1, 20 * points
    call apply(direction, applied)
    step = squares / dot(direction, applied)
    solution = solution + step * direction
    residual = residual - step * applied
    before = squares
    squares = dot(residual, residual)
    if (squares < 1.0d-24) exit
    direction = residual + squares / before * direction
  end do
  call MPI_Pcontrol(end_region)

  error = 0
  do j = first, last
    do i = 1, points
      error = max(error, abs(solution(i, j) - hill(i) * hill(j)))
    end do
  end do
  call MPI_Allreduce(error, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  if (rank == 0) then
    print '(a, i0, a, i0, a, i0, a, es9.3)', 'poisson: ', points, ' x ', points, ' points, ', iterations, &
      ' iterations, largest error ', largest
  end if
  call MPI_Finalize()
  ! The method is of second order in the distance.
  if (largest > distance**2) stop 1, quiet=.true.
end program
