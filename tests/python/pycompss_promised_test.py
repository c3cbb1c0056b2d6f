"""PyCOMPSs programs that use objects that a task is still to make or to change: methods, @local, IN_DELETE."""

from __future__ import annotations

HEADER = """
import threading
from pycompss.api.api import *
from pycompss.api.parameter import *
from pycompss.api.task import task

class Account:
    def __init__(self, *entries):
        self.entries = list(entries)

    @task()
    def add(self, entry):
        self.entries.append(entry)

    @task(returns=1, target_direction=IN)
    def total(self):
        return sum(self.entries)

    @task()
    def doubled(self) -> "Account":
        return Account(*self.entries, *self.entries)

    @classmethod
    @task(returns=1)
    def kind(cls):
        return cls.__name__

    @staticmethod
    @task(returns=1)
    def twice(value):
        return 2 * value

    def plain(self):
        pass

begin = threading.Event()

@task(returns=Account)
def opened(*entries):
    begin.wait()
    return Account(*entries)

"""


def test_methods_are_called_in_order_while_the_object_is_still_to_be_made(lines_of):
    assert lines_of(
        """
        account = opened(1)
        account.add(2)
        early = account.total()
        account.add(5)
        late = account.total()
        twin = account.doubled()
        twin.add(100)
        # Those of the class need no object.
        print(compss_wait_on(account.kind()), compss_wait_on(account.twice(4)), account.done())
        begin.set()
        print(compss_wait_on([early, late]), compss_wait_on(account).entries, compss_wait_on(twin).entries)
        account = compss_wait_on(account)
        account.add(7)
        print(compss_wait_on(account).entries)
        """
    ) == ["Account 8 False", "[3, 8] [1, 2, 5] [1, 2, 5, 1, 2, 5, 100]", "[1, 2, 5, 7]"]


def test_each_of_several_values_has_its_own_class(lines_of):
    assert lines_of(
        """
        class Other:
            @task(returns=1)
            def what(self):
                return "other"

            @task()
            def cancel(self):
                pass

        @task(returns=(Account, int, Other))
        def three():
            return Account(3), 4, Other()

        account, number, other = three()
        account.add(1)
        print(compss_wait_on(account.total()), compss_wait_on(other.what()), compss_wait_on(number))
        three()
        """
    ) == ["4 other 4"]
    # Which the future has, too.
    assert lines_of.errors.count("class 'Other' has methods that are tasks by the names cancel:") == 1


NO_TASK = ": class 'Account' has no method of that name that is a task. Wait for the object first"
NO_CLASS = ": its class is not known, since 'returns' of the task names none. Name it (returns=Class), or wait for the object first"


def test_what_cannot_be_asked_of_it_yet_is_an_error(lines_of):
    assert lines_of(
        """
        @task(returns=1)
        def unnamed():
            return Account()

        @task(returns=int)
        def number():
            return 1

        begin.set()
        account = opened(1)
        for ask in (
            lambda: account.plain(),
            lambda: account.entries,
            lambda: unnamed().add(1),
            lambda: number().bit_length(),
        ):
            try:
                ask()
            except AttributeError as error:
                print(error)

        # Nor what could not be made.
        @task(returns=Account, on_failure="CANCEL_SUCCESSORS")
        def failing():
            raise ValueError("no account")

        account = failing()
        account.add(1)
        print(compss_wait_on(account.total()), compss_wait_on(account))
        """
    ) == [
        f"'{name}' of the object that task '{task}' makes{reason} (compss_wait_on)"
        for name, task, reason in (
            ("plain", "opened", NO_TASK),
            ("entries", "opened", NO_TASK),
            ("add", "unnamed", NO_CLASS),
            ("bit_length", "number", NO_CLASS),
        )
    ] + ["None None"]
    assert "task 'failing' failed: ValueError: no account" in lines_of.errors


def test_a_program_may_change_an_object_that_it_has_passed_as_in_delete(lines_of):
    """What tasks are still to change is not there to be copied; the object tracker knows it."""
    assert lines_of(
        """
        from pycompss.runtime.management.object_tracker import OT

        @task(values=IN_DELETE, returns=list)
        def next_of(values):
            begin.wait()
            return [values[0] + 1]

        @task(values=INOUT)
        def begun(values):
            begin.wait()
            values[0] = 10

        own, results = [0], []
        for number in range(3):
            own[0] = number
            results.append(next_of(own))
        changed = [0]
        begun(changed)
        results.append(next_of(changed))
        identifier = OT.get_object_id(changed)
        print(identifier != "", identifier in OT.pending_to_synchronize, repr(OT.get_object_id([])))
        begin.set()
        print(compss_wait_on(results))
        compss_wait_on(changed)
        print(repr(OT.get_object_id(changed)), identifier in OT.pending_to_synchronize)
        """,
        DOVETAIL_WORKERS="8",
    ) == ["True True ''", "[[1], [2], [3], [11]]", "'' False"]


def test_variables_of_the_caller_of_a_local_function_hold_what_it_has_waited_for(lines_of):
    """Also those that closures share, and those of the module. What is no argument is not touched."""
    assert lines_of(
        """
        from pycompss.api.local import local

        @local
        def total(numbers, *more, **named):
            return sum(numbers) + sum(map(sum, more)) + sum(map(sum, named.values()))

        @task(returns=list)
        def twice(numbers):
            return [2 * number for number in numbers]

        def of_a_function():
            first, second, third, other = twice([1]), twice([2]), twice([3]), twice([4])
            kept = first

            def read():
                return second

            print(total(first, second, third=third), first, kept, read(), third, type(other).__name__)
            second.append(0)
            print(read())

        of_a_function()
        here = twice([5])
        print(total(here), here)

        class OfAClass:
            there = twice([6])
            print(total(there), there)

        class Names(dict):
            clear = None  # the program's own names are never taken away, since tasks may look for them

        names = Names(other=twice([7]))
        exec("total(other)", globals(), names)
        print(names["other"])
        """
    ) == ["12 [2] [2] [4] [6] Future", "[4, 0]", "10 [10]", "12 [12]", "[14]"]


def test_a_local_function_leaves_the_other_variables_of_its_caller_alone(lines_of):
    """It keeps no object of theirs, does not undo what a closure assigns meanwhile, and leaves what locals() has given."""
    assert lines_of(
        """
        import time, weakref
        from pycompss.api.local import local

        class Large:
            pass

        @local
        def same(value):
            return value

        @task(returns=1)
        def made(value):
            return value() if value is Large else value

        def keeps(in_variable):
            large = Large()
            lives = weakref.ref(large)
            value = made(Large)
            result = weakref.ref(same(value) if in_variable else same(made(Large)))
            del large, value
            compss_barrier()
            deadline = time.monotonic() + 60
            while result() is not None and time.monotonic() < deadline:  # the worker may still have the task
                time.sleep(0.001)
            return lives() is not None, result() is not None

        def assigns():
            count, calls = 0, []

            def assign(_):
                nonlocal count
                count += 1
                calls.append(1)
                return object

            value = made(2)
            # @local asks whether it is a future. Then it calls this, as another thread could do at that moment.
            asked = type("Asked", (), {"__class__": property(assign)})()
            same(value)
            return value, calls != [] and count == len(calls)

        def lists():
            value = made(3)
            names = locals()
            names["own"] = 4
            same(value)
            return names["value"], names["own"]

        print(keeps(True), keeps(False))
        print(assigns())
        print(lists())
        """
    ) == ["(False, False) (False, False)", "(2, True)", "(3, 4)"]
