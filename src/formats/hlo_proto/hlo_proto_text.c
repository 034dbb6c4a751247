// hlo_proto_text.c - messages that the IR keeps as text, both ways: what XLA's printer makes of
// them, and back.
//
// How to read: one section a kind of message, each with a function *_text (bytes to text) and one
// *_write (text to bytes). The last section goes by rows: hsc__proto_text_of and hsc__proto_text_to
// look a field or an attribute up in the table and call the pair.
#include <stdlib.h>

#include "base/text/text.h"
#include "formats/hlo_proto/hlo_proto_internal.h"
#include "hlo/ir/attr_text.h"
#include "formats/hlo_text/hlo_text_internal.h"

#include <inttypes.h>

enum { MAX_INTS = 4096 };  // of one list in a text

// ---- frontend attributes ------------------------------------------------------------------------

typedef struct pair {
  hsc_view key, value;
} pair;

static int compare_keys(const pair *a, const pair *b) {
  size_t size = a->key.size < b->key.size ? a->key.size : b->key.size;
  int order = memcmp(a->key.data, b->key.data, size);
  if (order)
    return order;
  if (a->key.size < b->key.size)
    return -1;
  return a->key.size > b->key.size;
}

// A value that is printed without quotes: balanced braces with strings inside, as JSON objects are.
static bool is_json_object(hsc_view value) {
  if (value.size < 2 || value.data[0] != '{')
    return false;
  int depth = 0;
  for (size_t i = 0; i < value.size; i++) {
    char c = value.data[i];
    if (c == '"') {
      for (i++; i < value.size && value.data[i] != '"'; i++)
        if (value.data[i] == '\\')
          i++;
    } else if (c == '{') {
      depth++;
    } else if (c == '}' && --depth == 0) {
      return i == value.size - 1;
    }
  }
  return false;
}

void hsc__append_frontend_value(hsc_bytes *text, hsc_view value) {
  if (is_json_object(value))
    hsc_bytes_append(text, value.data, value.size);
  else
    hsc__append_quoted(text, value);
}

static int compare_pairs(const void *a, const void *b) {
  return compare_keys(a, b);
}

void hsc__proto_frontend_text(hsc_view bytes, hsc_bytes *text) {
  hsc_bytes pairs = {0};
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != 1)
      continue;
    pair it = {{"", 0}, {"", 0}};
    hsc_wire entry = hsc_wire_of(f.bytes);
    for (hsc_wire_field e; hsc_wire_next(&entry, &e);) {
      if (e.number == 1)
        it.key = e.bytes;
      else if (e.number == 2)
        it.value = e.bytes;
    }
    hsc_bytes_append(&pairs, &it, sizeof it);
  }
  if (pairs.failed)
    text->failed = true;
  size_t count = pairs.failed ? 0 : pairs.size / sizeof(pair);
  pair *list = (pair *)(void *)pairs.data;
  if (count > 1)
    qsort(list, count, sizeof *list, compare_pairs);
  for (size_t i = 0; i < count; i++) {
    hsc_bytes_append_char(text, i == 0 ? '{' : ',');
    hsc_bytes_append(text, list[i].key.data, list[i].key.size);
    hsc_bytes_append_char(text, '=');
    hsc__append_frontend_value(text, list[i].value);
  }
  if (count)
    hsc_bytes_append_char(text, '}');
  hsc_bytes_deinit(&pairs);
}

// Past a balanced {...}.
bool hsc__scan_braces(hsc__scan *scan, hsc_view *out_text) {
  if (!hsc__scan_peek(scan, '{'))
    return false;
  const char *start = scan->p;
  int depth = 0;
  for (; scan->p < scan->end; scan->p++) {
    if (*scan->p == '"') {
      for (scan->p++; scan->p < scan->end && *scan->p != '"'; scan->p++)
        if (*scan->p == '\\')
          scan->p++;
      if (scan->p >= scan->end)
        return false;
    } else if (*scan->p == '{') {
      depth++;
    } else if (*scan->p == '}' && --depth == 0) {
      scan->p++;
      *out_text = (hsc_view){start, (size_t)(scan->p - start)};
      return true;
    }
  }
  return false;
}

bool hsc__proto_frontend_write(hsc_view text, hsc_bytes *out, uint32_t field) {
  hsc__scan scan = hsc__scan_of(text);
  hsc_bytes value = {0};
  size_t mark = hsc_wire_begin(out, field);
  bool ok = hsc__scan_char(&scan, '{');
  while (ok && !hsc__scan_char(&scan, '}')) {
    hsc_view key = hsc__scan_ident(&scan);
    hsc_view json;
    ok = key.size > 0 && hsc__scan_char(&scan, '=');
    if (!ok)
      break;
    size_t entry = hsc_wire_begin(out, 1);
    hsc_wire_put_bytes(out, 1, key.data, key.size);
    if (hsc__scan_peek(&scan, '{')) {
      ok = hsc__scan_braces(&scan, &json);
      if (ok)
        hsc_wire_put_bytes(out, 2, json.data, json.size);
    } else {
      ok = hsc__scan_string(&scan, &value);
      if (ok)
        hsc_wire_put_bytes(out, 2, hsc_bytes_text(&value), value.size);
    }
    hsc_wire_end(out, entry);
    hsc__scan_char(&scan, ',');
  }
  hsc_wire_end(out, mark);
  hsc_bytes_deinit(&value);
  return ok;
}

