"""Arrays of the device for others in the same process: DLPack. The device's memory is the host's,
so nothing is copied."""


def install(platform):
    try:
        from jax._src.array import ArrayImpl

        to_others, device_of = ArrayImpl.__dlpack__, ArrayImpl.__dlpack_device__
    except (
        ImportError,
        AttributeError,
    ):  # a JAX whose arrays are made otherwise: numpy.asarray(x) copies
        return
    if getattr(to_others, "knows_hloscope", False):
        return

    def __dlpack__(self, **options):
        if self.platform() != platform:
            return to_others(self, **options)
        if len(self.sharding.device_set) > 1:
            raise BufferError(
                "to_dlpack can only pack an array of one device, and this one has"
                f" {len(self.sharding.device_set)}"
            )
        return _as_cpu_array(self).__dlpack__(**options)

    def __dlpack_device__(self):
        if self.platform() != platform:
            return device_of(self)
        if len(self.sharding.device_set) > 1:
            raise BufferError("__dlpack__ only supported for unsharded arrays.")
        return 1, 0  # kDLCPU

    __dlpack__.knows_hloscope = True
    ArrayImpl.__dlpack__, ArrayImpl.__dlpack_device__ = __dlpack__, __dlpack_device__


def _as_cpu_array(array):
    """An array over the same memory that can be handed on: JAX's own on CPUs, where there is that
    platform, else NumPy's."""
    import jax

    view = _view(array)
    try:
        cpu = jax.local_devices(backend="cpu")[0]
    except RuntimeError:  # JAX_PLATFORMS=hloscope
        return view
    return jax.device_put(view, cpu)


def _view(array):
    """A NumPy array over the array's memory, which lives as long."""
    import ctypes

    import numpy

    array = array.block_until_ready()
    if array.size == 0:
        return numpy.empty(array.shape, array.dtype)
    memory = (ctypes.c_char * array.nbytes).from_address(array.unsafe_buffer_pointer())
    memory.array = array
    order = _slowest_first(array)
    view = numpy.frombuffer(memory, dtype=array.dtype).reshape([array.shape[d] for d in order])
    return view.transpose([order.index(d) for d in range(array.ndim)])


def _slowest_first(array):
    """The dimensions in the order in which they lie in memory."""
    try:
        return list(array.format.layout.major_to_minor)
    except (AttributeError, TypeError):  # a JAX without layouts has none but row-major
        return list(range(array.ndim))
