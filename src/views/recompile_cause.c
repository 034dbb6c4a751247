// recompile_cause.c - why a program was compiled again: what differs between it and the nearest
// earlier one.
//
// Looks at the interface first (arguments that came, went, changed shape, type or from constant to
// parameter), then at the body. The programs are those that the tracer kept in the capture.
#include "base/text/text.h"
#include "views/recompile_cause.h"

#include "formats/common/formats.h"

enum { MOST_CALLS = 32 };  // inside of each other that are looked into

static const char *shape_text(const hsc_shape *shape, hsc_bytes *out) {
  hsc_bytes_reset(out);
  hsc_shape_print(shape, false, out);
  return hsc_bytes_text(out);
}

// The constant behind data movement, NULL when there is none.
static const hsc_instr *constant_behind(const hsc_instr *instr) {
  while (instr->op == HSC_OP_BROADCAST || instr->op == HSC_OP_RESHAPE ||
         instr->op == HSC_OP_CONVERT || instr->op == HSC_OP_TRANSPOSE)
    instr = instr->operands[0];
  return instr->op == HSC_OP_CONSTANT ? instr : NULL;
}

// A constant of this shape, spelled out or broadcast: frontends make inputs on the device so.
static const hsc_instr *constant_of_shape(const hsc_module *without, const hsc_shape *shape) {
  for (const hsc_instr *instr = without->entry->first; instr; instr = instr->next)
    if (constant_behind(instr) && hsc_shape_equal(&instr->shape, shape))
      return instr;
  return NULL;
}

static int count_of_shape(const hsc_module *module, const hsc_shape *shape) {
  int count = 0;
  for (int i = 0; i < module->entry->parameter_count; i++)
    count += hsc_shape_equal(&module->entry->parameters[i]->shape, shape);
  return count;
}

// How an instruction is first used: by which operation, as which operand. -1 = not at all.
static int first_use(const hsc_module *module, const hsc_instr *instr) {
  for (const hsc_instr *user = module->entry->first; user; user = user->next)
    for (int32_t i = 0; i < user->operand_count; i++)
      if (user->operands[i] == instr)
        return (int)user->op * 1000 + (i < 999 ? i : 999);
  return -1;
}

// A constant of `before` that is a parameter of `now`: of the parameters of its shape the one that
// is used as it was, or has a name that was not there.
static const hsc_instr *became_parameter(const hsc_module *before,
                                         const hsc_module *now,
                                         const hsc_instr **out_constant) {
  const hsc_instr *best = NULL;
  int best_score = -1;
  for (int i = 0; i < now->entry->parameter_count; i++) {
    const hsc_instr *parameter = now->entry->parameters[i];
    if (count_of_shape(before, &parameter->shape) >= count_of_shape(now, &parameter->shape))
      continue;
    const hsc_instr *constant = constant_of_shape(before, &parameter->shape);
    if (!constant)
      continue;
    bool known = false;
    for (int k = 0; k < before->entry->parameter_count; k++)
      known |= !strcmp(before->entry->parameters[k]->name, parameter->name);
    int score = 2 * (first_use(before, constant) == first_use(now, parameter)) + !known;
    if (score <= best_score)
      continue;
    best = parameter;
    best_score = score;
    *out_constant = constant;
  }
  return best;
}

static bool explain_constant(const hsc_module *before,
                             const hsc_module *now,
                             const char *was,
                             const char *is,
                             hsc_bytes *out) {
  const hsc_instr *constant = NULL;
  const hsc_instr *parameter = became_parameter(before, now, &constant);
  if (!parameter)
    return false;
  hsc_bytes text = {0};
  int number = 0;
  while (now->entry->parameters[number] != parameter)
    number++;
  hsc_bytes_printf(out, "compiled again: argument %d (%s) was %s (%s", number, parameter->name, was,
                   shape_text(&parameter->shape, &text));
  const hsc_instr *value = constant_behind(constant);
  if (hsc_shape_elements(&value->shape) == 1 && !value->attr.literal.value->elided) {
    char digits[32];
    hsc_format_double(hsc_literal_get_double(value->attr.literal.value, 0), digits);
    hsc_bytes_printf(out, " broadcast of %s", digits);
  }
  hsc_bytes_printf(out, "), now %s", is);
  hsc_bytes_deinit(&text);
  return true;
}