// ---- lists of numbers ---------------------------------------------------------------------------

static hsc_status *append_numbers(hsc_bytes *text, const hsc_wire_field *field) {
  hsc_wire in = hsc_wire_of(field->bytes);
  if (field->type == HSC_WIRE_VARINT) {
    hsc_bytes_printf(text, "%" PRId64, (int64_t)field->value);
    return NULL;
  }
  for (bool first = true; in.p < in.end; first = false) {
    uint64_t value;
    if (!hsc_wire_varint(&in, &value))
      return HSC_ERR(DATA_LOSS, "field %u: malformed numbers", field->number);
    hsc_bytes_printf(text, "%s%" PRId64, first ? "" : ",", (int64_t)value);
  }
  return NULL;
}

hsc_status *hsc__proto_aliasing_text(hsc_view bytes, hsc_bytes *text) {
  hsc_bytes output = {0};
  hsc_bytes operand_index = {0};
  hsc_status *status = NULL;
  int64_t operand = 0;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 1)
      HSC_GOTO(append_numbers(&output, &f));
    else if (f.number == 2)
      operand = (int64_t)f.value;
    else if (f.number == 3)
      HSC_GOTO(append_numbers(&operand_index, &f));
  }
  HSC_GOTO(hsc_wire_status(&in, "OutputOperandAliasing"));
  hsc_bytes_printf(text, "{%s}: (%" PRId64 ", {%s})", hsc_bytes_text(&output), operand,
                   hsc_bytes_text(&operand_index));
done:
  hsc_bytes_deinit(&output);
  hsc_bytes_deinit(&operand_index);
  return status;
}

bool hsc__proto_aliasing_write(hsc_view text, hsc_bytes *out, uint32_t field) {
  hsc__scan scan = hsc__scan_of(text);
  int64_t output[64], index[64], operand;
  int output_count, index_count;
  if (!hsc__scan_char(&scan, '{'))
    return false;
  while (!hsc__scan_char(&scan, '}')) {
    if (!hsc__scan_ints(&scan, '{', '}', output, 64, &output_count) ||
        !hsc__scan_char(&scan, ':') || !hsc__scan_char(&scan, '(') ||
        !hsc__scan_int(&scan, &operand) || !hsc__scan_char(&scan, ',') ||
        !hsc__scan_ints(&scan, '{', '}', index, 64, &index_count) || !hsc__scan_char(&scan, ')'))
      return false;
    size_t mark = hsc_wire_begin(out, field);
    hsc_wire_put_packed(out, 1, output, (size_t)output_count);
    hsc_wire_put_int(out, 2, operand);
    hsc_wire_put_packed(out, 3, index, (size_t)index_count);
    hsc_wire_end(out, mark);
    hsc__scan_char(&scan, ',');
  }
  return true;
}

static hsc_status *group_text(hsc_view bytes, hsc_bytes *text) {
  hsc_wire in = hsc_wire_of(bytes);
  hsc_bytes_append_char(text, '{');
  bool first = true;
  for (hsc_wire_field f; hsc_wire_next(&in, &f); first = false) {
    if (f.number != 1)
      continue;
    if (!first)
      hsc_bytes_append_char(text, ',');
    HSC_TRY(append_numbers(text, &f));
  }
  hsc_bytes_append_char(text, '}');
  return hsc_wire_status(&in, "ReplicaGroup");
}

hsc_status *hsc__proto_groups_text(hsc_view bytes, hsc_bytes *text) {
  hsc_wire in = hsc_wire_of(bytes);
  bool first = true;
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 2) {  // older versions put the iota form here
      hsc_bytes_reset(text);
      return hsc__proto_iota_text(f.bytes, text);
    }
    if (f.number != 1)
      continue;
    hsc_bytes_append_text(text, first ? "{" : ",");
    first = false;
    HSC_TRY(group_text(f.bytes, text));
  }
  hsc_bytes_append_text(text, first ? "{}" : "}");
  return hsc_wire_status(&in, "CollectiveDeviceListProto");
}

hsc_status *hsc__proto_iota_text(hsc_view bytes, hsc_bytes *text) {
  int64_t groups = 0;
  int64_t size = 0;
  hsc_bytes dims = {0};
  hsc_bytes permutation = {0};
  hsc_status *status = NULL;
  bool trivial = true;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 1)
      groups = (int64_t)f.value;
    else if (f.number == 2)
      size = (int64_t)f.value;
    else if (f.number == 3)
      HSC_GOTO(append_numbers(&dims, &f));
    else if (f.number == 4) {
      int64_t values[64];
      size_t count = 0;
      hsc_wire_ints(&f, values, 64, &count);
      for (size_t i = 0; i < count && i < 64; i++)
        trivial &= values[i] == (int64_t)i;
      HSC_GOTO(append_numbers(&permutation, &f));
    }
  }
  HSC_GOTO(hsc_wire_status(&in, "IotaReplicaGroupListProto"));
  hsc_bytes_printf(text, "[%" PRId64 ",%" PRId64 "]<=[%s]", groups, size, hsc_bytes_text(&dims));
  if (!trivial)
    hsc_bytes_printf(text, "T(%s)", hsc_bytes_text(&permutation));
