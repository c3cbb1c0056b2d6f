! Files and raw descriptors. What each function does is said in dovetail_files.h and dovetail_buffers.h. Use the module `dovetail`.
module dovetail_files
  use, intrinsic :: iso_c_binding
  use :: dovetail_types
  implicit none
  public

  interface
    function dovetail_file_open(path, flags, options, file) bind(c) result(answer)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), dimension(*), intent(in) :: path
      integer(c_int32_t), value, intent(in) :: flags
      type(c_ptr), value, intent(in) :: options
      type(c_ptr), intent(out) :: file
      integer(c_int32_t) :: answer
    end function

    ! `file` must stay where it is until the call has returned only: the object behind it is assigned at once.
    function dovetail_file_iopen(path, flags, options, file) bind(c) result(answer)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), dimension(*), intent(in) :: path
      integer(c_int32_t), value, intent(in) :: flags
      type(c_ptr), value, intent(in) :: options
      type(c_ptr), intent(out) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_iclose(file) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_adopt(descriptor, owned, file) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value, intent(in) :: descriptor, owned
      type(c_ptr), intent(out) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_close(file) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_descriptor(file) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_path(file) bind(c) result(answer)
      import :: c_ptr
      type(c_ptr), value, intent(in) :: file
      type(c_ptr) :: answer
    end function

    function dovetail_file_space(file) bind(c) result(answer)
      import :: c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int64_t) :: answer
    end function

    function dovetail_file_direct(file) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_registration(file) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_registration_error(file) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_size(file) bind(c) result(answer)
      import :: c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int64_t) :: answer
    end function

    function dovetail_file_truncate(file, size) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int64_t), value, intent(in) :: size
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_pread(file, buffer, length, offset) bind(c) result(answer)
      import :: c_int64_t, c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: file, buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_file_ipread(file, buffer, length, offset, transferred) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: file, buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      type(c_ptr), value, intent(in) :: transferred
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_pwrite(file, buffer, length, offset) bind(c) result(answer)
      import :: c_int64_t, c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: file, buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_file_ipwrite(file, buffer, length, offset, transferred) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: file, buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      type(c_ptr), value, intent(in) :: transferred
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_pwrite_durable(file, buffer, length, offset) bind(c) result(answer)
      import :: c_int64_t, c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: file, buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_file_ipwrite_durable(file, buffer, length, offset, transferred) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: file, buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      type(c_ptr), value, intent(in) :: transferred
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_preadv(file, buffers, count, offset) bind(c) result(answer)
      import :: c_int64_t, c_ptr, c_size_t, dovetail_buffer
      type(c_ptr), value, intent(in) :: file
      type(dovetail_buffer), dimension(*), intent(in) :: buffers
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_file_ipreadv(file, buffers, count, offset, transferred) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t, dovetail_buffer
      type(c_ptr), value, intent(in) :: file
      type(dovetail_buffer), dimension(*), intent(in) :: buffers
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: offset
      type(c_ptr), value, intent(in) :: transferred
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_pwritev(file, buffers, count, offset) bind(c) result(answer)
      import :: c_int64_t, c_ptr, c_size_t, dovetail_buffer
      type(c_ptr), value, intent(in) :: file
      type(dovetail_buffer), dimension(*), intent(in) :: buffers
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_file_ipwritev(file, buffers, count, offset, transferred) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t, dovetail_buffer
      type(c_ptr), value, intent(in) :: file
      type(dovetail_buffer), dimension(*), intent(in) :: buffers
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: offset
      type(c_ptr), value, intent(in) :: transferred
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_fsync(file) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_ifsync(file) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_fdatasync(file) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_ifdatasync(file) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_fallocate(file, mode, offset, length) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t), value, intent(in) :: mode
      integer(c_int64_t), value, intent(in) :: offset, length
      integer(c_int32_t) :: answer
    end function

    function dovetail_file_ifallocate(file, mode, offset, length) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: file
      integer(c_int32_t), value, intent(in) :: mode
      integer(c_int64_t), value, intent(in) :: offset, length
      integer(c_int32_t) :: answer
    end function

    function dovetail_io_buffer_create(bytes, buffer) bind(c) result(answer)
      import :: c_int32_t, c_ptr, c_size_t
      integer(c_size_t), value, intent(in) :: bytes
      type(c_ptr), intent(out) :: buffer
      integer(c_int32_t) :: answer
    end function

    function dovetail_io_buffer_data(buffer) bind(c) result(answer)
      import :: c_ptr
      type(c_ptr), value, intent(in) :: buffer
      type(c_ptr) :: answer
    end function

    function dovetail_io_buffer_size(buffer) bind(c) result(answer)
      import :: c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: buffer
      integer(c_size_t) :: answer
    end function

    function dovetail_io_buffer_registration(buffer) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: buffer
      integer(c_int32_t) :: answer
    end function

    function dovetail_io_buffer_registration_error(buffer) bind(c) result(answer)
      import :: c_int32_t, c_ptr
      type(c_ptr), value, intent(in) :: buffer
      integer(c_int32_t) :: answer
    end function

    subroutine dovetail_io_buffer_destroy(buffer) bind(c)
      import :: c_ptr
      type(c_ptr), value, intent(in) :: buffer
    end subroutine

    function dovetail_descriptor_pread(descriptor, buffer, length, offset) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      integer(c_int32_t), value, intent(in) :: descriptor
      type(c_ptr), value, intent(in) :: buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_descriptor_ipread(descriptor, buffer, length, offset, transferred) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      integer(c_int32_t), value, intent(in) :: descriptor
      type(c_ptr), value, intent(in) :: buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      type(c_ptr), value, intent(in) :: transferred
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_pwrite(descriptor, buffer, length, offset) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      integer(c_int32_t), value, intent(in) :: descriptor
      type(c_ptr), value, intent(in) :: buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_descriptor_ipwrite(descriptor, buffer, length, offset, transferred) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t
      integer(c_int32_t), value, intent(in) :: descriptor
      type(c_ptr), value, intent(in) :: buffer
      integer(c_size_t), value, intent(in) :: length
      integer(c_int64_t), value, intent(in) :: offset
      type(c_ptr), value, intent(in) :: transferred
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_preadv(descriptor, buffers, count, offset) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, c_size_t, dovetail_buffer
      integer(c_int32_t), value, intent(in) :: descriptor
      type(dovetail_buffer), dimension(*), intent(in) :: buffers
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_descriptor_ipreadv(descriptor, buffers, count, offset, transferred) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t, dovetail_buffer
      integer(c_int32_t), value, intent(in) :: descriptor
      type(dovetail_buffer), dimension(*), intent(in) :: buffers
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: offset
      type(c_ptr), value, intent(in) :: transferred
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_pwritev(descriptor, buffers, count, offset) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, c_size_t, dovetail_buffer
      integer(c_int32_t), value, intent(in) :: descriptor
      type(dovetail_buffer), dimension(*), intent(in) :: buffers
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: offset
      integer(c_int64_t) :: answer
    end function

    function dovetail_descriptor_ipwritev(descriptor, buffers, count, offset, &
        transferred) bind(c) result(answer)
      import :: c_int32_t, c_int64_t, c_ptr, c_size_t, dovetail_buffer
      integer(c_int32_t), value, intent(in) :: descriptor
      type(dovetail_buffer), dimension(*), intent(in) :: buffers
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: offset
      type(c_ptr), value, intent(in) :: transferred
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_fsync(descriptor) bind(c) result(answer)
      import :: c_int32_t
      integer(c_int32_t), value, intent(in) :: descriptor
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_ifsync(descriptor) bind(c) result(answer)
      import :: c_int32_t
      integer(c_int32_t), value, intent(in) :: descriptor
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_fdatasync(descriptor) bind(c) result(answer)
      import :: c_int32_t
      integer(c_int32_t), value, intent(in) :: descriptor
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_ifdatasync(descriptor) bind(c) result(answer)
      import :: c_int32_t
      integer(c_int32_t), value, intent(in) :: descriptor
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_fallocate(descriptor, mode, offset, length) bind(c) result(answer)
      import :: c_int32_t, c_int64_t
      integer(c_int32_t), value, intent(in) :: descriptor, mode
      integer(c_int64_t), value, intent(in) :: offset, length
      integer(c_int32_t) :: answer
    end function

    function dovetail_descriptor_ifallocate(descriptor, mode, offset, length) bind(c) result(answer)
      import :: c_int32_t, c_int64_t
      integer(c_int32_t), value, intent(in) :: descriptor, mode
      integer(c_int64_t), value, intent(in) :: offset, length
      integer(c_int32_t) :: answer
    end function
  end interface
end module dovetail_files
