! Runtimes, tasks, events, errors and traces. What each does is said in dovetail.h and dovetail_trace.h. Use the module `dovetail`.
module dovetail_tasks
  use, intrinsic :: iso_c_binding
  use :: dovetail_types
  implicit none
  public

  interface
    function dovetail_library_version() bind(c) result(answer)
      import :: c_int32_t
      integer(c_int32_t) :: answer
    end function

    function dovetail_error_code() bind(c) result(answer)
      import :: c_int32_t
      integer(c_int32_t) :: answer
    end function

    function dovetail_error_kind() bind(c) result(answer)
      import :: c_int32_t
      integer(c_int32_t) :: answer
    end function

    function dovetail_error_message() bind(c) result(answer)
      import :: c_ptr
      type(c_ptr) :: answer
    end function

    function dovetail_error_label() bind(c) result(answer)
      import :: c_ptr
      type(c_ptr) :: answer
    end function

    function dovetail_error_operation() bind(c) result(answer)
      import :: c_ptr
      type(c_ptr) :: answer
    end function

    function dovetail_error_path() bind(c) result(answer)
      import :: c_ptr
      type(c_ptr) :: answer
    end function

    function dovetail_error_offset() bind(c) result(answer)
      import :: c_int64_t
      integer(c_int64_t) :: answer
    end function

    function dovetail_error_length() bind(c) result(answer)
      import :: c_int64_t
      integer(c_int64_t) :: answer
    end function

    function dovetail_error_set(code, message) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value, intent(in) :: code
      type(c_ptr), value, intent(in) :: message
      integer(c_int32_t) :: answer
    end function

    subroutine dovetail_error_clear() bind(c)
    end subroutine

    function dovetail_runtime_create(options, runtime) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: options
      type(c_ptr), intent(out) :: runtime
      integer(c_int32_t) :: answer
    end function

    function dovetail_runtime_destroy(runtime) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: runtime
      integer(c_int32_t) :: answer
    end function

    function dovetail_runtime_wait(runtime) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: runtime
      integer(c_int32_t) :: answer
    end function

    function dovetail_runtime_cancel(runtime) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: runtime
      integer(c_int32_t) :: answer
    end function

    function dovetail_runtime_workers(runtime) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: runtime
      integer(c_int32_t) :: answer
    end function

    function dovetail_runtime_options(runtime, options) bind(c) result(answer)
      import :: c_int32_t, c_ptr, dovetail_options
      type(c_ptr), value, intent(in) :: runtime
      type(dovetail_options), intent(inout) :: options
      integer(c_int32_t) :: answer
    end function

    function dovetail_access_memory(mode, address, length) bind(c) result(answer)
      import :: c_int32_t, c_ptr, c_size_t, dovetail_access
      integer(c_int32_t), value, intent(in) :: mode
      type(c_ptr), value, intent(in) :: address
      integer(c_size_t), value, intent(in) :: length
      type(dovetail_access) :: answer
    end function

    function dovetail_access_file(mode, file, offset, length) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, c_ptr, dovetail_access
      integer(c_int32_t), value, intent(in) :: mode
      type(c_ptr), value, intent(in) :: file
      integer(c_int64_t), value, intent(in) :: offset, length
      type(dovetail_access) :: answer
    end function

    function dovetail_access_descriptor(mode, descriptor, offset, length) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, dovetail_access
      integer(c_int32_t), value, intent(in) :: mode, descriptor
      integer(c_int64_t), value, intent(in) :: offset, length
      type(dovetail_access) :: answer
    end function

    function dovetail_runtime_spawn(runtime, description, future) bind(c) result(answer)
      import :: c_int32_t, c_ptr, dovetail_task_description
      type(c_ptr), value, intent(in) :: runtime
      type(dovetail_task_description), intent(in) :: description
      type(c_ptr), value, intent(in) :: future
      integer(c_int32_t) :: answer
    end function

    function dovetail_task_spawn(description, future) bind(c) result(answer)
      import :: c_int32_t, c_ptr, dovetail_task_description
      type(dovetail_task_description), intent(in) :: description
      type(c_ptr), value, intent(in) :: future
      integer(c_int32_t) :: answer
    end function

    function dovetail_task_wait() bind(c) result(answer)
      import :: c_int32_t
      integer(c_int32_t) :: answer
    end function

    function dovetail_task_active() bind(c) result(answer)
      import :: c_int32_t
      integer(c_int32_t) :: answer
    end function

    function dovetail_task_cancelled() bind(c) result(answer)
      import :: c_int32_t
      integer(c_int32_t) :: answer
    end function

    function dovetail_task_label(buffer, capacity) bind(c) result(answer)
      import :: c_int64_t, c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: buffer
      integer(c_size_t), value, intent(in) :: capacity
      integer(c_int64_t) :: answer
    end function

    function dovetail_task_events(events) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), intent(out) :: events
      integer(c_int32_t) :: answer
    end function

    function dovetail_task_suspend() bind(c) result(answer)
      import :: c_int32_t
      integer(c_int32_t) :: answer
    end function

    function dovetail_task_wait_for(nanoseconds) bind(c) result(answer)
      import :: c_int64_t
      integer(c_int64_t), value, intent(in) :: nanoseconds
      integer(c_int64_t) :: answer
    end function

    function dovetail_task_yield() bind(c) result(answer)
      import :: c_int32_t
      integer(c_int32_t) :: answer
    end function

    function dovetail_future_wait(future) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: future
      integer(c_int32_t) :: answer
    end function

    function dovetail_future_get(future) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: future
      integer(c_int32_t) :: answer
    end function

    function dovetail_future_ready(future) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: future
      integer(c_int32_t) :: answer
    end function

    function dovetail_future_when_completed(future, callback, argument) bind(c) result(answer)
      import :: c_funptr, c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: future
      type(c_funptr), value, intent(in) :: callback
      type(c_ptr), value, intent(in) :: argument
      integer(c_int32_t) :: answer
    end function

    function dovetail_future_cancel(future) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: future
      integer(c_int32_t) :: answer
    end function

    function dovetail_future_retain(future) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: future
      integer(c_int32_t) :: answer
    end function

    subroutine dovetail_future_release(future) bind(c)
      import :: c_ptr
      type(c_ptr), value, intent(in) :: future
    end subroutine

    function dovetail_events_add(events, count) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: events
      integer(c_int32_t), value, intent(in) :: count
      integer(c_int32_t) :: answer
    end function

    function dovetail_events_fulfill(events, count) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: events
      integer(c_int32_t), value, intent(in) :: count
      integer(c_int32_t) :: answer
    end function

    function dovetail_events_fail(events, code, message) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: events
      integer(c_int32_t), value, intent(in) :: code
      type(c_ptr), value, intent(in) :: message
      integer(c_int32_t) :: answer
    end function

    function dovetail_handle_current(handle) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), intent(out) :: handle
      integer(c_int32_t) :: answer
    end function

    function dovetail_handle_resume(handle) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: handle
      integer(c_int32_t) :: answer
    end function

    subroutine dovetail_handle_release(handle) bind(c)
      import :: c_ptr
      type(c_ptr), value, intent(in) :: handle
    end subroutine

    function dovetail_polling_create(runtime, label, shortest_ns, longest_ns, poll, argument, &
        polling) bind(c) result(answer)
      import :: c_funptr, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: runtime, label
      integer(c_int64_t), value, intent(in) :: shortest_ns, longest_ns
      type(c_funptr), value, intent(in) :: poll
      type(c_ptr), value, intent(in) :: argument
      type(c_ptr), intent(out) :: polling
      integer(c_int32_t) :: answer
    end function

    function dovetail_polling_destroy(polling) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: polling
      integer(c_int32_t) :: answer
    end function

    function dovetail_polling_add_pending(polling, count) bind(c) result(answer)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: polling
      integer(c_size_t), value, intent(in) :: count
      integer(c_int32_t) :: answer
    end function

    function dovetail_polling_pending(polling) bind(c) result(answer)
      import :: c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: polling
      integer(c_int64_t) :: answer
    end function

    function dovetail_polling_interval(polling) bind(c) result(answer)
      import :: c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: polling
      integer(c_int64_t) :: answer
    end function

    function dovetail_trace_start() bind(c) result(answer)
      import :: c_int32_t
      integer(c_int32_t) :: answer
    end function

    function dovetail_trace_stop() bind(c) result(answer)
      import :: c_int32_t
      integer(c_int32_t) :: answer
    end function

    function dovetail_trace_recording() bind(c) result(answer)
      import :: c_int32_t
      integer(c_int32_t) :: answer
    end function

    function dovetail_trace_summarize(summary) bind(c) result(answer)
      import :: c_int32_t, dovetail_trace_summary
      type(dovetail_trace_summary), intent(inout) :: summary
      integer(c_int32_t) :: answer
    end function

    function dovetail_trace_write(path) bind(c) result(answer)
      import :: c_char, c_int32_t
      character(kind=c_char), dimension(*), intent(in) :: path
      integer(c_int32_t) :: answer
    end function
  end interface
end module dovetail_tasks
