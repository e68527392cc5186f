#!/usr/bin/env bash
# --queue rediss://: a pool behind a real redis-server that speaks TLS and wants certificates; who is refused.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
skip() {
  echo "cli_queue_tls: skipped: $1"
  exit 77
}
for program in redis-server redis-cli openssl; do
  command -v $program >/dev/null || skip "$program is not installed (scripts/setup all)"
done
product='C[i<32, j<32] = sum[k<32](A[i,k] * B[k,j])'
pids=()
stop_all() {
  for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap stop_all EXIT
until_true() { # a minute at most
  for _ in $(seq 1200); do "$@" && return 0 || sleep 0.05; done
  return 1
}

# ---- an authority, a server and a client of its, and strangers ---------------------------------------------------------------

authority() { # NAME
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.pem" 2>openssl.err
}
certificate() { # NAME SUBJECT_ALTERNATIVE_NAME
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>openssl.err
  openssl x509 -req -in "$1.csr" -CA ours.pem -CAkey ours.key -CAcreateserial -days 2 -extfile <(echo "subjectAltName=$2") -out "$1.pem" 2>openssl.err
}
authority ours
authority theirs
certificate server IP:127.0.0.1
certificate client DNS:client
certificate elsewhere DNS:elsewhere.example

start_server() { # CERTIFICATE: the port is in $port
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  redis-server --port 0 --tls-port "$port" --bind 127.0.0.1 --dir "$work" --save '' --requirepass s3cret --tls-cert-file "$1.pem" \
    --tls-key-file "$1.key" --tls-ca-cert-file ours.pem --tls-auth-clients "$2" >"redis-$1.log" 2>&1 &
  pids+=($!)
  until_true grep -qE 'Ready to accept|error|rror' "redis-$1.log" || true
  ! grep -qiE 'unknown|bad directive|fatal' "redis-$1.log" || skip "this redis-server has no TLS"
}

start_server elsewhere no
refuses 1 "the server's certificate is refused: IP address mismatch" tune "$product" --log x.json --queue "rediss://:s3cret@127.0.0.1:$port/lab?cacert=ours.pem"
start_server server yes
url="rediss://:s3cret@127.0.0.1:$port/lab?cacert=ours.pem&cert=client.pem&key=client.key"
if "$TENON" tune "$product" --log x.json --queue "$url" --patience 1s 2>&1 | grep -q 'built without OpenSSL'; then
  skip "this command was built without OpenSSL"
fi
rm -f x.json

# ---- refusals ------------------------------------------------------------------------------------------------------------------

at="rediss://:s3cret@127.0.0.1:$port/lab"
refuses 1 "the server's certificate is refused: self-signed certificate in certificate chain" tune "$product" --log x.json --queue "$at?cacert=theirs.pem"
refuses 1 "the server's certificate is refused" tune "$product" --log x.json --queue "$at"
refuses 1 "there are no authorities in missing.pem" tune "$product" --log x.json --queue "$at?cacert=missing.pem"
refuses 1 "there is no certificate in ours.key" tune "$product" --log x.json --queue "$at?cacert=ours.pem&cert=ours.key&key=client.key"
refuses 1 "there is no key of the certificate in server.key" tune "$product" --log x.json --queue "$at?cacert=ours.pem&cert=client.pem&key=server.key"
refuses 1 "rediss://127.0.0.1:$port/lab?cacert=ours.pem: " tune "$product" --log x.json --queue "$at?cacert=ours.pem" # without a certificate of its own
grep -qE 'certificate required|reset|ended' err || complain "who has no certificate: $(cat err)"
refuses 1 "cert= and key= go together" tune "$product" --log x.json --queue "$at?cacert=ours.pem&cert=client.pem"
refuses 1 "not 'ca=ours.pem'" tune "$product" --log x.json --queue "$at?ca=ours.pem"
refuses 1 "files of certificates go with rediss://" tune "$product" --log x.json --queue "redis://127.0.0.1:$port/lab?cacert=ours.pem"
refuses 1 "WRONGPASS" tune "$product" --log x.json --queue "rediss://:wrong@127.0.0.1:$port/lab?cacert=ours.pem&cert=client.pem&key=client.key"
refuses 1 "the server's certificate is refused" worker --queue "$at?cacert=theirs.pem"
grep -q 'out of memory' err && complain "a refusal ends with a word of memory: $(cat err)"
[ ! -e x.json ] || complain "a refused line made a log"

# ---- a run ---------------------------------------------------------------------------------------------------------------------

"$TENON" worker --queue "$url" 2>worker.err &
pids+=($!)
until_true grep -q serving worker.err || complain "the worker does not serve: $(cat worker.err)"
run tune "$product" --log a.json --trials 12 --queue "$url" --json --cooldown 0.02
[ "$got" -eq 0 ] && [ "$(json out 'o["trials"], o["failed"], o["workers"][0]["timed"] >= 12')" = '(12, 0, True)' ] || complain "over TLS: $(cat out err)"
grep -q s3cret out err worker.err && complain "the password is told"

# Nobody serves: what is shown goes on with the same files.
run tune "$product" --log none.json --trials 4 --queue "${url/lab/other}" --patience 1s
grep -q "go on with: .* --queue 'rediss://127.0.0.1:$port/other?cacert=ours.pem&cert=client.pem&key=client.key'" out || complain "how to go on: $(cat out)"
exit "$status"
