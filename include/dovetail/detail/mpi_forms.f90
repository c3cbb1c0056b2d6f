! A part of dovetail_mpi.f90, which says what holds: operations that are started and bound in one call. Written by scripts/mpi_forms.py.
module dovetail_mpi_forms
  use, intrinsic :: iso_c_binding
  use :: mpi, only: MPI_ADDRESS_KIND, MPI_STATUS_SIZE, no_numbers => MPI_STATUS_IGNORE, &
                    other_in_place => MPI_IN_PLACE, other_bottom => MPI_BOTTOM
  use :: mpi_f08, only: MPI_Comm, MPI_Datatype, MPI_Op, MPI_Status, MPI_STATUS_IGNORE, MPI_PROC_NULL, MPI_ANY_SOURCE, &
                        MPI_ANY_TAG, MPI_IN_PLACE, MPI_BOTTOM
  implicit none
  private
  public :: dovetail_mpi_isend, dovetail_mpi_issend, dovetail_mpi_ibsend, dovetail_mpi_irsend, dovetail_mpi_irecv, &
        dovetail_mpi_ibarrier, dovetail_mpi_ibcast, dovetail_mpi_igather, dovetail_mpi_igatherv, &
        dovetail_mpi_iscatter, dovetail_mpi_iscatterv, dovetail_mpi_iallgather, dovetail_mpi_iallgatherv, &
        dovetail_mpi_ialltoall, dovetail_mpi_ialltoallv, dovetail_mpi_ialltoallw, dovetail_mpi_ireduce, &
        dovetail_mpi_iallreduce, dovetail_mpi_ireduce_scatter, dovetail_mpi_ireduce_scatter_block, dovetail_mpi_iscan, &
        dovetail_mpi_iexscan, dovetail_mpi_ineighbor_allgather, dovetail_mpi_ineighbor_allgatherv, &
        dovetail_mpi_ineighbor_alltoall, dovetail_mpi_ineighbor_alltoallv, dovetail_mpi_ineighbor_alltoallw
  public :: place_of_status, place_of_numbers

  interface dovetail_mpi_isend
    module procedure isend_handles, isend_numbers
  end interface
  interface dovetail_mpi_issend
    module procedure issend_handles, issend_numbers
  end interface
  interface dovetail_mpi_ibsend
    module procedure ibsend_handles, ibsend_numbers
  end interface
  interface dovetail_mpi_irsend
    module procedure irsend_handles, irsend_numbers
  end interface
  interface dovetail_mpi_irecv
    module procedure irecv_handles, irecv_numbers
  end interface
  interface dovetail_mpi_ibarrier
    module procedure ibarrier_handles, ibarrier_numbers
  end interface
  interface dovetail_mpi_ibcast
    module procedure ibcast_handles, ibcast_numbers
  end interface
  interface dovetail_mpi_igather
    module procedure igather_handles, igather_numbers
  end interface
  interface dovetail_mpi_igatherv
    module procedure igatherv_handles, igatherv_numbers
  end interface
  interface dovetail_mpi_iscatter
    module procedure iscatter_handles, iscatter_numbers
  end interface
  interface dovetail_mpi_iscatterv
    module procedure iscatterv_handles, iscatterv_numbers
  end interface
  interface dovetail_mpi_iallgather
    module procedure iallgather_handles, iallgather_numbers
  end interface
  interface dovetail_mpi_iallgatherv
    module procedure iallgatherv_handles, iallgatherv_numbers
  end interface
  interface dovetail_mpi_ialltoall
    module procedure ialltoall_handles, ialltoall_numbers
  end interface
  interface dovetail_mpi_ialltoallv
    module procedure ialltoallv_handles, ialltoallv_numbers
  end interface
  interface dovetail_mpi_ialltoallw
    module procedure ialltoallw_handles, ialltoallw_numbers
  end interface
  interface dovetail_mpi_ireduce
    module procedure ireduce_handles, ireduce_numbers
  end interface
  interface dovetail_mpi_iallreduce
    module procedure iallreduce_handles, iallreduce_numbers
  end interface
  interface dovetail_mpi_ireduce_scatter
    module procedure ireduce_scatter_handles, ireduce_scatter_numbers
  end interface
  interface dovetail_mpi_ireduce_scatter_block
    module procedure ireduce_scatter_block_handles, ireduce_scatter_block_numbers
  end interface
  interface dovetail_mpi_iscan
    module procedure iscan_handles, iscan_numbers
  end interface
  interface dovetail_mpi_iexscan
    module procedure iexscan_handles, iexscan_numbers
  end interface
  interface dovetail_mpi_ineighbor_allgather
    module procedure ineighbor_allgather_handles, ineighbor_allgather_numbers
  end interface
  interface dovetail_mpi_ineighbor_allgatherv
    module procedure ineighbor_allgatherv_handles, ineighbor_allgatherv_numbers
  end interface
  interface dovetail_mpi_ineighbor_alltoall
    module procedure ineighbor_alltoall_handles, ineighbor_alltoall_numbers
  end interface
  interface dovetail_mpi_ineighbor_alltoallv
    module procedure ineighbor_alltoallv_handles, ineighbor_alltoallv_numbers
  end interface
  interface dovetail_mpi_ineighbor_alltoallw
    module procedure ineighbor_alltoallw_handles, ineighbor_alltoallw_numbers
  end interface

  type, bind(c) :: send_arguments
    type(c_ptr) :: data
    integer(c_int) :: count
    integer(c_int) :: type
    integer(c_int) :: rank
    integer(c_int) :: tag
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: isend_text = 'MPI_Isend'//c_null_char
  character(kind=c_char), dimension(len(isend_text)), target, save :: name_of_isend = &
    transfer(isend_text, [character(kind=c_char) :: ' '], len(isend_text))
  type, bind(c) :: ssend_arguments
    type(c_ptr) :: data
    integer(c_int) :: count
    integer(c_int) :: type
    integer(c_int) :: rank
    integer(c_int) :: tag
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: issend_text = 'MPI_Issend'//c_null_char
  character(kind=c_char), dimension(len(issend_text)), target, save :: name_of_issend = &
    transfer(issend_text, [character(kind=c_char) :: ' '], len(issend_text))
  type, bind(c) :: bsend_arguments
    type(c_ptr) :: data
    integer(c_int) :: count
    integer(c_int) :: type
    integer(c_int) :: rank
    integer(c_int) :: tag
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: ibsend_text = 'MPI_Ibsend'//c_null_char
  character(kind=c_char), dimension(len(ibsend_text)), target, save :: name_of_ibsend = &
    transfer(ibsend_text, [character(kind=c_char) :: ' '], len(ibsend_text))
  type, bind(c) :: rsend_arguments
    type(c_ptr) :: data
    integer(c_int) :: count
    integer(c_int) :: type
    integer(c_int) :: rank
    integer(c_int) :: tag
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: irsend_text = 'MPI_Irsend'//c_null_char
  character(kind=c_char), dimension(len(irsend_text)), target, save :: name_of_irsend = &
    transfer(irsend_text, [character(kind=c_char) :: ' '], len(irsend_text))
  type, bind(c) :: recv_arguments
    type(c_ptr) :: data
    integer(c_int) :: count
    integer(c_int) :: type
    integer(c_int) :: rank
    integer(c_int) :: tag
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: irecv_text = 'MPI_Irecv'//c_null_char
  character(kind=c_char), dimension(len(irecv_text)), target, save :: name_of_irecv = &
    transfer(irecv_text, [character(kind=c_char) :: ' '], len(irecv_text))
  type, bind(c) :: barrier_arguments
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: ibarrier_text = 'MPI_Ibarrier'//c_null_char
  character(kind=c_char), dimension(len(ibarrier_text)), target, save :: name_of_ibarrier = &
    transfer(ibarrier_text, [character(kind=c_char) :: ' '], len(ibarrier_text))
  type, bind(c) :: bcast_arguments
    type(c_ptr) :: data
    integer(c_int) :: count
    integer(c_int) :: type
    integer(c_int) :: root
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: ibcast_text = 'MPI_Ibcast'//c_null_char
  character(kind=c_char), dimension(len(ibcast_text)), target, save :: name_of_ibcast = &
    transfer(ibcast_text, [character(kind=c_char) :: ' '], len(ibcast_text))
  type, bind(c) :: gather_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: received
    integer(c_int) :: sent_count
    integer(c_int) :: sent_type
    integer(c_int) :: received_count
    integer(c_int) :: received_type
    integer(c_int) :: root
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: igather_text = 'MPI_Igather'//c_null_char
  character(kind=c_char), dimension(len(igather_text)), target, save :: name_of_igather = &
    transfer(igather_text, [character(kind=c_char) :: ' '], len(igather_text))
  type, bind(c) :: gatherv_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: received
    type(c_ptr) :: counts
    type(c_ptr) :: places
    integer(c_int) :: sent_count
    integer(c_int) :: sent_type
    integer(c_int) :: received_type
    integer(c_int) :: root
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: igatherv_text = 'MPI_Igatherv'//c_null_char
  character(kind=c_char), dimension(len(igatherv_text)), target, save :: name_of_igatherv = &
    transfer(igatherv_text, [character(kind=c_char) :: ' '], len(igatherv_text))
  type, bind(c) :: scatter_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: received
    integer(c_int) :: sent_count
    integer(c_int) :: sent_type
    integer(c_int) :: received_count
    integer(c_int) :: received_type
    integer(c_int) :: root
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: iscatter_text = 'MPI_Iscatter'//c_null_char
  character(kind=c_char), dimension(len(iscatter_text)), target, save :: name_of_iscatter = &
    transfer(iscatter_text, [character(kind=c_char) :: ' '], len(iscatter_text))
  type, bind(c) :: scatterv_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: counts
    type(c_ptr) :: places
    type(c_ptr) :: received
    integer(c_int) :: sent_type
    integer(c_int) :: received_count
    integer(c_int) :: received_type
    integer(c_int) :: root
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: iscatterv_text = 'MPI_Iscatterv'//c_null_char
  character(kind=c_char), dimension(len(iscatterv_text)), target, save :: name_of_iscatterv = &
    transfer(iscatterv_text, [character(kind=c_char) :: ' '], len(iscatterv_text))
  type, bind(c) :: allgather_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: received
    integer(c_int) :: sent_count
    integer(c_int) :: sent_type
    integer(c_int) :: received_count
    integer(c_int) :: received_type
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: iallgather_text = 'MPI_Iallgather'//c_null_char
  character(kind=c_char), dimension(len(iallgather_text)), target, save :: name_of_iallgather = &
    transfer(iallgather_text, [character(kind=c_char) :: ' '], len(iallgather_text))
  type, bind(c) :: allgatherv_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: received
    type(c_ptr) :: counts
    type(c_ptr) :: places
    integer(c_int) :: sent_count
    integer(c_int) :: sent_type
    integer(c_int) :: received_type
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: iallgatherv_text = 'MPI_Iallgatherv'//c_null_char
  character(kind=c_char), dimension(len(iallgatherv_text)), target, save :: name_of_iallgatherv = &
    transfer(iallgatherv_text, [character(kind=c_char) :: ' '], len(iallgatherv_text))
  type, bind(c) :: alltoall_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: received
    integer(c_int) :: sent_count
    integer(c_int) :: sent_type
    integer(c_int) :: received_count
    integer(c_int) :: received_type
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: ialltoall_text = 'MPI_Ialltoall'//c_null_char
  character(kind=c_char), dimension(len(ialltoall_text)), target, save :: name_of_ialltoall = &
    transfer(ialltoall_text, [character(kind=c_char) :: ' '], len(ialltoall_text))
  type, bind(c) :: alltoallv_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: sent_counts
    type(c_ptr) :: sent_places
    type(c_ptr) :: received
    type(c_ptr) :: received_counts
    type(c_ptr) :: received_places
    integer(c_int) :: sent_type
    integer(c_int) :: received_type
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: ialltoallv_text = 'MPI_Ialltoallv'//c_null_char
  character(kind=c_char), dimension(len(ialltoallv_text)), target, save :: name_of_ialltoallv = &
    transfer(ialltoallv_text, [character(kind=c_char) :: ' '], len(ialltoallv_text))
  type, bind(c) :: alltoallw_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: sent_counts
    type(c_ptr) :: sent_places
    type(c_ptr) :: sent_types
    type(c_ptr) :: received
    type(c_ptr) :: received_counts
    type(c_ptr) :: received_places
    type(c_ptr) :: received_types
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: ialltoallw_text = 'MPI_Ialltoallw'//c_null_char
  character(kind=c_char), dimension(len(ialltoallw_text)), target, save :: name_of_ialltoallw = &
    transfer(ialltoallw_text, [character(kind=c_char) :: ' '], len(ialltoallw_text))
  type, bind(c) :: reduce_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: received
    integer(c_int) :: count
    integer(c_int) :: type
    integer(c_int) :: operation
    integer(c_int) :: root
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: ireduce_text = 'MPI_Ireduce'//c_null_char
  character(kind=c_char), dimension(len(ireduce_text)), target, save :: name_of_ireduce = &
    transfer(ireduce_text, [character(kind=c_char) :: ' '], len(ireduce_text))
  type, bind(c) :: allreduce_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: received
    integer(c_int) :: count
    integer(c_int) :: type
    integer(c_int) :: operation
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: iallreduce_text = 'MPI_Iallreduce'//c_null_char
  character(kind=c_char), dimension(len(iallreduce_text)), target, save :: name_of_iallreduce = &
    transfer(iallreduce_text, [character(kind=c_char) :: ' '], len(iallreduce_text))
  type, bind(c) :: reduce_scatter_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: received
    type(c_ptr) :: counts
    integer(c_int) :: type
    integer(c_int) :: operation
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: ireduce_scatter_text = 'MPI_Ireduce_scatter'//c_null_char
  character(kind=c_char), dimension(len(ireduce_scatter_text)), target, save :: name_of_ireduce_scatter = &
    transfer(ireduce_scatter_text, [character(kind=c_char) :: ' '], len(ireduce_scatter_text))
  type, bind(c) :: reduce_scatter_block_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: received
    integer(c_int) :: count
    integer(c_int) :: type
    integer(c_int) :: operation
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: ireduce_scatter_block_text = 'MPI_Ireduce_scatter_block'//c_null_char
  character(kind=c_char), dimension(len(ireduce_scatter_block_text)), target, save :: name_of_ireduce_scatter_block = &
    transfer(ireduce_scatter_block_text, [character(kind=c_char) :: ' '], len(ireduce_scatter_block_text))
  type, bind(c) :: scan_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: received
    integer(c_int) :: count
    integer(c_int) :: type
    integer(c_int) :: operation
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: iscan_text = 'MPI_Iscan'//c_null_char
  character(kind=c_char), dimension(len(iscan_text)), target, save :: name_of_iscan = &
    transfer(iscan_text, [character(kind=c_char) :: ' '], len(iscan_text))
  type, bind(c) :: exscan_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: received
    integer(c_int) :: count
    integer(c_int) :: type
    integer(c_int) :: operation
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: iexscan_text = 'MPI_Iexscan'//c_null_char
  character(kind=c_char), dimension(len(iexscan_text)), target, save :: name_of_iexscan = &
    transfer(iexscan_text, [character(kind=c_char) :: ' '], len(iexscan_text))
  type, bind(c) :: neighbor_allgather_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: received
    integer(c_int) :: sent_count
    integer(c_int) :: sent_type
    integer(c_int) :: received_count
    integer(c_int) :: received_type
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: ineighbor_allgather_text = 'MPI_Ineighbor_allgather'//c_null_char
  character(kind=c_char), dimension(len(ineighbor_allgather_text)), target, save :: name_of_ineighbor_allgather = &
    transfer(ineighbor_allgather_text, [character(kind=c_char) :: ' '], len(ineighbor_allgather_text))
  type, bind(c) :: neighbor_allgatherv_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: received
    type(c_ptr) :: counts
    type(c_ptr) :: places
    integer(c_int) :: sent_count
    integer(c_int) :: sent_type
    integer(c_int) :: received_type
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: ineighbor_allgatherv_text = 'MPI_Ineighbor_allgatherv'//c_null_char
  character(kind=c_char), dimension(len(ineighbor_allgatherv_text)), target, save :: name_of_ineighbor_allgatherv = &
    transfer(ineighbor_allgatherv_text, [character(kind=c_char) :: ' '], len(ineighbor_allgatherv_text))
  type, bind(c) :: neighbor_alltoall_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: received
    integer(c_int) :: sent_count
    integer(c_int) :: sent_type
    integer(c_int) :: received_count
    integer(c_int) :: received_type
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: ineighbor_alltoall_text = 'MPI_Ineighbor_alltoall'//c_null_char
  character(kind=c_char), dimension(len(ineighbor_alltoall_text)), target, save :: name_of_ineighbor_alltoall = &
    transfer(ineighbor_alltoall_text, [character(kind=c_char) :: ' '], len(ineighbor_alltoall_text))
  type, bind(c) :: neighbor_alltoallv_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: sent_counts
    type(c_ptr) :: sent_places
    type(c_ptr) :: received
    type(c_ptr) :: received_counts
    type(c_ptr) :: received_places
    integer(c_int) :: sent_type
    integer(c_int) :: received_type
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: ineighbor_alltoallv_text = 'MPI_Ineighbor_alltoallv'//c_null_char
  character(kind=c_char), dimension(len(ineighbor_alltoallv_text)), target, save :: name_of_ineighbor_alltoallv = &
    transfer(ineighbor_alltoallv_text, [character(kind=c_char) :: ' '], len(ineighbor_alltoallv_text))
  type, bind(c) :: neighbor_alltoallw_arguments
    type(c_ptr) :: sent
    type(c_ptr) :: sent_counts
    type(c_ptr) :: sent_places
    type(c_ptr) :: sent_types
    type(c_ptr) :: received
    type(c_ptr) :: received_counts
    type(c_ptr) :: received_places
    type(c_ptr) :: received_types
    integer(c_int) :: communicator
  end type
  character(kind=c_char, len=*), parameter :: ineighbor_alltoallw_text = 'MPI_Ineighbor_alltoallw'//c_null_char
  character(kind=c_char), dimension(len(ineighbor_alltoallw_text)), target, save :: name_of_ineighbor_alltoallw = &
    transfer(ineighbor_alltoallw_text, [character(kind=c_char) :: ' '], len(ineighbor_alltoallw_text))
  integer(c_int32_t), parameter :: no_peer = -1, any_source = -2, no_tag = -1, any_tag = -2

  interface
    function begin_call(call, communicator, peer, tag, receives, start, arguments, size_of_arguments, status) &
          bind(c, name='dovetail_mpi_fortran_begin') result(answer)
      import
      type(c_ptr), value, intent(in) :: call
      integer(c_int32_t), value, intent(in) :: communicator, peer, tag, receives
      type(c_funptr), value, intent(in) :: start
      type(c_ptr), value, intent(in) :: arguments
      integer(c_size_t), value, intent(in) :: size_of_arguments
      type(c_ptr), value, intent(in) :: status
      integer(c_int32_t) :: answer
    end function

    subroutine put_request(number, request) bind(c, name='dovetail_mpi_fortran_request')
      import
      integer(c_int32_t), value, intent(in) :: number
      type(c_ptr), value, intent(in) :: request
    end subroutine

    ! The address of a buffer of whatever type and rank.
    function place_of(buffer) bind(c, name='dovetail_mpi_fortran_place') result(place)
      import
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buffer
!DIR$ IGNORE_TKR buffer
      type(*), dimension(*), asynchronous :: buffer
      type(c_ptr) :: place
    end function
  end interface

