# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Checks JSON lines against the event schema, with the order of the envelope; prints what is wrong.

Usage: check_events.py SCHEMA FILE... ; exit code 1 when a line is wrong.
"""
import json
import sys

import jsonschema

with open(sys.argv[1]) as file:
    schema = json.load(file)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
order = schema["required"]
lines = problems = 0
for path in sys.argv[2:]:
    with open(path) as file:
        for number, line in enumerate(file, 1):
            record = json.loads(line)
            lines += 1
            found = [error.message for error in validator.iter_errors(record)]
            if list(record)[: len(order)] != order:
                found.append(f"order of the envelope: {list(record)[:len(order)]}")
            for message in found:
                problems += 1
                print(f"{path}:{number}: {message}")
print(f"{lines} lines, {problems} problems")
sys.exit(1 if problems or not lines else 0)
