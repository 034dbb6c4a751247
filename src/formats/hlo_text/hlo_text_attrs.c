// hlo_text_attrs.c - reads what follows the operands: ", name=value" until there is no more.
//
// What an op may have comes from hlo_attrs.def. A name that has no row is kept as raw text, unless
// it looks like a misspelling of an attribute that the op has and that was not given: then it is an
// error, because a kept misspelling would silently change the program.
#include "base/text/text.h"
#include "formats/hlo_text/hlo_text_internal.h"
#include "hlo/ir/attr_text.h"
#include "hlo/print/hlo_attrs.h"

#include <stdlib.h>

// ---- words that stand for numbers ---------------------------------------------------------------

static bool parse_word(hsc__hlo_parser *p, hsc__words list, int *out_number) {
  const char *what = hsc__words_what(list);
  hsc_view word;
  if (!hsc__hlo_word(p, what, &word))
    return false;
  *out_number = hsc__word_number(list, word);
  if (*out_number >= 0)
    return true;
  const char *candidates[32];
  size_t count = 0;
  for (const char *text; count < 32 && (text = hsc__word(list, (int)count)) != NULL; count++)
    candidates[count] = text;
  char text[64];
  snprintf(text, sizeof text, "%.*s", hsc_view_shown(word, 60), word.data);
  const char *near = hsc_did_you_mean(text, candidates, count);
  return near
             ? hsc__hlo_error(p, word.data, "unknown %s '%s'; did you mean '%s'?", what, text, near)
             : hsc__hlo_error(p, word.data, "unknown %s '%s'", what, text);
}

// ---- structured values --------------------------------------------------------------------------

static bool parse_slice(hsc__hlo_parser *p, hsc_attr *attr) {
  int64_t start[HSC_MAX_RANK], limit[HSC_MAX_RANK], stride[HSC_MAX_RANK];
  int rank = 0;
  if (!hsc__hlo_expect(p, '{', "before the slice"))
    return false;
  if (!hsc__hlo_peek(p, '}')) {
    do {
      if (rank == HSC_MAX_RANK)
        return hsc__hlo_error(p, p->p, "more than %d dimensions", HSC_MAX_RANK);
      stride[rank] = 1;
      if (!hsc__hlo_expect(p, '[', "before start:limit:stride") || !hsc__hlo_int(p, &start[rank]) ||
          !hsc__hlo_expect(p, ':', "between start and limit") || !hsc__hlo_int(p, &limit[rank]) ||
          (hsc__hlo_accept(p, ':') && !hsc__hlo_int(p, &stride[rank])) ||
          !hsc__hlo_expect(p, ']', "after the slice of a dimension"))
        return false;
      rank++;
    } while (hsc__hlo_accept(p, ','));
  }
  if (!hsc__hlo_expect(p, '}', "or ',' in the slice"))
    return false;
  attr->slice.start = hsc_dims_copy(p->arena, rank, start);
  attr->slice.limit = hsc_dims_copy(p->arena, rank, limit);
  attr->slice.stride = hsc_dims_copy(p->arena, rank, stride);
  return true;
}

// "1_2x0_0_1": low_high or low_high_interior per dimension.
static bool parse_padding(hsc__hlo_parser *p, hsc_attr *attr) {
  hsc_pad_dim dims[HSC_MAX_RANK];
  int rank = 0;
  hsc__hlo_skip_space(p);
  if (*p->p != '-' && (*p->p < '0' || *p->p > '9')) {  // nothing: a scalar
    attr->pad.rank = 0;
    return true;
  }
  do {
    if (rank == HSC_MAX_RANK)
      return hsc__hlo_error(p, p->p, "more than %d dimensions", HSC_MAX_RANK);
    dims[rank].interior = 0;
    if (!hsc__hlo_int(p, &dims[rank].low) ||
        !hsc__hlo_expect(p, '_', "between low and high padding") ||
        !hsc__hlo_int(p, &dims[rank].high) ||
        (hsc__hlo_accept(p, '_') && !hsc__hlo_int(p, &dims[rank].interior)))
      return false;
    rank++;
  } while (*p->p == 'x' && p->p++);
  attr->pad.rank = rank;
  attr->pad.dims = hsc_arena_copy(p->arena, dims, sizeof *dims * (size_t)rank);
  return attr->pad.dims ? true : hsc__hlo_out_of_memory(p);
}

