#!/usr/bin/env python3
"""Writes reference.txt: what SciPy, NumPy and exact sums say of series, tables and levels that are
made here from a fixed seed. tests/unit/test_stats_reference.c asks src/stats the same.

    python3 tests/statistics/reference.py > tests/statistics/reference.txt

Needs NumPy and SciPy (made with 2.4 and 1.17); the test needs neither. A line of the table:

    x NUMBERS        a series that the lines below are about; so with y and w
    NAME ARGUMENTS = WANTED ...

Wanted is a number (to 1e-9 of itself, and what the last word gives: ~ABSOLUTE), a range LOW..HIGH
where resampling decides, or `refused`. Ranges are what four standard deviations of so many resamples
leave of the exact distribution. Where neither SciPy nor NumPy has a function, its formula stands
here once more, from the paper that stats.h names and not from the C.
"""

import itertools
import math
import statistics
import warnings
from fractions import Fraction

import numpy
import scipy.optimize
import scipy.stats

RESAMPLES = 5000  # as in test_stats_reference.c
CHANCE = numpy.random.default_rng(20261123)
VERDICTS = ("faster", "slower", "same", "cannot tell")
MARGIN = 0.01


def text(value):
    if isinstance(value, tuple):
        return f"{text(value[0])}..{text(value[1])}"
    if isinstance(value, str):
        return value
    value = float(value)
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def series(name, values):
    print(name, *(text(value) for value in values))


def row(name, arguments, wanted, absolute=None):
    words = [name, *(text(a) for a in arguments), "=", *(text(w) for w in wanted)]
    if absolute is not None:
        words.append(f"~{absolute:.3g}")
    print(*words)


def short(values, digits=6):
    """So many significant digits: a table that can be read."""
    return [float(f"{value:.{digits}g}") for value in values]


def kinds():
    """Series as they are measured, and as nobody would measure them."""
    for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 20, 33):
        yield short(CHANCE.normal(10, 2, n))
        yield short(CHANCE.lognormal(0, 1, n))
    for n in (2, 3, 6, 7, 11, 30):
        yield [float(v) for v in CHANCE.integers(0, 5, n)]
    for n in (1, 2, 5, 6, 20):
        yield [7.25] * n
    yield [3.0] * 9 + [4.0]
    yield [0.0] * 6
    yield [-5.0, -4.0, 0.0, 0.0, 4.0, 5.0, 6.0]
    for scale in (1e-140, 1e-9, 1e9, 1e140):
        yield short(scale * CHANCE.gamma(2, 1, 14))
    yield [1e9 + v for v in short(CHANCE.normal(0, 1, 15), 3)]
    yield short(-CHANCE.lognormal(2, 0.5, 10))
    yield [5.0 + 0.001 * v for v in range(24)] + [80.0]


# ---- one series ---------------------------------------------------------------------------------


def spread(x):
    """Standard deviation from exact sums: NumPy's has lost digits where the mean is large."""
    if len(x) < 2:
        return math.nan
    exact = [Fraction(v) for v in x]
    mean = sum(exact) / len(x)
    squares = sum((v - mean) ** 2 for v in exact) / (len(x) - 1)
    return math.sqrt(squares)


def mad(x):
    return scipy.stats.median_abs_deviation(x, scale="normal")


def outliers(x):
    """Iglewicz & Hoaglin's modified z above 3.5; mean absolute deviations where the MAD is 0."""
    if len(x) < 3:
        return []
    away = numpy.abs(numpy.array(x) - numpy.median(x))
    if numpy.median(away) > 0:
        score = scipy.stats.norm.ppf(0.75) * away / numpy.median(away)
    elif away.mean() > 0:
        score = away / (math.sqrt(math.pi / 2) * away.mean())
    else:
        return []
    return [i for i, value in enumerate(score) if value > 3.5]


def quantile_interval(x, q, confidence):
    """Ranks by the binomial distribution, equal tails; nothing where the range is not enough."""
    x = sorted(x)
    n = len(x)
    if 1 - q**n - (1 - q) ** n < confidence or n < 2:
        return math.nan, math.nan
    tail = (1 - confidence) / 2
    if q**n > tail or (1 - q) ** n > tail:
        return None  # one tail is spent at the extreme: SciPy has no such interval
    count = scipy.stats.binom(n, q)
    # the l-th lies above the quantile with P(B <= l - 1), the u-th below it with 1 - P(B <= u - 1)
    low = max(k for k in range(1, n + 1) if count.cdf(k - 1) <= tail)
    high = min(k for k in range(1, n + 1) if 1 - count.cdf(k - 1) <= tail)
    return x[low - 1], x[high - 1]


def quantile_needs(q, confidence):
    return next(n for n in itertools.count(2) if 1 - q**n - (1 - q) ** n >= confidence)


