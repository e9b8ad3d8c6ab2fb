# SPDX-License-Identifier: Apache-2.0
"""A process that commits: commit_worker.py append|add|create|tag TABLE NUMBER TIMES [durable].

append: TIMES commits of three rows each; add: TIMES columns; the version of each is printed once it is reported. create, tag: once;
prints "won" or "lost". All wait for the end of standard input before they begin, so that they begin together."""
import os
import sys

import grebe


def say(text):
    os.write(1, f"{text}\n".encode())


def until_committed(call):
    """Rows against rows never conflict; rows against new columns do, and then the work begins anew."""
    while True:
        try:
            return say(call().version)
        except grebe.Conflict:
            continue


def append(path, number, times, durable):
    for i in range(times):
        rows = {"writer": [number] * 3, "serial": [i] * 3, "part": [0, 1, 2], "text": [f"{number}/{i}/{k}" for k in range(3)]}
        until_committed(lambda: grebe.open(path).append(rows, durable=durable))


def add(path, number, times, durable):
    def one(name):
        table = grebe.open(path)
        return table.add_columns({name: list(range(table.num_rows))}, durable=durable)
    for i in range(times):
        until_committed(lambda: one(f"extra_{number}_{i}"))


def once(call):
    try:
        call()
        say("won")
    except grebe.Exists:
        say("lost")


def main():
    verb, path, number, times = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    durable = "durable" in sys.argv[5:]
    say("ready")
    sys.stdin.read()
    if verb == "append":
        append(path, number, times, durable)
    elif verb == "add":
        add(path, number, times, durable)
    elif verb == "create":
        rows = 30_000
        once(lambda: grebe.create(path, {"writer": [number] * rows, "serial": list(range(rows)), "text": ["some text"] * rows},
                                  groups=[["writer"], ["serial"]], durable=durable))
    else:
        once(lambda: grebe.open(path).tag("first", 1, message=str(number)))


if __name__ == "__main__":
    main()
