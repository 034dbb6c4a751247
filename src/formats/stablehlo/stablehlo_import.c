// stablehlo_import.c - StableHLO modules to HLO: functions, regions, values, control flow,
// metadata.
//
// Functions become computations, called through `call`; several results become a tuple that is
// taken apart again. Branches of `if` and `case`, and the regions of `while`, may use values from
// outside: those become a tuple operand, or more loop state. Other regions (reducers, comparators)
// may use outside constants only, which are copied into them, as in XLA. Composites call their
// decomposition.
// Source: the StableHLO specification; XLA's own translation is xla/hlo/translate/mhlo_to_hlo.
#include <stdlib.h>

#include "formats/common/formats_internal.h"
#include "formats/hlo_proto/hlo_proto_internal.h"
#include "formats/mlir/mlir_op_rows.h"
#include "formats/shardy/sdy_internal.h"
#include "formats/stablehlo/stablehlo_refine.h"

enum { MAX_DEPTH = 200 };

typedef struct function {
  hsc__mlir_op *op;
  hsc_computation *computation;  // when imported
  bool busy;                     // being imported: recursion
  bool is_entry;
} function;

typedef struct value_list {
  hsc__mlir_value **values;
  int32_t count, capacity;
} value_list;

// What regions see of the values around them.
typedef struct region_view {
  value_list passed;     // as elements of the state or of the branch's operand
  value_list constants;  // sizes, in a program with symbolic dimensions: copied into each region
} region_view;

// ---- messages, shapes, attributes ---------------------------------------------------------------

// The operation name that the framework gave: the outermost name of the location.
static hsc_view location_name(const hsc__mlir_attr *location) {
  for (int depth = 0; location && location->kind == HSC_MLIR_LOCATION && depth < 64; depth++) {
    if (location->column == -1)
      return location->text;
    if (!location->count)
      break;
    location = location->elements[0];
  }
  return (hsc_view){"", 0};
}

// The innermost place in a source file; NULL when the location names none.
static const hsc__mlir_attr *location_file(const hsc__mlir_attr *location) {
  for (int depth = 0; location && location->kind == HSC_MLIR_LOCATION && depth < 64; depth++) {
    if (location->column >= 0 && location->text.size)
      return location;
    if (!location->count)
      break;
    location = location->elements[0];
  }
  return NULL;
}

// Text of the input for people: what cannot be printed as \xNN, the rest of what is very long left
// out.
static void append_printable(hsc_bytes *out, hsc_view text) {
  enum { SHOWN = 200 };
  for (size_t i = 0; i < text.size && i < SHOWN; i++) {
    unsigned char c = (unsigned char)text.data[i];
    if (c < 32 || c == 127)
      hsc_bytes_printf(out, "\\x%02x", c);
    else
      hsc_bytes_append_char(out, (char)c);
  }
  if (text.size > SHOWN)
    hsc_bytes_append_text(out, "...");
}

hsc_status *hsc__import_error(hsc_status *status, const hsc__importer *im, const hsc__mlir_op *op) {
  hsc_view name = location_name(op->location);
  const hsc__mlir_attr *file = location_file(op->location);
  hsc_bytes where = {0};
  if (name.size)
    hsc_bytes_append_text(&where, " at ");
  append_printable(&where, name);
  if (file) {
    hsc_bytes_append_text(&where, " (");
    append_printable(&where, file->text);
    hsc_bytes_printf(&where, ":%lld:%lld)", (long long)file->integer, (long long)file->column);
  }
  status =
      hsc_status_note(status, "while: importing %s%s", op->written_name, hsc_bytes_text(&where));
  hsc_bytes_deinit(&where);
  return hsc_status_at(status, im->path, op->line, op->column, NULL);
}

hsc_status *hsc__import_shape(const hsc__importer *im,
                              const hsc__mlir_op *op,
                              const hsc__mlir_type *type,
                              hsc_shape *out_shape) {
  hsc_arena *arena = im->module->arena;
  if (type->is_imported) {
    *out_shape = type->imported;
    return NULL;
  }
  switch (type->kind) {
    case HSC_MLIR_TENSOR:
      if (type->shape.dynamic)
        return HSC_OP_ERR(UNIMPLEMENTED, im, op, "%s: not built yet: dynamic shapes",
                          op->written_name);
      *out_shape = hsc_shape_array(arena, type->shape.type, type->shape.rank, type->shape.dims);
      // readers make types that may be written to
      ((hsc__mlir_type *)type)->imported = *out_shape;
      ((hsc__mlir_type *)type)->is_imported = true;
      return NULL;
    case HSC_MLIR_TOKEN:
      *out_shape = hsc_shape_token();
      return NULL;
    case HSC_MLIR_TUPLE: {
      hsc_shape *elements = HSC_NEW_ARRAY(im->arena, hsc_shape, type->element_count + 1);
      HSC_TRY(hsc_arena_status(im->arena));
      for (int i = 0; i < type->element_count; i++)
        HSC_TRY(hsc__import_shape(im, op, type->elements[i], &elements[i]));
      *out_shape = hsc_shape_tuple(arena, type->element_count, elements);
      return NULL;
    }
    case HSC_MLIR_UNRANKED:
      return HSC_OP_ERR(UNIMPLEMENTED, im, op, "%s: not built yet: tensors without a rank",
                        op->written_name);
    default:
      return HSC_OP_ERR(UNIMPLEMENTED, im, op, "%s: a type that HLO does not have: %s",
                        op->written_name, type->text ? type->text : "not a tensor");
  }
}

hsc_status *hsc__import_result_shape(const hsc__importer *im,
                                     const hsc__mlir_op *op,
                                     hsc_shape *out_shape) {
  if (op->result_count == 1)
    return hsc__import_shape(im, op, op->results[0].type, out_shape);
  hsc_shape *elements = HSC_NEW_ARRAY(im->arena, hsc_shape, op->result_count + 1);
  HSC_TRY(hsc_arena_status(im->arena));
  for (int i = 0; i < op->result_count; i++)
    HSC_TRY(hsc__import_shape(im, op, op->results[i].type, &elements[i]));
  *out_shape = hsc_shape_tuple(im->module->arena, op->result_count, elements);
  return NULL;
}

static int64_t dense_int(const hsc__mlir_attr *attr, int64_t index) {
  hsc_type type = attr->type->shape.type;
  size_t bytes = hsc_type_bytes(type);
  uint64_t value = 0;
  memcpy(&value, attr->data.data + (attr->data.size == bytes ? 0 : (size_t)index * bytes),
         bytes < 8 ? bytes : 8);
  bool is_signed = hsc_type_class_of(type) == HSC_CLASS_SIGNED;
  return is_signed && bytes < 8 ? (int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes)
                                : (int64_t)value;
}

hsc_status *hsc__import_dims(const hsc__importer *im,
                             const hsc__mlir_op *op,
                             const char *name,
                             hsc_dims *out_dims) {
  const hsc__mlir_attr *attr = hsc__mlir_attr_get(op, name);
  *out_dims = (hsc_dims){0};
  if (!attr)
    return NULL;
  bool is_array = attr->kind == HSC_MLIR_ARRAY;
  bool is_dense = attr->kind == HSC_MLIR_DENSE;
  hsc_type_class class = is_dense ? hsc_type_class_of(attr->type->shape.type) : HSC_CLASS_SIGNED;
  if (!is_array && !(is_dense && (class == HSC_CLASS_SIGNED || class == HSC_CLASS_UNSIGNED ||
                                  class == HSC_CLASS_PRED)))
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: attribute %s is no list of integers",
                      op->written_name, name);
  // After the kind was looked at: what was made of a location lies in the same place.
  if (attr->is_imported) {
    *out_dims = attr->imported.dims;
    return NULL;
  }
  int64_t count = is_array ? attr->count : hsc_shape_elements(&attr->type->shape);
  if (count > 1 << 20)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%s: attribute %s has %lld elements",
                      op->written_name, name, (long long)count);
  int64_t *values = HSC_NEW_ARRAY(im->module->arena, int64_t, count);
  if (count && !values)
    return hsc_status_out_of_memory();
  for (int64_t i = 0; i < count; i++)
    values[i] = is_array ? attr->elements[i]->integer : dense_int(attr, i);
  *out_dims = (hsc_dims){.count = (int32_t)count, .v = values};
  ((hsc__mlir_attr *)attr)->imported.dims = *out_dims;
  ((hsc__mlir_attr *)attr)->is_imported = true;
  return NULL;
}

