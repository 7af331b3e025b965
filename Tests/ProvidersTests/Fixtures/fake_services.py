#!/usr/bin/python3
# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Stands for hardware on a private message bus.

Usage: fake_services.py ADDRESS NAME... [-- LINE...]

It owns the names and has no objects of its own: the test adds modems, Wi-Fi cards and other things that the machine
lacks, by sending Python to org.nwpath.Test.Do, or by lines of Python that run before the names are requested. What
needs no hardware is tested against the real services instead.
"""
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

PROPERTIES = "org.freedesktop.DBus.Properties"
MANAGER = "org.freedesktop.DBus.ObjectManager"
nodes = {}


class Node(dbus.service.Object):
    """One object with properties, and the type of its profile if it is one."""

    def __init__(self, bus, path, interfaces, profile="gsm"):
        super().__init__(bus, path)
        self.path, self.interfaces, self.profile = path, interfaces, profile

    @dbus.service.method(PROPERTIES, "ss", "v")
    def Get(self, interface, name):
        return self.interfaces[interface][name]

    @dbus.service.method(PROPERTIES, "s", "a{sv}")
    def GetAll(self, interface):
        if garbage:
            raise dbus.DBusException("no", name="org.nwpath.Garbage")
        return self.interfaces[interface]

    @dbus.service.signal(PROPERTIES, "sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):
        pass

    @dbus.service.method("org.freedesktop.NetworkManager.Settings.Connection", "", "a{sa{sv}}")
    def GetSettings(self):
        return {"connection": {"type": self.profile}}

    @dbus.service.signal("org.freedesktop.NetworkManager.Settings.Connection", "")
    def Updated(self):
        pass


class Manager(dbus.service.Object):
    """The object manager at one path; answers nonsense when it is told to."""

    @dbus.service.method(MANAGER, "", "v")
    def GetNonsense(self):
        return 0

    @dbus.service.method(MANAGER, "", "a{oa{sa{sv}}}")
    def GetManagedObjects(self):
        if garbage:
            raise dbus.DBusException("no", name="org.nwpath.Garbage")
        return dbus.Dictionary({p: n.interfaces for p, n in nodes.items()}, signature="oa{sa{sv}}")

    @dbus.service.signal(MANAGER, "oa{sa{sv}}")
    def InterfacesAdded(self, path, interfaces):
        pass

    @dbus.service.signal(MANAGER, "oas")
    def InterfacesRemoved(self, path, interfaces):
        pass


class Login(dbus.service.Object):
    """Announces sleep."""

    @dbus.service.signal("org.freedesktop.login1.Manager", "b")
    def PrepareForSleep(self, starting):
        pass


class Control(dbus.service.Object):
    """Does what the test says."""

    @dbus.service.method("org.nwpath.Test", "s", "")
    def Do(self, code):
        exec(code, globals())


def add(path, profile="gsm", **interfaces):
    """Adds an object; interfaces are named by `org_freedesktop_X`-style keys in `full`."""
    full = {key.replace("_", "."): dbus.Dictionary(value, signature="sv") for key, value in interfaces.items()}
    nodes[path] = Node(bus, path, full, profile)
    for manager in managers:
        manager.InterfacesAdded(path, full)


def put(path, interface, name, value):
    """Changes one property and says so."""
    nodes[path].interfaces[interface][name] = value
    nodes[path].PropertiesChanged(interface, {name: value}, [])


def remove(path):
    """Removes an object and says so."""
    node = nodes.pop(path)
    node.remove_from_connection()
    for manager in managers:
        manager.InterfacesRemoved(path, list(node.interfaces))


def sleep(starting):
    login.PrepareForSleep(starting)


garbage = False
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.bus.BusConnection(sys.argv[1])
managers = [Manager(bus, "/org/freedesktop"), Manager(bus, "/org/freedesktop/ModemManager1")]
login = Login(bus, "/org/freedesktop/login1")
control = Control(bus, "/org/nwpath/Test")
words = sys.argv[2:]
end = words.index("--") if "--" in words else len(words)
for line in words[end + 1:]:
    exec(line)
names = [dbus.service.BusName(name, bus) for name in words[:end]]
GLib.MainLoop().run()
