// mlir_bytecode_ops.c - operations of MLIR bytecode: their properties, values, regions and blocks.
//
// Source: mlir/docs/BytecodeFormat.md; VHLO's encodings: stablehlo/dialect/VhloBytecode.cpp
// (numbers of attributes and types).
#include "formats/mlir/mlir_bytecode_internal.h"
#include "formats/mlir/mlir_op_rows.h"

enum {
  OP_ATTRS = 1,
  OP_RESULTS = 2,
  OP_OPERANDS = 4,
  OP_SUCCESSORS = 8,
  OP_REGIONS = 16,
  OP_USE_LISTS = 32,
  OP_PROPERTIES = 64
};

typedef struct scope {  // values of one isolated region
  hsc__mlir_value **values;
  size_t count, capacity;
} scope;

static hsc__mlir_block *read_region(hsc__bc_reader *r,
                                    hsc__bc_cursor *c,
                                    hsc__mlir_op *parent,
                                    scope *values);

// The value at an index of the scope; NULL before its definition, and after an error.
static hsc__mlir_value *value_at(hsc__bc_reader *r,
                                 const hsc__bc_cursor *c,
                                 const scope *values,
                                 uint64_t index) {
  if (r->status)
    return NULL;
  if (index >= values->count) {
    hsc__bc_fail(r, c, "there is no such value");
    return NULL;
  }
  return values->values[index];
}

static bool grow(hsc__bc_reader *r, const hsc__bc_cursor *c, scope *values, uint64_t count) {
  // Each value is a result or an argument, which takes at least a byte.
  if (r->status)
    return false;
  if (count > hsc__bc_left(c) + 1 || count > r->whole.size - r->values_announced) {
    hsc__bc_fail(r, c, "more values than the region can hold");
    return false;
  }
  r->values_announced += (size_t)count;
  if (values->count + count > values->capacity) {
    size_t capacity = values->capacity ? values->capacity : 64;
    while (capacity < values->count + count)
      capacity *= 2;
    hsc__mlir_value **list = hsc__bc_make(r, sizeof *list, capacity);
    if (r->status)
      return false;
    if (values->count)
      memcpy(list, values->values, values->count * sizeof *list);
    values->values = list;
    values->capacity = capacity;
  }
  if (count)
    memset(values->values + values->count, 0, (size_t)count * sizeof *values->values);
  values->count += (size_t)count;
  return true;
}

// Puts `value` at the next number of its region. A forward reference got a value of its own before:
// operands hold pointers to slots, so both are one.
static void define(hsc__bc_reader *r,
                   const hsc__bc_cursor *c,
                   scope *values,
                   uint64_t *next,
                   uint64_t limit,
                   hsc__mlir_value *value) {
  if (r->status)
    return;
  if (*next >= limit)
    return hsc__bc_fail(r, c, "more values than the region announced");
  if (values->values[*next])
    return hsc__bc_fail(r, c, "a value is used before its definition");
  values->values[(*next)++] = value;
}

static void skip_use_lists(hsc__bc_reader *r, hsc__bc_cursor *c, size_t range) {
  size_t count = range > 1 ? hsc__bc_count_of(r, c, 1) : 1;
  for (size_t i = 0; i < count && !r->status; i++) {
    if (range > 1)
      hsc__bc_varint(r, c);
    uint64_t encoded = hsc__bc_varint(r, c);
    for (uint64_t k = 0; k < encoded >> 1 && !r->status; k++)
      hsc__bc_varint(r, c);
  }
}

static void read_dict_into(hsc__bc_reader *r, const hsc__mlir_attr *dict, hsc__mlir_op *op) {
  if (dict->kind != HSC_MLIR_DICT)
    return;
  hsc__mlir_named *attrs =
      hsc__bc_make(r, sizeof *attrs, (size_t)op->attr_count + (size_t)dict->count);
  if (r->status)
    return;
  if (op->attr_count)
    memcpy(attrs, op->attrs, (size_t)op->attr_count * sizeof *attrs);
  if (dict->count)
    memcpy(attrs + op->attr_count, dict->entries, (size_t)dict->count * sizeof *attrs);
  op->attrs = attrs;
  op->attr_count += dict->count;
}

// Nested in StableHLO, flat in VHLO.
static bool is_nested(hsc_view name) {
  static const char *const names[] = {"algorithm", "channel_handle", "dimension_numbers",
                                      "dot_dimension_numbers", "scatter_dimension_numbers"};
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++)
    if (hsc_view_equals_text(name, names[i]))
      return true;
  return false;
}