int64_t hsc__import_int(const hsc__mlir_op *op, const char *name, int64_t missing) {
  const hsc__mlir_attr *attr = hsc__mlir_attr_get(op, name);
  if (!attr)
    return missing;
  switch (attr->kind) {
    case HSC_MLIR_BOOL:
    case HSC_MLIR_INT:
    case HSC_MLIR_ENUM:
      return attr->integer;
    case HSC_MLIR_UNIT:
      return 1;
    case HSC_MLIR_DENSE:
      return hsc_shape_elements(&attr->type->shape) == 1 &&
                     !hsc_type_is_float(attr->type->shape.type)
                 ? dense_int(attr, 0)
                 : missing;
    default:
      return missing;
  }
}

hsc_view hsc__import_text(const hsc__mlir_op *op, const char *name) {
  const hsc__mlir_attr *attr = hsc__mlir_attr_get(op, name);
  return attr && (attr->kind == HSC_MLIR_STRING || attr->kind == HSC_MLIR_SYMBOL)
             ? attr->text
             : (hsc_view){"", 0};
}

// The innermost file of a location and the outermost name, once per location.
static const hsc_metadata *metadata_of(hsc__importer *im, const hsc__mlir_attr *location) {
  if (!location || location->kind != HSC_MLIR_LOCATION)
    return NULL;
  if (location->is_imported)
    return location->imported.metadata;
  hsc__mlir_attr *known = (hsc__mlir_attr *)location;
  hsc_metadata made = {0};
  hsc_view name = location_name(location);
  if (name.size)
    made.op_name = hsc_arena_strndup(im->module->arena, name.data, name.size);
  const hsc__mlir_attr *file = location_file(location);
  if (file) {
    made.source_file = hsc_arena_strndup(im->module->arena, file->text.data, file->text.size);
    made.source_line = (int32_t)file->integer;
  }
  known->is_imported = true;
  known->imported.metadata = made.op_name || made.source_file
                                 ? hsc_arena_copy(im->module->arena, &made, sizeof made)
                                 : NULL;
  return known->imported.metadata;
}

void hsc__import_set_results(hsc_builder *b, hsc__mlir_op *op, hsc_instr *value) {
  if (op->result_count == 1) {
    op->results[0].instr = value;
    return;
  }
  for (int i = 0; i < op->result_count; i++)
    op->results[i].instr = hsc_build_get_tuple_element(b, value, i);
}

// ---- values from outside of a region ------------------------------------------------------------

static bool is_inside(const hsc__mlir_block *block, const hsc__mlir_block *outer) {
  for (int depth = 0; block && depth < 2 * MAX_DEPTH; depth++) {
    if (block == outer)
      return true;
    block = block->parent ? block->parent->block : NULL;
  }
  return false;
}

static bool add_once(value_list *list, hsc__mlir_value *value, hsc_arena *arena) {
  for (int i = 0; i < list->count; i++)
    if (list->values[i] == value)
      return true;
  if (!HSC_GROW_IN(arena, list->values, list->count, list->capacity))
    return false;
  list->values[list->count++] = value;
  return true;
}

// Values that `block` and what is nested in it use, but that are defined outside of `region`.
static hsc_status *find_captures(hsc__importer *im,
                                 const hsc__mlir_block *block,
                                 const hsc__mlir_block *region,
                                 value_list *out,
                                 int depth) {
  if (depth > MAX_DEPTH)
    return HSC_ERR(INVALID_ARGUMENT, "regions are nested too deeply");
  for (int i = 0; i < block->op_count; i++) {
    const hsc__mlir_op *op = block->ops[i];
    for (int k = 0; k < op->operand_count; k++)
      if (!is_inside(op->operands[k]->block, region) && !add_once(out, op->operands[k], im->arena))
        return hsc_status_out_of_memory();
    for (int r = 0; r < op->region_count; r++)
      if (op->regions[r])
        HSC_TRY(find_captures(im, op->regions[r], region, out, depth + 1));
  }
  return NULL;
}

// ---- blocks -------------------------------------------------------------------------------------

static int row_of(hsc__importer *im, const hsc__mlir_op *op);
static hsc_status *import_op(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op, int row);

// Attributes in their one form, as every reader leaves them; while the instructions are in the
// cache.
static void normalize_from(const hsc__importer *im, hsc_instr *first) {
  for (hsc_instr *instr = first; instr; instr = instr->next)
    hsc__instr_normalize(im->module->arena, instr);
}

// All operations but the terminator, whose operands are the results.
hsc_status *hsc__import_block(hsc__importer *im,
                              hsc_builder *b,
                              hsc__mlir_block *block,
                              hsc__mlir_op **out_terminator) {
  *out_terminator = NULL;
  for (int i = 0; i < block->op_count; i++) {
    hsc__mlir_op *op = block->ops[i];
    int row = row_of(im, op);
    if (row >= 0 && !strcmp(hsc__mlir_op_rows[row].name, "return")) {
      *out_terminator = op;
      break;
    }
    b->metadata = metadata_of(im, op->location);
    hsc_instr *last = b->computation->last;
    HSC_TRY(import_op(im, b, op, row));
    normalize_from(im, last ? last->next : b->computation->first);
  }
  b->metadata = NULL;
  if (*out_terminator) {
    for (int i = 0; i < (*out_terminator)->operand_count; i++)
      if (!(*out_terminator)->operands[i]->instr)
        return HSC_OP_ERR(INVALID_ARGUMENT, im, *out_terminator, "result %d is not visible here",
                          i);
  }
  return NULL;
}

// The results as one value: the value itself, or a tuple.
static hsc_instr *join(hsc__importer *im,
                       hsc_builder *b,
                       const hsc__mlir_op *terminator,
                       bool always_tuple,
                       hsc_instr *const *more,
                       int more_count) {
  int count = terminator ? terminator->operand_count : 0;
  if (count == 1 && !always_tuple)
    return terminator->operands[0]->instr;
  hsc_instr **values = HSC_NEW_ARRAY(im->arena, hsc_instr *, count + more_count + 1);
  if (!values)
    return NULL;
  for (int i = 0; i < count; i++)
    values[i] = terminator->operands[i]->instr;
  for (int i = 0; i < more_count; i++)
    values[count + i] = more[i];
  return hsc_build_tuple(b, count + more_count, values);
}

// What the values meant outside, while a region that sees them under other instructions is
// imported.
typedef struct saved {
  hsc_instr **instrs;
  int count;
} saved;

static hsc_status *save(hsc__importer *im, const value_list *list, saved *out) {
  out->instrs = HSC_NEW_ARRAY(im->arena, hsc_instr *, list->count + 1);
  HSC_TRY(hsc_arena_status(im->arena));
  out->count = list->count;
  for (int i = 0; i < list->count; i++)
    out->instrs[i] = list->values[i]->instr;
  return NULL;
}

