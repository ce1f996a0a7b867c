#!/usr/bin/env bash
# Runs the stages of a long command one after another, and shows the current one with its elapsed and expected time.
# Usage: stages.sh NAME [KEY SECONDS TITLE COMMAND ADVICE]...   SECONDS: estimate, used until a run is measured here.
# On a terminal, each stage is one live line, and its command's output goes to build/stages-NAME.log. Elsewhere, all lines are plain.
# Standard output of the commands is printed at the end. The first failed stage ends the run, with its status and its advice.
set -uo pipefail
name=$1; shift
total=$(($# / 5))
kept=.cache/stages/$name
log=build/stages-$name.log
mkdir -p "$kept" build
: >"$log"
out=$(mktemp); trap 'rm -f "$out"' EXIT

clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }
say() { printf '%s\n' "$*" >&2; }

# expected KEY DEFAULT: print the seconds of the last run, or the default.
expected() {
  local last; last=$(cat "$kept/$1" 2>/dev/null || true)
  case $last in '' | *[!0-9]*) echo "$2" ;; *) echo "$last" ;; esac
}

whole=0
set -- "$@"
for ((i = 1; i <= $#; i += 5)); do
  next=$((i + 1)); whole=$((whole + $(expected "${!i}" "${!next}")))
done
say "$name: $total stages, about $(clock $whole)"

number=0
while [ $# -ge 5 ]; do
  key=$1 default=$2 title=$3 command=$4 advice=$5; shift 5
  number=$((number + 1)); about=$(expected "$key" "$default"); begun=$SECONDS
  head="[$number/$total] $title"
  if [ -t 2 ]; then
    bash -c "$command" >"$out" 2>>"$log" &
    child=$!
    trap 'kill $child 2>/dev/null; printf "\n" >&2; exit 130' INT TERM
    while kill -0 $child 2>/dev/null; do
      printf '\r\033[K%s  %s of about %s' "$head" "$(clock $((SECONDS - begun)))" "$(clock "$about")" >&2
      sleep 0.5
    done
    wait $child; status=$?
    trap - INT TERM
    printf '\r\033[K' >&2
  else
    say "$head: about $(clock "$about")"
    bash -c "$command" >"$out"; status=$?
  fi
  if [ $status -ne 0 ]; then
    if [ -t 2 ]; then tail -n 15 "$log" >&2; fi
    cat "$out" >&2
    say "$head: failed after $(clock $((SECONDS - begun)))"
    say "What to do: $advice"
    exit $status
  fi
  echo $((SECONDS - begun)) >"$kept/$key"
  say "$head: done in $(clock $((SECONDS - begun)))"
done
cat "$out"