// The properties whose attributes are as many as the numbers in `data`, or fewer when those that
// are missing at the end are optional.
static const char *native_attributes(hsc__bc_reader *r,
                                     const hsc__bc_op_name *name,
                                     hsc__bc_cursor data) {
  size_t numbers = 0;
  size_t best = SIZE_MAX;
  const char *found = NULL;
  for (; hsc__bc_left(&data) && !r->status; numbers++)
    hsc__bc_varint(r, &data);
  const hsc__mlir_op_row *row = hsc__mlir_op_row_of(name->name);
  for (const hsc__mlir_properties *p = row ? row->properties : NULL; p && p->attributes; p++) {
    if (p->version)
      continue;
    size_t words = 0;
    size_t needed = 0;
    for (const char *at = p->attributes; *at; at += strcspn(at, " "), at += *at == ' ') {
      words++;
      if (*at != '?')
        needed = words;
    }
    if (numbers > words || numbers < needed || words - numbers >= best)
      continue;
    best = words - numbers;
    found = p->attributes;
  }
  return found;
}

static void read_native_properties(hsc__bc_reader *r,
                                   hsc__bc_cursor *c,
                                   const hsc__bc_op_name *name,
                                   hsc__mlir_op *op,
                                   hsc__bc_cursor data) {
  if (!hsc__bc_left(&data))
    return;
  hsc__mlir_named list[32];
  int count = 0;
  const char *at = native_attributes(r, name, data);
  if (!at && !r->status) {
    char what[256];
    snprintf(what, sizeof what, "%.40s.%.80s has properties, and this version does not know them",
             name->dialect, name->name);
    return hsc__bc_fail(r, c, what);
  }
  while (at && *at && hsc__bc_left(&data) && !r->status) {
    bool optional = *at == '?';
    at += optional;
    size_t length = strcspn(at, " ");
    uint64_t number = hsc__bc_varint(r, &data);
    hsc_view attr_name = {at, length};
    at += length;
    at += *at == ' ';
    if (optional && !(number & 1))
      continue;
    const hsc__mlir_attr *value = hsc__bc_attr_at(r, &data, optional ? number >> 1 : number);
    bool nested = value->kind == HSC_MLIR_DICT && is_nested(attr_name);
    for (int i = 0; i < (nested ? value->count : 1); i++) {
      if (count == (int)HSC_COUNT_OF(list))
        return hsc__bc_fail(r, c, "an operation has too many properties");
      list[count++] = nested ? value->entries[i] : (hsc__mlir_named){attr_name, value};
    }
  }
  hsc__mlir_attr all = {.kind = HSC_MLIR_DICT, .entries = list, .count = count};
  if (!r->status)
    read_dict_into(r, &all, op);
}

// The dialect sdy: a list of attributes; they are distinguished by what they are.
static void read_sdy_properties(hsc__bc_reader *r, hsc__mlir_op *op, hsc__bc_cursor data) {
  hsc__mlir_named list[8];
  int count = 0;
  while (data.at < data.end && count < (int)HSC_COUNT_OF(list) && !r->status)
    list[count++] =
        (hsc__mlir_named){HSC_VIEW("sdy"), hsc__bc_attr_at(r, &data, hsc__bc_varint(r, &data))};
  hsc__mlir_named *all = hsc__bc_make(r, sizeof *all, (size_t)(op->attr_count + count));
  if (r->status)
    return;
  if (op->attr_count)
    memcpy(all, op->attrs, sizeof *all * (size_t)op->attr_count);
  if (count)
    memcpy(all + op->attr_count, list, sizeof *all * (size_t)count);
  op->attrs = all;
  op->attr_count += count;
}

// The properties that `name` lists, or the module's (`optional`), of which each may be left out.
static void read_listed_properties(hsc__bc_reader *r,
                                   const hsc__bc_op_name *name,
                                   bool optional,
                                   hsc__bc_property_set *set,
                                   hsc__mlir_op *op) {
  hsc__bc_cursor data = hsc__bc_cursor_of(set->data);
  static const hsc_view module_attrs[] = {{"sym_name", 8}, {"sym_visibility", 14}};
  const hsc_view *names = optional ? module_attrs : name->attr_names;
  size_t count = optional ? HSC_COUNT_OF(module_attrs) : name->attr_count;
  bool alone = !op->attr_count;
  hsc__mlir_named *list = hsc__bc_make(r, sizeof *list, (size_t)op->attr_count + count);
  if (r->status)
    return;
  if (op->attr_count)
    memcpy(list, op->attrs, (size_t)op->attr_count * sizeof *list);
  op->attrs = list;
  for (size_t i = 0; i < count && !r->status; i++) {
    uint64_t number = hsc__bc_varint(r, &data);
    if (!optional || (number & 1))
      list[op->attr_count++] =
          (hsc__mlir_named){names[i], hsc__bc_attr_at(r, &data, optional ? number >> 1 : number)};
  }
  if (alone && !r->status)
    *set = (hsc__bc_property_set){
        .data = set->data, .of = name, .attrs = list, .count = op->attr_count};
}

