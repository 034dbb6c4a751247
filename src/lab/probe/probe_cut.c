// probe_cut.c - smaller copies of a program.
//
// Loops and outputs are cut in the module. The batch is cut in its text: the size of the leading
// dimension of the last parameter is replaced wherever a shape or a slice names it, first only
// where it is by itself, then also in products; a copy that does not verify is refused. This is
// a guess about what a number means, which the verifier checks; numbers of such a stage mean
// nothing, but compilers see a program of the same kind.
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "formats/common/formats.h"
#include "lab/probe/probe_internal.h"

// A while loop whose condition compares something with a constant, as JAX writes them: the
// constant.
static hsc_instr *bound_of(const hsc_instr *loop) {
  const hsc_instr *root = loop->called_count == 2 ? loop->called[0]->root : NULL;
  if (!root || root->op != HSC_OP_COMPARE || root->operand_count != 2)
    return NULL;
  for (int i = 1; i >= 0; i--) {
    hsc_instr *operand = root->operands[i];
    if (operand->op == HSC_OP_CONSTANT && hsc_shape_is_scalar(&operand->shape) &&
        operand->attr.literal.value)
      return operand;
  }
  return NULL;
}

static hsc_status *cut_loops(hsc_module *module, double fraction, hsc__probe_cut_result *cut) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      hsc_instr *bound = instr->op == HSC_OP_WHILE ? bound_of(instr) : NULL;
      int64_t trips = bound ? hsc_literal_get_int(bound->attr.literal.value, 0) : 0;
      if (trips < 2)
        continue;
      int64_t fewer = (int64_t)ceil((double)trips * fraction);
      if (fewer < 1)
        fewer = 1;
      hsc_literal *literal = NULL;
      HSC_TRY(hsc_literal_copy(module->arena, bound->attr.literal.value, &literal));
      hsc_literal_set_int(literal, 0, fewer);
      bound->attr.literal.value = literal;
      if (trips > cut->trips_from) {
        cut->trips_from = trips;
        cut->trips_to = fewer;
      }
    }
  }
  return NULL;
}

static void remove_dead(hsc_computation *computation) {
  for (bool any = true; any;) {
    any = false;
    for (hsc_instr *instr = computation->last, *before; instr; instr = before) {
      before = instr->prev;
      if (!hsc_instr_is_dead(instr))
        continue;
      hsc_instr_remove(instr);
      any = true;
    }
  }
}

static hsc_status *cut_outputs(hsc_module *module, hsc__probe_cut_result *cut) {
  hsc_computation *entry = module->entry;
  if (entry->root->op != HSC_OP_TUPLE || entry->root->operand_count < 2)
    return NULL;
  cut->outputs_from = entry->root->operand_count;
  cut->outputs_to = 1;
  entry->root = entry->root->operands[0];
  module->layout_text = NULL;
  module->alias_count = 0;
  remove_dead(entry);
  return hsc_module_sort(module);
}

// The size that is taken for the batch: of the last parameter leaf with dimensions; 0 = none.
static int64_t batch_of(const hsc_module *module) {
  for (int i = module->entry->parameter_count; i-- > 0;) {
    const hsc_shape *shape = &module->entry->parameters[i]->shape;
    for (int leaf = hsc_shape_leaf_count(shape); leaf-- > 0;) {
      const hsc_shape *part = hsc_shape_leaf(shape, leaf);
      if (part && hsc_shape_is_array(part) && part->rank > 0 && part->dims[0] > 1)
        return part->dims[0];
    }
  }
  return 0;
}