static void restore(const value_list *list, const saved *from) {
  for (int i = 0; i < from->count; i++)
    list->values[i]->instr = from->instrs[i];
}

hsc_status *hsc__import_region(hsc__importer *im,
                               const hsc__mlir_op *op,
                               int region,
                               const char *name,
                               hsc_computation **out_computation) {
  hsc__mlir_block *block = op->regions[region];
  if (!block)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "region %d is empty", region);
  if (++im->depth > MAX_DEPTH)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "regions are nested too deeply");
  value_list captures = {0};
  saved outside = {0};
  HSC_TRY(find_captures(im, block, block, &captures, 0));
  HSC_TRY(save(im, &captures, &outside));
  hsc_builder b;
  hsc_builder_init(&b, im->module, name);
  for (int i = 0; i < block->argument_count; i++) {
    hsc_shape shape;
    char text[32];
    HSC_TRY(hsc__import_shape(im, op, block->arguments[i].type, &shape));
    snprintf(text, sizeof text, "Arg_%d", i);
    block->arguments[i].instr = hsc_build_parameter(&b, i, shape, text);
  }
  for (int i = 0; i < captures.count; i++) {
    hsc_instr *outer = outside.instrs[i];
    if (!outer || outer->op != HSC_OP_CONSTANT)
      return HSC_OP_ERR(UNIMPLEMENTED, im, op,
                        "%s: its computation uses a value from outside that is no constant",
                        op->written_name);
    captures.values[i]->instr = hsc_build_clone(&b, outer, NULL);
  }
  hsc__mlir_op *terminator;
  hsc_status *status = hsc__import_block(im, &b, block, &terminator);
  hsc_instr *root = status ? NULL : join(im, &b, terminator, false, NULL, 0);
  hsc_status *built = hsc_builder_finish(&b, root, out_computation);
  restore(&captures, &outside);
  im->depth--;
  if (status) {
    hsc_status_free(built);
    return status;
  }
  return built ? hsc__import_error(built, im, op) : NULL;
}

// ---- control flow -------------------------------------------------------------------------------

// Values from outside of all regions of an operation. Sizes stay constants in the regions, where
// shapes are made of them.
static hsc_status *find_all_captures(hsc__importer *im, const hsc__mlir_op *op, region_view *out) {
  value_list found = {0};
  for (int i = 0; i < op->region_count; i++)
    if (op->regions[i])
      HSC_TRY(find_captures(im, op->regions[i], op->regions[i], &found, 0));
  for (int i = 0; i < found.count; i++) {
    const hsc_instr *outer = found.values[i]->instr;
    bool size = im->refine && outer && outer->op == HSC_OP_CONSTANT;
    if (!add_once(size ? &out->constants : &out->passed, found.values[i], im->arena))
      return hsc_status_out_of_memory();
  }
  return NULL;
}

// The constants in the computation that `b` builds, until they are restored.
static void copy_constants(hsc_builder *b, const value_list *constants) {
  for (int i = 0; i < constants->count; i++)
    constants->values[i]->instr = hsc_build_clone(b, constants->values[i]->instr, NULL);
}

// A branch: one parameter, the tuple of captured values.
static hsc_status *import_branch(hsc__importer *im,
                                 hsc__mlir_op *op,
                                 int region,
                                 const region_view *seen,
                                 hsc_shape shape,
                                 hsc_computation **out_computation) {
  hsc__mlir_block *block = op->regions[region];
  if (!block)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "branch %d is empty", region);
  saved outside = {0};
  saved constants = {0};
  HSC_TRY(save(im, &seen->passed, &outside));
  HSC_TRY(save(im, &seen->constants, &constants));
  hsc_builder b;
  hsc_builder_init(&b, im->module, "branch");
  hsc_instr *parameter = hsc_build_parameter(&b, 0, shape, "captured");
  for (int i = 0; i < seen->passed.count; i++)
    seen->passed.values[i]->instr = hsc_build_get_tuple_element(&b, parameter, i);
  copy_constants(&b, &seen->constants);
  hsc__mlir_op *terminator;
  hsc_status *status = hsc__import_block(im, &b, block, &terminator);
  hsc_instr *root = status ? NULL : join(im, &b, terminator, false, NULL, 0);
  hsc_status *built = hsc_builder_finish(&b, root, out_computation);
  restore(&seen->passed, &outside);
  restore(&seen->constants, &constants);
  if (status) {
    hsc_status_free(built);
    return status;
  }
  return built ? hsc__import_error(built, im, op) : NULL;
}

static hsc_status *import_conditional(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op) {
  region_view seen = {0};
  HSC_TRY(find_all_captures(im, op, &seen));
  hsc_instr **values = HSC_NEW_ARRAY(im->arena, hsc_instr *, seen.passed.count + 1);
  hsc_instr **operands = HSC_NEW_ARRAY(im->arena, hsc_instr *, op->region_count + 1);
  hsc_computation **branches = HSC_NEW_ARRAY(im->arena, hsc_computation *, op->region_count + 1);
  if (!values || !operands || !branches)
    return hsc_status_out_of_memory();
  if (op->operand_count != 1 || op->region_count < 1)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%d operands and %d branches", op->operand_count,
                      op->region_count);
  for (int i = 0; i < seen.passed.count; i++)
    values[i] = seen.passed.values[i]->instr;
  hsc_instr *captured = hsc_build_tuple(b, seen.passed.count, values);
  operands[0] = op->operands[0]->instr;
  for (int i = 0; i < op->region_count; i++) {
    operands[i + 1] = captured;
    HSC_TRY(import_branch(im, op, i, &seen, captured->shape, &branches[i]));
  }
  hsc_shape shape;
  if (im->refine && hsc__refine_is_dynamic(op))
    shape = branches[0]->root->shape;
  else
    HSC_TRY(hsc__import_result_shape(im, op, &shape));
  // `if` gives its first region for true; so does HLO's conditional by a predicate.
  hsc_instr *conditional = hsc_build_calls(b, HSC_OP_CONDITIONAL, shape, op->region_count + 1,
                                           operands, op->region_count, branches);
  HSC_TRY(hsc__import_attributes(im, op, conditional));
  hsc__import_set_results(b, op, conditional);
  return NULL;
}

static hsc_status *import_loop_region(hsc__importer *im,
                                      hsc__mlir_op *op,
                                      int region,
                                      const region_view *seen,
                                      hsc_shape state,
                                      hsc_computation **out_computation) {
  hsc__mlir_block *block = op->regions[region];
  if (!block || block->argument_count != op->operand_count)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "its regions do not take the loop's state");
  saved outside = {0};
  saved constants = {0};
  HSC_TRY(save(im, &seen->passed, &outside));
  HSC_TRY(save(im, &seen->constants, &constants));
  hsc_builder b;
  hsc_builder_init(&b, im->module, region == 0 ? "cond" : "body");
  hsc_instr *parameter = hsc_build_parameter(&b, 0, state, "arg_tuple");
  for (int i = 0; i < block->argument_count; i++)
    block->arguments[i].instr = hsc_build_get_tuple_element(&b, parameter, i);
  hsc_instr **passed = HSC_NEW_ARRAY(im->arena, hsc_instr *, seen->passed.count + 1);
  HSC_TRY(hsc_arena_status(im->arena));
  for (int i = 0; i < seen->passed.count; i++)
    passed[i] = seen->passed.values[i]->instr =
        hsc_build_get_tuple_element(&b, parameter, op->operand_count + i);
  copy_constants(&b, &seen->constants);
  hsc__mlir_op *terminator;
  hsc_status *status = hsc__import_block(im, &b, block, &terminator);
  hsc_instr *root;
  if (status)
    root = NULL;
  else if (region == 0)
    root = join(im, &b, terminator, false, NULL, 0);
  else
    root = join(im, &b, terminator, true, passed, seen->passed.count);
  hsc_status *built = hsc_builder_finish(&b, root, out_computation);
  restore(&seen->passed, &outside);
  restore(&seen->constants, &constants);
  if (status) {
    hsc_status_free(built);
    return status;
  }
  return built ? hsc__import_error(built, im, op) : NULL;
}

