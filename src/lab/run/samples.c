// samples.c - sets of series, and the numbers in texts.
#include <math.h>
#include <stdlib.h>

#include "base/files/file_io.h"
#include "base/text/text.h"
#include "lab/run/samples_internal.h"

hsc_status *hsc_samples_create(hsc_samples **out_set) {
  hsc_samples *set = hsc_alloc(sizeof *set);
  if (!set)
    return hsc_status_out_of_memory();
  *set = (hsc_samples){0};
  hsc_status *status = hsc_arena_create(&set->arena);
  if (status)
    hsc_free(set);
  else
    *out_set = set;
  return status;
}

void hsc_samples_destroy(hsc_samples *set) {
  if (!set)
    return;
  for (size_t i = 0; i < set->count; i++)
    hsc_free(set->items[i].samples);
  hsc_free(set->items);
  hsc_arena_destroy(set->arena);
  hsc_free(set);
}

size_t hsc_samples_count(const hsc_samples *set) {
  return set->count;
}
const hsc_sample_series *hsc_samples_at(const hsc_samples *set, size_t i) {
  return &set->items[i];
}
const char *hsc_samples_grade(const hsc_samples *set) {
  return set->grade[0] ? set->grade : NULL;
}

// Times in milli- and microseconds become seconds: the units that tables scale are s and ns.
static const char *settle_unit(const char *unit, double *samples, size_t count) {
  double factor;
  if (!strcmp(unit, "ms"))
    factor = 1e-3;
  else if (!strcmp(unit, "us") || !strcmp(unit, "\xc2\xb5s"))
    factor = 1e-6;
  else
    factor = 1;
  if (factor == 1)
    return unit;
  for (size_t i = 0; i < count; i++)
    samples[i] *= factor;
  return "s";
}

const char *hsc__unit_of_name(const char *name) {
  static const char *const ends[][2] = {
      {"_ns", "ns"},  {"_us", "us"},  {"_ms", "ms"},  {"_s", "s"},      {"(s)", "s"},
      {"(ms)", "ms"}, {"(us)", "us"}, {"(ns)", "ns"}, {"seconds", "s"}, {"bytes", "bytes"}};
  for (size_t i = 0; i < HSC_COUNT_OF(ends); i++)
    if (hsc_ends_with(name, ends[i][0]))
      return ends[i][1];
  return "";
}

hsc_status *hsc__samples_add(hsc_samples *set,
                             const char *name,
                             const char *unit,
                             const char *source,
                             double *samples,
                             size_t count,
                             const size_t *block_sizes,
                             size_t block_count,
                             const hsc_samples_options *options,
                             hsc_sample_series **out_series) {
  if (!HSC_GROW(set->items, set->count, set->room)) {
    hsc_free(samples);
    return hsc_status_out_of_memory();
  }
  hsc_sample_series *s = &set->items[set->count++];
  if (options->unit)
    unit = options->unit;
  else if (!unit || !*unit)
    unit = hsc__unit_of_name(name);
  *s = (hsc_sample_series){.name = hsc_arena_strdup(set->arena, name),
                           .source = hsc_arena_strdup(set->arena, source),
                           .samples = samples,
                           .count = count};
  s->unit = hsc_arena_strdup(set->arena, settle_unit(unit, samples, count));
  if (block_count > 1) {
    s->block_sizes = hsc_arena_copy(set->arena, block_sizes, block_count * sizeof *block_sizes);
    s->block_count = s->block_sizes ? block_count : 0;
  }
  if (out_series)
    *out_series = s;
  return hsc_arena_status(set->arena);
}

// The digits of a decimal number as a whole number, and the power of ten that it is times.
typedef struct decimal {
  uint64_t digits;
  int exponent;
  int seen;    // digits read
  bool exact;  // all of them are in `digits`
} decimal;

static const char *take_digits(const char *at, const char *end, bool after_point, decimal *d) {
  for (; at < end && *at >= '0' && *at <= '9'; at++, d->seen++) {
    if (d->digits < 100000000000000000u) {
      d->digits = 10 * d->digits + (uint64_t)(*at - '0');
      d->exponent -= after_point;
    } else {
      d->exact = false;
    }
  }
  return at;
}

// What follows the digits: "e-12". Nothing is taken where no number is after the e.
static const char *take_exponent(const char *at, const char *end, decimal *d) {
  const char *mark = at;
  if (at == end || (*at != 'e' && *at != 'E'))
    return mark;
  at++;
  bool down = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+'))
    at++;
  int power = 0;
  const char *first = at;
  for (; at < end && *at >= '0' && *at <= '9'; at++)
    if (power < 100000)
      power = 10 * power + (*at - '0');
  if (at == first)
    return mark;
  d->exponent += down ? -power : power;
  return at;
}

static const char *take_word(const char *at, const char *end, bool negative, double *out_value) {
  static const struct {
    const char *text;
    double value;
  } words[] = {{"infinity", INFINITY}, {"inf", INFINITY}, {"nan", NAN}};
  for (size_t w = 0; w < HSC_COUNT_OF(words); w++) {
    size_t length = strlen(words[w].text);
    if ((size_t)(end - at) >= length && !strncasecmp(at, words[w].text, length)) {
      *out_value = negative ? -words[w].value : words[w].value;
      return at + length;
    }
  }
  return NULL;
}

const char *hsc__parse_number(const char *at, const char *end, double *out_value) {
  const char *from = at;
  bool negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+'))
    at++;
  decimal d = {.exact = true};
  at = take_digits(at, end, false, &d);
  if (at < end && *at == '.')
    at = take_digits(at + 1, end, true, &d);
  if (!d.seen)
    return take_word(at, end, negative, out_value);
  at = take_exponent(at, end, &d);
  static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (d.exact && d.digits <= (uint64_t)1 << 53 && d.exponent >= -22 && d.exponent <= 22) {
    // both exact, so one rounding (Clinger 1990)
    double value =
        d.exponent < 0 ? (double)d.digits / tens[-d.exponent] : (double)d.digits * tens[d.exponent];
    *out_value = negative ? -value : value;
    return at;
  }
  char text[512];
  size_t length = (size_t)(at - from) < sizeof text - 1 ? (size_t)(at - from) : sizeof text - 1;
  memcpy(text, from, length);
  text[length] = 0;
  *out_value = strtod(text, NULL);
  return at;
}
