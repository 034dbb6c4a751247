// written_algorithm.h - the algorithm that a picker wrote down:
// backend_config={"algorithm":{"algo_id":"3","name":"own-packed"}}.
#pragma once

#include "hlo/ir/hlo.h"

// -1 when there is none.
int64_t hsc__cpu_written_algorithm(const hsc_instr *instr);
