! Dovetail from Fortran: the interfaces of dovetail.h. Compile this file with your own, or include it before your program
! unit (`include 'dovetail/dovetail.f90'`), and say `use :: dovetail`. The folder above this one must be searched (`-I`).
! The modules that it includes are written from the C headers by scripts/fortran_interface.py, where the rules are.
!
! Pointers of C are `type(c_ptr)`: c_loc of a variable with the target attribute, or c_null_ptr. Names of files are given as
! character values that end with c_null_char. Bodies are procedures with `bind(c)` and one `type(c_ptr), value` argument; the
! compiler must keep their local variables on the stack (`-frecursive`, or `recursive` procedures).
include 'dovetail/dovetail_admission.f90'
include 'dovetail/dovetail_buffers.f90'
include 'dovetail/dovetail_error.f90'
include 'dovetail/dovetail_events.f90'
include 'dovetail/dovetail_files.f90'
include 'dovetail/dovetail_rma.f90'
include 'dovetail/dovetail_synchronization.f90'
include 'dovetail/dovetail_tasks.f90'
include 'dovetail/dovetail_trace.f90'

module dovetail
  use :: dovetail_admission
  use :: dovetail_buffers
  use :: dovetail_error
  use :: dovetail_events
  use :: dovetail_files
  use :: dovetail_rma
  use :: dovetail_synchronization
  use :: dovetail_tasks
  use :: dovetail_trace
  use, intrinsic :: iso_c_binding, only: c_int32_t
  implicit none
  public

  ! Flags of open(2) on Linux, for dovetail_file_open. Others may be added by their number.
  integer(c_int32_t), parameter :: DOVETAIL_O_RDONLY = 0
  integer(c_int32_t), parameter :: DOVETAIL_O_WRONLY = 1
  integer(c_int32_t), parameter :: DOVETAIL_O_RDWR = 2
  integer(c_int32_t), parameter :: DOVETAIL_O_CREAT = 64
  integer(c_int32_t), parameter :: DOVETAIL_O_EXCL = 128
  integer(c_int32_t), parameter :: DOVETAIL_O_TRUNC = 512

contains
  !> A string of C (of dovetail_error_message, say) as one of Fortran.
  function dovetail_text(string) result(text)
    use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_null_char, c_ptr
    type(c_ptr), intent(in) :: string
    character(:), allocatable :: text
    character(kind=c_char), dimension(:), pointer :: characters
    integer :: length, i
    allocate (character(0) :: text)
    if (.not. c_associated(string)) return
    call c_f_pointer(string, characters, [huge(0)])
    length = 0
    do while (characters(length + 1) /= c_null_char)
      length = length + 1
    end do
    deallocate (text)
    allocate (character(length) :: text)
    do i = 1, length
      text(i:i) = characters(i)
    end do
  end function
end module dovetail
