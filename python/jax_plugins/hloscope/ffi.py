"""Handlers of XLA's FFI on the device: jax.ffi.register_ffi_target(name, handler, platform="hloscope"), before or after the device is there."""
import ctypes

STAGES = ("instantiate", "prepare", "initialize", "execute")


def install(library):
    library.hloscope_register_ffi.argtypes = [ctypes.c_char_p] + 4 * [ctypes.c_void_p]
    library.hloscope_register_ffi_type.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]

    def register_target(name, handler, platform, api_version=0, traits=0):
        del platform, traits
        name = name.decode() if isinstance(name, bytes) else name
        if api_version != 1:
            raise NotImplementedError(f"custom call {name}: the hloscope device takes handlers of the typed FFI, api_version=1, not {api_version}")
        stages = handler if isinstance(handler, dict) else {"execute": handler}
        code = library.hloscope_register_ffi(name.encode(), *(pointer_of(stages.get(stage)) for stage in STAGES))
        if code:
            raise RuntimeError(f"custom call {name}: the hloscope device refuses the handler (code {code})")

    def register_type(name, registration):
        parts = registration if isinstance(registration, dict) else {"type_id": registration}
        code = library.hloscope_register_ffi_type(name.encode(), pointer_of(parts["type_id"]), pointer_of(parts.get("type_info")))
        if code:
            raise RuntimeError(f"type {name}: the hloscope device refuses it (code {code})")

    try:
        from jaxlib import xla_client

        xla_client.register_custom_call_handler("hloscope", register_target)
        xla_client.register_custom_type_handler("hloscope", register_type)
    except (ImportError, AttributeError):  # a jaxlib without them has no handlers to bring
        pass


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
