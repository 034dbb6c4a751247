// test_error_bounds.c - the derived error bounds (hlo/error/error_bounds.h) on random programs: no
// legal computation may be beyond them, and a fault should be.
//
//   test_error_bounds COUNT [FIRST]     programs of seeds FIRST (1) to FIRST + COUNT - 1
//
// Legal computations ("placebos") are what the built-in compiler makes of a program in five ways,
// each with its own order of sums, its own multiply-adds and its own functions. Faults are one
// element of one output that is off by 2^-K of itself: how many the bound notices, beside how many
// the tolerance of the type does (which says nothing of the program). TAP.
#include <math.h>
#include <stdlib.h>

#include "backend.h"
#include "base/core/random.h"
#include "hlo/error/error_bounds.h"
#include "passes/manager/passes.h"
#include "random_module.h"

enum { DEFAULT, NONE, SWITCHED, ALONE, WAYS };
static const char *const way_text[WAYS] = {"by default", "without passes", "with one pass switched",
                                           "with one pass alone"};
enum { SIZES = 4 };
static const int fault_size[SIZES] = {6, 10, 14, 18};  // a relative fault of 2^-this

typedef struct counts {
  int programs, compared[WAYS], beyond[WAYS];
  int64_t elements, unknown, unlimited;  // of outputs; without a bound; where anything is legal
  int faults[SIZES], noticed[SIZES], noticed_by_tolerance[SIZES];
} counts;

static void flags_of(int way, uint64_t seed, hsc_bytes *out) {
  hsc_pass_id pass = (hsc_pass_id)(seed % HSC_PASS_COUNT);
  const char *switched =
      hsc_pass_is_on_request(pass) ? "hloscope_enable_hlo_passes" : "xla_disable_hlo_passes";
  hsc_bytes_reset(out);
  if (way == NONE)
    hsc_bytes_append_text(out, "--xla_enable_hlo_passes_only=none");
  if (way == ALONE)
    hsc_bytes_printf(out, "--xla_enable_hlo_passes_only=%s", hsc_pass_text(pass));
  if (way == SWITCHED)
    hsc_bytes_printf(out, "--%s=%s", switched, hsc_pass_text(pass));
}

static double part(const hsc_literal *literal, int64_t i, bool imaginary) {
  return imaginary ? hsc_literal_get_imag(literal, i) : hsc_literal_get_double(literal, i);
}

static double distance(const hsc_literal *a, const hsc_literal *b, int64_t i) {
  double sum = 0;
  for (int k = 0; k < (hsc_type_is_complex(a->shape.type) ? 2 : 1); k++) {
    double x = part(a, i, k);
    double y = part(b, i, k);
    if (x != y && !(isnan(x) && isnan(y)))
      sum = hypot(sum, x - y);
  }
  return sum;
}

// The first element beyond its bound; -1 = none. Tuples: of any leaf.
static int64_t beyond(const hsc_bounded *b, const hsc_literal *result, double *out_share) {
  for (int i = 0; b->elements && i < b->value->shape.element_count; i++) {
    int64_t at = beyond(b->elements[i], &result->elements[i], out_share);
    if (at >= 0)
      return at;
  }
  int64_t count = b->elements ? 0 : hsc_shape_elements(&b->value->shape);
  for (int64_t i = 0; i < count; i++) {
    double bound = b->error ? b->error[i] : 0;
    double apart = distance(b->value, result, i);
    if (isnan(bound) || isinf(bound) || apart <= bound)
      continue;
    *out_share = apart / bound;
    return i;
  }
  return -1;
}

static void count_elements(const hsc_bounded *b, counts *c) {
  for (int i = 0; b->elements && i < b->value->shape.element_count; i++)
    count_elements(b->elements[i], c);
  int64_t count = b->elements ? 0 : hsc_shape_elements(&b->value->shape);
  c->elements += count;
  for (int64_t i = 0; b->error && i < count; i++) {
    c->unknown += isnan(b->error[i]);
    c->unlimited += isinf(b->error[i]) != 0;
  }
}

// ---- faults -------------------------------------------------------------------------------------

static const hsc_bounded *float_leaf(const hsc_bounded *b, int *io_left) {
  for (int i = 0; b->elements && i < b->value->shape.element_count; i++) {
    const hsc_bounded *found = float_leaf(b->elements[i], io_left);
    if (found)
      return found;
  }
  bool fits = !b->elements && b->value->shape.type == HSC_TYPE_F32 &&
              hsc_shape_elements(&b->value->shape) > 0;
  return fits && (*io_left)-- == 0 ? b : NULL;
}

