"""A small convolutional network, trained for a few steps under PyTorch/XLA: PJRT_DEVICE=HLOSCOPE
python torch_conv.py. Compares with PyTorch's CPU."""

import torch
import torch_xla


def build():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3, padding=1),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 16, 3, stride=2, padding=1),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(16, 4),
    )


def data():
    """Bright quadrants of 16x16 images; the label is the quadrant."""
    torch.manual_seed(1)
    labels = torch.arange(32) % 4
    images = 0.1 * torch.randn(32, 1, 16, 16)
    for image, label in zip(images, labels):
        row, column = 8 * (int(label) // 2), 8 * (int(label) % 2)
        image[:, row : row + 8, column : column + 8] += 1
    return images, labels


def train(device, steps=20):
    model = build().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    images, labels = (t.to(device) for t in data())
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        losses.append(loss.item())
    return losses, [p.detach().cpu() for p in model.parameters()]


if __name__ == "__main__":
    (ours, weights), (reference, expected) = train(torch_xla.device()), train("cpu")
    worst = max(abs(a - b) for a, b in zip(ours, reference))
    worst_weight = max(float((a - b).abs().max()) for a, b in zip(weights, expected))
    print(
        f"{torch_xla.device()}: loss {ours[0]:.4f} -> {ours[-1]:.4f}; largest difference from"
        f" PyTorch's CPU: loss {worst:.2e}, weights {worst_weight:.2e}"
    )
    assert worst < 1e-3 and worst_weight < 1e-3 and ours[-1] < ours[0]
