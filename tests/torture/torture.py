#!/usr/bin/env python3
"""Kills, full disks and limits: whether anything is lost, cut, left behind or silent.

usage: torture.py [--long] [--seed N] [--only GROUP] [--page FILE]

TENON names the command. The short run is a part of `make test`; `make torture` makes the long one and writes its rows into the
table "Hardening" of docs/testing.md. Groups that need what is not here (root, loop devices) are left out, and that is said.
Every outcome is either success with the whole output, or a status above 0 with a message; never a crash, a hang, a cut file that
passes for a whole one, a lost record, a process or a file left behind."""

import argparse
import collections
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TENON = os.path.abspath(os.environ.get("TENON", "build/tenon"))
MATMUL = "C[i<64, j<64] = sum[k<64](A[i,k] * B[k,j])"
HANG_S = 120  # a busy machine; what hangs, hangs for ever
LEVELS_KIB = [0, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256]
TAG = f"torture-{os.getpid()}"


class Group:
    """What was done under one heading, and what was wrong."""

    def __init__(self, name):
        self.name, self.n, self.wrong, self.notes = name, 0, [], collections.Counter()

    def check(self, holds, what):
        if not holds:
            self.wrong.append(what)
            print(f"FAILED: {self.name}: {what}", flush=True)
        return holds


class Done:
    """A command that ended: status (-N: signal N), output, messages."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


def environment():
    return {**os.environ, "TENON_TORTURE": TAG, "LC_ALL": "C"}


def start(*arguments, before=None, folder=None):
    return subprocess.Popen([TENON, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=environment(), preexec_fn=before, cwd=folder)


def finish(group, process, what, timeout=HANG_S):
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        group.check(False, f"{what}: still running after {timeout} s")
    return Done(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


def run(group, *arguments, before=None, folder=None):
    return finish(group, start(*arguments, before=before, folder=folder), " ".join(arguments))


def is_ordinary(group, done, what):
    """Success, or a failure that was said."""
    ok = group.check(done.status >= 0, f"{what}: ended by signal {-done.status}")
    return ok and group.check(done.status == 0 or done.err.strip() != "", f"{what}: status {done.status} without a message")


# ---- what must hold ----------------------------------------------------------------------------------------------------


def processes_left():
    """Processes of ours that still run: they carry the tag in their environment."""
    left, tag = [], f"TENON_TORTURE={TAG}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                is_ours = tag in file.read().split(b"\0")
            with open(f"/proc/{pid}/stat") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if is_ours and state not in "ZX" and int(pid) != os.getpid():
            left.append(pid)
    return left


def check_no_process(group, what):
    deadline = time.monotonic() + 10
    while (left := processes_left()) and time.monotonic() < deadline:
        time.sleep(0.05)
    group.check(not left, f"{what}: processes are left: {' '.join(left)}")


def records(group, path, what, may_be_torn=False):
    """The log's records. A kill may leave one torn line; what follows it stands on a line of its own."""
    if not os.path.exists(path):
        return []
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")
    last, found, broken = lines.pop(), [], 0
    broken += last != b""
    for line in filter(None, lines):
        try:
            o = json.loads(line)
            if "steps" in o and not o.get("final"):  # a trial: no run's beginning or end, no final
                found.append(o)
        except ValueError:
            broken += 1
    group.check(broken == 0 or may_be_torn, f"{what}: {broken} lines of the log are not whole")
    group.notes["torn lines"] += broken if may_be_torn else 0
    return found


def check_nothing_twice(group, found, what):
    steps = collections.Counter(json.dumps(r["steps"]) for r in found)
    twice = sum(n - 1 for n in steps.values())
    group.check(twice == 0, f"{what}: {twice} of {len(found)} records are of a candidate that was measured before")


# ---- kills -------------------------------------------------------------------------------------------------------------


def kill_at(group, process, number, delay_s, what):
    """Sends the signal if the process still runs by then. SIGINT and SIGTERM may end in order or at once."""
    try:
        process.wait(timeout=delay_s)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
        group.notes["were running"] += 1
    done = finish(group, process, what, timeout=30)
    allowed = (0, -number, 128 + number)
    group.check(done.status in allowed or (done.status == 1 and done.err.strip()),
                f"{what}: status {done.status}: {done.err[-300:]}")
    return done


