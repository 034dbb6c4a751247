// ops_corpus.c - reads the corpus with jansson; judges by the rules of ops/README.md.
#include "base/files/file_io.h"
#include "ops_corpus.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  if (c == '+')
    return 62;
  if (c == '/')
    return 63;
  return -1;
}

static hsc_status *decode_base64(const char *text, unsigned char *out, size_t size) {
  size_t at = 0;
  uint32_t bits = 0;
  int have = 0;
  for (; *text && *text != '='; text++) {
    int digit = base64_digit(*text);
    if (digit < 0)
      return HSC_ERR(DATA_LOSS, "not base64: '%c'", *text);
    bits = bits << 6 | (uint32_t)digit;
    have += 6;
    if (have < 8)
      continue;
    have -= 8;
    if (at == size)
      return HSC_ERR(DATA_LOSS, "an array has more than its %zu bytes", size);
    out[at++] = (unsigned char)(bits >> have);
  }
  return at == size ? NULL : HSC_ERR(DATA_LOSS, "an array has %zu bytes, expected %zu", at, size);
}

// "f32[3,2]", "pred[]".
static hsc_status *parse_shape(hsc_arena *arena, const char *text, hsc_shape *out) {
  const char *bracket = strchr(text, '[');
  hsc_type type;
  if (!bracket || !hsc_type_parse((hsc_view){text, (size_t)(bracket - text)}, &type))
    return HSC_ERR(DATA_LOSS, "not a shape: %s", text);
  int64_t dims[HSC_MAX_RANK];
  int rank = 0;
  for (const char *p = bracket + 1; *p && *p != ']';) {
    char *end;
    dims[rank++] = strtoll(p, &end, 10);
    p = *end == ',' ? end + 1 : end;
    if (end == bracket || rank == HSC_MAX_RANK)
      return HSC_ERR(DATA_LOSS, "not a shape: %s", text);
  }
  *out = hsc_shape_array(arena, type, rank, dims);
  return NULL;
}

// The file has the low bits of integers narrower than a byte; in a literal they are extended by
// their sign.
static void extend_signs(hsc_literal *literal) {
  int bits = hsc_type_bits(literal->shape.type);
  if (bits >= 8 || hsc_type_class_of(literal->shape.type) != HSC_CLASS_SIGNED)
    return;
  uint8_t *bytes = literal->data;
  uint8_t sign = (uint8_t)(1u << (bits - 1));
  for (int64_t i = 0; i < hsc_shape_elements(&literal->shape); i++)
    bytes[i] = (uint8_t)((bytes[i] ^ sign) - sign);
}

static hsc_status *read_arrays(
    hsc_arena *arena, json_t *list, json_t *data, int *out_count, hsc_literal ***out_literals) {
  int count = (int)json_array_size(list);
  hsc_literal **literals = HSC_NEW_ARRAY(arena, hsc_literal *, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < count; i++) {
    json_t *item = json_array_get(list, (size_t)i);
    const char *shape_text = json_string_value(json_object_get(item, "shape"));
    const char *bytes = json_string_value(
        json_array_get(data, (size_t)json_integer_value(json_object_get(item, "data"))));
    if (!shape_text || !bytes)
      return HSC_ERR(DATA_LOSS, "array %d has no shape or no data", i);
    hsc_shape shape;
    HSC_TRY(parse_shape(arena, shape_text, &shape));
    HSC_TRY(hsc_literal_create(arena, &shape, &literals[i]));
    HSC_TRY_NOTE(decode_base64(bytes, literals[i]->data, (size_t)hsc_shape_bytes(&shape)),
                 "while: reading %s", shape_text);
    extend_signs(literals[i]);
  }
  *out_count = count;
  *out_literals = literals;
  return NULL;
}

static double number_or(json_t *object, const char *key, double missing) {
  json_t *value = json_object_get(object, key);
  return value ? json_number_value(value) : missing;
}

static ops_agree read_agree(json_t *agree) {
  json_t *ulp = json_object_get(agree, "ulp");
  return (ops_agree){.bits = json_is_true(json_object_get(agree, "bits")),
                     .signed_zero = json_is_true(json_object_get(agree, "signed_zero")),
                     .ulp = ulp ? json_integer_value(ulp) : -1,
                     .rel = number_or(agree, "rel", -1),
                     .abs = number_or(agree, "abs", -1)};
}

