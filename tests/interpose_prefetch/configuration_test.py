"""Configurations of advice: what each key means, what is wrong and where, and how the rules lie in memory."""

import copy
import json
import os
import random
import struct
import sys
import unittest
from pathlib import Path
from unittest import mock

from support import Case

# isort: split
# Behind what knows the path to it.
from dovetail import advice_configuration
from dovetail.advice_configuration import FAR, Advice, ConfigurationError, Region, Rule, packed, parse, read
from dovetail.schema_check import _KEYWORDS, is_allowed

SCHEMA = json.loads(Path(advice_configuration.__file__).with_name("advice_configuration.schema.json").read_text())
SEED = int(os.environ.get("DOVETAIL_TEST_SEED", random.randrange(1 << 30)))
ROUNDS = int(os.environ.get("DOVETAIL_TEST_ROUNDS", "2500"))
MIB = 1 << 20
LISTING = """{
    "File": {
        "Path": "/path/to/target/file",
        "BlockSize": 4194304,
        "CacheSize": 8,
        "ReadAheadSize": 4,
        "WillNeed": {
            "Offset": 0,
            "Length": 0
        }
    },
    "Directory": {
        "Path": "/path/to/target/dir",
        "Random": {
            "Offset": 0,
            "Length": 0
        }
    }
}
"""
RICH = {
    "File": [
        {
            "Path": ["/nowhere/*.root", "~/runs/run[0-9]?/**/events"],
            "Processes": ["analysis", "python3*"],
            "BlockSize": 65536,
            "CacheSize": 128,
            "ReadAheadSize": 0,
            "WillNeed": [{"Offset": 4096, "Length": 8192}, {"Length": 4096}],
            "Sequential": {"Offset": 16384},
        },
        {"Path": "/nowhere/index", "Processes": "query", "Normal": {}, "CacheSize": 2},
    ],
    "Directory": [
        {"Path": "/nowhere", "Recursive": False, "DontNeed": {"Offset": 0}},
        {"Path": ["/nowhere/[!ab]*", "/nowhere/x"], "Random": {"Length": 100}, "ReadAheadSize": 7},
    ],
}
WHOLE = '"Random": {}}}'

