echo run >> runs
echo "subprocess.CalledProcessError: Command '['neuronx-cc']' returned non-zero exit status 70."
exit 70
