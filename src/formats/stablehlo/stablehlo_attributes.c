// stablehlo_attributes.c - attributes as HLO keeps them: dictionaries as text, and those of other
// dialects (mhlo.*, sdy.*, ...), which any operation may carry.
#include <inttypes.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "formats/hlo_proto/hlo_proto_internal.h"
#include "formats/shardy/sdy_internal.h"
#include "formats/stablehlo/stablehlo_internal.h"

// MLIR's name of an element type: i32 for signed ones, as signless integers come.
static void append_type(hsc_type type, hsc_bytes *out) {
  switch (hsc_type_class_of(type)) {
    case HSC_CLASS_PRED:
      hsc_bytes_append_text(out, "i1");
      break;
    case HSC_CLASS_SIGNED:
      hsc_bytes_printf(out, "i%d", hsc_type_bits(type));
      break;
    case HSC_CLASS_UNSIGNED:
      hsc_bytes_printf(out, "ui%d", hsc_type_bits(type));
      break;
    default:
      hsc_bytes_append_text(out, hsc_type_text(type));
  }
}

static void scalar_type(const hsc__mlir_type *type, hsc_bytes *out) {
  if (!type || (type->kind != HSC_MLIR_ELEMENT && type->kind != HSC_MLIR_INDEX))
    return;
  hsc_bytes_append_text(out, " : ");
  append_type(type->kind == HSC_MLIR_INDEX ? HSC_TYPE_S64 : type->shape.type, out);
}

// array<i64: 1, 2>
static void dense_text(const hsc__mlir_attr *attr, hsc_bytes *out) {
  hsc_literal literal = {.shape = attr->type->shape, .data = (void *)(uintptr_t)attr->data.data};
  int64_t count = hsc_shape_elements(&literal.shape);
  size_t bytes = hsc_type_bytes(literal.shape.type);
  bool splat = attr->data.size == bytes;
  char number[32];
  hsc_bytes_append_text(out, "array<");
  append_type(literal.shape.type, out);
  for (int64_t i = 0; i < count && (splat || (size_t)(i + 1) * bytes <= attr->data.size); i++) {
    hsc_bytes_append_text(out, i ? ", " : ": ");
    int64_t at = splat ? 0 : i;
    if (literal.shape.type == HSC_TYPE_PRED)
      hsc_bytes_append_text(out, hsc_literal_get_int(&literal, at) ? "true" : "false");
    else if (hsc_type_is_float(literal.shape.type)) {
      hsc_format_double(hsc_literal_get_double(&literal, at), number);
      hsc_bytes_append_text(out, number);
    } else
      hsc_bytes_printf(out, "%lld", (long long)hsc_literal_get_int(&literal, at));
  }
  hsc_bytes_append_char(out, '>');
}

