"""JAX's own persistent compilation cache (jax_compilation_cache_dir) for the built-in device."""


class _LikeCpu:
    """What JAX asks of a backend before it uses the cache."""

    platform = "cpu"
    supports_executable_serialization = True


def allow():
    """JAX keeps a list of the platforms whose executables it caches, inside a function; ours can be written and loaded as well."""
    try:
        from jax._src import compilation_cache

        used = compilation_cache.is_cache_used
    except (ImportError, AttributeError):  # a JAX that keeps it elsewhere: HLOSCOPE_CACHE_DIR does the same
        return
    if getattr(used, "knows_hloscope", False):
        return

    def is_cache_used(backend):
        return used(_LikeCpu if backend.platform == "hloscope" else backend)

    is_cache_used.knows_hloscope = True
    compilation_cache.is_cache_used = is_cache_used