static void read_op_properties(hsc__bc_reader *r,
                               hsc__bc_cursor *c,
                               const hsc__bc_op_name *name,
                               hsc__mlir_op *op) {
  if (!name->registered) {
    read_dict_into(r, hsc__bc_attr_at(r, c, hsc__bc_varint(r, c)), op);
    return;
  }
  uint64_t index = hsc__bc_varint(r, c);
  if (r->status)
    return;
  if (index >= r->property_count)
    return hsc__bc_fail(r, c, "there are no such properties");
  hsc__bc_property_set *set = &r->properties[index];
  if (set->of == name && !op->attr_count) {
    op->attrs = set->attrs;
    op->attr_count = set->count;
    return;
  }
  hsc__bc_cursor data = hsc__bc_cursor_of(set->data);
  // The module's: its name and visibility, both optional.
  bool optional = !strcmp(name->dialect, "builtin") && !strcmp(name->name, "module");
  const char *attrs = optional ? "sym_name sym_visibility" : name->attrs;
  if (!strcmp(name->dialect, "sdy")) {
    read_sdy_properties(r, op, data);
    return;
  }
  bool native = !strcmp(name->dialect, "stablehlo") || !strcmp(name->dialect, "chlo") ||
                !strcmp(name->dialect, "func");
  if (!attrs && native) {
    read_native_properties(r, c, name, op, data);
    return;
  }
  // another dialect's: the import refuses such operations by name
  if (!attrs && strcmp(name->dialect, "vhlo"))
    return;
  if (!attrs) {
    char what[256];
    snprintf(what, sizeof what, "%.40s.%.80s has properties, and this version does not know them",
             name->dialect, name->name);
    return hsc__bc_fail(r, c, what);
  }
  read_listed_properties(r, name, optional, set, op);
}

static void read_results(hsc__bc_reader *r,
                         hsc__bc_cursor *c,
                         hsc__mlir_block *block,
                         hsc__mlir_op *op) {
  size_t count = hsc__bc_count_of(r, c, 1);
  op->results = hsc__bc_make(r, sizeof *op->results, count);
  for (size_t i = 0; i < count && !r->status; i++)
    op->results[i] = (hsc__mlir_value){
        .type = hsc__bc_type_at(r, c, hsc__bc_varint(r, c)), .owner = op, .block = block};
  op->result_count = (int32_t)count;
}

static void read_operands(hsc__bc_reader *r,
                          hsc__bc_cursor *c,
                          const scope *values,
                          hsc__mlir_op *op) {
  size_t count = hsc__bc_count_of(r, c, 1);
  op->operands = hsc__bc_make(r, sizeof *op->operands, count);
  for (size_t i = 0; i < count && !r->status; i++) {
    op->operands[i] = value_at(r, c, values, hsc__bc_varint(r, c));
    if (!r->status && !op->operands[i])
      hsc__bc_fail(r, c, "a value is used before its definition");
  }
  op->operand_count = (int32_t)count;
}

// `encoding`: the number of regions, and in its lowest bit whether they see no values from outside;
// such ones are in a section of their own from a version on.
static void read_regions(
    hsc__bc_reader *r, hsc__bc_cursor *c, scope *values, uint64_t encoding, hsc__mlir_op *op) {
  bool isolated = encoding & 1;
  uint64_t regions = encoding >> 1;
  if (regions > hsc__bc_left(c))
    return hsc__bc_fail(r, c, "more regions than what is left");
  if (++r->nesting >= HSC__BC_MAX_NESTING)
    hsc__bc_fail(r, c, "regions are nested too deeply");
  op->regions = hsc__bc_make(r, sizeof *op->regions, (size_t)regions);
  hsc__bc_cursor own = {0};
  hsc__bc_cursor *from = c;
  if (isolated && r->version >= HSC__BC_VERSION_LAZY_LOADING) {
    int id = HSC__BC_SECTION_IR;
    own = hsc__bc_section(r, c, &id);
    if (!r->status && id != HSC__BC_SECTION_IR)
      hsc__bc_fail(r, c, "a region is in a section of another kind");
    from = &own;
  }
  scope fresh = {0};
  for (uint64_t i = 0; i < regions && !r->status; i++)
    op->regions[op->region_count++] = read_region(r, from, op, isolated ? &fresh : values);
  r->nesting--;
}

