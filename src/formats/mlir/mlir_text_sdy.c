// mlir_text_sdy.c - Shardy's text: meshes, shardings and the operations that have them. What the
// tree is: sdy_internal.h.
// Source: Shardy's documentation of its dialect (sdy.mesh, #sdy.sharding, sdy.sharding_constraint,
// sdy.manual_computation).
#include "formats/mlir/mlir_text_internal.h"
#include "formats/shardy/sdy_internal.h"

static bool take_list(hsc__mlir_parser *p, hsc__mlir_attr *attr, size_t start, int count) {
  attr->elements = HSC_NEW_ARRAY(p->arena, const hsc__mlir_attr *, count + 1);
  if (!attr->elements)
    return hsc__mlir_out_of_memory(p);
  if (count)
    memcpy(attr->elements, p->stack.data + start, (size_t)count * sizeof *attr->elements);
  attr->count = count;
  p->stack.size = start;
  return true;
}

// "x", or a part of it: "x":(2)4
static bool axis(hsc__mlir_parser *p, const hsc__mlir_attr **out) {
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_STRING);
  int64_t ignored;
  *out = attr;
  if (!attr || !hsc__mlir_string(p, &attr->text))
    return false;
  if (!hsc__mlir_accept(p, ':'))
    return true;
  attr->count = 1;
  return hsc__mlir_expect(p, "(") && hsc__mlir_int(p, &ignored) && hsc__mlir_expect(p, ")") &&
         hsc__mlir_int(p, &ignored);
}

// {"x", "y", ?} after the brace; *open (may be NULL: then there is no ?) says whether there was
// one.
static bool axes(hsc__mlir_parser *p, hsc__mlir_attr *attr, bool *open) {
  size_t start = p->stack.size;
  int count = 0;
  if (!hsc__mlir_accept(p, '}')) {
    do {
      const hsc__mlir_attr *one;
      if (open && hsc__mlir_accept(p, '?')) {
        *open = true;
        break;
      }
      if (!axis(p, &one) || !hsc__mlir_push(p, &one, sizeof one))
        return false;
      count++;
    } while (hsc__mlir_accept(p, ','));
    if (!hsc__mlir_expect(p, "}"))
      return false;
  }
  return take_list(p, attr, start, count);
}

static bool dimension(hsc__mlir_parser *p, const hsc__mlir_attr **out) {
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_ARRAY);
  bool open = false;
  *out = attr;
  if (!attr || !hsc__mlir_expect(p, "{") || !axes(p, attr, &open))
    return false;
  attr->column = HSC__SDY_DIMENSION;
  attr->integer = !open;
  if (*p->p != 'p')
    return true;  // a priority: p1
  for (p->p++; *p->p >= '0' && *p->p <= '9';)
    p->p++;
  return true;
}

// <@mesh, [{"x"}, {}], replicated={"y"}, unreduced={"z"}>
static bool sharding(hsc__mlir_parser *p, const hsc__mlir_attr **out) {
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_ARRAY);
  hsc__mlir_attr *unreduced = NULL;
  size_t start = p->stack.size;
  int count = 0;
  *out = attr;
  if (!attr || !hsc__mlir_expect(p, "<"))
    return false;
  if (!hsc__mlir_peek(p, '@'))
    return hsc__mlir_unsupported(p, p->p, "a mesh in place");
  if (!hsc__mlir_symbol(p, &attr->text) || !hsc__mlir_expect(p, ",") || !hsc__mlir_expect(p, "["))
    return false;
  if (!hsc__mlir_accept(p, ']')) {
    do {
      const hsc__mlir_attr *one;
      if (!dimension(p, &one) || !hsc__mlir_push(p, &one, sizeof one))
        return false;
      count++;
    } while (hsc__mlir_accept(p, ','));
    if (!hsc__mlir_expect(p, "]"))
      return false;
  }
  while (hsc__mlir_accept(p, ',')) {
    hsc__mlir_attr *list = hsc__mlir_make_attr(p, HSC_MLIR_ARRAY);
    if (!list)
      return false;
    if (hsc__mlir_accept_word(p, "unreduced"))
      unreduced = list;
    else if (!hsc__mlir_accept_word(p, "replicated"))
      return hsc__mlir_expected(p, "'replicated' or 'unreduced'");
    if (!hsc__mlir_expect(p, "=") || !hsc__mlir_expect(p, "{") || !axes(p, list, NULL))
      return false;
  }
  // is after the dimensions, where `count` does not reach
  if (unreduced && unreduced->count) {
    const hsc__mlir_attr *one = unreduced;
    if (!hsc__mlir_push(p, &one, sizeof one))
      return false;
    attr->integer = unreduced->count;
  }
  if (!take_list(p, attr, start, count + (attr->integer ? 1 : 0)))
    return false;
  attr->count = count;
  attr->column = HSC__SDY_SHARDING_3;
  return hsc__mlir_expect(p, ">");
}

