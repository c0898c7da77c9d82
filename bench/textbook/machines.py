"""State machines: names, members of enums and None that the data decides about."""

import enum

import numpy as np

from .common import RNG


def traffic_light(x):
    state, wait, passed = "red", 0, 0.0
    for v in x:
        if state == "red":
            wait += 1
            if v > 0.5 or wait > 5:
                state, wait = "green", 0
        elif state == "green":
            passed += v
            if v < -0.5:
                state = "yellow"
        else:
            state = "red"
    return passed, wait, state


class Mode(enum.Enum):
    IDLE = 0
    RUN = 1
    STOP = 2


def pump(x):
    mode, stops, flow = Mode.IDLE, 0, np.zeros(len(x))
    for i in range(len(x)):
        if mode is Mode.IDLE and x[i] > 0.3:
            mode = Mode.RUN
        elif mode is Mode.RUN:
            flow[i] = x[i] * 2
            if x[i] < -1:
                mode = Mode.STOP
        elif mode is Mode.STOP:
            stops += 1
            if stops % 3 == 0:
                mode = Mode.IDLE
    return flow, mode, stops


class Thermostat:
    def __init__(self, t):
        self.state, self.starts, self.t = "off", 0, t

    def step(self, drift):
        if self.state == "off" and self.t < 19:
            self.state = "heat"
            self.starts += 1
        elif self.state == "heat" and self.t > 21:
            self.state = "off"
        self.t += (0.3 if self.state == "heat" else -0.2) + drift


def heating(x):
    room = Thermostat(20.0)
    for v in x:
        room.step(0.05 * v)
    return room.t, room.starts, room.state


def trades(x):
    side, gain, entry = None, 0.0, 0.0
    for p in x:
        if side is None:
            if p > 0.8:
                side, entry = "short", p
            elif p < -0.8:
                side, entry = "long", p
        elif side == "long" and p > 0:
            gain += p - entry
            side = None
        elif side == "short" and p < 0:
            gain += entry - p
            side = None
    return gain, side


def classes(x):
    counts = {"low": 0, "mid": 0, "high": 0}
    for v in x:
        kind = "low" if v < -0.5 else "mid" if v < 0.5 else "high"
        counts[kind] += 1
    return counts


def gears(x):
    table, gear, way = {"slow": 0.1, "fast": 2.5}, "slow", 0.0
    for v in x:
        way += table[gear] * v
        if v > 1:
            gear = "fast"
        elif v < -1:
            gear = "slow"
    return way, gear


PROGRAMS = {
    "traffic_light": (traffic_light, lambda n: (RNG.normal(size=n),), 4000),
    "pump": (pump, lambda n: (RNG.normal(size=n),), 4000),
    "heating": (heating, lambda n: (RNG.normal(size=n),), 4000),
    "trades": (trades, lambda n: (RNG.normal(size=n),), 4000),
    "classes": (classes, lambda n: (RNG.normal(size=n),), 4000),
    "gears": (gears, lambda n: (RNG.normal(size=n),), 4000),
}
