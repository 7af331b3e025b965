# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Reads OpenMetrics from standard input with the strict parser of prometheus_client; prints the families."""
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

for family in text_string_to_metric_families(sys.stdin.read()):
    print(family.name, family.type, len(family.samples))
