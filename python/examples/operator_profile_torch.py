"""The network of docs/tutorials/operator-profile.md under PyTorch/XLA: PJRT_DEVICE=HLOSCOPE
hloscope profile -- python operator_profile_torch.py"""

import os

os.environ.setdefault(
    "XLA_HLO_DEBUG", "1"
)  # names of modules and functions go into the program, and so into the profile
os.environ.setdefault("XLA_IR_DEBUG", "1")

import torch
import torch_xla


class NN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = torch.nn.Linear(4, 4)
        self.nl1 = torch.nn.ReLU()
        self.layer2 = torch.nn.Linear(4, 2)
        self.nl2 = torch.nn.Tanh()

    def forward(self, x):
        x = self.nl1(self.layer1(x))
        return self.nl2(self.layer2(x))


with torch.no_grad():
    torch.manual_seed(0)
    model, inputs = NN(), torch.rand(4, 4)
    on_cpu = model(inputs)
    device = torch_xla.device()
    model, inputs = model.to(device), inputs.to(device)
    for _ in range(5):
        on_device = model(inputs)
        torch_xla.sync()

print("== PyTorch on CPU ==")
print(on_cpu)
print(f"== {device} ==")
print(on_device.cpu())
worst = (on_device.cpu() - on_cpu).abs().max().item()
print(f"largest difference {worst:.1e}")
assert worst < 1e-6
