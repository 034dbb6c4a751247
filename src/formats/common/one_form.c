// one_form.c - one form for attributes that can be said in several ways, so that equal programs
// have equal fingerprints, and run alike, whatever they were read from and however it was written.
//
// Numbers and lists that say what is meant anyway go. What the IR keeps as text (groups of devices,
// aliases, shardings, pieces of extra_attributes) gets the spelling that XLA prints: blanks where
// XLA has them and nowhere else, and nothing at all for an empty list, as in the binary form, which
// cannot tell the two apart. What a compiler or a framework wrote for itself (backend_config, the
// values of frontend_attributes) is left alone: it may be compared byte by byte.
#include "base/text/text.h"
#include "formats/common/formats_internal.h"
#include "hlo/print/hlo_attrs.h"

// ---- numbers and words --------------------------------------------------------------------------

void hsc__instr_defaults(hsc_instr *instr) {
  switch (instr->op) {
    case HSC_OP_CONVOLUTION:
      instr->attr.conv.feature_groups = instr->attr.conv.batch_groups = 1;
      break;
    case HSC_OP_TOPK:
      instr->attr.topk.largest = true;
      break;
    default:
      break;
  }
}

static hsc_compare_type implied_compare_type(hsc_type type) {
  switch (hsc_type_class_of(type)) {
    case HSC_CLASS_FLOAT:
    case HSC_CLASS_COMPLEX:
      return HSC_COMPARE_FLOAT;
    case HSC_CLASS_SIGNED:
      return HSC_COMPARE_SIGNED;
    default:
      return HSC_COMPARE_UNSIGNED;
  }
}

static void drop_default_precision(hsc_dims *precision) {
  for (int i = 0; i < precision->count; i++)
    if (precision->v[i] != 0)
      return;
  *precision = (hsc_dims){0};
}

// ---- text ---------------------------------------------------------------------------------------

typedef enum spelling {
  TIGHT,    // {{0,1},{2,3}}
  LOOSE,    // {{replicated}, {manual}}: a blank before what is a list of its own
  ALIASES,  // {{0}: (1, {})}: and after a colon
  SHAPES,   // {(f32[2]{0}, s32[])->f32[2]{0}}: and before a type
  OUTER,    // the values are of others: only what is between them
  AS_IS,
} spelling;

