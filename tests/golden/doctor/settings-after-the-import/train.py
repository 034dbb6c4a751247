import os
os.environ["JAX_PLATFORMS"] = "cpu"
import numpy as np, jax
import jax.numpy as jnp
os.environ["XLA_FLAGS"] = "--xla_dump_to=/tmp/x"
if os.environ.get("PJRT_DEVICE") == "CPU":
    pass
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ["NEURON_CC_FLAGS"] = "--model-type=transformer"
os.environ["PJRT_DEVICE"] = "NEURON"
def loss(x):
    return jnp.sum(x)
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
x = jnp.ones((4,))
os.environ["XLA_FLAGS"] = "--xla_dump_to=/tmp/y"
os.environ["NEURON_CC_FLAGS"] = "--optlevel=1"
import torch_xla
os.environ["PJRT_DEVICE"] = "CPU"
device = torch_xla.device()
os.environ["PJRT_DEVICE"] = "TPU"