// "3x3" or, for pairs, "1_1x0_2", into one or two fields of each window dimension. Sets or checks
// the rank.
static bool parse_window_list(hsc__hlo_parser *p,
                              hsc_window_dim *dims,
                              int *rank,
                              size_t field,
                              size_t pair_field,
                              bool flag) {
  hsc__hlo_skip_space(p);
  const char *at = p->p;
  int count = 0;
  do {
    if (count == HSC_MAX_RANK || (*rank >= 0 && count == *rank))
      return hsc__hlo_error(p, at, "the lists of the window have different lengths");
    int64_t value, high;
    const char *value_at = p->p;
    if (!hsc__hlo_int(p, &value))
      return false;
    if (flag && value != 0 && value != 1)
      return hsc__hlo_error(p, value_at, "expected 0 or 1");
    char *dim = (char *)&dims[count];
    if (flag)
      *(bool *)(dim + field) = value == 1;
    else
      memcpy(dim + field, &value, sizeof value);
    if (pair_field) {
      if (!hsc__hlo_expect(p, '_', "between low and high padding") || !hsc__hlo_int(p, &high))
        return false;
      memcpy(dim + pair_field, &high, sizeof high);
    }
    count++;
  } while (*p->p == 'x' && p->p++);
  if (*rank >= 0 && count != *rank)
    return hsc__hlo_error(p, at, "the lists of the window have different lengths");
  *rank = count;
  return true;
}

bool hsc__hlo_window(hsc__hlo_parser *p, hsc_window *out_window) {
  static const struct {
    const char *text;
    size_t field, pair_field;
    bool flag;
  } lists[] = {
      {"size", offsetof(hsc_window_dim, size), 0, false},
      {"stride", offsetof(hsc_window_dim, stride), 0, false},
      {"pad", offsetof(hsc_window_dim, pad_low), offsetof(hsc_window_dim, pad_high), false},
      {"lhs_dilate", offsetof(hsc_window_dim, base_dilation), 0, false},
      {"rhs_dilate", offsetof(hsc_window_dim, window_dilation), 0, false},
      {"rhs_reversal", offsetof(hsc_window_dim, reversal), 0, true},
  };
  hsc_window_dim dims[HSC_MAX_RANK];
  for (int i = 0; i < HSC_MAX_RANK; i++)
    dims[i] = (hsc_window_dim){.stride = 1, .window_dilation = 1, .base_dilation = 1};
  int rank = -1;
  bool has_size = false;
  hsc__hlo_skip_space(p);
  const char *start = p->p;
  if (!hsc__hlo_expect(p, '{', "before the window"))
    return false;
  while (!hsc__hlo_accept(p, '}')) {
    hsc_view word;
    if (!hsc__hlo_word(p, "size, stride, pad, lhs_dilate, rhs_dilate or rhs_reversal", &word))
      return false;
    size_t i = 0;
    while (i < HSC_COUNT_OF(lists) && !hsc_view_equals_text(word, lists[i].text))
      i++;
    if (i == HSC_COUNT_OF(lists))
      return hsc__hlo_error(p, word.data,
                            "expected size, stride, pad, lhs_dilate, rhs_dilate or rhs_reversal in "
                            "the window, found '%.*s'",
                            (int)word.size, word.data);
    has_size |= i == 0;
    if (!hsc__hlo_expect(p, '=', "in the window") ||
        !parse_window_list(p, dims, &rank, lists[i].field, lists[i].pair_field, lists[i].flag))
      return false;
    hsc__hlo_accept(p, ',');
  }
  if (!has_size && rank >= 0)
    return hsc__hlo_error(p, start, "the window has no size");
  out_window->rank = rank < 0 ? 0 : rank;
  out_window->dims = rank > 0 ? hsc_arena_copy(p->arena, dims, sizeof *dims * (size_t)rank) : NULL;
  return rank <= 0 || out_window->dims ? true : hsc__hlo_out_of_memory(p);
}