static bool explain_shapes(const hsc_module *before, const hsc_module *now, hsc_bytes *out) {
  if (before->entry->parameter_count != now->entry->parameter_count)
    return false;
  hsc_bytes text = {0};
  int changed = 0;
  for (int i = 0; i < now->entry->parameter_count; i++) {
    const hsc_shape *old = &before->entry->parameters[i]->shape;
    const hsc_shape *new = &now->entry->parameters[i]->shape;
    if (hsc_shape_equal(old, new))
      continue;
    if (changed++)
      continue;
    hsc_bytes_printf(out, "compiled again: argument %d (%s) was %s", i,
                     now->entry->parameters[i]->name, shape_text(old, &text));
    hsc_bytes_printf(out, ", now %s", shape_text(new, &text));
  }
  if (changed > 1)
    hsc_bytes_printf(out, ", and %d more differ", changed - 1);
  hsc_bytes_deinit(&text);
  return changed > 0;
}

static const char *sharding_of(const hsc_instr *parameter) {
  return parameter->sharding ? parameter->sharding : "{replicated}";
}

// Arguments that lie on the devices otherwise: the shapes of their parts say nothing to whoever
// wrote the program.
static bool explain_sharding(const hsc_module *before, const hsc_module *now, hsc_bytes *out) {
  if (before->entry->parameter_count != now->entry->parameter_count)
    return false;
  int changed = 0;
  for (int i = 0; i < now->entry->parameter_count; i++) {
    const hsc_instr *old = before->entry->parameters[i];
    const hsc_instr *new = now->entry->parameters[i];
    if (!strcmp(sharding_of(old), sharding_of(new)) || changed++)
      continue;
    hsc_bytes_printf(out, "compiled again: argument %d (%s) had the sharding %s, now %s", i,
                     new->name, sharding_of(old), sharding_of(new));
  }
  if (changed > 1)
    hsc_bytes_printf(out, ", and %d more differ", changed - 1);
  return changed > 0;
}

static bool is_donated(const hsc_module *module, int64_t parameter) {
  for (int32_t i = 0; i < module->alias_count; i++)
    if (module->aliases[i].parameter == parameter)
      return true;
  for (int32_t i = 0; i < module->donor_count; i++)
    if (module->donors[i].parameter == parameter)
      return true;
  return false;
}

// Arguments that are given away to the results now and were not, or the other way round.
static bool explain_donation(const hsc_module *before, const hsc_module *now, hsc_bytes *out) {
  int changed = 0;
  for (int i = 0; i < now->entry->parameter_count; i++) {
    bool donated = is_donated(now, i);
    if (donated == is_donated(before, i) || changed++)
      continue;
    hsc_bytes_printf(out, "compiled again: argument %d (%s) was %s, now %s", i,
                     now->entry->parameters[i]->name, donated ? "kept" : "donated",
                     donated ? "donated" : "kept");
  }
  if (changed > 1)
    hsc_bytes_printf(out, ", and %d more differ", changed - 1);
  return changed > 0;
}

// Bytes of the shape at the beginning of a text, with its layout; nothing there reads "the
// default".
static int shown(const char *shape) {
  size_t size = strcspn(shape, "}");
  if (!*shape)
    return 11;
  if (shape[size] && size < 80)
    return (int)size + 1;
  return 80;
}

// Arguments or results that lie in memory in another order, as far as the programs say how they
// lie.
static bool explain_layout(const hsc_module *before, const hsc_module *now, hsc_bytes *out) {
  const char *was = before->layout_text ? before->layout_text : "";
  const char *is = now->layout_text ? now->layout_text : "";
  if (!strcmp(was, is))
    return false;
  size_t same = 0;
  while (was[same] && was[same] == is[same])
    same++;
  // from the shape on in which they part
  while (same > 0 && was[same - 1] != ' ' && was[same - 1] != '(')
    same--;
  hsc_bytes_printf(out, "compiled again: a layout of arguments or results was %.*s, now %.*s",
                   shown(was + same), *was ? was + same : "the default", shown(is + same),
                   *is ? is + same : "the default");
  return true;
}