done:
  hsc_bytes_deinit(&dims);
  hsc_bytes_deinit(&permutation);
  return status;
}

bool hsc__proto_groups_write(hsc_view text, hsc_bytes *out) {
  hsc__scan scan = hsc__scan_of(text);
  int64_t values[MAX_INTS], more[64];
  int count, more_count;
  if (hsc__scan_peek(&scan, '[')) {
    if (!hsc__scan_ints(&scan, '[', ']', values, 2, &count) || count != 2 ||
        !hsc__scan_word(&scan, "<=") || !hsc__scan_ints(&scan, '[', ']', more, 64, &more_count))
      return false;
    size_t mark = hsc_wire_begin(out, 92);
    hsc_wire_put_int(out, 1, values[0]);
    hsc_wire_put_int(out, 2, values[1]);
    hsc_wire_put_packed(out, 3, more, (size_t)more_count);
    for (int i = 0; i < more_count; i++)
      more[i] = i;
    if (hsc__scan_char(&scan, 'T') &&
        !hsc__scan_ints(&scan, '(', ')', more, more_count, &more_count))
      return false;
    hsc_wire_put_packed(out, 4, more, (size_t)more_count);
    hsc_wire_end(out, mark);
    return hsc__scan_done(&scan);
  }
  if (hsc__scan_peek(&scan, 'm'))
    return hsc__proto_mesh_groups_write(&scan, out);
  if (!hsc__scan_char(&scan, '{'))
    return false;
  if (hsc__scan_char(&scan, '}'))
    return true;
  size_t mark = hsc_wire_begin(out, 87);
  while (!hsc__scan_char(&scan, '}')) {
    if (!hsc__scan_ints(&scan, '{', '}', values, MAX_INTS, &count))
      return false;
    size_t group = hsc_wire_begin(out, 1);
    hsc_wire_put_packed(out, 1, values, (size_t)count);
    hsc_wire_end(out, group);
    hsc__scan_char(&scan, ',');
  }
  hsc_wire_end(out, mark);
  return hsc__scan_done(&scan);
}

void hsc__proto_pair_text(hsc_view bytes, hsc_bytes *text) {
  int64_t values[2] = {0, 0};
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    if (f.number == 1 || f.number == 2)
      values[f.number - 1] = (int64_t)f.value;
  hsc_bytes_printf(text, "{%" PRId64 ",%" PRId64 "}", values[0], values[1]);
}

bool hsc__proto_pairs_write(hsc_view text, hsc_bytes *out, uint32_t field) {
  hsc__scan scan = hsc__scan_of(text);
  int64_t values[2];
  int count;
  if (!hsc__scan_char(&scan, '{'))
    return false;
  while (!hsc__scan_char(&scan, '}')) {
    if (!hsc__scan_ints(&scan, '{', '}', values, 2, &count) || count != 2)
      return false;
    size_t mark = hsc_wire_begin(out, field);
    hsc_wire_put_int(out, 1, values[0]);
    hsc_wire_put_int(out, 2, values[1]);
    hsc_wire_end(out, mark);
    hsc__scan_char(&scan, ',');
  }
  return hsc__scan_done(&scan);
}

// ---- enumerators --------------------------------------------------------------------------------

static const char *const schedules[] = {"SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST",
                                        NULL};
static const char *const padding_types[] = {"PADDING_INVALID", "PADDING_VALID", "PADDING_SAME",
                                            NULL};
static const char *const conv_kinds[] = {"unset", "fprop", "dgrad", "wgrad", NULL};
static const char *const tri_states[] = {"", "true", "false", NULL};

static const char *const *words_of(hsc__proto_kind kind) {
  switch (kind) {
    case HSC__PROTO_SCHEDULE:
      return schedules;
    case HSC__PROTO_PADDING_TYPE:
      return padding_types;
    case HSC__PROTO_CONV_KIND:
      return conv_kinds;
    case HSC__PROTO_TRI_STATE:
      return tri_states;
    default:
      return NULL;
  }
}

// ---- accuracy, statistics, replication ----------------------------------------------------------

static void append_double(hsc_bytes *text, double value) {
  char digits[32];
  int length = hsc_format_double(value, digits);
  hsc_bytes_append(text, digits, (size_t)length);
}

static hsc_status *accuracy_text(hsc_view bytes, hsc_bytes *text) {
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 1) {
      // the default mode is not printed
      if (f.value == 1)
        hsc_bytes_append_text(text, "{mode=highest}");
    } else if (f.number == 2) {
      double atol = 0;
      double rtol = 0;
      int64_t ulps = 0;
      hsc_wire tolerance = hsc_wire_of(f.bytes);
      for (hsc_wire_field t; hsc_wire_next(&tolerance, &t);) {
        if (t.number == 1)
          atol = hsc_wire_double(&t);
        else if (t.number == 2)
          rtol = hsc_wire_double(&t);
        else if (t.number == 3)
          ulps = (int64_t)t.value;
      }
      HSC_TRY(hsc_wire_status(&tolerance, "ResultAccuracy.Tolerance"));
      hsc_bytes_append_text(text, "{tolerance={atol=");
      append_double(text, atol);
      hsc_bytes_append_text(text, ",rtol=");
      append_double(text, rtol);
      hsc_bytes_printf(text, ",ulps=%" PRId64 "}}", ulps);
    }
  }
  return hsc_wire_status(&in, "ResultAccuracy");
}

