"""`pycompss.api.http`: tasks that ask a web service."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from .command import Call
from .constraint import decorated
from .options import taken
from .task import PyCompssTask

__all__ = ["HTTP", "http"]

_NAMED = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_UPDATE = re.compile(r"\s*\{\{\s*(\w+)\s*\}\}\.(\w+)\s*=\s*\{\{\s*(\w+)\s*\}\}\s*")
_QUOTE = re.compile(r'(?<!\\)"')
_RETURNED = re.compile(r"return_(\d+)")
_SHOWN = 200  # characters of a response in a message

# The address of each service, by its name.
_services: dict[str, str] = {}


class RequestFailed(RuntimeError):
    """A service has answered with an error, or with what the task does not expect."""


def read_services(path: Path) -> None:
    """Takes the addresses of web services from a resources file of PyCOMPSs.

    They are its elements `<Http BaseUrl="http://host:port/"><ServiceName>name</ServiceName></Http>`. Raises OSError, and ValueError for another
    content.
    """
    import xml.etree.ElementTree  # what few programs need

    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except xml.etree.ElementTree.ParseError as error:
        raise ValueError(f"{path} is no XML: {error}") from error
    for element in root.iter("Http"):
        address = element.get("BaseUrl", "")
        if not address.startswith(("http://", "https://")):
            raise ValueError(f"{path}: BaseUrl of Http must begin with http:// or https://, and is {address!r}")
        for name in element.iter("ServiceName"):
            _services[(name.text or "").strip()] = address


class _Request:
    """The request of a decorator, and what becomes of the response."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._service = str(options["service_name"])
        self._resource = str(options["resource"])
        self._method = str(options["request"]).upper()
        self._payload = str(options.get("payload", ""))
        self._type = str(options.get("payload_type", "application/json"))
        self._places = _places(options["produces"]) if "produces" in options else None
        update = _UPDATE.fullmatch(str(options["updates"])) if "updates" in options else None
        if update is None and "updates" in options:
            raise ValueError(
                f"@http: updates must be as '{{{{parameter}}}}.key = {{{{name}}}}', not {options['updates']!r}"
            )
        self._update = None if update is None else update.groups()

    def __call__(self, call: Call) -> Any:
        """Asks the service. Returns what the task returns."""
        address = _services.get(self._service)
        if address is None:
            known = ", ".join(sorted(_services)) or "none"
            raise LookupError(
                f"task '{call.name}': the address of the service '{self._service}' is not known (known: {known}). Give the program's resources "
                "file: dovetail run --pycompss --resources resources.xml"
            )
        url = address + _filled(self._resource, call, lambda value, _: quote(_text(value), safe="/"))
        body = self._answer(call, url)
        if self._places is None:
            return body
        values = {name: _part(body, keys, call.name, url) for name, keys in self._places.items()}
        if self._update is not None:
            self._change(call, values)
        returned = sorted((int(match[1]), name) for name in values if (match := _RETURNED.fullmatch(name)))
        found = [values[name] for _, name in returned]
        return found[0] if len(found) == 1 else (tuple(found) or None)

    def _answer(self, call: Call, url: str) -> Any:
        import urllib.error  # which take longer to import than the rest of these modules
        import urllib.request
        from http.client import HTTPException

        request = urllib.request.Request(url, method=self._method, headers={"Accept": "application/json"})
        if self._method != "GET":
            request.data = self._content(call).encode()
            request.add_header("Content-Type", self._type)
        try:
            # The addresses are those of the resources file: no proxy of the environment is asked.
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(request, timeout=call.seconds or None) as response:
                text = response.read().decode(response.headers.get_content_charset("utf-8"))
                kind = response.headers.get_content_type()
        except urllib.error.HTTPError as error:
            with contextlib.closing(error):  # and with it the connection, since a failure may be kept
                said = _beginning(error)
            raise RequestFailed(
                f"task '{call.name}': {self._method} {url} was answered with {error.code} {error.reason}: {said}"
            ) from None
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            raise RequestFailed(f"task '{call.name}': {self._method} {url} was not answered: {reason}") from error
        return _read(text) if kind == "application/json" else text

    def _content(self, call: Call) -> str:
        """The payload. In JSON a parameter is a value, and in quotes a part of a text; a payload that is one text is sent as it is."""
        if _NAMED.fullmatch(self._payload.strip()) or self._type != "application/json":
            return _filled(self._payload, call, lambda value, _: _text(value))
        return _filled(
            self._payload, call, lambda value, quoted: json.dumps(_text(value))[1:-1] if quoted else _value(value)
        )

    def _change(self, call: Call, values: Mapping[str, Any]) -> None:
        assert self._update is not None
        name, key, source = self._update
        if source not in values:
            raise ValueError(f"task '{call.name}': updates of @http names '{source}', which produces does not")
        changed = call.arguments.get(name)
        if not isinstance(changed, dict):
            raise TypeError(
                f"task '{call.name}': updates of @http changes a dictionary, and '{name}' is {type(changed).__name__}"
            )
        changed[key] = values[source]


