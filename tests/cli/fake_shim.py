# SPDX-License-Identifier: BSD-3-Clause
"""Stands in for unisono-exec: sets what --set says, and becomes the program."""

import os
import sys

words = sys.argv[1:]
while words[0] != "--":
    option, value, *words = words
    if option == "--set":
        name, _, text = value.partition("=")
        os.environ[name] = text
os.execvp(words[1], words[1:])
