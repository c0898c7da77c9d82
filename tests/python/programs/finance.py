"""Finance."""

from dataclasses import dataclass

import numpy as np

from programs.registry import normal, program, single


@program(lambda: (np.cumprod(1 + 0.02 * normal(100)),),
         lambda: (single(10) + 1,),
         lambda: (np.array([1.0]),),
         lambda: (np.zeros(0),),
         lambda: (np.array([1.0, 2, 3]),),
         lambda: (np.cumprod(1 + 0.02 * normal(5000)),),
         variants=20)
def drawdown(prices):
    if prices.size == 0:
        return 0.0, None, None
    peak = np.maximum.accumulate(prices)
    dd = (prices - peak) / peak
    trough = int(np.argmin(dd))
    start = int(np.argmax(prices[: trough + 1]))
    return float(dd.min()), start, trough


@program(lambda: (normal(60, 4) * 0.01, np.ones(4) / 4),
         lambda: (single(10, 2), np.array([0.3, 0.7])),
         lambda: (normal(5, 3), np.ones(2)),
         lambda: (normal(500, 20) * 0.01, np.ones(20) / 20),
         variants=24,
         tolerance=1e-05)
def portfolio(returns, w):
    mu = returns.mean(axis=0) * 252
    X = returns - returns.mean(axis=0)
    cov = X.T @ X / (len(returns) - 1) * 252
    var = w @ cov @ w
    vol = np.sqrt(var)
    contrib = w * (cov @ w) / vol
    sharpe = (w @ mu - 0.02) / vol
    summary = "\n".join(f"asset {i}: {c:7.4f}" for i, c in enumerate(contrib))
    return vol, sharpe, contrib, summary


@program(lambda: (np.cumsum(normal(120)) + 100, 5, 20),
         lambda: (single(30), 2, 5),
         lambda: (np.ones(10), 3, 4),
         variants=48)
def sma_crossover(p, fast, slow):
    def sma(x, n):
        out = np.full(len(x), np.nan)
        c = np.cumsum(x, dtype=float)
        c[n:] = c[n:] - c[:-n]
        out[n - 1:] = c[n - 1:] / n
        return out
    f, s = sma(p, fast), sma(p, slow)
    sig = np.where(f > s, 1, 0)
    trades, pos, cash = [], 0, 1000.0
    for i in range(1, len(p)):
        if np.isnan(s[i]):
            continue
        if sig[i] > sig[i - 1] and not pos:
            pos, cash = 10, cash - 10 * p[i]
            trades.append(("buy", i, float(p[i])))
        elif sig[i] < sig[i - 1] and pos:
            pos, cash = 0, cash + 10 * p[i]
            trades.append(("sell", i, float(p[i])))
    return trades, cash + pos * p[-1], sig


@dataclass
class Loan:
    principal: float
    rate: float
    months: int

    def payment(self):
        r = self.rate / 12
        return self.principal * r / (1 - (1 + r) ** -self.months) if r else self.principal / self.months

    def schedule(self):
        bal, pay = self.principal, self.payment()
        while bal > 0.005:
            interest = bal * self.rate / 12
            yield interest, pay - interest, bal
            bal -= pay - interest


@program(lambda: (Loan(1000.0, 0.05, 24),),
         lambda: (Loan(500, 0, 5),),
         variants=10,
         tolerance=1e-10)
def amortise(loan):
    table = np.array(list(loan.schedule()))
    return table.sum(axis=0), table[-1], len(table)
