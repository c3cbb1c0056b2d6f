! Requests of MPI as parts of tasks, in Fortran 2008: with the handles of the module mpi_f08 and with integers, as mpi and mpif.h have them. What
! dovetail_mpi.h says holds here. Compile this file with your own by the mpifort of your MPI library, or include it behind dovetail.f90
! (`include 'dovetail/dovetail_mpi.f90'`), and say `use :: dovetail_mpi`.
!
! dovetail_mpi_iwait and dovetail_mpi_iwaitall bind the end of requests to the current task and do not suspend. dovetail_mpi_wait and
! dovetail_mpi_waitall suspend it; outside of a task they block. All return 0 or a negative errno; dovetail_error_message of the module
! dovetail says more. Requests are taken over and become MPI_REQUEST_NULL at once. Persistent requests are not for these calls.
!
! A bound operation writes its buffer and its status after the call has returned: variables of a module, or such with the attributes target and
! asynchronous, that live until the task has completed. Without a status it is ignored, and so it is with MPI_STATUS_IGNORE.
module dovetail_mpi
  use, intrinsic :: iso_c_binding, only: c_int32_t
  use :: mpi, only: MPI_STATUS_SIZE, null_number => MPI_REQUEST_NULL, no_numbers => MPI_STATUS_IGNORE, &
                    none_of_numbers => MPI_STATUSES_IGNORE
  use :: mpi_f08, only: MPI_Request, MPI_Status, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE
  implicit none
  private
  public :: dovetail_mpi_iwait, dovetail_mpi_iwaitall, dovetail_mpi_wait, dovetail_mpi_waitall

  !> The task completes no earlier than the request has ended.
  interface dovetail_mpi_iwait
    module procedure bind_request, bind_number
  end interface
  !> The same for all of them. As many statuses.
  interface dovetail_mpi_iwaitall
    module procedure bind_requests, bind_numbers
  end interface
  !> Returns when the request has ended.
  interface dovetail_mpi_wait
    module procedure wait_for_request, wait_for_number
  end interface
  !> The same for all of them. As many statuses.
  interface dovetail_mpi_waitall
    module procedure wait_for_requests, wait_for_numbers
  end interface

  interface
    function begin(numbers, count, null, statuses, ignored, suspends) bind(c, name='dovetail_mpi_fortran_requests') &
          result(answer)
      import :: c_int32_t
      integer(c_int32_t), dimension(*), intent(inout) :: numbers
      integer(c_int32_t), value, intent(in) :: count, null
      type(*), dimension(*) :: statuses, ignored
      integer(c_int32_t), value, intent(in) :: suspends
      integer(c_int32_t) :: answer
    end function

    ! The same with one status.
    function begin_one(numbers, count, null, status, ignored, suspends) bind(c, name='dovetail_mpi_fortran_requests') &
          result(answer)
      import :: c_int32_t
      integer(c_int32_t), dimension(*), intent(inout) :: numbers
      integer(c_int32_t), value, intent(in) :: count, null
      type(*) :: status, ignored
      integer(c_int32_t), value, intent(in) :: suspends
      integer(c_int32_t) :: answer
    end function
  end interface
  integer(c_int32_t), parameter :: binds = 0, suspends = 1