static hsc__mlir_op *read_op(hsc__bc_reader *r,
                             hsc__bc_cursor *c,
                             hsc__mlir_block *block,
                             scope *values,
                             uint64_t *next,
                             uint64_t limit) {
  uint64_t name_index = hsc__bc_varint(r, c);
  if (!r->status && name_index >= r->op_name_count)
    hsc__bc_fail(r, c, "there is no such operation name");
  uint8_t mask = hsc__bc_byte(r, c);
  hsc__mlir_op *op = hsc__bc_make(r, sizeof *op, 1);
  if (r->status)
    return NULL;
  const hsc__bc_op_name *name = &r->op_names[name_index];
  op->name = name->base;
  op->written_name = name->written;
  op->block = block;
  op->location = hsc__bc_attr_at(r, c, hsc__bc_varint(r, c));
  op->has_foreign = mask & OP_ATTRS || !name->attrs;
  if (mask & OP_ATTRS)
    read_dict_into(r, hsc__bc_attr_at(r, c, hsc__bc_varint(r, c)), op);
  if (mask & OP_PROPERTIES)
    read_op_properties(r, c, name, op);
  if (mask & OP_RESULTS)
    read_results(r, c, block, op);
  if (mask & OP_OPERANDS)
    read_operands(r, c, values, op);
  if (mask & OP_SUCCESSORS)
    hsc__bc_fail(r, c, "branches between blocks are no StableHLO");
  if (mask & OP_USE_LISTS)
    skip_use_lists(r, c, (size_t)op->result_count);
  uint64_t encoding = mask & OP_REGIONS ? hsc__bc_varint(r, c) : 0;
  for (int32_t i = 0; i < op->result_count && !r->status; i++)
    define(r, c, values, next, limit, &op->results[i]);
  if (!r->status && encoding >> 1)
    read_regions(r, c, values, encoding, op);
  return op;
}

static void read_block(hsc__bc_reader *r,
                       hsc__bc_cursor *c,
                       hsc__mlir_block *block,
                       scope *values,
                       uint64_t next,
                       uint64_t limit) {
  uint64_t encoding = hsc__bc_varint(r, c);
  uint64_t ops = encoding >> 1;
  if (!r->status && ops > hsc__bc_left(c))
    hsc__bc_fail(r, c, "more operations than what is left");
  if (encoding & 1) {
    size_t count = hsc__bc_count_of(r, c, 1);
    block->arguments = hsc__bc_make(r, sizeof *block->arguments, count);
    for (size_t i = 0; i < count && !r->status; i++) {
      uint64_t type = hsc__bc_varint(r, c);
      bool located = true;
      if (r->version >= HSC__BC_VERSION_ELIDE_LOCATION) {
        located = type & 1;
        type >>= 1;
      }
      block->arguments[i] = (hsc__mlir_value){.type = hsc__bc_type_at(r, c, type), .block = block};
      if (located)
        hsc__bc_attr_at(r, c, hsc__bc_varint(r, c));
      define(r, c, values, &next, limit, &block->arguments[i]);
    }
    block->argument_count = (int32_t)count;
    if (r->version >= HSC__BC_VERSION_USE_LIST && hsc__bc_byte(r, c))
      skip_use_lists(r, c, count);
  }
  block->ops = hsc__bc_make(r, sizeof *block->ops, (size_t)ops);
  for (uint64_t i = 0; i < ops && !r->status; i++) {
    block->ops[i] = read_op(r, c, block, values, &next, limit);
    block->op_count++;
  }
}

static hsc__mlir_block *read_region(hsc__bc_reader *r,
                                    hsc__bc_cursor *c,
                                    hsc__mlir_op *parent,
                                    scope *values) {
  uint64_t blocks = hsc__bc_varint(r, c);
  if (r->status || blocks == 0)
    return NULL;
  uint64_t count = hsc__bc_varint(r, c);
  uint64_t first = values->count;
  if (blocks > 1) {
    hsc__bc_fail(r, c, "a region of several blocks is no StableHLO");
    return NULL;
  }
  hsc__mlir_block *block = hsc__bc_make(r, sizeof *block, 1);
  if (!grow(r, c, values, count))
    return NULL;
  block->parent = parent;
  read_block(r, c, block, values, first, first + count);
  values->count = (size_t)first;  // what the region defined ends with it
  return block;
}

hsc__mlir_op *hsc__bc_read_ir(hsc__bc_reader *r) {
  hsc__bc_cursor *c = &r->sections[HSC__BC_SECTION_IR];
  hsc__mlir_block *top = hsc__bc_make(r, sizeof *top, 1);
  scope values = {0};
  if (r->status)
    return NULL;
  read_block(r, c, top, &values, 0, 0);
  if (!r->status && (top->op_count != 1 || strcmp(top->ops[0]->name, "module")))
    hsc__bc_fail(r, c, "it does not hold one module");
  return r->status ? NULL : top->ops[0];
}
