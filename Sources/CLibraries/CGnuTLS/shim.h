// Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