static hsc_status *import_while(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op) {
  region_view seen = {0};
  if (op->region_count != 2)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "%d regions instead of condition and body",
                      op->region_count);
  HSC_TRY(find_all_captures(im, op, &seen));
  int count = op->operand_count + seen.passed.count;
  hsc_instr **values = HSC_NEW_ARRAY(im->arena, hsc_instr *, count + 1);
  HSC_TRY(hsc_arena_status(im->arena));
  for (int i = 0; i < op->operand_count; i++)
    values[i] = op->operands[i]->instr;
  for (int i = 0; i < seen.passed.count; i++)
    values[op->operand_count + i] = seen.passed.values[i]->instr;
  hsc_instr *init = hsc_build_tuple(b, count, values);
  hsc_computation *called[2];
  for (int i = 0; i < 2; i++)
    HSC_TRY(import_loop_region(im, op, i, &seen, init->shape, &called[i]));
  hsc_instr *loop = hsc_build_calls(b, HSC_OP_WHILE, init->shape, 1, &init, 2, called);
  HSC_TRY(hsc__import_attributes(im, op, loop));
  for (int i = 0; i < op->result_count; i++)
    op->results[i].instr = hsc_build_get_tuple_element(b, loop, i);
  return NULL;
}

static hsc_status *import_function(hsc__importer *im, function *f);

// A composite is a call that says so, as XLA writes it.
static hsc_status *composite_attributes(hsc__importer *im,
                                        const hsc__mlir_op *op,
                                        hsc_instr *call) {
  hsc_view name = hsc__import_text(op, "name");
  hsc_arena *arena = im->module->arena;
  const char *before = call->frontend_attributes;
  int inner = before ? (int)strlen(before) - 2 : 0;
  hsc_bytes dict = {0};
  hsc_bytes text = {0};
  hsc__import_dict_text(hsc__mlir_attr_get(op, "composite_attributes"), &dict);
  hsc_bytes_append_text(&text, "{composite.attributes=");
  hsc__append_frontend_value(&text, dict.size ? hsc_bytes_view(&dict) : HSC_VIEW("{}"));
  hsc_bytes_append_text(&text, ",composite.name=");
  hsc__append_quoted(&text, name);
  hsc_bytes_printf(&text, ",composite.version=\"%lld\"",
                   (long long)hsc__import_int(op, "version", 0));
  if (inner > 0)
    hsc_bytes_printf(&text, ",%.*s", inner, before + 1);
  hsc_bytes_append_char(&text, '}');
  call->frontend_attributes = hsc_arena_strndup(arena, hsc_bytes_text(&text), text.size);
  call->extra_attributes = call->extra_attributes ? hsc_arena_printf(arena, "%s, is_composite=true",
                                                                     call->extra_attributes)
                                                  : "is_composite=true";
  hsc_status *status = hsc_bytes_status(&dict);
  if (!status)
    status = hsc_bytes_status(&text);
  hsc_bytes_deinit(&dict);
  hsc_bytes_deinit(&text);
  return status ? status : hsc_arena_status(arena);
}

const hsc__mlir_op *hsc__import_function_op(const hsc__importer *im, hsc_view name) {
  const function *f = hsc_map_get(im->functions, name);
  return f ? f->op : NULL;
}

hsc_status *hsc__import_function_by_name(hsc__importer *im,
                                         const hsc__mlir_op *op,
                                         hsc_view name,
                                         hsc_computation **out_computation) {
  function *f = hsc_map_get(im->functions, name);
  if (!f)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "there is no function @%.*s", (int)name.size,
                      name.data);
  HSC_TRY(import_function(im, f));
  *out_computation = f->computation;
  return NULL;
}

// In a program for several partitions calls are in line, so that what is known of parts goes
// through them; in one with symbolic dimensions too, because each call may be of other sizes.
static hsc_status *import_inline(hsc__importer *im,
                                 hsc_builder *b,
                                 hsc__mlir_op *op,
                                 hsc_view name) {
  function *f = hsc_map_get(im->functions, name);
  hsc__mlir_block *block = f && f->op->region_count ? f->op->regions[0] : NULL;
  if (!block || block->argument_count != op->operand_count)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "there is no function @%.*s of %d arguments",
                      (int)name.size, name.data, op->operand_count);
  if (f->busy)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "a function calls itself");
  im->inlined += block->op_count + 1;
  if (im->inlined > 1 << 22)
    return HSC_OP_ERR(RESOURCE_EXHAUSTED, im, op,
                      "more than %d operations in calls of a program for several partitions or "
                      "with symbolic dimensions",
                      1 << 22);
  f->busy = true;
  for (int i = 0; i < op->operand_count; i++)
    block->arguments[i].instr = op->operands[i]->instr;
  hsc__mlir_op *terminator;
  HSC_TRY(hsc__import_block(im, b, block, &terminator));
  f->busy = false;
  if (!terminator || terminator->operand_count != op->result_count)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "@%.*s gives other results", (int)name.size,
                      name.data);
  for (int i = 0; i < op->result_count; i++)
    op->results[i].instr = terminator->operands[i]->instr;
  return NULL;
}

static hsc_status *import_call(hsc__importer *im,
                               hsc_builder *b,
                               hsc__mlir_op *op,
                               const char *attribute) {
  if (im->sdy || im->refine)
    return import_inline(im, b, op, hsc__import_text(op, attribute));
  hsc_computation *computation;
  HSC_TRY(hsc__import_function_by_name(im, op, hsc__import_text(op, attribute), &computation));
  hsc_instr **operands = HSC_NEW_ARRAY(im->arena, hsc_instr *, op->operand_count + 1);
  HSC_TRY(hsc_arena_status(im->arena));
  for (int i = 0; i < op->operand_count; i++)
    operands[i] = op->operands[i]->instr;
  hsc_instr *call = hsc_build_call(b, computation, op->operand_count, operands);
  HSC_TRY(hsc__import_attributes(im, op, call));
  hsc_shape results;
  HSC_TRY(hsc__import_result_shape(im, op, &results));
  if (!hsc_shape_equal(&results, &computation->root->shape))
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op,
                      "its results are not those of the function that it calls");
  if (!strcmp(op->name, "composite"))
    HSC_TRY(composite_attributes(im, op, call));
  hsc__import_set_results(b, op, call);
  return NULL;
}

// What is started is done at once, and the future is its results.
static hsc_status *import_async_start(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op) {
  hsc__mlir_block *block = op->region_count == 1 ? op->regions[0] : NULL;
  if (!block || block->argument_count != op->operand_count || op->result_count != 1)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "its operands and region do not fit each other");
  for (int i = 0; i < op->operand_count; i++)
    block->arguments[i].instr = op->operands[i]->instr;
  hsc__mlir_op *terminator;
  HSC_TRY(hsc__import_block(im, b, block, &terminator));
  if (!terminator || !terminator->operand_count)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "its region gives nothing");
  op->results[0].instr = join(im, b, terminator, false, NULL, 0);
  return op->results[0].instr ? NULL : hsc_status_out_of_memory();
}

