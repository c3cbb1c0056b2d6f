! The interfaces of dovetail_synchronization.h, where each is described. Written by scripts/fortran_interface.py: change the header, then
! `make format`. Use the module `dovetail`, which has them all.
module dovetail_synchronization
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int32_t), parameter :: DOVETAIL_SELECT_FUTURE = 0
  integer(c_int32_t), parameter :: DOVETAIL_SELECT_SEMAPHORE = 1
  integer(c_int32_t), parameter :: DOVETAIL_SELECT_MUTEX = 2
  integer(c_int32_t), parameter :: DOVETAIL_SELECT_LATCH = 3
  integer(c_int32_t), parameter :: DOVETAIL_SELECT_OPERATION = 4
  integer(c_int32_t), parameter :: DOVETAIL_SELECT_READABLE = 5
  integer(c_int32_t), parameter :: DOVETAIL_SELECT_WRITABLE = 6

  type, bind(c) :: dovetail_alternative
    integer(c_int32_t) :: kind = 0
    integer(c_int32_t) :: descriptor = 0
    integer(c_int64_t) :: units = 0
    type(c_ptr) :: object = c_null_ptr
  end type

  interface
    function dovetail_semaphore_create(units, semaphore) bind(c) result(answer)
      import
      integer(c_int64_t), value, intent(in) :: units
      type(c_ptr), intent(out) :: semaphore
      integer(c_int32_t) :: answer
    end function

    subroutine dovetail_semaphore_destroy(semaphore) bind(c)
      import
      type(c_ptr), value, intent(in) :: semaphore
    end subroutine

    function dovetail_semaphore_acquire(semaphore, units) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: semaphore
      integer(c_int64_t), value, intent(in) :: units
      integer(c_int32_t) :: answer
    end function

    function dovetail_semaphore_acquire_for(semaphore, units, at_most_ns) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: semaphore
      integer(c_int64_t), value, intent(in) :: units, at_most_ns
      integer(c_int32_t) :: answer
    end function

    function dovetail_semaphore_try_acquire(semaphore, units) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: semaphore
      integer(c_int64_t), value, intent(in) :: units
      integer(c_int32_t) :: answer
    end function

    function dovetail_semaphore_release(semaphore, units) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: semaphore
      integer(c_int64_t), value, intent(in) :: units
      integer(c_int32_t) :: answer
    end function

    function dovetail_semaphore_available(semaphore) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: semaphore
      integer(c_int64_t) :: answer
    end function

    function dovetail_mutex_create(mutex) bind(c) result(answer)
      import
      type(c_ptr), intent(out) :: mutex
      integer(c_int32_t) :: answer
    end function

    subroutine dovetail_mutex_destroy(mutex) bind(c)
      import
      type(c_ptr), value, intent(in) :: mutex
    end subroutine

    function dovetail_mutex_lock(mutex) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: mutex
      integer(c_int32_t) :: answer
    end function

    function dovetail_mutex_lock_for(mutex, at_most_ns) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: mutex
      integer(c_int64_t), value, intent(in) :: at_most_ns
      integer(c_int32_t) :: answer
    end function

    function dovetail_mutex_try_lock(mutex) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: mutex
      integer(c_int32_t) :: answer
    end function

    function dovetail_mutex_unlock(mutex) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: mutex
      integer(c_int32_t) :: answer
    end function

    function dovetail_latch_create(count, latch) bind(c) result(answer)
      import
      integer(c_int64_t), value, intent(in) :: count
      type(c_ptr), intent(out) :: latch
      integer(c_int32_t) :: answer
    end function

    subroutine dovetail_latch_destroy(latch) bind(c)
      import
      type(c_ptr), value, intent(in) :: latch
    end subroutine

    function dovetail_latch_count_down(latch, steps) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: latch
      integer(c_int64_t), value, intent(in) :: steps
      integer(c_int32_t) :: answer
    end function

    function dovetail_latch_try_wait(latch) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: latch
      integer(c_int32_t) :: answer
    end function

    function dovetail_latch_wait(latch) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: latch
      integer(c_int32_t) :: answer
    end function

    function dovetail_latch_wait_for(latch, at_most_ns) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: latch
      integer(c_int64_t), value, intent(in) :: at_most_ns
      integer(c_int32_t) :: answer
    end function

    function dovetail_barrier_create(participants, barrier) bind(c) result(answer)
      import
      integer(c_int64_t), value, intent(in) :: participants
      type(c_ptr), intent(out) :: barrier
      integer(c_int32_t) :: answer
    end function

    subroutine dovetail_barrier_destroy(barrier) bind(c)
      import
      type(c_ptr), value, intent(in) :: barrier
    end subroutine

    function dovetail_barrier_arrive_and_wait(barrier) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: barrier
      integer(c_int32_t) :: answer
    end function

    function dovetail_barrier_arrive_and_wait_for(barrier, at_most_ns) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: barrier
      integer(c_int64_t), value, intent(in) :: at_most_ns
      integer(c_int32_t) :: answer
    end function

    function dovetail_barrier_arrive_and_drop(barrier) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: barrier
      integer(c_int32_t) :: answer
    end function

    function dovetail_alternative_future(future) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: future
      type(dovetail_alternative) :: answer
    end function

    function dovetail_alternative_semaphore(semaphore, units) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: semaphore
      integer(c_int64_t), value, intent(in) :: units
      type(dovetail_alternative) :: answer
    end function

    function dovetail_alternative_mutex(mutex) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: mutex
      type(dovetail_alternative) :: answer
    end function

    function dovetail_alternative_latch(latch) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: latch
      type(dovetail_alternative) :: answer
    end function

    function dovetail_alternative_operation(operation) bind(c) result(answer)
      import
      type(c_ptr), value, intent(in) :: operation
      type(dovetail_alternative) :: answer
    end function

    function dovetail_alternative_readable(descriptor) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor
      type(dovetail_alternative) :: answer
    end function

    function dovetail_alternative_writable(descriptor) bind(c) result(answer)
      import
      integer(c_int32_t), value, intent(in) :: descriptor
      type(dovetail_alternative) :: answer
    end function

    function dovetail_select(alternatives, count, at_most_ns) bind(c) result(answer)
      import
      type(dovetail_alternative), dimension(*), intent(in) :: alternatives
      integer(c_size_t), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: at_most_ns
      integer(c_int64_t) :: answer
    end function
  end interface
end module dovetail_synchronization
