#!/bin/bash
# Checks the rules of a lock key with Spin (spin, gcc): ./run.sh writes results.txt. Needs some 5 minutes.
# Each line: result, expected result, number of states, options.
cd "$(dirname "$0")" || exit
: > results.txt
check() { # expected, options of the model, options of the compiler, options of the verifier
  local dir out got=OK
  dir=$(mktemp -d); cp key.pml "$dir"
  out=$(cd "$dir" && spin -a $2 key.pml && gcc -O2 -w -DMEMLIM=6000 $3 -o pan pan.c && timeout -s INT 85 ./pan $4; [ $? = 124 ] && echo "time limit")
  rm -rf "$dir"
  grep -q "errors: [1-9]" <<< "$out" && got=ERROR
  grep -q "errors: " <<< "$out" || got=FAILED
  grep -q "time limit" <<< "$out" && got="$got (partial)"
  printf '%-6s expected %-6s %10s states  %s  %s\n' "$got" "$1" "$(grep -oE "[0-9.e+]+ states, stored" <<< "$out" | head -1 | cut -d' ' -f1)" "$2" \
    "$(grep -oE "assertion violated[^(]*\(.*|acceptance cycle" <<< "$out" | head -1 | cut -c1-60)" | tee -a results.txt
}
safe() { check "$1" "$2" "-DSAFETY -DNOCLAIM -DCOLLAPSE" "-m2000000 -E"; }
live() { check "$1" "$2" "-DNFAIR=7 -DCOLLAPSE" "-a -f -m2000000 -E"; }
# Exclusion, with lost notifications, cancelled waits and a dead instance; at most two grants of the same mode pass.
for modes in 1 5 7; do safe OK "-DMODES=$modes -DLOSSY -DCANCEL1 -DDIES2"; done
safe ERROR "-DMODES=5 -DLOSSY -DBUG_MIX"
# Idle time: the first waiter is served within a claim.
safe OK "-DMODES=5 -DCANCEL1 -DGAP=1"
safe OK "-DMODES=2 -DCANCEL1 -DGAP=0"
safe ERROR "-DMODES=2 -DCANCEL1 -DGAP=0 -DBUG_NOSETTLE"
# Progress of a writer among readers, of a reader among writers.
for modes in 1 2 6 5; do live OK "-DMODES=$modes -DLOST0"; done
live OK "-DMODES=5 -DLOSSY -DCANCEL1 -DDIES2"
live ERROR "-DMODES=1 -DBUG_PASS"
# A dead exclusive waiter beside a reader that never releases: other readers go on, once it has not asked for long.
live OK "-DMODES=4 -DDIES2 -DFOREVER"
live OK "-DMODES=4 -DDIES2 -DABSENT2 -DFOREVER -DBUG_NOSEEN"
live ERROR "-DMODES=4 -DDIES2 -DFOREVER -DBUG_NOSEEN"
# Order: nobody passes.
safe OK "-DMODES=1 -DBYPASS=3"
safe OK "-DMODES=15 -DBYPASS=3"
safe ERROR "-DMODES=1 -DBYPASS=3 -DBUG_PASS"