# Text, and the message behind the name of the file. Those of the first table are refused by the schema alone, too.
REFUSED_BY_SCHEMA = [
    ("{}", "1: it has none of File, Directory, of which it needs at least one"),
    ("[]", "1: an empty list is not an object with File, Directory, or both"),
    ("\n\n7", "3: 7 is not an object with File, Directory, or both"),
    ('{"File": {"Path": "/a", ' + WHOLE[:-1] + ',\n "Files": 1}', "2: Files: there is no such key; did you mean File?"),
    ('{"File": 3}', "1: File: 3 is not an object, or a list of 1 to 1024 objects"),
    ('{"File": []}', "1: File: an empty list is not an object, or a list of 1 to 1024 objects"),
    ('{"File": [\n{"Path": "/a", "Random": {}},\nnull]}', "3: File[1]: null is not an object with Path and at least one advice"),
    ('{"File": {\n"Random": {}}}', "1: File: it has no Path"),
    ('{"File": [{"Path": "/a"},\n{"Path": "/b", "CacheSize": 1}]}', "1: File[0]: it has none of WillNeed, Random, Sequential, Normal, DontNeed, of which it needs at least one"),
    ('{"File": [{"Path": "/a",\n"BlokSize":\n4096, "Random": {}}]}', "2: File[0].BlokSize: there is no such key; did you mean BlockSize?"),
    ('{"File": {"Path": "/a",\n"willneed": {}}}', "2: File.willneed: there is no such key; did you mean WillNeed?"),
    ('{"File": {"Path": "/a",\n"x\\ny \\u00e4": {}}}', '2: File."x\\ny \\u00e4": there is no such key; there are Path, Processes, BlockSize, CacheSize, ReadAheadSize, MemorySize, WillNeed, Random, Sequential, Normal, DontNeed'),
    ('{"File": {"Path": "/a", "Recursive": true, ' + WHOLE, "1: File.Recursive: there is no such key; there are Path, Processes, BlockSize, CacheSize, ReadAheadSize, MemorySize, WillNeed, Random, Sequential, Normal, DontNeed"),
    ('{"Directory": {"Path": "/a",\n"Recursive": 0, ' + WHOLE, "2: Directory.Recursive: 0 is not true or false"),
    ('{"File": {"Path": 1, ' + WHOLE, "1: File.Path: 1 is not a path, or a list of 1 to 1024 paths"),
    ('{"File": {"Path": [], ' + WHOLE, "1: File.Path: an empty list is not a path, or a list of 1 to 1024 paths"),
    ('{"File": {"Path": ["/a",\n"b"], ' + WHOLE, '2: File.Path[1]: "b" is not an absolute path or one that begins with ~/, of up to 4096 characters'),
    ('{"File": {"Path": "", ' + WHOLE, '1: File.Path: "" is not an absolute path or one that begins with ~/, of up to 4096 characters'),
    ('{"File": {"Path": "/' + "a" * 4096 + '", ' + WHOLE, '1: File.Path: "/' + "a" * 56 + '..." is not an absolute path or one that begins with ~/, of up to 4096 characters'),
    ('{"File": {"Path": "~other/a", ' + WHOLE, '1: File.Path: "~other/a" is not an absolute path or one that begins with ~/, of up to 4096 characters'),
    ('{"File": {"Path": "/a\\u0000", ' + WHOLE, '1: File.Path: "/a\\u0000" is not an absolute path or one that begins with ~/, of up to 4096 characters'),
    ('{"File": {"Path": "/a", "Processes": [], ' + WHOLE, "1: File.Processes: an empty list is not the name of a program, or a list of 1 to 1024 names"),
    ('{"File": {"Path": "/a", "Processes": ["x", ""], ' + WHOLE, '1: File.Processes[1]: "" is not the name of a program, without folders, of 1 to 255 characters'),
    ('{"File": {"Path": "/a", "Processes": "/bin/x", ' + WHOLE, '1: File.Processes: "/bin/x" is not the name of a program, without folders, of 1 to 255 characters'),
    ('{"File": {"Path": "/a", "BlockSize": 4095, ' + WHOLE, "1: File.BlockSize: 4095 is not a multiple of 4096 bytes, from 4096 to 1073741824"),
    ('{"File": {"Path": "/a", "BlockSize": 0, ' + WHOLE, "1: File.BlockSize: 0 is not a multiple of 4096 bytes, from 4096 to 1073741824"),
    ('{"File": {"Path": "/a", "BlockSize": 6000, ' + WHOLE, "1: File.BlockSize: 6000 is not a multiple of 4096 bytes, from 4096 to 1073741824"),
    ('{"File": {"Path": "/a", "BlockSize": 1073745920, ' + WHOLE, "1: File.BlockSize: 1073745920 is not a multiple of 4096 bytes, from 4096 to 1073741824"),
    ('{"File": {"Path": "/a", "CacheSize": 0, ' + WHOLE, "1: File.CacheSize: 0 is not a whole number of blocks, from 1 to 128"),
    ('{"File": {"Path": "/a", "CacheSize": 129, ' + WHOLE, "1: File.CacheSize: 129 is not a whole number of blocks, from 1 to 128"),
    ('{"File": {"Path": "/a", "CacheSize": true, ' + WHOLE, "1: File.CacheSize: true is not a whole number of blocks, from 1 to 128"),
    ('{"File": {"Path": "/a", "CacheSize": "8", ' + WHOLE, '1: File.CacheSize: "8" is not a whole number of blocks, from 1 to 128'),
    ('{"File": {"Path": "/a", "CacheSize": 1.50, ' + WHOLE, "1: File.CacheSize: 1.50 is not a whole number of blocks, from 1 to 128"),
    ('{"File": {"Path": "/a", "CacheSize": 1e999, ' + WHOLE, "1: File.CacheSize: 1e999 is not a whole number of blocks, from 1 to 128"),
    ('{"File": {"Path": "/a",\n"CacheSize":\n' + "9" * 5000 + ", " + WHOLE, "2: File.CacheSize: " + "9" * 40 + "... is not a whole number of blocks, from 1 to 128"),
    ('{"File": {"Path": "/a", "ReadAheadSize": -1, ' + WHOLE, "1: File.ReadAheadSize: -1 is not a whole number of blocks, from 0 to CacheSize"),
    ('{"File": {"Path": "/a", "CacheSize": 128, "ReadAheadSize": 129, ' + WHOLE, "1: File.ReadAheadSize: 129 is not a whole number of blocks, from 0 to CacheSize"),
    ('{"File": {"Path": "/a", "MemorySize": 4095, ' + WHOLE, "1: File.MemorySize: 4095 is not a whole number of bytes, from 4096 to 2^62"),
    ('{"File": {"Path": "/a", "Random": true}}', "1: File.Random: true is not an object, or a list of 1 to 4096 objects"),
    ('{"File": {"Path": "/a", "Random": []}}', "1: File.Random: an empty list is not an object, or a list of 1 to 4096 objects"),
    ('{"File": {"Path": "/a", "Random": [{}, []]}}', "1: File.Random[1]: an empty list is not an object that may have Offset and Length"),
    ('{"File": {"Path": "/a", "Random": {\n"Offset": 0,\n"Lenght": 1}}}', "3: File.Random.Lenght: there is no such key; did you mean Length?"),
    ('{"File": {"Path": "/a", "Random": {"Offset": -1}}}', "1: File.Random.Offset: -1 is not a whole number of bytes, from 0 to less than 2^62"),
    ('{"File": {"Path": "/a", "Random": {"Offset": 4611686018427387904}}}', "1: File.Random.Offset: 4611686018427387904 is not a whole number of bytes, from 0 to less than 2^62"),
    ('{"File": {"Path": "/a", "Random": {"Length": 4611686018427387905}}}', "1: File.Random.Length: 4611686018427387905 is not a whole number of bytes, from 0 to 2^62"),
    ('{"File": {"Path": "/a", "Random": {"Length": {}}}}', "1: File.Random.Length: an object is not a whole number of bytes, from 0 to 2^62"),
    # Of several the first.
    ('{"Directory": {"Path": "/a",\n"CacheSize": 0,\n"BlockSize": 1, ' + WHOLE, "2: Directory.CacheSize: 0 is not a whole number of blocks, from 1 to 128"),
]  # fmt: skip
REFUSED_BESIDES = [
    ("", " it is empty"),
    (" \n ", " it is empty"),
    ('{"File": {"Path": "/a",\n  "Random" {}}}', "2: column 12: this is not JSON: Expecting ':' delimiter; is the file complete?"),
    ('{"File": {"Path": "/a",\n  "Random": {}}', "2: column 16: this is not JSON: Expecting ',' delimiter; is the file complete?"),
    ('{"File":\n {"Path": "/a\n"}}', "2: column 14: this is not JSON: Invalid control character; is the file complete?"),
    ("{} {}", "1: column 4: this is not JSON: Extra data; is the file complete?"),
    ('{"File": {"Path": "/a", "CacheSize":\nNaN, ' + WHOLE, "2: File.CacheSize: NaN is not a number that JSON has"),
    ('{"File": {"Path": "/a", "CacheSize": -Infinity, ' + WHOLE, "1: File.CacheSize: -Infinity is not a number that JSON has"),
    ('{"File": {"Path": "/a",\n"CacheSize": 1,\n"CacheSize": 1, ' + WHOLE, "3: File.CacheSize: it is there twice, first in line 2"),
    ('{"File": {"Path": "/a", "Random": [{}, {"Offset": 1,\n"\\u004fffset": 1}]}}', "2: File.Random[1].Offset: it is there twice, first in line 1"),
    (b'\xef\xbb\xbf{"File": {"Path": "/a", ' + WHOLE.encode(), "1: the file begins with a byte order mark, which JSON does not have; save it without one"),
    (b'{"File":\n{"Path": "/\xe4", ' + WHOLE.encode(), "2: the byte 0xe4 is not UTF-8, the encoding of JSON"),
    (LISTING.encode("utf-16"), "1: the byte 0xff is not UTF-8, the encoding of JSON"),
    ("[" * 100 + "\n" + "]" * 100, "1: this is nested too deeply for a configuration"),
    ("[" * 100_000 + "]" * 100_000, " it is nested too deeply for a configuration"),
    ('{"a":' * 100_000 + "1" + "}" * 100_000, " it is nested too deeply for a configuration"),
    ("[" * 100_000, " it is nested too deeply for a configuration"),
    (LISTING + " " * MIB, " it is longer than 1048576 bytes, which is too much for a configuration"),
    ('{"File": {"Path": "/a", "Random": [{}' + ",\n{}" * 50_000 + "]}}", "32765: there are more than 32768 values, which is too much for a configuration"),
    ('{"File": {"Path": "/a", "ReadAheadSize": 9, ' + WHOLE, "1: File.ReadAheadSize: 9 is more than CacheSize, which is 8, since none is given"),
    ('{"File": {"Path": "/a", "CacheSize": 2,\n"ReadAheadSize": 3, ' + WHOLE, "2: File.ReadAheadSize: 3 is more than CacheSize, which is 2"),
    ('{"File": {"Path": "/a",\n"MemorySize": 4194303, ' + WHOLE, "2: File.MemorySize: 4194303 is less than BlockSize, which is 4194304: no block has room in it"),
    ('{"File": {"Path": "/a", "Random": {"Offset": 1, "Length": 4611686018427387904}}}', "1: File.Random: its end at 4611686018427387905 is beyond 2^62"),
    ('{"File": {"Path": "/a",\n"Random": {},\n"WillNeed": {"Offset": 7}}}', "3: File.WillNeed: bytes 7 to the end overlap bytes 0 to the end in File.Random"),
    ('{"File": [{"Path": "/a",\n"Random": [{"Offset": 99, "Length": 2},\n{"Offset": 200},\n{"Length": 100}]}]}', "4: File[0].Random[2]: bytes 0 to 100 overlap bytes 99 to 101 in File[0].Random[0]"),
    ('{"File": {"Path": "/a[b", ' + WHOLE, '1: File.Path: "/a[b": a [ has no ] behind it in the same name; [[] stands for the character itself'),
    ('{"File": {"Path": "/a[b/c]", ' + WHOLE, '1: File.Path: "/a[b/c]": a [ has no ] behind it in the same name; [[] stands for the character itself'),
    ('{"File": {"Path": "/a[]", ' + WHOLE, '1: File.Path: "/a[]": [] has no characters'),
    ('{"File": {"Path": "/a[!]", ' + WHOLE, '1: File.Path: "/a[!]": [!] has no characters'),
    ('{"File": {"Path": "/a[^b]", ' + WHOLE, '1: File.Path: "/a[^b]": [^b] begins with ^; what is not to match is written [!...]'),
    ('{"File": {"Path": "/a[z-a]", ' + WHOLE, '1: File.Path: "/a[z-a]": [z-a] has the range z-a, which is empty'),
    ('{"File": {"Path": "/a[[:digit:]]", ' + WHOLE, '1: File.Path: "/a[[:digit:]]": [[:digit:] is no class; the characters must be written out'),
    ('{"File": {"Path": "/a[\u00e4]", ' + WHOLE, '1: File.Path: "/a[\\u00e4]": [\\xe4] has characters beyond ASCII, which no class can have'),
    ('{"File": {"Path": "/a", "Processes": ["x",\n"y["], ' + WHOLE, '2: File.Processes[1]: "y[": a [ has no ] behind it in the same name; [[] stands for the character itself'),
    ('{"File": {"Path": "/a*/../b", ' + WHOLE, '1: File.Path: "/a*/../b": .. behind a wildcard never matches'),
    ('{"File": {"Path": "/a\\ud800", ' + WHOLE, '1: File.Path: "/a\\ud800": it has a character that no name can have'),
    ('{"File": {"Path": "/' + "\u00e4" * 3000 + '", ' + WHOLE, '1: File.Path: "/' + "\\u00e4" * 56 + '...": it is longer than 4096 bytes'),
    ('{"File": {"Path": "/a/", ' + WHOLE, '1: File.Path: "/a/": it is a folder, which belongs under Directory'),
    ('{"File": {"Path": "/proc/self", ' + WHOLE, '1: File.Path: "/proc/self": it is a folder, which belongs under Directory'),
    ('{"Directory": {"Path": "/proc/self/stat", ' + WHOLE, '1: Directory.Path: "/proc/self/stat": it is not a folder, and belongs under File'),
]  # fmt: skip


