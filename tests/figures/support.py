"""What the tests beside share: bench/figures as modules.

SPDX-License-Identifier: Apache-2.0
"""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, "bench", "figures"), os.path.join(ROOT, "tests", "cluster")]