def effective_count(x):
    """Geyer's initial positive sequence."""
    n = len(x)
    d = numpy.array(x) - numpy.mean(x)
    if n < 4 or not (d * d).sum() > 0:
        return n
    rho = [float((d[: n - k] * d[k:]).sum() / (d * d).sum()) for k in range(n // 2 + 1)]
    total = 1.0
    for k in range(1, len(rho) - 1, 2):
        pair = rho[k] + rho[k + 1]
        if k == 1 and pair < scipy.stats.norm.ppf(0.995).round(2) * math.sqrt(2 / n):
            return n
        if pair <= 0:
            break
        total += 2 * pair
    return min(n, max(1, n / total))


def change_points(x, least, penalty):
    """Shifts of the mean: every division tried, from the end."""
    n = len(x)
    noise = mad(numpy.diff(x)) / math.sqrt(2)
    noise = max(noise**2, 1e-12 * (max(x) - min(x)) ** 2)
    best = {0: (-penalty, [])}
    for end in range(least, n + 1):
        choices = []
        for start in range(end - least + 1):
            if start in best:
                part = numpy.array(x[start:end])
                cost = float(((part - part.mean()) ** 2).sum()) / noise
                value, starts = best[start]
                choices.append((value + cost + penalty, [*starts, start] if start else starts))
        if choices:
            best[end] = min(choices)
    return best[n][1]


# ---- resampling ---------------------------------------------------------------------------------


class Distribution:
    """What a resampled statistic is: values with their probabilities."""

    def __init__(self, values, weights=None):
        order = numpy.argsort(values, kind="stable")
        self.values = numpy.array(values, float)[order]
        weights = numpy.ones(len(values)) if weights is None else numpy.array(weights)[order]
        self.below = numpy.cumsum(weights / weights.sum())

    def quantile(self, level):
        at = numpy.searchsorted(self.below, min(max(level, 0), 1) - 1e-12)
        return float(self.values[min(at, len(self.values) - 1)])

    def share(self, value):
        """Below it, ties half."""
        gap = 1e-12 * max(1e-300, abs(value))
        last = numpy.searchsorted(self.values, value - gap)
        upto = numpy.searchsorted(self.values, value + gap)
        low = self.below[last - 1] if last else 0.0
        high = self.below[upto - 1] if upto else 0.0
        return 0.5 * float(low + high)


def resampled_medians(x):
    """The median of n draws from x, exactly: how many of them lie at or below each order statistic
    is multinomial."""
    x = sorted(x)
    n = len(x)
    k = (n + 1) // 2

    def cumulative(i, j):
        """P(k-th <= x[i-1] and (k+1)-th <= x[j-1]), i <= j, of n draws."""
        total = 0.0
        for a in range(k, n + 1):
            first = scipy.stats.binom.pmf(a, n, i / n)
            if first > 0:
                rest = n - a
                need = max(0, k + 1 - a)
                more = 1.0
                if need:
                    more = scipy.stats.binom.sf(need - 1, rest, (j - i) / (n - i)) if j > i else 0.0
                total += first * more
        return total

    if n % 2:
        below = [scipy.stats.binom.sf(k - 1, n, j / n) for j in range(n + 1)]
        return Distribution(x, numpy.diff(below))
    table = numpy.zeros((n + 1, n + 1))
    for i in range(1, n + 1):
        for j in range(i, n + 1):
            table[i, j] = cumulative(i, j)
    for i in range(1, n + 1):  # the k-th is never above the next
        table[i, :i] = [table[j, j] for j in range(i)]
    mass = table[1:, 1:] - table[:-1, 1:] - table[1:, :-1] + table[:-1, :-1]
    values, weights = [], []
    for i in range(n):
        for j in range(i, n):
            values.append((x[i] + x[j]) / 2)
            weights.append(max(0.0, mass[i, j]))
    return Distribution(values, weights)


def acceleration(statistic, x):
    left = numpy.array([statistic(x[:i] + x[i + 1 :]) for i in range(len(x))])
    d = left.mean() - left
    return (d**3).sum() / (6 * (d**2).sum() ** 1.5) if (d**2).sum() > 0 else 0.0


def off(share, resamples):
    return 4 * math.sqrt(max(share * (1 - share), 1 / resamples) / resamples)


def bca(distribution, estimate, a, tail, resamples=RESAMPLES):
    """Efron's limits as ranges. tail: the normal quantile of the lower tail."""
    share = distribution.share(estimate)
    ranges = []
    for z in (tail, -tail):
        found = []
        for bias in (share - off(share, resamples), share, share + off(share, resamples)):
            z0 = scipy.stats.norm.ppf(min(max(bias, 0.5 / resamples), 1 - 0.5 / resamples))
            level = scipy.stats.norm.cdf(z0 + (z0 + z) / (1 - a * (z0 + z)))
            found += [level - off(level, resamples), level + off(level, resamples)]
        ranges.append((distribution.quantile(min(found)), distribution.quantile(max(found))))
    return ranges


def widened(confidence, n):
    return math.sqrt(n / (n - 1)) * scipy.stats.t.ppf((1 - confidence) / 2, n - 1)


def median_interval(x, confidence, widen):
    if len(x) < 6:
        return math.nan, math.nan
    tail = widened(confidence, len(x)) if widen else scipy.stats.norm.ppf((1 - confidence) / 2)
    if min(x) == max(x):
        return x[0], x[0]
    a = acceleration(lambda part: float(numpy.median(part)), sorted(x))
    return bca(resampled_medians(x), float(numpy.median(x)), a, tail)


def mean_interval(x, confidence):
    if len(x) < 6:
        return math.nan, math.nan
    if min(x) == max(x):
        return x[0], x[0]
    draws = CHANCE.choice(x, (200000, len(x))).mean(axis=1)
    tail = scipy.stats.norm.ppf((1 - confidence) / 2)
    return bca(Distribution(draws), float(numpy.mean(x)), acceleration(numpy.mean, x), tail)


def ratio_interval(x, y, confidence):
    above, under = resampled_medians(x), resampled_medians(y)
    parts = [numpy.diff(d.below, prepend=0) for d in (above, under)]
    both = Distribution(
        (above.values[:, None] / under.values[None, :]).ravel(),
        (parts[0][:, None] * parts[1][None, :]).ravel(),
    )
    tail = (1 - confidence) / 2
    ranges = []
    for level in (tail, 1 - tail):
        gap = off(level, RESAMPLES)
        ranges.append((both.quantile(level - gap), both.quantile(level + gap)))
    outside = max(
        both.share(1 / (1 + MARGIN)) + mass_at(both, 1 / (1 + MARGIN)) / 2,
        1 - both.share(1 + MARGIN) + mass_at(both, 1 + MARGIN) / 2,
    )
    gap = off(outside, RESAMPLES) + 2 / RESAMPLES
    return ranges, (max(0, outside - gap), min(1, outside + gap))


def mass_at(distribution, value):
    weights = numpy.diff(distribution.below, prepend=0)
    return float(weights[numpy.abs(distribution.values - value) < 1e-12 * value].sum())


def one_series():
    for x in kinds():
        series("x", x)
        scale = max(map(abs, x))
        rounding = 4e-16 * scale * len(x)
        row("mean", [], [float(sum(map(Fraction, x)) / len(x))], rounding)
        row("sd", [], [spread(x)], 1e-9 * spread(x) + 1e-14 * scale if len(x) > 1 else None)
        row("median", [], [statistics.median(x)])
        row("extremes", [], [min(x), max(x)])
        row("mad", [], [mad(x)], rounding + 1e-12 * mad(x))
        for q in (0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1):
            row("quantile", [q], [numpy.quantile(x, q)], rounding)
            if 0 < q < 1 and len(x) > 1:
                wanted = scipy.stats.mstats.hdquantiles(x, [q])[0]
                row("quantile_hd", [q], [wanted], 1e-10 * scale)
        row("outliers", [], outliers(x))
        row("effective_count", [], [effective_count(x)], 1e-9 * len(x))
        if len(x) in (5, 6, 7, 9, 12, 15, 20, 24, 25):
            for confidence in (0.9, 0.95):
                estimate = statistics.median(x)
                row(
                    "median_interval",
                    [confidence, 0],
                    [estimate, *median_interval(x, confidence, 0)],
                )
                row(
                    "median_interval",
                    [confidence, 1],
                    [estimate, *median_interval(x, confidence, 1)],
                )
                row("mean_interval", [confidence], mean_interval(x, confidence))
        if len(x) > 5:
            for q in (0.05, 0.25, 0.5, 0.75, 0.9):
                for confidence in (0.8, 0.95, 0.99):
                    ends = quantile_interval(x, q, confidence)
                    if ends:
                        row("quantile_interval", [q, confidence], ends)
    odd = [3.0, math.inf, 1.0, math.nan, 2.0, -math.inf, 8.0]
    finite = [3.0, 1.0, 2.0, 8.0]
    series("x", odd)
    row(
        "summary",
        [0.9],
        [
            *(4, 3, numpy.mean(finite), numpy.median(finite), 1, 8, numpy.std(finite, ddof=1)),
            *(mad(finite), *numpy.quantile(finite, (0.25, 0.75)), math.nan, math.nan, 0.9),
        ],
    )
    for n in (6, 7, 15):
        finite = short(CHANCE.lognormal(1, 0.4, n))
        series("x", [*finite[:3], math.nan, *finite[3:]])
        row(
            "summary",
            [0.95],
            [
                *(n, 1, numpy.mean(finite), numpy.median(finite), min(finite), max(finite)),
                *(numpy.std(finite, ddof=1), mad(finite), *numpy.quantile(finite, (0.25, 0.75))),
                *median_interval(finite, 0.95, 1),
                0.95,
            ],
        )
    for q in (0.01, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999):
        for confidence in (0.5, 0.9, 0.95, 0.99):
            row("quantile_needs", [q, confidence], [quantile_needs(q, confidence)])
    for correlation in (0, 0.3, 0.6, 0.9, -0.5):
        x = [0.0]
        for _ in range(99):
            x.append(correlation * x[-1] + CHANCE.normal())
        x = short(x, 5)
        series("x", x)
        row("effective_count", [], [effective_count(x)])
    for shifts in ((), (20,), (10, 35), (5, 12, 40)):
        x = CHANCE.normal(10, 0.3, 50)
        for at in shifts:
            x[at:] += CHANCE.choice((-2, 2))
        x = short(x, 5)
        series("x", x)
        for least, penalty in ((1, 0), (3, 0), (1, 6.5), (5, 25)):
            wanted = change_points(x, least, penalty or 3 * math.log(len(x)))
            row("change_points", [least, penalty], wanted)


def blocks_interval(x, sizes, confidence):
    """Whole blocks drawn: the median's interval, BCa from 12 blocks on, Student's of logs below."""
    if len(sizes) < 6:
        return math.nan, math.nan
    parts = numpy.split(numpy.array(x), numpy.cumsum(sizes)[:-1])
    drawn = CHANCE.integers(0, len(parts), (20000, len(parts)))
    values = [float(numpy.median(numpy.concatenate([parts[i] for i in one]))) for one in drawn]
    estimate = statistics.median(x)
    tail = widened(confidence, len(sizes))
    if len(sizes) >= 12:
        left = [list(part) for part in parts]

        def median_of(some):
            return float(numpy.median(list(itertools.chain(*some))))

        return bca(Distribution(values), estimate, acceleration(median_of, left), tail)
    error = numpy.std(numpy.log(values), ddof=1)
    gap = 4 * math.sqrt((scipy.stats.kurtosis(numpy.log(values), fisher=False) - 1) / 4 / RESAMPLES)
    reach = [-tail * error * (1 - gap), -tail * error * (1 + gap)]
    return [
        (estimate * math.exp(-reach[1]), estimate * math.exp(-reach[0])),
        (estimate * math.exp(reach[0]), estimate * math.exp(reach[1])),
    ]


def shapes():
    """Series whose class, modes and blocks are known because they were made so."""
    for n in (40, 120):
        noise = 1 + 0.005 * CHANCE.normal(0, 1, n)
        for kind, factor, begin, end in (
            (1, 1, 0, 0), (2, 2, 0, 6), (3, 0.5, 0, n // 2), (4, 1.7, n - 5, n), (4, 1.4, n - 9, n),
        ):  # fmt: skip
            x = 10 * noise
            x[begin:end] *= factor
            x = short(x, 5)
            series("x", x)
            steady = n if kind == 4 else end
            row("classify", [], [kind, steady, numpy.median(x[steady:] if steady < n else x)])
    for n in (1, 3):
        series("x", [4.0, 5.0, 6.0][:n])
        row("classify", [], [0, n, numpy.median([4.0, 5.0, 6.0][:n])])
    for levels, each in (((10,), 50), ((10, 20), 40), ((10, 12, 15), 40), ((-3, 4), 40)):
        groups = [
            sorted(short(level + 0.01 * abs(level) * CHANCE.normal(0, 1, each), 5))
            for level in levels
        ]
        series("x", CHANCE.permutation(numpy.concatenate(groups)))
        wanted = []
        for group in groups:
            wanted += [numpy.median(group), group[0], group[-1], each, 1 / len(groups)]
        row("modes", [], wanted)
    for sizes in ((3,) * 4, (4,) * 6, (1, 2, 3, 4, 5, 6, 7), (2,) * 11, (3,) * 12, (4, 2, 5) * 6):
        levels = CHANCE.lognormal(0, 0.1, len(sizes)).repeat(sizes)
        x = short(levels * CHANCE.lognormal(2, 0.02, sum(sizes)))
        series("x", x)
        series("w", sizes)
        for confidence in (0.9, 0.95):
            wanted = [statistics.median(x), *blocks_interval(x, sizes, confidence)]
            row("blocks_interval", [confidence], wanted)
    series("w", [3, 0, 2])
    row("blocks_interval", [0.95], ["refused"])


# ---- two series ---------------------------------------------------------------------------------


def pairs():
    for nx, ny in (
        (1, 1),
        (1, 5),
        (2, 2),
        (3, 4),
        (6, 6),
        (8, 8),
        (8, 9),
        (9, 9),
        (7, 30),
        (25, 25),
    ):
        shift = CHANCE.choice((0, 0.5, 3))
        yield short(CHANCE.normal(10, 1, nx)), short(CHANCE.normal(10 + shift, 2, ny))
        yield short(CHANCE.lognormal(0, 0.02, nx)), short(CHANCE.lognormal(0.03, 0.02, ny))
        yield (
            [float(v) for v in CHANCE.integers(1, 6, nx)],
            [float(v) for v in CHANCE.integers(2, 7, ny)],
        )
    yield [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
    yield [4.0] * 7, [4.0] * 6
    yield [4.0] * 7, [5.0] * 6
    yield short(1e-9 * CHANCE.gamma(9, 1, 12)), short(1e-9 * CHANCE.gamma(9, 1, 10))
    yield short(1e120 * CHANCE.gamma(9, 1, 6)), short(1e120 * CHANCE.gamma(9, 1, 7))
    yield short(CHANCE.normal(0, 1, 8), 9), short(CHANCE.normal(0.3, 1, 90), 9)


def decide(ratio, low, high, margin, n):
    if math.isnan(ratio) or n < 6 or math.isnan(low):
        verdict = "cannot tell"
    elif 1 / (1 + margin) <= low and high <= 1 + margin:
        verdict = "same"
    elif high < 1 and ratio < 1 / (1 + margin):
        verdict = "faster"
    elif low > 1 and ratio > 1 + margin:
        verdict = "slower"
    else:
        verdict = "cannot tell"
    more = 0.0
    if verdict == "cannot tell":
        half = math.log(high / low) / 2
        size = abs(math.log(ratio))
        reach = math.log(1 + margin)
        lacks = size if size > reach else reach - size
        more = math.nan
        if half > 0:
            more = max(1, math.ceil(n * (half / lacks) ** 2) - n) if lacks > 0 else math.inf
    return VERDICTS.index(verdict), more


def two_series():
    for x, y in pairs():
        series("x", x)
        series("y", y)
        sign = numpy.sign(numpy.subtract.outer(x, y))
        scale = max(map(abs, x + y))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            test = scipy.stats.mannwhitneyu(x, y)
            other = scipy.stats.brunnermunzel(x, y) if min(len(x), len(y)) > 1 else None
        p = test.pvalue if len(set(x + y)) > 1 else 1.0
        row("mann_whitney", [], [p, test.statistic], 1e-13)
        greater = (sign.mean() + 1) / 2
        if other is None:
            row("brunner_munzel", [], [math.nan, math.nan])
        else:
            apart = abs(sign.mean()) == 1 or not sign.any()
            row("brunner_munzel", [], [math.nan if apart else other.pvalue, greater], 1e-12)
        row("cliffs_delta", [], [sign.mean()], 1e-15)
        row("hodges_lehmann", [], [numpy.median(numpy.subtract.outer(x, y))], 1e-15 * scale)
        if 6 <= min(len(x), len(y)) and max(len(x), len(y)) < 31 and min(x + y) > 0:
            for confidence in (0.9, 0.95):
                ends, outside = ratio_interval(x, y, confidence)
                ratio = statistics.median(x) / statistics.median(y)
                row("ratio_of_medians", [confidence], [ratio, *ends])
            p_other = math.nan if apart else other.pvalue
            differences = numpy.subtract.outer(x, y)
            wanted = [outside, p, test.statistic, p_other, sign.mean(), numpy.median(differences)]
            row("compare", [], wanted, 1e-12 * max(1, scale))
    for margin in (0.01, 0.05):
        for ratio, low, high in (
            (1, 0.995, 1.005), (1, 1 / 1.011, 1.011), (1, 1 / 1.009, 1.009), (1.02, 1.001, 1.04),
            (1.02, 0.999, 1.04), (0.98, 0.96, 0.999), (0.98, 0.96, 1.001), (1.2, 1.1, 1.3),
            (0.8, 0.7, 0.9), (1.005, 1.001, 1.02), (0.995, 0.98, 0.999), (1.06, 0.9, 1.2),
            (math.nan, math.nan, math.nan), (1.3, math.nan, math.nan),
        ):  # fmt: skip
            for n in (5, 6, 40):
                verdict, more = decide(ratio, low, high, margin, n)
                row("decide", [ratio, low, high, margin, n], [verdict, more])


def log_interval(differences, standard_error, degrees, skewed):
    """Student's of a mean of logs, further on the side of the longer tail."""
    n = len(differences)
    reach = scipy.stats.t.ppf(0.975, degrees) * standard_error
    skew = scipy.stats.skew(differences) if numpy.ptp(differences) > 0 else 0.0
    longer = 1 + 1.5 * abs(skew) / math.sqrt(n) if skewed else 1
    mean = numpy.mean(differences)
    return (
        math.exp(mean - reach * (longer if skew < 0 else 1)),
        math.exp(mean + reach * (longer if skew > 0 else 1)),
    )


def processes():
    """Sides of whole processes, effects in blocks, and the judgement over many."""
    for nx, ny, shift in (
        (6, 6, 0),
        (6, 6, 0.2),
        (8, 8, 0.05),
        (12, 12, -0.1),
        (6, 9, 0.3),
        (5, 5, 1),
    ):
        x = short(CHANCE.lognormal(shift, 0.08, nx))
        y = short(CHANCE.lognormal(0, 0.02, ny))
        series("x", x)
        series("y", y)
        lx, ly = numpy.log(x), numpy.log(y)
        for paired in (0, 1):
            if paired and nx != ny:
                continue
            if paired:
                test = scipy.stats.ttest_rel(lx, ly)
                error = (lx - ly).std(ddof=1) / math.sqrt(nx)
                ends = log_interval(lx - ly, error, nx - 1, True)
            else:
                test = scipy.stats.ttest_ind(lx, ly, equal_var=False)
                between = test.confidence_interval(0.95)
                ends = (math.exp(between.low), math.exp(between.high))
            ratio = math.exp(lx.mean() - ly.mean())
            n = min(nx, ny)
            p = test.pvalue
            if n < 6:
                ends, p = (math.nan, math.nan), math.nan
            verdict, more = decide(ratio, *ends, MARGIN, n)
            delta = numpy.sign(numpy.subtract.outer(x, y)).mean()
            shift_of = statistics.median(x) - statistics.median(y)
            row(
                "compare_processes",
                [paired],
                [ratio, *ends, p, delta, shift_of, verdict, more],
                1e-14,
            )
    for sizes in ((3,) * 6, (1,) * 8, (4, 2, 5, 3, 3, 4, 6), (2,) * 5):
        total = sum(sizes)
        x = short(CHANCE.lognormal(0.1, 0.1, total))
        y = short(CHANCE.lognormal(0, 0.1, total))
        series("x", x)
        series("y", y)
        series("w", sizes)
        logs = numpy.log(numpy.array(x) / numpy.array(y))
        units = [float(numpy.median(part)) for part in numpy.split(logs, numpy.cumsum(sizes)[:-1])]
        effect = numpy.mean(units)
        error = numpy.std(units, ddof=1) / math.sqrt(len(units))
        ends = [math.nan, math.nan, math.nan]
        if len(units) >= 6:
            less, more = ((1 - 4 / math.sqrt(2 * RESAMPLES)), (1 + 4 / math.sqrt(2 * RESAMPLES)))
            a = log_interval(units, error * less, len(units) - 1, True)
            b = log_interval(units, error * more, len(units) - 1, True)
            ends = [(b[0], a[0]), (a[1], b[1]), (error * less, error * more)]
        row("paired_effect", [], [math.exp(effect), *ends, effect, numpy.sum(numpy.square(units))])
    for placebo_count in (0, 3):
        for size in (0.01, 0.05):
            effects = [
                (e, math.exp(e), math.exp(e - 2.57 * s), math.exp(e + 2.57 * s), s, 6)
                for e, s in zip(short(CHANCE.normal(0, size, 9)), short(CHANCE.gamma(2, 0.004, 9)))
            ]
            effects.append((0.3, 1.35, math.nan, math.nan, math.nan, 3))
            placebos = [(e, 6 * e * e * 2, 6) for e in short(CHANCE.normal(0, 0.01, placebo_count))]
            series("x", [v for effect in effects for v in effect])
            series("y", [v for placebo in placebos for v in placebo])
            row("judge", [], judge(effects, placebos), 1e-14)


def judge(effects, placebos):
    squares = sum(p[1] for p in placebos)
    count = sum(p[2] for p in placebos)
    values = []
    for effect, _, _, _, error, processes_ in effects:
        null = math.sqrt(squares / count / processes_) if count else 0.0
        if math.isnan(error):
            values.append(math.nan)
        elif null > error:
            values.append(2 * scipy.stats.t.sf(abs(effect) / null, count))
        else:
            values.append(2 * scipy.stats.t.sf(abs(effect) / error, processes_ - 1))
    known = [p for p in values if not math.isnan(p)]
    adjusted = iter(scipy.stats.false_discovery_control(known, method="bh"))
    wanted = []
    for p, (effect, ratio, low, high, error, _) in zip(values, effects):
        q = math.nan if math.isnan(p) else float(next(adjusted))
        beaten = sum(abs(effect) > abs(placebo[0]) for placebo in placebos)
        chance = [1.0] + [math.exp(placebo[0]) for placebo in placebos]
        verdict = "cannot tell"
        if not math.isnan(error) and high < 1 + MARGIN and low > 1 / (1 + MARGIN):
            verdict = "same"
        elif q <= 0.05 and beaten == len(placebos) and (low > max(chance) or high < min(chance)):
            verdict = "slower" if effect > 0 else "faster"
        mark = 0
        if verdict == "slower" and ratio >= 1.01:
            mark = 5 if ratio >= 1.05 else 1
        needed = (math.log(high / low) / 2 / math.log(1 + MARGIN)) ** 2
        wanted += [p, q, beaten, VERDICTS.index(verdict), mark, needed]
    return wanted


# ---- fits ---------------------------------------------------------------------------------------


def fits():
    for n, terms in ((3, 1), (3, 2), (5, 2), (8, 3), (12, 4), (20, 6), (4, 3)):
        for weighted in (0, 1):
            design = CHANCE.uniform(0, 5, (n, terms)).round(3)
            design[:, 0] = 1
            y = (design @ CHANCE.normal(0, 3, terms) + CHANCE.normal(0, 0.5, n)).round(4)
            weights = CHANCE.uniform(0.2, 4, n).round(3) if weighted else numpy.ones(n)
            series("x", design.ravel())
            series("y", y)
            series("w", weights if weighted else [])
            root = numpy.sqrt(weights)
            found, *_ = numpy.linalg.lstsq(design * root[:, None], y * root)
            left = weights * (y - design @ found) ** 2
            variance = left.sum() / (n - terms)
            covariance = variance * numpy.linalg.inv(design.T @ (design * weights[:, None]))
            error = numpy.sqrt(numpy.diag(covariance))
            mean = (weights * y).sum() / weights.sum()
            explained = 1 - left.sum() / (weights * (y - mean) ** 2).sum()
            at = design.mean(axis=0)
            for confidence in (0.9, 0.95):
                reach = scipy.stats.t.ppf(0.5 + confidence / 2, n - terms)
                wide = reach * math.sqrt(variance / 2 + at @ covariance @ at)
                value = at @ found
                wanted = [*found, *error, *(found - reach * error), *(found + reach * error)]
                wanted += [math.sqrt(variance), explained, value, value - wide, value + wide]
                row("fit", [terms, confidence], wanted, 1e-9)
            nonnegative, _ = scipy.optimize.nnls(design * root[:, None], y * root)
            if nonnegative.any():
                row("fit_nonnegative", [terms], nonnegative, 1e-9)
            else:
                row("fit_nonnegative", [terms], ["refused"])
    series("x", [1, 2, 2, 4, 3, 6, 4, 8])
    series("y", [1, 2, 3, 4])
    series("w", [])
    row("fit", [2, 0.95], ["refused"])  # columns that depend on each other
    row("fit", [4, 0.95], ["refused"])  # as many coefficients as samples, and more
    row("fit", [0, 0.95], ["refused"])
    row("fit", [1, 0.5], ["refused"])
    row("fit", [1, 1], ["refused"])
    for n in (2, 3, 4, 5, 8, 10, 20, 40):
        for ties in (0, 1):
            x = CHANCE.integers(0, 6, n) if ties else short(CHANCE.uniform(0, 9, n))
            y = CHANCE.integers(0, 4, n) if ties else short(CHANCE.normal(3, 1, n))
            series("x", x)
            series("y", y)
            for confidence in (0.8, 0.95):
                if len(set(x)) == 1:
                    row("theil_sen", [confidence], ["refused"])
                    continue
                slope = scipy.stats.theilslopes(y, x, confidence)
                wanted = [slope.slope, slope.low_slope, slope.high_slope, slope.intercept]
                row("theil_sen", [confidence], wanted, 1e-12)


# ---- distributions and p values -----------------------------------------------------------------


def distributions():
    for z in (-38, -20, -8, -3, -1.5, -0.1, 0, 1e-9, 0.7, 2, 5, 8, 40):
        row("normal_cdf", [z], [scipy.stats.norm.cdf(z)], 1e-300)
    for p in (0, 1e-300, 1e-20, 1e-9, 0.001, 0.3, 0.5, 0.7, 0.975, 0.9999, 1):
        row("normal_quantile", [p], [scipy.stats.norm.ppf(p)])
        for degrees in (1, 1.5, 2, 5, 11.3, 100, 1e6):
            if p == 0 or p >= 1e-20:
                row("t_quantile", [p, degrees], [scipy.stats.t.ppf(p, degrees)])
    for p in (-0.1, 1.1, math.nan):
        row("normal_quantile", [p], [math.nan])
        row("t_quantile", [p, 5], [math.nan])
    for t in (-1e9, -40, -3, -0.5, 0, 1e-6, 1, 2.5, 30):
        for degrees in (0.5, 1, 3, 10, 1000):
            row("t_cdf", [t, degrees], [scipy.stats.t.cdf(t, degrees)])
    row("t_cdf", [1, 0], [math.nan])
    for a in (0.3, 1, 2.5, 40, 3000):
        for b in (0.5, 1, 7, 500):
            for x in (0, 1e-12, 0.01, 0.3, 0.5, 0.9, 0.999, 1):
                row("beta_cdf", [x, a, b], [scipy.stats.beta.cdf(x, a, b)], 1e-15)
    for trials in (1, 2, 5, 20, 1000, 10**6):
        for hits in sorted({0, 1, trials // 3, trials - 1, trials}):
            for confidence in (0.9, 0.95, 0.999):
                # as binomtest's exact interval, whose root is found to 1e-12 only
                tail = (1 - confidence) / 2
                low = scipy.stats.beta.ppf(tail, hits, trials - hits + 1) if hits else 0
                high = scipy.stats.beta.isf(tail, hits + 1, trials - hits) if hits < trials else 1
                ends = (low, high)
                row("share_interval", [hits, trials, confidence], [hits / trials, *ends], 1e-13)
    for n in (1, 2, 5, 30):
        p = short(CHANCE.beta(0.4, 2, n))
        series("x", p)
        row("benjamini_hochberg", [], scipy.stats.false_discovery_control(p, method="bh"))
        series("x", [*p, math.nan, p[0]])
        adjusted = scipy.stats.false_discovery_control([*p, p[0]], method="bh")
        row("benjamini_hochberg", [], [*adjusted[:-1], math.nan, adjusted[-1]])


# ---- design -------------------------------------------------------------------------------------


def pilot(samples, counts, costs, half_width, budget):
    """Kalibera & Jones (2013), sections 6 and 7."""
    values = numpy.array(samples).reshape(counts[::-1])
    spreads = []
    for _ in counts:
        spreads.append(float(numpy.mean(values.var(axis=-1, ddof=1))))
        values = values.mean(axis=-1)
    variance = [spreads[0]] + [
        max(0.0, spreads[i] - spreads[i - 1] / counts[i - 1]) for i in range(1, len(counts))
    ]
    repeat, unit = [], costs[0]
    for i in range(len(counts) - 1):
        wanted = counts[i]
        if variance[i + 1] > 0:
            wanted = math.ceil(math.sqrt(costs[i + 1] / costs[i] * variance[i] / variance[i + 1]))
        repeat.append(min(10000, max(1, wanted)))
        unit = repeat[-1] * unit + costs[i + 1]
    one = sum(variance[i] / math.prod(repeat[i:]) for i in range(len(counts)))
    share = math.sqrt(one) / abs(float(values))

    def width(top):
        return scipy.stats.t.ppf(0.975, top - 1) * share / math.sqrt(top)

    top = 3
    while width(top) > half_width and top < 10**6:
        top = math.ceil(top * 1.02 + 0.5)
    if budget and top * unit > budget:
        top = max(3, math.floor(budget / unit))
    return [float(values), *variance, *repeat, top, width(top), top * unit]


def design():
    for counts in ((6,), (4, 3), (2, 5), (3, 2, 4)):
        upper = CHANCE.normal(0, 0.2, math.prod(counts) // counts[0]).repeat(counts[0])
        samples = short(10 + upper + CHANCE.normal(0, 0.5, math.prod(counts)))
        costs = short(CHANCE.uniform(0.1, 3, len(counts)), 3)
        series("x", samples)
        series("y", costs)
        series("w", counts)
        for half_width, budget in ((0.02, 0), (0.005, 0), (0.005, 60), (0.001, 2)):
            row("pilot", [half_width, budget], pilot(samples, counts, costs, half_width, budget))
    for compile_, run, n in ((5, 0.1, 0), (5, 0.1, 50), (0, 0.1, 3), (2.5, 1e-6, 1e6)):
        row("dominance", [compile_, run, n], [compile_ / (compile_ + n * run)])
    for compile_, run, n in ((-1, 1, 1), (1, 0, 1), (1, 1, -1), (math.inf, 1, 1), (1, math.nan, 1)):
        row("dominance", [compile_, run, n], [math.nan])
    for share in (0.5, 0.1, 0.01):
        for compile_, run in (((4, 3, 5), (0.1, 0.08, 0.15)), ((1, 1, 1), (0.5, 0.5, 0.5))):
            odds = (1 - share) / share
            wanted = [
                math.ceil(odds * compile_[0] / run[0]),
                math.ceil(odds * compile_[1] / run[2]),
                math.ceil(odds * compile_[2] / run[1]),
            ]
            row("break_even", [*compile_, *run, share], wanted)
    for share in (0, 1, -0.5):
        row("break_even", [1, 1, 1, 1, 1, 1, share], [math.nan] * 3)
    for lines in (
        ((1, 0.9, 1.1), (0.2, 0.19, 0.21), (5, 4.5, 5.5), (0.1, 0.09, 0.11)),
        ((2, 2, 2), (0.5, 0.5, 0.5), (3, 3, 3), (0.25, 0.25, 0.25)),
        ((1, 0.9, 1.1), (0.1, 0.09, 0.11), (5, 4.5, 5.5), (0.2, 0.19, 0.21)),
    ):
        (c1, e1, c2, e2) = (line[0] for line in lines)
        at = (c2 - c1) / (e1 - e2)
        if at <= 0:
            row("crossing", [v for line in lines for v in line], [math.nan] * 3)
            continue
        draws = [
            CHANCE.normal(middle, (high - low) / 2 / scipy.stats.norm.ppf(0.975), 400000)
            for middle, low, high in lines
        ]
        n = (draws[2] - draws[0]) / (draws[1] - draws[3])
        n = Distribution(n[n > 0])
        ends = []
        for level in (0.025, 0.975):
            gap = off(level, 2000)
            low, high = n.quantile(level - gap), n.quantile(level + gap)
            ends.append((low - 1e-12 * low, high + 1e-12 * high))
        row("crossing", [v for line in lines for v in line], [at, *ends])
    for grade, wanted, least in (("A", 0, 0.01), ("B", 0, 0.02), ("C", 0, 0.03), ("D", 0, 0.05),
                                 ("D", 0.06, 0.06), ("A", 0.005, 0.01), ("E", 0, 0.01),
                                 ("AB", 0, 0.01), ("none", 0.02, 0.02)):  # fmt: skip
        row(f"grade_margin:{grade}", [wanted], [least])
    steady = short(CHANCE.normal(10, 0.05, 40), 4)
    wild = short(CHANCE.lognormal(0, 1, 40), 4)
    for x in (steady, wild):
        series("x", x)
        for n in (9, 10, 11, 20, 21, 22, 24, 25):
            for half_width in (0, 0.02):
                for budget, most, seconds in (
                    (0, 0, 5),
                    (5, 0, 5),
                    (5, 0, 4.9),
                    (0, n, 1),
                    (0, n + 1, 1),
                ):
                    wanted = stop(x[:n], half_width, budget, most, seconds)
                    row("stop", [half_width, budget, 10, most, seconds, n], [wanted])


def stop(x, half_width, budget, most, seconds):
    """0 goes on, 1 narrow, 2 the budget, 3 as many as were allowed; looks after each tenth."""

    def narrow(part):
        ends = quantile_interval(part, 0.5, 0.95)
        middle = statistics.median(part)
        return ends[1] - ends[0] <= 2 * half_width * middle  # no interval: false

    looks = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 24, 26, 28, 30}
    if half_width and len(x) in looks and narrow(x) and narrow(x[: len(x) - len(x) // 3]):
        return 1
    if budget and seconds >= budget:
        return 2
    return 3 if most and len(x) >= most else 0


print("# Written by reference.py, which says what a line means.")
one_series()
shapes()
two_series()
processes()
fits()
distributions()
design()