// [<...>, <...>]
static bool shardings(hsc__mlir_parser *p, const hsc__mlir_attr **out) {
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_ARRAY);
  size_t start = p->stack.size;
  int count = 0;
  *out = attr;
  if (!attr || !hsc__mlir_expect(p, "["))
    return false;
  if (!hsc__mlir_accept(p, ']')) {
    do {
      const hsc__mlir_attr *one;
      if (!sharding(p, &one) || !hsc__mlir_push(p, &one, sizeof one))
        return false;
      count++;
    } while (hsc__mlir_accept(p, ','));
    if (!hsc__mlir_expect(p, "]"))
      return false;
  }
  attr->column = HSC__SDY_PER_VALUE;
  return take_list(p, attr, start, count);
}

static bool manual_axes(hsc__mlir_parser *p, const hsc__mlir_attr **out) {
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_ARRAY);
  *out = attr;
  if (!attr)
    return false;
  attr->column = HSC__SDY_MANUAL_AXES;
  return hsc__mlir_expect(p, "{") && axes(p, attr, NULL);
}

// <["x"=2, "y"=4], device_ids=[...]>
static bool mesh_attr(hsc__mlir_parser *p, const hsc__mlir_attr **out) {
  hsc__mlir_attr *mesh = hsc__mlir_make_attr(p, HSC_MLIR_ARRAY);
  size_t start = p->stack.size;
  int count = 0;
  *out = mesh;
  if (!mesh || !hsc__mlir_expect(p, "<") || !hsc__mlir_expect(p, "["))
    return false;
  mesh->column = HSC__SDY_MESH;
  if (!hsc__mlir_accept(p, ']')) {
    do {
      hsc__mlir_attr *one = hsc__mlir_make_attr(p, HSC_MLIR_STRING);
      if (!one || !hsc__mlir_string(p, &one->text) || !hsc__mlir_expect(p, "=") ||
          !hsc__mlir_int(p, &one->integer) || !hsc__mlir_push(p, &one, sizeof one))
        return false;
      count++;
    } while (hsc__mlir_accept(p, ','));
    if (!hsc__mlir_expect(p, "]"))
      return false;
  }
  if (!take_list(p, mesh, start, count))
    return false;
  if (hsc__mlir_accept(p, ',')) {
    int64_t ids = 0;
    if (!hsc__mlir_expect(p, "device_ids") || !hsc__mlir_expect(p, "=") ||
        !hsc__mlir_expect(p, "["))
      return false;
    do {
      int64_t id;
      if (!hsc__mlir_int(p, &id) || !hsc__mlir_push(p, &id, sizeof id))
        return false;
      ids++;
    } while (hsc__mlir_accept(p, ','));
    if (!hsc__mlir_expect(p, "]"))
      return false;
    const char *copy =
        hsc_arena_copy(p->arena, p->stack.data + start, (size_t)ids * sizeof(int64_t));
    if (!copy)
      return hsc__mlir_out_of_memory(p);
    mesh->data = (hsc_view){copy, (size_t)ids * sizeof(int64_t)};
    p->stack.size = start;
  }
  return hsc__mlir_expect(p, ">");
}

// ---- StableHLO's meshes: replica groups by axes -------------------------------------------------

static bool part_of(hsc__mlir_parser *p, const char *name) {
  return hsc__mlir_expect(p, name) && hsc__mlir_expect(p, "=");
}

static bool add_part(hsc__mlir_parser *p,
                     hsc__mlir_op *holder,
                     const char *name,
                     const hsc__mlir_attr *value) {
  return value && hsc__mlir_add_attr(p, holder, name, value);
}

// name = "x"
static bool add_name(hsc__mlir_parser *p, hsc__mlir_op *holder) {
  hsc__mlir_attr *name = hsc__mlir_make_attr(p, HSC_MLIR_STRING);
  return name && part_of(p, "name") && hsc__mlir_string(p, &name->text) &&
         add_part(p, holder, "name", name);
}

static bool add_number(hsc__mlir_parser *p, hsc__mlir_op *holder, const char *name) {
  int64_t value;
  return hsc__mlir_int(p, &value) && add_part(p, holder, name, hsc__mlir_make_int(p, value));
}

static void as_dictionary(const hsc__mlir_op *holder, hsc__mlir_attr *attr) {
  attr->kind = HSC_MLIR_DICT;
  attr->entries = holder->attrs;
  attr->count = holder->attr_count;
}

