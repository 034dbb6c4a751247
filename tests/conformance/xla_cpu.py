"""Runs HLO text on the real XLA:CPU, as it came with jaxlib."""

import jax
import jaxlib
import numpy as np
from jaxlib import xla_client

jax.config.update("jax_enable_x64", True)
jaxlib_module = xla_client._xla
device = jax.devices("cpu")[0]


def compile_hlo(text):
    """An executable for one device. Raises what XLA raises when the text is wrong or an op is not
    supported."""
    module = xla_client.hlo.hlo_module_from_text(text)
    computation = xla_client.hlo.XlaComputation(module.as_serialized_hlo_module_proto())
    stablehlo = jaxlib_module.mlir.xla_computation_to_mlir_module(computation)
    options = xla_client.CompileOptions()
    options.num_replicas = 1
    options.num_partitions = 1
    return device.client.compile_and_load(stablehlo, jaxlib_module.DeviceList((device,)), options)


def run(executable, arguments):
    """numpy arrays in; a list of numpy arrays out, one for each leaf of the result."""
    buffers = [jax.device_put(argument, device) for argument in arguments]
    results = executable.execute_sharded(buffers).disassemble_into_single_device_arrays()
    return [np.asarray(result[0]) for result in results]


def version():
    return f"XLA:CPU of jaxlib {jaxlib.__version__}"