// The first instructions in which two computations of one interface part ways, in what they call
// too: JAX puts a function of its own behind a call. Both NULL: they are the same.
static void part_ways(const hsc_computation *before,
                      const hsc_computation *now,
                      int depth,
                      const hsc_instr **a,
                      const hsc_instr **b) {
  const hsc_instr *x = before->first;
  const hsc_instr *y = now->first;
  *a = *b = NULL;
  for (; x && y; x = x->next, y = y->next) {
    if (x->op != y->op || !hsc_shape_equal(&x->shape, &y->shape) || !hsc_attr_equal(x, y))
      break;
    for (int i = 0; i < x->called_count && i < y->called_count && depth < MOST_CALLS; i++) {
      part_ways(x->called[i], y->called[i], depth + 1, a, b);
      if (*a || *b)
        return;
    }
  }
  // a call that gives something else: what in it does
  if (x && y && x->op == HSC_OP_CALL && y->op == HSC_OP_CALL && depth < MOST_CALLS)
    part_ways(x->called[0], y->called[0], depth + 1, a, b);
  if (!*a && !*b) {
    *a = x;
    *b = y;
  }
}

static bool body_differs(const hsc_module *before, const hsc_module *now) {
  const hsc_instr *a;
  const hsc_instr *b;
  part_ways(before->entry, now->entry, 0, &a, &b);
  return a || b;
}

// Results of other shapes or types where the arguments have the same: a static argument, or a
// Python value that the function read, set them.
static bool explain_results(const hsc_module *before, const hsc_module *now, hsc_bytes *out) {
  const hsc_shape *was = &before->entry->root->shape;
  const hsc_shape *is = &now->entry->root->shape;
  int count = hsc_shape_leaf_count(is);
  if (count != hsc_shape_leaf_count(was)) {
    hsc_bytes_printf(out,
                     "compiled again: it gives %d results, the nearest earlier one gave %d, for "
                     "arguments of the same shapes: a static argument or a Python value sets it",
                     count, hsc_shape_leaf_count(was));
    return true;
  }
  for (int i = 0; i < count; i++) {
    if (hsc_shape_equal(hsc_shape_leaf(was, i), hsc_shape_leaf(is, i)))
      continue;
    hsc_bytes_printf(out, "compiled again: result %d was ", i);
    hsc_shape_print(hsc_shape_leaf(was, i), false, out);
    hsc_bytes_append_text(out, ", now ");
    hsc_shape_print(hsc_shape_leaf(is, i), false, out);
    hsc_bytes_append_text(out, ": a static argument or a Python value sets it");
    return true;
  }
  return false;
}

static bool put_scalar(const hsc_instr *constant, hsc_bytes *out) {
  const hsc_literal *value = constant->attr.literal.value;
  if (!value || value->elided || hsc_shape_elements(&constant->shape) != 1)
    return false;
  char digits[32];
  int size = hsc_format_double(hsc_literal_get_double(value, 0), digits);
  hsc_bytes_append(out, digits, (size_t)size);
  return true;
}

static void explain_values(const hsc_instr *was, const hsc_instr *is, hsc_bytes *out) {
  hsc_bytes values = {0};
  hsc_bytes_append_text(&values, "was ");
  bool told = put_scalar(was, &values);
  hsc_bytes_append_text(&values, ", now ");
  told = told && put_scalar(is, &values);
  hsc_bytes_append_text(out, told ? hsc_bytes_text(&values) : "has another value");
  hsc_bytes_deinit(&values);
}