static bool scan_double(hsc__scan *scan, double *out_value) {
  hsc_view word = hsc__scan_ident(scan);
  char copy[64];
  if (word.size == 0 || word.size >= sizeof copy)
    return false;
  memcpy(copy, word.data, word.size);
  copy[word.size] = 0;
  const char *end = hsc__parse_double(copy, out_value);
  if (end && *end == 0 && scan->p < scan->end && *scan->p == '+' &&
      (end[-1] == 'e' || end[-1] == 'E'))
    return false;
  return end && *end == 0;
}

static bool accuracy_write(hsc_view value, hsc_bytes *out, uint32_t field) {
  hsc__scan scan = hsc__scan_of(value);
  if (!hsc__scan_char(&scan, '{'))
    return false;
  if (hsc__scan_word(&scan, "mode")) {
    if (!hsc__scan_char(&scan, '='))
      return false;
    bool highest = hsc__scan_word(&scan, "highest");
    if (!highest && !hsc__scan_word(&scan, "default"))
      return false;
    size_t mark = hsc_wire_begin(out, field);
    hsc_wire_put_varint(out, 1, highest);
    hsc_wire_end(out, mark);
    return true;
  }
  double atol = 0;
  double rtol = 0;
  int64_t ulps = 0;
  if (!hsc__scan_word(&scan, "tolerance") || !hsc__scan_char(&scan, '=') ||
      !hsc__scan_char(&scan, '{'))
    return false;
  while (!hsc__scan_char(&scan, '}')) {
    hsc_view name = hsc__scan_ident(&scan);
    if (!hsc__scan_char(&scan, '='))
      return false;
    bool ok;
    if (hsc_view_equals_text(name, "atol"))
      ok = scan_double(&scan, &atol);
    else if (hsc_view_equals_text(name, "rtol"))
      ok = scan_double(&scan, &rtol);
    else
      ok = hsc_view_equals_text(name, "ulps") && hsc__scan_int(&scan, &ulps);
    if (!ok)
      return false;
    hsc__scan_char(&scan, ',');
  }
  size_t mark = hsc_wire_begin(out, field);
  size_t inner = hsc_wire_begin(out, 2);
  hsc_wire_put_double(out, 1, atol);
  hsc_wire_put_double(out, 2, rtol);
  hsc_wire_put_int(out, 3, ulps);
  hsc_wire_end(out, inner);
  hsc_wire_end(out, mark);
  return true;
}

static hsc_status *statistics_text(hsc_view bytes, hsc_bytes *text) {
  hsc_wire in = hsc_wire_of(bytes);
  int64_t index = 0;
  bool any = false;
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 1)
      index = (int64_t)f.value;
    any |= f.number == 2;
  }
  if (any) {
    hsc_bytes_printf(text, "{visualizing_index=%" PRId64, index);
    in = hsc_wire_of(bytes);
    for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
      if (f.number != 2)
        continue;
      hsc_view name = {"", 0};
      double value = 0;
      hsc_wire one = hsc_wire_of(f.bytes);
      for (hsc_wire_field s; hsc_wire_next(&one, &s);) {
        if (s.number == 1)
          name = s.bytes;
        else if (s.number == 2)
          value = hsc_wire_double(&s);
      }
      hsc_bytes_printf(text, ",%.*s=", (int)name.size, name.data);
      append_double(text, value);
    }
    hsc_bytes_append_char(text, '}');
  }
  return hsc_wire_status(&in, "StatisticsViz");
}

static bool statistics_write(hsc_view value, hsc_bytes *out, uint32_t field) {
  hsc__scan scan = hsc__scan_of(value);
  int64_t index;
  if (!hsc__scan_char(&scan, '{') || !hsc__scan_word(&scan, "visualizing_index") ||
      !hsc__scan_char(&scan, '=') || !hsc__scan_int(&scan, &index))
    return false;
  size_t mark = hsc_wire_begin(out, field);
  hsc_wire_put_int(out, 1, index);
  while (hsc__scan_char(&scan, ',')) {
    hsc_view name = hsc__scan_ident(&scan);
    double number;
    if (!hsc__scan_char(&scan, '=') || !scan_double(&scan, &number))
      return false;
    size_t one = hsc_wire_begin(out, 2);
    hsc_wire_put_bytes(out, 1, name.data, name.size);
    hsc_wire_put_double(out, 2, number);
    hsc_wire_end(out, one);
  }
  hsc_wire_end(out, mark);
  return hsc__scan_char(&scan, '}');
}

static hsc_status *replication_text(hsc_view bytes, hsc_bytes *text) {
  hsc_wire in = hsc_wire_of(bytes);
  bool first = true;
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    int64_t flags[MAX_INTS];
    size_t count = 0;
    if (f.number != 1)
      continue;
    if (!hsc_wire_ints(&f, flags, MAX_INTS, &count) || count > MAX_INTS)
      return HSC_ERR(DATA_LOSS, "ParameterReplication: malformed flags");
    for (size_t i = 0; i < count; i++, first = false)
      hsc_bytes_printf(text, "%s%s", first ? "{" : ",", flags[i] ? "true" : "false");
  }
  if (!first)
    hsc_bytes_append_char(text, '}');
  return hsc_wire_status(&in, "ParameterReplication");
}

