#include "synchronization.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "dovetail/select.hpp"
#include "dovetail/synchronization.hpp"
#include "failure.hpp"
#include "future.hpp"
#include "seconds.hpp"
#include "tasking/pause.hpp"
#include "thread_state.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

using std::chrono::nanoseconds;

bool in_worker_process = false;  // under the interpreter's lock

// An object in a worker process is not the program's object. Its lock would not exclude tasks of the program, and no task of the program could open
// its latch.
void require_process_of_program(const char* what) {
  if (in_worker_process) {
    throw std::runtime_error(std::string("a ") + what +
                             " is of one process, and the body of a process task runs in another: use it in tasks "
                             "without process=True, or give the process task what it needs as an argument");
  }
}

std::uint64_t natural(std::int64_t number, const char* name) {
  if (number < 0) {
    throw std::invalid_argument(std::string(name) + " must not be negative, and is " + std::to_string(number));
  }
  return static_cast<std::uint64_t>(number);
}

// As the locks of `threading` have it, where -1 stands for no limit too.
nanoseconds limit_of(bool blocking, std::optional<double> timeout) {
  if (!blocking) {
    if (timeout && *timeout != -1) {
      throw std::invalid_argument("can't specify a timeout for a non-blocking call");
    }
    return nanoseconds::zero();
  }
  if (timeout && *timeout < 0 && *timeout != -1) {
    throw std::invalid_argument("timeout value must be a non-negative number");
  }
  return timeout && *timeout != -1 ? nanoseconds_of(*timeout) : nanoseconds::max();
}

// Outside of tasks, a wait with a limit ends when Ctrl-C is pressed, even if the limit is as far away as can be.
bool waits_without_limit(nanoseconds at_most) {
  return at_most == nanoseconds::max() && tasking::current_task() != nullptr;
}

// By the first of these three calls that suits: at once, for as long as it takes, within the limit.
template <class AtOnce, class WithoutLimit, class Within>
bool take(nanoseconds at_most, AtOnce at_once, WithoutLimit without_limit, Within within) {
  if (at_once()) {
    return true;
  }
  if (at_most == nanoseconds::zero()) {
    return false;
  }
  const Unlocked unlocked;
  if (waits_without_limit(at_most)) {
    without_limit();
    return true;
  }
  return within(at_most);
}

class Lock {
 public:
  bool acquire(bool blocking, std::optional<double> timeout) {
    return translated([&] {
      require_process_of_program("Lock");
      return take(
          limit_of(blocking, timeout), [&] { return mutex_.try_lock(); }, [&] { mutex_.lock(); },
          [&](nanoseconds at_most) { return mutex_.try_lock_for(at_most); });
    });
  }
  void release() {
    translated([&] {
      require_process_of_program("Lock");
      if (!locked()) {
        throw std::runtime_error("release unlocked lock");
      }
      mutex_.unlock();
    });
  }
  bool locked() const noexcept { return mutex_.is_locked(); }
  Alternative alternative() { return {mutex_}; }
  std::string text() const { return locked() ? "<dovetail.Lock, locked>" : "<dovetail.Lock, unlocked>"; }

 private:
  Mutex mutex_;
};

class Units {
 public:
  explicit Units(std::int64_t units) : semaphore_(natural(units, "units")) {}
  bool acquire(bool blocking, std::optional<double> timeout, std::int64_t units) {
    return translated([&] {
      require_process_of_program("Semaphore");
      const std::uint64_t taken = natural(units, "units");
      return take(
          limit_of(blocking, timeout), [&] { return semaphore_.try_acquire(taken); },
          [&] { semaphore_.acquire(taken); },
          [&](nanoseconds at_most) { return semaphore_.try_acquire_for(at_most, taken); });
    });
  }
  void release(std::int64_t units) {
    translated([&] {
      require_process_of_program("Semaphore");
      semaphore_.release(natural(units, "units"));
    });
  }
  std::uint64_t available() const noexcept { return semaphore_.available(); }
  Alternative alternative(std::int64_t units) { return {semaphore_, natural(units, "units")}; }
  std::string text() const { return "<dovetail.Semaphore, " + std::to_string(available()) + " available>"; }

