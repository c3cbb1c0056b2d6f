! The interfaces of dovetail.h, where each is described. Written by scripts/fortran_interface.py: change the header, then
! `make format`. Use the module `dovetail`, which has them all.
module dovetail_tasks
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int32_t), parameter :: DOVETAIL_VERSION_MAJOR = 0
  integer(c_int32_t), parameter :: DOVETAIL_VERSION_MINOR = 1
  integer(c_int32_t), parameter :: DOVETAIL_VERSION_PATCH = 0
  integer(c_int32_t), parameter :: DOVETAIL_ACCESS_IN = 0
  integer(c_int32_t), parameter :: DOVETAIL_ACCESS_OUT = 1
  integer(c_int32_t), parameter :: DOVETAIL_ACCESS_INOUT = 2
  integer(c_int32_t), parameter :: DOVETAIL_ACCESS_COMMUTATIVE = 3
  integer(c_int32_t), parameter :: DOVETAIL_FAILURE_CANCELS_SUCCESSORS = 0
  integer(c_int32_t), parameter :: DOVETAIL_FAILURE_IGNORED = 1

  type, bind(c) :: dovetail_options
    integer(c_size_t) :: size_of_this = 0
    integer(c_int32_t) :: workers = 0
    integer(c_int32_t) :: io_executors = 0
    type(c_ptr) :: engine = c_null_ptr
    type(c_ptr) :: trace = c_null_ptr
    integer(c_size_t) :: stack_size = 0
    integer(c_size_t) :: pending_limit = 0
    integer(c_int64_t) :: stuck_after_ms = 0
    integer(c_int32_t) :: bind_workers = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: report_after_ms = 0
  end type

  type, bind(c) :: dovetail_access
    integer(c_int64_t) :: space = 0
    integer(c_int64_t) :: begin = 0
    integer(c_int64_t) :: length = 0
    integer(c_int32_t) :: mode = 0
    integer(c_int32_t) :: reserved = 0
  end type

  type, bind(c) :: dovetail_task_description
    integer(c_size_t) :: size_of_this = 0
    type(c_funptr) :: body = c_null_funptr
    type(c_funptr) :: fallible_body = c_null_funptr
    type(c_ptr) :: argument = c_null_ptr
    integer(c_size_t) :: argument_size = 0
    type(c_funptr) :: destroy = c_null_funptr
    type(c_funptr) :: onready = c_null_funptr
    type(c_ptr) :: label = c_null_ptr
    type(c_ptr) :: accesses = c_null_ptr
    integer(c_size_t) :: access_count = 0
    integer(c_int32_t) :: priority = 0
    integer(c_int32_t) :: io = 0
    integer(c_int32_t) :: tied = 0
    integer(c_int32_t) :: on_failure = 0
    integer(c_int32_t) :: retries = 0
    integer(c_int32_t) :: reserved = 0
    type(c_ptr) :: storage_bw = c_null_ptr
    type(c_ptr) :: device = c_null_ptr
  end type

  interface
    function dovetail_library_version() bind(c) result(answer)
      import
      integer(c_int32_t) :: answer
    end function

    function dovetail_runtime_create(options, runtime) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: options
      type(c_ptr), intent(out) :: runtime
      integer(c_int32_t) :: answer
    end function

    function dovetail_runtime_destroy(runtime) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: runtime
      integer(c_int32_t) :: answer
    end function

    function dovetail_runtime_wait(runtime) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: runtime
      integer(c_int32_t) :: answer
    end function

    function dovetail_runtime_cancel(runtime) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: runtime
      integer(c_int32_t) :: answer
    end function

    function dovetail_runtime_workers(runtime) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: runtime
      integer(c_int32_t) :: answer
    end function

    function dovetail_runtime_options(runtime, options) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: runtime
      type(dovetail_options), intent(inout) :: options
      integer(c_int32_t) :: answer
    end function

    function dovetail_access_memory(mode, address, length) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: mode
      type(c_ptr), value, intent(in) :: address
      integer(c_size_t), value, intent(in) :: length
      type(dovetail_access) :: answer
    end function

    function dovetail_access_file(mode, file, offset, length) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: mode
      type(c_ptr), value, intent(in) :: file
      integer(c_int64_t), value, intent(in) :: offset, length
      type(dovetail_access) :: answer
    end function

    function dovetail_access_descriptor(mode, descriptor, offset, length) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: mode, descriptor
      integer(c_int64_t), value, intent(in) :: offset, length
      type(dovetail_access) :: answer
    end function

    function dovetail_access_space(mode, space, offset, length) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: mode
      type(c_ptr), value, intent(in) :: space
      integer(c_int64_t), value, intent(in) :: offset, length
      type(dovetail_access) :: answer
    end function

    function dovetail_space_create(name, space) bind(c) result(answer)
      import
      character(kind=c_char), dimension(*), intent(in) :: name
      type(c_ptr), intent(out) :: space
      integer(c_int32_t) :: answer
    end function

    function dovetail_space_number(space) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: space
      integer(c_int64_t) :: answer
    end function

    subroutine dovetail_space_release(space) bind(c)
      import
      type(c_ptr), value, intent(in) :: space
    end subroutine

    function dovetail_runtime_spawn(runtime, description, future) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: runtime
      type(dovetail_task_description), intent(in) :: description
      type(c_ptr), value, intent(in) :: future
      integer(c_int32_t) :: answer
    end function

    function dovetail_task_spawn(description, future) bind(c) result(answer)
      import
      type(dovetail_task_description), intent(in) :: description
      type(c_ptr), value, intent(in) :: future
      integer(c_int32_t) :: answer
    end function

    function dovetail_task_wait() bind(c) result(answer)
      import
      integer(c_int32_t) :: answer
    end function

    function dovetail_task_active() bind(c) result(answer)
      import
      integer(c_int32_t) :: answer
    end function

    function dovetail_task_cancelled() bind(c) result(answer)
      import
      integer(c_int32_t) :: answer
    end function

    function dovetail_task_label(buffer, capacity) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: buffer
      integer(c_size_t), value, intent(in) :: capacity
      integer(c_int64_t) :: answer
    end function

    function dovetail_task_suspend() bind(c) result(answer)
      import
      integer(c_int32_t) :: answer
    end function

    function dovetail_task_wait_for(nanoseconds) bind(c) result(answer)
      import
      integer(c_int64_t), value, intent(in) :: nanoseconds
      integer(c_int64_t) :: answer
    end function

    function dovetail_task_yield() bind(c) result(answer)
      import
      integer(c_int32_t) :: answer
    end function

    function dovetail_future_wait(future) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: future
      integer(c_int32_t) :: answer
    end function

    function dovetail_future_wait_for(future, at_most_ns) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: future
      integer(c_int64_t), value, intent(in) :: at_most_ns
      integer(c_int32_t) :: answer
    end function

    function dovetail_future_wait_for_any(futures, count, at_most_ns) bind(c) result(answer)
      import
      type(c_ptr), dimension(*), intent(in) :: futures
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: at_most_ns
      integer(c_int64_t) :: answer
    end function

    function dovetail_future_get(future) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: future
      integer(c_int32_t) :: answer
    end function

    function dovetail_future_ready(future) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: future
      integer(c_int32_t) :: answer
    end function

    function dovetail_future_when_completed(future, callback, argument) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: future
      type(c_funptr), value, intent(in) :: callback
      type(c_ptr), value, intent(in) :: argument
      integer(c_int32_t) :: answer
    end function

    function dovetail_future_cancel(future) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: future
      integer(c_int32_t) :: answer
    end function

    function dovetail_future_retain(future) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: future
      integer(c_int32_t) :: answer
    end function

    subroutine dovetail_future_release(future) bind(c)
      import
      type(c_ptr), value, intent(in) :: future
    end subroutine
  end interface
end module dovetail_tasks
