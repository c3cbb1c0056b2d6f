! Requests of MPI in tasks of Fortran, with handles of mpi_f08 and with integers, between real ranks.
include 'dovetail/dovetail.f90'
include 'dovetail/dovetail_mpi.f90'

module messages
  use, intrinsic :: iso_c_binding
  use :: dovetail
  use :: dovetail_mpi
  use :: mpi_f08
  implicit none

  integer, parameter :: numbers = 5000, rounds = 50
  integer, dimension(numbers), target, asynchronous :: sent, received
  integer, dimension(4), target, asynchronous :: several
  type(MPI_Status), target, asynchronous :: status
  type(MPI_Status), dimension(2), asynchronous :: statuses
  integer, dimension(MPI_STATUS_SIZE, 2), asynchronous :: integer_statuses
  integer :: rank, ranks, following, previous, round

contains
  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    print *, 'rank', rank, ' failed: ', what, ' (', dovetail_text(dovetail_error_message()), ')'
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  ! With bind(c) a name is one of the whole program: none of the C library, such as send.
  recursive subroutine fill_numbers(argument) bind(c)
    type(c_ptr), value :: argument
    integer :: i
    if (c_associated(argument)) error stop 'an argument came from nowhere'
    do i = 1, numbers
      sent(i) = 1000 * round + i + rank
    end do
  end subroutine

  ! By turns with a handle and with an integer, with a status and without.
  recursive function send_numbers(argument) bind(c) result(answer)
    type(c_ptr), value :: argument
    integer(c_int32_t) :: answer
    type(MPI_Request) :: request
    integer :: number
    if (c_associated(argument)) error stop 'an argument came from nowhere'
    call MPI_Isend(sent, numbers, MPI_INTEGER, following, 1, MPI_COMM_WORLD, request)
    if (mod(round, 2) == 0) then
      answer = dovetail_mpi_iwait(request)
      call check(request == MPI_REQUEST_NULL, 'a request was not taken over')
    else
      number = request%MPI_VAL
      answer = dovetail_mpi_iwait(number)
      call check(number == MPI_REQUEST_NULL%MPI_VAL, 'an integer was not taken over')
    end if
  end function

  recursive function receive_numbers(argument) bind(c) result(answer)
    type(c_ptr), value :: argument
    integer(c_int32_t) :: answer
    type(MPI_Request) :: request
    integer :: number
    if (c_associated(argument)) error stop 'an argument came from nowhere'
    received = -1
    call MPI_Irecv(received, numbers, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, request)
    if (mod(round, 2) == 0) then
      answer = dovetail_mpi_iwait(request, status)
    else
      number = request%MPI_VAL
      answer = dovetail_mpi_iwait(number, integer_statuses(:, 1))
    end if
  end function

  recursive subroutine look_at_numbers(argument) bind(c)
    type(c_ptr), value :: argument
    integer :: i
    if (c_associated(argument)) error stop 'an argument came from nowhere'
    do i = 1, numbers
      call check(received(i) == 1000 * round + i + previous, 'a task read what had not been received')
    end do
    if (mod(round, 2) == 0) then
      call check(status%MPI_SOURCE == previous .and. status%MPI_TAG == 1, 'a status is wrong')
    else
      call check(integer_statuses(MPI_SOURCE, 1) == previous .and. integer_statuses(MPI_TAG, 1) == 1, &
                 'a status of integers is wrong')
    end if
  end subroutine

  ! Two messages are waited for, and two are bound.
  recursive function exchange(argument) bind(c) result(answer)
    type(c_ptr), value :: argument
    integer(c_int32_t) :: answer
    type(MPI_Request), dimension(4) :: receives
    type(MPI_Request) :: sends
    integer, dimension(2) :: own
    integer :: i
    if (c_associated(argument)) error stop 'an argument came from nowhere'
    do i = 1, 4
      call MPI_Irecv(several(i), 1, MPI_INTEGER, previous, 10 + i, MPI_COMM_WORLD, receives(i))
    end do
    do i = 1, 2
      own(i) = 10 * i + rank
      call MPI_Isend(own(i), 1, MPI_INTEGER, following, 10 + i, MPI_COMM_WORLD, sends)
      answer = dovetail_mpi_wait(sends, MPI_STATUS_IGNORE)
      call check(answer == 0, 'a wait')
    end do
    answer = dovetail_mpi_waitall(receives(1:2), statuses)
    call check(answer == 0 .and. all(several(1:2) == [10, 20] + previous), 'a waitall')
    call check(all(statuses%MPI_TAG == [11, 12]) .and. all(statuses%MPI_SOURCE == previous), 'statuses')
    do i = 1, 2
      call MPI_Isend(own(i), 1, MPI_INTEGER, following, 12 + i, MPI_COMM_WORLD, sends)
      answer = dovetail_mpi_wait(sends%MPI_VAL)
      call check(answer == 0, 'a wait with an integer')
    end do
    answer = dovetail_mpi_iwaitall(receives(3:4))
    call check(receives(3) == MPI_REQUEST_NULL .and. receives(4) == MPI_REQUEST_NULL, 'requests were not taken over')
  end function

  recursive function exchange_integers(argument) bind(c) result(answer)
    type(c_ptr), value :: argument
    integer(c_int32_t) :: answer
    type(MPI_Request), dimension(4) :: requests
    integer, dimension(4) :: handles
    integer, dimension(2) :: own
    integer :: i
    if (c_associated(argument)) error stop 'an argument came from nowhere'
    own = [7, 8] + rank
    do i = 1, 2
      call MPI_Irecv(several(i), 1, MPI_INTEGER, previous, 20 + i, MPI_COMM_WORLD, requests(i))
      call MPI_Isend(own(i), 1, MPI_INTEGER, following, 20 + i, MPI_COMM_WORLD, requests(2 + i))
    end do
    handles = requests%MPI_VAL
    answer = dovetail_mpi_waitall(handles(3:4))
    call check(answer == 0 .and. all(handles(3:4) == MPI_REQUEST_NULL%MPI_VAL), 'a waitall of integers')
    answer = dovetail_mpi_iwaitall(handles(1:2), integer_statuses)
  end function