def kill_tunes(group, folder, number, n, rng, profile=None):
    log, what = os.path.join(folder, "log.json"), f"tune killed by {signal.Signals(number).name}"
    arguments = ["tune", MATMUL, "--log", log, "--trials", "1000000", "--jobs", "1"] + (["--profile", profile] if profile else [])
    before = len(records(group, log, what, True))
    for _ in range(n):
        group.n += 1
        kill_at(group, start(*arguments), number, rng.uniform(0.02, 1.5), what)
        check_no_process(group, what)
        found = records(group, log, what, may_be_torn=number == signal.SIGKILL)
        group.check(len(found) >= before, f"{what}: {before - len(found)} records were lost")
        before = len(found)
    check_nothing_twice(group, records(group, log, what, True), what)


def check_going_on(group, folder):
    """A run on the same log takes all that is there."""
    log = os.path.join(folder, "log.json")
    held = len(records(group, log, "going on", True))
    done = run(group, "tune", MATMUL, "--log", log, "--trials", str(held + 3), "--json")
    if group.check(done.status == 0, f"going on: status {done.status}: {done.err[-300:]}"):
        told = json.loads(done.out)
        group.check((told["trials"], told["reused"]) == (3, held), f"going on from {held}: {told['trials']}, {told['reused']}")


def check_profile_files(group, folder, profile):
    """What kills left of recordings can be read, and the next run takes it away."""
    name = os.path.basename(profile)
    if os.path.exists(profile + ".buffers"):
        done = run(group, "profile", "table", profile + ".buffers")
        is_ordinary(group, done, "profile table of what a kill left")
    done = run(group, "tune", MATMUL, "--log", os.path.join(folder, "other.json"), "--trials", "2", "--profile", profile)
    group.check(done.status == 0, f"a recorded run after the kills: status {done.status}: {done.err[-300:]}")
    left = [f for f in os.listdir(folder) if f.startswith(name) and f != name]
    group.check(not left, f"files are left beside {name}: {' '.join(left)}")


def check_nothing_beside(group, folder, name, what):
    """A file has no name until it is whole. For some microseconds it has its own and not yet its last one."""
    left = [f for f in os.listdir(folder) if f.startswith(name + ".")]
    group.check(len(left) <= 1, f"{what}: files are left beside {name}: {' '.join(left)}")
    for f in left:
        os.remove(os.path.join(folder, f))


def kill_builds(group, folder, suffix, numbers, n, rng):
    """The output is the old file or the new one, whole."""
    out, what = os.path.join(folder, f"kernel.{suffix}"), f"build of .{suffix} killed"
    build = ["build", MATMUL, "-s", "auto", "-o", out]
    group.check(run(group, *build).status == 0, f"build of .{suffix} does not work")
    with open(out, "rb") as file:
        whole = file.read()
    for i in range(n):
        group.n += 1
        with open(out, "wb") as file:
            file.write(b"old")
        kill_at(group, start(*build), numbers[i % len(numbers)], rng.uniform(0.001, 0.15), what)
        with open(out, "rb") as file:
            group.check(file.read() in (b"old", whole), f"{what}: the output is cut")
    check_no_process(group, what)
    check_nothing_beside(group, folder, os.path.basename(out), what)


def kill_converts(group, folder, numbers, n, rng):
    """Likewise."""
    source, out = os.path.join(folder, "run.tnprof"), os.path.join(folder, "run.json")
    done = run(group, "tune", MATMUL, "--log", os.path.join(folder, "convert.json"), "--trials", "8", "--profile", source)
    group.check(done.status == 0, f"recording: {done.err[-300:]}")
    for i in range(n):
        group.n += 1
        with open(out, "w") as file:
            file.write("[]")
        kill_at(group, start("profile", "convert", source, out), numbers[i % len(numbers)], rng.uniform(0.001, 0.05),
                "profile convert killed")
        with open(out) as file:
            try:
                json.load(file)
            except ValueError:
                group.check(False, "profile convert killed: the output is cut")
    check_nothing_beside(group, folder, os.path.basename(out), "profile convert killed")