def _beginning(response: IO[bytes]) -> str:
    from http.client import HTTPException

    try:
        return response.read(_SHOWN).decode(errors="replace")
    except (OSError, HTTPException) as error:
        return f"(its text has not come: {error})"


def _filled(text: str, call: Call, form: Callable[[Any, bool], str]) -> str:
    """The text with the call's arguments in the place of their names. `form` is also told whether the name stands in double quotes."""
    filled, quoted = "", False
    for place, part in enumerate(_NAMED.split(text)):
        if place % 2 == 0:
            filled += part
            quoted ^= len(_QUOTE.findall(part)) % 2 == 1
        elif part in call.arguments:
            path = call.path_of(part)
            filled += form(call.arguments[part] if path is None else Path(path).read_text(), quoted)
        else:
            raise ValueError(f"task '{call.name}' has no parameter '{part}', which '{text}' of @http names")
    return filled


def _text(value: Any) -> str:
    """As it stands in an address, or alone: a text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _value(value: Any) -> str:
    """As it stands among other JSON: a text that is JSON itself as it is."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except ValueError:
            return json.dumps(value)
    return _text(value)


def _read(text: str) -> Any:
    """Some services say that a text is JSON which is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _places(produces: Any) -> dict[str, tuple[str, ...]]:
    """Where in a response each `{{name}}` is: the keys, from the outermost on."""
    form = produces
    if isinstance(produces, str):
        try:
            form = json.loads(produces)
        except ValueError:
            try:
                form = ast.literal_eval(produces)
            except (ValueError, SyntaxError):
                form = None
    if not isinstance(form, dict):
        raise ValueError(f"@http: produces must be an object of JSON, not {produces!r}")
    places: dict[str, tuple[str, ...]] = {}
    waiting: list[tuple[tuple[str, ...], Any]] = [((), form)]
    while waiting:
        keys, part = waiting.pop()
        if isinstance(part, dict):
            waiting += [((*keys, str(key)), inner) for key, inner in part.items()]
        elif isinstance(part, str) and (named := _NAMED.fullmatch(part.strip())):
            places[named[1]] = keys
    return places


def _part(body: Any, keys: tuple[str, ...], task: str, url: str) -> Any:
    part = body
    for key in keys:
        if not isinstance(part, dict) or key not in part:
            raise RequestFailed(
                f"task '{task}': the response of {url} has no {'.'.join(keys)}, which produces of @http names: {str(body)[:_SHOWN]}"
            )
        part = part[key]
    return part


def http(**given: Any) -> Callable[[Any], PyCompssTask]:
    """The task asks a web service, and returns the response: `@http(service_name="users", request="GET", resource="name/{{number}}")`.

    The function is not called. A response in JSON is a value, another is a text. It takes no core while it waits. An answer other than 2xx,
    or none, fails the task.
    """
    must = ("service_name", "resource", "request")
    request = _Request(taken("@http", given, must, ("payload", "payload_type", "produces", "updates")))

    def decorate(target: Any) -> PyCompssTask:
        task = decorated(target, "http")
        task.change("http", program=request, io=True)
        return task

    return decorate


HTTP = http
