"""Sixteen programs of other fields: partial differential equations in three dimensions, finite
elements, tree ensembles, wavelets, image histograms, sorting networks, routing to experts, a
decoding step, hashes, paths in graphs. Ten, `fifth`, were measured and what made them slow was
repaired; six, `unseen`, were written at the same time, not looked at, and measured once at the end.

`bench_zoo.py fifth_ --programs bench/zoo_fifth/programs.py --marks fifth --page docs/ZOO.md`
`bench_zoo.py unseen_ --programs bench/zoo_fifth/programs.py --marks unseen --page docs/ZOO.md`
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
fifth = zoo.family("fifth")
unseen = zoo.family("unseen")


def heat_3d(u, source):
    """Seven-point stencil with a fixed border."""

    def step(_, u):
        inner = u[1:-1, 1:-1, 1:-1]
        around = (
            u[2:, 1:-1, 1:-1]
            + u[:-2, 1:-1, 1:-1]
            + u[1:-1, 2:, 1:-1]
            + u[1:-1, :-2, 1:-1]
            + u[1:-1, 1:-1, 2:]
            + u[1:-1, 1:-1, :-2]
        )
        return u.at[1:-1, 1:-1, 1:-1].set(inner + 0.1 * (around - 6 * inner) + source)

    return lax.fori_loop(0, 20, step, u)


def finite_elements(points, corners, u):
    """The stiffness of linear triangles times a vector: gathered, computed, scattered."""
    t = indices(corners, points.shape[0]).reshape(-1, 3)
    p = points[t]
    edge = p[:, [2, 0, 1]] - p[:, [1, 2, 0]]
    area = 0.5 * (edge[:, 2, 0] * edge[:, 1, 1] - edge[:, 2, 1] * edge[:, 1, 0])
    stiff = jnp.einsum("eid,ejd->eij", edge, edge) / (4 * jnp.abs(area) + 1e-3)[:, None, None]
    return jnp.zeros_like(u).at[t].add(jnp.einsum("eij,ej->ei", stiff, u[t]))


def tree_ensemble(x, thresholds, features, leaves):
    """100 trees of depth 6, each row of x walked through each tree."""
    features = indices(features, x.shape[1]).reshape(100, 63)
    rows = jnp.arange(x.shape[0])[:, None]
    trees = jnp.arange(100)[None]
    node = jnp.zeros((x.shape[0], 100), jnp.int32)
    for _ in range(6):
        right = x[rows, features[trees, node]] > thresholds[trees, node]
        node = 2 * node + 1 + right
    return leaves[trees, node - 63].sum(1)


def wavelet_levels(image):
    """Daubechies-4 along both axes, five levels."""
    low = jnp.array([0.4829629, 0.8365163, 0.22414387, -0.12940952])
    high = jnp.array([-0.12940952, -0.22414387, 0.8365163, -0.4829629])

    def split(x):
        taps = [jnp.roll(x, -k, -1)[..., ::2] for k in range(4)]
        return sum(c * t for c, t in zip(low, taps)), sum(c * t for c, t in zip(high, taps))

    kept = []
    for _ in range(5):
        a, d = split(image)
        (aa, ad), (da, dd) = split(a.T), split(d.T)
        kept += [jnp.abs(b).mean() for b in (ad, da, dd)]
        image = aa.T
    return image, jnp.stack(kept)


def equalised(image):
    """Histogram equalisation of a batch of images."""
    level = jnp.clip((image + 0.125) * 1024, 0, 255).astype(jnp.int32)

    def one(level):
        count = jnp.zeros(256, jnp.int32).at[level.reshape(-1)].add(1)
        below = jnp.cumsum(count)
        table = (below - below[0]) * 255 // jnp.maximum(level.size - below[0], 1)
        return table[level].astype(jnp.uint8)

    return jax.vmap(one)(level)


def bitonic_rows(x):
    n = x.shape[1]
    i = jnp.arange(n)
    k = 2
    while k <= n:
        j = k // 2
        while j:
            other = x[:, i ^ j]
            keep_low = ((i & k) == 0) == ((i & j) == 0)
            x = jnp.where(keep_low, jnp.minimum(x, other), jnp.maximum(x, other))
            j //= 2
        k *= 2
    return x


def routed_experts(x, gate, w_in, w_out):
    """Two of eight experts for a token, each expert with room for 128 of 512 tokens."""
    p = jax.nn.softmax(x @ gate)
    weight, expert = lax.top_k(p, 2)
    hot = jax.nn.one_hot(expert.T.reshape(-1), 8)
    place = (jnp.cumsum(hot, 0) - 1) * hot
    room = hot * (place < 128)
    send = room[..., None] * jax.nn.one_hot(place.sum(-1).astype(jnp.int32), 128)[:, None]
    send = send.reshape(2, -1, 8, 128)
    inside = jnp.einsum("ktec,td->ecd", send, x)
    made = jnp.einsum("ecf,efd->ecd", jax.nn.gelu(jnp.einsum("ecd,edf->ecf", inside, w_in)), w_out)
    return jnp.einsum("ktec,kt,ecd->td", send, weight.T, made)


def decoding_step(x, keys, values, wq, wk, wv, wo, at):
    """One token with rotary positions and a cache of 512, batch of 4."""
    at = 100 + at[0]
    norm = x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
    heads = lambda w: (norm @ w).reshape(4, 8, 64)
    turn = at * 10000.0 ** (-jnp.arange(32) / 32)
    c, s = jnp.cos(turn), jnp.sin(turn)

    def rotate(v):
        a, b = v[..., :32], v[..., 32:]
        return jnp.concatenate([a * c - b * s, b * c + a * s], -1)

    keys = lax.dynamic_update_slice(keys, rotate(heads(wk))[:, None], (0, at, 0, 0))
    values = lax.dynamic_update_slice(values, heads(wv)[:, None], (0, at, 0, 0))
    scores = jnp.einsum("bhd,bthd->bht", rotate(heads(wq)), keys) / 8
    scores = jnp.where(jnp.arange(512) <= at, scores, -jnp.inf)
    seen = jnp.einsum("bht,bthd->bhd", jax.nn.softmax(scores), values)
    return x + seen.reshape(4, 512) @ wo, keys, values


def count_sketch(words):
    """Four hashes of each word, counted in a table, and the least count of each."""
    w = words.astype(jnp.uint32)

    def mixed(seed):
        h = (w ^ seed) * jnp.uint32(0xCC9E2D51)
        h = (h << 15) | (h >> 17)
        h = h * jnp.uint32(0x1B873593)
        h = h ^ (h >> 16)
        return (h * jnp.uint32(0x85EBCA6B)) >> 21

    places = jnp.stack([mixed(jnp.uint32(s)) for s in (1, 77, 1234, 99991)])
    rows = jnp.arange(4)[:, None]
    table = jnp.zeros((4, 2048), jnp.int32).at[rows, places].add(1)
    return table[rows, places].min(0)


def shortest_paths(lengths, tails, heads):
    """Bellman and Ford over 30,000 edges of 3,000 places until nothing changes."""
    tails, heads = indices(tails, 3000), indices(heads + 7, 3000)
    lengths = jnp.abs(lengths)
    start = jnp.full(3000, jnp.inf).at[0].set(0)

    def step(state):
        far, _, n = state
        found = jax.ops.segment_min(far[tails] + lengths, heads, 3000)
        nearer = jnp.minimum(far, found)
        return nearer, jnp.any(nearer < far), n + 1

    return lax.while_loop(lambda s: s[1] & (s[2] < 100), step, (start, True, 0))[0]


fifth("heat_3d", heat_3d, array(64, 64, 64), array(62, 62, 62))
fifth("finite_elements", finite_elements, array(10_000, 2), ints(60_000), array(10_000))
fifth(
    "tree_ensemble",
    tree_ensemble,
    array(2000, 20),
    array(100, 63),
    ints(6300),
    array(100, 64),
)
fifth("wavelet_levels", wavelet_levels, array(512, 512))
fifth("equalised_images", equalised, array(8, 128, 128))
fifth("bitonic_rows", bitonic_rows, array(512, 64))
fifth(
    "routed_experts",
    routed_experts,
    array(512, 64),
    array(64, 8),
    array(8, 64, 128),
    array(8, 128, 64),
)
fifth(
    "decoding_step",
    decoding_step,
    array(4, 512),
    array(4, 512, 8, 64),
    array(4, 512, 8, 64),
    array(512, 512),
    array(512, 512),
    array(512, 512),
    array(512, 512),
    ints(1),
)
fifth("count_sketch", count_sketch, ints(100_000))
fifth("shortest_paths", shortest_paths, array(30_000), ints(30_000), ints(30_000))


# ---- not looked at before the end


def particle_filter(z, key):
    """Bootstrap filter with systematic resampling, 500 particles."""

    def step(state, z):
        x, key = state
        key, a, b = random.split(key, 3)
        x = 0.9 * x + 0.3 * random.normal(a, (500,))
        w = jnp.cumsum(jax.nn.softmax(-0.5 * ((z - x) / 0.2) ** 2))
        at = (jnp.arange(500) + random.uniform(b)) / 500
        x = x[jnp.clip(jnp.searchsorted(w, at), 0, 499)]
        return (x, key), x.mean()

    start = (jnp.zeros(500), random.PRNGKey(3))
    return lax.scan(step, start, z)[1] + key[0]


def leading_subspace(a):
    """Ten orthogonal iterations for the first eight singular vectors."""

    def step(q, _):
        q, r = jnp.linalg.qr(a.T @ (a @ q))
        return q, jnp.sqrt(jnp.abs(jnp.diagonal(r)))

    return lax.scan(step, jnp.eye(a.shape[1], 8), None, length=10)


def bilateral(image):
    padded = jnp.pad(image, 2, mode="reflect")
    n, m = image.shape
    total, weights = 0.0, 0.0
    for i in range(5):
        for j in range(5):
            there = padded[i : i + n, j : j + m]
            near = -((i - 2) ** 2 + (j - 2) ** 2) / 4.0
            w = jnp.exp(near - (there - image) ** 2 * 50)
            total, weights = total + w * there, weights + w
    return total / weights


def local_alignment(a, b):
    """Smith and Waterman's best score, one row of the table a step."""
    a, b = indices(a, 4), indices(b, 4)

    def row(above, letter):
        score = jnp.where(b == letter, 2.0, -1.0)
        diagonal = jnp.concatenate([jnp.zeros(1), above[:-1]]) + score
        best = jnp.maximum(jnp.maximum(diagonal, above - 1), 0)
        ramp = jnp.arange(b.shape[0], dtype=jnp.float32)
        best = lax.cummax(best + ramp) - ramp
        return best, best.max()

    return lax.scan(row, jnp.zeros(b.shape[0]), a)[1].max()


