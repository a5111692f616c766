#!/usr/bin/env python3
"""export_models.py FOLDER   Writes torchvision's classifiers with random weights as .onnx files below FOLDER, for
`make bench-models`: their speed does not depend on the weights. Needs torch, torchvision and onnx."""

import os
import sys

import torch
import torchvision

NAMES = ("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_large", "mobilenet_v3_small", "efficientnet_b0")
SIZE = 224
SEED = 1


def export(name, folder):
    torch.manual_seed(SEED)
    model = getattr(torchvision.models, name)(weights=None).eval()
    path = os.path.join(folder, f"{name}.onnx")
    with torch.no_grad():
        torch.onnx.export(model, torch.zeros(1, 3, SIZE, SIZE), path, opset_version=17, input_names=["image"],
                          output_names=["scores"], dynamo=False)
    print(path, flush=True)


def main(folder):
    os.makedirs(folder, exist_ok=True)
    for name in NAMES:
        export(name, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
