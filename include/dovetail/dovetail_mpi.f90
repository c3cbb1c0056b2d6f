! Requests of MPI as parts of tasks, in Fortran 2008: with the handles of the module mpi_f08 and with integers, as mpi and mpif.h have them. What
! dovetail_mpi.h says holds here. Compile this file with your own by the mpifort of your MPI library, or include it behind dovetail.f90
! (`include 'dovetail/dovetail_mpi.f90'`), and say `use :: dovetail_mpi`.
!
! dovetail_mpi_iwait and dovetail_mpi_iwaitall bind the end of requests to the current task and do not suspend. dovetail_mpi_wait and
! dovetail_mpi_waitall suspend it; outside of a task they block. All return 0 or a negative errno; dovetail_error_message of the module
! dovetail says more. Requests are taken over and become MPI_REQUEST_NULL at once. dovetail_mpi_waitany and dovetail_mpi_waitsome suspend
! the task until one has ended, or some; they do with the requests as MPI does.
!
! dovetail_mpi_start and dovetail_mpi_startall start persistent or partitioned requests and bind their ends to the task; the requests stay the
! program's. dovetail_mpi_parrived binds the arrival of one partition.
!
! dovetail_mpi_isend, dovetail_mpi_irecv, dovetail_mpi_ibcast and so on start an operation and bind its end in one call. They have the parameters of
! MPI's calls, without a request, and are functions. dovetail_mpi_irecv has an optional status. Buffers are contiguous. All ranks of a
! communicator make its collectives in these forms, or by MPI's own calls that have a request. Arrays of counts, displacements and types live until
! the operation has ended.
!
! A bound operation writes its buffer and its status after the call has returned: variables of a module, or such with the attributes target and
! asynchronous, that live until the task has completed. Without a status it is ignored, and so it is with MPI_STATUS_IGNORE.
include 'dovetail/detail/mpi_forms.f90'

