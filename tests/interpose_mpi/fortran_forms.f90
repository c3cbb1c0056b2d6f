! Operations of MPI that Fortran starts and binds in one call, with handles of mpi_f08 and with integers: collectives against MPI's own, messages,
! persistent and partitioned requests, waitany and waitsome. One worker.
include 'dovetail/dovetail.f90'
include 'dovetail/dovetail_mpi.f90'

module forms
  use, intrinsic :: iso_c_binding
  use :: dovetail
  use :: dovetail_mpi
  use :: mpi_f08
  implicit none

  integer, parameter :: each = 3, most = 24, collectives = 22
  integer, dimension(most), target, asynchronous :: given, taken
  integer, dimension(8), target :: counts, places, same, place_bytes
  type(MPI_Datatype), dimension(8), target :: types
  integer, dimension(8), target :: type_numbers
  integer(kind=MPI_ADDRESS_KIND), dimension(8), target :: offsets
  ! Of neighbours: each rank is one of each, the last rank first.
  type(MPI_Comm) :: plain, neighbours, plain_neighbours
  type(MPI_Request), dimension(2) :: persistent
  type(MPI_Status), target, asynchronous :: status
  integer, dimension(MPI_STATUS_SIZE), target, asynchronous :: number_status
  integer :: rank, ranks, following, previous, which, form, value