static void explain_body(const hsc_module *before, const hsc_module *now, hsc_bytes *out) {
  const hsc_instr *a;
  const hsc_instr *b;
  part_ways(before->entry, now->entry, 0, &a, &b);
  if (!a && !b) {
    hsc_bytes_append_text(out,
                          "compiled again: a called computation, a layout or an option differs");
  } else if (a && b && a->op == HSC_OP_CONSTANT && b->op == HSC_OP_CONSTANT) {
    hsc_bytes_append_text(out, "compiled again: a constant ");
    explain_values(a, b, out);
    hsc_bytes_append_text(out, " (a Python number in the traced function?)");
  } else {
    hsc_bytes_printf(out, "compiled again: the body differs from %s on",
                     b ? hsc_op_text(b->op) : "its end");
    if (b && b->metadata && b->metadata->op_name)
      hsc_bytes_printf(out, " (%s)", b->metadata->op_name);
  }
}

// How alike two interfaces are; the earlier program with the highest number is the nearest.
static int likeness(const hsc_module *a, const hsc_module *b) {
  int same = 0;
  for (int i = 0; i < a->entry->parameter_count; i++)
    same += count_of_shape(b, &a->entry->parameters[i]->shape) > 0;
  int64_t difference = hsc_module_instr_count(a) - hsc_module_instr_count(b);
  return 100 * same - (int)(difference < 0 ? -difference : difference);
}

// The instructions' operations in order, as one number: what a function does, whatever the shapes.
static uint64_t outline(const hsc_module *module) {
  uint64_t hash = 0;
  for (const hsc_instr *i = module->entry->first; i; i = i->next)
    if (i->op != HSC_OP_CONSTANT && i->op != HSC_OP_PARAMETER && i->op != HSC_OP_BROADCAST &&
        i->op != HSC_OP_RESHAPE)
      hash = hsc_hash64(&i->op, sizeof i->op, hash);
  return hash;
}

// Where a frontend says the program's root was written; NULL = nowhere.
static const char *source_of(const hsc_module *module) {
  const hsc_instr *root = module->entry->root;
  for (const hsc_instr *i = root; i; i = i->operand_count ? i->operands[0] : NULL)
    if (i->metadata && i->metadata->source_file)
      return i->metadata->source_file;
  return NULL;
}

bool hsc__recompile_same_function(hsc_module *const *earlier,
                                  int earlier_count,
                                  const hsc_module *now) {
  const char *source = source_of(now);
  for (int i = 0; i < earlier_count; i++) {
    if (outline(earlier[i]) == outline(now))
      return true;
    const char *other = source_of(earlier[i]);
    // A function may take another path for other arguments; it is still written where it was.
    if (source && other && !strcmp(source, other))
      return true;
    if (!source && !other)
      return true;  // nothing tells them apart but the name
  }
  return false;
}

void hsc__recompile_cause(hsc_module *const *earlier,
                          int earlier_count,
                          const hsc_module *now,
                          hsc_bytes *out) {
  const hsc_module *nearest = NULL;
  const hsc_hash128 meaning = hsc_module_fingerprint(now);
  for (int i = 0; i < earlier_count; i++) {
    if (!earlier[i])
      continue;
    const hsc_hash128 other = hsc_module_fingerprint(earlier[i]);
    if (memcmp(&other, &meaning, sizeof meaning))
      continue;
    hsc_bytes_append_text(out,
                          "compiled again: the same program but for names and source lines (traced "
                          "anew: another place calls it, under another setting of JAX, or its "
                          "cache was cleared)");
    return;
  }
  for (int i = 0; i < earlier_count; i++)
    if (earlier[i] && (!nearest || likeness(earlier[i], now) >= likeness(nearest, now)))
      nearest = earlier[i];
  if (!nearest)
    return;
  if (explain_sharding(nearest, now, out) || explain_shapes(nearest, now, out))
    return;
  if (explain_constant(nearest, now, "a constant", "a parameter", out))
    return;
  if (explain_constant(now, nearest, "a parameter", "a constant", out))
    return;
  if (nearest->entry->parameter_count != now->entry->parameter_count) {
    hsc_bytes_printf(out, "compiled again: it takes %d arguments, the nearest earlier one took %d",
                     now->entry->parameter_count, nearest->entry->parameter_count);
    return;
  }
  if (explain_results(nearest, now, out))
    return;
  if (body_differs(nearest, now))
    explain_body(nearest, now, out);
  else if (!explain_donation(nearest, now, out) && !explain_layout(nearest, now, out))
    explain_body(nearest, now, out);
}
