"""Lowering rules for primitives that JAX has no default rule for on a new platform.

Linear algebra is lowered as JAX does on CPUs, to custom calls named lapack_<routine>_ffi: the
device runs them with OpenBLAS or LAPACK, and where neither is installed with the routines that
SciPy brings (JAX needs SciPy, so they are there). Callbacks are lowered to a custom call of our
own.

Everything here is looked up by name when it is needed: what another version of JAX does not have is
left out, and JAX then names the primitive.
"""

import ctypes

PLATFORM = "hloscope"

# Primitives whose rule for CPUs is ours as well; jax._src.lax.linalg, jax._src.debugging.
LINALG = (
    "cholesky", "eig", "eigh", "geqp3", "geqrf", "hessenberg", "householder_product", "lu", "ormqr", "schur", "svd", "triangular_solve",
    "tridiagonal", "tridiagonal_solve",
)  # fmt: skip
CALLBACKS = ("check", "debug_callback", "debug_print", "spsolve")
# Rules for CPUs that are quicker than the default and use nothing but plain operations.
PLAIN = ("threefry2x32", "random_gamma", "select_and_scatter_add")

_library = None


def register(path):
    """Adds the rules; `path` is the plugin's library. A second call does nothing."""
    global _library
    if _library is not None:
        return
    _library = ctypes.CDLL(path)
    from jax._src.interpreters import mlir

    rules = mlir._platform_specific_lowerings
    ours = rules[PLATFORM] = _Rules(rules.setdefault("cpu", {}), rules.get(PLATFORM, {}))
    for primitive, rule in list(rules.get("cpu", {}).items()):
        if primitive in ours:
            continue
        if primitive.name in LINALG:
            ours[primitive] = _with_lapack(rule)
        elif primitive.name in CALLBACKS or primitive.name in PLAIN:
            ours[primitive] = rule
    from . import arrays, callbacks, ffi

    parts = (
        lambda: _choose_cpu_branches(mlir, ours),
        lambda: _run_custom_partitioning_whole(mlir, ours),
        lambda: callbacks.install(_library),
        lambda: _inspect_shardings(mlir, ours, callbacks),
        lambda: ffi.install(_library),
        lambda: arrays.install(PLATFORM),
    )
    for part in parts:
        try:
            part()
        except (
            AttributeError,
            ImportError,
            KeyError,
        ):  # a JAX that keeps it elsewhere: JAX names what it then cannot lower
            continue


def _is_of_jax(rule):
    function = _function(rule)
    function = getattr(function, "func", function)  # of a functools.partial
    return (getattr(function, "__module__", None) or "").split(".")[0] in ("jax", "jaxlib")


class _Rules(dict):
    """Our rules; of the rules for CPUs those, too, that a program adds: what is written for CPUs is
    ours, unless the program names us.

    JAX's own rules for CPUs that are not named above stay theirs: the rules for all platforms give
    programs that are compiled better here.
    """

    def __init__(self, cpu, known):
        super().__init__(known)
        self._cpu, self._theirs = cpu, {p for p, rule in cpu.items() if _is_of_jax(rule)}

    def __missing__(self, primitive):
        if primitive in self._theirs:
            raise KeyError(primitive)
        return self._cpu[primitive]

    def __contains__(self, primitive):
        return super().__contains__(primitive) or (
            primitive in self._cpu and primitive not in self._theirs
        )

    def get(self, primitive, default=None):
        return self[primitive] if primitive in self else default


def _choose_cpu_branches(mlir, ours):
    """jax.lax.platform_dependent: what is written for CPUs is ours too, unless the program names
    us."""
    try:
        from jax._src.lax.control_flow import conditionals

        index, cond = conditionals.platform_index_p, conditionals.cond_p
        index_rule, cond_rule = mlir._lowerings[index], mlir._lowerings[cond]
    except (ImportError, AttributeError, KeyError):
        return

    def with_us(platforms):
        if platforms is None or any(p is not None and PLATFORM in p for p in platforms):
            return platforms
        return tuple(p if p is None or "cpu" not in p else (*p, PLATFORM) for p in platforms)

    def change(name):
        return lambda params: (
            {**params, name: with_us(params[name])} if params.get(name) is not None else params
        )

    ours[index] = _wrapped(index_rule, change("platforms"))
    ours[cond] = _wrapped(cond_rule, change("branches_platforms"))


def _run_custom_partitioning_whole(mlir, ours):
    """jax.experimental.custom_partitioning says how XLA's partitioner may cut a function; the
    function itself is always right, and runs here."""
    try:
        from jax._src import core
        from jax._src.custom_partitioning import custom_partitioning_p as primitive
    except (ImportError, AttributeError):
        return

    def lower(ctx, *values, call, **_):
        return mlir.lower_fun(core.jaxpr_as_fun(call), multiple_results=True)(ctx, *values)

    entry = getattr(mlir, "LoweringRuleEntry", None)
    ours[primitive] = entry(lower, True) if entry else lower


def _inspect_shardings(mlir, ours, callbacks):
    try:
        from jax._src.debugging import inspect_sharding_p as primitive
    except ImportError:
        return
    entry = getattr(mlir, "LoweringRuleEntry", None)
    ours[primitive] = (
        entry(callbacks.lower_inspect_sharding, True) if entry else callbacks.lower_inspect_sharding
    )


def _function(rule):
    return rule.rule if hasattr(rule, "rule") else rule


def _wrapped(rule, change, before=lambda: None):
    """The rule with other parameters; `before` runs first."""
    import dataclasses

    def lower(ctx, *args, **params):
        before()
        return _function(rule)(ctx, *args, **change(params))

    return dataclasses.replace(rule, rule=lower) if dataclasses.is_dataclass(rule) else lower


def _with_lapack(rule):
    """The rule, which sees to it that LAPACK's routines are there by the time that the program
    runs."""
    return _wrapped(rule, lambda params: params, _provide_lapack)


_provided = False
_ROUTINES = (
    "potrf getrf geqrf geqp3 geev gesdd gesvd gees gehrd gtsv".split(),
    "orgqr ormqr syevd sytrd".split(),
    "ungqr unmqr heevd hetrd".split(),
)


def _provide_lapack():
    global _provided
    if _provided:
        return
    _provided = True
    try:
        ctypes.CDLL("libopenblas.so.0")
        return  # the device finds it by itself
    except OSError:
        pass
    try:
        from scipy.linalg import cython_blas, cython_lapack
    except ImportError:
        return  # the device names the routine that it misses
    both, real, complex_ = _ROUTINES
    for letter in "sdcz":
        for name in both + (real if letter in "sd" else complex_):
            _provide(cython_lapack, letter + name)
        _provide(cython_blas, letter + "trsm")


def _provide(module, name):
    capsule = module.__pyx_capi__.get(name)
    if capsule is None:
        return
    from . import ffi

    _library.hloscope_provide_lapack(name.encode(), ctypes.c_void_p(ffi.pointer_of(capsule)))