contains
  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    print *, 'rank', rank, ' failed: ', what, which, form, ' (', dovetail_text(dovetail_error_message()), ')'
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine fill()
    integer :: i
    do i = 1, most
      given(i) = 1000 * rank + 10 * i + which
      taken(i) = merge(i, -1, rank == ranks - 1)
    end do
  end subroutine

  ! With handles, and with the numbers of these.
  recursive function collective(argument) bind(c) result(answer)
    type(c_ptr), value :: argument
    integer(c_int32_t) :: answer
    type(MPI_Comm) :: all, near
    integer :: n, comm, comm_near, last
    if (c_associated(argument)) error stop 'an argument came from nowhere'
    all = MPI_COMM_WORLD
    comm = all%MPI_VAL
    near = neighbours
    comm_near = near%MPI_VAL
    n = MPI_INTEGER%MPI_VAL
    last = ranks - 1
    answer = -1
    if (form == 1) then
      select case (which)
      case (1); answer = dovetail_mpi_ibarrier(all)
      case (2); answer = dovetail_mpi_ibcast(taken, each, MPI_INTEGER, last, all)
      case (3); answer = dovetail_mpi_igather(given, each, MPI_INTEGER, taken, each, MPI_INTEGER, last, all)
      case (4)
        answer = dovetail_mpi_igatherv(given, counts(rank + 1), MPI_INTEGER, taken, counts, places, MPI_INTEGER, 0, all)
      case (5); answer = dovetail_mpi_iscatter(given, each, MPI_INTEGER, taken, each, MPI_INTEGER, last, all)
      case (6)
        answer = dovetail_mpi_iscatterv(given, counts, places, MPI_INTEGER, taken, counts(rank + 1), MPI_INTEGER, 0, all)
      case (7); answer = dovetail_mpi_iallgather(given, each, MPI_INTEGER, taken, each, MPI_INTEGER, all)
      case (8)
        answer = dovetail_mpi_iallgatherv(given, counts(rank + 1), MPI_INTEGER, taken, counts, places, MPI_INTEGER, all)
      case (9); answer = dovetail_mpi_ialltoall(given, each, MPI_INTEGER, taken, each, MPI_INTEGER, all)
      case (10)
        answer = dovetail_mpi_ialltoallv(given, same, places, MPI_INTEGER, taken, same, places, MPI_INTEGER, all)
      case (11); answer = dovetail_mpi_ialltoallw(given, same, place_bytes, types, taken, same, place_bytes, types, all)
      case (12); answer = dovetail_mpi_ireduce(given, taken, each, MPI_INTEGER, MPI_SUM, 0, all)
      case (13); answer = dovetail_mpi_iallreduce(given, taken, each, MPI_INTEGER, MPI_MAX, all)
      case (14); answer = dovetail_mpi_ireduce_scatter(given, taken, counts, MPI_INTEGER, MPI_SUM, all)
      case (15); answer = dovetail_mpi_ireduce_scatter_block(given, taken, each, MPI_INTEGER, MPI_SUM, all)
      case (16); answer = dovetail_mpi_iscan(given, taken, each, MPI_INTEGER, MPI_SUM, all)
      case (17); answer = dovetail_mpi_iexscan(given, taken, each, MPI_INTEGER, MPI_SUM, all)
      case (18); answer = dovetail_mpi_ineighbor_allgather(given, each, MPI_INTEGER, taken, each, MPI_INTEGER, near)
      case (19)
        answer = dovetail_mpi_ineighbor_allgatherv(given, each, MPI_INTEGER, taken, same, places, MPI_INTEGER, near)
      case (20); answer = dovetail_mpi_ineighbor_alltoall(given, each, MPI_INTEGER, taken, each, MPI_INTEGER, near)
      case (21)
        answer = dovetail_mpi_ineighbor_alltoallv(given, same, places, MPI_INTEGER, taken, same, places, MPI_INTEGER, near)
      case (22); answer = dovetail_mpi_ineighbor_alltoallw(given, same, offsets, types, taken, same, offsets, types, near)
      end select
    else
      select case (which)
      case (1); answer = dovetail_mpi_ibarrier(comm)
      case (2); answer = dovetail_mpi_ibcast(taken, each, n, last, comm)
      case (3); answer = dovetail_mpi_igather(given, each, n, taken, each, n, last, comm)
      case (4); answer = dovetail_mpi_igatherv(given, counts(rank + 1), n, taken, counts, places, n, 0, comm)
      case (5); answer = dovetail_mpi_iscatter(given, each, n, taken, each, n, last, comm)
      case (6); answer = dovetail_mpi_iscatterv(given, counts, places, n, taken, counts(rank + 1), n, 0, comm)
      case (7); answer = dovetail_mpi_iallgather(given, each, n, taken, each, n, comm)
      case (8); answer = dovetail_mpi_iallgatherv(given, counts(rank + 1), n, taken, counts, places, n, comm)
      case (9); answer = dovetail_mpi_ialltoall(given, each, n, taken, each, n, comm)
      case (10); answer = dovetail_mpi_ialltoallv(given, same, places, n, taken, same, places, n, comm)
      case (11)
        answer = dovetail_mpi_ialltoallw(given, same, place_bytes, type_numbers, taken, same, place_bytes, type_numbers, comm)
      case (12); answer = dovetail_mpi_ireduce(given, taken, each, n, MPI_SUM%MPI_VAL, 0, comm)
      case (13); answer = dovetail_mpi_iallreduce(given, taken, each, n, MPI_MAX%MPI_VAL, comm)
      case (14); answer = dovetail_mpi_ireduce_scatter(given, taken, counts, n, MPI_SUM%MPI_VAL, comm)
      case (15); answer = dovetail_mpi_ireduce_scatter_block(given, taken, each, n, MPI_SUM%MPI_VAL, comm)
      case (16); answer = dovetail_mpi_iscan(given, taken, each, n, MPI_SUM%MPI_VAL, comm)
      case (17); answer = dovetail_mpi_iexscan(given, taken, each, n, MPI_SUM%MPI_VAL, comm)
      case (18); answer = dovetail_mpi_ineighbor_allgather(given, each, n, taken, each, n, comm_near)
      case (19); answer = dovetail_mpi_ineighbor_allgatherv(given, each, n, taken, same, places, n, comm_near)
      case (20); answer = dovetail_mpi_ineighbor_alltoall(given, each, n, taken, each, n, comm_near)
      case (21); answer = dovetail_mpi_ineighbor_alltoallv(given, same, places, n, taken, same, places, n, comm_near)
      case (22)
        answer = dovetail_mpi_ineighbor_alltoallw(given, same, offsets, type_numbers, taken, same, offsets, type_numbers, comm_near)
      end select
    end if
  end function

  subroutine without_tasks()
    select case (which)
    case (1); call MPI_Barrier(plain)
    case (2); call MPI_Bcast(taken, each, MPI_INTEGER, ranks - 1, plain)
    case (3); call MPI_Gather(given, each, MPI_INTEGER, taken, each, MPI_INTEGER, ranks - 1, plain)
    case (4); call MPI_Gatherv(given, counts(rank + 1), MPI_INTEGER, taken, counts, places, MPI_INTEGER, 0, plain)
    case (5); call MPI_Scatter(given, each, MPI_INTEGER, taken, each, MPI_INTEGER, ranks - 1, plain)
    case (6); call MPI_Scatterv(given, counts, places, MPI_INTEGER, taken, counts(rank + 1), MPI_INTEGER, 0, plain)
    case (7); call MPI_Allgather(given, each, MPI_INTEGER, taken, each, MPI_INTEGER, plain)
    case (8); call MPI_Allgatherv(given, counts(rank + 1), MPI_INTEGER, taken, counts, places, MPI_INTEGER, plain)
    case (9); call MPI_Alltoall(given, each, MPI_INTEGER, taken, each, MPI_INTEGER, plain)
    case (10); call MPI_Alltoallv(given, same, places, MPI_INTEGER, taken, same, places, MPI_INTEGER, plain)
    case (11); call MPI_Alltoallw(given, same, place_bytes, types, taken, same, place_bytes, types, plain)
    case (12); call MPI_Reduce(given, taken, each, MPI_INTEGER, MPI_SUM, 0, plain)
    case (13); call MPI_Allreduce(given, taken, each, MPI_INTEGER, MPI_MAX, plain)
    case (14); call MPI_Reduce_scatter(given, taken, counts, MPI_INTEGER, MPI_SUM, plain)
    case (15); call MPI_Reduce_scatter_block(given, taken, each, MPI_INTEGER, MPI_SUM, plain)
    case (16); call MPI_Scan(given, taken, each, MPI_INTEGER, MPI_SUM, plain)
    case (17); call MPI_Exscan(given, taken, each, MPI_INTEGER, MPI_SUM, plain)
    case (18); call MPI_Neighbor_allgather(given, each, MPI_INTEGER, taken, each, MPI_INTEGER, plain_neighbours)
    case (19); call MPI_Neighbor_allgatherv(given, each, MPI_INTEGER, taken, same, places, MPI_INTEGER, plain_neighbours)
    case (20); call MPI_Neighbor_alltoall(given, each, MPI_INTEGER, taken, each, MPI_INTEGER, plain_neighbours)
    case (21)
      call MPI_Neighbor_alltoallv(given, same, places, MPI_INTEGER, taken, same, places, MPI_INTEGER, plain_neighbours)
    case (22); call MPI_Neighbor_alltoallw(given, same, offsets, types, taken, same, offsets, types, plain_neighbours)
    end select
  end subroutine

  ! A scalar, a part of an array, MPI_IN_PLACE, each kind of send.
  recursive function messages(argument) bind(c) result(answer)
    type(c_ptr), value :: argument
    integer(c_int32_t) :: answer
    integer :: comm, n
    if (c_associated(argument)) error stop 'an argument came from nowhere'
    comm = MPI_COMM_WORLD%MPI_VAL
    n = MPI_INTEGER%MPI_VAL
    value = -1
    answer = dovetail_mpi_irecv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, status)
    call check(answer == 0, 'a receive with handles')
    answer = dovetail_mpi_irecv(taken(5:8), 4, n, previous, MPI_ANY_TAG, plain%MPI_VAL, number_status)
    call check(answer == 0, 'a receive with numbers')
    answer = dovetail_mpi_irecv(taken(1:2), 2, MPI_INTEGER, previous, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(answer == 0, 'a receive without a status')
    answer = dovetail_mpi_irecv(taken(3:3), 1, n, MPI_PROC_NULL, 3, comm)
    call check(answer == 0, 'a receive of nobody')
    answer = dovetail_mpi_isend(rank, 1, MPI_INTEGER, following, 1, MPI_COMM_WORLD)
    call check(answer == 0, 'a send with handles')
    answer = dovetail_mpi_issend(given(1:4), 4, n, following, 2, plain%MPI_VAL)
    call check(answer == 0, 'a send with numbers')
    answer = dovetail_mpi_isend(given(7:8), 2, n, following, 3, comm)
    call check(answer == 0, 'another send')
    same(8) = rank + 1
    answer = dovetail_mpi_iallreduce(MPI_IN_PLACE, same(8), 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  end function

  recursive function starts(argument) bind(c) result(answer)
    type(c_ptr), value :: argument
    integer(c_int32_t) :: answer
    if (c_associated(argument)) error stop 'an argument came from nowhere'
    if (form == 1) then
      answer = dovetail_mpi_startall(persistent)
    else
      answer = dovetail_mpi_start(persistent(2)%MPI_VAL, number_status)
      call check(answer == 0, 'a start')
      answer = dovetail_mpi_start(persistent(1))
    end if
  end function

  ! The first of several, and some of them.
  recursive function several(argument) bind(c) result(answer)
    type(c_ptr), value :: argument
    integer(c_int32_t) :: answer
    if (c_associated(argument)) error stop 'an argument came from nowhere'
    call wait_for_several()
    answer = 0
  end function

  subroutine wait_for_several()
    type(MPI_Request), dimension(4) :: requests
    type(MPI_Status) :: its
    type(MPI_Status), dimension(4) :: statuses
    integer, dimension(4) :: handles, ended
    integer, dimension(MPI_STATUS_SIZE) :: number_its
    integer, dimension(2), target, asynchronous :: values
    integer :: i, place, found, so_far, known
    do i = 1, 2
      call MPI_Irecv(values(i), 1, MPI_INTEGER, previous, 10 + i, plain, requests(i))
    end do
    call MPI_Isend(rank, 1, MPI_INTEGER, following, 12, plain, requests(3))
    call check(dovetail_mpi_waitany(requests(1:2), place, its) == 0, 'a waitany')
    call check(place == 2 .and. its%MPI_TAG == 12 .and. values(2) == previous, 'the first of several')
    call check(requests(2) == MPI_REQUEST_NULL .and. requests(1) /= MPI_REQUEST_NULL, 'the requests of a waitany')
    ! The other one comes when its sender knows that the first was waited for.
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, previous, 13, known, 1, MPI_INTEGER, following, 13, plain, MPI_STATUS_IGNORE)
    call MPI_Isend(rank, 1, MPI_INTEGER, following, 11, plain, requests(4))
    handles(1) = requests(1)%MPI_VAL
    call check(dovetail_mpi_waitany(handles(1:1), place, number_its) == 0, 'a waitany with numbers')
    call check(place == 1 .and. number_its(MPI_TAG) == 11 .and. handles(1) == MPI_REQUEST_NULL%MPI_VAL, 'its request')
    requests(1) = MPI_REQUEST_NULL
    so_far = 0
    do while (so_far < 2)
      call check(dovetail_mpi_waitsome(requests, found, ended, statuses) == 0 .and. found > 0, 'a waitsome')
      call check(all(ended(1:found) > 2), 'the places of a waitsome')
      so_far = so_far + found
    end do
    handles = requests%MPI_VAL
    call check(dovetail_mpi_waitsome(handles, found, ended) == 0 .and. found == MPI_UNDEFINED, 'a waitsome of none')
  end subroutine

  recursive function arrives(argument) bind(c) result(answer)
    type(c_ptr), value :: argument
    integer(c_int32_t) :: answer
    if (c_associated(argument)) error stop 'an argument came from nowhere'
    answer = dovetail_mpi_parrived(persistent(1), 0)
  end function

  ! What is too long, to a rank that there is not.
  recursive function wrong(argument) bind(c) result(answer)
    type(c_ptr), value :: argument
    integer(c_int32_t) :: answer
    if (c_associated(argument)) error stop 'an argument came from nowhere'
    answer = dovetail_mpi_isend(rank, 1, MPI_INTEGER, ranks, 9, MPI_COMM_WORLD)
  end function
end module forms

program fortran_forms
  use, intrinsic :: iso_c_binding
  use :: dovetail
  use :: dovetail_mpi
  use :: forms
  use :: mpi_f08
  implicit none
  type(dovetail_options), target :: options
  type(c_ptr) :: runtime, failed
  integer, dimension(most) :: wanted
  integer :: provided, i

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
  if (provided /= MPI_THREAD_MULTIPLE) stop 77
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_dup(MPI_COMM_WORLD, plain)
  following = mod(rank + 1, ranks)
  previous = mod(rank + ranks - 1, ranks)
  options%size_of_this = c_sizeof(options)
  options%workers = 1
  call check(dovetail_runtime_create(c_loc(options), runtime) == 0, 'create a runtime')
  do i = 1, ranks
    counts(i) = 1 + mod(i - 1, each)
    places(i) = (i - 1) * each
    place_bytes(i) = 4 * places(i)
    offsets(i) = place_bytes(i)
    same(i) = each
    types(i) = MPI_INTEGER
    type_numbers(i) = MPI_INTEGER%MPI_VAL
  end do
  neighbours = all_as_neighbours()
  plain_neighbours = all_as_neighbours()
  do which = 1, collectives
    call fill()
    call without_tasks()
    wanted = taken
    do form = 1, 2
      call fill()
      call spawn(c_funloc(collective))
      call check(dovetail_runtime_wait(runtime) == 0, 'a collective')
      call check(all(taken == wanted), 'what a collective has brought')
    end do
  end do
  call fill()
  call spawn(c_funloc(messages))
  call check(dovetail_runtime_wait(runtime) == 0, 'messages')
  call check(value == previous .and. status%MPI_SOURCE == previous .and. status%MPI_TAG == 1, 'a message')
  call check(taken(5) == 1000 * previous + 10 + which .and. taken(8) - taken(5) == 30, 'a part of an array')
  call check(number_status(MPI_TAG) == 2 .and. number_status(MPI_SOURCE) == previous, 'a status of integers')
  call check(taken(1) == 1000 * previous + 70 + which, 'a message without a status')
  call check(same(8) == ranks * (ranks + 1) / 2, 'a sum in place')

  call MPI_Send_init(rank, 1, MPI_INTEGER, following, 20, MPI_COMM_WORLD, persistent(1))
  call MPI_Recv_init(value, 1, MPI_INTEGER, previous, 20, MPI_COMM_WORLD, persistent(2))
  do form = 1, 2
    value = -1
    call spawn(c_funloc(starts))
    call check(dovetail_runtime_wait(runtime) == 0, 'persistent requests')
    call check(value == previous, 'a persistent message')
  end do
  call check(number_status(MPI_TAG) == 20, 'the status of a start')
  call MPI_Request_free(persistent(1))
  call MPI_Request_free(persistent(2))

  call spawn(c_funloc(several))
  call check(dovetail_runtime_wait(runtime) == 0, 'several')
  call wait_for_several()

  call check(dovetail_mpi_ibarrier(MPI_COMM_WORLD) == -1, 'a barrier was bound to no task')
  call check(index(dovetail_text(dovetail_error_message()), 'outside of one') > 0, 'the reason is not said')
  call check(dovetail_mpi_parrived(MPI_REQUEST_NULL, 0) == -1, 'a partition was bound to no task')
  call spawn(c_funloc(wrong), failed)
  call check(dovetail_future_get(failed) == -5, 'a message to nobody was sent')
  call check(index(dovetail_text(dovetail_error_message()), 'MPI_Isend to rank') > 0 .and. &
             index(dovetail_text(dovetail_error_message()), 'in MPI_COMM_WORLD') > 0, 'the error does not say what it was')
  call dovetail_future_release(failed)

  call check(dovetail_runtime_destroy(runtime) == 0, 'destroy the runtime')
  call MPI_Comm_free(plain)
  call MPI_Comm_free(neighbours)
  call MPI_Comm_free(plain_neighbours)
  call MPI_Finalize()

contains
  function all_as_neighbours() result(made)
    type(MPI_Comm) :: made
    integer, dimension(ranks) :: others, weights
    others = [(ranks - i, i = 1, ranks)]
    weights = 1
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ranks, others, weights, ranks, others, weights, MPI_INFO_NULL, &
                                        .false., made)
  end function

  subroutine spawn(body, future)
    type(c_funptr), value, intent(in) :: body
    type(c_ptr), optional, target, intent(out) :: future
    type(dovetail_task_description) :: description
    type(c_ptr) :: place
    place = c_null_ptr
    if (present(future)) place = c_loc(future)
    description%size_of_this = c_sizeof(description)
    description%fallible_body = body
    call check(dovetail_runtime_spawn(runtime, description, place) == 0, 'spawn')
  end subroutine
end program fortran_forms