// One part of "b01f_01io->b01f": the places of the two letters and of the digits.
static bool parse_label_part(hsc__hlo_parser *p,
                             const char *letters,
                             int64_t *out_first,
                             int64_t *out_second,
                             int64_t *spatial,
                             int *out_count) {
  const char *at = p->p;
  int64_t first = -1;
  int64_t second = -1;
  int64_t position = 0;
  int digits = 0;
  bool seen[10] = {false};
  for (;; p->p++, position++) {
    char c = *p->p;
    if (c == letters[0] && first < 0)
      first = position;
    else if (c == letters[1] && second < 0)
      second = position;
    else if (c >= '0' && c <= '9' && !seen[c - '0']) {
      seen[c - '0'] = true;
      spatial[c - '0'] = position;
      digits++;
    } else
      break;
  }
  for (int i = 0; i < digits; i++)
    if (!seen[i])
      return hsc__hlo_error(p, at, "the spatial dimensions must be numbered from 0 without gaps");
  if (first < 0 || second < 0)
    return hsc__hlo_error(p, at, "expected dimension labels with one '%c', one '%c' and digits",
                          letters[0], letters[1]);
  *out_first = first;
  *out_second = second;
  *out_count = digits;
  return true;
}

bool hsc__hlo_dim_labels(hsc__hlo_parser *p, hsc_conv_dims *dims) {
  int64_t spatial[3][10];
  int counts[3];
  hsc__hlo_skip_space(p);
  const char *at = p->p;
  if (!parse_label_part(p, "bf", &dims->input_batch, &dims->input_feature, spatial[0],
                        &counts[0]) ||
      !hsc__hlo_expect(p, '_', "after the labels of the input"))
    return false;
  if (!parse_label_part(p, "oi", &dims->kernel_output, &dims->kernel_input, spatial[1], &counts[1]))
    return false;
  if (p->p[0] != '-' || p->p[1] != '>')
    return hsc__hlo_expected(p, "'->' after the labels of the kernel");
  p->p += 2;
  if (!parse_label_part(p, "bf", &dims->output_batch, &dims->output_feature, spatial[2],
                        &counts[2]))
    return false;
  if (counts[0] != counts[1] || counts[0] != counts[2])
    return hsc__hlo_error(p, at,
                          "input, kernel and output must have the same number of spatial "
                          "dimensions, not %d, %d and %d",
                          counts[0], counts[1], counts[2]);
  dims->spatial_rank = counts[0];
  size_t bytes = sizeof(int64_t) * (size_t)counts[0];
  dims->input_spatial = hsc_arena_copy(p->arena, spatial[0], bytes);
  dims->kernel_spatial = hsc_arena_copy(p->arena, spatial[1], bytes);
  dims->output_spatial = hsc_arena_copy(p->arena, spatial[2], bytes);
  return true;
}

static bool parse_precision(hsc__hlo_parser *p, hsc_dims *out_dims) {
  int64_t values[16];
  int count = 0;
  if (!hsc__hlo_expect(p, '{', "before the precisions"))
    return false;
  if (!hsc__hlo_accept(p, '}')) {
    do {
      int value;
      if (count == 16)
        return hsc__hlo_error(p, p->p, "more than 16 precisions");
      if (!parse_word(p, HSC__WORDS_PRECISION, &value))
        return false;
      values[count++] = value;
    } while (hsc__hlo_accept(p, ','));
    if (!hsc__hlo_expect(p, '}', "or ',' in the precisions"))
      return false;
  }
  *out_dims = hsc_dims_copy(p->arena, count, values);
  return true;
}

static bool parse_shapes(hsc__hlo_parser *p, hsc_attr *attr) {
  hsc_shape small[32];
  hsc_shape *shapes = small;
  size_t count = 0;
  size_t capacity = HSC_COUNT_OF(small);
  if (!hsc__hlo_expect(p, '{', "before the shapes"))
    return false;
  if (!hsc__hlo_accept(p, '}')) {
    do {
      if (!HSC_GROW_IN(p->arena, shapes, count, capacity))
        return hsc__hlo_out_of_memory(p);
      if (!hsc__hlo_shape(p, &shapes[count]))
        return false;
      count++;
    } while (hsc__hlo_accept(p, ','));
    if (!hsc__hlo_expect(p, '}', "or ',' in the shapes"))
      return false;
  }
  attr->custom.operand_layouts = hsc_arena_copy(p->arena, shapes, sizeof *shapes * count);
  attr->custom.operand_layout_count = (int32_t)count;
  return attr->custom.operand_layouts ? true : hsc__hlo_out_of_memory(p);
}

