#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command on a terminal of its own and prints all that appeared there, byte for byte; exits as the command did.

usage: terminal.py [--rows N] [--columns N] [--stderr FILE] [--when TEXT ACTION]... -- COMMAND...

Each --when waits in its turn for TEXT to appear; ACTION "send:..." then types (\\n, \\x03 and the like are understood),
anything else is run by the shell. After 60 seconds without an end the command is killed, and the status is 99.
"""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time


def parse(words):
    options = {"rows": 24, "columns": 80, "stderr": None, "when": []}
    while words and words[0] != "--":
        name = words.pop(0)[2:]
        if name == "when":
            options["when"].append((words.pop(0).encode(), words.pop(0)))
        else:
            value = words.pop(0)
            options[name] = int(value) if name in ("rows", "columns") else value
    return options, words[1:]


def child(options, command):
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", options["rows"], options["columns"], 0, 0))
    modes = termios.tcgetattr(1)
    modes[1] &= ~termios.OPOST  # a newline comes out as the newline it was
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(1, termios.TCSANOW, modes)
    if options["stderr"]:
        os.dup2(os.open(options["stderr"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), 2)
    os.execvp(command[0], command)


def act(action, fd):
    if action.startswith("send:"):
        os.write(fd, action[5:].encode().decode("unicode_escape").encode("latin-1"))
    else:
        subprocess.run(action, shell=True, check=True, stdin=subprocess.DEVNULL)


def watch(fd, pid, when):
    seen, looked, deadline = b"", 0, time.monotonic() + 60
    while True:
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            return seen, True
        if not select.select([fd], [], [], 1)[0]:
            continue
        try:
            piece = os.read(fd, 65536)
        except OSError:  # the other side is closed
            piece = b""
        if not piece:
            return seen, False
        seen += piece
        while when and when[0][0] in seen[looked:]:
            text, action = when.pop(0)
            looked = seen.index(text, looked) + len(text)
            act(action, fd)


def main():
    options, command = parse(sys.argv[1:])
    pid, fd = pty.fork()
    if pid == 0:
        try:
            child(options, command)
        finally:
            os._exit(127)
    seen, late = watch(fd, pid, options["when"])
    status = os.waitpid(pid, 0)[1]
    sys.stdout.buffer.write(seen)
    sys.exit(99 if late else os.waitstatus_to_exitcode(status) % 256)


main()