// A dictionary as the text that typed calls get: {key = value, ...} in MLIR's spelling of simple
// values.
static void dict_text(const hsc__mlir_attr *attr, hsc_bytes *out, int depth) {
  char number[32];
  if (depth > 8)
    return;
  switch (attr->kind) {
    case HSC_MLIR_BOOL:
      hsc_bytes_append_text(out, attr->integer ? "true" : "false");
      break;
    case HSC_MLIR_INT:
      hsc_bytes_printf(out, "%lld", (long long)attr->integer);
      scalar_type(attr->type, out);
      break;
    case HSC_MLIR_FLOAT:
      hsc_format_double(attr->number, number);
      hsc_bytes_append_text(out, number);
      scalar_type(attr->type, out);
      break;
    case HSC_MLIR_STRING:
      hsc_bytes_append_char(out, '"');
      for (size_t i = 0; i < attr->text.size; i++) {
        unsigned char c = (unsigned char)attr->text.data[i];
        if (c == '"' || c == '\\' || c < 32 || c > 126)
          hsc_bytes_printf(out, "\\%02X", c);
        else
          hsc_bytes_append_char(out, (char)c);
      }
      hsc_bytes_append_char(out, '"');
      break;
    case HSC_MLIR_UNIT:
      hsc_bytes_append_text(out, "true");
      break;
    case HSC_MLIR_DENSE:
      dense_text(attr, out);
      break;
    case HSC_MLIR_UNKNOWN:
      hsc_bytes_append(out, attr->text.data, attr->text.size);
      break;
    case HSC_MLIR_ARRAY:
      if (attr->type) {  // array<i64: 1, 2>, whose numbers carry no type
        hsc_bytes_append_text(out, "array<");
        append_type(attr->type->shape.type, out);
        for (int i = 0; i < attr->count; i++) {
          hsc_bytes_append_text(out, i ? ", " : ": ");
          dict_text(attr->elements[i], out, depth + 1);
        }
        hsc_bytes_append_char(out, '>');
        break;
      }
      hsc_bytes_append_char(out, '[');
      for (int i = 0; i < attr->count; i++) {
        hsc_bytes_append_text(out, i ? ", " : "");
        dict_text(attr->elements[i], out, depth + 1);
      }
      hsc_bytes_append_char(out, ']');
      break;
    case HSC_MLIR_DICT:
      hsc_bytes_append_char(out, '{');
      for (int i = 0; i < attr->count; i++) {
        hsc_bytes_printf(out, "%s%.*s = ", i ? ", " : "", (int)attr->entries[i].name.size,
                         attr->entries[i].name.data);
        dict_text(attr->entries[i].value, out, depth + 1);
      }
      hsc_bytes_append_char(out, '}');
      break;
    default:
      hsc_bytes_append_text(out, "?");
  }
}

void hsc__import_dict_text(const hsc__mlir_attr *attr, hsc_bytes *out) {
  if (attr)
    dict_text(attr, out, 0);
}

// ---- attributes of other dialects ---------------------------------------------------------------

static void append_piece(hsc_bytes *out, const char *text) {
  if (out->size)
    hsc_bytes_append_text(out, ", ");
  hsc_bytes_append_text(out, text);
}

// The value of a frontend attribute: a string as it is, others as MLIR writes them.
static void append_frontend(hsc_bytes *out, hsc_view name, const hsc__mlir_attr *value) {
  hsc_bytes text = {0};
  if (value->kind == HSC_MLIR_STRING)
    hsc_bytes_append(&text, value->text.data, value->text.size);
  else if (value->kind == HSC_MLIR_UNKNOWN)
    hsc_bytes_append(&text, value->text.data, value->text.size);
  else if (value->kind == HSC_MLIR_SYMBOL)
    hsc_bytes_printf(&text, "@%.*s", (int)value->text.size, value->text.data);
  else if (value->kind == HSC_MLIR_UNIT)
    hsc_bytes_append_text(&text, "unit");
  else
    dict_text(value, &text, 0);
  hsc_bytes_printf(out, "%s%.*s=", out->size ? "," : "", (int)name.size, name.data);
  hsc__append_frontend_value(out, hsc_bytes_view(&text));
  hsc_bytes_deinit(&text);
}

static void append_accuracy(hsc_bytes *out, const hsc__mlir_attr *accuracy) {
  char atol[40], rtol[40];
  int64_t mode = accuracy->elements[3]->integer;
  if (mode == 0)
    return;
  hsc_format_double(accuracy->elements[0]->number, atol);
  hsc_format_double(accuracy->elements[1]->number, rtol);
  if (out->size)
    hsc_bytes_append_text(out, ", ");
  if (mode == 1)
    hsc_bytes_append_text(out, "result_accuracy={mode=highest}");
  else
    hsc_bytes_printf(out, "result_accuracy={tolerance={atol=%s,rtol=%s,ulps=%lld}}", atol, rtol,
                     (long long)accuracy->elements[2]->integer);
}

static bool is_xla_name(hsc_view name) {
  for (size_t i = 0; i < name.size; i++) {
    char c = name.data[i];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
          c == '.' || c == '-'))
      return false;
  }
  return name.size > 0;
}

// What goes into an instruction's texts, from the attributes of other dialects.
typedef struct foreign_texts {
  hsc_bytes frontend;  // "a=1,b=2"
  hsc_bytes extra;     // attributes of HLO that are kept as text
  hsc_bytes config;
} foreign_texts;