// ---- called computations ------------------------------------------------------------------------

typedef struct called_list {
  hsc_computation **items;  // scratch; NULL entries wait for a fixup
  int count, capacity;
  hsc_computation *small[8];
} called_list;

static bool called_at(hsc__hlo_parser *p, called_list *called, int index) {
  if (index >= called->capacity) {
    int capacity = index * 2 + 8;
    hsc_computation **grown = HSC_NEW_ARRAY(p->arena, hsc_computation *, capacity);
    if (!grown)
      return hsc__hlo_out_of_memory(p);
    memcpy(grown, called->items, sizeof *grown * (size_t)called->count);
    called->items = grown;
    called->capacity = capacity;
  }
  while (called->count <= index)
    called->items[called->count++] = NULL;
  return true;
}

static bool parse_called(hsc__hlo_parser *p, hsc_instr *instr, called_list *called, int index) {
  if (!called_at(p, called, index))
    return false;
  if (hsc__hlo_peek(p, '{'))
    return hsc__hlo_inline_computation(p, instr, &called->items[index]);
  hsc_view name;
  if (!hsc__hlo_name(p, "the name of a computation", &name))
    return false;
  called->items[index] = hsc_map_get(p->computations, name);
  return called->items[index] ||
         hsc__hlo_fixup_add(
             p, &p->called_fixups,
             (hsc__fixup){.instr = instr, .slot = index, .at = name.data, .name = name});
}

static bool parse_called_list(hsc__hlo_parser *p, hsc_instr *instr, called_list *called) {
  if (!hsc__hlo_expect(p, '{', "before the called computations"))
    return false;
  if (hsc__hlo_accept(p, '}'))
    return true;
  int index = 0;
  do {
    if (!parse_called(p, instr, called, index++))
      return false;
  } while (hsc__hlo_accept(p, ','));
  return hsc__hlo_expect(p, '}', "or ',' in the called computations");
}

// ---- what any instruction may have --------------------------------------------------------------

static bool parse_metadata(hsc__hlo_parser *p, const hsc_metadata **out_metadata) {
  static const struct {
    const char *text;
    size_t place;
    bool number;
  } fields[] = {
      {"op_type", offsetof(hsc_metadata, op_type), false},
      {"op_name", offsetof(hsc_metadata, op_name), false},
      {"source_file", offsetof(hsc_metadata, source_file), false},
      {"source_line", offsetof(hsc_metadata, source_line), true},
      {"source_end_line", offsetof(hsc_metadata, source_end_line), true},
      {"source_column", offsetof(hsc_metadata, source_column), true},
      {"source_end_column", offsetof(hsc_metadata, source_end_column), true},
      {"stack_frame_id", offsetof(hsc_metadata, stack_frame_id), true},
  };
  hsc_view raw;
  const char *start;
  if (!hsc__hlo_peek(p, '{'))
    return hsc__hlo_expected(p, "'{'");
  start = p->p;
  if (!hsc__hlo_braced_raw(p, &raw))
    return false;
  hsc__metadata_slot *slot =
      &p->metadata[hsc_hash64(raw.data, raw.size, 1) % HSC_COUNT_OF(p->metadata)];
  if (slot->metadata && hsc_view_equals(slot->text, raw)) {
    *out_metadata = slot->metadata;
    return true;
  }
  p->p = start + 1;
  hsc_metadata *metadata = HSC_NEW(p->arena, hsc_metadata);
  hsc_bytes extra = {0};
  bool ok = true;
  while (ok && !hsc__hlo_accept(p, '}')) {
    hsc_view word, value;
    ok = hsc__hlo_word(p, "a field of metadata", &word) && hsc__hlo_expect(p, '=', "in metadata");
    if (!ok)
      break;
    size_t i = 0;
    while (i < HSC_COUNT_OF(fields) && !hsc_view_equals_text(word, fields[i].text))
      i++;
    if (i == HSC_COUNT_OF(fields)) {
      // One value: a string, a braced list or a word. Kept as it is.
      hsc__hlo_skip_space(p);
      const char *at = p->p;
      if (*at == '{') {
        ok = hsc__hlo_braced_raw(p, &value);
      } else if (*at == '"') {
        ok = hsc__hlo_string_to(p, &p->text);
        value = (hsc_view){at, (size_t)(p->p - at)};
      } else {
        ok = hsc__hlo_word(p, "a value in metadata", &value);
      }
      if (ok)
        hsc_bytes_printf(&extra, "%s%.*s=%.*s", extra.size ? " " : "", (int)word.size, word.data,
                         (int)value.size, value.data);
    } else if (fields[i].number) {
      ok = hsc__hlo_int32(p, (int32_t *)((char *)metadata + fields[i].place));
    } else {
      ok = hsc__hlo_string(p, (const char **)((char *)metadata + fields[i].place));
    }
    hsc__hlo_accept(p, ',');
  }
  if (ok && extra.size)
    metadata->extra = hsc_arena_strndup(p->arena, extra.data, extra.size);
  if (extra.failed)
    ok = hsc__hlo_out_of_memory(p);
  hsc_bytes_deinit(&extra);
  if (!ok)
    return false;
  *slot = (hsc__metadata_slot){.text = raw, .metadata = metadata};
  *out_metadata = metadata;
  return true;
}

