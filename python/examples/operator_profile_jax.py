"""The network of docs/tutorials/operator-profile.md under JAX: JAX_PLATFORMS=hloscope hloscope
profile -- python operator_profile_jax.py"""

import jax
import jax.numpy as jnp
import numpy as np


def linear(name, x, w, b):
    with jax.named_scope(f"Linear[{name}]"):
        return x @ w.T + b


@jax.jit
def network(p, x):
    with jax.named_scope("NN[model]"):
        x = linear("layer1", x, p["w1"], p["b1"])
        with jax.named_scope("ReLU[nl1]"):
            x = jax.nn.relu(x)
        x = linear("layer2", x, p["w2"], p["b2"])
        with jax.named_scope("Tanh[nl2]"):
            return jnp.tanh(x)


rng = np.random.default_rng(0)
p = {
    "w1": rng.normal(size=(4, 4)),
    "b1": rng.normal(size=4),
    "w2": rng.normal(size=(2, 4)),
    "b2": rng.normal(size=2),
}
p = {name: value.astype(np.float32) for name, value in p.items()}
x = rng.random((4, 4), dtype=np.float32)
expected = np.tanh(np.maximum(x @ p["w1"].T + p["b1"], 0) @ p["w2"].T + p["b2"])
on_device = {name: jax.device_put(value) for name, value in p.items()}
inputs = jax.device_put(x)
for step in range(5):
    with jax.profiler.StepTraceAnnotation("inference", step_num=step):
        y = network(on_device, inputs).block_until_ready()

print(f"== {jax.devices()[0]} ==")
print(np.asarray(y))
worst = np.abs(np.asarray(y) - expected).max()
print(f"largest difference from NumPy {worst:.1e}")
assert worst < 1e-6
