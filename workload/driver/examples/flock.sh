#!/usr/bin/env bash
# A lock on a file, by flock(1): no store, no token, and no expiry. It shows what a lock
# without a lease looks like here: while its holder is stopped, nobody can take it.
folder=
declare -A held

# A field of a line of JSON. Good for what leasehold sends, which has no quotes in values.
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" <<< "$line"; }
answer() { printf '{"id":%s,%s}\n' "$id" "$1"; }

while IFS= read -r line; do
  id=$(field id)
  key=$(field key)
  file=$folder/${key//\//_}
  case $(field op) in
    describe) answer '"ok":true,"protocol":1,"driver":"flock/1","store":"none"' ;;
    init)
      folder=$(sed -n 's/.*"endpoints":\["\([^"]*\)".*/\1/p' <<< "$line")
      folder=${folder:-/tmp}
      answer '"ok":true'
      ;;
    acquire)
      exec {fd}> "$file"
      if flock -w "$(awk "BEGIN{print $(field wait_ms) / 1000}")" "$fd"; then
        held[$key]=$fd
        answer '"ok":true'
      else
        exec {fd}>&-
        answer '"ok":false,"err":"held","definite":true'
      fi
      ;;
    check)
      if [ -n "${held[$key]:-}" ]; then answer '"ok":true,"held":true'; else answer '"ok":true,"held":false'; fi
      ;;
    release)
      if [ -n "${held[$key]:-}" ]; then
        fd=${held[$key]}
        exec {fd}>&-
        unset "held[$key]"
        answer '"ok":true'
      else
        answer '"ok":false,"err":"lost","definite":true'
      fi
      ;;
    shutdown)
      answer '"ok":true'
      exit
      ;;
    *) answer '"ok":false,"err":"not-supported","definite":true' ;;
  esac
done