static hsc_status *import_async_done(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op) {
  if (op->operand_count != 1)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "it has %d operands; 1 is expected",
                      op->operand_count);
  hsc_shape results;
  HSC_TRY(hsc__import_result_shape(im, op, &results));
  if (!hsc_shape_equal(&results, &op->operands[0]->instr->shape))
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "its results are not those of what was started");
  hsc__import_set_results(b, op, op->operands[0]->instr);
  return NULL;
}

// ---- by rows ------------------------------------------------------------------------------------

// How an operation is imported; `row` is its number in stablehlo_ops.def, -1 = none.
typedef hsc_status *flow_function(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op, int row);

static hsc_status *flow_none(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op, int row) {
  return hsc__import_plain_op(im, b, op, row);
}

static hsc_status *flow_call(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op, int row) {
  (void)row;
  return import_call(im, b, op, "callee");
}

static hsc_status *flow_composite(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op, int row) {
  (void)row;
  return hsc__import_chlo_composite(b, op) ? NULL : import_call(im, b, op, "decomposition");
}

static hsc_status *flow_conditional(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op, int row) {
  (void)row;
  return import_conditional(im, b, op);
}

static hsc_status *flow_while(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op, int row) {
  (void)row;
  return import_while(im, b, op);
}

static hsc_status *flow_manual(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op, int row) {
  (void)row;
  return hsc__sdy_manual_computation(im, b, op);
}

static hsc_status *flow_constraint(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op, int row) {
  if (op->operand_count != 1 || op->result_count != 1)
    return hsc__import_plain_op(im, b, op, row);
  return hsc__sdy_constraint(im, b, op);
}

static hsc_status *flow_group(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op, int row) {
  (void)row;
  return hsc__sdy_group(im, b, op);
}

static hsc_status *flow_async_start(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op, int row) {
  (void)row;
  return import_async_start(im, b, op);
}

static hsc_status *flow_async_done(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op, int row) {
  (void)row;
  return import_async_done(im, b, op);
}

// A cast between spellings of one type.
static hsc_status *flow_identity(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op, int row) {
  if (op->operand_count != op->result_count)
    return hsc__import_plain_op(im, b, op, row);
  for (int i = 0; i < op->result_count; i++)
    op->results[i].instr = op->operands[i]->instr;
  return NULL;
}

static flow_function *const flows[] = {
#define SHLO(name, hlo, import, export, check, form, properties) hsc__import_plain_op,
#define OTHER(name, import, check, form, properties) flow_##import,
#include "formats/mlir/stablehlo_ops.def"
};

// The number of the operation's row, looked up once for each copy of its name.
static int row_of(hsc__importer *im, const hsc__mlir_op *op) {
  int slot = (int)(((uintptr_t)op->name >> 4) % HSC__KNOWN_NAMES);
  if (im->known[slot].name != op->name) {
    im->known[slot].name = op->name;
    im->known[slot].row = hsc__mlir_op_row_number(op->name);
  }
  return im->known[slot].row;
}

static hsc_status *import_op(hsc__importer *im, hsc_builder *b, hsc__mlir_op *op, int row) {
  for (int i = 0; i < op->operand_count; i++)
    if (!op->operands[i]->instr)
      return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "operand %d is not visible here", i);
  if (++im->depth > MAX_DEPTH)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, op, "operations are nested too deeply");
  HSC_TRY(hsc__import_check(im, op, row));
  flow_function *import = row >= 0 ? flows[row] : hsc__import_plain_op;
  hsc_status *status = import(im, b, op, row);
  im->depth--;
  if (!status && im->refine)
    status = hsc__refine_fold(im, b, op);
  if (status || !b->status)
    return status;
  status = b->status;  // the builder refused a shape: it is this operation's fault
  b->status = NULL;
  return hsc__import_error(status, im, op);
}

// Names in HLO text are letters, digits, _ . and -; others become _.
static char *hlo_name(hsc_arena *arena, hsc_view name, const char *missing) {
  if (!name.size)
    name = hsc_view_of(missing);
  char *text = hsc_arena_strndup(arena, name.data, name.size < 200 ? name.size : 200);
  for (char *c = text; c && *c; c++) {
    bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
    bool digit = *c >= '0' && *c <= '9';
    if (!letter && (c == text || (!digit && *c != '.' && *c != '-')))
      *c = '_';
  }
  return text;
}

// ---- functions and the module -------------------------------------------------------------------

// The next values of a list as a value of this shape, and the other way: a parameter's leaves.
static hsc_instr *gather_leaves(hsc_builder *b,
                                hsc__importer *im,
                                const hsc_shape *shape,
                                hsc_instr *const *values,
                                int count,
                                int *next) {
  if (!hsc_shape_is_tuple(shape))
    return *next < count ? values[(*next)++] : NULL;
  hsc_instr **elements = HSC_NEW_ARRAY(im->arena, hsc_instr *, shape->element_count + 1);
  for (int i = 0; elements && i < shape->element_count; i++)
    if (!(elements[i] = gather_leaves(b, im, &shape->elements[i], values, count, next)))
      return NULL;
  return elements ? hsc_build_tuple(b, shape->element_count, elements) : NULL;
}

static void scatter_leaves(hsc_builder *b, hsc_instr *value, hsc__mlir_block *block, int *next) {
  if (!hsc_shape_is_tuple(&value->shape)) {
    if (*next < block->argument_count)
      block->arguments[*next].instr = value;
    ++*next;
    return;
  }
  for (int i = 0; i < value->shape.element_count; i++)
    scatter_leaves(b, hsc_build_get_tuple_element(b, value, i), block, next);
}

// The entry's shapes in HLO, when an attribute of the module says them; *out_result stays INVALID
// without.
static hsc_status *entry_shapes(hsc__importer *im,
                                hsc_view name,
                                int *out_count,
                                hsc_shape **out_parameters,
                                hsc_shape *out_result) {
  hsc_view text = hsc__import_text(im->top, HSC__ENTRY_SHAPES);
  *out_result = (hsc_shape){.type = HSC_TYPE_INVALID};
  if (!text.size || !hsc_view_equals_text(name, "main"))
    return NULL;
  return hsc_hlo_text_parse_entry_layout(im->module->arena, text, out_count, out_parameters,
                                         out_result);
}

static hsc_status *check_leaves(const hsc__importer *im,
                                const function *f,
                                const hsc_instr *given,
                                const hsc__mlir_value *argument) {
  hsc_shape shape;
  HSC_TRY(hsc__import_shape(im, f->op, argument->type, &shape));
  if (given && hsc_shape_equal(&given->shape, &shape))
    return NULL;
  return HSC_OP_ERR(INVALID_ARGUMENT, im, f->op,
                    "the arguments are not the leaves of " HSC__ENTRY_SHAPES);
}

// The results of the entry of a program for several partitions: what one partition gives, and XLA's
// text of how the whole is cut.
static hsc_status *cut_results(hsc__importer *im,
                               hsc_builder *b,
                               const function *f,
                               hsc__mlir_op *terminator,
                               const char **out_sharding) {
  hsc_bytes text = {0};
  int count = terminator ? terminator->operand_count : 0;
  hsc_status *status = NULL;
  if (count != 1)
    hsc_bytes_append_char(&text, '{');
  if (count == 0)
    hsc_bytes_append_text(&text, "{replicated}");  // XLA gives an empty tuple one
  for (int i = 0; i < count && !status; i++) {
    const char *one = NULL;
    // A value that is given twice is cut twice: each result has a value of its own.
    hsc__mlir_value *value = HSC_NEW(im->arena, hsc__mlir_value);
    if (!value) {
      status = hsc_status_out_of_memory();
      break;
    }
    *value = *terminator->operands[i];
    terminator->operands[i] = value;
    status = hsc__sdy_result(im, b, f->op, i, &value->instr, &one);
    hsc_bytes_printf(&text, "%s%s", i ? ", " : "", one ? one : "{replicated}");
  }
  if (count != 1)
    hsc_bytes_append_char(&text, '}');
  if (!status)
    status = hsc_bytes_status(&text);
  if (!status)
    *out_sharding = hsc_arena_strdup(im->module->arena, text.data);
  hsc_bytes_deinit(&text);
  return status;
}

