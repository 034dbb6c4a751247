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
    b->metadata = hsc__import_metadata(im, op->location);
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

static hsc_status *import_module(hsc__importer *im) {
  if (im->top->region_count != 1 || !im->top->regions[0])
    return HSC_OP_ERR(INVALID_ARGUMENT, im, im->top, "the module is empty");
  hsc__mlir_block *body = im->top->regions[0];
  function *entry = NULL;
  function *last = NULL;
  int64_t partitions = hsc__import_int(im->top, "mhlo.num_partitions", 1);
  int64_t replicas = hsc__import_int(im->top, "mhlo.num_replicas", 1);
  bool is_for = im->partition_count > 1;  // it is wanted for one of so many partitions
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
  if (is_for && !im->sdy)
    HSC_TRY(hsc__sdy_from_xla(im, entry->op));
  HSC_TRY(hsc__refine_begin(im, entry->op, im->sizes, im->size_count));
  HSC_TRY(import_function(im, entry));
  im->module->entry = entry->computation;
  im->module->num_partitions = (int32_t)partitions;
  im->module->replica_count = (int32_t)replicas;
  HSC_TRY(hsc__import_argument_attrs(im, entry->op));
  HSC_TRY(hsc__sdy_clean(im));
  HSC_TRY(hsc__import_layouts(im, entry->op));
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
