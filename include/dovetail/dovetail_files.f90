! The interfaces of dovetail_files.h, where each is described. Written by scripts/fortran_interface.py: change the header, then
! `make format`. Use the module `dovetail`, which has them all.
module dovetail_files
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int32_t), parameter :: DOVETAIL_DIRECT_NEVER = 0
  integer(c_int32_t), parameter :: DOVETAIL_DIRECT_AUTOMATIC = 1
  integer(c_int32_t), parameter :: DOVETAIL_DIRECT_ALWAYS = 2
  integer(c_int32_t), parameter :: DOVETAIL_DIRECT_ADAPTIVE = 3
  integer(c_int32_t), parameter :: DOVETAIL_URGENCY_PROGRAM = 0
  integer(c_int32_t), parameter :: DOVETAIL_URGENCY_DRAIN = 1
  integer(c_int32_t), parameter :: DOVETAIL_URGENCY_PREFETCH = 2

  type, bind(c) :: dovetail_file_options
    integer(c_size_t) :: size_of_this = 0
    integer(c_int32_t) :: direct = 0
    integer(c_int32_t) :: mode = 0
    integer(c_int32_t) :: urgency = 0
    integer(c_int32_t) :: staged = 0
    type(c_ptr) :: tier = c_null_ptr
  end type

  type, bind(c) :: dovetail_buffer
    type(c_ptr) :: data = c_null_ptr
    integer(c_size_t) :: length = 0
  end type

  type, bind(c) :: dovetail_range
    integer(c_int64_t) :: offset = 0
    integer(c_int64_t) :: length = 0
  end type

  interface
    function dovetail_file_open(path, flags, options, file) bind(c) result(answer)
      import
      character(kind=c_char), dimension(*), intent(in) :: path
      integer(c_int32_t), value, intent(in) :: flags
      type(c_ptr), value, intent(in) :: options
      type(c_ptr), intent(out) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_read_file(path, data) bind(c) result(answer)
      import
      character(kind=c_char), dimension(*), intent(in) :: path
      type(c_ptr), intent(out) :: data
      integer(c_int64_t) :: answer
    end function

    subroutine dovetail_data_destroy(data) bind(c)
      import
      type(c_ptr), value, intent(in) :: data
    end subroutine

    function dovetail_file_adopt(descriptor, owned, file) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor, owned
      type(c_ptr), intent(out) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_close(file) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_descriptor(file) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_path(file) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      type(c_ptr) :: answer
    end function

    function dovetail_file_space(file) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      integer(c_int64_t) :: answer
    end function

    function dovetail_file_direct(file) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_size(file) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      integer(c_int64_t) :: answer
    end function

    function dovetail_file_truncate(file, size) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      integer(c_int64_t), value, intent(in) :: size
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_pread(file, buffer, length, offset) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file, buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_file_ipread(file, buffer, length, offset, transferred) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file, buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      type(c_ptr), value, intent(in) :: transferred
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_pwrite(file, buffer, length, offset) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file, buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_file_ipwrite(file, buffer, length, offset, transferred) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file, buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      type(c_ptr), value, intent(in) :: transferred
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_preadv(file, buffers, count, offset) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      type(dovetail_buffer), dimension(*), intent(in) :: buffers
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_file_ipreadv(file, buffers, count, offset, transferred) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      type(dovetail_buffer), dimension(*), intent(in) :: buffers
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: offset
      type(c_ptr), value, intent(in) :: transferred
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_pwrite_durable(file, buffer, length, offset) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file, buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_file_pwritev(file, buffers, count, offset) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      type(dovetail_buffer), dimension(*), intent(in) :: buffers
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_file_ipwritev(file, buffers, count, offset, transferred) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      type(dovetail_buffer), dimension(*), intent(in) :: buffers
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: offset
      type(c_ptr), value, intent(in) :: transferred
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_fsync(file) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_ifsync(file) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_fdatasync(file) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_ifdatasync(file) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_drain(file) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_idrain(file) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_fallocate(file, mode, offset, length) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t), value, intent(in) :: mode
      integer(c_int64_t), value, intent(in) :: offset, length
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_prefetch(file, ranges, count) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: file
      type(dovetail_range), dimension(*), intent(in) :: ranges
      integer(c_size_t), value, intent(in) :: count
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_pread(descriptor, buffer, length, offset) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor
      type(c_ptr), value, intent(in) :: buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_descriptor_ipread(descriptor, buffer, length, offset, transferred) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor
      type(c_ptr), value, intent(in) :: buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      type(c_ptr), value, intent(in) :: transferred
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_pwrite(descriptor, buffer, length, offset) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor
      type(c_ptr), value, intent(in) :: buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_descriptor_ipwrite(descriptor, buffer, length, offset, transferred) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor
      type(c_ptr), value, intent(in) :: buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      type(c_ptr), value, intent(in) :: transferred
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_preadv(descriptor, buffers, count, offset) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor
      type(dovetail_buffer), dimension(*), intent(in) :: buffers
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_descriptor_ipreadv(descriptor, buffers, count, offset, transferred) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor
      type(dovetail_buffer), dimension(*), intent(in) :: buffers
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: offset
      type(c_ptr), value, intent(in) :: transferred
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_pwritev(descriptor, buffers, count, offset) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor
      type(dovetail_buffer), dimension(*), intent(in) :: buffers
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_descriptor_ipwritev(descriptor, buffers, count, offset, transferred) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor
      type(dovetail_buffer), dimension(*), intent(in) :: buffers
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: offset
      type(c_ptr), value, intent(in) :: transferred
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_fsync(descriptor) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_ifsync(descriptor) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_fdatasync(descriptor) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_ifdatasync(descriptor) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_fallocate(descriptor, mode, offset, length) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor, mode
      integer(c_int64_t), value, intent(in) :: offset, length
      integer(c_int32_t) :: answer
    end function
  end interface
end module dovetail_files
