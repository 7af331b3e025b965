# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
"""Makes the modules of ../Lab importable: machines, and servers of a lab."""
import os, sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(os.path.dirname(FOLDER), "Lab"))
