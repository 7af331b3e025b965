// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
