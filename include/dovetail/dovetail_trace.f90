! The interfaces of dovetail_trace.h, where each is described. Written by scripts/fortran_interface.py: change the header, then
! `make format`. Use the module `dovetail`, which has them all.
module dovetail_trace
  use, intrinsic :: iso_c_binding
  implicit none
  public

  type, bind(c) :: dovetail_trace_summary
    integer(c_size_t) :: size_of_this = 0
    real(c_double) :: total = 0
    real(c_double) :: compute = 0
    real(c_double) :: io = 0
    real(c_double) :: bytes_read = 0
    real(c_double) :: bytes_written = 0
    real(c_double) :: hidden_share = 0
    integer(c_int32_t) :: workers = 0
    integer(c_int32_t) :: reserved = 0
    real(c_double) :: communication = 0
    real(c_double) :: communication_hidden_share = 0
  end type

  interface
    function dovetail_trace_start() bind(c) result(answer)
      import
      integer(c_int32_t) :: answer
    end function

    function dovetail_trace_stop() bind(c) result(answer)
      import
      integer(c_int32_t) :: answer
    end function

    function dovetail_trace_recording() bind(c) result(answer)
      import
      integer(c_int32_t) :: answer
    end function

    function dovetail_trace_summarize(summary) bind(c) result(answer)
      import
      type(dovetail_trace_summary), intent(inout) :: summary
      integer(c_int32_t) :: answer
    end function

    function dovetail_trace_write(path) bind(c) result(answer)
      import
      character(kind=c_char), dimension(*), intent(in) :: path
      integer(c_int32_t) :: answer
    end function
  end interface
end module dovetail_trace
