// written_algorithm.c - see written_algorithm.h.
#include "cpu/kernels/gemm/written_algorithm.h"

#include <stdlib.h>

int64_t hsc__cpu_written_algorithm(const hsc_instr *instr) {
  const char *at = instr->backend_config ? strstr(instr->backend_config, "\"algo_id\"") : NULL;
  if (!at)
    return -1;
  at += strlen("\"algo_id\"");
  while (*at == ' ' || *at == ':' || *at == '"')
    at++;
  char *end;
  long long number = strtoll(at, &end, 10);
  return end == at || number < 0 || number > 1 << 20 ? -1 : number;
}
