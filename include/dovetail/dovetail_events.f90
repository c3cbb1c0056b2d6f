! The interfaces of dovetail_events.h, where each is described. Written by scripts/fortran_interface.py: change the header, then
! `make format`. Use the module `dovetail`, which has them all.
module dovetail_events
  use, intrinsic :: iso_c_binding
  implicit none
  public

  interface
    function dovetail_task_events(events) bind(c) result(answer)
      import
      type(c_ptr), intent(out) :: events
      integer(c_int32_t) :: answer
    end function

    function dovetail_events_add(events, count) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: events
      integer(c_int32_t), value, intent(in) :: count
      integer(c_int32_t) :: answer
    end function

    function dovetail_events_fulfill(events, count) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: events
      integer(c_int32_t), value, intent(in) :: count
      integer(c_int32_t) :: answer
    end function

    function dovetail_events_fail(events, code, message) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: events
      integer(c_int32_t), value, intent(in) :: code
      type(c_ptr), value, intent(in) :: message
      integer(c_int32_t) :: answer
    end function

    function dovetail_handle_current(handle) bind(c) result(answer)
      import
      type(c_ptr), intent(out) :: handle
      integer(c_int32_t) :: answer
    end function

    function dovetail_handle_resume(handle) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: handle
      integer(c_int32_t) :: answer
    end function

    subroutine dovetail_handle_release(handle) bind(c)
      import
      type(c_ptr), value, intent(in) :: handle
    end subroutine

    function dovetail_task_wait_readable(descriptor, at_most_ns) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor
      integer(c_int64_t), value, intent(in) :: at_most_ns
      integer(c_int32_t) :: answer
    end function

    function dovetail_task_wait_writable(descriptor, at_most_ns) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor
      integer(c_int64_t), value, intent(in) :: at_most_ns
      integer(c_int32_t) :: answer
    end function

    function dovetail_polling_create(runtime, label, shortest_ns, longest_ns, poll, argument, descriptor, &
          polling) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: runtime, label
      integer(c_int64_t), value, intent(in) :: shortest_ns, longest_ns
      type(c_funptr), value, intent(in) :: poll
      type(c_ptr), value, intent(in) :: argument
      integer(c_int32_t), value, intent(in) :: descriptor
      type(c_ptr), intent(out) :: polling
      integer(c_int32_t) :: answer
    end function

    function dovetail_polling_destroy(polling) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: polling
      integer(c_int32_t) :: answer
    end function

    function dovetail_polling_add_pending(polling, count) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: polling
      integer(c_size_t), value, intent(in) :: count
      integer(c_int32_t) :: answer
    end function

    function dovetail_polling_pending(polling) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: polling
      integer(c_int64_t) :: answer
    end function

    function dovetail_polling_interval(polling) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: polling
      integer(c_int64_t) :: answer
    end function

    function dovetail_polling_expect(polling, what, operation) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: polling
      character(kind=c_char), dimension(*), intent(in) :: what
      type(c_ptr), intent(out) :: operation
      integer(c_int32_t) :: answer
    end function

    function dovetail_operation_wait(operation, at_most_ns) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: operation
      integer(c_int64_t), value, intent(in) :: at_most_ns
      integer(c_int32_t) :: answer
    end function

    function dovetail_operation_bind(operation) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: operation
      integer(c_int32_t) :: answer
    end function

    function dovetail_operation_complete(operation) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: operation
      integer(c_int32_t) :: answer
    end function

    function dovetail_operation_fail(operation, code, message) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: operation
      integer(c_int32_t), value, intent(in) :: code
      type(c_ptr), value, intent(in) :: message
      integer(c_int32_t) :: answer
    end function

    function dovetail_operation_retain(operation) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: operation
      integer(c_int32_t) :: answer
    end function

    subroutine dovetail_operation_release(operation) bind(c)
      import
      type(c_ptr), value, intent(in) :: operation
    end subroutine
  end interface
end module dovetail_events