static bool parse_braced_text(hsc__hlo_parser *p, const char **out_text) {
  hsc_view raw;
  if (!hsc__hlo_braced_raw(p, &raw))
    return false;
  *out_text = hsc_arena_strndup(p->arena, raw.data, raw.size);
  return *out_text ? true : hsc__hlo_out_of_memory(p);
}

static bool parse_backend_config(hsc__hlo_parser *p, hsc_instr *instr, const char **out_text) {
  hsc__hlo_skip_space(p);
  const char *start = p->p;
  if (*start == '{') {
    if (!parse_braced_text(p, out_text))
      return false;
    if (instr->op == HSC_OP_CUSTOM_CALL)
      instr->attr.custom.opaque = *out_text;
    return true;
  }
  if (*start != '"')
    return hsc__hlo_expected(p, "a JSON object or a string in double quotes");
  if (!hsc__hlo_string_to(p, &p->text))
    return false;
  *out_text = hsc_arena_strndup(p->arena, start, (size_t)(p->p - start));
  if (instr->op == HSC_OP_CUSTOM_CALL)
    instr->attr.custom.opaque = hsc_arena_strndup(p->arena, hsc_bytes_text(&p->text), p->text.size);
  return *out_text ? true : hsc__hlo_out_of_memory(p);
}

static bool parse_control(hsc__hlo_parser *p, hsc_instr *instr) {
  if (!hsc__hlo_expect(p, '{', "before the control predecessors"))
    return false;
  if (hsc__hlo_accept(p, '}'))
    return true;
  do {
    hsc_view name;
    if (!hsc__hlo_name(p, "the name of an instruction", &name))
      return false;
    if (!hsc__hlo_fixup_add(
            p, &p->operand_fixups,
            (hsc__fixup){.instr = instr, .at = name.data, .name = name, .control = true}))
      return false;
  } while (hsc__hlo_accept(p, ','));
  return hsc__hlo_expect(p, '}', "or ',' in the control predecessors");
}

static bool keep_raw(hsc__hlo_parser *p, hsc_instr *instr, hsc_view name) {
  hsc_view raw;
  if (!hsc__hlo_raw_value(p, &raw))
    return false;
  const char *before = instr->extra_attributes;
  instr->extra_attributes =
      hsc_arena_printf(p->arena, "%s%s%.*s=%.*s", before ? before : "", before ? ", " : "",
                       (int)name.size, name.data, (int)raw.size, raw.data);
  return instr->extra_attributes ? true : hsc__hlo_out_of_memory(p);
}

// Groups by the axes of a mesh have a comma: mesh['x'=2], device_ids=(1,0) {'x'}
static bool with_device_ids(hsc__hlo_parser *p, hsc_view *in_out_raw) {
  static const char ids[] = ", device_ids=";
  const char *end = in_out_raw->data + in_out_raw->size;
  hsc_view more;
  if (in_out_raw->size < 5 || memcmp(in_out_raw->data, "mesh[", 5) != 0 ||
      strncmp(end, ids, sizeof ids - 1) != 0)
    return true;
  p->p = end + sizeof ids - 1;
  if (!hsc__hlo_raw_value(p, &more))
    return false;
  in_out_raw->size = (size_t)(more.data + more.size - in_out_raw->data);
  return true;
}

