! Tasks on the blocks of an array, written to a file and read back, all from Fortran.
include 'dovetail/dovetail.f90'

module blocks
  use, intrinsic :: iso_c_binding
  use :: dovetail
  implicit none

  integer, parameter :: block_size = 4096
  integer, parameter :: block_count = 16
  character(*), parameter :: path = 'fortran_test.data'

  type, bind(c) :: Block
    type(c_ptr) :: values
    type(c_ptr) :: file
    integer(c_int32_t) :: number
  end type

  type, bind(c) :: Counter
    type(c_ptr) :: mutex, file
    integer(c_int64_t) :: value
  end type

contains
  ! value i of block b becomes b * 10000 + i
  recursive subroutine fill(argument) bind(c)
    type(c_ptr), value :: argument
    type(Block), pointer :: mine
    real(c_double), pointer :: values(:)
    integer :: i
    call c_f_pointer(argument, mine)
    call c_f_pointer(mine%values, values, [block_size])
    do i = 1, block_size
      values(i) = mine%number * 10000.0d0 + i
    end do
  end subroutine

  recursive function write_block(argument) bind(c) result(answer)
    type(c_ptr), value :: argument
    integer(c_int32_t) :: answer
    type(Block), pointer :: mine
    integer(c_int64_t) :: written
    call c_f_pointer(argument, mine)
    written = dovetail_file_pwrite(mine%file, mine%values, int(block_size * 8, c_size_t), &
                                   int(mine%number, c_int64_t) * block_size * 8)
    answer = int(min(written, 0_c_int64_t), c_int32_t)
  end function

  recursive function read_block(argument) bind(c) result(answer)
    type(c_ptr), value :: argument
    integer(c_int32_t) :: answer
    type(Block), pointer :: mine
    call c_f_pointer(argument, mine)
    answer = dovetail_file_ipread(mine%file, mine%values, int(block_size * 8, c_size_t), &
                                  int(mine%number, c_int64_t) * block_size * 8, c_null_ptr)
  end function

  ! Reads while it holds the lock: others would count the same.
  recursive function count_up(argument) bind(c) result(answer)
    type(c_ptr), value :: argument
    integer(c_int32_t) :: answer
    type(Counter), pointer :: mine
    integer(c_int64_t) :: before
    character(kind=c_char, len=8), target :: bytes
    call c_f_pointer(argument, mine)
    answer = dovetail_mutex_lock(mine%mutex)
    if (answer /= 0) return
    before = mine%value
    if (dovetail_file_pread(mine%file, c_loc(bytes), 8_c_size_t, 0_c_int64_t) /= 8) error stop 'too few bytes'
    mine%value = before + 1
    answer = dovetail_mutex_unlock(mine%mutex)
  end function

  ! All blocks at once, as they were written.
  recursive function read_whole_file(argument) bind(c) result(answer)
    type(c_ptr), value :: argument
    integer(c_int32_t) :: answer
    type(c_ptr) :: bytes
    real(c_double), pointer :: values(:)
    integer :: b, i
    if (c_associated(argument)) error stop 'an argument came from nowhere'
    answer = 0
    if (dovetail_read_file(path // c_null_char, bytes) /= block_size * block_count * 8) error stop 'not the whole file'
    call c_f_pointer(bytes, values, [block_size * block_count])
    do b = 1, block_count
      do i = 1, block_size
        if (values((b - 1) * block_size + i) /= (b - 1) * 10000.0d0 + i) error stop 'other bytes than were written'
      end do
    end do
    call dovetail_data_destroy(bytes)
  end function

  recursive function fail_with_message(argument) bind(c) result(answer)
    type(c_ptr), value :: argument
    integer(c_int32_t) :: answer
    character(kind=c_char, len=20), target :: message
    if (c_associated(argument)) error stop 'an argument came from nowhere'
    message = 'no such field' // c_null_char
    answer = dovetail_error_set(-33_c_int32_t, c_loc(message))
  end function

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    print *, 'failed: ', what
    print *, 'last error: ', dovetail_text(dovetail_error_message())
    error stop 1
  end subroutine
end module blocks

program fortran_test
  use, intrinsic :: iso_c_binding
  use :: dovetail
  use :: blocks
  implicit none

  interface
    function unlink(path) bind(c) result(answer)
      import :: c_char, c_int
      character(kind=c_char), dimension(*), intent(in) :: path
      integer(c_int) :: answer
    end function
  end interface

  type(dovetail_options), target :: options
  type(dovetail_file_options), target :: file_options
  type(c_ptr) :: runtime, file
  type(Block), target :: arguments(block_count)
  real(c_double), allocatable, target :: values(:, :)
  integer :: b, i

  allocate (values(block_size, block_count))
  options%size_of_this = c_sizeof(options)
  options%workers = 2
  call check(dovetail_runtime_create(c_loc(options), runtime) == 0, 'create a runtime')
  call check(dovetail_runtime_workers(runtime) == 2, 'two workers')
  file_options%size_of_this = c_sizeof(file_options)
  file_options%direct = DOVETAIL_DIRECT_NEVER
  file_options%urgency = DOVETAIL_URGENCY_DRAIN
  call check(dovetail_file_open(path // c_null_char, &
                                ior(DOVETAIL_O_RDWR, ior(DOVETAIL_O_CREAT, DOVETAIL_O_TRUNC)), &
                                c_loc(file_options), file) == 0, 'open the file')

  values = -1
  do b = 1, block_count
    arguments(b) = Block(c_loc(values(1, b)), file, b - 1)
    call spawn_on(b, c_funloc(fill), c_null_funptr, DOVETAIL_ACCESS_OUT)
    call spawn_on(b, c_null_funptr, c_funloc(write_block), DOVETAIL_ACCESS_IN)
  end do
  call check(dovetail_runtime_wait(runtime) == 0, 'fill and write all blocks')
  call check(dovetail_file_fdatasync(file) == 0, 'make the file durable')
  call check(dovetail_file_size(file) == int(block_size, c_int64_t) * block_count * 8, 'size of the file')

  values = -1
  do b = 1, block_count
    call spawn_on(b, c_null_funptr, c_funloc(read_block), DOVETAIL_ACCESS_OUT)
  end do
  call check(dovetail_runtime_wait(runtime) == 0, 'read all blocks')
  do b = 1, block_count
    do i = 1, block_size
      call check(values(i, b) == (b - 1) * 10000.0d0 + i, 'what was written came back')
    end do
  end do

  call check_whole_files()
  call check_locks()
  call check_errors()
  call check(dovetail_file_close(file) == 0, 'close the file')
  call check(dovetail_runtime_destroy(runtime) == 0, 'destroy the runtime')
  deallocate (values)
  call check(unlink(path // c_null_char) == 0, 'remove the file')

contains
  subroutine spawn_on(number, body, fallible_body, mode)
    integer, intent(in) :: number
    type(c_funptr), value, intent(in) :: body, fallible_body
    integer(c_int32_t), intent(in) :: mode
    type(dovetail_task_description) :: description
    type(dovetail_access), target :: accesses(1)
    accesses(1) = dovetail_access_memory(mode, c_loc(values(1, number)), int(block_size * 8, c_size_t))
    description%size_of_this = c_sizeof(description)
    description%body = body
    description%fallible_body = fallible_body
    description%argument = c_loc(arguments(number))
    description%accesses = c_loc(accesses)
    description%access_count = 1
    call check(dovetail_runtime_spawn(runtime, description, c_null_ptr) == 0, 'spawn')
  end subroutine

  subroutine check_whole_files()
    type(dovetail_task_description) :: description
    type(c_ptr) :: bytes
    character(kind=c_char), pointer :: text(:)
    integer(c_int64_t) :: length
    description%size_of_this = c_sizeof(description)
    description%fallible_body = c_funloc(read_whole_file)
    call check(dovetail_runtime_spawn(runtime, description, c_null_ptr) == 0, 'spawn')
    call check(dovetail_runtime_wait(runtime) == 0, 'read a whole file in a task')
    call check(read_whole_file(c_null_ptr) == 0, 'read a whole file outside of one')
    length = dovetail_read_file('/proc/sys/kernel/pid_max' // c_null_char, bytes)
    call check(length > 2, 'a file without a size')
    call c_f_pointer(bytes, text, [length + 1])
    call check(text(length) == c_new_line .and. text(length + 1) == c_null_char, 'all of its bytes, and a zero')
    call dovetail_data_destroy(bytes)
    call check(dovetail_read_file('/dev/null' // c_null_char, bytes) == 0, 'an empty file')
    call check(c_associated(bytes), 'memory for no bytes')
    call dovetail_data_destroy(bytes)
    call check(dovetail_read_file('/nowhere/at/all' // c_null_char, bytes) == -2, 'a file that is not there')
    call check(dovetail_text(dovetail_error_path()) == '/nowhere/at/all', 'the path of the error')
    call check(dovetail_read_file('/proc' // c_null_char, bytes) == -21, 'a folder')
  end subroutine

  subroutine check_locks()
    type(dovetail_task_description) :: description
    type(dovetail_alternative) :: alternatives(3)
    type(Counter), target :: counted
    type(c_ptr) :: latch, semaphore
    integer :: i
    counted%file = file
    counted%value = 0
    call check(dovetail_mutex_create(counted%mutex) == 0, 'make a lock')
    description%size_of_this = c_sizeof(description)
    description%fallible_body = c_funloc(count_up)
    description%argument = c_loc(counted)
    do i = 1, 100
      call check(dovetail_runtime_spawn(runtime, description, c_null_ptr) == 0, 'spawn')
    end do
    call check(dovetail_runtime_wait(runtime) == 0, 'count')
    call check(counted%value == 100, 'the lock keeps others out')
    call check(dovetail_semaphore_create(2_c_int64_t, semaphore) == 0, 'make a semaphore')
    call check(dovetail_latch_create(1_c_int64_t, latch) == 0, 'make a latch')
    call check(dovetail_mutex_lock(counted%mutex) == 0, 'take the lock')
    alternatives(1) = dovetail_alternative_mutex(counted%mutex)
    alternatives(2) = dovetail_alternative_latch(latch)
    alternatives(3) = dovetail_alternative_semaphore(semaphore, 3_c_int64_t)
    call check(dovetail_select(alternatives, 3_c_size_t, 1000_c_int64_t) == -110, 'nothing has happened')
    call check(dovetail_semaphore_release(semaphore, 1_c_int64_t) == 0, 'one unit more')
    call check(dovetail_select(alternatives, 3_c_size_t, -1_c_int64_t) == 2, 'three units')
    call check(dovetail_latch_count_down(latch, 1_c_int64_t) == 0, 'open the latch')
    call check(dovetail_select(alternatives, 3_c_size_t, -1_c_int64_t) == 1, 'the latch is open')
    call check(dovetail_mutex_unlock(counted%mutex) == 0, 'give the lock back')
    call dovetail_mutex_destroy(counted%mutex)
    call dovetail_latch_destroy(latch)
    call dovetail_semaphore_destroy(semaphore)
  end subroutine

  subroutine check_errors()
    type(dovetail_task_description) :: description
    type(c_ptr), target :: future
    type(c_ptr) :: none
    description%size_of_this = c_sizeof(description)
    description%fallible_body = c_funloc(fail_with_message)
    call check(dovetail_runtime_spawn(runtime, description, c_loc(future)) == 0, 'spawn with a future')
    call check(dovetail_future_get(future) == -33, 'the code of the failure')
    call check(dovetail_error_kind() == DOVETAIL_ERROR_TASK, 'the kind of the failure')
    call check(index(dovetail_text(dovetail_error_message()), 'no such field') > 0, 'the message of the failure')
    call dovetail_future_release(future)
    call check(dovetail_file_open('/nowhere/at/all' // c_null_char, DOVETAIL_O_RDONLY, c_null_ptr, none) == -2, &
               'a file that is not there')
    call check(dovetail_text(dovetail_error_path()) == '/nowhere/at/all', 'the path of the error')
  end subroutine
end program fortran_test