def kills(folder, is_long, rng):
    group = Group("kills at random moments")
    profile = os.path.join(folder, "killed.tnprof")
    numbers = [signal.SIGKILL, signal.SIGINT, signal.SIGTERM]
    for number, short, long in zip(numbers, (3, 1, 1), (60, 30, 30)):
        kill_tunes(group, folder, number, long if is_long else short, rng)
    kill_tunes(group, folder, signal.SIGKILL, 20 if is_long else 2, rng, profile)
    check_going_on(group, folder)
    check_profile_files(group, folder, profile)
    kill_builds(group, folder, "o", numbers, 25 if is_long else 3, rng)
    kill_builds(group, folder, "so", numbers, 15 if is_long else 2, rng)
    kill_converts(group, folder, numbers, 20 if is_long else 3, rng)
    return group


# ---- many tuners, one log ----------------------------------------------------------------------------------------------


def tuners(folder, is_long, rng):
    group = Group("16 tuners on one log")
    for round in range(2 if is_long else 1):
        log = os.path.join(folder, f"shared{round}.json")
        trials = 200 if is_long else 40
        all = [start("tune", MATMUL, "--log", log, "--trials", str(trials), "--jobs", "1") for _ in range(16)]
        if round == 1:  # some of them die meanwhile
            time.sleep(2)
            for process in rng.sample(all, 4):
                process.kill()
        for process in all:
            group.n += 1
            done = finish(group, process, "one of 16 tuners", timeout=300)
            group.check(done.status == 0 or (round == 1 and done.status == -signal.SIGKILL),
                        f"status {done.status}: {done.err[-300:]}")
        found = records(group, log, "16 tuners", may_be_torn=round == 1)
        check_nothing_twice(group, found, "16 tuners")
        group.check(trials <= len(found) <= trials + 16, f"{len(found)} records where {trials} were wanted")
    check_no_process(group, "16 tuners")
    return group


# ---- full disks --------------------------------------------------------------------------------------------------------


class Disk:
    """A small file system of its own; None where it cannot be made."""

    def __init__(self, kind, where, folder):
        self.where, self.image = where, os.path.join(folder, f"{kind}.image")
        os.makedirs(where, exist_ok=True)
        if kind == "tmpfs":
            self.mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", where]
        else:
            with open(self.image, "wb") as file:
                file.truncate(8 << 20)
            # No share for root, no journal: what is free is free.
            subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", self.image], check=True)
            self.mount = ["mount", "-o", "loop", self.image, where]

    def __enter__(self):
        subprocess.run(self.mount, check=True, stderr=subprocess.PIPE)
        return self

    def __exit__(self, *_):
        for _ in range(50):
            if subprocess.run(["umount", self.where], stderr=subprocess.DEVNULL).returncode == 0:
                return
            time.sleep(0.1)

    def path(self, name):
        return os.path.join(self.where, name)

    def free_kib(self):
        space = os.statvfs(self.where)
        return space.f_bavail * space.f_frsize // 1024

    def leave(self, kib):
        """Takes all but so much."""
        filler = os.open(self.path("filler"), os.O_WRONLY | os.O_CREAT)
        for step in (64 << 10, 4 << 10, 1 << 10):
            while self.free_kib() * 1024 - step >= kib * 1024:
                try:
                    if os.write(filler, b"x" * step) < step:
                        break
                except OSError:
                    break
        os.close(filler)


def disk_or_none(kind, folder):
    where = os.path.join(folder, f"{kind}.disk")
    try:
        disk = Disk(kind, where, folder)
        with disk:
            return disk
    except (OSError, subprocess.CalledProcessError) as why:
        print(f"skipped: a {kind} cannot be mounted here ({why})", flush=True)
        return None


def full_log(group, disk, level, folder):
    what = f"log with {level} KiB free"
    done = run(group, "tune", MATMUL, "--log", disk.path("log.json"), "--trials", "30", "--jobs", "1")
    found = records(group, disk.path("log.json"), what)
    if is_ordinary(group, done, what):
        group.check(done.status != 0 or len(found) == 30, f"{what}: status 0 with {len(found)} of 30 records")
        group.check(done.status == 0 or "No space left" in done.err, f"{what}: {done.err[-300:]}")
    group.notes["told of the full disk"] += done.status != 0


