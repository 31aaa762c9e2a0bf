#!/usr/bin/env bash
# Fuzzes the parsers, one after the other:  Tests/Fuzz/run.sh [SECONDS-EACH [NAME...]]
#
# Builds the package's modules with coverage and the address sanitizer into .build-fuzz, links one
# driver for each Tests/Fuzz/NAMEFuzzer.swift, and starts from the cases of Tests/HTTP1Tests/Corpus
# and from what was found before, Tests/Fuzz/Corpus/NAME. What is found now is put there, too.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:-15}
names=(Request Response Chunked Target Challenge Configuration HTTP2App HTTP2Origin)
(($# > 1)) && names=("${@:2}")
scratch=$PWD/.build-fuzz
sanitizers=(-sanitize=fuzzer,address)
# A crash must end the run, not wait in Swift's own crash handler.
export SWIFT_BACKTRACE=enable=no
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1

build() {
    local target
    for target in NetproxyHTTP1 NetproxyHTTP2 NetproxyConfig; do
        swift build --scratch-path "$scratch" -c release --target "$target" \
            -Xswiftc "${sanitizers[0]}"
    done
}

# As SwiftPM names the package to the compiler, so that a driver sees its package's symbols.
package_name() {
    basename "$PWD" | tr '[:upper:]' '[:lower:]' | sed 's/[^[:alnum:]_]/_/g'
}

link() {
    local name=$1 modules=(NetproxyBytes NetproxyHTTPMessage NetproxyHTTP1) more=() objects=() module
    case $name in
        # One file of a module whose other files need far more than it does.
        Challenge) more=(Sources/Core/OAuth/Challenges/ChallengeParser.swift) ;;
        Configuration)
            modules=(NetproxyConfig NetproxyPresets NetproxySettings NetproxyHTTPMessage NetproxyBytes
                NetproxyYAML)
            more=(-lyaml)
            ;;
        HTTP2*)
            modules=(NetproxyHTTP2 NetproxyHTTP1 NetproxyHTTPMessage NetproxyBytes NetproxyLiveObjects)
            more=(-lnghttp2 Tests/Fuzz/FuzzedSession.swift)
            ;;
    esac
    for module in "${modules[@]}"; do
        mapfile -t -O "${#objects[@]}" objects < \
            <(find "$scratch/release/$module.build" -name '*.o')
    done
    swiftc -O -g -parse-as-library -swift-version 6 -package-name "$(package_name)" \
        -enable-experimental-feature Lifetimes \
        "${sanitizers[@]}" -I "$scratch/release/Modules" -module-name "${name}Fuzzer" \
        -I Sources/C/Libevent -I Sources/C/System -I Sources/C/OpenSSL -I Sources/C/YAML -I Sources/C/Nghttp2 \
        Tests/Fuzz/Input.swift "Tests/Fuzz/${name}Fuzzer.swift" "${objects[@]}" "${more[@]}" \
        -o "$scratch/${name}Fuzzer" 2> "$scratch/link.txt" || {
        cat "$scratch/link.txt"
        return 1
    }
}

fuzz() {
    local name=$1 work=$scratch/corpus/$1 kept=Tests/Fuzz/Corpus/$1 log=$scratch/$1.txt
    mkdir -p "$work" "$kept"
    if ! "$scratch/${name}Fuzzer" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=2048 \
        -max_len=4096 -use_value_profile=1 -print_final_stats=1 -verbosity=0 \
        -dict=Tests/Fuzz/http.dict -artifact_prefix="$kept/" "$work" "$kept" > "$log" 2>&1; then
        tail -n 40 "$log"
        return 1
    fi
    printf '%s: %s inputs in %s s, nothing found\n' "$name" \
        "$(sed -n 's/.*executed_units: *//p' "$log")" "$seconds"
    rmdir --ignore-fail-on-non-empty "$kept"
}

build
python3 Tests/Fuzz/seed.py "$scratch/corpus"
for name in "${names[@]}"; do link "$name"; done
for name in "${names[@]}"; do fuzz "$name"; done
