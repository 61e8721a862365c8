#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""png_colors.py FILE: the colours of a PNG (8 bits, RGB or RGBA, not interlaced) and how many pixels have each, most first."""
import collections
import struct
import sys
import zlib


def chunks(data):
    at = 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + length]
        at += 12 + length


def unfilter(kind, line, above, step):
    for i in range(len(line)):
        left = line[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        up = above[i]
        if kind == 1:
            line[i] = line[i] + left & 255
        elif kind == 2:
            line[i] = line[i] + up & 255
        elif kind == 3:
            line[i] = line[i] + (left + up) // 2 & 255
        elif kind == 4:
            p = left + up - corner
            near = min((abs(p - left), 0, left), (abs(p - up), 1, up), (abs(p - corner), 2, corner))
            line[i] = line[i] + near[2] & 255
    return line


def main():
    with open(sys.argv[1], "rb") as file:
        parts = list(chunks(file.read()))
    width, height, depth, color, _, _, interlace = struct.unpack(">IIBBBBB", dict(parts)[b"IHDR"])
    if depth != 8 or color not in (2, 6) or interlace:
        sys.exit("png_colors: not a kind of PNG it reads")
    step = 3 if color == 2 else 4
    raw = zlib.decompress(b"".join(body for kind, body in parts if kind == b"IDAT"))
    count = collections.Counter()
    above = bytearray(width * step)
    for y in range(height):
        start = y * (width * step + 1)
        above = unfilter(raw[start], bytearray(raw[start + 1:start + 1 + width * step]), above, step)
        count.update(bytes(above[x:x + 3]).hex() for x in range(0, len(above), step))
    for name, pixels in count.most_common():
        print(name, pixels)


main()
