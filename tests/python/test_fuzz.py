"""A fixed sample of random programs; fuzz.py runs as many as wanted."""

import fuzz
import fuzz_objects


def test_random_programs():
    reports, compiled = [], 0
    for seed in range(300):
        report, was_compiled = fuzz.check(seed)
        compiled += was_compiled
        if report:
            reports.append(report)
    assert not reports, "\n".join(reports[:3]) + f"\n{len(reports)} in all"
    assert compiled > 150, f"only {compiled} of 300 programs were compiled"


def test_random_programs_that_write():
    reports, compiled = [], 0
    for seed in range(300):
        report, was_compiled = fuzz.check(seed, writes=True)
        compiled += was_compiled
        if report:
            reports.append(report)
    assert not reports, "\n".join(reports[:3]) + f"\n{len(reports)} in all"
    assert compiled > 60, f"only {compiled} of 300 programs were compiled"


def test_random_programs_over_classes_and_exceptions():
    reports, compiled = [], 0
    for seed in range(250):
        report, was_compiled = fuzz_objects.check(seed)
        compiled += was_compiled
        if report:
            reports.append(report)
    assert not reports, "\n".join(reports[:3]) + f"\n{len(reports)} in all"
    assert compiled > 150, f"only {compiled} of 250 programs were compiled"