bool hsc__mlir_axis_ref(hsc__mlir_parser *p, hsc__mlir_attr *attr) {
  hsc__mlir_op holder = {0};
  if (!add_name(p, &holder))
    return false;
  if (hsc__mlir_accept(p, ',')) {
    hsc__mlir_op parts = {0};
    hsc__mlir_attr *sub = hsc__mlir_make_attr(p, HSC_MLIR_DICT);
    if (!sub || !part_of(p, "sub_axis_info") || !hsc__mlir_expect(p, "(") ||
        !add_number(p, &parts, "pre_size") || !hsc__mlir_expect(p, ")") ||
        !add_number(p, &parts, "size") || !add_part(p, &holder, "sub_axis_info", sub))
      return false;
    as_dictionary(&parts, sub);
  }
  as_dictionary(&holder, attr);
  return hsc__mlir_expect(p, ">");
}

// <name = "x", size = 2>
static bool mesh_axis(hsc__mlir_parser *p, const hsc__mlir_attr **out) {
  hsc__mlir_op holder = {0};
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_DICT);
  if (!attr || !hsc__mlir_expect(p, "<") || !add_name(p, &holder) || !hsc__mlir_expect(p, ",") ||
      !part_of(p, "size") || !add_number(p, &holder, "size"))
    return false;
  as_dictionary(&holder, attr);
  *out = attr;
  return hsc__mlir_expect(p, ">");
}

bool hsc__mlir_inline_mesh(hsc__mlir_parser *p, hsc__mlir_attr *attr) {
  hsc__mlir_op holder = {0};
  hsc__mlir_attr *list = hsc__mlir_make_attr(p, HSC_MLIR_ARRAY);
  size_t start = p->stack.size;
  int count = 0;
  if (!list || !part_of(p, "axes") || !hsc__mlir_expect(p, "["))
    return false;
  if (!hsc__mlir_accept(p, ']')) {
    do {
      const hsc__mlir_attr *one;
      if (!mesh_axis(p, &one) || !hsc__mlir_push(p, &one, sizeof one))
        return false;
      count++;
    } while (hsc__mlir_accept(p, ','));
    if (!hsc__mlir_expect(p, "]"))
      return false;
  }
  if (!take_list(p, list, start, count) || !add_part(p, &holder, "axes", list))
    return false;
  if (hsc__mlir_accept(p, ',')) {
    const hsc__mlir_attr *ids;
    if (!part_of(p, "device_ids") || !hsc__mlir_attribute(p, &ids) ||
        !add_part(p, &holder, "device_ids", ids))
      return false;
  }
  as_dictionary(&holder, attr);
  return hsc__mlir_expect(p, ">");
}

bool hsc__mlir_sdy_attr(hsc__mlir_parser *p,
                        hsc_view name,
                        const hsc__mlir_attr **out,
                        bool *out_known) {
  *out_known = true;
  if (hsc_view_equals_text(name, "sdy.mesh"))
    return mesh_attr(p, out);
  if (hsc_view_equals_text(name, "sdy.sharding"))
    return sharding(p, out);
  if (hsc_view_equals_text(name, "sdy.sharding_per_value"))
    return hsc__mlir_expect(p, "<") && shardings(p, out) && hsc__mlir_expect(p, ">");
  if (hsc_view_equals_text(name, "sdy.manual_axes"))
    return hsc__mlir_expect(p, "<") && manual_axes(p, out) && hsc__mlir_expect(p, ">");
  if (hsc_view_equals_text(name, "sdy")) {  // #sdy<manual_axes{"x"}>
    const char *at = p->p;
    if (hsc__mlir_accept(p, '<') && hsc__mlir_accept_word(p, "manual_axes"))
      return manual_axes(p, out) && hsc__mlir_expect(p, ">");
    p->p = at;
  }
  *out_known = false;
  return true;
}

// sdy.mesh @mesh = <["x"=2, "y"=4], device_ids=[...]> {what others attach}
bool hsc__mlir_sdy_mesh(hsc__mlir_parser *p, hsc__mlir_op *op) {
  hsc__mlir_attr *name = hsc__mlir_make_attr(p, HSC_MLIR_STRING);
  const hsc__mlir_attr *mesh;
  hsc__mlir_op attached = {.written_name = op->written_name};
  if (!name || !hsc__mlir_symbol(p, &name->text) || !hsc__mlir_expect(p, "=") ||
      !mesh_attr(p, &mesh))
    return false;
  if (hsc__mlir_accept(p, '{') && !hsc__mlir_attr_entries(p, &attached, '}'))
    return false;
  return hsc__mlir_add_attr(p, op, "sym_name", name) && hsc__mlir_add_attr(p, op, "mesh", mesh);
}

