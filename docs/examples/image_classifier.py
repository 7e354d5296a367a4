"""Train an image classifier on four ranks, and evaluate a curve for each class.

    OMP_NUM_THREADS=1 torchrun --standalone --nproc-per-node 4 docs/examples/image_classifier.py

Each rank evaluates its own part of the validation images, and each image counts once.
"""

import torch
from sklearn.datasets import load_digits
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import streameval as se
from streameval.engines.torch import EvaluationSampler, gather


def data() -> tuple[TensorDataset, TensorDataset]:
    """Split the digits of scikit-learn into training and validation."""
    pixels, digits = load_digits(return_X_y=True)
    images = torch.tensor(pixels, dtype=torch.float32).view(-1, 1, 8, 8) / 16
    labels = torch.tensor(digits)
    return TensorDataset(images[:1200], labels[:1200]), TensorDataset(images[1200:], labels[1200:])


def main() -> None:
    """Train, evaluate after every epoch, and print the curves of the classes."""
    distributed.init_process_group("gloo")
    torch.manual_seed(0)
    train, valid = data()
    layers = nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10)
    model = DistributedDataParallel(nn.Sequential(*layers))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    sampler = DistributedSampler(train)
    evaluated = DataLoader(valid, batch_size=64, sampler=EvaluationSampler(valid))

    for epoch in range(3):
        sampler.set_epoch(epoch)
        for images, labels in DataLoader(train, batch_size=32, sampler=sampler):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()

        curves = se.PRCurveSketch(classes=10)
        with torch.no_grad():
            for images, labels in evaluated:
                curves.update(labels, model(images).softmax(dim=1))
        total = gather(curves)
        if distributed.get_rank() == 0:
            auc = total.compute().roc_auc("macro")
            print(f"epoch {epoch}: {total.n} images, ROC AUC {auc:.3f}")

    for digit, value in enumerate(total.compute().average_precision(None)):
        if distributed.get_rank() == 0:
            print(f"  digit {digit}: average precision {value:.3f}")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