static hsc_status *run_case(
    json_t *item, json_t *data, const char *family, hsc_arena *arena, ops_case_fn run, void *user) {
  json_t *results = json_object_get(item, "results");
  ops_case one = {.family = family,
                  .name = json_string_value(json_object_get(item, "name")),
                  .op = json_string_value(json_object_get(item, "op")),
                  .hlo = json_string_value(json_object_get(item, "hlo")),
                  .arena = arena};
  if (!one.name || !one.op || !one.hlo)
    return HSC_ERR(DATA_LOSS, "a case has no name, op or program");
  HSC_TRY_NOTE(read_arrays(arena, json_object_get(item, "arguments"), data, &one.argument_count,
                           &one.arguments),
               "while: arguments of %s", one.name);
  HSC_TRY_NOTE(read_arrays(arena, results, data, &one.result_count, &one.results),
               "while: results of %s", one.name);
  one.agree = HSC_NEW_ARRAY(arena, ops_agree, one.result_count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < one.result_count; i++) {
    json_t *own = json_object_get(json_array_get(results, (size_t)i), "agree");
    one.agree[i] = read_agree(own ? own : json_object_get(item, "agree"));
  }
  return run(user, &one);
}

hsc_status *ops_corpus_each(const char *path, ops_case_fn run, void *user) {
  hsc_bytes packed = {0};
  hsc_bytes text = {0};
  hsc_arena *arena = NULL;
  json_t *root = NULL;
  json_error_t error;
  hsc_status *status = NULL;
  HSC_GOTO(hsc_file_read(path, &packed));
  HSC_GOTO(hsc_decompress(hsc_bytes_view(&packed), (size_t)1 << 30, &text));
  root = json_loadb(text.data, text.size, 0, &error);
  if (!root)
    HSC_GOTO(HSC_ERR(DATA_LOSS, "%s: line %d: %s", path, error.line, error.text));
  HSC_GOTO(hsc_arena_create(&arena));
  json_t *cases = json_object_get(root, "cases");
  json_t *data = json_object_get(root, "data");
  const char *family = json_string_value(json_object_get(root, "family"));
  for (size_t i = 0; i < json_array_size(cases); i++) {
    hsc_arena_reset(arena);
    HSC_GOTO(run_case(json_array_get(cases, i), data, family ? family : "", arena, run, user));
  }
done:
  hsc_arena_destroy(arena);
  json_decref(root);
  hsc_bytes_deinit(&packed);
  hsc_bytes_deinit(&text);
  return status;
}

// ---- judging ------------------------------------------------------------------------------------

// Representable numbers in order; both zeros are 0 and infinity follows the largest.
static int64_t position(hsc_type type, const void *data, int64_t index) {
  uint64_t bits = 0;
  size_t bytes = hsc_type_bytes(type);
  memcpy(&bits, (const char *)data + (size_t)index * bytes, bytes);
  if (type == HSC_TYPE_F8E8M0FNU)
    return (int64_t)bits;  // has no sign
  uint64_t sign = 1ull << (hsc_type_bits(type) - 1);
  uint64_t magnitude = bits & (sign - 1);
  return bits & sign ? -(int64_t)magnitude : (int64_t)magnitude;
}

