! The interfaces of dovetail_error.h, where each is described. Written by scripts/fortran_interface.py: change the header, then
! `make format`. Use the module `dovetail`, which has them all.
module dovetail_error
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int32_t), parameter :: DOVETAIL_ERROR_NONE = 0
  integer(c_int32_t), parameter :: DOVETAIL_ERROR_ARGUMENT = 1
  integer(c_int32_t), parameter :: DOVETAIL_ERROR_CONTEXT = 2
  integer(c_int32_t), parameter :: DOVETAIL_ERROR_IO = 3
  integer(c_int32_t), parameter :: DOVETAIL_ERROR_TASK = 4
  integer(c_int32_t), parameter :: DOVETAIL_ERROR_CANCELLED = 5
  integer(c_int32_t), parameter :: DOVETAIL_ERROR_STUCK = 6
  integer(c_int32_t), parameter :: DOVETAIL_ERROR_MEMORY = 7
  integer(c_int32_t), parameter :: DOVETAIL_ERROR_SYSTEM = 8
  integer(c_int32_t), parameter :: DOVETAIL_ERROR_PROGRAM = 9
  integer(c_int32_t), parameter :: DOVETAIL_ERROR_OTHER = 10
  integer(c_int32_t), parameter :: DOVETAIL_ERROR_MPI = 11
  integer(c_int32_t), parameter :: DOVETAIL_ERROR_PEER = 12

  interface
    function dovetail_error_code() bind(c) result(answer)
      import
      integer(c_int32_t) :: answer
    end function

    function dovetail_error_kind() bind(c) result(answer)
      import
      integer(c_int32_t) :: answer
    end function

    function dovetail_error_mpi_code() bind(c) result(answer)
      import
      integer(c_int32_t) :: answer
    end function

    function dovetail_error_rank() bind(c) result(answer)
      import
      integer(c_int32_t) :: answer
    end function

    function dovetail_error_message() bind(c) result(answer)
      import
      type(c_ptr) :: answer
    end function

    function dovetail_error_label() bind(c) result(answer)
      import
      type(c_ptr) :: answer
    end function

    function dovetail_error_operation() bind(c) result(answer)
      import
      type(c_ptr) :: answer
    end function

    function dovetail_error_path() bind(c) result(answer)
      import
      type(c_ptr) :: answer
    end function

    function dovetail_error_offset() bind(c) result(answer)
      import
      integer(c_int64_t) :: answer
    end function

    function dovetail_error_length() bind(c) result(answer)
      import
      integer(c_int64_t) :: answer
    end function

    function dovetail_error_set(code, message) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: code
      type(c_ptr), value, intent(in) :: message
      integer(c_int32_t) :: answer
    end function

    subroutine dovetail_error_clear() bind(c)
      import
    end subroutine
  end interface
end module dovetail_error
