#!/usr/bin/env bash
# A coordinator in the shell: the agent works in runs; after each it is told to go on, or left alone.
#
#     examples/coordinator.sh
#
# It needs no key: the judge says what answers.jsonl tells it to. Without --judge it is the one of your settings.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset LOOPBOOK_LOOP # the loop that is meant is the one that is started here
export LOOPBOOK_STORE="sqlite:///$folder/books.db" LOOPBOOK_SESSION=morning
echo '{"move": "advance", "done": 0.9, "review_tier": "none", "quality": 3}' > "$folder/answers.jsonl"

record() { loopbook loop record "$@" > "$folder/recorded"; }

# Settle a run. What it prints is what to tell the agent; the exit code says whether the run goes on.
settle() {
    code=0
    advice=$(loopbook loop settle "$1" --judge "script:$folder/answers.jsonl" --exit-code) || code=$?
    case $code in
        0) echo "$1  silent" ;;
        10) echo "$1  said: $advice" ;;
        11) echo "$1  said: $advice"; echo "       the agent goes on with it" ;;
        12) echo "$1  closed the loop: $advice"; return ;;
        *) exit "$code" ;;
    esac
    loopbook loop acknowledge > "$folder/acknowledged"
}

loopbook loop start --kind fix --intent "Crash on empty input" --anchor 4f2a9c1 --id fix-1
record prompt --text "It crashes on empty input. Please fix it." # by a person: runs may be continued anew
record check --command "pytest -k empty" --exit-code 1
record change --summary "answer empty input with nothing" --path client.py
settle run-1
settle run-2
loopbook explain fix-1 --last | grep -E '^entry|^  silent'

export LOOPBOOK_SESSION=evening # another shell, later
loopbook loop adopt fix-1
settle run-2 # the same run once more, as after a crash
record check --command pytest --exit-code 0
settle run-3
record review --tier light --reviewer ada --finding 'f1:concern:None?'
settle run-4
record change --summary "answer None with nothing too" --path client.py --resolves f1
record check --command pytest --exit-code 0
record review --tier light --reviewer ada
settle run-5

loopbook loop close --claim "Empty input is answered with nothing." --judge "script:$folder/answers.jsonl"
loopbook replay fix-1 --verify
