"""Handlers of XLA's FFI on the device: jax.ffi.register_ffi_target(name, handler,
platform="hloscope"), before or after the device is there.

Handlers for platform="cpu" that are no more than an execute stage work here as they are, and are
taken as well; one that is registered for "hloscope" goes before it. Those with state want their
types registered for the device that keeps it; LAPACK's are the device's own, and jaxlib's own
(xla_...) reach into XLA, which is not here.
"""

import ctypes

STAGES = ("instantiate", "prepare", "initialize", "execute")


def install(library):
    library.hloscope_register_ffi.argtypes = [ctypes.c_char_p] + 4 * [ctypes.c_void_p]
    library.hloscope_register_ffi_type.argtypes = [
        ctypes.c_char_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
    ]

    named = set()  # registered for us by name

    def register_target(name, handler, platform, api_version=0, traits=0):
        del platform, traits
        name = name.decode() if isinstance(name, bytes) else name
        if api_version != 1:
            raise NotImplementedError(
                f"custom call {name}: the hloscope device takes handlers of the typed FFI,"
                f" api_version=1, not {api_version}"
            )
        named.add(name)
        register_stages(name, handler)

    def register_stages(name, handler):
        stages = handler if isinstance(handler, dict) else {"execute": handler}
        code = library.hloscope_register_ffi(
            name.encode(), *(pointer_of(stages.get(stage)) for stage in STAGES)
        )
        if code:
            raise RuntimeError(
                f"custom call {name}: the hloscope device refuses the handler (code {code})"
            )

    def register_type(name, registration):
        parts = registration if isinstance(registration, dict) else {"type_id": registration}
        code = library.hloscope_register_ffi_type(
            name.encode(), pointer_of(parts["type_id"]), pointer_of(parts.get("type_info"))
        )
        if code:
            raise RuntimeError(f"type {name}: the hloscope device refuses it (code {code})")

    try:
        from jaxlib import xla_client

        xla_client.register_custom_call_handler("hloscope", register_target)
        xla_client.register_custom_type_handler("hloscope", register_type)
        _take_from_cpu(
            xla_client,
            lambda name, handler: name in named or register_stages(name, {"execute": handler}),
        )
    except (ImportError, AttributeError):  # a jaxlib without them has no handlers to bring
        pass


def _take_from_cpu(xla_client, take):
    """Gives the handlers for CPUs to `take`: those that wait for a CPU client, those that have one,
    and those to come."""
    original = xla_client.register_custom_call_target
    if getattr(original, "knows_hloscope", False):
        return

    def consider(name, handler, api_version):
        name = name.decode() if isinstance(name, bytes) else name
        stages = handler if isinstance(handler, dict) else {"execute": handler}
        if (
            api_version == 1
            and not name.startswith(("lapack_", "xla_", "dce_sink"))
            and [s for s in STAGES if stages.get(s) is not None] == ["execute"]
        ):
            take(name, stages["execute"])

    def register_custom_call_target(name, fn, platform="cpu", api_version=0, *rest, **options):
        original(name, fn, platform, api_version, *rest, **options)
        if platform == "cpu":
            consider(name, fn, api_version)

    register_custom_call_target.knows_hloscope = True
    for name, fn, api_version, *_ in list(xla_client._custom_callback.get("cpu", ())):
        consider(name, fn, api_version)
    for name, stages in xla_client.custom_call_targets("Host").items():
        consider(name, stages, 1)
    xla_client.register_custom_call_target = register_custom_call_target


def pointer_of(capsule):
    """The address in a PyCapsule, whatever its name."""
    if capsule is None:
        return None
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