def stochastic_volatility(start):
    """20,000 paths of 50 steps of Heston's model, priced."""

    def step(state, key):
        s, v = state
        e = random.normal(key, (2, 20_000))
        root = jnp.sqrt(jnp.maximum(v, 0))
        s = s * jnp.exp(-0.5 * v * 0.02 + root * 0.1414 * e[0])
        v = v + 2 * (0.04 - v) * 0.02 + 0.3 * root * 0.1414 * (-0.7 * e[0] + 0.714 * e[1])
        return (s, v), None

    begin = (jnp.full(20_000, 1 + start[0]), jnp.full(20_000, 0.04))
    (s, _), _ = lax.scan(step, begin, random.split(random.PRNGKey(0), 50))
    return jnp.maximum(s - 1, 0).mean()


def reaction_diffusion(u, v):
    def around(x):
        return sum(jnp.roll(x, d, k) for d in (1, -1) for k in (0, 1)) - 4 * x

    def step(state, _):
        u, v = state
        r = u * v * v
        return (
            u + 0.16 * around(u) - r + 0.035 * (1 - u),
            v + 0.08 * around(v) + r - 0.1 * v,
        ), None

    return lax.scan(step, (u + 1, v + 0.5), None, length=50)[0]


unseen("particle_filter", particle_filter, array(100), array(1))
unseen("leading_subspace", leading_subspace, array(300, 100))
unseen("bilateral_5x5", bilateral, array(256, 256))
unseen("local_alignment", local_alignment, ints(200), ints(300))
unseen("stochastic_volatility", stochastic_volatility, array(1))
unseen("reaction_diffusion", reaction_diffusion, array(128, 128), array(128, 128))