def full_output(group, disk, level, folder):
    for suffix in ("o", "so", "c", "ll") if level > 12 else ("o", "so"):
        what, reference, out = f"output .{suffix} with {level} KiB free", os.path.join(folder, f"whole.{suffix}"), disk.path(f"out.{suffix}")
        if not os.path.exists(reference):
            run(group, "build", MATMUL, "-s", "auto", "-o", reference)
        done = run(group, "build", MATMUL, "-s", "auto", "-o", out)
        group.notes["told of the full disk"] += done.status != 0
        if not is_ordinary(group, done, what):
            continue
        if done.status != 0:
            group.check(not os.path.exists(out), f"{what}: a file is there after a failure")
        else:
            group.check(os.path.getsize(out) == os.path.getsize(reference), f"{what}: the file is cut with status 0")
            os.unlink(out)
    left = [f for f in os.listdir(disk.where) if f.startswith("out")]
    group.check(not left, f"output with {level} KiB free: files are left: {' '.join(left)}")


def full_profile(group, disk, level, folder):
    """The tuning goes on, whatever becomes of its recording; what is missing there is said."""
    what, log, profile = f"profile with {level} KiB free", os.path.join(folder, "beside.json"), disk.path("p.tnprof")
    if os.path.exists(log):
        os.unlink(log)
    done = run(group, "tune", MATMUL, "--log", log, "--trials", "6", "--jobs", "1", "--profile", profile)
    if not is_ordinary(group, done, what):
        return
    found = len(records(group, log, what))
    group.check(found == 6, f"{what}: {found} of 6 records: {done.err[-300:]}")
    group.notes["told of the full disk"] += done.err.strip() != ""
    has_file = os.path.exists(profile)
    group.check(has_file or done.err.strip(), f"{what}: no recording and no word")
    if has_file:
        table = run(group, "profile", "averages", profile, "--json")
        group.check(table.status == 0, f"{what}: the recording cannot be read: {table.err[-300:]}")
        calls = sum(s.get("calls", 0) for s in json.loads(table.out)["rows"] if s["name"] == "SendToRunner") if table.status == 0 else 0
        # The default schedule is measured with the reference, before the first run.
        group.check(calls == 5 or done.err.strip(), f"{what}: {calls} of 5 runs are in the recording, without a word")
    left = [f for f in os.listdir(disk.where) if f.startswith("p.tnprof.")]
    group.check(not left, f"{what}: files are left: {' '.join(left)}")


def full_disks(folder, is_long, rng):
    group = Group("full disks")
    levels = LEVELS_KIB if is_long else [0, 12, 64]
    for kind in ("tmpfs", "ext4") if is_long else ("tmpfs",):
        disk = disk_or_none(kind, folder)
        if disk is None:
            group.notes[f"kind of disk left out ({kind})"] = 1
            continue
        for level in levels:
            for fill in (full_log, full_output, full_profile):
                group.n += 1
                if kind == "ext4":
                    disk = Disk(kind, disk.where, folder)
                with disk:
                    disk.leave(level)
                    fill(group, disk, level, folder)
    check_no_process(group, "full disks")
    return group


# ---- folders that cannot be written ------------------------------------------------------------------------------------


def read_only(folder, is_long, rng):
    group = Group("read-only folders")
    disk = disk_or_none("tmpfs", folder)
    if disk is None:
        group.notes["kind of disk left out (tmpfs)"] = 1
        return group
    with disk:
        subprocess.run(["mount", "-o", "remount,ro", disk.where], check=True)
        for arguments in (["tune", MATMUL, "--trials", "2", "--log", disk.path("log.json")],
                          ["build", MATMUL, "-s", "auto", "-o", disk.path("out.o")], ["build", MATMUL, "-s", "auto", "-o", disk.path("out.so")]):
            group.n += 1
            done = run(group, *arguments)
            what = " ".join(arguments[:1] + arguments[2:])
            group.check(done.status == 1 and "Read-only" in done.err, f"{what}: status {done.status}: {done.err[-300:]}")
        group.n += 1
        log = os.path.join(folder, "beside.json")
        done = run(group, "tune", MATMUL, "--trials", "2", "--log", log, "--profile", disk.path("p.tnprof"))
        group.check(done.status >= 0 and "not recorded" in done.err, f"profile: status {done.status}: {done.err[-300:]}")
    return group


