// test_scan_ops.c - every program in the op corpus as the body of a loop on the built-in device:
// step i has the arguments rolled by i elements, and gives what the evaluator gives for them alone.
// Most of these loops are small, and become one kernel (cpu/emit/emit_small.c); how many did is
// said, and must not be few. TAP: one line a family.
//
//   test_scan_ops DIRECTORY [FAMILY [CASE]]
#include <dirent.h>
#include <math.h>
#include <stdlib.h>

#include "backend.h"
#include "base/text/text.h"
#include "cpu/emit/emit.h"
#include "formats/common/formats.h"
#include "ops_corpus.h"
#include "transform/transform.h"

enum { STEPS = 19, MAX_ARGUMENTS = 32, MAX_RESULTS = 16, LEAST_SMALL_PERCENT = 35 };

typedef struct tally {
  const char *only;
  backend *device;
  hsc_cpu_isa isa;
  int cases, failed, refused, small;
  hsc_bytes report;
} tally;

static hsc_status *roll(hsc_arena *arena, const hsc_literal *from, int64_t by, hsc_literal **out) {
  HSC_TRY(hsc_literal_copy(arena, from, out));
  int64_t count = hsc_shape_elements(&from->shape);
  size_t bytes = hsc_type_bytes(from->shape.type);
  for (int64_t i = 0; i < count; i++)
    memcpy((char *)(*out)->data + (size_t)i * bytes,
           (char *)from->data + (size_t)((i + by) % count) * bytes, bytes);
  return NULL;
}

static hsc_status *stack(hsc_arena *arena, hsc_literal *const *steps, hsc_literal **out) {
  int64_t dims[HSC_MAX_RANK + 1] = {STEPS};
  const hsc_shape *one = &steps[0]->shape;
  for (int i = 0; i < one->rank; i++)
    dims[i + 1] = one->dims[i];
  hsc_shape shape = hsc_shape_array(arena, one->type, one->rank + 1, dims);
  HSC_TRY(hsc_literal_create(arena, &shape, out));
  size_t bytes = (size_t)hsc_shape_bytes(one);
  for (int e = 0; e < STEPS && bytes; e++)
    memcpy((char *)(*out)->data + (size_t)e * bytes, steps[e]->data, bytes);
  return NULL;
}

static bool has_small_loop(const tally *t, const hsc_module *module) {
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      uint64_t in_place[HSC_KERNEL_MAX_BUFFERS];
      hsc_kernel_plan plan;
      bool fits = false;
      if (instr->op != HSC_OP_WHILE)
        continue;
      hsc_status_free(hsc_kernel_plan_try(instr, &t->isa, &plan, in_place, &fits));
      if (fits)
        return true;
    }
  return false;
}

static bool sums_products(const char *op) {
  static const char *const ops[] = {"dot", "cholesky", "triangular_solve", "triangular-solve"};
  for (size_t i = 0; i < HSC_COUNT_OF(ops); i++)
    if (!strcmp(op, ops[i]))
      return true;
  return false;
}

// Sums of products cancel in other arguments than the corpus's: a part of the largest element is
// allowed too.
static void allow_cancelling(const hsc_literal *expected, ops_agree *agree) {
  double epsilon = expected->shape.type == HSC_TYPE_F64 ? 1e-14 : 1e-6;
  double largest = 0;
  for (int64_t i = 0; i < hsc_shape_elements(&expected->shape); i++) {
    double size = fabs(hsc_literal_get_double(expected, i));
    largest = isfinite(size) && size > largest ? size : largest;
  }
  agree->abs = fmax(agree->abs, epsilon * largest);
}

// The results of all steps against the evaluator's of each.
static hsc_status *judge(const ops_case *one,
                         const hsc_module *module,
                         hsc_literal *(*steps)[STEPS],
                         const hsc_literal *scanned,
                         bool *out_good,
                         hsc_bytes *why) {
  for (int e = 0; e < STEPS && *out_good; e++) {
    hsc_literal *arguments[MAX_ARGUMENTS];
    hsc_literal *leaves[MAX_RESULTS];
    hsc_literal *alone = NULL;
    for (int a = 0; a < one->argument_count; a++)
      arguments[a] = steps[a][e];
    HSC_TRY(hsc_evaluate(module, one->argument_count, arguments, one->arena, &alone));
    bool tuple = hsc_shape_is_tuple(&alone->shape);
    ops_case expected = *one;
    ops_agree agree[MAX_RESULTS];
    expected.results = leaves;
    expected.agree = agree;
    for (int r = 0; r < one->result_count; r++) {
      leaves[r] = tuple ? &alone->elements[r] : alone;
      agree[r] = one->agree[r];
      if (sums_products(one->op) && hsc_type_is_float(leaves[r]->shape.type))
        allow_cancelling(leaves[r], &agree[r]);
    }
    for (int r = 0; r < one->result_count && *out_good; r++) {
      const hsc_literal *all =
          hsc_shape_is_tuple(&scanned->shape) ? &scanned->elements[r] : scanned;
      hsc_literal slice = *leaves[r];
      size_t bytes = (size_t)hsc_shape_bytes(&slice.shape);
      if (hsc_shape_bytes(&all->shape) != (int64_t)bytes * STEPS)
        return HSC_ERR(INTERNAL, "a result of another size");
      slice.data = (char *)all->data + (size_t)e * bytes;
      *out_good = bytes == 0 || ops_case_judge(&expected, r, &slice, why);
      if (!*out_good)
        hsc_bytes_printf(why, " (step %d)", e);
    }
  }
  return NULL;
}

