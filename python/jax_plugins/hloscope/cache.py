"""JAX's own persistent compilation cache (jax_compilation_cache_dir) for the built-in device."""

import logging


class _LikeCpu:
    """What JAX asks of a backend before it uses the cache."""

    platform = "cpu"
    supports_executable_serialization = True


def allow():
    """JAX keeps a list of the platforms whose executables it caches, inside a function; ours can be
    written and loaded as well."""
    try:
        from jax._src import compilation_cache

        used = compilation_cache.is_cache_used
    except (
        ImportError,
        AttributeError,
    ):  # a JAX that keeps it elsewhere: HLOSCOPE_CACHE_DIR does the same
        return
    if getattr(used, "knows_hloscope", False):
        return

    def is_cache_used(backend):
        return used(_LikeCpu if backend.platform == "hloscope" else backend)

    is_cache_used.knows_hloscope = True
    compilation_cache.is_cache_used = is_cache_used
    _skip_programs_with_callbacks(compilation_cache)


def _skip_programs_with_callbacks(compilation_cache):
    """JAX does not write programs that call Python, and says so; of ours it does not know before
    the device refuses to write them."""
    put = getattr(compilation_cache, "put_executable_and_time", None)
    if put is None:
        return

    def put_executable_and_time(cache_key, module_name, executable, backend, *rest, **named):
        try:
            return put(cache_key, module_name, executable, backend, *rest, **named)
        except Exception as error:
            if getattr(
                backend, "platform", None
            ) != "hloscope" or "calls a function of the host's process" not in str(error):
                raise
            from jax._src import config

            level = logging.WARNING if config.explain_cache_misses.value else logging.DEBUG
            logging.getLogger("jax._src.compiler").log(
                level,
                "Not writing persistent cache entry for '%s' because it uses host callbacks (e.g."
                " from jax.debug.print or breakpoint)",
                module_name,
            )

    compilation_cache.put_executable_and_time = put_executable_and_time
