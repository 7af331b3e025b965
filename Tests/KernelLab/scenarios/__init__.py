# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""The scenarios, by subject. Each is a function of a Scene: set-up, `serve`, and steps that change something."""
import collections

# needs: modules of the kernel without which it is left out. radios: how many of mac80211_hwsim it takes. extra: left to
# --all.
Entry = collections.namedtuple("Entry", "play needs radios extra")
SCENARIOS = {}


def scenario(name, needs=(), radios=0, extra=False):
    def add(function):
        if name in SCENARIOS:
            raise ValueError(f"two scenarios of the name {name}")
        SCENARIOS[name] = Entry(function, tuple(needs) + (("mac80211_hwsim",) if radios else ()), radios, extra)
        return function
    return add


def chosen(words, every):
    """The names of those to play: of the usual run, all, or those whose names contain a word."""
    return [name for name, entry in SCENARIOS.items()
            if (any(word in name for word in words) if words else every or not entry.extra)]


from . import cards, links, tunnels, vrf, wifi  # noqa: E402,F401