static uint64_t distance(int64_t a, int64_t b) {
  return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static bool float_agrees(const ops_agree *how,
                         hsc_type type,
                         const void *got_data,
                         const void *want_data,
                         int64_t index,
                         double got,
                         double want) {
  if (isnan(got) && isnan(want))
    return true;
  if (isnan(got) || isnan(want))
    return false;
  if (isinf(got) && isinf(want) && (got > 0) == (want > 0))
    return true;
  if (how->signed_zero && got == 0 && want == 0 && signbit(got) != signbit(want))
    return false;
  if (how->ulp >= 0 && distance(position(type, got_data, index),
                                position(type, want_data, index)) <= (uint64_t)how->ulp)
    return true;
  double difference = fabs(got - want);
  return (how->rel >= 0 && difference <= how->rel * fabs(want)) ||
         (how->abs >= 0 && difference <= how->abs);
}

static bool element_agrees(const ops_agree *how,
                           const hsc_literal *got,
                           const hsc_literal *want,
                           int64_t i) {
  hsc_type type = want->shape.type;
  if (hsc_type_is_complex(type)) {
    hsc_type part = hsc_type_real_part(type);
    double a = hsc_literal_get_double(got, i);
    double b = hsc_literal_get_imag(got, i);
    double x = hsc_literal_get_double(want, i);
    double y = hsc_literal_get_imag(want, i);
    if ((isnan(a) || isnan(b)) && (isnan(x) || isnan(y)))
      return true;
    if (float_agrees(how, part, got->data, want->data, 2 * i, a, x) &&
        float_agrees(how, part, got->data, want->data, 2 * i + 1, b, y))
      return true;
    double difference = hypot(a - x, b - y);
    return (how->rel >= 0 && difference <= how->rel * hypot(x, y)) ||
           (how->abs >= 0 && difference <= how->abs);
  }
  if (hsc_type_is_float(type))
    return float_agrees(how, type, got->data, want->data, i, hsc_literal_get_double(got, i),
                        hsc_literal_get_double(want, i));
  uint64_t a = (uint64_t)hsc_literal_get_int(got, i);
  uint64_t b = (uint64_t)hsc_literal_get_int(want, i);
  uint64_t apart = a == b ? 0 : distance((int64_t)a, (int64_t)b);
  return apart <= (uint64_t)(how->ulp > 0 ? how->ulp : 0) ||
         (how->abs >= 0 && (double)apart <= how->abs);
}

static bool same_bits(const hsc_literal *got, const hsc_literal *want, int64_t i) {
  size_t bytes = hsc_type_bytes(want->shape.type);
  return memcmp((const char *)got->data + (size_t)i * bytes,
                (const char *)want->data + (size_t)i * bytes, bytes) == 0;
}

static void describe(const hsc_literal *literal, int64_t i, hsc_bytes *out) {
  hsc_type type = literal->shape.type;
  if (hsc_type_is_complex(type))
    hsc_bytes_printf(out, "(%.9g, %.9g)", hsc_literal_get_double(literal, i),
                     hsc_literal_get_imag(literal, i));
  else if (hsc_type_is_float(type))
    hsc_bytes_printf(out, "%.17g", hsc_literal_get_double(literal, i));
  else
    hsc_bytes_printf(out, "%lld", (long long)hsc_literal_get_int(literal, i));
}

bool ops_case_judge(const ops_case *one, int leaf, const hsc_literal *result, hsc_bytes *out_why) {
  const hsc_literal *want = one->results[leaf];
  if (!hsc_shape_equal(&result->shape, &want->shape)) {
    hsc_bytes_printf(out_why, "%s: result %d has shape ", one->name, leaf);
    hsc_shape_print(&result->shape, false, out_why);
    hsc_bytes_append_text(out_why, ", expected ");
    hsc_shape_print(&want->shape, false, out_why);
    return false;
  }
  int64_t count = hsc_shape_elements(&want->shape);
  int64_t wrong = 0;
  int64_t first = -1;
  const ops_agree *how = &one->agree[leaf];
  for (int64_t i = 0; i < count; i++) {
    bool good = how->bits ? same_bits(result, want, i) : element_agrees(how, result, want, i);
    if (good)
      continue;
    if (first < 0)
      first = i;
    wrong++;
  }
  if (wrong == 0)
    return true;
  hsc_bytes_printf(out_why, "%s: result %d: %lld of %lld elements disagree; element %lld is ",
                   one->name, leaf, (long long)wrong, (long long)count, (long long)first);
  describe(result, first, out_why);
  hsc_bytes_append_text(out_why, ", XLA:CPU has ");
  describe(want, first, out_why);
  for (int a = 0; a < one->argument_count; a++) {
    if (!hsc_shape_same_dims(&one->arguments[a]->shape, &want->shape))
      continue;
    hsc_bytes_printf(out_why, "; argument %d there is ", a);
    describe(one->arguments[a], first, out_why);
  }
  return false;
}

void ops_case_measure(
    const ops_case *one, int leaf, const hsc_literal *result, uint64_t *out_ulp, double *out_part) {
  const hsc_literal *want = one->results[leaf];
  const ops_agree *how = &one->agree[leaf];
  bool is_complex = hsc_type_is_complex(want->shape.type);
  hsc_type part = is_complex ? hsc_type_real_part(want->shape.type) : want->shape.type;
  double largest = 0;
  double farthest = 0;
  *out_ulp = 0;
  *out_part = 0;
  if (!hsc_type_is_float(part))
    return;
  int64_t count = hsc_shape_elements(&want->shape);
  for (int64_t i = 0; i < count; i++) {
    for (int k = 0; k <= (is_complex ? 1 : 0); k++) {
      double a = k ? hsc_literal_get_imag(result, i) : hsc_literal_get_double(result, i);
      double b = k ? hsc_literal_get_imag(want, i) : hsc_literal_get_double(want, i);
      if (!isfinite(a) || !isfinite(b))
        continue;
      largest = fmax(largest, fabs(b));
      farthest = fmax(farthest, fabs(a - b));
      if (how->abs >= 0 && fabs(a - b) <= how->abs)
        continue;
      int64_t at = is_complex ? 2 * i + k : i;
      uint64_t apart = distance(position(part, result->data, at), position(part, want->data, at));
      if (apart > *out_ulp)
        *out_ulp = apart;
    }
  }
  if (largest > 0)
    *out_part = farthest / largest;
}
