# Each rule by itself, on a log that breaks it and on one that does not.
for rule in compile-failed crash severity=error entry=llvm-cannot-select compile-over=10 compiles-over=1 recompiles-over=1 misses-over=1; do
  for log in bad good; do
    "$HLOSCOPE" watch --log $log.log --once --rule=$rule --alerts=alerts.json -q >/dev/null 2>&1
    code=$?
    touch alerts.json
    echo "$rule $log: exit $code, alerts $(wc -l < alerts.json)"
    rm alerts.json
  done
done
