! MPI's own blocking calls of Fortran in tasks: one worker, so that a call that holds it hangs. With DOVETAIL_TEST_F08 through the module mpi_f08, else
! through the module mpi, whose procedures are those of mpif.h.
#ifdef DOVETAIL_TEST_F08
#define MODULE_OF_MPI mpi_f08
#define HANDLE(kind) type(kind)
#define STATUS_TYPE type(MPI_Status)
#define STATUSES_TYPE(count) type(MPI_Status), dimension(count)
#define FIELD(status, name) status%name
#define FIELD_OF(statuses, name, i) statuses(i)%name
#else
#define MODULE_OF_MPI mpi
#define HANDLE(kind) integer
#define STATUS_TYPE integer, dimension(MPI_STATUS_SIZE)
#define STATUSES_TYPE(count) integer, dimension(MPI_STATUS_SIZE, count)
#define FIELD(status, name) status(name)
#define FIELD_OF(statuses, name, i) statuses(name, i)
#endif

module calls
  use, intrinsic :: iso_c_binding
  use :: MODULE_OF_MPI
  use :: dovetail
  implicit none

  integer :: rank, ranks, after, before
  integer, target :: received, matched(3), probed(3), started(5), others(5), strided(6)
  type(c_ptr) :: runtime
  character(200) :: path
  logical :: others_ran

