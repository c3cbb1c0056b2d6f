! The interfaces of dovetail_admission.h, where each is described. Written by scripts/fortran_interface.py: change the header, then
! `make format`. Use the module `dovetail`, which has them all.
module dovetail_admission
  use, intrinsic :: iso_c_binding
  implicit none
  public

  type, bind(c) :: dovetail_storage_device
    integer(c_size_t) :: size_of_this = 0
    real(c_double) :: read_mb_per_second = 0
    real(c_double) :: write_mb_per_second = 0
    integer(c_int32_t) :: shared = 0
    integer(c_int32_t) :: configured = 0
  end type

  interface
    function dovetail_storage_device_find(name_or_path, config, measure, device) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: name_or_path, config
      integer(c_int32_t), value, intent(in) :: measure
      type(dovetail_storage_device), intent(inout) :: device
      integer(c_int32_t) :: answer
    end function

    function dovetail_admission_report(buffer, capacity) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: buffer
      integer(c_size_t), value, intent(in) :: capacity
      integer(c_int64_t) :: answer
    end function
  end interface
end module dovetail_admission
