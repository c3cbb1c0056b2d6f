! Dovetail from Fortran: the interfaces of dovetail.h. Compile this file with your own, or include it before your program
! unit (`include 'dovetail/dovetail.f90'`), and say `use :: dovetail`. The folder above this one must be searched (`-I`).
!
! Pointers of C are `type(c_ptr)`: c_loc of a variable with the target attribute, or c_null_ptr. Names of files are given as
! character values that end with c_null_char. Bodies are procedures with `bind(c)` and one `type(c_ptr), value` argument; the
! compiler must keep their local variables on the stack (`-frecursive`, or `recursive` procedures).
include 'dovetail/dovetail_types.f90'
include 'dovetail/dovetail_tasks.f90'
include 'dovetail/dovetail_files.f90'

module dovetail
  use :: dovetail_types
  use :: dovetail_tasks
  use :: dovetail_files
  implicit none
  public

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
