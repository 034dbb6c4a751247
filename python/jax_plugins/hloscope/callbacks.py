"""Functions of Python that a program on the device calls back: debug_print, debug_callback,
pure_callback, io_callback.

JAX emits callbacks in one function, for the platforms that it knows. Here it learns of one more:
the program gets a custom call with the number of the function, and the device calls `_dispatch`, on
the thread that executes the program (JAX has let go of Python's lock there).
"""

import ctypes
import itertools
import os
import traceback
import weakref

from . import lowering

_functions = {}
# Numbers of this process alone: a program from a cache of compiled programs must not find another's
# function.
_numbers = itertools.count(int.from_bytes(os.urandom(7), "little") << 6)
_dispatch_pointer = None  # kept alive


class _Array(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
    ]


_Function = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_uint64,
    ctypes.c_int32,
    ctypes.POINTER(_Array),
    ctypes.c_int32,
    ctypes.POINTER(_Array),
    ctypes.c_void_p,
    ctypes.c_size_t,
)


class _Entry:
    """One function of one program. Its number is given up when the program is gone."""

    def __init__(self, function, operand_avals, result_avals, aliases=None):
        self.function = function
        self.aliases = aliases  # of a function on buffers: {operand: result}
        self.operands = [(tuple(a.shape), a.dtype) for a in operand_avals]
        self.results = [(tuple(a.shape), a.dtype) for a in result_avals]


class _Keep:
    """What the executable holds; weak references to it work."""

    def __init__(self, entry):
        self.entry = entry


def _memory(array, shape, dtype):
    import numpy as np

    count = 1
    for size in shape:
        count *= size
    if count == 0:
        return np.empty(shape, dtype)
    dtype = np.dtype(dtype)
    raw = (ctypes.c_char * (count * dtype.itemsize)).from_address(array.data)
    return np.frombuffer(raw, dtype=dtype).reshape(shape)


def _dispatch(number, operand_count, operands, result_count, results, message, message_bytes):
    try:
        entry = _functions.get(number)
        if entry is None:
            raise RuntimeError(
                f"function {number} of this process is gone, or the program was compiled in another"
                " process"
            )
        if entry.aliases is not None:
            _call_on_buffers(entry, operand_count, operands, result_count, results)
            return 0
        # The shapes as they come: a partitioned callback gets the device's parts.
        arguments = [
            _memory(
                operands[i], tuple(operands[i].dims[: operands[i].rank]), entry.operands[i][1]
            ).copy()
            for i in range(operand_count)
        ]
        values = entry.function(*arguments)
        for i in range(result_count):
            to = _memory(results[i], *entry.results[i])
            if to.size:
                to[...] = values[i]
        return 0
    except BaseException:
        text = ("error calling back into Python: " + traceback.format_exc()).encode(
            "utf-8", "replace"
        )
        size = min(len(text), message_bytes - 1)
        ctypes.memmove(message, text[len(text) - size :], size)
        ctypes.memset(message + size, 0, 1)
        return 13


def install(library):
    global _dispatch_pointer
    from jax._src import callback as jax_callback

    _dispatch_pointer = _Function(_dispatch)
    library.hloscope_set_host_function(_dispatch_pointer)
    if getattr(jax_callback.emit_python_callback, "hloscope", False):
        return
    _install_buffer_callbacks()
    original = jax_callback.emit_python_callback

    def emit_python_callback(
        ctx, callback, token, operands, operand_avals, result_avals, **options
    ):
        if lowering.PLATFORM not in ctx.module_context.platforms:
            return original(ctx, callback, token, operands, operand_avals, result_avals, **options)
        return _emit(ctx, callback, token, operands, operand_avals, result_avals, **options)

    emit_python_callback.hloscope = True
    jax_callback.emit_python_callback = emit_python_callback
    from jax.interpreters import mlir as public  # where libraries find it

    if getattr(public, "emit_python_callback", None) is original:
        public.emit_python_callback = emit_python_callback


# ---- jax.experimental.buffer_callback: functions that get the device's memory itself -------------