// What an entry's attribute says of its parameters and result: it was one of HLO, and its tuples
// became many arguments.
typedef struct entry_shape {
  int count;
  hsc_shape *parameters;  // [count]
  hsc_shape result;
} entry_shape;

static bool is_given(const entry_shape *entry) {
  return entry->result.type != HSC_TYPE_INVALID;
}

static hsc_status *import_arguments(
    hsc__importer *im, hsc_builder *b, function *f, hsc__mlir_block *block, bool parted) {
  for (int i = 0; i < block->argument_count; i++) {
    hsc_shape shape;
    char argument[32];
    if (im->refine && f->is_entry)
      HSC_TRY(hsc__refine_argument(im, f->op, i, &shape));
    else
      HSC_TRY(hsc__import_shape(im, f->op, block->arguments[i].type, &shape));
    snprintf(argument, sizeof argument, "Arg_%d", i);
    if (parted)
      HSC_TRY(hsc__sdy_argument(im, b, f->op, i, shape, argument, &block->arguments[i].instr));
    else
      block->arguments[i].instr = hsc_build_parameter(b, i, shape, argument);
  }
  return NULL;
}

// The block's arguments are the leaves of the parameters.
static hsc_status *import_shaped_arguments(hsc__importer *im,
                                           hsc_builder *b,
                                           function *f,
                                           const entry_shape *entry,
                                           hsc__mlir_block *block) {
  int next = 0;
  for (int i = 0; i < entry->count; i++) {
    char argument[32];
    snprintf(argument, sizeof argument, "Arg_%d", i);
    hsc_build_parameter(b, i, entry->parameters[i], argument);
  }
  for (int i = 0; i < b->computation->parameter_count; i++)
    scatter_leaves(b, b->computation->parameters[i], block, &next);
  if (next != block->argument_count)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, f->op,
                      "the arguments are not the leaves of " HSC__ENTRY_SHAPES);
  for (int i = 0; i < next; i++)
    HSC_TRY(check_leaves(im, f, block->arguments[i].instr, &block->arguments[i]));
  return NULL;
}

// The terminator's operands are the leaves of the result.
static hsc_status *import_shaped_result(hsc__importer *im,
                                        hsc_builder *b,
                                        function *f,
                                        const entry_shape *entry,
                                        const hsc__mlir_op *terminator,
                                        hsc_instr **out_root) {
  int next = 0;
  int count = terminator ? terminator->operand_count : 0;
  hsc_instr **values = HSC_NEW_ARRAY(im->arena, hsc_instr *, count + 1);
  for (int i = 0; values && i < count; i++)
    values[i] = terminator->operands[i]->instr;
  hsc_instr *root = values ? gather_leaves(b, im, &entry->result, values, count, &next) : NULL;
  *out_root = root;
  if (!root || next != count || !hsc_shape_equal(&root->shape, &entry->result))
    return HSC_OP_ERR(INVALID_ARGUMENT, im, f->op,
                      "the results are not the leaves of " HSC__ENTRY_SHAPES);
  return NULL;
}

static hsc_status *import_result(hsc__importer *im,
                                 hsc_builder *b,
                                 function *f,
                                 hsc__mlir_op *terminator,
                                 bool parted,
                                 hsc_instr **out_root) {
  const char *sharding = NULL;
  if (parted) {
    HSC_TRY(hsc__sdy_finish_calls(im, b, f->op));
    HSC_TRY(cut_results(im, b, f, terminator, &sharding));
  }
  hsc_instr *root = join(im, b, terminator, false, NULL, 0);
  // An argument that comes back may be cut otherwise as a result; instructions have one sharding.
  bool cut_anew = root && parted && root->op == HSC_OP_PARAMETER && sharding &&
                  (!root->sharding || strcmp(root->sharding, sharding) != 0);
  if (cut_anew)
    root = hsc_build_unary(b, HSC_OP_COPY, root);
  if (root && parted)
    root->sharding = sharding;
  *out_root = root;
  return NULL;
}

static hsc_status *import_function(hsc__importer *im, function *f) {
  if (f->computation)
    return NULL;
  hsc__mlir_block *block = f->op->region_count ? f->op->regions[0] : NULL;
  if (f->busy)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, f->op, "a function calls itself");
  if (!block)
    return HSC_OP_ERR(UNIMPLEMENTED, im, f->op, "a function without a body");
  f->busy = true;
  hsc_view name = hsc__import_text(f->op, "sym_name");
  const char *text = hlo_name(im->arena, name, "function");
  hsc_builder b;
  entry_shape entry = {0};
  HSC_TRY(entry_shapes(im, name, &entry.count, &entry.parameters, &entry.result));
  bool parted = im->sdy && hsc_view_equals_text(name, "main");
  hsc_builder_init(&b, im->module, text ? text : "function");
  if (parted)
    hsc__sdy_begin_entry(im, &b);
  if (is_given(&entry))
    HSC_TRY(import_shaped_arguments(im, &b, f, &entry, block));
  else
    HSC_TRY(import_arguments(im, &b, f, block, parted));
  hsc__mlir_op *terminator;
  hsc_instr *root = NULL;
  hsc_status *status = hsc__import_block(im, &b, block, &terminator);
  if (!status && is_given(&entry))
    status = import_shaped_result(im, &b, f, &entry, terminator, &root);
  else if (!status)
    status = import_result(im, &b, f, terminator, parted, &root);
  hsc_status *built = hsc_builder_finish(&b, status ? NULL : root, &f->computation);
  f->busy = false;
  if (status) {
    hsc_status_free(built);
    return status;
  }
  return built ? hsc__import_error(built, im, f->op) : NULL;
}

static const hsc__mlir_attr *entry_of(const hsc__mlir_attr *dict, const char *name) {
  for (int i = 0; dict && dict->kind == HSC_MLIR_DICT && i < dict->count; i++)
    if (hsc_view_equals_text(dict->entries[i].name, name))
      return dict->entries[i].value;
  return NULL;
}

static int count_leaves(const hsc_shape *shape) {
  int count = hsc_shape_is_tuple(shape) ? 0 : 1;
  for (int i = 0; i < shape->element_count; i++)
    count += count_leaves(&shape->elements[i]);
  return count;
}

// Where a leaf is in a shape: {1,0}; {} for an array.
static hsc_status *path_of_leaf(const hsc__importer *im,
                                const hsc_shape *shape,
                                int leaf,
                                hsc_dims *out_path) {
  int64_t path[HSC_MAX_TUPLE_DEPTH];
  int depth = 0;
  while (hsc_shape_is_tuple(shape) && depth < HSC_MAX_TUPLE_DEPTH) {
    int i = 0;
    int leaves;
    for (; i < shape->element_count && leaf >= (leaves = count_leaves(&shape->elements[i])); i++)
      leaf -= leaves;
    if (i == shape->element_count)
      return HSC_OP_ERR(INVALID_ARGUMENT, im, im->top,
                        "tf.aliasing_output names a result that is not there");
    path[depth++] = i;
    shape = &shape->elements[i];
  }
  if (leaf != 0)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, im->top,
                      "tf.aliasing_output names a result that is not there");
  *out_path = hsc_dims_copy(im->module->arena, depth, path);
  return NULL;
}