contains
  function with_numbers(numbers, statuses, how) result(answer)
    integer, dimension(:), intent(inout) :: numbers
    integer, dimension(MPI_STATUS_SIZE, *), optional, asynchronous :: statuses
    integer(c_int32_t), intent(in) :: how
    integer(c_int32_t) :: answer
    if (present(statuses)) then
      answer = begin(numbers, size(numbers), null_number, statuses, none_of_numbers, how)
    else
      answer = begin(numbers, size(numbers), null_number, none_of_numbers, none_of_numbers, how)
    end if
  end function

  function with_number(number, status, how) result(answer)
    integer, intent(inout) :: number
    integer, dimension(MPI_STATUS_SIZE), optional, asynchronous :: status
    integer(c_int32_t), intent(in) :: how
    integer(c_int32_t) :: answer
    integer, dimension(1) :: numbers
    numbers(1) = number
    if (present(status)) then
      answer = begin(numbers, 1, null_number, status, no_numbers, how)
    else
      answer = begin(numbers, 1, null_number, no_numbers, no_numbers, how)
    end if
    number = numbers(1)
  end function

  function with_requests(requests, statuses, how) result(answer)
    type(MPI_Request), dimension(:), intent(inout) :: requests
    type(MPI_Status), dimension(*), optional, asynchronous :: statuses
    integer(c_int32_t), intent(in) :: how
    integer(c_int32_t) :: answer
    integer, dimension(size(requests)) :: numbers
    numbers = requests%MPI_VAL
    if (present(statuses)) then
      answer = begin(numbers, size(numbers), null_number, statuses, MPI_STATUSES_IGNORE, how)
    else
      answer = begin(numbers, size(numbers), null_number, MPI_STATUSES_IGNORE, MPI_STATUSES_IGNORE, how)
    end if
    requests%MPI_VAL = numbers
  end function

  function with_request(request, status, how) result(answer)
    type(MPI_Request), intent(inout) :: request
    type(MPI_Status), optional, asynchronous :: status
    integer(c_int32_t), intent(in) :: how
    integer(c_int32_t) :: answer
    integer, dimension(1) :: numbers
    numbers(1) = request%MPI_VAL
    if (present(status)) then
      answer = begin_one(numbers, 1, null_number, status, MPI_STATUS_IGNORE, how)
    else
      answer = begin_one(numbers, 1, null_number, MPI_STATUS_IGNORE, MPI_STATUS_IGNORE, how)
    end if
    request%MPI_VAL = numbers(1)
  end function

  function bind_number(request, status) result(answer)
    integer, intent(inout) :: request
    integer, dimension(MPI_STATUS_SIZE), optional, asynchronous :: status
    integer(c_int32_t) :: answer
    answer = with_number(request, status, binds)
  end function

  function wait_for_number(request, status) result(answer)
    integer, intent(inout) :: request
    integer, dimension(MPI_STATUS_SIZE), optional, asynchronous :: status
    integer(c_int32_t) :: answer
    answer = with_number(request, status, suspends)
  end function

  function bind_numbers(requests, statuses) result(answer)
    integer, dimension(:), intent(inout) :: requests
    integer, dimension(MPI_STATUS_SIZE, *), optional, asynchronous :: statuses
    integer(c_int32_t) :: answer
    answer = with_numbers(requests, statuses, binds)
  end function

  function wait_for_numbers(requests, statuses) result(answer)
    integer, dimension(:), intent(inout) :: requests
    integer, dimension(MPI_STATUS_SIZE, *), optional, asynchronous :: statuses
    integer(c_int32_t) :: answer
    answer = with_numbers(requests, statuses, suspends)
  end function

  function bind_request(request, status) result(answer)
    type(MPI_Request), intent(inout) :: request
    type(MPI_Status), optional, asynchronous :: status
    integer(c_int32_t) :: answer
    answer = with_request(request, status, binds)
  end function

  function wait_for_request(request, status) result(answer)
    type(MPI_Request), intent(inout) :: request
    type(MPI_Status), optional, asynchronous :: status
    integer(c_int32_t) :: answer
    answer = with_request(request, status, suspends)
  end function

  function bind_requests(requests, statuses) result(answer)
    type(MPI_Request), dimension(:), intent(inout) :: requests
    type(MPI_Status), dimension(*), optional, asynchronous :: statuses
    integer(c_int32_t) :: answer
    answer = with_requests(requests, statuses, binds)
  end function

  function wait_for_requests(requests, statuses) result(answer)
    type(MPI_Request), dimension(:), intent(inout) :: requests
    type(MPI_Status), dimension(*), optional, asynchronous :: statuses
    integer(c_int32_t) :: answer
    answer = with_requests(requests, statuses, suspends)
  end function
end module dovetail_mpi
