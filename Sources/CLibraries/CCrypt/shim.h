// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#include <crypt.h>
