! Constants and structures of dovetail.h and what it includes. Use the module `dovetail`.
module dovetail_types
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int32_t), parameter :: DOVETAIL_VERSION_MAJOR = 0
  integer(c_int32_t), parameter :: DOVETAIL_VERSION_MINOR = 1
  integer(c_int32_t), parameter :: DOVETAIL_VERSION_PATCH = 0
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
  integer(c_int32_t), parameter :: DOVETAIL_ACCESS_IN = 0
  integer(c_int32_t), parameter :: DOVETAIL_ACCESS_OUT = 1
  integer(c_int32_t), parameter :: DOVETAIL_ACCESS_INOUT = 2
  integer(c_int32_t), parameter :: DOVETAIL_ACCESS_COMMUTATIVE = 3
  integer(c_int32_t), parameter :: DOVETAIL_FAILURE_CANCELS_SUCCESSORS = 0
  integer(c_int32_t), parameter :: DOVETAIL_FAILURE_IGNORED = 1
  integer(c_int32_t), parameter :: DOVETAIL_DIRECT_NEVER = 0
  integer(c_int32_t), parameter :: DOVETAIL_DIRECT_AUTOMATIC = 1
  integer(c_int32_t), parameter :: DOVETAIL_DIRECT_ALWAYS = 2
  integer(c_int32_t), parameter :: DOVETAIL_DIRECT_ADAPTIVE = 3
  integer(c_int32_t), parameter :: DOVETAIL_REGISTRATION_NONE = 0
  integer(c_int32_t), parameter :: DOVETAIL_REGISTRATION_ACCEPTED = 1
  integer(c_int32_t), parameter :: DOVETAIL_REGISTRATION_REFUSED = 2

  ! Flags of open(2) on Linux, for dovetail_file_open. Others may be added by their number.
  integer(c_int32_t), parameter :: DOVETAIL_O_RDONLY = 0
  integer(c_int32_t), parameter :: DOVETAIL_O_WRONLY = 1
  integer(c_int32_t), parameter :: DOVETAIL_O_RDWR = 2
  integer(c_int32_t), parameter :: DOVETAIL_O_CREAT = 64
  integer(c_int32_t), parameter :: DOVETAIL_O_EXCL = 128
  integer(c_int32_t), parameter :: DOVETAIL_O_TRUNC = 512

  ! The fields named `size_of_this` are `size` in C: set them with c_sizeof.
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
  end type

  type, bind(c) :: dovetail_file_options
    integer(c_size_t) :: size_of_this = 0
    integer(c_int32_t) :: direct = 0
    integer(c_int32_t) :: mode = 0
    integer(c_int32_t) :: registered = 0
    integer(c_int32_t) :: reserved = 0
  end type

  type, bind(c) :: dovetail_buffer
    type(c_ptr) :: data = c_null_ptr
    integer(c_size_t) :: length = 0
  end type

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
  end type
end module dovetail_types
