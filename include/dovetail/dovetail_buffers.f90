! The interfaces of dovetail_buffers.h, where each is described. Written by scripts/fortran_interface.py: change the header, then
! `make format`. Use the module `dovetail`, which has them all.
module dovetail_buffers
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int32_t), parameter :: DOVETAIL_REGISTRATION_NONE = 0
  integer(c_int32_t), parameter :: DOVETAIL_REGISTRATION_ACCEPTED = 1
  integer(c_int32_t), parameter :: DOVETAIL_REGISTRATION_REFUSED = 2

  interface
    function dovetail_io_buffer_create(bytes, buffer) bind(c) result(answer)
      import
      integer(c_size_t), value, intent(in) :: bytes
      type(c_ptr), intent(out) :: buffer
      integer(c_int32_t) :: answer
    end function

    function dovetail_io_buffer_data(buffer) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: buffer
      type(c_ptr) :: answer
    end function

    function dovetail_io_buffer_size(buffer) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: buffer
      integer(c_size_t) :: answer
    end function

    function dovetail_io_buffer_registration(buffer) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: buffer
      integer(c_int32_t) :: answer
    end function

    function dovetail_io_buffer_registration_error(buffer) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: buffer
      integer(c_int32_t) :: answer
    end function

    subroutine dovetail_io_buffer_destroy(buffer) bind(c)
      import
      type(c_ptr), value, intent(in) :: buffer
    end subroutine
  end interface
end module dovetail_buffers