// One element of an output of f32: would it be noticed?
static void try_faults(const hsc_bounded *result, uint64_t seed, counts *c) {
  hsc_random random;
  hsc_random_init(&random, seed);
  for (int k = 0; k < SIZES; k++) {
    int left = (int)hsc_random_below(&random, 3);
    const hsc_bounded *b = float_leaf(result, &left);
    if (!b)
      continue;
    int64_t count = hsc_shape_elements(&b->value->shape);
    int64_t at = (int64_t)hsc_random_below(&random, (uint64_t)count);
    double value = fabs(hsc_literal_get_double(b->value, at));
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
      double other = fabs(hsc_literal_get_double(b->value, i));
      if (isfinite(other))
        largest = fmax(largest, other);
    }
    if (!isfinite(value) || value == 0)
      continue;
    if (b->error && isinf(b->error[at]))
      continue;  // where anything is legal nothing is a fault
    double fault = ldexp(value, -fault_size[k]);
    c->faults[k]++;
    c->noticed[k] += fault > (b->error ? b->error[at] : 0);
    c->noticed_by_tolerance[k] += fault > 1e-5 * largest;
  }
}

// ---- programs -----------------------------------------------------------------------------------

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

static hsc_status *check(backend *device, uint64_t seed, counts *c) {
  hsc_arena *arena = NULL;
  hsc_module *module = NULL;
  hsc_literal *arguments[64];
  hsc_bounded *expected = NULL;
  hsc_bytes flags = {0};
  hsc_status *status = NULL;
  random_module_options options = random_module_options_varied(seed);
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(random_module_create(seed, &options, &module));
  if (module->entry->parameter_count > (int)HSC_COUNT_OF(arguments))
    goto done;
  for (int i = 0; i < module->entry->parameter_count; i++) {
    HSC_GOTO(hsc_literal_create(arena, &module->entry->parameters[i]->shape, &arguments[i]));
    hsc_literal_fill(arguments[i], seed, (uint32_t)i);
  }
  HSC_GOTO(hsc_evaluate_bounded(module, module->entry->parameter_count, arguments,
                                &(hsc_error_options){0}, arena, &expected));
  c->programs++;
  count_elements(expected, c);
  try_faults(expected, seed, c);
  for (int way = 0; way < WAYS; way++) {
    hsc_literal *result = NULL;
    double share = 0;
    flags_of(way, seed, &flags);
    HSC_GOTO(run(device, module, hsc_bytes_text(&flags), arguments, arena, &result));
    int64_t at = beyond(expected, result, &share);
    c->compared[way]++;
    c->beyond[way] += at >= 0;
    if (at >= 0)
      printf("#   seed %llu %s (%s): element %lld is %.3g times its bound off\n",
             (unsigned long long)seed, way_text[way], hsc_bytes_text(&flags), (long long)at, share);
  }
done:
  hsc_bytes_deinit(&flags);
  hsc_module_destroy(module);
  hsc_arena_destroy(arena);
  return status;
}

static void print_figures(const counts *c) {
  printf(
      "# %d programs, %lld elements of outputs: %.1f %% without a bound, %.1f %% where anything "
      "is legal\n",
      c->programs, (long long)c->elements, 100.0 * (double)c->unknown / (double)c->elements,
      100.0 * (double)c->unlimited / (double)c->elements);
  for (int k = 0; k < SIZES; k++)
    printf(
        "# faults of 2^-%d of an element: %d, noticed by the bound %d, by the type's tolerance "
        "%d\n",
        fault_size[k], c->faults[k], c->noticed[k], c->noticed_by_tolerance[k]);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s COUNT [FIRST]\n", argv[0]);
    return 2;
  }
  uint64_t count = strtoull(argv[1], NULL, 10);
  uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  backend *device = NULL;
  counts all = {0};
  hsc_status *status = backend_open("cpu", &device);
  for (uint64_t seed = first; seed < first + count && !status; seed++) {
    status = check(device, seed, &all);
    if (status)
      printf("#   seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
  }
  if (status)
    printf("Bail out! %s\n", hsc_status_message(status));
  bool good = !status;
  for (int way = 0; way < WAYS; way++) {
    bool within = all.beyond[way] == 0 && all.compared[way] > 0;
    printf("%s %d - %s: %d of %d programs within the bounds\n", within ? "ok" : "not ok", way + 1,
           way_text[way], all.compared[way] - all.beyond[way], all.compared[way]);
    good &= within;
  }
  bool tells = all.noticed[2] > all.noticed_by_tolerance[2];
  printf("%s %d - the bound notices more small faults than the type's tolerance\n1..%d\n",
         tells ? "ok" : "not ok", WAYS + 1, WAYS + 1);
  print_figures(&all);
  hsc_status_free(status);
  backend_close(device);
  return good && tells ? 0 : 1;
}
