"""Installs the Debian package on a bare Debian, uses it, upgrades it under load, removes it.

    packaging/install_test.py OLD.deb NEW.deb [BARE.tar]

OLD and NEW are two builds; BARE is a bare system from an earlier run, made (with mmdebstrap, from
the mirrors of this machine) if it is not there. Run as root, with systemd-analyze. There is no init
in the bare system: the test starts the service as its unit says, as its user, and restarts it where
systemd would.
"""

import contextlib
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

KEYS = 100_000
# What a user finds after an installation: path, mode, owner.
EXPECTED = {
    "/usr/bin/mayhap": ("755", "root:root"),
    "/etc/mayhap/mayhap.toml": ("640", "root:mayhap"),
    "/lib/systemd/system/mayhap.service": ("644", "root:root"),
    "/var/lib/mayhap": ("700", "mayhap:mayhap"),
    "/usr/share/bash-completion/completions/mayhap": ("644", "root:root"),
    "/usr/share/fish/vendor_completions.d/mayhap.fish": ("644", "root:root"),
    "/usr/share/zsh/vendor-completions/_mayhap": ("644", "root:root"),
    "/usr/share/doc/mayhap/copyright": ("644", "root:root"),
    "/usr/share/man/man1/mayhap.1.gz": ("644", "root:root"),
}


def need(condition: bool, what: str) -> None:
    """Ends the test unless the condition holds."""
    if not condition:
        sys.exit(f"install test: {what}")


class System:
    """A bare Debian in a folder, and what runs in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.processes: list[subprocess.Popen[bytes]] = []

    def run(self, command: str, stdin: str = "") -> str:
        """A line of the shell in the system; what it prints."""
        words = ["chroot", str(self.root), "sh", "-ec", command]
        done = subprocess.run(words, input=stdin, capture_output=True, text=True)
        need(done.returncode == 0, f"{command}: {done.stdout}{done.stderr}")
        return done.stdout

    def path(self, name: str) -> Path:
        """A path of the system, seen from outside."""
        return self.root / name.lstrip("/")

    def install(self, package: Path) -> None:
        """Installs or upgrades, and asks nothing."""
        self.path("/tmp/mayhap.deb").write_bytes(package.read_bytes())
        self.run("DEBIAN_FRONTEND=noninteractive dpkg -i /tmp/mayhap.deb </dev/null")


class Service:
    """The server, started as systemd would: command and user are those of the unit."""

    def __init__(self, system: System, port: int) -> None:
        unit = system.path("/lib/systemd/system/mayhap.service").read_text()
        setting = dict(re.findall(r"^(\w+)=(.+)$", unit, re.MULTILINE))
        need(setting["User"] == "mayhap", "the unit has another user")
        user, command = setting["User"], shlex.split(setting["ExecStart"])
        ids = [system.run(f"id {flag} {user}").strip() for flag in ("-u", "-g")]
        words = ["setpriv", "--reuid", ids[0], "--regid", ids[1], "--clear-groups"]
        words += ["--no-new-privs", "--bounding-set=-all"]
        self.process = subprocess.Popen(["chroot", str(system.root), *words, *command])
        system.processes.append(self.process)
        deadline = time.monotonic() + 60
        while not self.answers(port):
            need(self.process.poll() is None, "the service did not start")
            need(time.monotonic() < deadline, "the service does not answer")
            time.sleep(0.05)

    @staticmethod
    def answers(port: int) -> bool:
        """Whether it takes connections."""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False

    def stop(self) -> None:
        """SIGTERM, as systemd stops it."""
        self.process.terminate()
        need(self.process.wait(60) == 0, "the service did not stop with 0")


class Client:
    """Adds keys one batch after another, and keeps those that were acknowledged."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.acknowledged: list[str] = []
        self.retries = 0
        self.is_enough = threading.Event()

    def ask(self, link: socket.socket, words: list[str]) -> list[int]:
        """A command whose reply is a list of numbers."""
        parts = [f"${len(word)}\r\n{word}\r\n" for word in words]
        link.sendall(f"*{len(words)}\r\n{''.join(parts)}".encode())
        reply = b""
        while reply.count(b"\r\n") < len(words) - 1:
            more = link.recv(1 << 16)
            if not more:
                raise ConnectionError
            reply += more
            need(not reply.startswith(b"-"), f"{words[0]}: {reply!r}")
        return [int(line.lstrip(b":")) for line in reply.split(b"\r\n")[1:-1]]

    def add(self) -> None:
        """Adds keys, each until it is acknowledged, until there are enough."""
        while not self.is_enough.is_set():
            start = len(self.acknowledged)
            batch = [f"key-{i}" for i in range(start, start + 100)]
            while not self.is_enough.is_set():
                try:
                    with socket.create_connection(("127.0.0.1", self.port), 10) as link:
                        self.ask(link, ["BF.MADD", "seen", *batch])
                    self.acknowledged += batch
                    break
                except OSError:
                    self.retries += 1
                    time.sleep(0.02)

    def wait_for(self, keys: int) -> None:
        """Until this many keys are acknowledged."""
        deadline = time.monotonic() + 300
        while len(self.acknowledged) < keys:
            need(time.monotonic() < deadline, f"{len(self.acknowledged)} keys in five minutes")
            time.sleep(0.01)

    def lost(self) -> int:
        """How many acknowledged keys are missing."""
        found = 0
        with socket.create_connection(("127.0.0.1", self.port), 10) as link:
            for start in range(0, len(self.acknowledged), 1000):
                batch = self.acknowledged[start : start + 1000]
                found += sum(self.ask(link, ["BF.MEXISTS", "seen", *batch]))
        return len(self.acknowledged) - found


