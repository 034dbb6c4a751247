#!/usr/bin/env python3
"""Programs on eight devices against the same on one: what sharding says changes where numbers are,
never what they are. TAP.

    jax_devices.py PLUGIN.so

Skipped where jax is not installed.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys

if importlib.util.find_spec("jax") is None:
    print("1..0 # SKIP jax is not installed for this Python")
    sys.exit(0)

os.environ.update(
    JAX_PLATFORMS="hloscope,cpu",
    PJRT_NAMES_AND_LIBRARY_PATHS=f"hloscope:{sys.argv[1]}",
    HLOSCOPE_DEVICE_COUNT="8",
)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import itertools  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec as P  # noqa: E402
from tap import main, test  # noqa: E402

RNG = np.random.default_rng(0)
AUTO = (jax.sharding.AxisType.Auto,) * 2
MESH = jax.make_mesh((4, 2), ("x", "y"), axis_types=AUTO)
SPECS = [
    P(),
    P("x"),
    P("y"),
    P(None, "x"),
    P("x", "y"),
    P("y", "x"),
    P(("x", "y")),
    P(None, ("y", "x")),
]


def put(x, spec, mesh=MESH):
    return jax.device_put(x, NamedSharding(mesh, spec))


def close(a, b, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), atol=tolerance, rtol=tolerance)


def agree(function, *arguments, tolerance=1e-5):
    """`arguments`: (array, spec)."""
    expected = jax.tree.leaves(
        jax.jit(function)(*(jax.device_put(a, jax.devices()[0]) for a, _ in arguments))
    )
    found = jax.tree.leaves(jax.jit(function)(*(put(a, s) for a, s in arguments)))
    for e, f in zip(expected, found, strict=True):
        close(f, e, tolerance)
        for shard in f.addressable_shards:  # each device holds the part that its sharding says
            close(shard.data, np.asarray(e)[shard.index], tolerance)


A = RNG.standard_normal((16, 8)).astype(np.float32)
B = RNG.standard_normal((8, 16)).astype(np.float32)
OPERATIONS = {
    "elementwise": lambda a, b: jnp.tanh(a) * 2 + b.T,
    "dot": lambda a, b: a @ b,
    "dot and sums": lambda a, b: ((a @ b).sum(0), (a @ b).max(1), a.sum()),
    "shapes": lambda a, b: (
        a.T,
        a.reshape(4, 32),
        a.reshape(16, 2, 4),
        a.reshape(-1),
        b[None],
        jnp.broadcast_to(a[:, :1], (16, 8)),
    ),
    "slices": lambda a, b: (
        a[:, 1:3],
        a[2:],
        a[3],
        b[:, 0],
        a[::2],
        a[-1, :],
        jax.lax.dynamic_slice(a, (2, 0), (4, 8)),
    ),
    "pads and joins": lambda a, b: (
        jnp.concatenate([a, b.T], 0),
        jnp.concatenate([a, b.T], 1),
        jnp.pad(a, ((0, 0), (1, 2))),
        jnp.flip(a, 0),
    ),
    "iota": lambda a, b: (
        jnp.arange(16) + a[:, 0],
        a + jnp.arange(8.0),
        jax.lax.broadcasted_iota(jnp.int32, (16, 8), 0) * a,
    ),
    "sorts": lambda a, b: (jnp.sort(a, 0), jnp.argsort(a, 1), jax.lax.top_k(a, 3)),
    "gathers": lambda a, b: (
        a[jnp.array([3, 1, 7])],
        a[jnp.array([3, 1]), jnp.array([0, 5])],
        jnp.take_along_axis(a, jnp.argsort(a, 1), 1),
        a[:, jnp.array([1, 1])],
    ),
    "scatters": lambda a, b: (
        a.at[3].set(1.0),
        a.at[:, jnp.array([2, 2])].add(1.0),
        a.at[jnp.array([1, 2])].multiply(b[:2, :8]),
    ),
    "loops": lambda a, b: (
        jax.lax.fori_loop(0, 3, lambda i, x: x * 1.5 + i, a),
        jax.lax.scan(lambda c, x: (c + x, c * x), a[0], a),
    ),
    "branches": lambda a, b: jax.lax.cond(a[0, 0] > 0, lambda x: x + 1, lambda x: x - 1, a),
    "linear algebra": lambda a, b: (
        jnp.linalg.svd((a @ b).reshape(4, 8, 8), compute_uv=False),
        jnp.linalg.cholesky(a.T @ a + 20 * jnp.eye(8)),
    ),
    "random": lambda a, b: a + jax.random.normal(jax.random.key(1), a.shape),
    "windows": lambda a, b: jax.lax.reduce_window(
        a, -jnp.inf, jax.lax.max, (1, 2), (1, 2), "VALID"
    ),
    "convolution": lambda a, b: jax.lax.conv_general_dilated(
        a.reshape(16, 1, 8), b[:, None, :3], (1,), "SAME"
    ),
    "fft": lambda a, b: jnp.abs(jnp.fft.fft(a)),
    "gradient": lambda a, b: jax.grad(lambda x, y: jnp.sum(jnp.tanh(x @ y) ** 2), (0, 1))(a, b),
    "call": lambda a, b: jax.jit(lambda x: jax.nn.softmax(x))(a) @ jax.nn.gelu(b),
}


@test
def operations_agree_however_their_operands_are_cut():
    for name, operation in OPERATIONS.items():
        for i, j in itertools.product(range(len(SPECS)), repeat=2):
            if (i + 3 * j) % 5 == 0:
                try:
                    agree(
                        operation,
                        (A, SPECS[i]),
                        (B, SPECS[j]),
                        tolerance=1e-3 if name in ("linear algebra", "gradient") else 1e-5,
                    )
                except Exception as error:
                    raise AssertionError(f"{name}, {SPECS[i]}, {SPECS[j]}") from error


@test
def results_are_cut_as_their_operands_say():
    def cut(function, *arguments):
        return [
            leaf.sharding.spec
            for leaf in jax.tree.leaves(jax.jit(function)(*(put(a, s) for a, s in arguments)))
        ]

    both = P("x", "y")
    assert cut(lambda a: (a * 2, a.T, a[:, 0], a.sum(0), a.reshape(4, 32)), (A, both)) == [
        both,
        P("y", "x"),
        P("x"),
        P("y"),
        P("x"),
    ]
    assert cut(lambda a, b: a @ b, (A, P("x")), (B, P(None, "y"))) == [both]
    assert cut(lambda a: jax.lax.fori_loop(0, 2, lambda i, x: x + 1, a), (A, both)) == [both]
    assert cut(
        lambda a: jax.lax.with_sharding_constraint(a + 1, NamedSharding(MESH, P("y"))) * 2,
        (A, P("x")),
    ) == [P("y")]


@test
def devices_do_their_share_only():
    text = (
        jax.jit(lambda a: jnp.tanh(a) + jnp.arange(8.0))
        .lower(put(A, P("x", "y")))
        .compile()
        .as_text()
    )
    assert "f32[16,8]" not in text and "all-gather" not in text, text


@test
def out_shardings_and_donation_hold():
    double = jax.jit(lambda a: a * 2, out_shardings=NamedSharding(MESH, P("x")), donate_argnums=0)
    x = put(A, P("x"))
    y = double(x)
    assert x.is_deleted() and y.sharding.spec == P("x")
    close(y, A * 2)
    z = jax.jit(lambda a: a * 2, out_shardings=NamedSharding(MESH, P(None, "y")))(put(A, P("x")))
    assert z.sharding.spec == P(None, "y")
    close(z, A * 2)


@test
def manual_regions_stand_among_automatic_ones():
    def body(a, b):
        return jax.lax.psum(a @ b, "y"), jax.lax.all_gather(a, "x", tiled=True)

    mapped = jax.shard_map(
        body,
        mesh=MESH,
        in_specs=(P("x", "y"), P("y")),
        out_specs=(P("x"), P(None, "y")),
        check_vma=False,
    )
    found = jax.jit(lambda a, b: [v + 1 for v in mapped(jnp.tanh(a), b * 2)])(
        put(A, P("x")), put(B, P(None, "x"))
    )
    close(found[0], np.tanh(A) @ (B * 2) + 1)
    close(found[1], np.tanh(A) + 1)
    partly = jax.shard_map(
        lambda a: jax.lax.psum(a, "x"), mesh=MESH, in_specs=P("x"), out_specs=P(), axis_names={"x"}
    )
    close(jax.jit(partly)(put(A, P("x", "y"))), A.reshape(4, 4, 8).sum(0))


@test
def training_steps_agree_with_one_device():
    def loss(parameters, x, y):
        for w in parameters[:-1]:
            x = jax.nn.relu(x @ w)
        return jnp.mean((x @ parameters[-1] - y) ** 2)

    @jax.jit
    def step(parameters, x, y):
        value, gradients = jax.value_and_grad(loss)(parameters, x, y)
        return [p - 0.1 * g for p, g in zip(parameters, gradients)], value

    x, y = (
        RNG.standard_normal((32, 8)).astype(np.float32),
        RNG.standard_normal((32, 4)).astype(np.float32),
    )
    weights = [
        RNG.standard_normal(s).astype(np.float32) * 0.3 for s in ((8, 16), (16, 16), (16, 4))
    ]
    one = weights
    for specs in ([P()] * 3, [P(None, "y"), P("y"), P()], [P("x", "y")] * 3):
        one, many = weights, [put(w, s) for w, s in zip(weights, specs)]
        xs, ys = put(x, P("x")), put(y, P("x"))
        for _ in range(3):
            one, expected = step(one, x, y)
            many, found = step(many, xs, ys)
            close(found, expected)
        for a, b in zip(many, one):
            close(a, b)


@test
def callbacks_on_whole_arrays_are_called_once():
    calls = []

    def host(x):
        calls.append(x.shape)
        return x * 2

    @jax.jit
    def f(x):
        y = jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x + 1)
        jax.debug.callback(lambda v: calls.append(float(v)), y.sum())
        return jnp.tanh(y)

    close(f(put(A, P("x", "y"))), np.tanh((A + 1) * 2))
    jax.effects_barrier()
    assert len(calls) == 2 and calls[0] == (16, 8), calls


@test
def partitioned_callbacks_get_the_devices_parts():
    shapes, sums = [], []

    @jax.jit
    def f(x):
        y = x * 2
        jax.debug.callback(
            lambda v: (shapes.append(v.shape), sums.append(float(v.sum()))), y, partitioned=True
        )
        return y + 1

    close(f(put(A, P("x", "y"))), A * 2 + 1)
    jax.effects_barrier()
    assert shapes == [(4, 4)] * 8, shapes
    close(sum(sums), 2 * A.sum(), 1e-4)


@test
def shardings_are_told_when_a_program_is_compiled():
    told = []

    def f(x):
        y = jnp.tanh(x) @ jnp.ones((8, 6))
        jax.debug.inspect_array_sharding(y, callback=told.append)
        return jax.shard_map(
            lambda v: (jax.debug.inspect_array_sharding(v, callback=told.append), v + 1)[1],
            mesh=MESH,
            in_specs=P("x"),
            out_specs=P("x"),
        )(y)

    with jax.set_mesh(MESH):
        program = jax.jit(f).lower(put(A, P("x", None))).compile()
    assert [s.spec for s in told] == [P("x"), P()] and all(len(s.device_set) == 8 for s in told), (
        told
    )
    close(program(put(A, P("x", None))), np.tanh(A) @ np.ones((8, 6)) + 1)
    assert len(told) == 2, told


@test
def donated_parts_of_another_shape_are_taken():
    f = jax.jit(
        lambda x: x * 2,
        donate_argnums=0,
        in_shardings=NamedSharding(MESH, P("x", None)),
        out_shardings=NamedSharding(MESH, P(None, "x")),
    )
    x = put(A, P("x", None))
    close(f(x), A * 2)
    assert x.is_deleted()


@test
def addends_of_unreduced_arrays_sum_up():
    mesh = jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))
    with jax.set_mesh(mesh):
        a, b = jax.device_put(A[:8], P(None, "x")), jax.device_put(B, P("x", None))
        y = jax.jit(lambda a, b: jnp.einsum("ij,jk->ik", a, b, out_sharding=P(unreduced={"x"})))(
            a, b
        )
        close(sum(np.asarray(s.data) for s in y.addressable_shards), A[:8] @ B)
        close(jax.reshard(y, P("x")), A[:8] @ B)


@test
def values_of_a_group_are_cut_alike():
    try:
        from jax.experimental.shard_alike import shard_alike
    except ModuleNotFoundError:  # JAX 0.12 has it no more
        return

    @jax.jit
    def f(x):
        y = x * 2
        return shard_alike(x, jnp.arange(16.0).reshape(16, 1) * jnp.ones((1, 8)))[1] + 0 * y[0, 0]

    y = f(put(A, P("x", "y")))
    assert y.sharding.spec == P("x", "y"), y.sharding


@test
def an_argument_that_comes_back_is_cut_as_the_result():
    explicit = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))
    with jax.set_mesh(explicit):
        x = jax.device_put(np.arange(8.0, dtype=np.float32), P("x"))
        for spec in (P(unreduced={"x"}), P("x"), P()):
            out = jax.jit(
                jax.shard_map(lambda a: a, in_specs=P("x"), out_specs=spec, check_vma=False)
            )(x)
            assert out.sharding.is_equivalent_to(NamedSharding(explicit, spec), 1), (
                spec,
                out.sharding,
            )
        whole = jax.device_put(np.arange(8.0, dtype=np.float32), P())
        twice = jax.jit(
            jax.shard_map(lambda a: a, in_specs=P(), out_specs=P("x"), check_vma=False)
        )(whole)
        close(twice, np.concatenate([whole, whole]))


@test
def nested_smap_cuts_by_both_axes():
    with jax.set_mesh(MESH):
        x = put(np.arange(32.0, dtype=np.float32).reshape(8, 4), P("x", "y"))
        inner = lambda a: jax.smap(lambda b: b * b, in_axes=0, out_axes=0, axis_name="y")(a)
        close(jax.smap(inner, in_axes=0, out_axes=0, axis_name="x")(x), np.asarray(x) ** 2)


@test
def eight_devices_as_xla_cpu_is_asked_for_them():
    program = (
        "import sys, jax\nif len(sys.argv) > 1: jax.config.update('jax_num_cpu_devices',"
        " int(sys.argv[1]))\nprint(len(jax.devices()),"
        " jax.devices()[0].memory_stats()['bytes_reservable_limit'] > 0)"
    )
    package = str(pathlib.Path(__file__).resolve().parents[2] / "python")
    base = {
        name: value
        for name, value in os.environ.items()
        if name not in ("HLOSCOPE_DEVICE_COUNT", "XLA_FLAGS")
    }
    force = "--xla_force_host_platform_device_count=8"
    for wanted, arguments, variables in (
        ("1", [], {}),
        ("8", [], {"XLA_FLAGS": force}),
        ("8", [], {"XLA_FLAGS": f"--xla_cpu_enable_fast_math=false {force}"}),
        ("3", [], {"XLA_FLAGS": force, "HLOSCOPE_DEVICE_COUNT": "3"}),
        ("4", ["4"], {"XLA_FLAGS": force, "PYTHONPATH": package}),
        ("5", ["5"], {"PYTHONPATH": package}),
    ):
        made = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            env={**base, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )
        assert made.stdout == f"{wanted} True\n", (
            wanted,
            variables,
            made.stdout,
            made.stderr[-500:],
        )


@test
def linear_algebra_without_the_package():
    program = (
        "import jax, jax.numpy as jnp, numpy as np\na = np.diag(np.arange(1, 5,"
        " dtype=np.float32))\nprint(jax.default_backend(), jnp.linalg.eigh(a)[0], jnp.linalg.svd(a,"
        " compute_uv=False), jnp.linalg.eig(a)[0].real, jax.scipy.linalg.schur(a)[0].diagonal())"
    )
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    made = subprocess.run(
        [sys.executable, "-c", program],
        env={**plain, "JAX_PLATFORMS": "hloscope", "HLOSCOPE_PLATFORM_NAME": "cpu"},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert made.stdout == "cpu [1. 2. 3. 4.] [4. 3. 2. 1.] [1. 2. 3. 4.] [1. 2. 3. 4.]\n", (
        made.stdout,
        made.stderr[-500:],
    )


if __name__ == "__main__":
    sys.exit(main())
