// program_reference.c - reads the summaries of whole results and compares, in double.
#include "base/files/file_io.h"
#include "program_reference.h"

#include <jansson.h>
#include <math.h>

struct program_reference {
  json_t *root;
};

hsc_status *program_reference_read(const char *path, program_reference **out_reference) {
  hsc_bytes packed = {0};
  hsc_bytes text = {0};
  json_error_t error;
  program_reference *reference = NULL;
  hsc_status *status = NULL;
  HSC_GOTO(hsc_file_read(path, &packed));
  HSC_GOTO(hsc_decompress(hsc_bytes_view(&packed), (size_t)1 << 28, &text));
  reference = hsc_alloc(sizeof(*reference));
  if (!reference)
    HSC_GOTO(hsc_status_out_of_memory());
  reference->root = json_loadb(text.data, text.size, 0, &error);
  if (!reference->root || !program_reference_program(reference) ||
      !program_reference_hlo(reference)) {
    program_reference_destroy(reference);
    HSC_GOTO(HSC_ERR(DATA_LOSS, "%s: not a reference of a program", path));
  }
  *out_reference = reference;
done:
  hsc_bytes_deinit(&packed);
  hsc_bytes_deinit(&text);
  return status;
}

void program_reference_destroy(program_reference *reference) {
  if (!reference)
    return;
  json_decref(reference->root);
  hsc_free(reference);
}

const char *program_reference_program(const program_reference *reference) {
  return json_string_value(json_object_get(reference->root, "program"));
}
const char *program_reference_hlo(const program_reference *reference) {
  return json_string_value(json_object_get(reference->root, "hlo"));
}
uint64_t program_reference_seed(const program_reference *reference) {
  return (uint64_t)json_integer_value(json_object_get(reference->root, "seed"));
}
int program_reference_output_count(const program_reference *reference) {
  return (int)json_array_size(json_object_get(reference->root, "outputs"));
}

static double figure(json_t *summary, const char *name) {
  return json_number_value(json_object_get(summary, name));
}

// The value that is summarised: the result, or what it has more than the argument that it replaces.
static double value_at(const hsc_literal *result, const hsc_literal *before, int64_t i) {
  double value = hsc_literal_get_double(result, i);
  return before ? (double)(float)(value - hsc_literal_get_double(before, i)) : value;
}

static bool judge_summary(json_t *summary,
                          const char *what,
                          int output,
                          const hsc_literal *result,
                          const hsc_literal *before,
                          hsc_bytes *out_why) {
  double tolerance = figure(summary, "tolerance");
  double low = figure(summary, "min");
  double high = figure(summary, "max");
  double norm = figure(summary, "norm");
  double room = tolerance * fmax(fabs(low), fabs(high));
  double sum = 0;
  double squares = 0;
  double min = INFINITY;
  double max = -INFINITY;
  int64_t count = hsc_shape_elements(&result->shape);
  for (int64_t i = 0; i < count; i++) {
    double value = value_at(result, before, i);
    sum += value;
    squares += value * value;
    min = fmin(min, value);
    max = fmax(max, value);
  }
  const struct {
    const char *name;
    double got, want, room;
  } figures[] = {{"mean", count ? sum / (double)count : 0, figure(summary, "mean"), room},
                 {"norm", sqrt(squares), norm, tolerance * norm},
                 {"min", min, low, room},
                 {"max", max, high, room}};
  for (size_t i = 0; i < HSC_COUNT_OF(figures); i++) {
    if (fabs(figures[i].got - figures[i].want) <= figures[i].room)
      continue;  // false for NaN too
    hsc_bytes_printf(out_why, "output %d: %s of %s is %.9g, XLA:CPU has %.9g, %.3g is allowed",
                     output, figures[i].name, what, figures[i].got, figures[i].want,
                     figures[i].room);
    return false;
  }
  json_t *samples = json_object_get(summary, "samples");
  for (size_t i = 0; i < json_array_size(samples); i++) {
    json_t *sample = json_array_get(samples, i);
    int64_t index = json_integer_value(json_array_get(sample, 0));
    double want = json_number_value(json_array_get(sample, 1));
    double got = index < count ? value_at(result, before, index) : NAN;
    if (fabs(got - want) <= room)
      continue;
    hsc_bytes_printf(out_why,
                     "output %d: element %lld of %s is %.9g, XLA:CPU has %.9g, %.3g is allowed",
                     output, (long long)index, what, got, want, room);
    return false;
  }
  return true;
}

bool program_reference_judge(const program_reference *reference,
                             int output,
                             const hsc_literal *result,
                             hsc_literal *const *arguments,
                             hsc_bytes *out_why) {
  json_t *summary = json_array_get(json_object_get(reference->root, "outputs"), (size_t)output);
  json_t *change = json_object_get(summary, "change");
  hsc_bytes shape = {0};
  hsc_shape_print(&result->shape, false, &shape);
  const char *wanted = json_string_value(json_object_get(summary, "shape"));
  bool good = wanted && strcmp(wanted, hsc_bytes_text(&shape)) == 0;
  if (!good)
    hsc_bytes_printf(out_why, "output %d: shape %s, expected %s", output, hsc_bytes_text(&shape),
                     wanted ? wanted : "nothing");
  hsc_bytes_deinit(&shape);
  if (!good)
    return false;
  if (!judge_summary(summary, "the result", output, result, NULL, out_why))
    return false;
  if (!change)
    return true;
  return judge_summary(change, "the change", output, result,
                       arguments[json_integer_value(json_object_get(summary, "replaces"))],
                       out_why);
}