contains
  ! The operations are begun by the calls of mpif.h, whose MPI_IN_PLACE may lie elsewhere than that of mpi_f08.
  function common_place(place) result(common)
    type(c_ptr), intent(in) :: place
    type(c_ptr) :: common
    common = place
    if (c_associated(place, place_of(MPI_IN_PLACE))) common = place_of(other_in_place)
    if (c_associated(place, place_of(MPI_BOTTOM))) common = place_of(other_bottom)
  end function

  pure function destination_of(rank) result(peer)
    integer, intent(in) :: rank
    integer(c_int32_t) :: peer
    peer = merge(no_peer, rank, rank == MPI_PROC_NULL)
  end function

  pure function source_of(rank) result(peer)
    integer, intent(in) :: rank
    integer(c_int32_t) :: peer
    peer = merge(any_source, destination_of(rank), rank == MPI_ANY_SOURCE)
  end function

  pure function received_tag(tag) result(told)
    integer, intent(in) :: tag
    integer(c_int32_t) :: told
    told = merge(any_tag, tag, tag == MPI_ANY_TAG)
  end function

  ! Null where it is to be ignored.
  function place_of_status(status, ignored) result(place)
    type(MPI_Status), target, asynchronous :: status, ignored
    type(c_ptr) :: place
    place = c_loc(status)
    if (c_associated(place, c_loc(ignored))) place = c_null_ptr
  end function

  function place_of_numbers(status, ignored) result(place)
    integer, dimension(*), target, asynchronous :: status, ignored
    type(c_ptr) :: place
    place = c_loc(status)
    if (c_associated(place, c_loc(ignored))) place = c_null_ptr
  end function

  recursive function begin_isend(given, request) bind(c) result(code)
    type(send_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Isend
    integer, dimension(:), pointer, contiguous :: data
    call c_f_pointer(given%data, data, [1])
    call MPI_Isend(data, given%count, given%type, given%rank, given%tag, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function isend_handles(data, count, type, rank, tag, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: data
!DIR$ IGNORE_TKR data
    type(*), dimension(*), asynchronous :: data
    integer, intent(in) :: count
    type(MPI_Datatype), intent(in) :: type
    integer, intent(in) :: rank
    integer, intent(in) :: tag
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(send_arguments), target :: given
    given = send_arguments(common_place(place_of(data)), count, type%MPI_VAL, rank, tag, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_isend), communicator%MPI_VAL, destination_of(rank), tag, 0, &
          c_funloc(begin_isend), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function isend_numbers(data, count, type, rank, tag, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: data
!DIR$ IGNORE_TKR data
    type(*), dimension(*), asynchronous :: data
    integer, intent(in) :: count
    integer, intent(in) :: type
    integer, intent(in) :: rank
    integer, intent(in) :: tag
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(send_arguments), target :: given
    given = send_arguments(place_of(data), count, type, rank, tag, communicator)
    answer = begin_call(c_loc(name_of_isend), communicator, destination_of(rank), tag, 0, c_funloc(begin_isend), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_issend(given, request) bind(c) result(code)
    type(ssend_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Issend
    integer, dimension(:), pointer, contiguous :: data
    call c_f_pointer(given%data, data, [1])
    call MPI_Issend(data, given%count, given%type, given%rank, given%tag, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function issend_handles(data, count, type, rank, tag, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: data
!DIR$ IGNORE_TKR data
    type(*), dimension(*), asynchronous :: data
    integer, intent(in) :: count
    type(MPI_Datatype), intent(in) :: type
    integer, intent(in) :: rank
    integer, intent(in) :: tag
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(ssend_arguments), target :: given
    given = ssend_arguments(common_place(place_of(data)), count, type%MPI_VAL, rank, tag, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_issend), communicator%MPI_VAL, destination_of(rank), tag, 0, &
          c_funloc(begin_issend), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function issend_numbers(data, count, type, rank, tag, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: data
!DIR$ IGNORE_TKR data
    type(*), dimension(*), asynchronous :: data
    integer, intent(in) :: count
    integer, intent(in) :: type
    integer, intent(in) :: rank
    integer, intent(in) :: tag
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(ssend_arguments), target :: given
    given = ssend_arguments(place_of(data), count, type, rank, tag, communicator)
    answer = begin_call(c_loc(name_of_issend), communicator, destination_of(rank), tag, 0, c_funloc(begin_issend), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_ibsend(given, request) bind(c) result(code)
    type(bsend_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Ibsend
    integer, dimension(:), pointer, contiguous :: data
    call c_f_pointer(given%data, data, [1])
    call MPI_Ibsend(data, given%count, given%type, given%rank, given%tag, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function ibsend_handles(data, count, type, rank, tag, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: data
!DIR$ IGNORE_TKR data
    type(*), dimension(*), asynchronous :: data
    integer, intent(in) :: count
    type(MPI_Datatype), intent(in) :: type
    integer, intent(in) :: rank
    integer, intent(in) :: tag
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(bsend_arguments), target :: given
    given = bsend_arguments(common_place(place_of(data)), count, type%MPI_VAL, rank, tag, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_ibsend), communicator%MPI_VAL, destination_of(rank), tag, 0, &
          c_funloc(begin_ibsend), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function ibsend_numbers(data, count, type, rank, tag, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: data
!DIR$ IGNORE_TKR data
    type(*), dimension(*), asynchronous :: data
    integer, intent(in) :: count
    integer, intent(in) :: type
    integer, intent(in) :: rank
    integer, intent(in) :: tag
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(bsend_arguments), target :: given
    given = bsend_arguments(place_of(data), count, type, rank, tag, communicator)
    answer = begin_call(c_loc(name_of_ibsend), communicator, destination_of(rank), tag, 0, c_funloc(begin_ibsend), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_irsend(given, request) bind(c) result(code)
    type(rsend_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Irsend
    integer, dimension(:), pointer, contiguous :: data
    call c_f_pointer(given%data, data, [1])
    call MPI_Irsend(data, given%count, given%type, given%rank, given%tag, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function irsend_handles(data, count, type, rank, tag, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: data
!DIR$ IGNORE_TKR data
    type(*), dimension(*), asynchronous :: data
    integer, intent(in) :: count
    type(MPI_Datatype), intent(in) :: type
    integer, intent(in) :: rank
    integer, intent(in) :: tag
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(rsend_arguments), target :: given
    given = rsend_arguments(common_place(place_of(data)), count, type%MPI_VAL, rank, tag, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_irsend), communicator%MPI_VAL, destination_of(rank), tag, 0, &
          c_funloc(begin_irsend), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function irsend_numbers(data, count, type, rank, tag, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: data
!DIR$ IGNORE_TKR data
    type(*), dimension(*), asynchronous :: data
    integer, intent(in) :: count
    integer, intent(in) :: type
    integer, intent(in) :: rank
    integer, intent(in) :: tag
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(rsend_arguments), target :: given
    given = rsend_arguments(place_of(data), count, type, rank, tag, communicator)
    answer = begin_call(c_loc(name_of_irsend), communicator, destination_of(rank), tag, 0, c_funloc(begin_irsend), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_irecv(given, request) bind(c) result(code)
    type(recv_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Irecv
    integer, dimension(:), pointer, contiguous :: data
    call c_f_pointer(given%data, data, [1])
    call MPI_Irecv(data, given%count, given%type, given%rank, given%tag, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function irecv_handles(data, count, type, rank, tag, communicator, status) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: data
!DIR$ IGNORE_TKR data
    type(*), dimension(*), asynchronous :: data
    integer, intent(in) :: count
    type(MPI_Datatype), intent(in) :: type
    integer, intent(in) :: rank
    integer, intent(in) :: tag
    type(MPI_Comm), intent(in) :: communicator
    type(MPI_Status), optional, target, asynchronous :: status
    integer(c_int32_t) :: answer
    type(recv_arguments), target :: given
    given = recv_arguments(common_place(place_of(data)), count, type%MPI_VAL, rank, tag, communicator%MPI_VAL)
    if (present(status)) then
      answer = begin_call(c_loc(name_of_irecv), communicator%MPI_VAL, source_of(rank), received_tag(tag), 1, &
            c_funloc(begin_irecv), c_loc(given), c_sizeof(given), place_of_status(status, MPI_STATUS_IGNORE))
    else
      answer = begin_call(c_loc(name_of_irecv), communicator%MPI_VAL, source_of(rank), received_tag(tag), 1, &
            c_funloc(begin_irecv), c_loc(given), c_sizeof(given), c_null_ptr)
    end if
  end function

  recursive function irecv_numbers(data, count, type, rank, tag, communicator, status) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: data
!DIR$ IGNORE_TKR data
    type(*), dimension(*), asynchronous :: data
    integer, intent(in) :: count
    integer, intent(in) :: type
    integer, intent(in) :: rank
    integer, intent(in) :: tag
    integer, intent(in) :: communicator
    integer, dimension(MPI_STATUS_SIZE), optional, target, asynchronous :: status
    integer(c_int32_t) :: answer
    type(recv_arguments), target :: given
    given = recv_arguments(place_of(data), count, type, rank, tag, communicator)
    if (present(status)) then
      answer = begin_call(c_loc(name_of_irecv), communicator, source_of(rank), received_tag(tag), 1, &
            c_funloc(begin_irecv), c_loc(given), c_sizeof(given), place_of_numbers(status, no_numbers))
    else
      answer = begin_call(c_loc(name_of_irecv), communicator, source_of(rank), received_tag(tag), 1, &
            c_funloc(begin_irecv), c_loc(given), c_sizeof(given), c_null_ptr)
    end if
  end function

  recursive function begin_ibarrier(given, request) bind(c) result(code)
    type(barrier_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Ibarrier
    call MPI_Ibarrier(given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function ibarrier_handles(communicator) result(answer)
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(barrier_arguments), target :: given
    given = barrier_arguments(communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_ibarrier), communicator%MPI_VAL, no_peer, no_tag, 0, c_funloc(begin_ibarrier), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function ibarrier_numbers(communicator) result(answer)
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(barrier_arguments), target :: given
    given = barrier_arguments(communicator)
    answer = begin_call(c_loc(name_of_ibarrier), communicator, no_peer, no_tag, 0, c_funloc(begin_ibarrier), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_ibcast(given, request) bind(c) result(code)
    type(bcast_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Ibcast
    integer, dimension(:), pointer, contiguous :: data
    call c_f_pointer(given%data, data, [1])
    call MPI_Ibcast(data, given%count, given%type, given%root, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function ibcast_handles(data, count, type, root, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: data
!DIR$ IGNORE_TKR data
    type(*), dimension(*), asynchronous :: data
    integer, intent(in) :: count
    type(MPI_Datatype), intent(in) :: type
    integer, intent(in) :: root
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(bcast_arguments), target :: given
    given = bcast_arguments(common_place(place_of(data)), count, type%MPI_VAL, root, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_ibcast), communicator%MPI_VAL, no_peer, no_tag, 0, c_funloc(begin_ibcast), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function ibcast_numbers(data, count, type, root, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: data
!DIR$ IGNORE_TKR data
    type(*), dimension(*), asynchronous :: data
    integer, intent(in) :: count
    integer, intent(in) :: type
    integer, intent(in) :: root
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(bcast_arguments), target :: given
    given = bcast_arguments(place_of(data), count, type, root, communicator)
    answer = begin_call(c_loc(name_of_ibcast), communicator, no_peer, no_tag, 0, c_funloc(begin_ibcast), c_loc(given), &
          c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_igather(given, request) bind(c) result(code)
    type(gather_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Igather
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: received
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%received, received, [1])
    call MPI_Igather(sent, given%sent_count, given%sent_type, received, given%received_count, given%received_type, &
          given%root, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function igather_handles(sent, sent_count, sent_type, received, received_count, received_type, root, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    type(MPI_Datatype), intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: received_count
    type(MPI_Datatype), intent(in) :: received_type
    integer, intent(in) :: root
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(gather_arguments), target :: given
    given = gather_arguments(common_place(place_of(sent)), common_place(place_of(received)), sent_count, &
          sent_type%MPI_VAL, received_count, received_type%MPI_VAL, root, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_igather), communicator%MPI_VAL, no_peer, no_tag, 0, c_funloc(begin_igather), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function igather_numbers(sent, sent_count, sent_type, received, received_count, received_type, root, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    integer, intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: received_count
    integer, intent(in) :: received_type
    integer, intent(in) :: root
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(gather_arguments), target :: given
    given = gather_arguments(place_of(sent), place_of(received), sent_count, sent_type, received_count, received_type, &
          root, communicator)
    answer = begin_call(c_loc(name_of_igather), communicator, no_peer, no_tag, 0, c_funloc(begin_igather), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_igatherv(given, request) bind(c) result(code)
    type(gatherv_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Igatherv
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: received
    integer, dimension(:), pointer, contiguous :: counts
    integer, dimension(:), pointer, contiguous :: places
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%received, received, [1])
    call c_f_pointer(given%counts, counts, [1])
    call c_f_pointer(given%places, places, [1])
    call MPI_Igatherv(sent, given%sent_count, given%sent_type, received, counts, places, given%received_type, &
          given%root, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function igatherv_handles(sent, sent_count, sent_type, received, counts, places, received_type, root, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    type(MPI_Datatype), intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, dimension(*), target, intent(in) :: counts
    integer, dimension(*), target, intent(in) :: places
    type(MPI_Datatype), intent(in) :: received_type
    integer, intent(in) :: root
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(gatherv_arguments), target :: given
    given = gatherv_arguments(common_place(place_of(sent)), common_place(place_of(received)), c_loc(counts), &
          c_loc(places), sent_count, sent_type%MPI_VAL, received_type%MPI_VAL, root, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_igatherv), communicator%MPI_VAL, no_peer, no_tag, 0, c_funloc(begin_igatherv), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function igatherv_numbers(sent, sent_count, sent_type, received, counts, places, received_type, root, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    integer, intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, dimension(*), target, intent(in) :: counts
    integer, dimension(*), target, intent(in) :: places
    integer, intent(in) :: received_type
    integer, intent(in) :: root
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(gatherv_arguments), target :: given
    given = gatherv_arguments(place_of(sent), place_of(received), c_loc(counts), c_loc(places), sent_count, sent_type, &
          received_type, root, communicator)
    answer = begin_call(c_loc(name_of_igatherv), communicator, no_peer, no_tag, 0, c_funloc(begin_igatherv), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_iscatter(given, request) bind(c) result(code)
    type(scatter_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Iscatter
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: received
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%received, received, [1])
    call MPI_Iscatter(sent, given%sent_count, given%sent_type, received, given%received_count, given%received_type, &
          given%root, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function iscatter_handles(sent, sent_count, sent_type, received, received_count, received_type, root, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    type(MPI_Datatype), intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: received_count
    type(MPI_Datatype), intent(in) :: received_type
    integer, intent(in) :: root
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(scatter_arguments), target :: given
    given = scatter_arguments(common_place(place_of(sent)), common_place(place_of(received)), sent_count, &
          sent_type%MPI_VAL, received_count, received_type%MPI_VAL, root, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_iscatter), communicator%MPI_VAL, no_peer, no_tag, 0, c_funloc(begin_iscatter), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function iscatter_numbers(sent, sent_count, sent_type, received, received_count, received_type, root, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    integer, intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: received_count
    integer, intent(in) :: received_type
    integer, intent(in) :: root
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(scatter_arguments), target :: given
    given = scatter_arguments(place_of(sent), place_of(received), sent_count, sent_type, received_count, &
          received_type, root, communicator)
    answer = begin_call(c_loc(name_of_iscatter), communicator, no_peer, no_tag, 0, c_funloc(begin_iscatter), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_iscatterv(given, request) bind(c) result(code)
    type(scatterv_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Iscatterv
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: counts
    integer, dimension(:), pointer, contiguous :: places
    integer, dimension(:), pointer, contiguous :: received
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%counts, counts, [1])
    call c_f_pointer(given%places, places, [1])
    call c_f_pointer(given%received, received, [1])
    call MPI_Iscatterv(sent, counts, places, given%sent_type, received, given%received_count, given%received_type, &
          given%root, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function iscatterv_handles(sent, counts, places, sent_type, received, received_count, received_type, root, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, dimension(*), target, intent(in) :: counts
    integer, dimension(*), target, intent(in) :: places
    type(MPI_Datatype), intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: received_count
    type(MPI_Datatype), intent(in) :: received_type
    integer, intent(in) :: root
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(scatterv_arguments), target :: given
    given = scatterv_arguments(common_place(place_of(sent)), c_loc(counts), c_loc(places), &
          common_place(place_of(received)), sent_type%MPI_VAL, received_count, received_type%MPI_VAL, root, &
          communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_iscatterv), communicator%MPI_VAL, no_peer, no_tag, 0, c_funloc(begin_iscatterv), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function iscatterv_numbers(sent, counts, places, sent_type, received, received_count, received_type, root, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, dimension(*), target, intent(in) :: counts
    integer, dimension(*), target, intent(in) :: places
    integer, intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: received_count
    integer, intent(in) :: received_type
    integer, intent(in) :: root
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(scatterv_arguments), target :: given
    given = scatterv_arguments(place_of(sent), c_loc(counts), c_loc(places), place_of(received), sent_type, &
          received_count, received_type, root, communicator)
    answer = begin_call(c_loc(name_of_iscatterv), communicator, no_peer, no_tag, 0, c_funloc(begin_iscatterv), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_iallgather(given, request) bind(c) result(code)
    type(allgather_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Iallgather
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: received
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%received, received, [1])
    call MPI_Iallgather(sent, given%sent_count, given%sent_type, received, given%received_count, given%received_type, &
          given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function iallgather_handles(sent, sent_count, sent_type, received, received_count, received_type, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    type(MPI_Datatype), intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: received_count
    type(MPI_Datatype), intent(in) :: received_type
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(allgather_arguments), target :: given
    given = allgather_arguments(common_place(place_of(sent)), common_place(place_of(received)), sent_count, &
          sent_type%MPI_VAL, received_count, received_type%MPI_VAL, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_iallgather), communicator%MPI_VAL, no_peer, no_tag, 0, &
          c_funloc(begin_iallgather), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function iallgather_numbers(sent, sent_count, sent_type, received, received_count, received_type, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    integer, intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: received_count
    integer, intent(in) :: received_type
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(allgather_arguments), target :: given
    given = allgather_arguments(place_of(sent), place_of(received), sent_count, sent_type, received_count, &
          received_type, communicator)
    answer = begin_call(c_loc(name_of_iallgather), communicator, no_peer, no_tag, 0, c_funloc(begin_iallgather), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_iallgatherv(given, request) bind(c) result(code)
    type(allgatherv_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Iallgatherv
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: received
    integer, dimension(:), pointer, contiguous :: counts
    integer, dimension(:), pointer, contiguous :: places
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%received, received, [1])
    call c_f_pointer(given%counts, counts, [1])
    call c_f_pointer(given%places, places, [1])
    call MPI_Iallgatherv(sent, given%sent_count, given%sent_type, received, counts, places, given%received_type, &
          given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function iallgatherv_handles(sent, sent_count, sent_type, received, counts, places, received_type, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    type(MPI_Datatype), intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, dimension(*), target, intent(in) :: counts
    integer, dimension(*), target, intent(in) :: places
    type(MPI_Datatype), intent(in) :: received_type
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(allgatherv_arguments), target :: given
    given = allgatherv_arguments(common_place(place_of(sent)), common_place(place_of(received)), c_loc(counts), &
          c_loc(places), sent_count, sent_type%MPI_VAL, received_type%MPI_VAL, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_iallgatherv), communicator%MPI_VAL, no_peer, no_tag, 0, &
          c_funloc(begin_iallgatherv), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function iallgatherv_numbers(sent, sent_count, sent_type, received, counts, places, received_type, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    integer, intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, dimension(*), target, intent(in) :: counts
    integer, dimension(*), target, intent(in) :: places
    integer, intent(in) :: received_type
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(allgatherv_arguments), target :: given
    given = allgatherv_arguments(place_of(sent), place_of(received), c_loc(counts), c_loc(places), sent_count, &
          sent_type, received_type, communicator)
    answer = begin_call(c_loc(name_of_iallgatherv), communicator, no_peer, no_tag, 0, c_funloc(begin_iallgatherv), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_ialltoall(given, request) bind(c) result(code)
    type(alltoall_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Ialltoall
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: received
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%received, received, [1])
    call MPI_Ialltoall(sent, given%sent_count, given%sent_type, received, given%received_count, given%received_type, &
          given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function ialltoall_handles(sent, sent_count, sent_type, received, received_count, received_type, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    type(MPI_Datatype), intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: received_count
    type(MPI_Datatype), intent(in) :: received_type
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(alltoall_arguments), target :: given
    given = alltoall_arguments(common_place(place_of(sent)), common_place(place_of(received)), sent_count, &
          sent_type%MPI_VAL, received_count, received_type%MPI_VAL, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_ialltoall), communicator%MPI_VAL, no_peer, no_tag, 0, c_funloc(begin_ialltoall), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function ialltoall_numbers(sent, sent_count, sent_type, received, received_count, received_type, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    integer, intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: received_count
    integer, intent(in) :: received_type
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(alltoall_arguments), target :: given
    given = alltoall_arguments(place_of(sent), place_of(received), sent_count, sent_type, received_count, &
          received_type, communicator)
    answer = begin_call(c_loc(name_of_ialltoall), communicator, no_peer, no_tag, 0, c_funloc(begin_ialltoall), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_ialltoallv(given, request) bind(c) result(code)
    type(alltoallv_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Ialltoallv
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: sent_counts
    integer, dimension(:), pointer, contiguous :: sent_places
    integer, dimension(:), pointer, contiguous :: received
    integer, dimension(:), pointer, contiguous :: received_counts
    integer, dimension(:), pointer, contiguous :: received_places
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%sent_counts, sent_counts, [1])
    call c_f_pointer(given%sent_places, sent_places, [1])
    call c_f_pointer(given%received, received, [1])
    call c_f_pointer(given%received_counts, received_counts, [1])
    call c_f_pointer(given%received_places, received_places, [1])
    call MPI_Ialltoallv(sent, sent_counts, sent_places, given%sent_type, received, received_counts, received_places, &
          given%received_type, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function ialltoallv_handles(sent, sent_counts, sent_places, sent_type, received, received_counts, &
        received_places, received_type, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, dimension(*), target, intent(in) :: sent_counts
    integer, dimension(*), target, intent(in) :: sent_places
    type(MPI_Datatype), intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, dimension(*), target, intent(in) :: received_counts
    integer, dimension(*), target, intent(in) :: received_places
    type(MPI_Datatype), intent(in) :: received_type
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(alltoallv_arguments), target :: given
    given = alltoallv_arguments(common_place(place_of(sent)), c_loc(sent_counts), c_loc(sent_places), &
          common_place(place_of(received)), c_loc(received_counts), c_loc(received_places), sent_type%MPI_VAL, &
          received_type%MPI_VAL, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_ialltoallv), communicator%MPI_VAL, no_peer, no_tag, 0, &
          c_funloc(begin_ialltoallv), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function ialltoallv_numbers(sent, sent_counts, sent_places, sent_type, received, received_counts, &
        received_places, received_type, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, dimension(*), target, intent(in) :: sent_counts
    integer, dimension(*), target, intent(in) :: sent_places
    integer, intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, dimension(*), target, intent(in) :: received_counts
    integer, dimension(*), target, intent(in) :: received_places
    integer, intent(in) :: received_type
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(alltoallv_arguments), target :: given
    given = alltoallv_arguments(place_of(sent), c_loc(sent_counts), c_loc(sent_places), place_of(received), &
          c_loc(received_counts), c_loc(received_places), sent_type, received_type, communicator)
    answer = begin_call(c_loc(name_of_ialltoallv), communicator, no_peer, no_tag, 0, c_funloc(begin_ialltoallv), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_ialltoallw(given, request) bind(c) result(code)
    type(alltoallw_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Ialltoallw
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: sent_counts
    integer, dimension(:), pointer, contiguous :: sent_places
    integer, dimension(:), pointer, contiguous :: sent_types
    integer, dimension(:), pointer, contiguous :: received
    integer, dimension(:), pointer, contiguous :: received_counts
    integer, dimension(:), pointer, contiguous :: received_places
    integer, dimension(:), pointer, contiguous :: received_types
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%sent_counts, sent_counts, [1])
    call c_f_pointer(given%sent_places, sent_places, [1])
    call c_f_pointer(given%sent_types, sent_types, [1])
    call c_f_pointer(given%received, received, [1])
    call c_f_pointer(given%received_counts, received_counts, [1])
    call c_f_pointer(given%received_places, received_places, [1])
    call c_f_pointer(given%received_types, received_types, [1])
    call MPI_Ialltoallw(sent, sent_counts, sent_places, sent_types, received, received_counts, received_places, &
          received_types, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function ialltoallw_handles(sent, sent_counts, sent_places, sent_types, received, received_counts, &
        received_places, received_types, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, dimension(*), target, intent(in) :: sent_counts
    integer, dimension(*), target, intent(in) :: sent_places
    type(MPI_Datatype), dimension(*), target, intent(in) :: sent_types
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, dimension(*), target, intent(in) :: received_counts
    integer, dimension(*), target, intent(in) :: received_places
    type(MPI_Datatype), dimension(*), target, intent(in) :: received_types
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(alltoallw_arguments), target :: given
    given = alltoallw_arguments(common_place(place_of(sent)), c_loc(sent_counts), c_loc(sent_places), &
          c_loc(sent_types), common_place(place_of(received)), c_loc(received_counts), c_loc(received_places), &
          c_loc(received_types), communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_ialltoallw), communicator%MPI_VAL, no_peer, no_tag, 0, &
          c_funloc(begin_ialltoallw), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function ialltoallw_numbers(sent, sent_counts, sent_places, sent_types, received, received_counts, &
        received_places, received_types, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, dimension(*), target, intent(in) :: sent_counts
    integer, dimension(*), target, intent(in) :: sent_places
    integer, dimension(*), target, intent(in) :: sent_types
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, dimension(*), target, intent(in) :: received_counts
    integer, dimension(*), target, intent(in) :: received_places
    integer, dimension(*), target, intent(in) :: received_types
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(alltoallw_arguments), target :: given
    given = alltoallw_arguments(place_of(sent), c_loc(sent_counts), c_loc(sent_places), c_loc(sent_types), &
          place_of(received), c_loc(received_counts), c_loc(received_places), c_loc(received_types), communicator)
    answer = begin_call(c_loc(name_of_ialltoallw), communicator, no_peer, no_tag, 0, c_funloc(begin_ialltoallw), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_ireduce(given, request) bind(c) result(code)
    type(reduce_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Ireduce
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: received
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%received, received, [1])
    call MPI_Ireduce(sent, received, given%count, given%type, given%operation, given%root, given%communicator, number, &
          code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function ireduce_handles(sent, received, count, type, operation, root, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: count
    type(MPI_Datatype), intent(in) :: type
    type(MPI_Op), intent(in) :: operation
    integer, intent(in) :: root
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(reduce_arguments), target :: given
    given = reduce_arguments(common_place(place_of(sent)), common_place(place_of(received)), count, type%MPI_VAL, &
          operation%MPI_VAL, root, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_ireduce), communicator%MPI_VAL, no_peer, no_tag, 0, c_funloc(begin_ireduce), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function ireduce_numbers(sent, received, count, type, operation, root, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: count
    integer, intent(in) :: type
    integer, intent(in) :: operation
    integer, intent(in) :: root
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(reduce_arguments), target :: given
    given = reduce_arguments(place_of(sent), place_of(received), count, type, operation, root, communicator)
    answer = begin_call(c_loc(name_of_ireduce), communicator, no_peer, no_tag, 0, c_funloc(begin_ireduce), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_iallreduce(given, request) bind(c) result(code)
    type(allreduce_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Iallreduce
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: received
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%received, received, [1])
    call MPI_Iallreduce(sent, received, given%count, given%type, given%operation, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function iallreduce_handles(sent, received, count, type, operation, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: count
    type(MPI_Datatype), intent(in) :: type
    type(MPI_Op), intent(in) :: operation
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(allreduce_arguments), target :: given
    given = allreduce_arguments(common_place(place_of(sent)), common_place(place_of(received)), count, type%MPI_VAL, &
          operation%MPI_VAL, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_iallreduce), communicator%MPI_VAL, no_peer, no_tag, 0, &
          c_funloc(begin_iallreduce), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function iallreduce_numbers(sent, received, count, type, operation, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: count
    integer, intent(in) :: type
    integer, intent(in) :: operation
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(allreduce_arguments), target :: given
    given = allreduce_arguments(place_of(sent), place_of(received), count, type, operation, communicator)
    answer = begin_call(c_loc(name_of_iallreduce), communicator, no_peer, no_tag, 0, c_funloc(begin_iallreduce), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_ireduce_scatter(given, request) bind(c) result(code)
    type(reduce_scatter_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Ireduce_scatter
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: received
    integer, dimension(:), pointer, contiguous :: counts
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%received, received, [1])
    call c_f_pointer(given%counts, counts, [1])
    call MPI_Ireduce_scatter(sent, received, counts, given%type, given%operation, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function ireduce_scatter_handles(sent, received, counts, type, operation, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, dimension(*), target, intent(in) :: counts
    type(MPI_Datatype), intent(in) :: type
    type(MPI_Op), intent(in) :: operation
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(reduce_scatter_arguments), target :: given
    given = reduce_scatter_arguments(common_place(place_of(sent)), common_place(place_of(received)), c_loc(counts), &
          type%MPI_VAL, operation%MPI_VAL, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_ireduce_scatter), communicator%MPI_VAL, no_peer, no_tag, 0, &
          c_funloc(begin_ireduce_scatter), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function ireduce_scatter_numbers(sent, received, counts, type, operation, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, dimension(*), target, intent(in) :: counts
    integer, intent(in) :: type
    integer, intent(in) :: operation
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(reduce_scatter_arguments), target :: given
    given = reduce_scatter_arguments(place_of(sent), place_of(received), c_loc(counts), type, operation, communicator)
    answer = begin_call(c_loc(name_of_ireduce_scatter), communicator, no_peer, no_tag, 0, &
          c_funloc(begin_ireduce_scatter), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_ireduce_scatter_block(given, request) bind(c) result(code)
    type(reduce_scatter_block_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Ireduce_scatter_block
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: received
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%received, received, [1])
    call MPI_Ireduce_scatter_block(sent, received, given%count, given%type, given%operation, given%communicator, &
          number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function ireduce_scatter_block_handles(sent, received, count, type, operation, communicator) &
        result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: count
    type(MPI_Datatype), intent(in) :: type
    type(MPI_Op), intent(in) :: operation
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(reduce_scatter_block_arguments), target :: given
    given = reduce_scatter_block_arguments(common_place(place_of(sent)), common_place(place_of(received)), count, &
          type%MPI_VAL, operation%MPI_VAL, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_ireduce_scatter_block), communicator%MPI_VAL, no_peer, no_tag, 0, &
          c_funloc(begin_ireduce_scatter_block), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function ireduce_scatter_block_numbers(sent, received, count, type, operation, communicator) &
        result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: count
    integer, intent(in) :: type
    integer, intent(in) :: operation
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(reduce_scatter_block_arguments), target :: given
    given = reduce_scatter_block_arguments(place_of(sent), place_of(received), count, type, operation, communicator)
    answer = begin_call(c_loc(name_of_ireduce_scatter_block), communicator, no_peer, no_tag, 0, &
          c_funloc(begin_ireduce_scatter_block), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_iscan(given, request) bind(c) result(code)
    type(scan_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Iscan
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: received
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%received, received, [1])
    call MPI_Iscan(sent, received, given%count, given%type, given%operation, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function iscan_handles(sent, received, count, type, operation, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: count
    type(MPI_Datatype), intent(in) :: type
    type(MPI_Op), intent(in) :: operation
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(scan_arguments), target :: given
    given = scan_arguments(common_place(place_of(sent)), common_place(place_of(received)), count, type%MPI_VAL, &
          operation%MPI_VAL, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_iscan), communicator%MPI_VAL, no_peer, no_tag, 0, c_funloc(begin_iscan), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function iscan_numbers(sent, received, count, type, operation, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: count
    integer, intent(in) :: type
    integer, intent(in) :: operation
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(scan_arguments), target :: given
    given = scan_arguments(place_of(sent), place_of(received), count, type, operation, communicator)
    answer = begin_call(c_loc(name_of_iscan), communicator, no_peer, no_tag, 0, c_funloc(begin_iscan), c_loc(given), &
          c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_iexscan(given, request) bind(c) result(code)
    type(exscan_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Iexscan
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: received
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%received, received, [1])
    call MPI_Iexscan(sent, received, given%count, given%type, given%operation, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function iexscan_handles(sent, received, count, type, operation, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: count
    type(MPI_Datatype), intent(in) :: type
    type(MPI_Op), intent(in) :: operation
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(exscan_arguments), target :: given
    given = exscan_arguments(common_place(place_of(sent)), common_place(place_of(received)), count, type%MPI_VAL, &
          operation%MPI_VAL, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_iexscan), communicator%MPI_VAL, no_peer, no_tag, 0, c_funloc(begin_iexscan), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function iexscan_numbers(sent, received, count, type, operation, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: count
    integer, intent(in) :: type
    integer, intent(in) :: operation
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(exscan_arguments), target :: given
    given = exscan_arguments(place_of(sent), place_of(received), count, type, operation, communicator)
    answer = begin_call(c_loc(name_of_iexscan), communicator, no_peer, no_tag, 0, c_funloc(begin_iexscan), &
          c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_ineighbor_allgather(given, request) bind(c) result(code)
    type(neighbor_allgather_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Ineighbor_allgather
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: received
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%received, received, [1])
    call MPI_Ineighbor_allgather(sent, given%sent_count, given%sent_type, received, given%received_count, &
          given%received_type, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function ineighbor_allgather_handles(sent, sent_count, sent_type, received, received_count, received_type, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    type(MPI_Datatype), intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: received_count
    type(MPI_Datatype), intent(in) :: received_type
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(neighbor_allgather_arguments), target :: given
    given = neighbor_allgather_arguments(common_place(place_of(sent)), common_place(place_of(received)), sent_count, &
          sent_type%MPI_VAL, received_count, received_type%MPI_VAL, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_ineighbor_allgather), communicator%MPI_VAL, no_peer, no_tag, 0, &
          c_funloc(begin_ineighbor_allgather), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function ineighbor_allgather_numbers(sent, sent_count, sent_type, received, received_count, received_type, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    integer, intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: received_count
    integer, intent(in) :: received_type
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(neighbor_allgather_arguments), target :: given
    given = neighbor_allgather_arguments(place_of(sent), place_of(received), sent_count, sent_type, received_count, &
          received_type, communicator)
    answer = begin_call(c_loc(name_of_ineighbor_allgather), communicator, no_peer, no_tag, 0, &
          c_funloc(begin_ineighbor_allgather), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_ineighbor_allgatherv(given, request) bind(c) result(code)
    type(neighbor_allgatherv_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Ineighbor_allgatherv
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: received
    integer, dimension(:), pointer, contiguous :: counts
    integer, dimension(:), pointer, contiguous :: places
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%received, received, [1])
    call c_f_pointer(given%counts, counts, [1])
    call c_f_pointer(given%places, places, [1])
    call MPI_Ineighbor_allgatherv(sent, given%sent_count, given%sent_type, received, counts, places, &
          given%received_type, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function ineighbor_allgatherv_handles(sent, sent_count, sent_type, received, counts, places, &
        received_type, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    type(MPI_Datatype), intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, dimension(*), target, intent(in) :: counts
    integer, dimension(*), target, intent(in) :: places
    type(MPI_Datatype), intent(in) :: received_type
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(neighbor_allgatherv_arguments), target :: given
    given = neighbor_allgatherv_arguments(common_place(place_of(sent)), common_place(place_of(received)), &
          c_loc(counts), c_loc(places), sent_count, sent_type%MPI_VAL, received_type%MPI_VAL, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_ineighbor_allgatherv), communicator%MPI_VAL, no_peer, no_tag, 0, &
          c_funloc(begin_ineighbor_allgatherv), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function ineighbor_allgatherv_numbers(sent, sent_count, sent_type, received, counts, places, &
        received_type, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    integer, intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, dimension(*), target, intent(in) :: counts
    integer, dimension(*), target, intent(in) :: places
    integer, intent(in) :: received_type
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(neighbor_allgatherv_arguments), target :: given
    given = neighbor_allgatherv_arguments(place_of(sent), place_of(received), c_loc(counts), c_loc(places), &
          sent_count, sent_type, received_type, communicator)
    answer = begin_call(c_loc(name_of_ineighbor_allgatherv), communicator, no_peer, no_tag, 0, &
          c_funloc(begin_ineighbor_allgatherv), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_ineighbor_alltoall(given, request) bind(c) result(code)
    type(neighbor_alltoall_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Ineighbor_alltoall
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: received
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%received, received, [1])
    call MPI_Ineighbor_alltoall(sent, given%sent_count, given%sent_type, received, given%received_count, &
          given%received_type, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function ineighbor_alltoall_handles(sent, sent_count, sent_type, received, received_count, received_type, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    type(MPI_Datatype), intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: received_count
    type(MPI_Datatype), intent(in) :: received_type
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(neighbor_alltoall_arguments), target :: given
    given = neighbor_alltoall_arguments(common_place(place_of(sent)), common_place(place_of(received)), sent_count, &
          sent_type%MPI_VAL, received_count, received_type%MPI_VAL, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_ineighbor_alltoall), communicator%MPI_VAL, no_peer, no_tag, 0, &
          c_funloc(begin_ineighbor_alltoall), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function ineighbor_alltoall_numbers(sent, sent_count, sent_type, received, received_count, received_type, &
        communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, intent(in) :: sent_count
    integer, intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, intent(in) :: received_count
    integer, intent(in) :: received_type
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(neighbor_alltoall_arguments), target :: given
    given = neighbor_alltoall_arguments(place_of(sent), place_of(received), sent_count, sent_type, received_count, &
          received_type, communicator)
    answer = begin_call(c_loc(name_of_ineighbor_alltoall), communicator, no_peer, no_tag, 0, &
          c_funloc(begin_ineighbor_alltoall), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_ineighbor_alltoallv(given, request) bind(c) result(code)
    type(neighbor_alltoallv_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Ineighbor_alltoallv
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: sent_counts
    integer, dimension(:), pointer, contiguous :: sent_places
    integer, dimension(:), pointer, contiguous :: received
    integer, dimension(:), pointer, contiguous :: received_counts
    integer, dimension(:), pointer, contiguous :: received_places
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%sent_counts, sent_counts, [1])
    call c_f_pointer(given%sent_places, sent_places, [1])
    call c_f_pointer(given%received, received, [1])
    call c_f_pointer(given%received_counts, received_counts, [1])
    call c_f_pointer(given%received_places, received_places, [1])
    call MPI_Ineighbor_alltoallv(sent, sent_counts, sent_places, given%sent_type, received, received_counts, &
          received_places, given%received_type, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function ineighbor_alltoallv_handles(sent, sent_counts, sent_places, sent_type, received, received_counts, &
        received_places, received_type, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, dimension(*), target, intent(in) :: sent_counts
    integer, dimension(*), target, intent(in) :: sent_places
    type(MPI_Datatype), intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, dimension(*), target, intent(in) :: received_counts
    integer, dimension(*), target, intent(in) :: received_places
    type(MPI_Datatype), intent(in) :: received_type
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(neighbor_alltoallv_arguments), target :: given
    given = neighbor_alltoallv_arguments(common_place(place_of(sent)), c_loc(sent_counts), c_loc(sent_places), &
          common_place(place_of(received)), c_loc(received_counts), c_loc(received_places), sent_type%MPI_VAL, &
          received_type%MPI_VAL, communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_ineighbor_alltoallv), communicator%MPI_VAL, no_peer, no_tag, 0, &
          c_funloc(begin_ineighbor_alltoallv), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function ineighbor_alltoallv_numbers(sent, sent_counts, sent_places, sent_type, received, received_counts, &
        received_places, received_type, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, dimension(*), target, intent(in) :: sent_counts
    integer, dimension(*), target, intent(in) :: sent_places
    integer, intent(in) :: sent_type
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, dimension(*), target, intent(in) :: received_counts
    integer, dimension(*), target, intent(in) :: received_places
    integer, intent(in) :: received_type
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(neighbor_alltoallv_arguments), target :: given
    given = neighbor_alltoallv_arguments(place_of(sent), c_loc(sent_counts), c_loc(sent_places), place_of(received), &
          c_loc(received_counts), c_loc(received_places), sent_type, received_type, communicator)
    answer = begin_call(c_loc(name_of_ineighbor_alltoallv), communicator, no_peer, no_tag, 0, &
          c_funloc(begin_ineighbor_alltoallv), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function begin_ineighbor_alltoallw(given, request) bind(c) result(code)
    type(neighbor_alltoallw_arguments), intent(in) :: given
    type(c_ptr), value, intent(in) :: request
    integer(c_int32_t) :: code, number
    external :: MPI_Ineighbor_alltoallw
    integer, dimension(:), pointer, contiguous :: sent
    integer, dimension(:), pointer, contiguous :: sent_counts
    integer, dimension(:), pointer, contiguous :: sent_places
    integer, dimension(:), pointer, contiguous :: sent_types
    integer, dimension(:), pointer, contiguous :: received
    integer, dimension(:), pointer, contiguous :: received_counts
    integer, dimension(:), pointer, contiguous :: received_places
    integer, dimension(:), pointer, contiguous :: received_types
    call c_f_pointer(given%sent, sent, [1])
    call c_f_pointer(given%sent_counts, sent_counts, [1])
    call c_f_pointer(given%sent_places, sent_places, [1])
    call c_f_pointer(given%sent_types, sent_types, [1])
    call c_f_pointer(given%received, received, [1])
    call c_f_pointer(given%received_counts, received_counts, [1])
    call c_f_pointer(given%received_places, received_places, [1])
    call c_f_pointer(given%received_types, received_types, [1])
    call MPI_Ineighbor_alltoallw(sent, sent_counts, sent_places, sent_types, received, received_counts, &
          received_places, received_types, given%communicator, number, code)
    if (code == 0) call put_request(number, request)
  end function

  recursive function ineighbor_alltoallw_handles(sent, sent_counts, sent_places, sent_types, received, &
        received_counts, received_places, received_types, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, dimension(*), target, intent(in) :: sent_counts
    integer(kind=MPI_ADDRESS_KIND), dimension(*), target, intent(in) :: sent_places
    type(MPI_Datatype), dimension(*), target, intent(in) :: sent_types
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, dimension(*), target, intent(in) :: received_counts
    integer(kind=MPI_ADDRESS_KIND), dimension(*), target, intent(in) :: received_places
    type(MPI_Datatype), dimension(*), target, intent(in) :: received_types
    type(MPI_Comm), intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(neighbor_alltoallw_arguments), target :: given
    given = neighbor_alltoallw_arguments(common_place(place_of(sent)), c_loc(sent_counts), c_loc(sent_places), &
          c_loc(sent_types), common_place(place_of(received)), c_loc(received_counts), c_loc(received_places), &
          c_loc(received_types), communicator%MPI_VAL)
    answer = begin_call(c_loc(name_of_ineighbor_alltoallw), communicator%MPI_VAL, no_peer, no_tag, 0, &
          c_funloc(begin_ineighbor_alltoallw), c_loc(given), c_sizeof(given), c_null_ptr)
  end function

  recursive function ineighbor_alltoallw_numbers(sent, sent_counts, sent_places, sent_types, received, &
        received_counts, received_places, received_types, communicator) result(answer)
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sent
!DIR$ IGNORE_TKR sent
    type(*), dimension(*), asynchronous :: sent
    integer, dimension(*), target, intent(in) :: sent_counts
    integer(kind=MPI_ADDRESS_KIND), dimension(*), target, intent(in) :: sent_places
    integer, dimension(*), target, intent(in) :: sent_types
!GCC$ ATTRIBUTES NO_ARG_CHECK :: received
!DIR$ IGNORE_TKR received
    type(*), dimension(*), asynchronous :: received
    integer, dimension(*), target, intent(in) :: received_counts
    integer(kind=MPI_ADDRESS_KIND), dimension(*), target, intent(in) :: received_places
    integer, dimension(*), target, intent(in) :: received_types
    integer, intent(in) :: communicator
    integer(c_int32_t) :: answer
    type(neighbor_alltoallw_arguments), target :: given
    given = neighbor_alltoallw_arguments(place_of(sent), c_loc(sent_counts), c_loc(sent_places), c_loc(sent_types), &
          place_of(received), c_loc(received_counts), c_loc(received_places), c_loc(received_types), communicator)
    answer = begin_call(c_loc(name_of_ineighbor_alltoallw), communicator, no_peer, no_tag, 0, &
          c_funloc(begin_ineighbor_alltoallw), c_loc(given), c_sizeof(given), c_null_ptr)
  end function
end module dovetail_mpi_forms
