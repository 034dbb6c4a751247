echo "2025-10-31 07:17:30.000001:  8442  INFO ||NEURON_CC_WRAPPER||: Using a cached neff at /var/tmp/neuron-compile-cache/neuronxcc-2.21/MODULE_1+a/model.neff"
echo "subprocess.CalledProcessError: Command '['neuronx-cc']' returned non-zero exit status 70."
