"""Attention without splits, in double precision. Exit code 1 where the chain is off."""
import os
import sys
import numpy as np

folder = os.environ["PDL_BUFFERS"]
length, heads = int(os.environ["LENGTH"]), int(os.environ["HEADS"])
load = lambda name: np.load(f"{folder}/{name}.npy").astype(np.float64)

query = load("query").reshape(heads, 128)
keys = load("keys").reshape(heads, length, 128)
values = load("values").reshape(heads, length, 128)
scores = np.einsum("hd,hld->hl", query, keys) / np.sqrt(128)
weights = np.exp(scores - scores.max(axis=1, keepdims=True))
wanted = np.einsum("hl,hld->hd", weights, values) / weights.sum(axis=1, keepdims=True)
found = load("out").reshape(heads, 128)
worst = np.abs(found - wanted).max()
if not worst <= 1e-4:
    sys.exit(f"the output is off by {worst}")