# ---- limits ------------------------------------------------------------------------------------------------------------


def limited(what, value, user=None):
    def before():
        resource.setrlimit(what, (value, value))
        if user is not None:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
    return before


def limit_runs(folder):
    """Commands with what they print without a limit; None: times, which differ. Another user, whose folders have no measured costs, or who
    cannot start a thread to measure them, chooses by the same ones."""
    chosen_by = ["-s", "auto", "--target", "costs=fork:4000"]
    log, profile = os.path.join(folder, "limits.json"), os.path.join(folder, "limits.tnprof")
    quiet = Group("")
    run(quiet, "tune", MATMUL, "--log", log, "--trials", "4", "--profile", profile)
    commands = [["show", MATMUL, *chosen_by], ["show", MATMUL, *chosen_by, "--emit=c"], ["log", "best", log],
                ["profile", "table", profile], ["build", MATMUL, "-s", "auto", "-o", os.path.join(folder, "limits.o")]]
    return [(c, run(quiet, *c).out) for c in commands]


def check_limited(group, runs, before, what, folder):
    for arguments, whole in runs:
        group.n += 1
        done = run(group, *arguments, before=before, folder=folder)
        name = f"{arguments[0]} {arguments[1] if arguments[0] in ('log', 'profile') else ''} with {what}"
        if "error while loading shared libraries" in done.err:  # not ours to mend
            continue
        if is_ordinary(group, done, name):
            group.check(done.status != 0 or done.out == whole, f"{name}: the output is cut with status 0")
        group.notes["refused"] += done.status != 0
    group.n += 1
    log = os.path.join(folder, "limited.json")
    if os.path.exists(log):
        os.unlink(log)
    done = run(group, "tune", MATMUL, "--log", log, "--trials", "4", "--jobs", "1", before=before, folder=folder)
    if "error while loading shared libraries" not in done.err and is_ordinary(group, done, f"tune with {what}"):
        found = len(records(group, log, f"tune with {what}"))
        group.check(done.status != 0 or found == 4, f"tune with {what}: status 0 with {found} of 4 records")
        group.notes["refused"] += done.status != 0
    check_no_process(group, f"tune with {what}")


LIMITS = [
    ("NOFILE", resource.RLIMIT_NOFILE, [4, 5, 6, 7, 8, 10, 12, 16, 24], [6, 12], 1),
    ("FSIZE of KiB", resource.RLIMIT_FSIZE, [0, 1, 2, 4, 16, 64], [0, 2], 1 << 10),
]