 private:
  Semaphore semaphore_;
};

class CountDown {
 public:
  explicit CountDown(std::int64_t count) : latch_(natural(count, "count")) {}
  void count_down(std::int64_t steps) {
    translated([&] {
      require_process_of_program("Latch");
      const std::uint64_t counted = natural(steps, "steps");
      if (!latch_.count_down(counted)) {
        throw std::invalid_argument("a latch of which " + std::to_string(latch_.remaining()) +
                                    " steps are left is counted down by " + std::to_string(counted));
      }
    });
  }
  bool try_wait() const noexcept { return latch_.try_wait(); }
  bool wait(std::optional<double> timeout) {
    return translated([&] {
      require_process_of_program("Latch");
      return take(
          nanoseconds_of(timeout), [&] { return latch_.try_wait(); }, [&] { latch_.wait(); },
          [&](nanoseconds at_most) { return latch_.wait_for(at_most); });
    });
  }
  Alternative alternative() { return {latch_}; }
  std::string text() const { return "<dovetail.Latch, " + std::to_string(latch_.remaining()) + " steps left>"; }

 private:
  Latch latch_;
};

class Phases {
 public:
  explicit Phases(std::int64_t participants) : barrier_(natural(participants, "participants")) {
    require_participants();
  }
  bool arrive_and_wait(std::optional<double> timeout) {
    return translated([&] {
      require_process_of_program("Barrier");
      require_participants();
      const nanoseconds at_most = nanoseconds_of(timeout);
      const Unlocked unlocked;
      if (waits_without_limit(at_most)) {
        barrier_.arrive_and_wait();
        return true;
      }
      return barrier_.arrive_and_wait_for(at_most);
    });
  }
  void arrive_and_drop() {
    translated([&] {
      require_process_of_program("Barrier");
      require_participants();
      barrier_.arrive_and_drop();
    });
  }
  std::string text() const {
    return "<dovetail.Barrier, " + std::to_string(barrier_.participants()) + " participants>";
  }

 private:
  void require_participants() const {
    if (barrier_.participants() == 0) {
      throw std::invalid_argument("a barrier needs at least one participant");
    }
  }

  Barrier barrier_;
};

nb::object refuse_to_pickle(nb::handle self) {
  throw nb::type_error((std::string("a dovetail.") + nb::str(self.type().attr("__name__")).c_str() +
                        " is of one process, and cannot be copied or sent to another")
                           .c_str());
}

// An item, or a tuple of a semaphore and a number of units.
Alternative alternative_of(nb::handle item) {
  if (is_future(item.ptr())) {
    return {future_of(item.ptr())};
  }
  require_process_of_program("lock, semaphore or latch");
  if (nb::isinstance<Lock>(item)) {
    return nb::inst_ptr<Lock>(item)->alternative();
  }
  if (nb::isinstance<Units>(item)) {
    return nb::inst_ptr<Units>(item)->alternative(1);
  }
  if (nb::isinstance<CountDown>(item)) {
    return nb::inst_ptr<CountDown>(item)->alternative();
  }
  std::int64_t units = 0;
  if (nb::isinstance<nb::tuple>(item) && nb::len(item) == 2 && nb::isinstance<Units>(item[0]) &&
      nb::try_cast(item[1], units)) {
    return nb::inst_ptr<Units>(item[0])->alternative(units);
  }
  throw nb::type_error(
      (std::string("select() waits for futures, locks, latches, semaphores and pairs of a semaphore and "
                   "a number of units, not for a value of type '") +
       Py_TYPE(item.ptr())->tp_name + "'")
          .c_str());
}

std::optional<std::size_t> select_first(const nb::iterable& things, std::optional<double> timeout) {
  return translated([&] {
    std::vector<nb::object> kept;  // an alternative refers to its object
    std::vector<Alternative> all;
    for (const nb::handle item : things) {
      kept.push_back(nb::borrow(item));
      all.push_back(alternative_of(item));
    }
    const WaitLimits limits{.at_most = nanoseconds_of(timeout), .stop = {}};
    const Unlocked unlocked;
    return select(all, limits);
  });
}

