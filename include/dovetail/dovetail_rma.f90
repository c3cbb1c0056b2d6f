! The interfaces of dovetail_rma.h, where each is described. Written by scripts/fortran_interface.py: change the header, then
! `make format`. Use the module `dovetail`, which has them all.
module dovetail_rma
  use, intrinsic :: iso_c_binding
  implicit none
  public

  type, bind(c) :: dovetail_rma_options
    integer(c_size_t) :: size_of_this = 0
    integer(c_int64_t) :: start_timeout_ms = 0
    integer(c_int64_t) :: silence_timeout_ms = 0
  end type

  type, bind(c) :: dovetail_rma_transfer
    type(c_ptr) :: data = c_null_ptr
    integer(c_size_t) :: bytes = 0
    integer(c_int64_t) :: offset = 0
    integer(c_int32_t) :: rank = 0
    integer(c_int32_t) :: segment = 0
  end type

  interface
    function dovetail_rma_group_start(options, group) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: options
      type(c_ptr), intent(out) :: group
      integer(c_int32_t) :: answer
    end function

    subroutine dovetail_rma_group_end(group) bind(c)
      import
      type(c_ptr), value, intent(in) :: group
    end subroutine

    function dovetail_rma_group_rank(group) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: group
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_group_size(group) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: group
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_group_transport(group, rank) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: group
      integer(c_int32_t), value, intent(in) :: rank
      type(c_ptr) :: answer
    end function

    function dovetail_rma_group_barrier(group) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: group
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_segment_allocate(group, bytes, notifications, segment) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: group
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int32_t), value, intent(in) :: notifications
      type(c_ptr), intent(out) :: segment
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_segment_use(group, data, bytes, notifications, segment) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: group, data
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int32_t), value, intent(in) :: notifications
      type(c_ptr), intent(out) :: segment
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_segment_end(segment, objection) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: segment
      character(kind=c_char), dimension(*), intent(in) :: objection
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_segment_data(segment) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: segment
      type(c_ptr) :: answer
    end function

    function dovetail_rma_segment_size(segment) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: segment
      integer(c_size_t) :: answer
    end function

    function dovetail_rma_segment_id(segment) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: segment
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_segment_notifications(segment) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: segment
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_write(data, bytes, rank, segment, offset) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: data
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int32_t), value, intent(in) :: rank, segment
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_read(data, bytes, rank, segment, offset) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: data
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int32_t), value, intent(in) :: rank, segment
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_write_list(parts, count) bind(c) result(answer)
      import
      type(dovetail_rma_transfer), dimension(*), intent(in) :: parts
      integer(c_size_t), value, intent(in) :: count
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_read_list(parts, count) bind(c) result(answer)
      import
      type(dovetail_rma_transfer), dimension(*), intent(in) :: parts
      integer(c_size_t), value, intent(in) :: count
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_notify(rank, segment, id, value) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: rank, segment, id, value
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_write_notify(data, bytes, rank, segment, offset, id, value) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: data
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int32_t), value, intent(in) :: rank, segment
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int32_t), value, intent(in) :: id, value
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_write_list_notify(parts, count, id, value) bind(c) result(answer)
      import
      type(dovetail_rma_transfer), dimension(*), intent(in) :: parts
      integer(c_size_t), value, intent(in) :: count
      integer(c_int32_t), value, intent(in) :: id, value
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_notify_await(segment, id, value, from) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: segment
      integer(c_int32_t), value, intent(in) :: id
      type(c_ptr), value, intent(in) :: value
      integer(c_int32_t), value, intent(in) :: from
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_notify_awaitall(segment, first, count, values, from) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: segment
      integer(c_int32_t), value, intent(in) :: first, count
      type(c_ptr), value, intent(in) :: values
      integer(c_int32_t), value, intent(in) :: from
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_notify_wait(segment, id, value, from) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: segment
      integer(c_int32_t), value, intent(in) :: id
      type(c_ptr), value, intent(in) :: value
      integer(c_int32_t), value, intent(in) :: from
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_notify_wait_any(segment, first, count, id, value, from) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: segment
      integer(c_int32_t), value, intent(in) :: first, count
      integer(c_int32_t), intent(out) :: id
      type(c_ptr), value, intent(in) :: value
      integer(c_int32_t), value, intent(in) :: from
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_notify_test(segment, id, value) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: segment
      integer(c_int32_t), value, intent(in) :: id
      type(c_ptr), value, intent(in) :: value
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_fetch_add(rank, segment, offset, added, before) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: rank, segment
      integer(c_int64_t), value, intent(in) :: offset, added
      integer(c_int64_t), intent(out) :: before
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_compare_swap(rank, segment, offset, expected, wanted, before) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: rank, segment
      integer(c_int64_t), value, intent(in) :: offset, expected, wanted
      integer(c_int64_t), intent(out) :: before
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_inbox_open(group, bytes, messages, inbox) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: group
      integer(c_int32_t), value, intent(in) :: bytes, messages
      type(c_ptr), intent(out) :: inbox
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_inbox_send(inbox, data, bytes, rank) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: inbox, data
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int32_t), value, intent(in) :: rank
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_inbox_receive(inbox, data, bytes, rank, received) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: inbox, data
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int32_t), intent(out) :: rank
      integer(c_size_t), intent(out) :: received
      integer(c_int32_t) :: answer
    end function

    function dovetail_rma_inbox_try_receive(inbox, data, bytes, rank, received) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: inbox, data
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int32_t), intent(out) :: rank
      integer(c_size_t), intent(out) :: received
      integer(c_int32_t) :: answer
    end function
  end interface
end module dovetail_rma
