# What .ci/run and .ci/nightly share: they run steps, count what passes and what fails, and repeat at their end what failed.
# What a step prints is kept in dist/ci/, in a file with its name.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export DEBIAN_FRONTEND=noninteractive

passed=0
failed=0
readonly LOGS=dist/ci
mkdir -p "$LOGS"
failures=$(mktemp)
# What still runs beside must not go on after the end.
trap 'rm -f "$failures"; kill $(jobs -p) 2>/dev/null' EXIT

log_of() { echo "$LOGS/${1//[^[:alnum:]]/-}.log"; }

# timed NAME COMMAND...: runs a command, and says how long it takes.
timed() {
  local begun=$SECONDS code
  echo "== $1"
  "${@:2}" >"$(log_of "$1")" 2>&1 </dev/null
  code=$?
  echo "== $1: $((SECONDS - begun)) s"
  return "$code"
}

# fail COUNT WHAT: counts failures, and shows and keeps what standard input says of them.
fail() {
  failed=$((failed + $1))
  { echo "failed: $2"; cat; } | tee -a "$failures"
}

# step NAME COMMAND...: runs a command that must succeed.
step() {
  timed "$@"
  judge $? "$@"
}

# judge CODE NAME COMMAND...: counts a step by its exit code, and returns that.
judge() {
  if [ "$1" -eq 0 ]; then
    passed=$((passed + 1))
  else
    fail 1 "$2, with exit code $1${3:+: ${*:3}}" < <(tail -n 40 "$(log_of "$2")")
  fi
  return "$1"
}

# beside NAME COMMAND...: begins a step that goes on beside the next ones, until `join NAME` waits for it.
declare -A pids
beside() {
  echo "== $1, beside the next steps"
  "${@:2}" >"$(log_of "$1")" 2>&1 </dev/null &
  pids[$1]=$!
}
join() {
  local begun=$SECONDS
  wait "${pids[$1]}"
  judge $? "$1" && echo "== $1: $((SECONDS - begun)) s more"
}

# suite NAME COMMAND...: runs tests, and counts as tap does. Not every reporter of tap shows a test that took too long. TAP
# does, and it is what tap writes when it does not write to a terminal.
suite() {
  local code log count fails
  log=$(log_of "$1")
  timed "$@"
  code=$?
  count=$(grep -oE '^# \{ total: .*\}' "$log" | tail -n 1)
  echo "${count:-no test ran}"
  passed=$((passed + $(grep -oE 'pass: [0-9]+' <<<"$count" | grep -oE '[0-9]+' || echo 0)))
  fails=$(grep -oE 'fail: [0-9]+' <<<"$count" | grep -oE '[0-9]+' || echo 0)
  [ "$code" -eq 0 ] && [ "$fails" -eq 0 ] && [ -n "$count" ] && return
  # A run whose tests pass fails too, if they leave out lines of src.
  fail $((fails > 0 ? fails : 1)) "$1, with exit code $code: ${*:2}" < <(failures_in "$log")
}

# failures_in LOG: each test that failed, the first ones with what they say.
failures_in() {
  local pattern='^ *not ok|% Stmts|^ERROR: Coverage'
  grep -m 20 -A 20 -E "$pattern" "$1" || tail -n 40 "$1"
  grep -E "$pattern" "$1" | tail -n +21
}

# packages NAME...: installs packages of Debian that are missing.
packages() {
  dpkg --status "$@" >/dev/null 2>&1 || {
    apt-get update -qq && apt-get install -qq -y --no-install-recommends "$@"
  }
}

# finish: repeats what failed, and says how much passed and failed.
finish() {
  cat "$failures"
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
  exit
}