void bind_lock(nb::module_& module) {
  nb::class_<Lock> lock(module, "Lock", nb::is_final(), "A lock that pauses the task that waits for it.");
  lock.def(nb::init<>())
      .def("acquire", &Lock::acquire, nb::arg("blocking") = true, nb::arg("timeout").none() = nb::none(),
           "Waits until the caller holds the lock. Returns whether it does.")
      .def("release", &Lock::release, "By whoever holds it. The one that has waited longest gets it.")
      .def("locked", &Lock::locked, "Whether a task or a thread holds it.")
      .def("__enter__", [](Lock& self) { return self.acquire(true, std::nullopt); })
      .def("__exit__", [](Lock& self, const nb::args&) { self.release(); })
      .def("__reduce__", &refuse_to_pickle)
      .def("__repr__", &Lock::text);
}

void bind_semaphore(nb::module_& module) {
  nb::class_<Units> semaphore(module, "Semaphore", nb::is_final(), "A number of units, of which each user takes some.");
  semaphore
      .def(
          "__init__", [](Units* self, std::int64_t units) { translated([&] { new (self) Units(units); }); },
          nb::arg("units") = 1)
      .def("acquire", &Units::acquire, nb::arg("blocking") = true, nb::arg("timeout").none() = nb::none(),
           nb::kw_only(), nb::arg("units") = 1, "Waits until it has taken so many units. Returns whether it has.")
      .def("release", &Units::release, nb::arg("units") = 1, "Gives back units, or adds new ones.")
      .def_prop_ro("available", &Units::available, "Units that can be taken now.")
      .def("__enter__", [](Units& self) { return self.acquire(true, std::nullopt, 1); })
      .def("__exit__", [](Units& self, const nb::args&) { self.release(1); })
      .def("__reduce__", &refuse_to_pickle)
      .def("__repr__", &Units::text);
}

void bind_latch(nb::module_& module) {
  nb::class_<CountDown> latch(module, "Latch", nb::is_final(), "Opens once it has been counted down to zero.");
  latch
      .def(
          "__init__", [](CountDown* self, std::int64_t count) { translated([&] { new (self) CountDown(count); }); },
          nb::arg("count"))
      .def("count_down", &CountDown::count_down, nb::arg("steps") = 1, "Counts. Never waits.")
      .def("try_wait", &CountDown::try_wait, "Whether it is open.")
      .def("wait", &CountDown::wait, nb::arg("timeout").none() = nb::none(),
           "Waits until it is open. Returns whether it is.")
      .def("__reduce__", &refuse_to_pickle)
      .def("__repr__", &CountDown::text);
}

void bind_barrier(nb::module_& module) {
  nb::class_<Phases> barrier(module, "Barrier", nb::is_final(), "Lets nobody pass until all have arrived.");
  barrier
      .def(
          "__init__",
          [](Phases* self, std::int64_t participants) { translated([&] { new (self) Phases(participants); }); },
          nb::arg("participants"))
      .def("arrive_and_wait", &Phases::arrive_and_wait, nb::arg("timeout").none() = nb::none(),
           "Waits until all participants have arrived. Returns whether they have.")
      .def("arrive_and_drop", &Phases::arrive_and_drop, "Arrives, and takes part in no later phase.")
      .def("__reduce__", &refuse_to_pickle)
      .def("__repr__", &Phases::text);
}

}  // namespace

void bind_synchronization(nb::module_& module) {
  bind_lock(module);
  bind_semaphore(module);
  bind_latch(module);
  bind_barrier(module);
  module.def("select", &select_first, nb::arg("things"), nb::arg("timeout").none() = nb::none(),
             "Waits for the first of several things, and returns its place.");
  module.def("set_worker_process", [] { in_worker_process = true; }, "This process runs the bodies of process tasks.");
}

}  // namespace dovetail::python