// What an argument or a result of the entry says besides what is known by name: kept as frontend
// attributes of the instruction.
static hsc_status *keep_unknown(hsc__importer *im, const hsc__mlir_attr *dict, hsc_instr *instr) {
  static const char *const known[] = {"tf.aliasing_output", "jax.buffer_donor", "jax.result_info",
                                      "mhlo.sharding",      "mhlo.layout_mode", "mhlo.memory_kind",
                                      "sdy.sharding"};
  if (!dict || dict->kind != HSC_MLIR_DICT || !dict->count)
    return NULL;
  hsc__mlir_named *rest = HSC_NEW_ARRAY(im->arena, hsc__mlir_named, dict->count);
  HSC_TRY(hsc_arena_status(im->arena));
  hsc__mlir_op holder = {
      .name = "func", .written_name = "func.func", .attrs = rest, .has_foreign = true};
  for (int i = 0; i < dict->count; i++) {
    bool is_known = false;
    for (size_t k = 0; k < HSC_COUNT_OF(known); k++)
      is_known |= hsc_view_equals_text(dict->entries[i].name, known[k]);
    if (!is_known)
      rest[holder.attr_count++] = dict->entries[i];
  }
  return holder.attr_count && !instr->frontend_attributes
             ? hsc__import_attributes(im, &holder, instr)
             : NULL;
}

// Shardings of the entry's results: of the tuple that they are in HLO, one after the other; those
// that say nothing are replicated, as XLA has it.
static hsc_status *import_result_attrs(hsc__importer *im, const hsc__mlir_op *main_op) {
  const hsc__mlir_attr *list = hsc__mlir_attr_get(main_op, "res_attrs");
  hsc_instr *root = im->module->entry->root;
  if (!list || list->kind != HSC_MLIR_ARRAY)
    return NULL;
  hsc_bytes text = {0};
  bool any = false;
  bool is_tuple = list->count != 1 || root->op == HSC_OP_TUPLE;
  if (is_tuple)
    hsc_bytes_append_char(&text, '{');
  for (int i = 0; i < list->count; i++) {
    const hsc__mlir_attr *sharding = entry_of(list->elements[i], "mhlo.sharding");
    bool said = sharding && sharding->kind == HSC_MLIR_STRING;
    any |= said;
    if (i)
      hsc_bytes_append_text(&text, ", ");
    if (said)
      hsc_bytes_append(&text, sharding->text.data, sharding->text.size);
    else
      hsc_bytes_append_text(&text, "{replicated}");
  }
  if (is_tuple)
    hsc_bytes_append_char(&text, '}');
  hsc_status *status = hsc_bytes_status(&text);
  // A parameter that is the result keeps its own.
  if (!status && any && !root->sharding && root->op != HSC_OP_PARAMETER)
    root->sharding = hsc_arena_strndup(im->module->arena, hsc_bytes_text(&text), text.size);
  hsc_bytes_deinit(&text);
  for (int i = 0; i < list->count && !status; i++)
    status = keep_unknown(im, list->elements[i], root);
  return status;
}

// Aliasing, donation and shardings of the entry's arguments.
static hsc_status *import_argument_attrs(hsc__importer *im, const hsc__mlir_op *main_op) {
  const hsc__mlir_attr *list = hsc__mlir_attr_get(main_op, "arg_attrs");
  HSC_TRY(import_result_attrs(im, main_op));
  if (!list || list->kind != HSC_MLIR_ARRAY)
    return NULL;
  hsc_module *m = im->module;
  hsc_alias *aliases = HSC_NEW_ARRAY(m->arena, hsc_alias, list->count + 1);
  hsc_alias *donors = HSC_NEW_ARRAY(m->arena, hsc_alias, list->count + 1);
  if (!aliases || !donors)
    return hsc_status_out_of_memory();
  int at = 0;
  for (int i = 0; i < m->entry->parameter_count; i++) {
    hsc_instr *parameter = m->entry->parameters[i];
    int leaves = hsc_shape_is_tuple(&parameter->shape) ? count_leaves(&parameter->shape) : 1;
    for (int leaf = 0; leaf < leaves && at < list->count; leaf++, at++) {
      const hsc__mlir_attr *dict = list->elements[at];
      const hsc__mlir_attr *output = entry_of(dict, "tf.aliasing_output");
      const hsc__mlir_attr *donor = entry_of(dict, "jax.buffer_donor");
      const hsc__mlir_attr *sharding = entry_of(dict, "mhlo.sharding");
      hsc_dims in, out;
      HSC_TRY(path_of_leaf(im, &parameter->shape, leaf, &in));
      if (output) {
        HSC_TRY(path_of_leaf(im, &m->entry->root->shape, (int)output->integer, &out));
        aliases[m->alias_count++] = (hsc_alias){
            .output_index = out, .parameter = i, .parameter_index = in, .must_alias = false};
      } else if (donor && donor->integer) {
        donors[m->donor_count++] = (hsc_alias){.parameter = i, .parameter_index = in};
      }
      if (sharding && sharding->kind == HSC_MLIR_STRING && leaves == 1)
        parameter->sharding = hsc_arena_strndup(m->arena, sharding->text.data, sharding->text.size);
      HSC_TRY(keep_unknown(im, dict, parameter));
    }
  }
  m->aliases = aliases;
  m->donors = donors;
  return NULL;
}

// The operation that gives a result of the entry, after marks of sharding; NULL for an argument.
static const hsc__mlir_op *giver_of(const hsc__mlir_op *main_op, int result) {
  const hsc__mlir_block *block = main_op->region_count ? main_op->regions[0] : NULL;
  const hsc__mlir_op *end = block && block->op_count ? block->ops[block->op_count - 1] : NULL;
  const hsc__mlir_op *op = end && result < end->operand_count ? end->operands[result]->owner : NULL;
  for (int depth = 0; op && op->operand_count == 1 && depth < MAX_DEPTH; depth++) {
    if (strcmp(op->name, "sharding_constraint") != 0 && strcmp(op->name, "reshard") != 0)
      break;
    op = op->operands[0]->owner;
  }
  return op;
}

// An order of dimensions as "{0,1}": `dims` as they are, or (a permutation of a transpose) the
// order in which nothing moves.
static void append_order(const hsc_dims *dims, bool is_permutation, hsc_bytes *text) {
  for (int i = 0; i < dims->count; i++) {
    int d = is_permutation ? 0 : (int)dims->v[i];
    while (is_permutation && d < dims->count - 1 && dims->v[d] != dims->count - 1 - i)
      d++;
    hsc_bytes_printf(text, "%c%d", i ? ',' : '{', d);
  }
  hsc_bytes_append_char(text, '}');
}

