// fuzz_optimize.c - any bytes as HLO text: what it costs, what the passes make of it, and what it
// is repeated, in a loop and in a batch. Each pass leaves a module that verifies, or says why not.
#include "formats/common/formats.h"
#include "passes/manager/passes.h"
#include "rules.h"
#include "transform/transform.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 20000, MOST_ELEMENTS = 1 << 16 };

static void say_module(const char *what, const hsc_module *module) {
  hsc_bytes text = {0};
  fuzz_said(hsc_view_of(what));
  hsc_module_print(module, NULL, &text);
  fuzz_said(hsc_bytes_view(&text));
  hsc_bytes_deinit(&text);
}

static void say_cost(const hsc_module *module) {
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      hsc_cost cost;
      hsc_instr_cost(instr, &cost);
      const double said[] = {cost.flops, cost.transcendentals, cost.bytes_read, cost.bytes_written,
                             cost.uncounted};
      fuzz_said((hsc_view){(const char *)said, sizeof said});
    }
}

// Constants may be as large as their text, and folding works on what they come to.
static bool is_small(const hsc_module *module) {
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      if (hsc_shape_bytes(&instr->shape) > MOST_ELEMENTS)
        return false;
  return true;
}

static void transform(const hsc_module *module) {
  hsc_status *(*const ways[])(const hsc_module *, int64_t, const hsc_transform_options *,
                              hsc_module **) = {hsc_transform_repeat, hsc_transform_scan,
                                                hsc_transform_vmap};
  for (size_t i = 0; i < HSC_COUNT_OF(ways); i++) {
    hsc_module *made = NULL;
    hsc_status *status = ways[i](module, 2, NULL, &made);
    fuzz_said_status(status);
    if (!status)
      say_module("transformed\n", made);
    hsc_status_free(status);
    hsc_module_destroy(made);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hsc_module *module = NULL;
  hsc_pass_options options = {.verify = true, .fuel = 2000, .target = &hsc_pass_example_target};
  hsc_status *status =
      size > MOST_BYTES ? HSC_ERR(OUT_OF_RANGE, "too large")
                        : hsc_hlo_text_parse((hsc_view){(const char *)data, size}, "fuzz", &module);
  if (!status)
    status = hsc_module_verify(module);
  if (!status && is_small(module)) {
    say_cost(module);
    transform(module);
    status = hsc_passes_run(module, NULL, &options, NULL);
    if (hsc_status_code(status) == HSC_INTERNAL)  // a pass broke the module
      fuzz_broken();
    if (!status)
      say_module("optimized\n", module);
    fuzz_said_status(status);
  }
  hsc_status_free(status);
  hsc_module_destroy(module);
  return 0;
}