static spelling spelling_of(hsc_view key) {
  static const struct {
    const char *key;
    spelling spelling;
  } keys[] = {{"output_to_operand_aliasing", ALIASES},
              {"outfeed_shape", SHAPES},
              {"frontend_attributes", OUTER},
              {"proto_fields", AS_IS},
              {"domain", AS_IS}};
  for (size_t i = 0; i < HSC_COUNT_OF(keys); i++)
    if (hsc_view_equals_text(key, keys[i].key))
      return keys[i].spelling;
  return LOOSE;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_one_of(char c, const char *list) {
  return c && strchr(list, c);
}

// Whether XLA has a blank between two characters of such a value. `given`: the text has one.
static bool wants_blank(spelling how, char before, char after, bool given) {
  if (how == TIGHT)
    return false;
  if (before == ',')
    return how != OUTER &&
           (is_one_of(after, "{(/") || (how == SHAPES && after >= 'a' && after <= 'z'));
  if (before == ':')
    return how == ALIASES;
  return given && !is_one_of(before, "{[(") && !is_one_of(after, "}]),:");
}

// Where a text is written to, or, with `to` NULL, compared with what it was.
typedef struct spelled {
  char *to;
  size_t size;
  hsc_view was;
  bool same;
} spelled;

static void put(spelled *out, const char *data, size_t size) {
  if (out->to)
    memcpy(out->to + out->size, data, size);
  else
    out->same = out->same && size <= out->was.size - out->size &&
                memcmp(out->was.data + out->size, data, size) == 0;
  out->size += out->same || out->to ? size : 0;
}

static size_t string_end(hsc_view value, size_t at) {
  for (at++; at < value.size && value.data[at] != '"'; at++)
    at += value.data[at] == '\\';
  return at < value.size ? at + 1 : value.size;
}

static void put_spelled(spelled *out, hsc_view value, spelling how) {
  char before = 0;
  int depth = 0;
  for (size_t i = 0; i < value.size;) {
    size_t next = i;
    while (next < value.size && is_blank(value.data[next]))
      next++;
    if (next == value.size)
      return;
    char c = value.data[next];
    if (how == AS_IS || (how == OUTER && depth > 1))
      put(out, value.data + i, next - i);
    else if (before && wants_blank(how, before, c, next > i))
      put(out, " ", 1);
    i = c == '"' ? string_end(value, next) : next + 1;
    put(out, value.data + next, i - next);
    depth += is_one_of(c, "{[(") - is_one_of(c, "}])");
    before = c;
  }
}

static bool is_spelled(hsc_view value, spelling how) {
  spelled out = {.was = value, .same = true};
  put_spelled(&out, value, how);
  return out.same && out.size == value.size;
}

// The value as XLA spells it; the text itself where it is spelled so. NULL without memory.
static const char *respelled(hsc_arena *arena, const char *text, spelling how) {
  hsc_view value = hsc_view_of(text);
  if (is_spelled(value, how))
    return text;
  // a blank more for each character at most
  spelled out = {.to = hsc_arena_alloc(arena, 2 * value.size + 1), .was = value};
  if (!out.to)
    return NULL;
  put_spelled(&out, value, how);
  out.to[out.size] = 0;
  return out.to;
}

static bool is_empty(const char *value) {
  return strcmp(value, "{}") == 0 || strcmp(value, "\"\"") == 0;
}

// NULL where the value is an empty list or string: that says nothing.
static const char *value_form(hsc_arena *arena, const char *text, spelling how) {
  const char *form = text ? respelled(arena, text, how) : NULL;
  return form && !is_empty(form) ? form : NULL;
}

// ---- pieces of extra_attributes -----------------------------------------------------------------

// What is meant without the piece, too.
static bool says_nothing(hsc_view key, const char *value) {
  if (hsc_view_equals_text(key, "feature_group_count") ||
      hsc_view_equals_text(key, "batch_group_count"))
    return strcmp(value, "1") == 0 || strcmp(value, "0") == 0;
  if (hsc_view_equals_text(key, "is_composite"))
    return strcmp(value, "false") == 0;
  return is_empty(value);
}

// A name that no row has is kept as it is: nobody knows what its value means. op HSC_OP_COUNT: the
// module's.
static bool is_known(hsc_op op, hsc_view key) {
  static const char *const others[] = {"async_execution_thread", "frontend_attributes",
                                       "allow_spmd_sharding_propagation_to_parameters",
                                       "allow_spmd_sharding_propagation_to_output"};
  for (size_t i = 0; i < HSC_COUNT_OF(others); i++)
    if (hsc_view_equals_text(key, others[i]))
      return true;
  if (op == HSC_OP_COUNT)
    return false;
  const hsc__attr_list *list = hsc__attr_list_of(op);
  for (int i = 0; i < list->count; i++)
    if (hsc_view_equals_text(key, hsc__attr_row_at(list->rows[i])->text))
      return true;
  return false;
}

static const char *pieces_form(hsc_arena *arena, hsc_op op, const char *pieces) {
  hsc__piece piece;
  const char *out = NULL;
  bool changed = false;
  for (const char *at = pieces; at && hsc__next_piece(&at, &piece);) {
    size_t name = piece.key.size ? piece.key.size + 1 : 0;
    const char *was = hsc_arena_strndup(arena, piece.text.data + name, piece.text.size - name);
    spelling how = is_known(op, piece.key) ? spelling_of(piece.key) : AS_IS;
    const char *value = was ? respelled(arena, was, how) : NULL;
    if (value && how != AS_IS && says_nothing(piece.key, value))
      value = NULL;
    changed |= value != was;
    if (value)
      out = hsc_arena_printf(arena, "%s%s%.*s%s", out ? out : "", out ? ", " : "", (int)name,
                             piece.text.data, value);
  }
  return changed ? out : pieces;
}

// No groups are all devices, no pairs are no message: both print as an empty list.
static const char *groups_form(hsc_arena *arena, const char *text) {
  const char *form = value_form(arena, text, text && *text == 'm' ? AS_IS : TIGHT);
  return form ? form : "{}";
}

static void normalize_devices(hsc_arena *arena, hsc_instr *instr) {
  const char **place = hsc__attr_permutes(instr->op) ? &instr->attr.collective.pairs
                                                     : &instr->attr.collective.replica_groups;
  *place = groups_form(arena, *place);
}

static void drop_empty(const char **text) {
  if (*text && !**text)
    *text = NULL;
}

// The shape that is fed out is the operand's where nothing else is said.
static void give_outfeed_shape(hsc_arena *arena, hsc_instr *instr) {
  const char *before = instr->extra_attributes;
  hsc_bytes shape = {0};
  if (instr->operand_count == 0 || (before && strstr(before, "outfeed_shape=")))
    return;
  hsc_shape_print(&instr->operands[0]->shape, true, &shape);
  instr->extra_attributes = hsc_arena_printf(arena, "outfeed_shape=%s%s%s", hsc_bytes_text(&shape),
                                             before ? ", " : "", before ? before : "");
  hsc_bytes_deinit(&shape);
}

static void normalize_attr(hsc_arena *arena, hsc_instr *instr) {
  switch (instr->op) {
    case HSC_OP_COMPARE:
      if (instr->operand_count > 0 &&
          instr->attr.compare.type == implied_compare_type(instr->operands[0]->shape.type))
        instr->attr.compare.type = HSC_COMPARE_DEFAULT;
      break;
    case HSC_OP_CONVOLUTION:
      drop_default_precision(&instr->attr.conv.precision);
      break;
    case HSC_OP_DOT:
    case HSC_OP_RAGGED_DOT:
    case HSC_OP_SCALED_DOT:
      drop_default_precision(&instr->attr.dot.precision);
      break;
    case HSC_OP_CUSTOM_CALL:
      // the original one is what is not said
      if (instr->attr.custom.api_version == 1)
        instr->attr.custom.api_version = 0;
      if (!instr->attr.custom.target)
        instr->attr.custom.target = "";
      instr->attr.custom.aliasing = value_form(arena, instr->attr.custom.aliasing, ALIASES);
      break;
    case HSC_OP_OUTFEED:
      give_outfeed_shape(arena, instr);
      drop_empty(&instr->attr.custom.target);
      break;
    case HSC_OP_INFEED:
      drop_empty(&instr->attr.custom.target);
      break;
    case HSC_OP_MAP:  // the dimensions of a map are all of them, in order
      if (instr->attr.dims.dims.count == 0 && instr->shape.rank > 0) {
        int64_t all[HSC_MAX_RANK];
        for (int i = 0; i < instr->shape.rank; i++)
          all[i] = i;
        instr->attr.dims.dims = hsc_dims_copy(arena, instr->shape.rank, all);
      }
      break;
    default:
      if (hsc__op_attr_kind(instr->op) == HSC__ATTR_collective)
        normalize_devices(arena, instr);
      break;
  }
}

void hsc__instr_normalize(hsc_arena *arena, hsc_instr *instr) {
  normalize_attr(arena, instr);
  instr->sharding = value_form(arena, instr->sharding, LOOSE);
  instr->frontend_attributes = value_form(arena, instr->frontend_attributes, OUTER);
  instr->extra_attributes = pieces_form(arena, instr->op, instr->extra_attributes);
  if (instr->backend_config && strcmp(instr->backend_config, "\"\"") == 0) {
    instr->backend_config = NULL;
    if (instr->op == HSC_OP_CUSTOM_CALL)
      instr->attr.custom.opaque = NULL;
  }
}

void hsc__module_normalize(hsc_module *module) {
  hsc_arena *arena = module->arena;
  module->extra_attributes = pieces_form(arena, HSC_OP_COUNT, module->extra_attributes);
  if (module->layout_text)
    module->layout_text = respelled(arena, module->layout_text, SHAPES);
  for (int32_t i = 0; i < module->computation_count; i++)
    drop_empty(&module->computations[i]->execution_thread);
}
