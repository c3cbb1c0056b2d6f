"""PyCOMPSs tasks that ask a web service. The service is web_service.py, in this process."""

from __future__ import annotations

import re

import pytest
import web_service
from dovetail.pycompss.http import read_services

HEADER = """
from pycompss.api.api import *
from pycompss.api.http import http
from pycompss.api.parameter import *
from pycompss.api.task import task

"""
RESOURCES = """<?xml version="1.0"?>
<ResourcesList>
  <ComputeNode Name="node"/>
  <Http BaseUrl="{address}"><ServiceName>texts</ServiceName><ServiceName>others</ServiceName></Http>
  <Http BaseUrl="{ended}"><ServiceName>ended</ServiceName></Http>
</ResourcesList>
"""


@pytest.fixture
def service():
    with web_service.running() as (address, asked):
        yield address, asked


@pytest.fixture
def resources(tmp_path, service):
    """The options that make the service known."""
    with web_service.running() as (ended, _):
        pass  # nothing listens there then
    path = tmp_path / "resources.xml"
    path.write_text(RESOURCES.format(address=service[0], ended=ended))
    return "--resources", path


def test_a_response_is_what_the_task_returns(lines_of, resources):
    """JSON is a value, another text is a text, and what `produces` names is taken out of it."""
    assert lines_of(
        """
        @http(service_name="texts", request="GET", resource="get_length/{{message}}")
        @task(returns=int)
        def length(message):
            raise AssertionError("the function is not called")

        @http(service_name="others", request="get", resource="print_message/{{message}}")
        @task(returns=str)
        def same(message):
            pass

        @http(service_name="texts", request="GET", resource="produce_format/{{message}}",
              produces="{'length': '{{return_1}}', 'child_json': {'depth_1': 'one', 'message': '{{return_0}}'}}")
        @task(returns=2)
        def both(message="abc"):
            pass

        @http(service_name="texts", request="GET", resource="dummy/")
        @task()
        def nothing():
            pass

        print(repr(compss_wait_on(length("a word/ü&?"))), compss_wait_on(same(same("a b"))), compss_wait_on(both()), nothing())
        """,
        before=resources,
    ) == ["'6' a b ['abc', 3] None"]


def test_parameters_stand_in_the_payload(lines_of, service, resources, tmp_path):
    """In JSON as values, in quotes as parts of a text, alone as they are; of a file its content."""
    (tmp_path / "file").write_text('say "so"')
    assert lines_of(
        """
        @http(service_name="texts", request="POST", resource="post_json/", payload='{"a": {{a}}, "b": "<{{b}}> {{a}}", "c": {{path}}}')
        @task(path=FILE_IN, returns=dict)
        def filled(a, b, path):
            pass

        @http(service_name="texts", request="POST", resource="post_json/", payload="{{payload}}", payload_type="text/csv")
        @task(returns=str)
        def alone(payload):
            pass

        @http(service_name="texts", request="POST", resource="post/")
        @task(returns=str)
        def empty():
            pass

        file = sys.argv[1]
        print(compss_wait_on(filled([1, {"x": None}], 'q"\\\\', file)))
        print(compss_wait_on(filled("{{b}}", "", file)))
        print(compss_wait_on(filled('{"is": "JSON"}', "", file))["a"])
        print(compss_wait_on([alone("a;b"), alone({"k": 1}), empty()]))
        """.replace("sys.argv", "__import__('sys').argv"),
        tmp_path / "file",
        before=resources,
    ) == [
        """{'a': [1, {'x': None}], 'b': '<q"\\\\> [1, {"x": null}]', 'c': 'say "so"'}""",
        """{'a': '{{b}}', 'b': '<> {{b}}', 'c': 'say "so"'}""",
        "{'is': 'JSON'}",
        "['a;b', {'k': 1}, 'post_works']",
    ]
    kinds = [(kind, content) for _, _, kind, content in service[1]]
    assert ("text/csv", "a;b") in kinds
    assert ("application/json", "") in kinds


