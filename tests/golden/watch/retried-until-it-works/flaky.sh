n=$(cat count 2>/dev/null || echo 0)
n=$((n + 1))
echo $n > count
if [ $n -lt 3 ]; then
  echo "subprocess.CalledProcessError: Command '['neuronx-cc']' returned non-zero exit status 70."
  exit 1
fi
echo done
