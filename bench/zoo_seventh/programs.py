"""Twelve loops over small state: epidemics, filters, cells, samplers, integrators, automata, paths,
control, rays, as their users write them. Written before small loops were worked on, and measured
once at the end: none was looked at in between.

`bench_zoo.py seventh_ --programs bench/zoo_seventh/programs.py --marks seventh --page docs/ZOO.md`
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "zoo"))

import jax
import jax.numpy as jnp
from jax import lax, random

import zoo
from zoo import array, indices, ints

zoo.PROGRAMS.clear()
add = zoo.family("seventh")


def epidemic(start, mixing):
    """Susceptible, infected, recovered in eight age groups, by Heun's steps."""

    def slope(state):
        s, i, r = state
        force = mixing @ i
        return jnp.stack([-s * force, s * force - 0.1 * i, 0.1 * i])

    def step(state, _):
        a = slope(state)
        b = slope(state + 0.05 * a)
        state = jnp.clip(state + 0.025 * (a + b), 0, 1)
        return state, state[1].sum()

    return lax.scan(step, jnp.abs(start), None, length=400)[1]


def kalman(z, move, noise):
    """Four states, two measurements, Joseph's form."""
    see = jnp.eye(2, 4)

    def step(state, z):
        x, p = state
        x, p = move @ x, move @ p @ move.T + 0.01 * jnp.eye(4)
        s = see @ p @ see.T + noise @ noise.T + jnp.eye(2)
        k = jnp.linalg.solve(s, see @ p).T
        x = x + k @ (z - see @ x)
        left = jnp.eye(4) - k @ see
        return (x, left @ p @ left.T + k @ k.T), x

    return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), z)[1]


