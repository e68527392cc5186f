#!/usr/bin/env python3
"""tests/farm/queue.py TENON [--faults N] [--trials N] [--seed N] [--namespaces]: a pool behind a real redis-server with its append-only file on, four
workers whose ways to it take 0, 1, 20 and 80 ms, and two tuners at once. With --namespaces each way is a link into a network namespace
of its own (needs root), in which a worker lives, and tuners in two of them: then links go down, too; delays are netem's where the
kernel has it, and else a relay's. While they run, workers, tuners and the server are killed,
ways are cut and stalled, and entries are forged, doubled and deleted, N faults in all, over as many runs as that takes. After each
run every candidate is in its tuner's log once, none failed, and nothing of the tuners is left on the server. Ends with status 77 and
a word where there is no redis-server."""
import argparse, asyncio, collections, json, os, random, shutil, signal, socket, subprocess, sys, tempfile, threading, time

options = argparse.ArgumentParser()
options.add_argument("tenon")
options.add_argument("--faults", type=int, default=12)
options.add_argument("--trials", type=int, default=40)
options.add_argument("--seed", type=int, default=1)
options.add_argument("--namespaces", action="store_true")
options = options.parse_args()
if not shutil.which("redis-server"):
    print("queue: skipped: redis-server is not installed (scripts/setup all)")
    sys.exit(77)
if options.namespaces and (os.getuid() != 0 or subprocess.run(["ip", "netns", "list"], capture_output=True).returncode != 0):
    print("queue: skipped: there are no network namespaces, or they need root")
    sys.exit(77)
draw = random.Random(options.seed)
work = tempfile.mkdtemp()
PROGRAM = "C[i<40, j<24] = sum[k<32](A[i,k] * B[k,j])"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# ---- the server ----------------------------------------------------------------------------------------------------

port = free_port()
server = None


def start_server():
    global server
    server = subprocess.Popen(
        ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", work, "--appendonly", "yes", "--save", "",
         "--requirepass", "secret"], stdout=subprocess.DEVNULL)
    for _ in range(200):
        try:
            ask("PING")
            return
        except (OSError, ValueError):
            time.sleep(0.02)
    raise SystemExit("the server does not come up")


def ask(*words):
    """One command on a connection of its own. Errors of the server raise ValueError."""
    with socket.create_connection(("127.0.0.1", port), 5) as s:
        for command in (("AUTH", "secret"), words):
            parts = [w if isinstance(w, bytes) else str(w).encode() for w in command]
            s.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
            with s.makefile("rb", 0) as file:
                reply = read_reply(file)
        return reply


def read_reply(file):
    line = file.readline()
    if not line.endswith(b"\r\n"):
        raise OSError("the server has gone")
    kind, rest = line[:1], line[1:-2]
    if kind == b"-":
        raise ValueError(rest.decode())
    if kind in b"+:":
        return rest
    n = int(rest)
    if n < 0:
        return None
    if kind == b"*":
        return [read_reply(file) for _ in range(n)]
    data = b""
    while len(data) < n + 2:
        data += file.read(n + 2 - len(data))
    return data[:-2]


# ---- ways to it: delays, cuts, stalls ------------------------------------------------------------------------------

def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Link:
    """A network namespace, joined to this one by a pair of devices."""

    def __init__(self, number):
        self.space, self.near, self.here, there = f"tenonq{number}", f"tq{number}", f"10.78.{number}.1", f"10.78.{number}.2"
        far = f"fq{number}"
        for kind, name in (("netns", self.space), ("link", self.near)):  # of a run that was killed
            subprocess.run(["ip", kind, "del", name], stderr=subprocess.DEVNULL)
        ip("netns", "add", self.space)
        ip("link", "add", self.near, "type", "veth", "peer", "name", far)
        ip("link", "set", far, "netns", self.space)
        ip("addr", "add", self.here + "/24", "dev", self.near)
        ip("link", "set", self.near, "up")
        for words in (["addr", "add", there + "/24", "dev", far], ["link", "set", far, "up"], ["link", "set", "lo", "up"]):
            ip("-n", self.space, *words)

    def slow_down(self, delay_s):
        """In both directions by netem; False where the kernel has none."""
        ends = (["tc", "qdisc", "add", "dev", self.near], ["tc", "-n", self.space, "qdisc", "add", "dev", "fq" + self.near[2:]])
        return all(subprocess.run([*end, "root", "netem", "delay", f"{delay_s * 1000:g}ms"], stderr=subprocess.DEVNULL).returncode == 0
                   for end in ends)

    def go_down(self, seconds):
        ip("link", "set", self.near, "down")
        threading.Timer(seconds, ip, ("link", "set", self.near, "up")).start()

    def remove(self):
        subprocess.run(["ip", "netns", "del", self.space])


