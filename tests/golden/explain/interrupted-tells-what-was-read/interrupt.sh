# A log that is still written; Ctrl-C after a second.
mkfifo log
(printf 'numpy.dtype size changed, may indicate binary incompatibility\n'; sleep 20) > log &
writer=$!
"$HLOSCOPE" explain - < log > out.txt &
reader=$!
sleep 1
kill -INT $reader
wait $reader
code=$?
kill $writer 2>/dev/null
grep -c numpy-abi out.txt
echo $code