class _Buffer:
    """What such a function gets for an operand or a result."""

    def __init__(self, array, writeable):
        self._array = array
        self.shape, self.dtype, self.ndim, self.writeable = (
            array.shape,
            array.dtype,
            array.ndim,
            writeable,
        )

    def __array__(self, dtype=None, copy=None):
        array = self._array if self.writeable else self._read_only()
        if dtype is not None and dtype != array.dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def _read_only(self):
        view = self._array.view()
        view.flags.writeable = False
        return view

    def unsafe_buffer_pointer(self):
        return self._array.ctypes.data

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class _Context:
    """The execution, as such a function sees it."""

    @property
    def stage(self):
        from jax.experimental import buffer_callback

        return buffer_callback.ExecutionStage.EXECUTE

    @property
    def stream(self):
        import jax

        raise jax.errors.JaxRuntimeError("UNIMPLEMENTED: XLA FFI GPU context is not available")


def _call_on_buffers(entry, operand_count, operands, result_count, results):
    inputs = [_memory(operands[i], *entry.operands[i]) for i in range(operand_count)]
    outputs = [_memory(results[i], *entry.results[i]) for i in range(result_count)]
    for operand, result in entry.aliases.items():
        outputs[result][...] = inputs[operand]
        inputs[operand] = outputs[result]
    entry.function(
        _Context(), *[_Buffer(a, False) for a in inputs], *[_Buffer(a, True) for a in outputs]
    )


def _install_buffer_callbacks():
    try:
        from jax._src import buffer_callback, core, tree_util, util
        from jax._src.interpreters import mlir

        primitive = buffer_callback.buffer_callback_p
    except (ImportError, AttributeError):  # a JAX without them
        return

    def lower(ctx, *args, callback, in_tree, out_tree, has_side_effect, input_output_aliases, **_):
        if len(ctx.module_context.platforms) > 1:
            raise NotImplementedError("multi-platform lowering for buffer_callback")

        def function(context, *buffers):
            ins, outs = util.split_list(buffers, [in_tree.num_leaves])
            positional, named = tree_util.tree_unflatten(in_tree, ins)
            if (
                callback(context, tree_util.tree_unflatten(out_tree, outs), *positional, **named)
                is not None
            ):
                raise ValueError("buffer_callback callback must not return any values.")

        avals = [a for a in ctx.avals_in if a is not core.abstract_token]
        entry = _Entry(function, avals, ctx.avals_out, dict(input_output_aliases))
        return list(_custom_call(ctx, entry, args, ctx.avals_out, has_side_effect).results)

    # Into JAX's table: the function that does it wants the platform to be known already.
    entry = getattr(mlir, "LoweringRuleEntry", None)
    mlir._platform_specific_lowerings[lowering.PLATFORM][primitive] = (
        entry(lower, True) if entry else lower
    )


def _checked(callback, result_avals):
    """Says what is wrong with what the function returned, in JAX's words."""
    import numpy as np
    from jax._src import dtypes

    def call(*args):
        values = callback(*args)
        if len(values) != len(result_avals):
            raise RuntimeError(
                f"Mismatched number of outputs from callback. Expected: {len(result_avals)},"
                f" Actual: {len(values)}"
            )
        canonical = getattr(dtypes, "canonicalize_value", None) or (lambda a: a)
        values = [np.asarray(canonical(np.asarray(v))) for v in values]
        for i, (value, aval) in enumerate(zip(values, result_avals)):
            if value.shape != tuple(aval.shape):
                raise RuntimeError(
                    f"Incorrect output shape for return value #{i}: Expected: {aval.shape}, Actual:"
                    f" {value.shape}"
                )
            if value.dtype != aval.dtype:
                raise RuntimeError(
                    f"Incorrect output dtype for return value #{i}: Expected: {aval.dtype}, Actual:"
                    f" {value.dtype}"
                )
        return values

    return call


def _emit(
    ctx,
    callback,
    token,
    operands,
    operand_avals,
    result_avals,
    *,
    has_side_effect,
    returns_token=True,
    partitioned=False,
    sharding=None,
):
    del returns_token
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir
    from jax._src.lib.mlir.dialects import hlo

    if len(ctx.module_context.platforms) > 1:
        raise NotImplementedError("multi-platform lowering for python_callback")
    if partitioned and result_avals:
        raise ValueError("Partitioned callback not supported with return values.")
    device = None if partitioned else _device_of(sharding)
    if token is not None:
        operands = [token, *operands]
        sharding = _with_token(sharding, len(ctx.avals_out))
    entry = _Entry(_checked(callback, result_avals), operand_avals, result_avals)
    options = "" if device is None else f", device = {device}"
    if partitioned:
        options += ", partitioned = 1"  # each device calls it with its parts
    op = _custom_call(
        ctx, entry, operands, result_avals, has_side_effect, options, token is not None
    )
    if sharding is not None:
        (
            mlir.set_sharding(ctx.module_context, op, sharding)
            if _wants_context(mlir)
            else mlir.set_sharding(op, sharding)
        )
    results = list(op.results)
    if token is not None:
        token, *results = results
    return results, token, None