// {mode=highest} or {tolerance={atol=1e-3,rtol=0,ulps=2}}.
static bool check_accuracy(hsc__hlo_parser *p, hsc_view raw) {
  static const char *const modes[] = {"{mode=highest}", "{mode=default}"};
  static const char *const parts[] = {"atol=", "rtol=", "ulps="};
  static const char tolerance[] = "{tolerance={";
  size_t head = sizeof tolerance - 1;
  for (size_t i = 0; i < HSC_COUNT_OF(modes); i++)
    if (hsc_view_equals_text(raw, modes[i]))
      return true;
  bool good = raw.size > head + 2 && !memcmp(raw.data, tolerance, head) &&
              !memcmp(raw.data + raw.size - 2, "}}", 2);
  for (size_t at = head; good && at < raw.size - 2;) {
    while (raw.data[at] == ' ')
      at++;
    bool known = false;
    for (size_t i = 0; i < HSC_COUNT_OF(parts); i++)
      known |= !strncmp(raw.data + at, parts[i], strlen(parts[i]));
    good = known;
    const char *comma = memchr(raw.data + at, ',', raw.size - at);
    at = comma ? (size_t)(comma - raw.data) + 1 : raw.size;
  }
  return good ? true
              : hsc__hlo_error(p, raw.data,
                               "an accuracy is {mode=highest}, {mode=default} or "
                               "{tolerance={atol=..., rtol=..., ulps=...}}");
}

// A reference to a computation is not kept as text: it would be lost with the computation.
static bool names_computation(hsc_view name) {
  static const char *const names[] = {"body",
                                      "branch_computations",
                                      "called_computations",
                                      "calls",
                                      "condition",
                                      "false_computation",
                                      "scatter",
                                      "select",
                                      "to_apply",
                                      "true_computation"};
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++)
    if (hsc_view_equals_text(name, names[i]))
      return true;
  return false;
}

// ---- one attribute ------------------------------------------------------------------------------

static bool parse_float(hsc__hlo_parser *p, float *out_value) {
  double value;
  hsc__hlo_skip_space(p);
  const char *end = hsc__parse_double(p->p, &value);
  if (!end)
    return hsc__hlo_expected(p, "a number");
  p->p = end;
  *out_value = (float)value;
  return true;
}

static bool parse_dim(hsc__hlo_parser *p, hsc_dims *out_dims) {
  int64_t value;
  if (!hsc__hlo_int(p, &value))
    return false;
  *out_dims = hsc_dims_copy(p->arena, 1, &value);
  return true;
}

static bool parse_raw(hsc__hlo_parser *p, const char **out_text) {
  hsc_view raw;
  if (!hsc__hlo_raw_value(p, &raw) || !with_device_ids(p, &raw))
    return false;
  *out_text = hsc_arena_strndup(p->arena, raw.data, raw.size);
  return *out_text ? true : hsc__hlo_out_of_memory(p);
}

// How dumps of newer compilers write what was type=TOTALORDER: order=TOTAL. The other order,
// PARTIAL, is what comparing floats means anyway.
static bool parse_order(hsc__hlo_parser *p, hsc_instr *instr) {
  hsc_view word;
  if (!hsc__hlo_word(p, "TOTAL or PARTIAL", &word))
    return false;
  if (!hsc__compare_take_order(instr, word))
    return hsc__hlo_error(p, word.data, "the order of a comparison is TOTAL or PARTIAL");
  return true;
}

// A word of the list of its kind, kept as its number.
static bool parse_number_word(hsc__hlo_parser *p, hsc__value_kind kind, void *place) {
  hsc__words list;
  int number = 0;
  hsc__hlo_skip_space(p);
  const char *at = p->p;
  if (!hsc__value_words(kind, &list))
    return true;
  if (!parse_word(p, list, &number))
    return false;
  if (list == HSC__WORDS_API_VERSION && number == 0)
    return hsc__hlo_error(p, at, "a custom-call API version that says nothing");
  memcpy(place, &number, sizeof number);
  return true;
}