static bool replication_write(hsc_view value, hsc_bytes *out, uint32_t field) {
  hsc__scan scan = hsc__scan_of(value);
  int64_t flags[MAX_INTS];
  size_t count = 0;
  if (!hsc__scan_char(&scan, '{'))
    return false;
  while (!hsc__scan_char(&scan, '}')) {
    if (count == MAX_INTS)
      return false;
    flags[count] = hsc__scan_word(&scan, "true");
    if (!flags[count] && !hsc__scan_word(&scan, "false"))
      return false;
    count++;
    hsc__scan_char(&scan, ',');
  }
  size_t mark = hsc_wire_begin(out, field);
  hsc_wire_put_packed(out, 1, flags, count);
  hsc_wire_end(out, mark);
  return true;
}

// ---- values of structured attributes ------------------------------------------------------------

static void window_list(hsc_bytes *text,
                        const hsc_window *window,
                        const char *name,
                        size_t field,
                        size_t pair_field,
                        int64_t skip) {
  bool needed = skip < 0;
  for (int i = 0; i < window->rank && !needed; i++) {
    int64_t value;
    int64_t high = skip;
    memcpy(&value, (const char *)&window->dims[i] + field, sizeof value);
    if (pair_field)
      memcpy(&high, (const char *)&window->dims[i] + pair_field, sizeof high);
    needed = value != skip || high != skip;
  }
  if (!needed)
    return;
  bool is_first = !text->size || text->data[text->size - 1] == '{';  // empty: out of memory
  hsc_bytes_printf(text, "%s%s=", is_first ? "" : " ", name);
  for (int i = 0; i < window->rank; i++) {
    int64_t value, high;
    memcpy(&value, (const char *)&window->dims[i] + field, sizeof value);
    hsc_bytes_printf(text, "%s%" PRId64, i ? "x" : "", value);
    if (!pair_field)
      continue;
    memcpy(&high, (const char *)&window->dims[i] + pair_field, sizeof high);
    hsc_bytes_printf(text, "_%" PRId64, high);
  }
}

static void append_window(hsc_bytes *text, const hsc_window *window) {
  hsc_bytes_append_char(text, '{');
  window_list(text, window, "size", offsetof(hsc_window_dim, size), 0, -1);
  window_list(text, window, "stride", offsetof(hsc_window_dim, stride), 0, 1);
  window_list(text, window, "pad", offsetof(hsc_window_dim, pad_low),
              offsetof(hsc_window_dim, pad_high), 0);
  window_list(text, window, "lhs_dilate", offsetof(hsc_window_dim, base_dilation), 0, 1);
  window_list(text, window, "rhs_dilate", offsetof(hsc_window_dim, window_dilation), 0, 1);
  bool reversal = false;
  for (int i = 0; i < window->rank; i++)
    reversal |= window->dims[i].reversal;
  for (int i = 0; i < window->rank && reversal; i++)
    hsc_bytes_printf(text, "%s%d", i ? "x" : " rhs_reversal=", window->dims[i].reversal);
  hsc_bytes_append_char(text, '}');
}

static bool append_labels(hsc_bytes *text,
                          int rank,
                          const int64_t *spatial,
                          int64_t first,
                          char first_letter,
                          int64_t second,
                          char second_letter) {
  char labels[HSC_MAX_RANK + 2];
  if (rank > 10)
    return false;
  memset(labels, 0, sizeof labels);
  if (first < 0 || first >= rank + 2 || second < 0 || second >= rank + 2)
    return false;
  labels[first] = first_letter;
  labels[second] = second_letter;
  for (int i = 0; i < rank; i++) {
    if (spatial[i] < 0 || spatial[i] >= rank + 2)
      return false;
    labels[spatial[i]] = (char)('0' + i);
  }
  for (int i = 0; i < rank + 2; i++)
    if (!labels[i])
      return false;
  hsc_bytes_append(text, labels, (size_t)rank + 2);
  return true;
}

static bool append_conv_dims(hsc_bytes *text, const hsc_conv_dims *dims) {
  int rank = dims->spatial_rank;
  if (!append_labels(text, rank, dims->input_spatial, dims->input_batch, 'b', dims->input_feature,
                     'f'))
    return false;
  hsc_bytes_append_char(text, '_');
  if (!append_labels(text, rank, dims->kernel_spatial, dims->kernel_input, 'i', dims->kernel_output,
                     'o'))
    return false;
  hsc_bytes_append_text(text, "->");
  return append_labels(text, rank, dims->output_spatial, dims->output_batch, 'b',
                       dims->output_feature, 'f');
}

// ---- origin -------------------------------------------------------------------------------------