// %0 <@mesh, [...]> : type
static bool constraint(hsc__mlir_parser *p, hsc__mlir_op *op) {
  hsc__mlir_value *value;
  const hsc__mlir_attr *one;
  const hsc__mlir_type *type;
  size_t start = p->stack.size;
  if (!hsc__mlir_operand(p, &value) || !hsc__mlir_push(p, &value, sizeof value) ||
      !hsc__mlir_set_operands(p, op, start))
    return false;
  const char *at = p->p;
  return sharding(p, &one) && hsc__mlir_add_attr(p, op, "sharding", one) &&
         hsc__mlir_expect(p, ":") && hsc__mlir_type_parse(p, &type) &&
         hsc__mlir_check_operand_types(p, at, op, &type, 1) &&
         hsc__mlir_set_results(p, op, &type, 1);
}

// (%a, %b) in_shardings=[...] out_shardings=[...] manual_axes={...} (%x: type, %y: type) {...} :
// (types) -> types
// "(%a, %b)"
static bool operands_in_brackets(hsc__mlir_parser *p, hsc__mlir_op *op) {
  size_t start = p->stack.size;
  if (!hsc__mlir_expect(p, "("))
    return false;
  if (!hsc__mlir_accept(p, ')')) {
    do {
      hsc__mlir_value *value;
      if (!hsc__mlir_operand(p, &value) || !hsc__mlir_push(p, &value, sizeof value))
        return false;
    } while (hsc__mlir_accept(p, ','));
    if (!hsc__mlir_expect(p, ")"))
      return false;
  }
  return hsc__mlir_set_operands(p, op, start);
}

// "NAME=VALUE" as an attribute of the operation.
static bool named_attribute(hsc__mlir_parser *p,
                            hsc__mlir_op *op,
                            const char *name,
                            bool (*value)(hsc__mlir_parser *p, const hsc__mlir_attr **out)) {
  const hsc__mlir_attr *attr;
  return hsc__mlir_expect(p, name) && hsc__mlir_expect(p, "=") && value(p, &attr) &&
         hsc__mlir_add_attr(p, op, name, attr);
}

// "(%x: tensor<4xf32> loc(...), ...)", at most as many as the operation has operands.
static bool arguments_in_brackets(hsc__mlir_parser *p,
                                  const hsc__mlir_op *op,
                                  hsc__mlir_argument *arguments,
                                  int *out_count) {
  *out_count = 0;
  if (!hsc__mlir_expect(p, "("))
    return false;
  if (hsc__mlir_accept(p, ')'))
    return true;
  do {
    if (*out_count == op->operand_count)
      return hsc__mlir_error(p, p->p, "more arguments than operands");
    if (!hsc__mlir_typed_argument(p, &arguments[(*out_count)++]))
      return false;
  } while (hsc__mlir_accept(p, ','));
  return hsc__mlir_expect(p, ")");
}

static bool manual(hsc__mlir_parser *p, hsc__mlir_op *op) {
  const hsc__mlir_type *function;
  int count;
  if (!operands_in_brackets(p, op) || !named_attribute(p, op, "in_shardings", shardings) ||
      !named_attribute(p, op, "out_shardings", shardings) ||
      !named_attribute(p, op, "manual_axes", manual_axes))
    return false;
  hsc__mlir_argument *arguments =
      HSC_NEW_ARRAY(p->arena, hsc__mlir_argument, op->operand_count + 1);
  if (!arguments)
    return hsc__mlir_out_of_memory(p);
  if (!arguments_in_brackets(p, op, arguments, &count))
    return false;
  const char *at = p->p;
  if (!hsc__mlir_region(p, op, arguments, count) || !hsc__mlir_expect(p, ":") ||
      !hsc__mlir_function_type(p, &function))
    return false;
  return hsc__mlir_check_operand_types(p, at, op, function->elements, function->input_count) &&
         hsc__mlir_set_results(p, op, function->elements + function->input_count,
                               function->element_count - function->input_count);
}

bool hsc__mlir_sdy_op(hsc__mlir_parser *p,
                      hsc__mlir_op *op,
                      hsc_view written_name,
                      bool *out_known) {
  *out_known = true;
  if (hsc_view_equals_text(written_name, "sdy.sharding_constraint") ||
      hsc_view_equals_text(written_name, "sdy.reshard"))
    return constraint(p, op);
  if (hsc_view_equals_text(written_name, "sdy.manual_computation"))
    return manual(p, op);
  *out_known = false;
  return true;
}