// Copies text with every number of a list (up to `close`) replaced where it is the batch;
// `products`: also where it is a multiple of it.
static size_t replace_numbers(const char *text,
                              size_t at,
                              const char *close,
                              int64_t from,
                              int64_t to,
                              bool products,
                              hsc_bytes *out) {
  while (text[at] && !strchr(close, text[at])) {
    if (!isdigit((unsigned char)text[at])) {
      hsc_bytes_append_char(out, text[at++]);
      continue;
    }
    char *end;
    long long number = strtoll(text + at, &end, 10);
    if (number == from)
      number = to;
    else if (products && number > from && number % from == 0)
      number = number / from * to;
    hsc_bytes_printf(out, "%lld", number);
    at = (size_t)(end - text);
  }
  return at;
}

static bool is_type_before(const char *text, size_t at) {  // "f32[" and its like, not "slice={["
  return at > 0 && isalnum((unsigned char)text[at - 1]);
}

static void replace_batch(
    const char *text, int64_t from, int64_t to, bool products, hsc_bytes *out) {
  static const char *const lists[] = {"slice={", "dynamic_slice_sizes={", "slice_sizes={",
                                      "window={size="};
  for (size_t at = 0; text[at];) {
    if (text[at] == '[' && is_type_before(text, at)) {
      hsc_bytes_append_char(out, text[at]);
      at = replace_numbers(text, at + 1, "]", from, to, products, out);
      continue;
    }
    size_t list = 0;
    while (list < HSC_COUNT_OF(lists) && strncmp(text + at, lists[list], strlen(lists[list])) != 0)
      list++;
    if (list < 3) {
      hsc_bytes_append_text(out, lists[list]);
      at = replace_numbers(text, at + strlen(lists[list]), "}", from, to, products, out);
      continue;
    }
    hsc_bytes_append_char(out, text[at++]);
  }
}

static hsc_status *cut_batch(hsc_module **io_module,
                             double fraction,
                             hsc_arena *arena,
                             hsc__probe_cut_result *cut) {
  int64_t from = batch_of(*io_module);
  int64_t to = (int64_t)floor((double)from * fraction);
  if (to < 1)
    to = 1;
  if (!from || to == from)
    return NULL;
  hsc_bytes text = {0};
  hsc_module_print(*io_module, &(hsc_print_options){.no_metadata = true, .no_backend_config = true},
                   &text);
  hsc_status *status = hsc_bytes_status(&text);
  for (int products = 0; products < 2 && !status; products++) {
    hsc_bytes smaller = {0};
    hsc_module *module = NULL;
    replace_batch(hsc_bytes_text(&text), from, to, products, &smaller);
    status = hsc_bytes_status(&smaller);
    hsc_status *wrong = status ? NULL : hsc_hlo_text_parse(hsc_bytes_view(&smaller), NULL, &module);
    if (!status && !wrong)
      wrong = hsc_module_verify(module);
    hsc_bytes_deinit(&smaller);
    if (!status && !wrong) {
      hsc_module_destroy(*io_module);
      *io_module = module;
      cut->batch_from = from;
      cut->batch_to = to;
      cut->refused = NULL;
      break;
    }
    cut->refused = hsc_arena_printf(arena, "%lld is not the batch alone: %s", (long long)from,
                                    hsc_status_message(wrong));
    hsc_status_free(wrong);
    hsc_module_destroy(module);
  }
  hsc_bytes_deinit(&text);
  return status;
}

hsc_status *hsc__probe_cut_program(const hsc_module *module,
                                   const hsc__probe_cut *cut,
                                   hsc_arena *arena,
                                   hsc_module **out_module,
                                   hsc__probe_cut_result *out_cut) {
  *out_cut = (hsc__probe_cut_result){0};
  hsc_module *copy = NULL;
  HSC_TRY(hsc_module_clone(module, &copy));
  hsc_status *status = NULL;
  if (cut->loops < 1)
    status = cut_loops(copy, cut->loops, out_cut);
  if (!status && cut->first_output_only)
    status = cut_outputs(copy, out_cut);
  if (!status && cut->batch < 1)
    status = cut_batch(&copy, cut->batch, arena, out_cut);
  if (!status)
    *out_module = copy;
  else
    hsc_module_destroy(copy);
  return status;
}