static hsc_status *check(
    tally *t, const ops_case *one, const hsc_module *module, bool *out_good, hsc_bytes *why) {
  int64_t feeds[MAX_RESULTS], per_step[MAX_ARGUMENTS];
  hsc_literal *steps[MAX_ARGUMENTS][STEPS];
  hsc_literal *arguments[MAX_ARGUMENTS];
  hsc_transform_options options = hsc_transform_options_default();
  options.arguments = feeds;
  options.argument_count = one->result_count;
  options.per_step = per_step;
  options.per_step_count = one->argument_count;
  for (int r = 0; r < one->result_count; r++)
    feeds[r] = -1;
  for (int a = 0; a < one->argument_count; a++) {
    per_step[a] = a;
    for (int e = 0; e < STEPS; e++)
      HSC_TRY(roll(one->arena, one->arguments[a], e, &steps[a][e]));
    HSC_TRY(stack(one->arena, steps[a], &arguments[a]));
  }
  hsc_module *looped = NULL;
  backend_program *program = NULL;
  hsc_literal *scanned = NULL;
  hsc_status *status = hsc_transform_scan(module, STEPS, &options, &looped);
  if (status)
    return status;
  HSC_GOTO(backend_compile(t->device, looped, NULL, &program));
  *out_good = true;
  if (!has_small_loop(t, backend_program_module(program)))
    goto done;  // a loop of steps, which have tests of their own
  t->small++;
  HSC_GOTO(
      backend_program_run(program, one->argument_count, arguments, one->arena, &scanned, NULL));
  HSC_GOTO(judge(one, module, steps, scanned, out_good, why));
done:
  backend_program_release(program);
  hsc_module_destroy(looped);
  return status;
}

static hsc_status *run(void *user, const ops_case *one) {
  tally *t = user;
  if ((t->only && !strstr(one->name, t->only)) || one->argument_count == 0 ||
      one->argument_count > MAX_ARGUMENTS || one->result_count > MAX_RESULTS)
    return NULL;
  hsc_module *module = NULL;
  hsc_bytes why = {0};
  bool good = false;
  HSC_TRY(hsc_hlo_text_parse(hsc_view_of(one->hlo), one->name, &module));
  hsc_status *status = check(t, one, module, &good, &why);
  hsc_code code = hsc_status_code(status);
  if (code == HSC_UNIMPLEMENTED || code == HSC_FAILED_PRECONDITION ||
      code == HSC_INVALID_ARGUMENT) {
    t->refused++;
    good = true;
  } else if (status) {
    hsc_bytes_printf(&why, "%s %s", hsc_status_message(status), hsc_status_notes(status));
    good = false;
  }
  t->cases++;
  t->failed += !good;
  if (!good)
    hsc_bytes_printf(&t->report, "#   %s: %s\n", one->name, hsc_bytes_text(&why));
  hsc_status_free(status);
  hsc_bytes_deinit(&why);
  hsc_module_destroy(module);
  return NULL;
}

static int is_family(const struct dirent *entry) {
  return hsc_ends_with(entry->d_name, ".json.gz");
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s DIRECTORY [FAMILY [CASE]]\n", argv[0]);
    return 2;
  }
  backend *device = NULL;
  hsc_status *opened = backend_open("cpu", &device);
  if (opened) {
    printf("not ok 1 - %s\n1..1\n", hsc_status_message(opened));
    return 1;
  }
  struct dirent **entries = NULL;
  int count = scandir(argv[1], &entries, is_family, alphasort);
  int failures = 0;
  int number = 0;
  int all = 0;
  int small = 0;
  for (int i = 0; i < count; i++) {
    size_t stem = strlen(entries[i]->d_name) - strlen(".json.gz");
    if (argc < 3 || (strlen(argv[2]) == stem && strncmp(argv[2], entries[i]->d_name, stem) == 0)) {
      tally t = {.only = argc > 3 ? argv[3] : NULL, .device = device};
      hsc_bytes path = {0};
      hsc_cpu_isa_detect(&t.isa);
      hsc_bytes_printf(&path, "%s/%s", argv[1], entries[i]->d_name);
      hsc_status *status = ops_corpus_each(hsc_bytes_text(&path), run, &t);
      if (status) {
        hsc_bytes_printf(&t.report, "#   %s\n", hsc_status_message(status));
        hsc_status_free(status);
        t.failed++;
      }
      printf("%s %d - scan of %.*s: %d of %d agree, %d refused, %d small loops\n%s",
             t.failed ? "not ok" : "ok", ++number, (int)stem, entries[i]->d_name,
             t.cases - t.failed, t.cases, t.refused, t.small, hsc_bytes_text(&t.report));
      failures += t.failed > 0;
      all += t.cases - t.refused;
      small += t.small;
      hsc_bytes_deinit(&t.report);
      hsc_bytes_deinit(&path);
    }
    free(entries[i]);
  }
  free(entries);
  if (argc == 2) {
    bool enough = all > 0 && 100 * small >= LEAST_SMALL_PERCENT * all;
    printf("%s %d - %d of %d loops are one kernel\n", enough ? "ok" : "not ok", ++number, small,
           all);
    failures += !enough;
  }
  backend_close(device);
  printf("1..%d\n", number);
  return failures || number == 0 ? 1 : 0;
}