end module messages

program fortran_requests
  use, intrinsic :: iso_c_binding
  use :: dovetail
  use :: dovetail_mpi
  use :: messages
  use :: mpi_f08
  implicit none
  type(dovetail_options), target :: options
  type(c_ptr) :: runtime
  type(MPI_Request) :: request
  integer :: provided

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
  if (provided /= MPI_THREAD_MULTIPLE) stop 77
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  following = mod(rank + 1, ranks)
  previous = mod(rank + ranks - 1, ranks)
  options%size_of_this = c_sizeof(options)
  options%workers = 1
  call check(dovetail_runtime_create(c_loc(options), runtime) == 0, 'create a runtime')

  do round = 1, rounds
    call spawn(c_funloc(fill_numbers), c_null_funptr, DOVETAIL_ACCESS_OUT, c_loc(sent))
    call spawn(c_null_funptr, c_funloc(send_numbers), DOVETAIL_ACCESS_IN, c_loc(sent))
    call spawn(c_null_funptr, c_funloc(receive_numbers), DOVETAIL_ACCESS_OUT, c_loc(received))
    call spawn(c_funloc(look_at_numbers), c_null_funptr, DOVETAIL_ACCESS_IN, c_loc(received))
    call check(dovetail_runtime_wait(runtime) == 0, 'a round')
  end do
  call spawn(c_null_funptr, c_funloc(exchange), DOVETAIL_ACCESS_INOUT, c_loc(several))
  call check(dovetail_runtime_wait(runtime) == 0, 'an exchange')
  call check(all(several == [10, 20, 10, 20] + previous), 'the values of an exchange')
  call spawn(c_null_funptr, c_funloc(exchange_integers), DOVETAIL_ACCESS_INOUT, c_loc(several))
  call check(dovetail_runtime_wait(runtime) == 0, 'an exchange of integers')
  call check(all(several(1:2) == [7, 8] + previous), 'the values of an exchange of integers')
  call check(all(integer_statuses(MPI_TAG, 1:2) == [21, 22]) .and. all(integer_statuses(MPI_SOURCE, 1:2) == previous), &
             'statuses of integers')

  ! Outside of tasks: what would be bound is refused and stays, what waits blocks.
  call MPI_Irecv(several, 1, MPI_INTEGER, previous, 30, MPI_COMM_WORLD, request)
  call check(dovetail_mpi_iwait(request) == -1, 'a request was bound to no task')
  call check(index(dovetail_text(dovetail_error_message()), 'outside of one') > 0, 'the reason is not said')
  call check(request /= MPI_REQUEST_NULL, 'a request was taken over and not bound')
  call MPI_Send(rank, 1, MPI_INTEGER, following, 30, MPI_COMM_WORLD)
  call check(dovetail_mpi_wait(request, status) == 0, 'a wait outside of tasks')
  call check(several(1) == previous .and. status%MPI_SOURCE == previous, 'the value of a wait outside of tasks')

  call check(dovetail_runtime_destroy(runtime) == 0, 'destroy the runtime')
  call MPI_Finalize()

contains
  subroutine spawn(body, fallible_body, mode, data)
    type(c_funptr), value, intent(in) :: body, fallible_body
    integer(c_int32_t), intent(in) :: mode
    type(c_ptr), intent(in) :: data
    type(dovetail_task_description) :: description
    type(dovetail_access), target :: accesses(1)
    accesses(1) = dovetail_access_memory(mode, data, 4_c_size_t)
    description%size_of_this = c_sizeof(description)
    description%body = body
    description%fallible_body = fallible_body
    description%accesses = c_loc(accesses)
    description%access_count = 1
    call check(dovetail_runtime_spawn(runtime, description, c_null_ptr) == 0, 'spawn')
  end subroutine
end program fortran_requests
