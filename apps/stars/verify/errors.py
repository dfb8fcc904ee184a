# SPDX-License-Identifier: Apache-2.0
"""The error of the readers."""


class bad_plotfile(Exception):
    """Raised if the file is not a plotfile, is damaged, or lacks a requested part."""