static bool parse_value(hsc__hlo_parser *p, hsc_instr *instr, const hsc__attr_row *it) {
  void *place = (char *)&instr->attr + it->place;
  switch ((hsc__value_kind)it->kind) {
    case HSC__VALUE_INT64:
    case HSC__VALUE_INT64_OF_1:
      return hsc__hlo_int(p, place);
    case HSC__VALUE_INT32:
      return hsc__hlo_int32(p, place);
    case HSC__VALUE_BOOL:
      return hsc__hlo_bool(p, place);
    case HSC__VALUE_FLOAT:
      return parse_float(p, place);
    case HSC__VALUE_DIMS:
      return hsc__hlo_dims(p, place);
    case HSC__VALUE_DIM:
      return parse_dim(p, place);
    case HSC__VALUE_TEXT:
      return hsc__hlo_string(p, place);
    case HSC__VALUE_GROUPS:
      if (hsc__attr_permutes(instr->op))
        return hsc__hlo_error(p, p->p, "%s: it has no groups, but source_target_pairs",
                              hsc_op_text(instr->op));
      return parse_raw(p, place);
    case HSC__VALUE_RAW:
    case HSC__VALUE_PAIRS:
      return parse_raw(p, place);
    case HSC__VALUE_SLICE:
      return parse_slice(p, &instr->attr);
    case HSC__VALUE_PADDING:
      return parse_padding(p, &instr->attr);
    case HSC__VALUE_WINDOW:
      return hsc__hlo_window(p, place);
    case HSC__VALUE_DIM_LABELS:
      return hsc__hlo_dim_labels(p, place);
    case HSC__VALUE_PRECISION:
      return parse_precision(p, place);
    case HSC__VALUE_SHAPES:
      return parse_shapes(p, &instr->attr);
    case HSC__VALUE_LITERAL:
      return hsc__hlo_shaped_literal(p, place);
    default:
      return parse_number_word(p, (hsc__value_kind)it->kind, place);
  }
}

// A name without a row: an error when it is near to an attribute that is missing, else kept.
static bool check_misspelling(hsc__hlo_parser *p,
                              const hsc_instr *instr,
                              const hsc__attr_list *list,
                              uint64_t seen,
                              hsc_view name) {
  const char *candidates[sizeof list->rows];
  size_t count = 0;
  for (int i = 0; i < list->count; i++)
    if (!(seen >> i & 1))
      candidates[count++] = hsc__attr_row_at(list->rows[i])->text;
  char text[64];
  if (name.size >= sizeof text)
    return true;
  memcpy(text, name.data, name.size);
  text[name.size] = 0;
  const char *near = hsc_did_you_mean(text, candidates, count);
  if (!near)
    return true;
  return hsc__hlo_error(p, name.data, "%s: unknown attribute '%s'; did you mean '%s'?",
                        hsc_op_text(instr->op), text, near);
}

// What an instruction may have whatever its op; false with *out_known false: the name is another.
// What most instructions have comes first, told by its first letter.
static bool parse_common(
    hsc__hlo_parser *p, hsc_instr *instr, hsc_instr *common, hsc_view name, bool *out_known) {
  *out_known = true;
  switch (name.data[0]) {
    case 'm':
      if (hsc_view_equals_text(name, "metadata"))
        return parse_metadata(p, &common->metadata);
      break;
    case 'b':
      if (hsc_view_equals_text(name, "backend_config"))
        return parse_backend_config(p, instr, &common->backend_config);
      break;
    case 's':
      if (hsc_view_equals_text(name, "sharding"))
        return parse_braced_text(p, &common->sharding);
      break;
    case 'f':
      if (hsc_view_equals_text(name, "frontend_attributes"))
        return parse_braced_text(p, &common->frontend_attributes);
      break;
    case 'c':
      if (hsc_view_equals_text(name, "control-predecessors"))
        return parse_control(p, common);
      break;
    default:
      break;
  }
  *out_known = false;
  return false;
}

// The value of an attribute that the table gives the op.
static bool parse_listed(hsc__hlo_parser *p,
                         hsc_instr *instr,
                         const hsc__attr_row *row,
                         hsc_view name,
                         called_list *called) {
  if (row->kind == HSC__VALUE_KEEP) {
    const char *start = p->p;
    hsc_view raw;
    if (name.size == 15 && hsc_view_equals_text(name, "result_accuracy")) {
      if (!hsc__hlo_raw_value(p, &raw) || !check_accuracy(p, raw))
        return false;
      p->p = start;
    }
    return keep_raw(p, instr, name);
  }
  if (row->kind != HSC__VALUE_CALLED)
    return parse_value(p, instr, row);
  return row->place == HSC__CALLED_LIST ? parse_called_list(p, instr, called)
                                        : parse_called(p, instr, called, row->place);
}

