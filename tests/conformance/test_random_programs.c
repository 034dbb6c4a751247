// test_random_programs.c - random programs (unit/random_module.h) on the built-in device, against
// the reference evaluator. TAP: one line for each way to compile them.
//
//   test_random_programs COUNT [FIRST [FOLDER]]     programs of seeds FIRST (1) to FIRST + COUNT -
//   1; those that differ are written to FOLDER/<seed>.hlo
//
// Each is compiled by the whole pipeline, by no passes, with all passes that run on request, and
// with one pass, by the seed, switched off or alone.
#include <stdlib.h>

#include "base/files/file_io.h"
#include "backend.h"
#include "passes/manager/passes.h"
#include "random_module.h"

enum { DEFAULT, NONE, ALL, SWITCHED, ALONE, WAYS };
static const char *const way_text[WAYS] = {"by default", "without passes", "with all passes",
                                           "with one pass switched", "with one pass alone"};

static void flags_of(int way, uint64_t seed, hsc_bytes *out) {
  hsc_pass_id pass = (hsc_pass_id)(seed % HSC_PASS_COUNT);
  hsc_bytes_reset(out);
  if (way == NONE)
    hsc_bytes_append_text(out, "--xla_enable_hlo_passes_only=none");
  if (way == ALONE)
    hsc_bytes_printf(out, "--xla_enable_hlo_passes_only=%s", hsc_pass_text(pass));
  if (way == SWITCHED)
    hsc_bytes_printf(
        out, "--%s=%s",
        hsc_pass_is_on_request(pass) ? "hloscope_enable_hlo_passes" : "xla_disable_hlo_passes",
        hsc_pass_text(pass));
  if (way != ALL)
    return;
  hsc_bytes_append_text(out, "--hloscope_enable_hlo_passes=");
  const char *comma = "";
  for (int p = 0; p < HSC_PASS_COUNT; p++) {
    if (!hsc_pass_is_on_request((hsc_pass_id)p))
      continue;
    hsc_bytes_printf(out, "%s%s", comma, hsc_pass_text((hsc_pass_id)p));
    comma = ",";
  }
}

static hsc_status *run(backend *target,
                       const hsc_module *module,
                       const char *flags,
                       hsc_literal **arguments,
                       hsc_arena *arena,
                       hsc_literal **out_result) {
  backend_program *program = NULL;
  HSC_TRY(backend_compile(target, module, flags, &program));
  hsc_status *status = backend_program_run(program, module->entry->parameter_count, arguments,
                                           arena, out_result, NULL);
  backend_program_release(program);
  return status;
}

typedef struct counts {
  int compared[WAYS], failed[WAYS];
} counts;

static hsc_status *check(
    backend *evaluator, backend *device, uint64_t seed, const char *folder, counts *out_counts) {
  hsc_arena *arena = NULL;
  hsc_module *module = NULL;
  hsc_literal *arguments[64];
  hsc_literal *expected = NULL;
  hsc_bytes flags = {0};
  hsc_bytes text = {0};
  hsc_status *status = NULL;
  random_module_options options = random_module_options_varied(seed);
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(random_module_create(seed, &options, &module));
  if (module->entry->parameter_count > (int)HSC_COUNT_OF(arguments))
    HSC_GOTO(HSC_ERR(OUT_OF_RANGE, "too many parameters"));
  for (int i = 0; i < module->entry->parameter_count; i++) {
    HSC_GOTO(hsc_literal_create(arena, &module->entry->parameters[i]->shape, &arguments[i]));
    hsc_literal_fill(arguments[i], seed, (uint32_t)i);
  }
  HSC_GOTO(run(evaluator, module, NULL, arguments, arena, &expected));
  for (int way = 0; way < WAYS; way++) {
    hsc_literal *result = NULL;
    hsc_difference d = {0};
    flags_of(way, seed, &flags);
    hsc_status *failure = run(device, module, hsc_bytes_text(&flags), arguments, arena, &result);
    bool good = !failure && random_results_agree(expected, result, &d, &failure);
    out_counts->compared[way]++;
    out_counts->failed[way] += !good;
    if (!good) {
      printf("#   seed %llu %s (%s): ", (unsigned long long)seed, way_text[way],
             hsc_bytes_text(&flags));
      if (failure)
        printf("%s\n", hsc_status_message(failure));
      else
        printf("output %d element %lld is %g, the evaluator has %g\n", d.leaf, (long long)d.index,
               d.right, d.left);
      hsc_bytes_reset(&text);
      hsc_module_print(module, NULL, &text);
      hsc_bytes path = {0};
      hsc_bytes_printf(&path, "%s/%llu.hlo", folder ? folder : ".", (unsigned long long)seed);
      if (folder)
        hsc_status_free(hsc_file_write_atomic(hsc_bytes_text(&path), text.data, text.size));
      hsc_bytes_deinit(&path);
    }
    hsc_status_free(failure);
  }
done:
  hsc_bytes_deinit(&flags);
  hsc_bytes_deinit(&text);
  hsc_module_destroy(module);
  hsc_arena_destroy(arena);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s COUNT [FIRST [FOLDER]]\n", argv[0]);
    return 2;
  }
  uint64_t count = strtoull(argv[1], NULL, 10);
  uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  backend *evaluator = NULL;
  backend *device = NULL;
  counts all = {0};
  hsc_status *status = backend_open("evaluator", &evaluator);
  if (!status)
    status = backend_open("cpu", &device);
  for (uint64_t seed = first; seed < first + count && !status; seed++) {
    status = check(evaluator, device, seed, argc > 3 ? argv[3] : NULL, &all);
    if (status)
      printf("#   seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
  }
  if (status)
    printf("Bail out! %s\n", hsc_status_message(status));
  bool good = !status;
  for (int way = 0; way < WAYS; way++) {
    bool agree = all.failed[way] == 0 && all.compared[way] > 0;
    printf("%s %d - %s: %d of %d programs agree\n", agree ? "ok" : "not ok", way + 1, way_text[way],
           all.compared[way] - all.failed[way], all.compared[way]);
    good &= agree;
  }
  printf("1..%d\n", WAYS);
  hsc_status_free(status);
  backend_close(evaluator);
  backend_close(device);
  return good ? 0 : 1;
}
