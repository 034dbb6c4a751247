import os
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
os.environ["XLA_FLAGS"] = "--xla_dump_to=/tmp/x"
if os.environ.get("PJRT_DEVICE") == "CPU":
    pass
os.environ.setdefault("JAX_ENABLE_X64", "1")