// The element of OriginalValueProto for the leaf at `index`; a leaf without one is {}.
static void origin_leaf(hsc_view bytes, const int64_t *index, size_t depth, hsc_bytes *text) {
  hsc_bytes_append_char(text, '{');
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != 1)
      continue;
    int64_t at[HSC_MAX_TUPLE_DEPTH];
    size_t count = 0;
    hsc_view array = {0};
    hsc_wire element = hsc_wire_of(f.bytes);
    for (hsc_wire_field e; hsc_wire_next(&element, &e);) {
      if (e.number == 1)
        hsc_wire_ints(&e, at, HSC_MAX_TUPLE_DEPTH, &count);
      else if (e.number == 2)
        array = e.bytes;
    }
    if (count != depth || (depth && memcmp(at, index, depth * sizeof *at) != 0) || !array.data)
      continue;
    hsc_view name = {"", 0};
    hsc_bytes path = {0};
    hsc_wire original = hsc_wire_of(array);
    for (hsc_wire_field o; hsc_wire_next(&original, &o);) {
      if (o.number == 1)
        name = o.bytes;
      else if (o.number == 2)
        hsc_status_free(append_numbers(&path, &o));
    }
    hsc__append_quoted(text, name);
    if (path.size)
      hsc_bytes_printf(text, " {%s}", hsc_bytes_text(&path));
    hsc_bytes_deinit(&path);
    break;
  }
  hsc_bytes_append_char(text, '}');
}

static void origin_tree(
    hsc_view bytes, const hsc_shape *shape, int64_t *index, size_t depth, hsc_bytes *text) {
  if (!hsc_shape_is_tuple(shape) || depth >= HSC_MAX_TUPLE_DEPTH) {
    origin_leaf(bytes, index, depth, text);
    return;
  }
  hsc_bytes_append_char(text, '(');
  for (int i = 0; i < shape->element_count; i++) {
    if (i)
      hsc_bytes_append_text(text, ", ");
    index[depth] = i;
    origin_tree(bytes, &shape->elements[i], index, depth + 1, text);
  }
  hsc_bytes_append_char(text, ')');
}

static bool origin_element(hsc__scan *scan, const int64_t *index, size_t depth, hsc_bytes *out) {
  if (depth < HSC_MAX_TUPLE_DEPTH && hsc__scan_char(scan, '(')) {
    int64_t path[HSC_MAX_TUPLE_DEPTH];
    if (depth)
      memcpy(path, index, depth * sizeof *path);
    path[depth] = 0;
    while (!hsc__scan_char(scan, ')')) {
      if (!origin_element(scan, path, depth + 1, out))
        return false;
      path[depth]++;
      hsc__scan_char(scan, ',');
    }
    return true;
  }
  if (!hsc__scan_char(scan, '{'))
    return false;
  if (hsc__scan_char(scan, '}'))
    return true;
  hsc_bytes name = {0};
  int64_t path[64];
  int count = 0;
  bool ok = hsc__scan_string(scan, &name) &&
            (!hsc__scan_peek(scan, '{') || hsc__scan_ints(scan, '{', '}', path, 64, &count)) &&
            hsc__scan_char(scan, '}');
  if (ok) {
    size_t element = hsc_wire_begin(out, 1);
    hsc_wire_put_packed(out, 1, index, depth);
    size_t array = hsc_wire_begin(out, 2);
    hsc_wire_put_text(out, 1, hsc_bytes_text(&name));
    hsc_wire_put_packed(out, 2, path, (size_t)count);
    hsc_wire_end(out, array);
    hsc_wire_end(out, element);
  }
  hsc_bytes_deinit(&name);
  return ok;
}

static bool origin_write(hsc_view value, hsc_bytes *out, uint32_t field) {
  hsc__scan scan = hsc__scan_of(value);
  if (!hsc__scan_char(&scan, '{'))
    return false;
  size_t mark = hsc_wire_begin(out, field);
  if (!origin_element(&scan, NULL, 0, out) || !hsc__scan_char(&scan, '}'))
    return false;
  hsc_wire_end(out, mark);
  return true;
}

static bool origin_is_synthetic(hsc_view bytes) {
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    if (f.number == 2 && f.value)
      return true;
  return false;
}

// ---- by row -------------------------------------------------------------------------------------

// PrecisionConfig; nothing where all are the default
static hsc_status *precision_text(hsc_view bytes, hsc_bytes *text) {
  enum { MOST_OPERANDS = 64 };
  hsc_wire in = hsc_wire_of(bytes);
  int64_t values[MOST_OPERANDS];
  size_t count = 0;
  bool plain = true;
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    if (f.number == 1 && !hsc_wire_ints(&f, values, MOST_OPERANDS, &count))
      return HSC_ERR(DATA_LOSS, "PrecisionConfig: malformed numbers");
  if (count > MOST_OPERANDS)
    count = MOST_OPERANDS;
  for (size_t i = 0; i < count; i++)
    plain &= values[i] == 0;
  for (size_t i = 0; i < count && !plain; i++) {
    const char *word = NULL;
    if (values[i] >= 0 && values[i] < INT32_MAX)
      word = hsc__word(HSC__WORDS_PRECISION, (int)values[i]);
    if (!word)
      return HSC_ERR(INVALID_ARGUMENT, "PrecisionConfig: precision %" PRId64, values[i]);
    hsc_bytes_printf(text, "%s%s%s", i ? "," : "{", word, i + 1 == count ? "}" : "");
  }
  return hsc_wire_status(&in, "PrecisionConfig");
}