class Way:
    """A port whose connections lead to the server, each byte DELAY_S later, through LINK where there is one."""

    def __init__(self, delay_s, link):
        self.link, self.host, self.stalled_until, self.port, self.writers = link, link.here if link else "127.0.0.1", 0, free_port(), set()
        self.is_slow_itself = link is not None and delay_s > 0 and link.slow_down(delay_s)
        self.delay_s = 0 if self.is_slow_itself else delay_s

    def inside(self, *words):
        """The command where the far end is."""
        return ["ip", "netns", "exec", self.link.space, *words] if self.link else list(words)

    def url(self):
        return f"redis://{self.host}:{self.port}/lab"

    async def listen(self):
        await asyncio.start_server(self.join, self.host, self.port)

    async def join(self, reader, writer):
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        for a, b in ((reader, far_writer), (far_reader, writer)):
            self.writers.add(b)
            pieces = asyncio.Queue()
            asyncio.ensure_future(self.read(a, pieces))
            asyncio.ensure_future(self.write(pieces, b))

    async def read(self, reader, pieces):
        try:
            while data := await reader.read(1 << 16):
                pieces.put_nowait((time.monotonic() + self.delay_s, data))
        except OSError:
            pass
        pieces.put_nowait((0, b""))

    async def write(self, pieces, writer):
        try:
            while True:
                due, data = await pieces.get()
                if not data:
                    break
                wait = max(due, self.stalled_until) - time.monotonic()
                if wait > 0:
                    await asyncio.sleep(wait)
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        self.writers.discard(writer)
        writer.close()

    def cut(self):
        for writer in list(self.writers):
            writer.transport.abort()


ways = [Way(ms / 1000, Link(i) if options.namespaces else None) for i, ms in enumerate((0, 1, 20, 80))]
if options.namespaces:
    print("queue: delays by " + ("netem" if ways[-1].is_slow_itself else "the test's relay: this kernel has no netem"))
loop = asyncio.new_event_loop()


def run_loop():
    asyncio.set_event_loop(loop)
    for way in ways:
        loop.run_until_complete(way.listen())
    loop.run_forever()


threading.Thread(target=run_loop, daemon=True).start()

# ---- workers and tuners --------------------------------------------------------------------------------------------

environment = dict(os.environ, TENON_LOG="off", REDISCLI_AUTH="secret")


def start(name, way, *words):
    with open(f"{work}/{name}.out", "a") as out, open(f"{work}/{name}.err", "a") as err:
        return subprocess.Popen(way.inside(options.tenon, *words), env=environment, stdout=out, stderr=err, start_new_session=True)


def start_worker(i):
    return start(f"worker{i}", ways[i], "worker", "--queue", ways[i].url())


def start_tuner(name, seed):
    way = ways[1 if name == "a" else 2]
    return start(name, way, "tune", PROGRAM, "--log", f"{work}/{name}.json", "--trials", str(options.trials), "--queue", way.url(),
                 "--finalists", "2", "--cooldown", "0.05", "--seed", str(seed), "--patience", "60s", "--jobs", "1",
                 "--target", "threads=1", "--model", "none")


workers = []
faults = collections.Counter()


def tuners_streams(kind):
    return [b"tenon:{lab}:%s:%s" % (kind.encode(), t) for t in ask("SMEMBERS", "tenon:{lab}:tuners")]


def strike(tuners):
    """One fault. False: it could not be had now."""
    kinds = ["worker", "worker", "server", "tuner", "cut", "cut", "stall", "stop", "unknown", "doubled", "garbage", "delete", "flush"]
    kind = draw.choice(kinds + 2 * ["link down"] * options.namespaces)
    if kind == "worker":
        i = draw.randrange(len(workers))
        workers[i].kill()
        workers[i].wait()
        workers[i] = start_worker(i)
    elif kind == "server":
        server.kill()
        server.wait()
        time.sleep(draw.choice([0, 0.3, 2]))
        start_server()
    elif kind == "tuner":
        name = draw.choice("ab")
        if tuners[name].poll() is not None:
            return False
        tuners[name].kill()
        tuners[name].wait()
        tuners[name] = start_tuner(name, draw.randrange(1000))
    elif kind == "cut":
        loop.call_soon_threadsafe(draw.choice(ways).cut)
    elif kind == "link down":
        draw.choice(ways).link.go_down(draw.choice([0.5, 3, 12]))
    elif kind == "stall":
        draw.choice(ways).stalled_until = time.monotonic() + draw.choice([0.5, 3, 12])
    elif kind == "stop":
        worker = draw.choice(workers)
        worker.send_signal(signal.SIGSTOP)
        threading.Timer(draw.choice([1, 4, 18]), worker.send_signal, (signal.SIGCONT,)).start()
    elif kind == "flush":
        if draw.random() < 0.7:
            return False
        ask("FLUSHALL")
    else:
        return forge(kind)
    faults[kind] += 1
    return True