def test_a_dictionary_is_changed_in_the_order_of_the_tasks(lines_of, resources, tmp_path):
    """And what a task asks may be in a file."""
    (tmp_path / "task.json").write_text(
        '{"execution": {"type": "http", "service_name": "texts", "request": "POST", "resource": "post/"}}'
    )
    assert lines_of(
        f"""
        from pycompss.api.software import software

        @software(config_file={str(tmp_path / "task.json")!r})
        @task(returns=str)
        def posted():
            pass
        """
        """
        @http(service_name="texts", request="GET", resource="produce_format/{{message}}", produces='{"child_json": {"message": "{{got}}"}}',
              updates="{{event}}.third = {{got}}")
        @task(event=INOUT)
        def update(event, message):
            pass

        @task(event=INOUT)
        def note(event):
            event["seen"] = event["third"]

        event = {"third": None}
        update(event, "one")
        note(event)
        update(event, "two")
        print(compss_wait_on(event), compss_wait_on(posted()))
        """,
        before=resources,
    ) == ["{'third': 'two', 'seen': 'one'} post_works"]


def test_what_a_service_cannot_give_fails_the_task(lines_of, resources):
    assert lines_of(
        """
        def asked(service="texts", resource="dummy/", **more):
            try:
                @http(service_name=service, request="GET", resource=resource, **more)
                @task(returns=1, on_failure="IGNORE")
                def asking(event=None):
                    pass
            except ValueError as error:
                return str(error)
            return compss_wait_on(asking())

        length = {"length": "{{return_0}}"}
        print(asked(resource="nosuch/"))
        print(asked(service="unknown"))
        print(asked(service="ended"))
        print(asked(resource="{{wrong}}"))
        print(asked(resource="produce_format/x", produces={"child_json": {"nosuch": "{{return_0}}"}}))
        print(asked(resource="produce_format/x", produces=length, updates="{{event}}.a = {{return_0}}"))
        print(asked(resource="produce_format/x", produces=length, updates="{{event}}.a = {{return_1}}"))
        print(asked(produces="[1]"))
        print(asked(updates="event = 1"))
        """,
        before=resources,
    ) == [
        *["None"] * 7,
        "@http: produces must be an object of JSON, not '[1]'",
        "@http: updates must be as '{{parameter}}.key = {{name}}', not 'event = 1'",
    ]
    for said in (
        "test/nosuch/ was answered with 404 Not Found: there is no nosuch; this is ignored",
        "the address of the service 'unknown' is not known (known: ended, others, texts). Give the program's resources file",
        "dummy/ was not answered: [Errno 111] Connection refused; this is ignored",
        "task 'asking' has no parameter 'wrong', which '{{wrong}}' of @http names",
        "has no child_json.nosuch, which produces of @http names: {'depth_0'",
        "updates of @http changes a dictionary, and 'event' is NoneType",
        "updates of @http names 'return_1', which produces does not",
    ):
        assert said in lines_of.errors


def test_a_failure_that_is_kept_holds_no_connection(lines_of, resources):
    assert lines_of(
        """
        import os

        @http(service_name="texts", request="GET", resource="{{what}}/")
        @task(returns=1, on_failure="CANCEL_SUCCESSORS")
        def asked(what):
            pass

        def sockets():
            found = 0
            for each in os.listdir("/proc/self/fd"):
                try:
                    found += os.readlink(f"/proc/self/fd/{each}").startswith("socket:")
                except FileNotFoundError:  # that of the folder itself
                    pass
            return found

        failed, found = [], []
        for number in (1, 5):
            # The answer is as long, and a message has its beginning. The future keeps the failure.
            failed += [asked("x" * 5000) for _ in range(number)]
            compss_barrier()
            found.append(sockets())  # also those of the runtime
        print([future.exception() is not None for future in failed], found[1] - found[0])
        """,
        before=resources,
    ) == ["[True, True, True, True, True, True] 0"]


def test_a_file_of_resources_that_is_not_there_is_bad_usage(lines_of, tmp_path):
    lines_of("", status=2, before=("--resources", tmp_path / "nosuch.xml"))
    assert f"dovetail run: --resources {tmp_path}/nosuch.xml: No such file or directory" in lines_of.errors


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("<ResourcesList>", "is no XML: no element found"),
        (
            '<R><Http BaseUrl="file:///etc/"/></R>',
            "BaseUrl of Http must begin with http:// or https://, and is 'file:///etc/'",
        ),
    ],
)
def test_a_file_of_resources_that_has_something_else_is_an_error(tmp_path, content, said):
    (tmp_path / "given.xml").write_text(content)
    with pytest.raises(ValueError, match=re.escape(said)):
        read_services(tmp_path / "given.xml")