static void origin_text(hsc_view bytes, const hsc_shape *shape, hsc_bytes *text) {
  if (bytes.size == 0)
    return;
  if (origin_is_synthetic(bytes)) {
    hsc_bytes_append_text(text, "{[synthetic_call]}");
    return;
  }
  int64_t index[HSC_MAX_TUPLE_DEPTH];
  size_t before = text->size;
  hsc_bytes_append_char(text, '{');
  origin_tree(bytes, shape, index, 0, text);
  hsc_bytes_append_char(text, '}');
  bool says = text->size > before && memchr(text->data + before, '"', text->size - before);
  // of no leaf: it would be written as nothing
  if (!says && !text->failed)
    text->data[text->size = before] = 0;
}

// One of the fixed words of a kind.
static void word_text(hsc__proto_kind kind, int64_t value, hsc_bytes *text) {
  const char *const *words = words_of(kind);
  // the first word is the default, which XLA does not print
  for (int64_t i = 0; words && value != 0 && words[i]; i++)
    if (i == value)
      hsc_bytes_append_text(text, words[i]);
}

static hsc_status *value_of(const hsc__proto_row *row,
                            const hsc_wire_field *field,
                            const hsc_instr *instr,
                            hsc_bytes *text) {
  hsc__proto_kind kind = (hsc__proto_kind)row->kind;
  int64_t value = (int64_t)field->value;
  hsc_arena *arena = instr->parent->module->arena;
  switch (kind) {
    case HSC__PROTO_WINDOW: {
      hsc_window window;
      HSC_TRY(hsc__proto_read_window(arena, field->bytes, &window));
      if (window.rank)
        append_window(text, &window);
      return NULL;
    }
    case HSC__PROTO_CONV_DIMS: {
      hsc_conv_dims dims;
      HSC_TRY(hsc__proto_read_conv_dims(arena, field->bytes, &dims));
      return append_conv_dims(text, &dims)
                 ? NULL
                 : HSC_ERR(INVALID_ARGUMENT,
                           "ConvolutionDimensionNumbers: no permutation of the dimensions");
    }
    case HSC__PROTO_INT_OVER_1:
      if (value > 1)
        hsc_bytes_printf(text, "%" PRId64, value);
      return NULL;
    case HSC__PROTO_INT:
      hsc_bytes_printf(text, "%" PRId64, value);
      return NULL;
    case HSC__PROTO_TRUE:
      if (value)
        hsc_bytes_append_text(text, "true");
      return NULL;
    case HSC__PROTO_PRECISION:
      return precision_text(field->bytes, text);
    case HSC__PROTO_SHAPE: {
      hsc_shape shape;
      HSC_TRY(hsc__proto_read_shape(arena, NULL, field->bytes, &shape));
      if (shape.type != HSC_TYPE_INVALID)
        hsc_shape_print(&shape, true, text);
      return NULL;
    }
    case HSC__PROTO_QUOTED:
      if (field->bytes.size)
        hsc__append_quoted(text, field->bytes);
      return NULL;
    case HSC__PROTO_INFERRED_DIM: {
      int64_t values[1];
      size_t count = 0;
      if (hsc_wire_ints(field, values, 1, &count) && count > 0 && values[0] >= 0)
        hsc_bytes_printf(text, "%" PRId64, values[0]);
      return NULL;
    }
    case HSC__PROTO_ACCURACY:
      return accuracy_text(field->bytes, text);
    case HSC__PROTO_STATISTICS:
      return statistics_text(field->bytes, text);
    case HSC__PROTO_REPLICATION:
      return replication_text(field->bytes, text);
    case HSC__PROTO_ORIGIN:
      origin_text(field->bytes, &instr->shape, text);
      return NULL;
    default:
      break;
  }
  word_text(kind, value, text);
  return NULL;
}

hsc_status *hsc__proto_text_of(const hsc__proto_row *row,
                               const hsc_wire_field *field,
                               const hsc_instr *instr,
                               hsc_bytes *text) {
  hsc_bytes value = {0};
  if (row->kind == HSC__PROTO_ALIASING && text->size) {  // a repeated field: one list
    size_t name = strlen(row->text);
    char *before = text->size > name + 2 ? memmem(text->data, text->size, row->text, name) : NULL;
    if (before && text->data[text->size - 1] == '}') {
      hsc_status *status = hsc__proto_aliasing_text(field->bytes, &value);
      text->size--;
      hsc_bytes_printf(text, ", %s}", hsc_bytes_text(&value));
      hsc_bytes_deinit(&value);
      return status;
    }
  }
  hsc_status *status;
  if (row->kind == HSC__PROTO_ALIASING) {
    hsc_bytes_append_char(&value, '{');
    status = hsc__proto_aliasing_text(field->bytes, &value);
    hsc_bytes_append_char(&value, '}');
  } else {
    status = value_of(row, field, instr, &value);
  }
  if (!status && value.size)
    hsc_bytes_printf(text, "%s%s=%s", text->size ? ", " : "", row->text, hsc_bytes_text(&value));
  if (!status)
    status = hsc_bytes_status(&value);
  hsc_bytes_deinit(&value);
  return status;
}

