# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""The situations that people composed: a set-up, a change. What is right is measured."""
import collections

import links, modules, names, neighbours, policy, refusals


def situations():
    found = [situation for module in (policy, links, neighbours, names, refusals, modules) for situation in module.situations()]
    repeated = [name for name, count in collections.Counter(one.name for one in found).items() if count > 1]
    if repeated:
        raise ValueError(f"names that are not unique: {repeated}")
    return found