@contextlib.contextmanager
def bare(archive: Path) -> Iterator[System]:
    """A bare Debian, in a folder that is removed afterwards."""
    if not archive.exists():
        # Of this machine's release: OLD and NEW may be linked to its C library.
        release = Path("/etc/os-release").read_text()
        suite = re.findall(r"^VERSION_CODENAME=(\w+)$", release, re.MULTILINE)
        words = ["--variant=apt", "--include=adduser,init-system-helpers", *suite]
        subprocess.run(["mmdebstrap", "--quiet", *words, archive], check=True)
    with tempfile.TemporaryDirectory(prefix="install-test-") as folder:
        os.chmod(folder, 0o755)
        subprocess.run(["tar", "-xf", archive, "-C", folder, "--exclude=./dev/*"], check=True)
        system = System(Path(folder))
        system.path("/dev/null").touch()
        system.path("/dev/null").chmod(0o666)
        try:
            yield system
        finally:
            for process in system.processes:
                process.kill()
                process.wait()


def check_files(system: System) -> None:
    """Every file is there, with its mode and owner, and every verb has its page."""
    for name, (mode, owner) in EXPECTED.items():
        need(system.path(name).exists(), f"{name} is missing")
        found = system.run(f"stat -c '%a %U:%G' {name}").strip()
        need(found == f"{mode} {owner}", f"{name} is {found}, not {mode} {owner}")
    listed = system.run("mayhap --help").split("Commands:")[-1]
    verbs = re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE)
    need(len(verbs) > 20, f"{len(verbs)} verbs are too few")
    for verb in verbs:
        page = system.path(f"/usr/share/man/man1/mayhap-{verb}.1.gz")
        need(verb == "help" or page.exists(), f"{page.name} is missing")
    listed = system.run("dpkg --verify mayhap").splitlines()
    changed = [line for line in listed if " c " not in line]
    need(not changed, f"files differ from the package's list: {changed}")


def check_unit(system: System) -> None:
    """The unit is understood by systemd, and its exposure is at most 2.0 of 10."""
    unit = system.path("/lib/systemd/system/mayhap.service").read_text()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "mayhap.service"
        # systemd-analyze looks for the command on this machine.
        copy.write_text(unit.replace("/usr/bin/mayhap", str(system.path("/usr/bin/mayhap"))))
        verify = ["systemd-analyze", "verify", "--man=no", str(copy)]
        found = subprocess.run(verify, capture_output=True, text=True)
        need(found.returncode == 0 and not found.stderr, f"the unit: {found.stderr}")
        rate = ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(copy)]
        found = subprocess.run(rate, capture_output=True, text=True)
        need(found.returncode == 0, "the unit is exposed: see systemd-analyze security")
        print(found.stdout.splitlines()[-1].strip(" →🙂😀"))


def main_job(system: System) -> None:
    """Lines without repeats, and a filter that is queried."""
    lines = "".join(f"https://example.org/{i % 700}\n" for i in range(1000))
    unique = system.run("mayhap dedup -q -n 1000 -p 1e-6", lines)
    need(unique == "".join(f"https://example.org/{i}\n" for i in range(700)), "dedup differs")
    system.run("mayhap build -q -o /tmp/filter", lines)
    need(system.run("mayhap check /tmp/filter", "https://example.org/1\nno\n").count("\n") == 1,
         "check differs")


def upgrade_under_load(system: System, new: Path, port: int) -> Client:
    """The new package while keys arrive: the service is restarted, and no key is lost."""
    service, client = Service(system, port), Client(port)
    adder = threading.Thread(target=client.add, daemon=True)
    adder.start()
    client.wait_for(KEYS // 2)
    system.install(new)
    service.stop()
    at = len(client.acknowledged)
    service = Service(system, port)
    client.wait_for(max(KEYS, at + KEYS // 2))
    client.is_enough.set()
    adder.join()
    need(client.retries > 0, "no key came during the restart")
    need(client.lost() == 0, f"{client.lost()} acknowledged keys are lost")
    service.stop()
    total = len(client.acknowledged)
    print(f"{total} keys, upgraded after {at}, {client.retries} retries, 0 lost")
    return client


def main() -> None:
    """See above."""
    old, new = Path(sys.argv[1]), Path(sys.argv[2])
    archive = Path(sys.argv[3] if len(sys.argv) > 3 else tempfile.mkdtemp() + "/bare.tar")
    with bare(archive) as system:
        system.install(old)
        check_files(system)
        check_unit(system)
        main_job(system)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        # An administrator's change of the settings outlives everything but a purge.
        settings = system.path("/etc/mayhap/mayhap.toml")
        settings.write_text(settings.read_text().replace("port = 6380", f"port = {port}"))
        client = upgrade_under_load(system, new, port)
        need(f"port = {port}" in settings.read_text(), "the upgrade changed the settings")
        system.run("dpkg -r mayhap </dev/null")
        need(not system.path("/usr/bin/mayhap").exists(), "a removal leaves the command")
        need(any(system.path("/var/lib/mayhap").iterdir()), "a removal deletes data")
        need(settings.exists(), "a removal deletes the settings")
        system.install(new)
        check_files(system)
        service = Service(system, port)
        need(client.lost() == 0, "keys are lost after a removal and a new installation")
        service.stop()
        system.run("dpkg -P mayhap </dev/null")
        for name in ("/etc/mayhap", "/var/lib/mayhap", "/usr/bin/mayhap", "/usr/share/doc/mayhap"):
            need(not system.path(name).exists(), f"a purge leaves {name}")
    print("installed, used, upgraded, removed, installed again, purged: ok")


if __name__ == "__main__":
    main()