// "{0,1}" of mhlo.layout_mode; "default" is row-major, and so is "auto" but for a result (`giver`;
// NULL = an argument) that has a layout constraint, or that is a transpose: its layout is that of
// what it transposes, so that nothing moves.
static hsc_status *append_layout(const hsc__importer *im,
                                 const hsc__mlir_attr *dict,
                                 const hsc_shape *shape,
                                 const hsc__mlir_op *giver,
                                 hsc_bytes *text,
                                 bool *any) {
  const hsc__mlir_attr *mode = entry_of(dict, "mhlo.layout_mode");
  hsc_dims dims = {0};
  hsc_shape_print(shape, false, text);
  if (!mode || mode->kind != HSC_MLIR_STRING || !hsc_shape_is_array(shape) || shape->rank < 2)
    return NULL;
  bool given = mode->text.size > 2 && mode->text.data[0] == '{';
  *any |= given;
  if (given)
    hsc_bytes_append(text, mode->text.data, mode->text.size);
  if (!giver || !hsc_view_equals_text(mode->text, "auto"))
    return NULL;
  bool transpose = !strcmp(giver->name, "transpose");
  if (transpose)
    HSC_TRY(hsc__import_dims(im, giver, "permutation", &dims));
  if (!strcmp(giver->name, "custom_call") &&
      hsc_view_equals_text(hsc__import_text(giver, "call_target_name"), "LayoutConstraint")) {
    const hsc__mlir_attr *list = hsc__mlir_attr_get(giver, "result_layouts");
    hsc__mlir_named one = {
        HSC_VIEW("layout"),
        list && list->kind == HSC_MLIR_ARRAY && list->count == 1 ? list->elements[0] : NULL};
    hsc__mlir_op holder = {.name = giver->name,
                           .written_name = giver->written_name,
                           .attrs = &one,
                           .attr_count = one.value ? 1 : 0,
                           .location = giver->location};
    HSC_TRY(hsc__import_dims(im, &holder, "layout", &dims));
  }
  if (dims.count != shape->rank)
    return NULL;
  append_order(&dims, transpose, text);
  *any = true;
  return NULL;
}

// The layouts that are asked for of the entry's arguments and results, as HLO says them.
static hsc_status *import_layouts(hsc__importer *im, const hsc__mlir_op *main_op) {
  const hsc__mlir_attr *in = hsc__mlir_attr_get(main_op, "arg_attrs");
  const hsc__mlir_attr *out = hsc__mlir_attr_get(main_op, "res_attrs");
  const hsc_computation *entry = im->module->entry;
  int in_count = in && in->kind == HSC_MLIR_ARRAY ? in->count : 0;
  int out_count = out && out->kind == HSC_MLIR_ARRAY ? out->count : 0;
  bool any = false;
  bool tuple = hsc_shape_is_tuple(&entry->root->shape);
  int results = tuple ? entry->root->shape.element_count : 1;
  if ((in_count && in_count != entry->parameter_count) || (out_count && out_count != results))
    return NULL;
  hsc_bytes text = {0};
  hsc_status *status = NULL;
  hsc_bytes_append_text(&text, "{(");
  for (int i = 0; i < entry->parameter_count; i++) {
    if (i)
      hsc_bytes_append_text(&text, ", ");
    if (!status)
      status = append_layout(im, in_count ? in->elements[i] : NULL, &entry->parameters[i]->shape,
                             NULL, &text, &any);
  }
  hsc_bytes_append_text(&text, tuple ? ")->(" : ")->");
  for (int i = 0; i < results; i++) {
    if (i)
      hsc_bytes_append_text(&text, ", ");
    const hsc_shape *shape = tuple ? &entry->root->shape.elements[i] : &entry->root->shape;
    if (!status)
      status = append_layout(im, out_count ? out->elements[i] : NULL, shape, giver_of(main_op, i),
                             &text, &any);
  }
  hsc_bytes_append_text(&text, tuple ? ")}" : "}");
  if (!status)
    status = hsc_bytes_status(&text);
  if (!status && any) {
    hsc_shape *shapes, result;
    int count;
    status =
        hsc_hlo_text_parse_entry_layout(im->arena, hsc_bytes_view(&text), &count, &shapes, &result);
    if (status)
      status = hsc__import_error(status, im, main_op);
    else
      im->module->layout_text = hsc_arena_strndup(im->module->arena, text.data, text.size);
  }
  hsc_bytes_deinit(&text);
  return status ? status : hsc_arena_status(im->module->arena);
}

static hsc_status *import_module(hsc__importer *im) {
  if (im->top->region_count != 1 || !im->top->regions[0])
    return HSC_OP_ERR(INVALID_ARGUMENT, im, im->top, "the module is empty");
  hsc__mlir_block *body = im->top->regions[0];
  function *entry = NULL;
  function *last = NULL;
  int64_t partitions = hsc__import_int(im->top, "mhlo.num_partitions", 1);
  int64_t replicas = hsc__import_int(im->top, "mhlo.num_replicas", 1);
  if (im->partition_count > 0)
    partitions = im->partition_count;
  if (partitions < 1 || partitions > INT32_MAX || replicas < 1 || replicas > INT32_MAX)
    return HSC_OP_ERR(
        INVALID_ARGUMENT, im, im->top,
        "mhlo.num_partitions is %lld and mhlo.num_replicas is %lld: both are 1 or more",
        (long long)partitions, (long long)replicas);
  im->partition_count = (int)partitions;
  for (int i = 0; i < body->op_count; i++) {
    hsc__mlir_op *op = body->ops[i];
    if (strcmp(op->name, "func")) {
      if (!strcmp(op->name, "mesh")) {  // it says nothing for one device
        if (im->partition_count > 1)
          HSC_TRY(hsc__sdy_mesh(im, op));
        continue;
      }
      return HSC_OP_ERR(UNIMPLEMENTED, im, op,
                        "%s: not built yet: anything but functions in a module", op->written_name);
    }
    function *f = HSC_NEW(im->arena, function);
    HSC_TRY(hsc_arena_status(im->arena));
    f->op = op;
    hsc_view name = hsc__import_text(op, "sym_name");
    HSC_TRY(hsc_map_put(im->functions, name, f));
    if (hsc_view_equals_text(name, "main"))
      entry = f;
    last = f;
  }
  if (!entry && hsc_map_count(im->functions) == 1)
    entry = last;
  if (!entry)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, im->top, "the module has no function @main");
  entry->is_entry = true;
  HSC_TRY(hsc__refine_begin(im, entry->op, im->sizes, im->size_count));
  HSC_TRY(import_function(im, entry));
  im->module->entry = entry->computation;
  im->module->num_partitions = (int32_t)partitions;
  im->module->replica_count = (int32_t)replicas;
  HSC_TRY(import_argument_attrs(im, entry->op));
  HSC_TRY(hsc__sdy_clean(im));
  HSC_TRY(import_layouts(im, entry->op));
  HSC_TRY(hsc_module_sort(im->module));
  if (im->refine)
    HSC_FOR_EACH_COMPUTATION (im->module, computation)
      hsc__refine_clean(computation);
  if (!im->sdy)
    return NULL;
  // what parts were made of, too
  HSC_FOR_EACH_COMPUTATION (im->module, computation)
    normalize_from(im, computation->first);
  return NULL;
}

hsc_status *hsc__stablehlo_import(hsc__mlir_op *top,
                                  const char *path,
                                  int partition_count,
                                  const hsc_dim_size *sizes,
                                  int size_count,
                                  hsc_module **out_module) {
  hsc__importer im = {.top = top,
                      .path = path,
                      .partition_count = partition_count,
                      .sizes = sizes,
                      .size_count = size_count};
  hsc_status *status = NULL;
  *out_module = NULL;
  HSC_GOTO(hsc_arena_create(&im.arena));
  const char *text = hlo_name(im.arena, hsc__import_text(top, "sym_name"), "main");
  HSC_GOTO(hsc_module_create(text ? text : "main", &im.module));
  HSC_GOTO(hsc_map_create(&im.functions));
  HSC_GOTO(import_module(&im));
  HSC_GOTO(hsc_arena_status(im.module->arena));
  *out_module = im.module;
  im.module = NULL;
done:
  hsc_module_destroy(im.module);
  hsc_map_destroy(im.functions);
  hsc_arena_destroy(im.arena);
  return status;
}
