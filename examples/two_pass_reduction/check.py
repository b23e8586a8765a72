"""The sum in double precision. Exit code 1 where the chain is off."""
import os
import sys
import numpy as np

folder = os.environ["PDL_BUFFERS"]
wanted = np.load(f"{folder}/values.npy").astype(np.float64).sum()
found = float(np.load(f"{folder}/total.npy")[0])
if not abs(found - wanted) <= 1e-5 * abs(wanted):
    sys.exit(f"the sum is {found}, and {wanted} was expected")