// A name that neither the op nor all instructions have: it is kept as it is written, so that newer
// XLA's text passes through, unless it looks like a mistake.
static bool parse_unlisted(hsc__hlo_parser *p,
                           hsc_instr *instr,
                           hsc_instr *outer,
                           const hsc__attr_list *list,
                           uint64_t seen,
                           hsc_view name) {
  if (outer && hsc_view_equals_text(name, "output_to_operand_aliasing"))
    return keep_raw(p, outer, name);
  // it is the thread of the wrapped computation as well
  if (outer && hsc_view_equals_text(name, "async_execution_thread")) {
    const char *value = p->p;
    if (!hsc__hlo_string(p, &instr->parent->execution_thread))
      return false;
    p->p = value;
    return keep_raw(p, outer, name);
  }
  if (instr->op == HSC_OP_COMPARE && hsc_view_equals_text(name, "order"))
    return parse_order(p, instr);
  if (names_computation(name))
    return hsc__hlo_error(p, name.data, "%s: it has no attribute '%.*s'", hsc_op_text(instr->op),
                          (int)name.size, name.data);
  return check_misspelling(p, instr, list, seen, name) && keep_raw(p, instr, name);
}

static bool parse_one(hsc__hlo_parser *p,
                      hsc_instr *instr,
                      hsc_instr *outer,
                      const hsc__attr_list *list,
                      uint64_t *seen,
                      called_list *called) {
  hsc_view name;
  if (!hsc__hlo_word(p, "an attribute", &name))
    return false;
  if (*p->p == '=')
    p->p++;
  else if (!hsc__hlo_expect(p, '=', "after the name of the attribute"))
    return false;
  bool known;
  bool ok = parse_common(p, instr, outer ? outer : instr, name, &known);
  if (known)
    return ok;
  for (int i = 0; i < list->count; i++) {
    const hsc__attr_row *it = hsc__attr_row_at(list->rows[i]);
    if (it->length != name.size || memcmp(it->text, name.data, name.size) != 0)
      continue;
    if (*seen >> i & 1)
      return hsc__hlo_error(p, name.data, "the attribute '%s' is given twice", it->text);
    *seen |= UINT64_C(1) << i;
    return parse_listed(p, instr, it, name, called);
  }
  return parse_unlisted(p, instr, outer, list, *seen, name);
}

bool hsc__hlo_attributes(hsc__hlo_parser *p, hsc_instr *instr, hsc_instr *outer) {
  const hsc__attr_list *list = hsc__attr_list_of(instr->op);
  uint64_t seen = 0;
  called_list called;
  called.items = called.small;
  called.count = 0;
  called.capacity = HSC_COUNT_OF(called.small);
  const char *at = p->p;
  while (hsc__hlo_accept(p, ','))
    if (!parse_one(p, instr, outer, list, &seen, &called))
      return false;
  for (int i = 0; i < list->count; i++)
    if (hsc__attr_row_at(list->rows[i])->need == HSC__NEED_REQUIRED && !(seen >> i & 1))
      return hsc__hlo_error(p, at, "%s: the attribute '%s' is missing", hsc_op_text(instr->op),
                            hsc__attr_row_at(list->rows[i])->text);
  // The first branch is the one for true, not for 0: a list of branches goes with a number.
  bool by_truth = instr->op == HSC_OP_CONDITIONAL && instr->operand_count && instr->operands[0] &&
                  instr->operands[0]->shape.type == HSC_TYPE_PRED;
  for (int i = 0; i < list->count && by_truth; i++) {
    const hsc__attr_row *it = hsc__attr_row_at(list->rows[i]);
    if (it->kind == HSC__VALUE_CALLED && it->place == HSC__CALLED_LIST && (seen >> i & 1))
      return hsc__hlo_error(p, at,
                            "conditional: %s goes with an index of s32; one on a pred has "
                            "true_computation and false_computation",
                            it->text);
  }
  if (called.count > 0) {
    instr->called_count = called.count;
    instr->called =
        hsc_arena_copy(p->arena, called.items, sizeof *called.items * (size_t)called.count);
    if (!instr->called)
      return hsc__hlo_out_of_memory(p);
  }
  return true;
}