module dovetail_mpi_requests
  use, intrinsic :: iso_c_binding
  use :: mpi, only: MPI_STATUS_SIZE, null_number => MPI_REQUEST_NULL, no_numbers => MPI_STATUS_IGNORE, &
                    none_of_numbers => MPI_STATUSES_IGNORE
  use :: mpi_f08, only: MPI_Request, MPI_Status, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE
  use :: dovetail_mpi_forms
  implicit none
  private
  public :: dovetail_mpi_iwait, dovetail_mpi_iwaitall, dovetail_mpi_wait, dovetail_mpi_waitall
  public :: dovetail_mpi_waitany, dovetail_mpi_waitsome, dovetail_mpi_start, dovetail_mpi_startall, dovetail_mpi_parrived

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

  !> Suspends until one of the requests has ended. `place`: its number, from 1; MPI_UNDEFINED if none is active.
  interface dovetail_mpi_waitany
    module procedure wait_for_any_request, wait_for_any_number
  end interface
  !> Suspends until at least one has ended. `found`: how many have; their numbers are in `places`, their statuses in `statuses`.
  interface dovetail_mpi_waitsome
    module procedure wait_for_some_requests, wait_for_some_numbers
  end interface
  !> Starts a persistent request and binds its end to the task.
  interface dovetail_mpi_start
    module procedure start_request, start_number
  end interface
  !> The same for all of them, in their order.
  interface dovetail_mpi_startall
    module procedure start_requests, start_numbers
  end interface
  !> The task completes no earlier than the partition has arrived, counted from 0. The request has been started.
  interface dovetail_mpi_parrived
    module procedure bind_partition_of_request, bind_partition_of_number
  end interface

  type, bind(c) :: several_arguments
    type(c_ptr) :: requests, statuses, places, found
    integer(c_int) :: count, wants_some
  end type
  ! What dovetail_mpi_operation is in C.
  type, bind(c) :: operation_description
    type(c_ptr) :: call, communicator
    integer(c_size_t) :: communicator_size = 0
    integer(c_int32_t) :: peer = -1, tag = -1, receives = 0
    type(c_ptr) :: datatype = c_null_ptr
    integer(c_size_t) :: datatype_size = 0
    integer(c_int64_t) :: count = 0
  end type
  character(kind=c_char, len=*), parameter :: waitany_text = 'MPI_Waitany'//c_null_char
  character(kind=c_char, len=*), parameter :: waitsome_text = 'MPI_Waitsome'//c_null_char
  character(kind=c_char), dimension(len(waitany_text)), target, save :: name_of_waitany = &
    transfer(waitany_text, [character(kind=c_char) :: ' '], len(waitany_text))
  character(kind=c_char), dimension(len(waitsome_text)), target, save :: name_of_waitsome = &
    transfer(waitsome_text, [character(kind=c_char) :: ' '], len(waitsome_text))

  interface
    function attempt_call(abi, operation, attempt, blocking, arguments) bind(c, name='dovetail_mpi_attempt') result(answer)
      import
      integer(c_int32_t), value, intent(in) :: abi
      type(operation_description), intent(in) :: operation
      type(c_funptr), value, intent(in) :: attempt, blocking
      type(c_ptr), value, intent(in) :: arguments
      integer(c_int32_t) :: answer
    end function

    function start_call(number, status) bind(c, name='dovetail_mpi_fortran_start') result(answer)
      import
      integer(c_int32_t), value, intent(in) :: number
      type(c_ptr), value, intent(in) :: status
      integer(c_int32_t) :: answer
    end function

    function bind_partition(number, partition) bind(c, name='dovetail_mpi_fortran_parrived') result(answer)
      import
      integer(c_int32_t), value, intent(in) :: number, partition
      integer(c_int32_t) :: answer
    end function

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

  recursive function test_several(given, flag) bind(c) result(code)
    type(several_arguments), intent(in) :: given
    integer(c_int), intent(out) :: flag
    integer(c_int) :: code
    integer, dimension(:), pointer, contiguous :: requests, statuses, places
    integer, pointer :: found
    logical :: is_ended
    external :: MPI_Testany, MPI_Testsome
    call c_f_pointer(given%requests, requests, [given%count])
    call c_f_pointer(given%statuses, statuses, [1])
    call c_f_pointer(given%places, places, [1])
    call c_f_pointer(given%found, found)
    if (given%wants_some /= 0) then
      call MPI_Testsome(given%count, requests, found, places, statuses, code)
      flag = merge(1, 0, found /= 0 .or. code /= 0)
    else
      call MPI_Testany(given%count, requests, places, is_ended, statuses, code)
      flag = merge(1, 0, is_ended)
    end if
  end function

  recursive function wait_for_several_now(given) bind(c) result(code)
    type(several_arguments), intent(in) :: given
    integer(c_int) :: code
    integer, dimension(:), pointer, contiguous :: requests, statuses, places
    integer, pointer :: found
    external :: MPI_Waitany, MPI_Waitsome
    call c_f_pointer(given%requests, requests, [given%count])
    call c_f_pointer(given%statuses, statuses, [1])
    call c_f_pointer(given%places, places, [1])
    call c_f_pointer(given%found, found)
    if (given%wants_some /= 0) then
      call MPI_Waitsome(given%count, requests, found, places, statuses, code)
    else
      call MPI_Waitany(given%count, requests, places, statuses, code)
    end if
  end function

  function wait_for_several(numbers, found, places, statuses, wants_some) result(answer)
    integer, dimension(:), target, contiguous, intent(inout) :: numbers
    integer, target, intent(inout) :: found
    integer, dimension(*), target, intent(inout) :: places
    type(c_ptr), intent(in) :: statuses
    integer(c_int), intent(in) :: wants_some
    integer(c_int32_t) :: answer
    type(several_arguments), target :: given
    type(c_ptr) :: name
    name = c_loc(name_of_waitany)
    if (wants_some /= 0) name = c_loc(name_of_waitsome)
    given = several_arguments(c_loc(numbers), statuses, c_loc(places), c_loc(found), size(numbers), wants_some)
    answer = attempt_call(0, operation_description(name, c_null_ptr), c_funloc(test_several), &
                          c_funloc(wait_for_several_now), c_loc(given))
  end function

  function wait_for_any_number(requests, place, status) result(answer)
    integer, dimension(:), intent(inout) :: requests
    integer, intent(out) :: place
    integer, dimension(MPI_STATUS_SIZE), optional, target :: status
    integer(c_int32_t) :: answer
    integer, dimension(size(requests)), target :: numbers
    integer, dimension(MPI_STATUS_SIZE), target :: own
    integer, dimension(1) :: places
    integer :: found
    numbers = requests
    answer = wait_for_several(numbers, found, places, c_loc(own), 0)
    requests = numbers
    place = places(1)
    if (present(status)) then
      if (c_associated(place_of_numbers(status, no_numbers))) status = own
    end if
  end function

  function wait_for_any_request(requests, place, status) result(answer)
    type(MPI_Request), dimension(:), intent(inout) :: requests
    integer, intent(out) :: place
    type(MPI_Status), optional, target :: status
    integer(c_int32_t) :: answer
    integer, dimension(size(requests)), target :: numbers
    type(MPI_Status), target :: own
    integer, dimension(1) :: places
    integer :: found
    numbers = requests%MPI_VAL
    answer = wait_for_several(numbers, found, places, c_loc(own), 0)
    requests%MPI_VAL = numbers
    place = places(1)
    if (present(status)) then
      if (c_associated(place_of_status(status, MPI_STATUS_IGNORE))) status = own
    end if
  end function

  function wait_for_some_numbers(requests, found, places, statuses) result(answer)
    integer, dimension(:), intent(inout) :: requests
    integer, intent(out) :: found
    integer, dimension(*), intent(inout) :: places
    integer, dimension(MPI_STATUS_SIZE, *), optional, target :: statuses
    integer(c_int32_t) :: answer
    integer, dimension(size(requests)), target :: numbers
    integer, dimension(MPI_STATUS_SIZE, size(requests)), target :: own
    numbers = requests
    if (present(statuses)) then
      answer = wait_for_several(numbers, found, places, c_loc(statuses), 1)
    else
      answer = wait_for_several(numbers, found, places, c_loc(own), 1)
    end if
    requests = numbers
  end function

  function wait_for_some_requests(requests, found, places, statuses) result(answer)
    type(MPI_Request), dimension(:), intent(inout) :: requests
    integer, intent(out) :: found
    integer, dimension(*), intent(inout) :: places
    type(MPI_Status), dimension(*), optional, target :: statuses
    integer(c_int32_t) :: answer
    integer, dimension(size(requests)), target :: numbers
    type(MPI_Status), dimension(size(requests)), target :: own
    numbers = requests%MPI_VAL
    if (present(statuses)) then
      answer = wait_for_several(numbers, found, places, c_loc(statuses), 1)
    else
      answer = wait_for_several(numbers, found, places, c_loc(own), 1)
    end if
    requests%MPI_VAL = numbers
  end function

  function start_number(request, status) result(answer)
    integer, intent(in) :: request
    integer, dimension(MPI_STATUS_SIZE), optional, target, asynchronous :: status
    integer(c_int32_t) :: answer
    if (present(status)) then
      answer = start_call(request, place_of_numbers(status, no_numbers))
    else
      answer = start_call(request, c_null_ptr)
    end if
  end function

  function start_request(request, status) result(answer)
    type(MPI_Request), intent(in) :: request
    type(MPI_Status), optional, target, asynchronous :: status
    integer(c_int32_t) :: answer
    if (present(status)) then
      answer = start_call(request%MPI_VAL, place_of_status(status, MPI_STATUS_IGNORE))
    else
      answer = start_call(request%MPI_VAL, c_null_ptr)
    end if
  end function

  function start_numbers(requests) result(answer)
    integer, dimension(:), intent(in) :: requests
    integer(c_int32_t) :: answer
    integer :: i
    answer = 0
    do i = 1, size(requests)
      if (answer == 0) answer = start_call(requests(i), c_null_ptr)
    end do
  end function

  function start_requests(requests) result(answer)
    type(MPI_Request), dimension(:), intent(in) :: requests
    integer(c_int32_t) :: answer
    answer = start_numbers(requests%MPI_VAL)
  end function

  function bind_partition_of_number(request, partition) result(answer)
    integer, intent(in) :: request, partition
    integer(c_int32_t) :: answer
    answer = bind_partition(request, partition)
  end function

  function bind_partition_of_request(request, partition) result(answer)
    type(MPI_Request), intent(in) :: request
    integer, intent(in) :: partition
    integer(c_int32_t) :: answer
    answer = bind_partition(request%MPI_VAL, partition)
  end function

end module dovetail_mpi_requests

module dovetail_mpi
  use :: dovetail_mpi_forms
  use :: dovetail_mpi_requests
  implicit none
  private :: place_of_status, place_of_numbers
end module dovetail_mpi
