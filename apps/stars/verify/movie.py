# SPDX-License-Identifier: Apache-2.0
"""Makes a movie of pictures: MP4 by ffmpeg, GIF by pillow."""

import importlib.util
import shutil
import subprocess

FRAMES_PER_SECOND = 10


def default_suffix():
    """Returns the better of the formats that can be written here."""
    return ".mp4" if shutil.which("ffmpeg") else ".gif"


def check_target(target):
    """Raises ValueError with the remedy if a movie of this name cannot be written here."""
    if target.suffix == ".mp4":
        if not shutil.which("ffmpeg"):
            raise ValueError(f"{target}: MP4 needs the program ffmpeg; install it or name a .gif")
    elif target.suffix == ".gif":
        if importlib.util.find_spec("PIL") is None:
            raise ValueError(f"{target}: GIF needs pillow (pip install pillow); or name a .mp4")
    else:
        raise ValueError(f"{target}: a movie is a .mp4 or .gif file")


def write(folder, target):
    """Writes the pictures 00000.png, 00001.png … of a folder, all of one size, as a movie. Raises
    ValueError or OSError."""
    check_target(target)
    if target.suffix == ".gif":
        _write_gif(folder, target)
    else:
        _write_mp4(folder, target)


def _write_gif(folder, target):
    from PIL import Image

    pictures = sorted(folder.glob("[0-9]*.png"))
    first, *rest = (Image.open(p).convert("P", palette=Image.Palette.ADAPTIVE) for p in pictures)
    duration = 1000 // FRAMES_PER_SECOND
    first.save(target, save_all=True, append_images=rest, duration=duration, loop=0)


def _write_mp4(folder, target):
    # Players need sizes that are even.
    command = ["ffmpeg", "-y", "-loglevel", "error", "-framerate", str(FRAMES_PER_SECOND),
               "-i", str(folder / "%05d.png"), "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2",
               "-pix_fmt", "yuv420p", str(target)]
    done = subprocess.run(command, text=True, capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise OSError(f"{target}: ffmpeg ended with {done.returncode}: {done.stderr.strip()}")