// Shapes, windows and dimension labels are read by the HLO text parser.
static bool parsed_write(const hsc__proto_row *row, hsc_view value, hsc_bytes *out) {
  hsc_arena *arena;
  hsc__hlo_parser *p = NULL;
  hsc_status *status = hsc_arena_create(&arena);
  if (!status) {
    status = hsc__hlo_parser_init(&p, arena, value);
    hsc_shape shape;
    hsc_window window;
    hsc_conv_dims dims;
    if (status) {
    } else if (row->kind == HSC__PROTO_SHAPE) {
      if (hsc__hlo_shape(p, &shape))
        status = hsc__proto_write_shape(out, row->number, &shape);
    } else if (row->kind == HSC__PROTO_WINDOW) {
      if (hsc__hlo_window(p, &window))
        hsc__proto_write_window(out, row->number, &window);
    } else if (hsc__hlo_dim_labels(p, &dims)) {
      hsc__proto_write_conv_dims(out, row->number, &dims);
    }
    if (p) {
      hsc_status *parse_status = hsc__hlo_parser_deinit(p);
      if (status)
        hsc_status_free(parse_status);
      else
        status = parse_status;
    }
    hsc_arena_destroy(arena);
  }
  bool ok = !status;
  hsc_status_free(status);
  return ok;
}

static bool int_write(const hsc__proto_row *row, hsc_view value, hsc_bytes *out) {
  hsc__scan scan = hsc__scan_of(value);
  int64_t number;
  if (!hsc__scan_int(&scan, &number) || !hsc__scan_done(&scan))
    return false;
  if (row->kind == HSC__PROTO_INFERRED_DIM)
    hsc_wire_put_packed(out, row->number, &number, 1);
  else
    hsc_wire_put_varint(out, row->number, (uint64_t)number);
  return true;
}

static bool bool_write(const hsc__proto_row *row, hsc_view value, hsc_bytes *out) {
  hsc__scan scan = hsc__scan_of(value);
  bool is_true = hsc__scan_word(&scan, "true");
  if (!is_true && !hsc__scan_word(&scan, "false"))
    return false;
  hsc_wire_put_bool(out, row->number, is_true);
  return true;
}

static bool quoted_write(const hsc__proto_row *row, hsc_view value, hsc_bytes *out) {
  hsc__scan scan = hsc__scan_of(value);
  hsc_bytes text = {0};
  bool ok = hsc__scan_string(&scan, &text) && hsc__scan_done(&scan);
  if (ok)
    hsc_wire_put_bytes(out, row->number, hsc_bytes_text(&text), text.size);
  hsc_bytes_deinit(&text);
  return ok;
}

// "{default,highest}"
static bool precision_write(const hsc__proto_row *row, hsc_view value, hsc_bytes *out) {
  hsc__scan scan = hsc__scan_of(value);
  int64_t values[64];
  size_t count = 0;
  if (!hsc__scan_char(&scan, '{'))
    return false;
  while (!hsc__scan_char(&scan, '}')) {
    int precision = hsc__word_number(HSC__WORDS_PRECISION, hsc__scan_ident(&scan));
    if (precision < 0 || count == 64)
      return false;
    values[count++] = precision;
    hsc__scan_char(&scan, ',');
  }
  size_t mark = hsc_wire_begin(out, row->number);
  hsc_wire_put_packed(out, 1, values, count);
  hsc_wire_end(out, mark);
  return true;
}

// One of the words of an enumeration; false for kinds that have none.
static bool word_write(const hsc__proto_row *row, hsc_view value, hsc_bytes *out) {
  hsc__scan scan = hsc__scan_of(value);
  const char *const *words = words_of((hsc__proto_kind)row->kind);
  if (!words)
    return false;
  hsc_view word = hsc__scan_ident(&scan);
  for (uint64_t i = 0; words[i]; i++) {
    if (!hsc_view_equals_text(word, words[i]))
      continue;
    hsc_wire_put_varint(out, row->number, i);
    return hsc__scan_done(&scan);
  }
  return false;
}

bool hsc__proto_text_to(const hsc__proto_row *row, hsc_view value, hsc_bytes *out) {
  switch ((hsc__proto_kind)row->kind) {
    case HSC__PROTO_ALIASING:
      return hsc__proto_aliasing_write(value, out, row->number);
    case HSC__PROTO_SHAPE:
    case HSC__PROTO_WINDOW:
    case HSC__PROTO_CONV_DIMS:
      return parsed_write(row, value, out);
    case HSC__PROTO_INT:
    case HSC__PROTO_INT_OVER_1:
    case HSC__PROTO_INFERRED_DIM:
      return int_write(row, value, out);
    case HSC__PROTO_TRUE:
      return bool_write(row, value, out);
    case HSC__PROTO_QUOTED:
      return quoted_write(row, value, out);
    case HSC__PROTO_PRECISION:
      return precision_write(row, value, out);
    case HSC__PROTO_ACCURACY:
      return accuracy_write(value, out, row->number);
    case HSC__PROTO_STATISTICS:
      return statistics_write(value, out, row->number);
    case HSC__PROTO_REPLICATION:
      return replication_write(value, out, row->number);
    case HSC__PROTO_ORIGIN: {
      if (!hsc_view_equals_text(value, "{[synthetic_call]}"))
        return origin_write(value, out, row->number);
      size_t mark = hsc_wire_begin(out, row->number);
      hsc_wire_put_bool(out, 2, true);
      hsc_wire_end(out, mark);
      return true;
    }
    default:
      return word_write(row, value, out);
  }
}
