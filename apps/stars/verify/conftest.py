# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share."""

import numpy as np
import pytest
import synthetic


@pytest.fixture
def store(tmp_path):
    """Returns store(name, density, energy=…, **header), which writes a plotfile and returns its
    path as text."""

    def write(name, density, energy=None, **header):
        fields = synthetic.state(density, np.ones_like(density) if energy is None else energy)
        return str(synthetic.write(tmp_path / name, fields, **header))

    return write