def _custom_call(
    ctx,
    entry,
    operands,
    result_avals,
    has_side_effect,
    options="",
    gives_token=False,
    target="hloscope_host_callback",
):
    """The call of the entry's function, which lives as long as the program."""
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir
    from jax._src.lib.mlir.dialects import hlo

    number = next(_numbers)
    _functions[number] = entry
    keep = _Keep(entry)
    weakref.finalize(keep, _functions.pop, number, None)
    ctx.module_context.add_keepalive(keep)
    types = [
        (
            mlir.aval_to_ir_type(aval)
            if not _wants_context(mlir)
            else mlir.aval_to_ir_type(ctx.module_context, aval)
        )
        for aval in result_avals
    ]
    return ir.Operation.create(
        "stablehlo.custom_call",
        results=[hlo.TokenType.get(), *types] if gives_token else types,
        operands=list(operands),
        attributes={
            "call_target_name": ir.StringAttr.get(target),
            "has_side_effect": ir.BoolAttr.get(bool(has_side_effect)),
            "api_version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 2),
            "backend_config": ir.StringAttr.get(f"{{id = {number}{options}}}"),
        },
    )


def lower_inspect_sharding(ctx, value, *, callback):
    """jax.debug.inspect_array_sharding: the callback is reported the sharding when the program is
    compiled."""
    from jax._src import debugging, mesh, sharding_impls
    from jax._src.lib import xla_client

    where = ctx.module_context.axis_context
    grid = mesh.thread_resources.env.physical_mesh
    if isinstance(where, sharding_impls.SPMDAxisContext):
        grid = where.mesh
        devices = grid._flat_devices_tuple
    else:
        devices = where.device_assignment
        abstract = where.abstract_mesh
        if abstract is not None and devices is not None:
            import numpy as np

            grid = mesh.Mesh(np.array(devices).reshape(abstract.axis_sizes), abstract.axis_names)

    def tell(sharding):
        if grid.empty:
            return callback(sharding_impls.GSPMDSharding(devices, sharding))
        spec = (
            sharding_impls.PartitionSpec()
            if sharding.is_manual()
            else debugging.parse_flatten_op_sharding(sharding, grid)[0]
        )
        return callback(sharding_impls.NamedSharding(grid, spec))

    def told(text):
        tell(xla_client.HloSharding.from_string(text.tobytes().decode()))
        return []

    if len(devices) == 1:
        tell(sharding_impls.replicated_hlo_sharding)
        return []
    import numpy as np
    from jax._src import core

    entry = _Entry(told, [core.ShapedArray((1,), np.dtype(np.uint8))], [])
    _custom_call(ctx, entry, [value], [], True, target="hloscope_inspect_sharding")
    return []


def _device_of(sharding):
    """The device that calls the function, of a program on several that has the whole arrays; None =
    each."""
    shardings = getattr(sharding, "shardings", None)
    if (
        not shardings
        or getattr(shardings[0], "mesh_shape", None) != ()
        or len(shardings[0].logical_device_ids) != 1
    ):
        return None
    return shardings[0].logical_device_ids[0]


def _with_token(sharding, result_count):
    """Shardy wants one sharding for each result, and one where there is none: the token's comes
    first."""
    from jax._src import sharding_impls

    shardings = getattr(sharding, "shardings", None)
    if not shardings or result_count == 0:
        return sharding
    token = sharding_impls.SdyArray(
        mesh_shape=(), dim_shardings=(), logical_device_ids=shardings[0].logical_device_ids
    )
    return sharding_impls.SdyArrayList((token, *shardings))


def _wants_context(mlir):
    """JAX 0.10 passes the module's context first; earlier ones do not."""
    import inspect

    global _context_first
    if _context_first is None:
        _context_first = len(inspect.signature(mlir.aval_to_ir_type).parameters) > 1
    return _context_first


_context_first = None
