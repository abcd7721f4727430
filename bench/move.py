#!/usr/bin/env python3
"""Moves a filter of 100 M keys from `mayhap serve` to a cluster and back, while keys arrive.

    cargo build --release -p mayhap-cli
    python3 bench/move.py target/release/mayhap [--items 100000000] [--rate 20000] [--fpp 0.1%]

Builds a filter, starts `mayhap serve --data` and a cluster of three masters (redis-server) on free
ports, moves the filter to the server, and on to the cluster and back while keys arrive, as
docs/machines.md says: move, switch the writer, move again. The writer adds
`--rate` new keys a second by `mayhap add`, all of which are acknowledged when it ends without an
error. Then each key that was ever acknowledged is looked up in a copy pulled from the new place.
Prints a table in Markdown and how many keys are lost; exits with 1 if any is.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Bench:
    def __init__(self, mayhap, folder):
        self.mayhap, self.folder, self.children = mayhap, folder, []

    def start(self, command, **options):
        child = subprocess.Popen(command, cwd=self.folder, **options)
        self.children.append(child)
        return child

    def end(self):
        for child in self.children:
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
        for child in self.children:
            try:
                child.wait(timeout=20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def serve(self):
        child = self.start(
            [self.mayhap, "serve", "--data", "data", "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
        )
        for line in child.stderr:
            found = re.search(r"Redis clients: 127\.0\.0\.1:(\d+)", line)
            if found:
                threading.Thread(target=child.stderr.read, daemon=True).start()
                return int(found[1])
        raise SystemExit("mayhap serve ended")

    def cluster(self):
        nodes = []
        while len(nodes) < 3:
            port = free_port()
            if port > 50_000:  # the bus has the port 10,000 above
                port -= 20_000
            name = f"node-{len(nodes)}"
            os.mkdir(self.folder / name)
            self.start(
                ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", name]
                + ["--cluster-enabled", "yes", "--save", "", "--appendonly", "yes"],
                stdout=subprocess.DEVNULL,
            )
            nodes.append(f"127.0.0.1:{port}")
        for node in nodes:
            self.until(lambda: "PONG" in self.cli(node, "PING"))
        made = subprocess.run(
            ["redis-cli", "--cluster", "create", *nodes, "--cluster-yes"],
            capture_output=True, text=True, timeout=120,
        )
        if made.returncode:
            raise SystemExit(made.stdout + made.stderr)
        for node in nodes:
            self.until(lambda: "cluster_state:ok" in self.cli(node, "CLUSTER", "INFO"))
        return nodes[0]

    @staticmethod
    def cli(node, *words):
        host, port = node.split(":")
        command = ["redis-cli", "-h", host, "-p", port, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout

    @staticmethod
    def until(holds):
        for _ in range(600):
            if holds():
                return
            time.sleep(0.1)
        raise SystemExit("a server did not start")

    def run(self, *arguments):
        began = time.monotonic()
        done = subprocess.run(
            [self.mayhap, *arguments], cwd=self.folder, capture_output=True, text=True
        )
        return done, time.monotonic() - began

    def must(self, *arguments):
        done, seconds = self.run(*arguments)
        if done.returncode:
            raise SystemExit(f"{arguments}: {done.stderr}")
        return done.stdout, seconds

    def feed(self, arguments, start, end):
        """Runs a command with these keys, which are numbers; its exit code and its output."""
        lines = subprocess.Popen(["seq", str(start), str(end - 1)], stdout=subprocess.PIPE)
        done = subprocess.run(
            [self.mayhap, *arguments], cwd=self.folder, stdin=lines.stdout, stdout=subprocess.PIPE
        )
        lines.stdout.close()
        lines.wait()
        return done.returncode, done.stdout.decode()

    def lost(self, place, end):
        """How many of the keys up to this one a copy of the filter lacks."""
        began = time.monotonic()
        self.must("pull", "-q", "--force", place, "copy")
        code, found = self.feed(["check", "-c", "copy"], 0, end)
        if code not in (0, 1):
            raise SystemExit("the copy was not read")
        return end - int(found.strip().replace(",", "")), time.monotonic() - began


class Writer:
    """Adds new keys at a rate until it is ended, to one place after the other."""

    def __init__(self, bench, rate, first):
        self.bench, self.rate, self.next = bench, rate, first

    def to(self, place):
        self.child = subprocess.Popen(
            [self.bench.mayhap, "add", "-q", place], cwd=self.bench.folder, stdin=subprocess.PIPE
        )
        self.ended, self.began, self.first = threading.Event(), time.monotonic(), self.next
        self.thread = threading.Thread(target=self.write)
        self.thread.start()

    def write(self):
        while not self.ended.wait(0.05):
            due = self.first + int((time.monotonic() - self.began) * self.rate)
            if due > self.next:
                lines = "".join(f"{i}\n" for i in range(self.next, due))
                self.child.stdin.write(lines.encode())
                self.child.stdin.flush()
                self.next = due

    def end(self):
        """All keys so far are acknowledged; returns their number a second."""
        self.ended.set()
        self.thread.join()
        self.child.stdin.close()
        if self.child.wait():
            raise SystemExit("the writer failed")
        return (self.next - self.first) / (time.monotonic() - self.began)


def move(bench, writer, old, new):
    """As the page says; a row of the table without its first cell, and the time of the pause."""
    writer.to(old)
    time.sleep(1)
    first, seconds = bench.run("move", "--json", old, new)
    if first.returncode not in (0, 1):
        raise SystemExit(first.stderr)
    rates = [writer.end()]
    writer.to(new)
    out, again = bench.must("move", "--json", old, new)
    time.sleep(1)
    rates.append(writer.end())
    passes = [json.loads(text)["passes"] for text in (first.stdout, out)]
    lost, took = bench.lost(new, writer.next)
    row = f"{seconds:.1f} s, {passes[0]} | {again:.1f} s, {passes[1]} | {min(rates):,.0f}"
    return f"{row} | {writer.next:,} | {lost} |", lost, took


def main():
    options = argparse.ArgumentParser()
    options.add_argument("mayhap", type=pathlib.Path)
    options.add_argument("--items", type=int, default=100_000_000)
    options.add_argument("--rate", type=int, default=20_000)
    options.add_argument("--fpp", default="0.1%")
    args = options.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="move-"))
    bench = Bench(str(args.mayhap.resolve()), folder)
    try:
        port, node = bench.serve(), bench.cluster()
        old, back = (f"redis://127.0.0.1:{port}/0/{name}" for name in ("old", "back"))
        new = f"redis+cluster://{node}/new"
        size = str(args.items + 200 * args.rate)
        plain = ["--layout", "blocked", "--seed", "0", "-n", size, "-p", args.fpp]
        began = time.monotonic()
        code, _ = bench.feed(["build", "-q", "-o", "file", *plain], 0, args.items)
        if code:
            raise SystemExit("the filter was not filled")
        filled = time.monotonic() - began
        print(f"built: {args.items:,} keys in {filled:.0f} s", flush=True)
        _, seconds = bench.must("move", "-q", "file", old)
        print(f"file to `serve`: {seconds:.1f} s", flush=True)
        info = json.loads(bench.must("info", "--json", old)[0])
        print(f"size: {info['num_bytes'] / 2**20:.0f} MiB, {args.fpp}")
        writer = Writer(bench, args.rate, args.items)
        print("| | first run, passes | second run, passes | keys/s meanwhile | keys | lost |")
        print("|---|--:|--:|--:|--:|--:|")
        out, lost, took = move(bench, writer, old, new)
        print(f"| `serve` to cluster | {out}", flush=True)
        out, more, again = move(bench, writer, new, back)
        print(f"| cluster to `serve` | {out}")
        print(f"looked up in {took:.0f} and {again:.0f} s", flush=True)
        sys.exit(1 if lost or more else 0)
    finally:
        bench.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