def lstm_cell(x, w, u, b):
    def step(state, x):
        h, c = state
        gates = x @ w + h @ u + b
        i, f, o, g = jnp.split(gates, 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    return lax.scan(step, (jnp.zeros(8), jnp.zeros(8)), x)[0][0]


def metropolis(start):
    """A random walk on a double well in two dimensions."""
    log_p = lambda x: -((x[0] ** 2 - 1) ** 2) - 0.5 * (x[1] - x[0]) ** 2

    def step(state, key):
        x, p = state
        a, b = random.split(key)
        y = x + 0.5 * random.normal(a, (2,))
        q = log_p(y)
        taken = jnp.log(random.uniform(b)) < q - p
        return (jnp.where(taken, y, x), jnp.where(taken, q, p)), x[0]

    keys = random.split(random.PRNGKey(3), 400)
    return lax.scan(step, (start, log_p(start)), keys)[1]


def dormand_prince(y):
    """The pair of order five and four on Van der Pol's oscillator, its step by the error."""
    slope = lambda y: jnp.stack([y[1], 2 * (1 - y[0] ** 2) * y[1] - y[0]])

    def step(state):
        t, h, y, n = state
        k1 = slope(y)
        k2 = slope(y + h * (k1 / 5))
        k3 = slope(y + h * (3 / 40 * k1 + 9 / 40 * k2))
        k4 = slope(y + h * (44 / 45 * k1 - 56 / 15 * k2 + 32 / 9 * k3))
        k5 = slope(
            y + h * (19372 / 6561 * k1 - 25360 / 2187 * k2 + 64448 / 6561 * k3 - 212 / 729 * k4)
        )
        k6 = slope(
            y
            + h
            * (
                9017 / 3168 * k1
                - 355 / 33 * k2
                + 46732 / 5247 * k3
                + 49 / 176 * k4
                - 5103 / 18656 * k5
            )
        )
        high = y + h * (
            35 / 384 * k1 + 500 / 1113 * k3 + 125 / 192 * k4 - 2187 / 6784 * k5 + 11 / 84 * k6
        )
        k7 = slope(high)
        off = h * (
            71 / 57600 * k1
            - 71 / 16695 * k3
            + 71 / 1920 * k4
            - 17253 / 339200 * k5
            + 22 / 525 * k6
            - k7 / 40
        )
        error = jnp.sqrt(jnp.mean((off / (1e-6 + 1e-4 * jnp.abs(high))) ** 2)) + 1e-10
        good = error < 1
        return (
            t + jnp.where(good, h, 0),
            h * jnp.clip(0.9 * error**-0.2, 0.2, 5),
            jnp.where(good, high, y),
            n + 1,
        )

    start = (jnp.float32(0), jnp.float32(0.01), y + 1, 0)
    return lax.while_loop(lambda s: (s[0] < 20) & (s[3] < 2000), step, start)[2]


def five_bodies(q, p):
    mass = jnp.array([1.0, 0.1, 0.2, 0.05, 0.3])

    def pull(q):
        d = q[None] - q[:, None]
        r2 = jnp.sum(d * d, -1) + 0.05
        return jnp.einsum("ijk,ij,j->ik", d, r2**-1.5, mass)

    def step(state, _):
        q, p = state
        p = p + 0.005 * pull(q)
        q = q + 0.01 * p
        p = p + 0.005 * pull(q)
        return (q, p), 0.5 * jnp.sum(mass[:, None] * p * p)

    return lax.scan(step, (q, p), None, length=300)[1]


def automaton(cells):
    """Rule 110 on a ring of 64."""

    def step(cells, _):
        number = 4 * jnp.roll(cells, 1) + 2 * cells + jnp.roll(cells, -1)
        cells = (110 >> number) & 1
        return cells, cells.sum()

    return lax.scan(step, indices(cells, 2), None, length=300)[1]


def viterbi(change, seen):
    """The best path through twelve states, and back along it."""

    def forward(best, seen):
        each = best[:, None] + change
        return each.max(0) + seen, each.argmax(0)

    last, came = lax.scan(forward, jnp.zeros(12), seen)
    back = lambda state, came: (came[state], state)
    return lax.scan(back, last.argmax(), came, reverse=True)[1]


def control(goal):
    """A PID loop with limits around a motor with friction."""

    def step(state, goal):
        angle, speed, whole, before = state
        off = goal - angle
        whole = jnp.clip(whole + 0.01 * off, -1, 1)
        drive = jnp.clip(8 * off + 2 * whole + 0.5 * (off - before) / 0.01, -12, 12)
        speed = speed + 0.01 * (drive - 0.5 * speed - 0.2 * jnp.sign(speed))
        return (angle + 0.01 * speed, speed, whole, off), (angle, drive)

    zero = jnp.float32(0)
    return lax.scan(step, (zero, zero, zero, zero), goal)[1]


def ray_march(directions):
    """Sixteen rays marched to a torus above a floor, by distance."""
    directions = directions / jnp.linalg.norm(directions, axis=-1, keepdims=True)

    def distance(p):
        ring = jnp.sqrt(p[:, 0] ** 2 + p[:, 2] ** 2) - 1
        return jnp.minimum(jnp.sqrt(ring**2 + p[:, 1] ** 2) - 0.25, p[:, 1] + 1)

    def step(far, _):
        return far + distance(jnp.array([0.0, 1.0, -3.0]) + far[:, None] * directions), None

    return lax.scan(step, jnp.zeros(16), None, length=64)[0]


def moving_average(x):
    """Exponential means, variance and a running greatest of four series."""

    def step(state, x):
        mean, variance, most = state
        off = x - mean
        mean = mean + 0.1 * off
        variance = 0.9 * (variance + 0.1 * off * off)
        most = jnp.maximum(0.99 * most, jnp.abs(x))
        return (mean, variance, most), off / jnp.sqrt(variance + 1e-6) / (1 + most)

    return lax.scan(step, (jnp.zeros(4), jnp.ones(4), jnp.zeros(4)), x)[1]


def pendulum_ensemble(angles, speeds):
    """Forty damped and driven pendulums by symplectic steps."""

    def step(state, t):
        a, v = state
        v = 0.999 * v - 0.01 * jnp.sin(a) + 0.005 * jnp.cos(0.7 * t)
        return (a + 0.01 * v, v), None

    return lax.scan(step, (angles, speeds), 0.01 * jnp.arange(300.0))[0]


add("epidemic", epidemic, array(3, 8), array(8, 8))
add("kalman", kalman, array(200, 2), array(4, 4), array(2, 2))
add("lstm_cell", lstm_cell, array(150, 6), array(6, 32), array(8, 32), array(32))
add("metropolis", metropolis, array(2))
add("dormand_prince", dormand_prince, array(2))
add("five_bodies", five_bodies, array(5, 3), array(5, 3))
add("automaton", automaton, ints(64))
add("viterbi", viterbi, array(12, 12), array(100, 12))
add("control", control, array(500))
add("ray_march", ray_march, array(16, 3))
add("moving_average", moving_average, array(500, 4))
add("pendulum_ensemble", pendulum_ensemble, array(40), array(40))
