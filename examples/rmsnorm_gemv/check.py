"""Computes y in double precision from the same inputs. Exit code 1 where the chain is off."""
import os
import sys
import numpy as np

folder = os.environ["PDL_BUFFERS"]
m, hidden, rows = (int(os.environ[name]) for name in ("M", "HIDDEN", "ROWS"))
load = lambda name: np.load(f"{folder}/{name}.npy").astype(np.float64)

x = load("x").reshape(m, hidden)
normed = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-5) * load("norm_weight")
wanted = normed @ load("matrix").reshape(rows, hidden).T
found = load("y").reshape(m, rows)

# Half precision of the normed values: 2^-11 each, over a sum of `hidden` products.
limit = 2**-11 * np.abs(normed).max() * 0.05 * np.sqrt(hidden) * 4
worst = np.abs(found - wanted).max()
if not worst <= limit:
    sys.exit(f"y is off by {worst}, and {limit} is allowed")
