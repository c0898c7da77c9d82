"""Programs as users write them, by field. Importing this package registers all of them in `PROGRAMS`."""

from programs import (dynamic_programming, finance, imaging, language, linear_algebra, robotics,  # noqa: F401
                      simulation, statistics)
from programs.registry import PROGRAMS, Program, reseed

__all__ = ["PROGRAMS", "Program", "reseed"]