// The frontend attributes that are in a dictionary of their own.
static void append_frontend_dict(hsc_bytes *out, const hsc__mlir_attr *dict) {
  for (int k = 0; k < dict->count; k++)
    if (is_xla_name(dict->entries[k].name))
      append_frontend(out, dict->entries[k].name, dict->entries[k].value);
}

// A configuration is an object or a string of JSON in HLO; what is neither becomes a string. That
// of a custom call is its own attribute, and is imported with it.
static void take_backend_config(hsc_bytes *config,
                                hsc_view text,
                                hsc_instr *instr,
                                hsc_arena *arena) {
  hsc_bytes_reset(config);
  if (text.data[0] == '{' || text.data[0] == '"')
    hsc_bytes_append(config, text.data, text.size);
  else
    hsc__append_quoted(config, text);
  if (instr->op != HSC_OP_CUSTOM_CALL)
    instr->backend_config = hsc_arena_strndup(arena, hsc_bytes_text(config), config->size);
}

static void import_foreign(const hsc__mlir_named *attr,
                           hsc_instr *instr,
                           hsc_arena *arena,
                           foreign_texts *texts) {
  hsc_view name = attr->name;
  const hsc__mlir_attr *value = attr->value;
  bool text = value->kind == HSC_MLIR_STRING;
  if (hsc_view_equals_text(name, "mhlo.sharding") && text) {
    instr->sharding = hsc_arena_strndup(arena, value->text.data, value->text.size);
  } else if (hsc_view_equals_text(name, "mhlo.frontend_attributes") &&
             value->kind == HSC_MLIR_DICT) {
    append_frontend_dict(&texts->frontend, value);
  } else if (hsc_view_equals_text(name, "mhlo.frontend_attributes_text") && text) {
    instr->frontend_attributes = hsc_arena_strndup(arena, value->text.data, value->text.size);
  } else if (hsc_view_equals_text(name, "mhlo.backend_config") && text && value->text.size) {
    take_backend_config(&texts->config, value->text, instr, arena);
  } else if (hsc_view_equals_text(name, "mhlo.extra_attributes") && text) {
    char *copy = hsc_arena_strndup(arena, value->text.data, value->text.size);
    if (copy)
      append_piece(&texts->extra, copy);
  } else if (!hsc_view_equals_text(name, "mhlo.attributes") &&
             !hsc_view_equals_text(name, "mhlo.backend_config") &&
             !hsc_view_equals_text(name, "mhlo.version") && is_xla_name(name)) {
    append_frontend(&texts->frontend, name, value);
  }
}

hsc_status *hsc__import_attributes(hsc__importer *im, const hsc__mlir_op *op, hsc_instr *instr) {
  foreign_texts texts = {0};
  hsc_arena *arena = im->module->arena;
  const hsc__mlir_attr *accuracy = hsc__mlir_attr_get(op, "result_accuracy");
  if (accuracy && accuracy->kind == HSC_MLIR_ACCURACY)
    append_accuracy(&texts.extra, accuracy);
  else if (!op->has_foreign)
    return NULL;
  for (int i = 0; i < op->attr_count; i++) {
    hsc_view name = op->attrs[i].name;
    if (name.size && memchr(name.data, '.', name.size))
      import_foreign(&op->attrs[i], instr, arena, &texts);
  }
  if (texts.frontend.size)
    instr->frontend_attributes = hsc_arena_printf(arena, "{%s}", hsc_bytes_text(&texts.frontend));
  if (texts.extra.size)
    instr->extra_attributes =
        hsc_arena_strndup(arena, hsc_bytes_text(&texts.extra), texts.extra.size);
  hsc_status *status = hsc_bytes_status(&texts.frontend);
  if (!status)
    status = hsc_bytes_status(&texts.extra);
  if (!status)
    status = hsc_bytes_status(&texts.config);
  hsc_bytes_deinit(&texts.frontend);
  hsc_bytes_deinit(&texts.extra);
  hsc_bytes_deinit(&texts.config);
  return status ? status : hsc_arena_status(arena);
}