contains
  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    integer :: code
    if (condition) return
    print *, 'rank', rank, 'failed: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, code)
  end subroutine

  subroutine begin(workers)
    integer, intent(in) :: workers
    type(dovetail_options), target :: options
    options%size_of_this = c_sizeof(options)
    options%workers = workers
    call check(dovetail_runtime_create(c_loc(options), runtime) == 0, 'create a runtime')
  end subroutine

  subroutine spawn(body)
    type(c_funptr), intent(in), value :: body
    type(dovetail_task_description) :: description
    description%size_of_this = c_sizeof(description)
    description%body = body
    call check(dovetail_runtime_spawn(runtime, description, c_null_ptr) == 0, 'spawn')
  end subroutine

  subroutine finish()
    call check(dovetail_runtime_wait(runtime) == 0, 'wait')
    call check(dovetail_runtime_destroy(runtime) == 0, 'destroy the runtime')
  end subroutine

  ! The first of two tasks waits for what the second one makes the neighbour do.
  subroutine cross(first, second)
    type(c_funptr), intent(in), value :: first, second
    call begin(1)
    call spawn(first)
    call spawn(second)
    call finish()
  end subroutine

  ! Bodies have no name in C, which has a `send` of its own.
  recursive subroutine receive(argument) bind(c, name='')
    type(c_ptr), value :: argument
    STATUS_TYPE :: status
    integer :: code, count
    if (c_associated(argument)) error stop
    received = -1
    call MPI_Recv(received, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, status, code)
    call check(code == MPI_SUCCESS .and. received == before, 'MPI_Recv')
    call check(FIELD(status, MPI_SOURCE) == before .and. FIELD(status, MPI_TAG) == 1, 'the status of MPI_Recv')
    call MPI_Get_count(status, MPI_INTEGER, count, code)
    call check(count == 1, 'the count of MPI_Recv')
    call MPI_Recv(received, 1, MPI_INTEGER, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
    call check(received == before + 100, 'MPI_Recv without a status')
    call check(FIELD(MPI_STATUS_IGNORE, MPI_TAG) /= 2, 'a status was written to MPI_STATUS_IGNORE')
  end subroutine

  recursive subroutine send(argument) bind(c, name='')
    type(c_ptr), value :: argument
    integer :: code, value
    if (c_associated(argument)) error stop
    call MPI_Ssend(rank, 1, MPI_INTEGER, after, 1, MPI_COMM_WORLD, code)
    call check(code == MPI_SUCCESS, 'MPI_Ssend')
    value = rank + 100
    call MPI_Send(value, 1, MPI_INTEGER, after, 2, MPI_COMM_WORLD, code)
    call check(code == MPI_SUCCESS, 'MPI_Send')
#ifdef DOVETAIL_TEST_F08
    call MPI_Send(value, 1, MPI_INTEGER, MPI_PROC_NULL, 2, MPI_COMM_WORLD)  ! without an error code
#endif
  end subroutine

  recursive subroutine exchange(argument) bind(c, name='')
    type(c_ptr), value :: argument
    STATUS_TYPE :: status
    integer :: code, own, received, replaced
    if (c_associated(argument)) error stop
    own = rank + 10
    call MPI_Sendrecv(own, 1, MPI_INTEGER, after, 3, received, 1, MPI_INTEGER, before, 3, MPI_COMM_WORLD, status, code)
    call check(code == MPI_SUCCESS .and. received == before + 10, 'MPI_Sendrecv')
    call check(FIELD(status, MPI_SOURCE) == before .and. FIELD(status, MPI_TAG) == 3, 'the status of MPI_Sendrecv')
    replaced = rank + 20
    call MPI_Sendrecv_replace(replaced, 1, MPI_INTEGER, after, 4, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
    call check(code == MPI_SUCCESS .and. replaced == before + 20, 'MPI_Sendrecv_replace')
  end subroutine

  recursive subroutine probe(argument) bind(c, name='')
    type(c_ptr), value :: argument
    STATUS_TYPE :: status
    HANDLE(MPI_Message) :: message
    integer :: code, count
    if (c_associated(argument)) error stop
    call MPI_Probe(before, 5, MPI_COMM_WORLD, status, code)
    call MPI_Get_count(status, MPI_INTEGER, count, code)
    call check(count == 3, 'MPI_Probe')
    call MPI_Recv(probed, count, MPI_INTEGER, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
    call MPI_Mprobe(before, 6, MPI_COMM_WORLD, message, status, code)
    call MPI_Get_count(status, MPI_INTEGER, count, code)
    call MPI_Mrecv(matched, count, MPI_INTEGER, message, status, code)
    call check(code == MPI_SUCCESS .and. FIELD(status, MPI_TAG) == 6, 'MPI_Mrecv')
    call check(all(probed == [before, 2, 3]) .and. all(matched == [before, 4, 5]), 'what was probed')
  end subroutine

  recursive subroutine answer_probe(argument) bind(c, name='')
    type(c_ptr), value :: argument
    integer :: code
    if (c_associated(argument)) error stop
    call MPI_Send([rank, 2, 3], 3, MPI_INTEGER, after, 5, MPI_COMM_WORLD, code)
    call MPI_Send([rank, 4, 5], 3, MPI_INTEGER, after, 6, MPI_COMM_WORLD, code)
  end subroutine

  recursive subroutine wait_for_requests(argument) bind(c, name='')
    type(c_ptr), value :: argument
    HANDLE(MPI_Request) :: requests(5)
    STATUS_TYPE :: status
    STATUSES_TYPE(5) :: statuses
    integer :: code, i, which, ended, places(5)
    if (c_associated(argument)) error stop
    do i = 1, 5
      call MPI_Irecv(started(i), 1, MPI_INTEGER, before, 10 + i, MPI_COMM_WORLD, requests(i), code)
    end do
    call MPI_Wait(requests(1), status, code)
    call check(code == MPI_SUCCESS .and. FIELD(status, MPI_TAG) == 11, 'MPI_Wait')
    call check(requests(1) == MPI_REQUEST_NULL, 'the request after MPI_Wait')
    call MPI_Waitany(5, requests, which, MPI_STATUS_IGNORE, code)
    ! Which one is not compared: MPICH 4.0 says one less in mpi_f08.
    call check(code == MPI_SUCCESS .and. nulls_of(requests) == 2, 'MPI_Waitany')
    call MPI_Waitsome(5, requests, ended, places, MPI_STATUSES_IGNORE, code)
    call check(ended >= 1 .and. ended <= 3 .and. nulls_of(requests) == 2 + ended, 'MPI_Waitsome')
    call MPI_Waitall(5, requests, MPI_STATUSES_IGNORE, code)
    call check(code == MPI_SUCCESS .and. all(started == [(before + i, i = 1, 5)]), 'what was waited for')
    do i = 1, 5
      call MPI_Irecv(others(i), 1, MPI_INTEGER, before, 20 + i, MPI_COMM_WORLD, requests(i), code)
    end do
    call MPI_Waitall(5, requests, statuses, code)
    do i = 1, 5
      call check(FIELD_OF(statuses, MPI_TAG, i) == 20 + i .and. FIELD_OF(statuses, MPI_SOURCE, i) == before, &
                 'the statuses of MPI_Waitall')
    end do
  end subroutine

  integer function nulls_of(requests)
    HANDLE(MPI_Request), intent(in) :: requests(5)
    integer :: i
    nulls_of = 0
    do i = 1, 5
      if (requests(i) == MPI_REQUEST_NULL) nulls_of = nulls_of + 1
    end do
  end function

  recursive subroutine fulfil_requests(argument) bind(c, name='')
    type(c_ptr), value :: argument
    integer :: code, i, value
    if (c_associated(argument)) error stop
    do i = 1, 5
      value = rank + i
      call MPI_Ssend(value, 1, MPI_INTEGER, after, 10 + i, MPI_COMM_WORLD, code)
    end do
    do i = 5, 1, -1
      call MPI_Ssend(i, 1, MPI_INTEGER, after, 20 + i, MPI_COMM_WORLD, code)
    end do
  end subroutine

  recursive subroutine fail(argument) bind(c, name='')
    type(c_ptr), value :: argument
    integer :: code
    if (c_associated(argument)) error stop
    call MPI_Send(rank, 1, MPI_INTEGER, 12345, 7, MPI_COMM_WORLD, code)
    call check(code /= MPI_SUCCESS, 'a message to no rank was sent')
  end subroutine

  ! What has no address of its own, and values whose form only Fortran knows.
  recursive subroutine receive_at_bottom(argument) bind(c, name='')
    type(c_ptr), value :: argument
    HANDLE(MPI_Datatype) :: type_of_it
    integer(MPI_ADDRESS_KIND) :: places(1)
    integer, target :: value
    integer :: code
    logical :: is_first, any_is
    if (c_associated(argument)) error stop
    call MPI_Get_address(value, places(1), code)
    call MPI_Type_create_hindexed(1, [1], places, MPI_INTEGER, type_of_it, code)
    call MPI_Type_commit(type_of_it, code)
    call MPI_Recv(MPI_BOTTOM, 1, type_of_it, before, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
    call MPI_Type_free(type_of_it, code)
    call check(value == 8000 + before, 'MPI_BOTTOM')
    is_first = rank == 0
    call MPI_Allreduce(is_first, any_is, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, code)
    call check(any_is, 'MPI_LOR')
    call MPI_Allreduce(is_first, any_is, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, code)
    call check(any_is .eqv. ranks == 1, 'MPI_LAND')
  end subroutine

  recursive subroutine send_from_bottom(argument) bind(c, name='')
    type(c_ptr), value :: argument
    integer :: code, value
    if (c_associated(argument)) error stop
    value = 8000 + rank
    call MPI_Send(value, 1, MPI_INTEGER, after, 8, MPI_COMM_WORLD, code)
  end subroutine

#ifdef DOVETAIL_TEST_F08
  ! Every second element: a descriptor of an array, where the library takes these.
  recursive subroutine receive_with_steps(argument) bind(c, name='')
    type(c_ptr), value :: argument
    if (c_associated(argument)) error stop
    if (MPI_SUBARRAYS_SUPPORTED) then
      strided = 0
      call MPI_Recv(strided(1:6:2), 3, MPI_INTEGER, before, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      call check(all(strided == [before, 0, 2, 0, 3, 0]), 'every second element')
    end if
  end subroutine

  recursive subroutine send_steps(argument) bind(c, name='')
    type(c_ptr), value :: argument
    if (c_associated(argument)) error stop
    if (MPI_SUBARRAYS_SUPPORTED) call MPI_Send([rank, 2, 3], 3, MPI_INTEGER, after, 9, MPI_COMM_WORLD)
  end subroutine
#endif

  recursive subroutine call_collectives(argument) bind(c, name='')
    type(c_ptr), value :: argument
    integer :: code, value, total, every(ranks), own(ranks), i
    integer, target, asynchronous :: near(2), given(2)
    HANDLE(MPI_Comm) :: ring
    HANDLE(MPI_Request) :: request
    if (c_associated(argument)) error stop
    call MPI_Barrier(MPI_COMM_WORLD, code)
    value = merge(77, -1, rank == ranks - 1)
    call MPI_Bcast(value, 1, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, code)
    call check(code == MPI_SUCCESS .and. value == 77, 'MPI_Bcast')
    total = rank
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call check(total == ranks * (ranks - 1) / 2, 'MPI_Allreduce with MPI_IN_PLACE')
    total = rank
    if (rank == 0) then
      call MPI_Reduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, code)
    else
      call MPI_Reduce(total, value, 1, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, code)
    end if
    call check(rank /= 0 .or. total == ranks - 1, 'MPI_Reduce with MPI_IN_PLACE')
    every = -1
    every(rank + 1) = rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, every, 1, MPI_INTEGER, MPI_COMM_WORLD, code)
    call check(all(every == [(i - 1, i = 1, ranks)]), 'MPI_Allgather with MPI_IN_PLACE')
    own = rank
    call MPI_Alltoall(own, 1, MPI_INTEGER, every, 1, MPI_INTEGER, MPI_COMM_WORLD, code)
    call check(all(every == [(i - 1, i = 1, ranks)]), 'MPI_Alltoall')
    call MPI_Scan(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call check(total == rank * (rank + 1) / 2, 'MPI_Scan')
    call MPI_Scatter(every, 1, MPI_INTEGER, value, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
    call check(value == rank, 'MPI_Scatter')
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring, code)
    near = -1
    call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, near, 1, MPI_INTEGER, ring, code)
    call check(code == MPI_SUCCESS .and. all(near == [before, after]), 'MPI_Neighbor_allgather')
    given = rank + [100, 100]
    call MPI_Ineighbor_alltoall(given, 1, MPI_INTEGER, near, 1, MPI_INTEGER, ring, request, code)
    call MPI_Wait(request, MPI_STATUS_IGNORE, code)
    call check(code == MPI_SUCCESS .and. all(near == [100 + before, 100 + after]), 'MPI_Ineighbor_alltoall')
    call MPI_Comm_free(ring, code)
  end subroutine

  ! A communicator and a file, for which there are no forms with a request; texts among their arguments.
  recursive subroutine write_file(argument) bind(c, name='')
    type(c_ptr), value :: argument
    HANDLE(MPI_Comm) :: copy
    HANDLE(MPI_File) :: file
    STATUS_TYPE :: status
    integer(MPI_OFFSET_KIND) :: offset
    integer :: code, count, values(3), read_back(3)
    if (c_associated(argument)) error stop
    call check(.not. others_ran, 'the order of the tasks')
    call MPI_Comm_dup(MPI_COMM_WORLD, copy, code)
    ! The others' copies begin when a task of rank 0 has run meanwhile.
    call check(code == MPI_SUCCESS .and. (rank /= 0 .or. others_ran), 'MPI_Comm_dup ended without the others')
    call MPI_File_open(copy, trim(path), ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, file, code)
    call check(code == MPI_SUCCESS, 'MPI_File_open')
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, code)
    call check(code == MPI_SUCCESS, 'MPI_File_set_view')
    values = [rank, rank + 1, rank + 2]
    offset = 3 * rank
    call MPI_File_write_at_all(file, offset, values, 3, MPI_INTEGER, status, code)
    call MPI_Get_count(status, MPI_INTEGER, count, code)
    call check(count == 3, 'MPI_File_write_at_all')
    call MPI_File_sync(file, code)
    call MPI_Barrier(copy, code)
    call MPI_File_sync(file, code)
    offset = 3 * after
    call MPI_File_read_at(file, offset, read_back, 3, MPI_INTEGER, MPI_STATUS_IGNORE, code)
    call check(all(read_back == [after, after + 1, after + 2]), 'MPI_File_read_at')
    call MPI_File_close(file, code)
    call MPI_Comm_free(copy, code)
    call check(code == MPI_SUCCESS, 'MPI_Comm_free')
  end subroutine

  ! The neighbour's copy of the communicator begins when it has this message.
  recursive subroutine let_others_go_on(argument) bind(c, name='')
    type(c_ptr), value :: argument
    integer :: code
    if (c_associated(argument)) error stop
    others_ran = .true.
    call MPI_Send(rank, 1, MPI_INTEGER, after, 9, MPI_COMM_WORLD, code)
  end subroutine
end module calls

program fortran
  use, intrinsic :: iso_c_binding
  use :: calls
  use :: MODULE_OF_MPI
  implicit none
  integer :: provided, code, round, number, value

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  if (provided /= MPI_THREAD_MULTIPLE) stop 77
  after = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  call MPI_Barrier(MPI_COMM_WORLD, code)  ! before the first runtime: MPI's own

  call cross(c_funloc(receive), c_funloc(send))
  call cross(c_funloc(exchange), c_funloc(exchange))
  call cross(c_funloc(probe), c_funloc(answer_probe))
  call cross(c_funloc(wait_for_requests), c_funloc(fulfil_requests))
  call cross(c_funloc(receive_at_bottom), c_funloc(send_from_bottom))
  call cross(c_funloc(fail), c_funloc(fail))
#ifdef DOVETAIL_TEST_F08
  call cross(c_funloc(receive_with_steps), c_funloc(send_steps))
#endif
  ! Some ranks call them in a task, some outside of one.
  do round = 0, 9
    if (mod(rank + round, 2) == 0) then
      call begin(1)
      call spawn(c_funloc(call_collectives))
      call finish()
    else
      call call_collectives(c_null_ptr)
    end if
  end do
  call get_command_argument(1, path)
  if (rank == 0) then
    others_ran = .false.
    call cross(c_funloc(write_file), c_funloc(let_others_go_on))
  else
    call MPI_Recv(value, 1, MPI_INTEGER, before, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
    others_ran = .false.
    call begin(1)
    call spawn(c_funloc(write_file))
    call spawn(c_funloc(let_others_go_on))
    call finish()
  end if
  if (rank == 0) then
    call MPI_Recv(value, 1, MPI_INTEGER, before, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
    open (newunit=number, file=trim(path), access='stream', status='old')
    do round = 0, ranks - 1
      read (number) probed
      call check(all(probed == [round, round + 1, round + 2]), 'what is in the file')
    end do
    close (number, status='delete')
  end if
  call MPI_Finalize(code)
end program
