"""JAX's own persistent compilation cache (jax_compilation_cache_dir) for the built-in device."""


def allow():
    """JAX keeps a list of the platforms whose executables it caches, inside a function; ours can be written and loaded as well."""
    try:
        from jax._src import compilation_cache

        used, enabled = compilation_cache.is_cache_used, compilation_cache._is_cache_enabled
    except (ImportError, AttributeError):  # a JAX that keeps it elsewhere: HLOSCOPE_CACHE_DIR does the same
        return
    if getattr(used, "knows_hloscope", False):
        return

    def is_cache_used(backend):
        return enabled() if backend.platform == "hloscope" else used(backend)

    is_cache_used.knows_hloscope = True
    compilation_cache.is_cache_used = is_cache_used