def forge(kind):
    names = ask("SMEMBERS", "tenon:{lab}:workers")
    streams = tuners_streams("tasks" if kind == "delete" else "answers")
    if not streams or not names:
        return False
    stream = draw.choice(streams)
    entries = ask("XRANGE", stream, "-", "+", "COUNT", 10)
    if kind in ("doubled", "delete") and not entries:
        return False
    if kind == "unknown":
        ask("XADD", stream, "*", "id", draw.choice(["7777777-0", "x", "-1"]), "worker", draw.choice(names), "answer", '{"error":"none","costs":[1e-9]}')
    elif kind == "doubled":
        ask("XADD", stream, "*", *entries[0][1])
    elif kind == "delete":
        ask("XDEL", stream, draw.choice(entries)[0])
    else:
        ask("XADD", stream, "*", draw.choice(["id", "noise"]), os.urandom(40))
    faults[kind] += 1
    return True


# ---- a run ---------------------------------------------------------------------------------------------------------

def records(name):
    with open(f"{work}/{name}.json") as log:
        lines = [json.loads(line) for line in log]
    return [r for r in lines if "steps" in r and not r.get("final")]


def check(name, status):
    text = open(f"{work}/{name}.err").read()[-2000:]
    if status != 0:
        raise SystemExit(f"tuner {name} ended with status {status}: {text}")
    found = records(name)
    distinct = {json.dumps(r["steps"]) for r in found}
    errors = collections.Counter((r["error"], r.get("message")) for r in found if r["error"] not in ("none", "build_timeout"))
    if len(found) != options.trials or len(distinct) != options.trials or errors:
        raise SystemExit(f"tuner {name}: {len(found)} records, {len(distinct)} distinct, {errors}")
    return {r["machine"] for r in found if "machine" in r}


def found_no_server(name):
    """It was started while the server or the way to it was away for long, and said so: it is started again."""
    last = open(f"{work}/{name}.err").read().strip().rsplit("\n", 1)[-1]
    return last.startswith("tenon: --queue: ")


def run(number, most):
    for name in "ab":
        open(f"{work}/{name}.json", "w").close()
        open(f"{work}/{name}.err", "w").close()
    tuners = {name: start_tuner(name, number * 2 + (name == "a")) for name in "ab"}
    began, struck = time.monotonic(), 0
    next_s = 1.0
    while any(t.poll() is None for t in tuners.values()):
        time.sleep(0.05)
        passed = time.monotonic() - began
        for name, tuner in tuners.items():
            if tuner.poll() == 1 and found_no_server(name):
                tuners[name] = start_tuner(name, draw.randrange(1000))
                faults["start without a server"] += 1
        if passed > 280:
            raise SystemExit("a run does not end: " + open(f"{work}/a.err").read()[-1000:] + open(f"{work}/b.err").read()[-1000:])
        if struck < most and passed > next_s:
            try:
                struck += strike(tuners)
            except (OSError, ValueError):
                pass
            next_s = passed + draw.uniform(0.1, 0.7)
    for name, tuner in tuners.items():
        check(name, tuner.wait())
    return struck, time.monotonic() - began


def left_over():
    """Keys of tuners that ended by themselves."""
    alive = [key for key in ask("KEYS", "tenon:{lab}:*") if b"worker" not in key]
    without_end = [key for key in alive if int(ask("TTL", key)) == -1 and key != b"tenon:{lab}:tuners"]
    return without_end


try:
    start_server()
    workers = [start_worker(i) for i in range(len(ways))]
    done, runs, began = 0, 0, time.monotonic()
    while done < options.faults:
        struck, took = run(runs, min(options.faults - done, 2 * options.trials))
        done, runs = done + struck, runs + 1
        print(f"run {runs}: {struck} faults in {took:.0f} s", flush=True)
    time.sleep(0.5)
    garbage = left_over()
    if garbage:
        raise SystemExit(f"keys are left without an end: {garbage}")
    print(f"queue: {done} faults in {runs} runs of two tuners of {options.trials} trials each, no candidate lost, none counted twice; "
          f"{time.monotonic() - began:.0f} s")
    print("queue: " + ", ".join(f"{n} x {kind}" for kind, n in sorted(faults.items())))
finally:
    for process in workers + [server]:
        if process:
            process.send_signal(signal.SIGCONT)
            process.kill()
    for way in ways:
        if way.link:
            way.link.remove()
    shutil.rmtree(work, ignore_errors=True)
