#!/bin/sh
fail=0
check() {
    if [ "$1" = "$2" ]; then
        echo "ok: $2"
    else
        echo "FAILED: expected '$2', got '$1'"
        fail=1
    fi
}
check "$(sh greet.sh Ada)" "Hello, Ada"
check "$(sh greet.sh)" "Hello, world"
exit $fail