def least_address_space_kib():
    """What the shared libraries take before the command's first line runs, to 16 KiB."""
    low, high = 1 << 10, 4 << 20
    while high - low > 16:
        middle = (low + high) // 2
        done = subprocess.run([TENON, "version"], preexec_fn=limited(resource.RLIMIT_AS, middle << 10), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        low, high = (low, middle) if done.returncode == 0 else (middle, high)
    return high


def check_short_of_space(group, runs, least, folder):
    """In small steps from too little to enough: memory runs out in one part of a build after another, in LLVM and on the stack, too."""
    arguments, whole = runs[-1]
    for more in range(0, 4096, 64):
        group.n += 1
        done = run(group, *arguments, before=limited(resource.RLIMIT_AS, (least + more) << 10), folder=folder)
        name = f"build with AS of {least} + {more} KiB"
        if is_ordinary(group, done, name):
            group.check(done.status != 0 or done.out == whole, f"{name}: the output is cut with status 0")
        group.notes["refused"] += done.status != 0
    left = [f for f in os.listdir(folder) if f.startswith("limits.o.")]
    group.check(not left, f"builds with too little address space left files: {' '.join(left)}")


def limit_space(group, runs, folder, is_long):
    least = least_address_space_kib()
    check_short_of_space(group, runs, least, folder)
    for more in [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128] if is_long else [1, 8]:
        check_limited(group, runs, limited(resource.RLIMIT_AS, (least << 10) + (more << 20)), f"AS of {least} KiB + {more} MiB", folder)


def limits(folder, is_long, rng):
    group = Group("NOFILE, AS, FSIZE, NPROC")
    if os.environ.get("TENON_SANITIZE") == "thread":
        print("skipped: the thread sanitizer itself dies of such limits", flush=True)
        group.notes["group left out"] = 1
        return group
    runs = limit_runs(folder)
    for name, what, long, short, unit in LIMITS:
        for value in long if is_long else short:
            check_limited(group, runs, limited(what, value * unit), f"{name} {value}", folder)
    if os.environ.get("TENON_SANITIZE"):
        print("skipped: a sanitizer takes terabytes of address space, so that none can be limited", flush=True)
        group.notes["limit left out (AS)"] = 1
    else:
        limit_space(group, runs, folder, is_long)
    nobody = 65534
    os.chmod(folder, 0o777)
    if os.getuid() != 0:
        for value in [1, 2, 4] if is_long else [2]:
            check_limited(group, runs, limited(resource.RLIMIT_NPROC, value), f"NPROC {value}", folder)
    elif subprocess.run([TENON, "version"], preexec_fn=limited(resource.RLIMIT_NPROC, 1000, nobody), cwd=folder,
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
        for value in [1, 2, 3, 4, 8] if is_long else [2]:
            for f in ("limited.json", "limits.o"):
                if os.path.exists(os.path.join(folder, f)):
                    os.unlink(os.path.join(folder, f))
            check_limited(group, runs, limited(resource.RLIMIT_NPROC, value, nobody), f"NPROC {value}", folder)
    else:
        print("skipped: another user, for whom NPROC counts, cannot run the command here", flush=True)
        group.notes["limit left out (NPROC)"] = 1
    return group


# ---- all ---------------------------------------------------------------------------------------------------------------

GROUPS = {"kills": kills, "tuners": tuners, "disks": full_disks, "read-only": read_only, "limits": limits}


def row(group, seconds):
    notes = ", ".join(f"{n} {name}" for name, n in group.notes.items() if n)
    verdict = f"{len(group.wrong)} wrong" if group.wrong else "0 wrong"
    return f"| {group.name} | {group.n} | {verdict}{'; ' + notes if notes else ''} | `make torture`, {seconds:.0f} s |"


def write_page(path, rows):
    """Replaces the rows of these groups in the table under "## Hardening", or adds them at its end."""
    with open(path) as file:
        lines = file.read().split("\n")
    head = next(i for i in range(lines.index("## Hardening"), len(lines)) if lines[i].startswith("| ---"))
    for name, text in rows.items():
        end = head + 1
        while end < len(lines) and lines[end].startswith("|"):
            end += 1
        at = next((i for i in range(head + 1, end) if lines[i].startswith(f"| {name} |")), None)
        lines[end:end] = [text] if at is None else []
        if at is not None:
            lines[at] = text
    with open(path, "w") as file:
        file.write("\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", choices=GROUPS)
    parser.add_argument("--page")
    args = parser.parse_args()
    if not os.access(TENON, os.X_OK):
        parser.error(f"{TENON} is no command: TENON must name one")
    # Started in the background, a program is told to ignore it, and so are those it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    seed = args.seed if args.seed is not None else int(time.time())
    print(f"seed {seed}", flush=True)
    rows, n_wrong = {}, 0
    for name, work in GROUPS.items():
        if args.only not in (None, name):
            continue
        folder, began = tempfile.mkdtemp(prefix="tenon-torture-"), time.monotonic()
        try:
            group = work(folder, args.long, random.Random(f"{seed} {name}"))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        rows[group.name] = row(group, time.monotonic() - began)
        n_wrong += len(group.wrong)
        print(rows[group.name], flush=True)
    if args.page:
        write_page(args.page, rows)
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
