#!/usr/bin/env python3
"""What JAX has no rule for on a platform of its own: linear algebra, callbacks, branches for CPUs,
handlers of the FFI, donation. TAP.

    jax_rules.py PLUGIN.so

Skipped where jax is not installed.
"""

import importlib.util
import os
import pathlib
import sys

if importlib.util.find_spec("jax") is None:
    print("1..0 # SKIP jax is not installed for this Python")
    sys.exit(0)

os.environ.update(
    JAX_PLATFORMS="hloscope,cpu", PJRT_NAMES_AND_LIBRARY_PATHS=f"hloscope:{sys.argv[1]}"
)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.experimental import io_callback  # noqa: E402
from tap import main, test  # noqa: E402

RNG = np.random.default_rng(0)


def matrices(dtype, *shape):
    x = RNG.standard_normal(shape)
    return (
        x + 1j * RNG.standard_normal(shape) if np.issubdtype(dtype, np.complexfloating) else x
    ).astype(dtype)


def close(a, b, tolerance=2e-5):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), atol=tolerance, rtol=tolerance)


def adjoint(x):
    return np.conj(np.swapaxes(np.asarray(x), -1, -2))


@test
def factorisations_multiply_out():
    for dtype in (np.float32, np.complex64):
        x = matrices(dtype, 2, 5, 5)
        hermitian = x + adjoint(x)
        w, v = map(np.asarray, jnp.linalg.eigh(hermitian))
        close(v * w[:, None, :] @ adjoint(v), hermitian)
        w, v = map(np.asarray, jnp.linalg.eig(x))
        close(x @ v, v * w[:, None, :], 1e-4)
        u, s, vt = map(np.asarray, jnp.linalg.svd(matrices(dtype, 2, 5, 3), full_matrices=False))
        assert u.shape == (2, 5, 3) and vt.shape == (2, 3, 3) and (np.diff(s) <= 0).all()
        q, r = map(np.asarray, jnp.linalg.qr(x))
        close(q @ r, x)
        q, r, p = map(np.asarray, jax.scipy.linalg.qr(x[0], pivoting=True))
        close(q @ r, x[0][:, p])
        t, z = map(np.asarray, jax.lax.linalg.schur(x))
        close(z @ t @ adjoint(z), x, 1e-4)
        close(jnp.linalg.solve(x, x), np.broadcast_to(np.eye(5), x.shape), 1e-3)
        positive = hermitian @ adjoint(hermitian) + np.eye(5, dtype=dtype)
        lower = np.asarray(jnp.linalg.cholesky(positive))
        close(lower @ adjoint(lower), positive, 1e-4)


@test
def arrays_go_out_by_dlpack_without_a_copy():
    x = jnp.arange(12.0).reshape(3, 4)
    y = np.from_dlpack(x)
    assert y.__array_interface__["data"][0] == x.unsafe_buffer_pointer()
    np.testing.assert_array_equal(y, np.arange(12.0, dtype=np.float32).reshape(3, 4))
    del x
    assert y[2, 3] == 11.0


@test
def approximate_top_k_is_exact():
    x = matrices(np.float32, 3, 50)
    values, indices = map(np.asarray, jax.lax.approx_max_k(x, 4))
    order = np.argsort(-x, axis=-1)[:, :4]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, -1))
    values, _ = map(np.asarray, jax.lax.approx_min_k(x.T, 2, reduction_dimension=0))
    np.testing.assert_array_equal(values, np.sort(x.T, axis=0)[:2])


@test
def unknown_custom_calls_are_refused_when_compiled():
    lowered = jax.jit(
        lambda x: jax.ffi.ffi_call("TopK2", jax.ShapeDtypeStruct((3,), np.float32))(x)
    ).lower(jnp.ones(3))
    try:
        lowered.compile()
    except jax.errors.JaxRuntimeError as error:
        assert "TopK2" in str(error) and "did you mean TopK?" in str(error), error
    else:
        raise AssertionError("compiled")


