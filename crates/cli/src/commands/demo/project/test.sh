#!/bin/sh
# Asks leap.sh about years whose answer is known.
failed=0

check() {
    found=$(sh leap.sh "$1")
    if [ "$found" = "$2" ]; then
        echo "ok    $1  $2"
    else
        echo "FAIL  $1  is $found, should be $2"
        failed=1
    fi
}

check 2023 no
check 2024 yes
check 2000 yes
check 1900 no
exit $failed