def rules_of(**keys: object) -> list[Rule]:
    return parse(json.dumps({"File": {"Path": "/a", "Random": {}} | keys}).encode(), "advice.json")


class Configuration(Case):
    def message(self, text: str | bytes, name: str = "advice.json") -> str:
        with self.assertRaises(ConfigurationError) as raised:
            parse(text.encode() if isinstance(text, str) else text, name)
        return str(raised.exception)

    def patterns(self, kind: str, path: object, **keys: object) -> list[bytes]:
        text = json.dumps({kind: {"Path": path, "Random": {}, **keys}}).encode()
        return [rule.pattern for rule in parse(text, "advice.json")]

    def test_the_listing_of_the_thesis(self):
        file, folder = parse(LISTING.encode(), "advice.json")
        all_of_it = (Region(0, FAR, Advice.will_need),)
        self.assertEqual(file, Rule(b"/path/to/target/file", b"", 4 * MIB, 8, 4, all_of_it))
        all_of_it = (Region(0, FAR, Advice.random),)
        self.assertEqual(folder, Rule(b"/path/to/target/dir/**", b"", 4 * MIB, 8, 4, all_of_it))

    def test_advice_has_the_numbers_of_the_kernel(self):
        kernel = {advice.name: getattr(os, "POSIX_FADV_" + advice.name.replace("_", "").upper()) for advice in Advice}
        self.assertEqual(kernel, {advice.name: int(advice) for advice in Advice})

    def test_each_advice(self):
        keys = {"WillNeed": Advice.will_need, "Random": Advice.random, "Sequential": Advice.sequential,
                "Normal": Advice.normal, "DontNeed": Advice.dont_need}  # fmt: skip
        for key, advice in keys.items():
            text = json.dumps({"File": {"Path": "/a", key: {"Offset": 5, "Length": 7}}}).encode()
            self.assertEqual(parse(text, "")[0].regions, (Region(5, 12, advice),))

    def test_regions_are_sorted_and_may_touch(self):
        (rule,) = rules_of(
            Random=[{"Offset": 30}, {"Length": 10}], DontNeed={"Offset": 10, "Length": 10}, Normal={"Offset": 20, "Length": 10}
        )  # fmt: skip
        wanted = [(0, 10, 1), (10, 20, 4), (20, 30, 0), (30, FAR, 1)]
        self.assertEqual([(region.offset, region.end, region.advice) for region in rule.regions], wanted)
        (rule,) = rules_of(Random={"Offset": FAR - 1, "Length": 1})
        self.assertEqual(rule.regions, (Region(FAR - 1, FAR, Advice.random),))

    def test_sizes(self):
        for keys, wanted in [
            ({}, (4 * MIB, 8, 4)),
            ({"BlockSize": 4096}, (4096, 8, 4)),
            ({"BlockSize": 1 << 30}, (1 << 30, 8, 4)),
            ({"CacheSize": 128}, (4 * MIB, 128, 4)),
            ({"CacheSize": 3}, (4 * MIB, 3, 3)),
            ({"CacheSize": 1, "ReadAheadSize": 0}, (4 * MIB, 1, 0)),
            ({"CacheSize": 128, "ReadAheadSize": 128}, (4 * MIB, 128, 128)),
            ({"CacheSize": 6.0, "BlockSize": 8192.0}, (8192, 6, 4)),
        ]:
            (rule,) = rules_of(**keys)
            found = (rule.block_bytes, rule.cache_blocks, rule.ahead_blocks)
            self.assertEqual(found, wanted)
            self.assertEqual({type(number) for number in found}, {int})

    def test_all_rules_of_one_entry_share_its_memory(self):
        entry = {"Path": ["/a", "/b"], "Processes": ["x", "y"], "WillNeed": {}}
        text = json.dumps({"File": [{**entry, "MemorySize": 8 * MIB}, entry, {**entry, "MemorySize": 4 * MIB}]})
        rules = parse(text.encode(), "")
        self.assertEqual([(rule.memory, rule.shared) for rule in rules], [(8 * MIB, 0)] * 4 + [(0, 0)] * 4 + [(4 * MIB, 8)] * 4)  # fmt: skip

    def test_the_defaults_of_the_schema_are_those_of_the_parser(self):
        (rule,) = rules_of()
        definitions = SCHEMA["$defs"]
        self.assertEqual(rule.block_bytes, definitions["blockSize"]["default"])
        self.assertEqual(rule.cache_blocks, definitions["cacheSize"]["default"])

    def test_a_rule_for_each_path_and_process_in_order(self):
        text = json.dumps({"Directory": {"Path": "/d", "Random": {}}, "File": [
            {"Path": ["/a", "/b"], "Processes": ["x*", "y"], "Random": {}}, {"Path": "/a", "Normal": {}}]})  # fmt: skip
        rules = parse(text.encode(), "")
        wanted = [(b"/a", b"x*"), (b"/a", b"y"), (b"/b", b"x*"), (b"/b", b"y"), (b"/a", b""), (b"/d/**", b"")]
        self.assertEqual([(rule.pattern, rule.process) for rule in rules], wanted)

    def test_folders(self):
        self.assertEqual(self.patterns("Directory", "/a/b/"), [b"/a/b/**"])
        self.assertEqual(self.patterns("Directory", "/a/b", Recursive=True), [b"/a/b/**"])
        self.assertEqual(self.patterns("Directory", "/a/b", Recursive=False), [b"/a/b/*"])
        self.assertEqual(self.patterns("Directory", "/"), [b"/**"])
        self.assertEqual(self.patterns("Directory", "/a/x?/**/[!b]"), [b"/a/x?/**/[!b]/**"])

    def test_paths_are_brought_into_the_form_that_the_kernel_has(self):
        self.assertEqual(self.patterns("File", "//x//./y/../z"), [b"/x/z"])
        self.assertEqual(self.patterns("File", "/x/../*//./z"), [b"/*/z"])
        self.assertEqual(self.patterns("File", "/\u00e4"), [b"/\xc3\xa4"])

    def test_classes(self):
        for path in ("/[a-a]", "/[-a]", "/[a-]", "/[[]", "/[!!]", "/[*?]", "/]", "/[a-c0-9_]x[!b]"):
            self.assertEqual(self.patterns("File", path), [path.encode()])

    def test_home(self):
        with mock.patch.dict(os.environ, HOME="/no/such[1]"):
            self.assertEqual(self.patterns("File", "~/x*"), [b"/no/such[[]1]/x*"])
            self.assertEqual(self.patterns("Directory", "~/"), [b"/no/such[[]1]/**"])
        with mock.patch.dict(os.environ, HOME="x"):
            self.assertEqual(
                self.message('{"File": {"Path": "~/a", ' + WHOLE),
                'advice.json:1: File.Path: "~/a": ~ is not known; the variable HOME must be an absolute path',
            )

    def test_links_are_followed_up_to_the_first_wildcard(self):
        real = self.folder.resolve() / "real*[?]"
        (real / "sub").mkdir(parents=True)
        (real / "file").touch()
        (self.folder / "link").symlink_to(real)
        (self.folder / "name").symlink_to(real / "file")
        (real / "sub" / "back").symlink_to(real)
        escaped = os.fsencode(self.folder.resolve()) + b"/real[*][[][?]]"
        link = str(self.folder / "link")
        self.assertEqual(self.patterns("Directory", link), [escaped + b"/**"])
        self.assertEqual(self.patterns("Directory", f"{link}/sub/back/"), [escaped + b"/**"])
        self.assertEqual(self.patterns("File", f"{link}/file"), [escaped + b"/file"])
        self.assertEqual(self.patterns("File", str(self.folder / "name")), [escaped + b"/file"])
        self.assertEqual(self.patterns("File", f"{link}/s*/back/x"), [escaped + b"/s*/back/x"])
        # The name that has the wildcard is none that could be a link.
        whole = os.fsencode(self.folder.resolve())
        self.assertEqual(self.patterns("File", f"{self.folder}/lin?/x"), [whole + b"/lin?/x"])

    def test_what_is_wrong_is_said_with_its_line(self):
        for text, wanted in REFUSED_BY_SCHEMA + REFUSED_BESIDES:
            with self.subTest(text=text[:100]):
                self.assertEqual(self.message(text), f"advice.json:{wanted}")

    def test_the_schema_refuses_the_same(self):
        from jsonschema import Draft202012Validator

        Draft202012Validator.check_schema(SCHEMA)
        validator = Draft202012Validator(SCHEMA)
        for text, _ in REFUSED_BY_SCHEMA:
            with self.subTest(text=text[:100]):
                self.assertFalse(validator.is_valid(json.loads(text, parse_int=lambda digits: int(digits[:40]))))
        self.assertTrue(validator.is_valid(json.loads(LISTING)))
        self.assertTrue(validator.is_valid(RICH))

    def test_what_nothing_is_wrong_in_is_found_without_jsonschema(self):
        words = ["-c", "import sys; from dovetail.advice_configuration import read; read('advice.json'); print('jsonschema' in sys.modules)"]  # fmt: skip
        for document in (json.loads(LISTING), RICH):
            self.configuration(document)
            self.assertEqual(self.run_as_it_is(sys.executable, *words), (0, b"False\n", b""))

    def test_schemas_are_checked_as_by_jsonschema(self):
        """Each keyword with values of each type, and more of numbers."""
        from jsonschema import Draft202012Validator

        values = [None, True, 0, 1, 2.0, 2.5, 8, 1e300, "", "ab", "/a", "/a\0", [], [1], ["a", "b", "c"], {}, {"a": 1}, {"b": "x"}, {"a": 1, "b": 2}]  # fmt: skip
        schemas = [
            *({"type": name} for name in ("array", "boolean", "integer", "object", "string", ["string", "array"])),
            {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"exclusiveMaximum": 2}, {"maximum": 2}, {"minimum": 2},
            {"multipleOf": 2}, {"maxItems": 1}, {"minItems": 1}, {"maxLength": 1}, {"pattern": "^/[^\0]*$"}, {"required": ["a", "b"]},
            {"items": {"type": "string"}}, {"properties": {"a": {"type": "string"}}, "additionalProperties": False},
            {"if": {"type": "array"}, "then": {"minItems": 1}, "else": {"type": "object"}},
            {"$ref": "#/$defs/one", "$defs": {"one": {"type": "string"}}},
        ]  # fmt: skip
        known = {keyword for schema in schemas for keyword in schema} | {"$defs"}
        self.assertLessEqual(set(_KEYWORDS), known)
        for schema in schemas:
            validator = Draft202012Validator(schema)
            for value in values:
                with self.subTest(schema=schema, value=value):
                    self.assertEqual(is_allowed(value, schema), validator.is_valid(value))

    def test_limits_of_rules_and_regions(self):
        def written(paths: int, programs: int, regions: int) -> dict[str, object]:
            return {
                "Path": [f"/a{number}" for number in range(paths)],
                "Processes": [f"p{number}" for number in range(programs)],
                "Random": [{"Offset": 10 * number, "Length": 10} for number in range(regions)],
            }

        def text(*rules: dict[str, object]) -> str:
            return '{"File": [\n' + ",\n".join(json.dumps(rule) for rule in rules) + "]}"

        full = written(32, 32, 4000)
        rules = parse(text(full).encode(), "")
        self.assertEqual(len(rules), 1024)
        # The rules share their regions.
        self.assertEqual(len(packed(rules).regions), 4000 * 24)
        self.assertEqual(
            self.message(text(full, written(1, 1, 1))),
            "advice.json:3: File[1]: with this there are more than 1024 rules, one for each path and each process",
        )
        self.assertEqual(len(parse(text(written(1, 1, 4000), written(1, 1, 96)).encode(), "")), 2)
        self.assertEqual(
            self.message(text(written(1, 1, 4000), written(1, 1, 97))),
            "advice.json:3: File[1]: with this there are more than 4096 regions",
        )
        # Before they are made: there would be a million.
        self.assertIn("more than 1024 rules", self.message(text(written(1024, 1024, 1))))

    def test_the_form_in_memory(self):
        rules = parse(json.dumps(RICH).encode(), "")
        self.assertEqual(len(rules), 8)
        memory = packed(rules)
        self.assertEqual((len(memory.rules), len(memory.regions)), (8 * 64, 6 * 24))
        self.assertEqual(memory.text, b"".join(rule.pattern + rule.process for rule in rules))
        found = []
        for at in range(0, len(memory.rules), 64):
            words = struct.unpack_from("<8I", memory.rules, at)
            block, size, shared = struct.unpack_from("<QQI", memory.rules, at + 32)
            pattern, pattern_bytes, process, process_bytes, first, count, cache, ahead = words
            regions = [struct.unpack_from("<3Q", memory.regions, 24 * number) for number in range(first, first + count)]
            found.append(
                Rule(
                    memory.text[pattern : pattern + pattern_bytes], memory.text[process : process + process_bytes],
                    block, cache, ahead, tuple(Region(begin, end, Advice(advice)) for begin, end, advice in regions), size, shared,
                )
            )  # fmt: skip
        self.assertEqual(found, rules)
        self.assertEqual(found[0].regions[0], Region(0, 4096, Advice.will_need))
        self.assertEqual(found[4].process, b"query")
        # As the bytes lie, whatever the machine: after the pattern of 15 bytes the process of 8, three regions, sizes; no memory of its own.
        self.assertEqual(memory.rules[:64].hex(), "000000000f0000000f0000000800000000000000030000008000000000000000" "0000010000000000" + "00" * 24)  # fmt: skip
        empty = packed([])
        self.assertEqual((empty.rules, empty.regions, empty.text), (b"", b"", b""))

    def test_files(self):
        path = self.folder / "advice.json"
        path.write_text(LISTING)
        self.assertEqual(read(path), parse(LISTING.encode(), ""))
        (self.folder / "link").symlink_to(path)
        self.assertEqual(len(read(self.folder / "link")), 2)
        path.write_text(LISTING.replace("CacheSize", "CashSize"))
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        missing = self.folder / "missing"
        large = self.folder / "large"
        large.write_bytes(b" " * (MIB + 1))
        for place, wanted in [
            (path, f"{path}:5: File.CashSize: there is no such key; did you mean CacheSize?"),
            (self.folder, f"{self.folder}: it is a folder; a configuration is a file in JSON"),
            (pipe, f"{pipe}: it is not a regular file; a configuration is a file in JSON"),
            (missing, f"{missing}: it cannot be read: No such file or directory"),
            (large, f"{large}: it is longer than 1048576 bytes, which is too much for a configuration"),
            (Path("a\0b"), "a\0b: it cannot be read: embedded null byte"),
        ]:
            with self.assertRaises(ConfigurationError) as raised:
                read(place)
            self.assertEqual(str(raised.exception), wanted)


