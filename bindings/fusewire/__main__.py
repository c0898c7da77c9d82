"""Entry of ``python -m fusewire``."""

import sys

from fusewire._cli import main

sys.exit(main())