@test
def rules_that_a_program_has_for_cpus_are_ours():
    from jax.extend.core import Primitive
    from jax.interpreters import mlir

    twice = Primitive("twice_for_cpus")
    twice.def_abstract_eval(lambda x: x)
    twice.def_impl(lambda x: jax.jit(twice.bind)(x))
    mlir.register_lowering(
        twice, mlir.lower_fun(lambda x: 2 * x, multiple_results=False), platform="cpu"
    )
    assert float(jax.jit(twice.bind)(jnp.float32(21))) == 42


@test
def gradients_of_linear_algebra_agree_with_the_cpu():
    def f(a):
        return (
            jnp.sum(jnp.linalg.eigh(a + a.T)[0] ** 2)
            + jnp.linalg.slogdet(a)[1]
            + jnp.sum(jnp.linalg.svd(a, compute_uv=False))
        )

    x = matrices(np.float32, 4, 4)
    here = jax.jit(jax.grad(f))(x)
    with jax.default_device(jax.devices("cpu")[0]):
        close(here, jax.jit(jax.grad(f))(x), 1e-3)


@test
def callbacks_run_in_order_and_return():
    seen = []

    def f(x):
        for i in range(3):
            io_callback(lambda v, i=i: seen.append((i, float(v))), None, x + i, ordered=True)
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    close(jax.jit(f)(jnp.float32(2)), np.sin(np.float32(2)))
    jax.effects_barrier()
    assert seen == [(0, 2.0), (1, 3.0), (2, 4.0)], seen
    seen.clear()
    jax.vmap(lambda x: jax.debug.callback(lambda v: seen.append(float(v)), x))(jnp.arange(4.0))
    jax.effects_barrier()
    assert sorted(seen) == [0.0, 1.0, 2.0, 3.0], seen


@test
def an_exception_in_a_callback_is_an_error_of_the_call():
    def bad(x):
        raise ValueError("as was asked")

    try:
        jax.block_until_ready(
            jax.jit(lambda x: jax.pure_callback(bad, jax.ShapeDtypeStruct((), np.float32), x))(
                jnp.float32(1)
            )
        )
    except jax.errors.JaxRuntimeError as error:
        assert "as was asked" in str(error), error
    else:
        raise AssertionError("no error")
    close(jnp.float32(1) + 1, 2)


@test
def branches_for_cpus_are_ours():
    def f(x):
        return jax.lax.platform_dependent(x, cpu=jnp.sin, tpu=jnp.cos, default=jnp.tan)

    close(jax.jit(f)(jnp.float32(1)), np.sin(np.float32(1)))


@test
def handlers_of_the_ffi_are_called():
    from jaxlib import lapack

    lapack._lapack.initialize()
    jax.ffi.register_ffi_target(
        "rules_test_getrf", lapack._lapack.registrations()["lapack_sgetrf_ffi"], platform="hloscope"
    )
    x = matrices(np.float32, 3, 3)
    column_major = (1, 0)  # dimensions from major to minor
    call = jax.ffi.ffi_call(
        "rules_test_getrf",
        (
            jax.ShapeDtypeStruct((3, 3), np.float32),
            jax.ShapeDtypeStruct((3,), np.int32),
            jax.ShapeDtypeStruct((), np.int32),
        ),
        input_layouts=[column_major],
        output_layouts=[column_major, None, None],
    )
    lu, pivots, info = map(np.asarray, jax.jit(call)(x))
    lower, upper = np.tril(lu, -1) + np.eye(3), np.triu(lu)
    order = np.arange(3)
    for i, p in enumerate(pivots):
        order[[i, p - 1]] = order[[p - 1, i]]
    assert info == 0
    close(lower @ upper, x[order])


@test
def what_nobody_registered_is_refused_by_name():
    call = jax.ffi.ffi_call("rules_test_nobody", jax.ShapeDtypeStruct((), np.float32))
    try:
        jax.jit(call)(jnp.float32(1))
    except jax.errors.JaxRuntimeError as error:
        assert "rules_test_nobody" in str(error) and "UNIMPLEMENTED" in str(error), error
    else:
        raise AssertionError("no error")


@test
def donated_arguments_are_gone():
    x = jnp.ones(8)
    jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted()


sys.exit(main())