class Fuzz(unittest.TestCase):
    """Valid configurations with anything changed: they are accepted, or what is wrong is said."""

    VALUES = (
        None, True, -1, 0, 1, 8, 129, 4096, 1.5, 1e300, 1 << 62, 1 << 70, "", "/", "~/", "x", "/a/*", "/a[", "/\ud800",
        "/x\0", [], {}, [[]], [1], ["/a", "/b"], {"Offset": 5}, {"Path": "/b", "Random": {}}, [{"Length": 3}],
    )  # fmt: skip
    KEYS = ("File", "Directory", "Path", "Random", "WillNeed", "Offset", "Length", "CacheSize", "Recursive", "Processes", "Bath")  # fmt: skip
    WORDS = (b"NaN", b"-Infinity", b"1e400", b"9" * 5000, b"\xff", b"\\u0000", b"{", b"}", b"[", b"]", b",", b":", b'"',
             b"\n", b"\\", b"[" * 3000, b"\xef\xbb\xbf", b"null", b"-", b"0", b'"Path":', b'"a":1,')  # fmt: skip

    def changed_document(self, dice: random.Random) -> bytes:
        document = copy.deepcopy(RICH)
        for _ in range(dice.choice((1, 1, 2, 4))):
            place = document
            while True:
                keys = list(place) if isinstance(place, dict) else list(range(len(place)))
                key = dice.choice(keys) if keys else None
                if key is None or not isinstance(place[key], dict | list) or dice.random() < 0.2:
                    break
                place = place[key]
            value = copy.deepcopy(dice.choice(self.VALUES))
            how = dice.random()
            if key is None or how < 0.2:
                if isinstance(place, list):
                    place.append(value)
                else:
                    place[dice.choice(self.KEYS)] = value
            elif how < 0.35:
                del place[key]
            else:
                place[key] = value
        return json.dumps(document, indent=dice.choice((None, 1))).encode()

    def changed_text(self, dice: random.Random) -> bytes:
        text = dice.choice((LISTING.encode(), json.dumps(RICH, indent=1).encode()))
        for _ in range(dice.choice((1, 1, 2, 5))):
            begin = dice.randrange(len(text) + 1)
            end = min(len(text), begin + dice.choice((0, 1, 3, 40)))
            text = text[:begin] + dice.choice((b"", text[begin:end] * 2, dice.choice(self.WORDS))) + text[end:]
        return text

    def strictly(self, text: bytes) -> object:
        """What others would read of it; LookupError if some would not."""

        def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
            if len(dict(pairs)) != len(pairs):
                raise LookupError
            return dict(pairs)

        def never(_: str) -> None:
            raise LookupError

        try:
            return json.loads(text.decode(), object_pairs_hook=once, parse_constant=never)
        except (ValueError, RecursionError) as error:
            raise LookupError from error

    def test_anything(self):
        from jsonschema import Draft202012Validator

        print("DOVETAIL_TEST_SEED is", SEED, flush=True)
        validator = Draft202012Validator(SCHEMA)
        outcomes = {"accepted": 0, "refused": 0}
        for number in range(ROUNDS):
            dice = random.Random(SEED + number)
            text = self.changed_document(dice) if number % 2 else self.changed_text(dice)
            try:
                memory = packed(parse(text, "the name"))
            except ConfigurationError as error:
                self.assertRegex(str(error), r"\Athe name:(\d+:)? .+\Z", f"DOVETAIL_TEST_SEED={SEED + number}")
                outcomes["refused"] += 1
                continue
            except Exception as error:
                raise AssertionError(f"DOVETAIL_TEST_SEED={SEED + number}: {text!r}") from error
            outcomes["accepted"] += 1
            self.assertEqual(len(memory.rules) % 64, 0)
            try:
                document = self.strictly(text)
            except LookupError:
                self.fail(f"DOVETAIL_TEST_SEED={SEED + number}: this is accepted, and is not JSON: {text!r}")
            self.assertTrue(validator.is_valid(document), f"DOVETAIL_TEST_SEED={SEED + number}: {text!r}")
        self.assertTrue(all(outcomes.values()), outcomes)


if __name__ == "__main__":
    unittest.main(verbosity=2)
