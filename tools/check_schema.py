#!/usr/bin/env python3
"""Checks JSON documents against a schema of docs/schemas, with the standard library alone.

    tools/check_schema.py SCHEMA.json [DOCUMENT.json]...       `-` is standard input

Knows the part of JSON Schema 2020-12 that docs/schemas/README.md names, and refuses a schema that
uses more, so that no rule is passed over.
"""

import json
import pathlib
import re
import sys

KNOWN = {
    "type",
    "properties",
    "required",
    "items",
    "enum",
    "const",
    "anyOf",
    "additionalProperties",
    "minItems",
    "minimum",
    "pattern",
    "$ref",
    "$schema",
    "title",
    "description",
    "examples",
}
TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
}


def load(path: pathlib.Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def violations(value: object, schema: dict, folder: pathlib.Path, where: str = "$") -> list[str]:
    unknown = set(schema) - KNOWN
    if unknown:
        raise SystemExit(
            f"the schema uses {', '.join(sorted(unknown))}, which tools/check_schema.py does not"
            " know"
        )
    found = []
    if "$ref" in schema:
        found += violations(value, load(folder / schema["$ref"]), folder, where)
    if "type" in schema:
        names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        if not any(TYPES[name](value) for name in names):
            return found + [
                f"{where}: {json.dumps(value)[:60]} is not of type {' or '.join(names)}"
            ]
    if "const" in schema and value != schema["const"]:
        found.append(f"{where}: {json.dumps(value)[:60]} is not {json.dumps(schema['const'])}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{where}: {json.dumps(value)[:60]} is none of {json.dumps(schema['enum'])}")
    if "anyOf" in schema:
        choices = [violations(value, choice, folder, where) for choice in schema["anyOf"]]
        if all(choices):
            found.append(
                f"{where}: fits none of {len(choices)} choices: "
                + "; ".join(choice[0] for choice in choices)
            )
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        found.append(f"{where}: {value!r} does not match {schema['pattern']}")
    if "minimum" in schema and TYPES["number"](value) and value < schema["minimum"]:
        found.append(f"{where}: {value} is under {schema['minimum']}")
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                found.append(f"{where}: {name} is missing")
        properties, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
        for name, item in value.items():
            if name in properties:
                found += violations(item, properties[name], folder, f"{where}.{name}")
            elif rest is False:
                found.append(f"{where}: {name} is not known")
            elif isinstance(rest, dict):
                found += violations(item, rest, folder, f"{where}.{name}")
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            found.append(f"{where}: {len(value)} items, at least {schema['minItems']} are needed")
        for number, item in enumerate(value):
            found += violations(item, schema.get("items", {}), folder, f"{where}[{number}]")
    return found


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    path = pathlib.Path(sys.argv[1])
    schema, bad = load(path), 0
    for name in sys.argv[2:] or ["-"]:
        text = sys.stdin.read() if name == "-" else pathlib.Path(name).read_text(encoding="utf-8")
        for violation in violations(json.loads(text), schema, path.parent):
            print(f"{name}: {violation}")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
