#!/usr/bin/env python3
"""Asks a server of recordings everything that the row F6 names, with nothing but python3. Arguments: the port, a query,
and a file with its right answer. The timeline is written to the file that the fourth argument names."""
import http.client
import json
import socket
import sys
import threading

PORT, QUERY, ANSWER, TIMELINE = int(sys.argv[1]), sys.argv[2], open(sys.argv[3], "rb").read(), sys.argv[4]
HOST = "127.0.0.1"


def ask(method, path, body=None, headers=None):
    connection = http.client.HTTPConnection(HOST, PORT, timeout=20)
    connection.request(method, path, body, headers or {})
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, text


def raw(data):
    """The status of the answer to these bytes and nothing more; 0 when the server hangs up without one."""
    with socket.create_connection((HOST, PORT), timeout=20) as s:
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            line = s.recv(64)
        except ConnectionError:
            return 0
    return int(line.split()[1]) if line.startswith(b"HTTP/") else 0


def expect(what, got, *wanted):
    if got not in wanted:
        sys.exit(f"{what}: {got!r} instead of {wanted!r}")


def refused(what, status):
    if not (status in (0, 505) or 400 <= status < 500):
        sys.exit(f"{what}: {status}")


status, page = ask("GET", "/timeline")
expect("timeline", status, 200)
open(TIMELINE, "wb").write(page)
expect("report", ask("GET", "/report")[0], 200)
json.loads(ask("GET", "/report")[1])
status, page = ask("GET", "/")
expect("page", (status, page[:15]), (200, b"<!doctype html>"))
expect("HEAD", ask("HEAD", "/timeline"), (200, b""))

expect("query", ask("POST", "/ops/search", QUERY), (200, ANSWER))
status, text = ask("POST", "/ops/search", "{broken")
expect("broken query", status, 400)
expect("its message", bool(json.loads(text)["error"]), True)
expect("1 MiB", ask("POST", "/ops/search", b" " * (1 << 20))[0], 413)
expect("1 MiB in chunks", ask("POST", "/ops/search", (b" " * 4096 for _ in range(256)))[0], 413)

for path in ("/../etc/passwd", "/..%2f..%2fetc/passwd", "/timeline/../../x", "//", "/ops", "/" + "a" * 5000):
    refused(path[:40], ask("GET", path)[0])
expect("method", ask("POST", "/timeline", "x")[0], 405)
expect("method", ask("GET", "/ops/search")[0], 405)
expect("method", ask("DELETE", "/")[0], 405)
expect("foreign host", ask("GET", "/timeline", headers={"Host": "evil.example"})[0], 403)
expect("foreign host", ask("GET", "/timeline", headers={"Host": "127.0.0.1.evil.example"})[0], 403)
expect("our host", ask("GET", "/timeline", headers={"Host": f"localhost:{PORT}"})[0], 200)
for data in (b"\0\1\2\3\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST /ops/search HTTP/1.1\r\nContent-Length: -1\r\n\r\n"):
    refused(data, raw(data))

wrong = []


def client():
    try:
        for _ in range(5):
            if ask("POST", "/ops/search", QUERY) != (200, ANSWER):
                wrong.append("another answer")
    except OSError as error:
        wrong.append(repr(error))


clients = [threading.Thread(target=client) for _ in range(100)]
for thread in clients:
    thread.start()
for thread in clients:
    thread.join()
expect("100 clients", wrong, [])
expect("afterwards", ask("POST", "/ops/search", QUERY), (200, ANSWER))
print("ok")
