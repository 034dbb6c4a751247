echo "2024-04-12 07:13:06.000297:  1  INFO ||NEURON_CC_WRAPPER||: Call compiler with cmd: neuronx-cc compile x/model.MODULE_7+aa.hlo_module.pb"
sleep 1.5
echo "Compiler status PASS"
