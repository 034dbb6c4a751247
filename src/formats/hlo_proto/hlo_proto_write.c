// hlo_proto_write.c - writes HloModuleProto, alone or with the configuration that PyTorch/XLA asks
// for.
//
// Ids: computations count from 1 in the order of the module, an instruction's id is its
// computation's in the upper 32 bits and its own number there in the lower ones, as XLA makes them.
#include "formats/hlo_proto/hlo_proto_internal.h"

#include <stdlib.h>

typedef struct writer {
  const hsc_module *module;
  hsc_bytes *out;
  bool *fused;  // [computation_count]: a fusion calls it
} writer;

// Numbers of a module that is only read: computation -> number by pointer, in a sorted array.
typedef struct number_of {
  const hsc_computation *computation;
  int64_t number;
} number_of;

typedef struct numbers {
  number_of *items;
  size_t count;
} numbers;

static int by_pointer(const void *a, const void *b) {
  const hsc_computation *x = ((const number_of *)a)->computation;
  const hsc_computation *y = ((const number_of *)b)->computation;
  return x < y ? -1 : x > y;
}

static int64_t find_number(const numbers *n, const hsc_computation *computation) {
  size_t low = 0;
  size_t high = n->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (n->items[middle].computation == computation)
      return n->items[middle].number;
    if (n->items[middle].computation < computation)
      low = middle + 1;
    else
      high = middle;
  }
  return -1;
}

// The same for the instructions of one computation: instr -> number, open addressing by pointer.
typedef struct instr_numbers {
  const hsc_instr **keys;
  uint32_t *values;
  size_t capacity;
} instr_numbers;

static size_t instr_slot(const instr_numbers *n, const hsc_instr *instr) {
  uint64_t hash = (uint64_t)(uintptr_t)instr * 0x9e3779b97f4a7c15u;
  size_t at = (hash >> 20) & (n->capacity - 1);
  while (n->keys[at] && n->keys[at] != instr)
    at = (at + 1) & (n->capacity - 1);
  return at;
}

static hsc_status *number_instrs(instr_numbers *n, const hsc_computation *computation) {
  size_t capacity = 64;
  while (capacity < (size_t)computation->instr_count * 2)
    capacity *= 2;
  hsc_free(n->keys);
  hsc_free(n->values);
  n->keys = hsc_alloc(capacity * sizeof(hsc_instr *));
  n->values = hsc_alloc(capacity * sizeof *n->values);
  n->capacity = capacity;
  if (!n->keys || !n->values)
    return hsc_status_out_of_memory();
  uint32_t number = 0;
  for (const hsc_instr *it = computation->first; it; it = it->next) {
    size_t at = instr_slot(n, it);
    n->keys[at] = it;
    n->values[at] = number++;
  }
  return NULL;
}

static int64_t id_of(const instr_numbers *n, int64_t computation, const hsc_instr *instr) {
  return computation << 32 | n->values[instr_slot(n, instr)];
}

// ---- texts --------------------------------------------------------------------------------------

// The next "name=value" of a list of attributes, separated by ", " at depth 0.
static bool next_attribute(hsc__scan *scan, hsc_view *out_name, hsc_view *out_value) {
  hsc__scan_char(scan, ',');
  if (hsc__scan_done(scan))
    return false;
  *out_name = hsc__scan_ident(scan);
  if (out_name->size == 0 || !hsc__scan_char(scan, '='))
    return false;
  const char *start = scan->p;
  int depth = 0;
  for (; scan->p < scan->end; scan->p++) {
    char c = *scan->p;
    if (c == '"') {
      for (scan->p++; scan->p < scan->end && *scan->p != '"'; scan->p++)
        if (*scan->p == '\\')
          scan->p++;
      if (scan->p >= scan->end)
        break;
    } else if (c == '{' || c == '(' || c == '[') {
      depth++;
    } else if (c == '}' || c == ')' || c == ']') {
      depth--;
    } else if (c == ',' && depth == 0) {
      break;
    }
  }
  if (scan->p > scan->end)
    scan->p = scan->end;
  *out_value = (hsc_view){start, (size_t)(scan->p - start)};
  return true;
}

// proto_fields="0a02...": the bytes of fields that the reader did not know.
static bool write_hex(hsc_view value, hsc_bytes *out) {
  if (value.size < 2 || value.data[0] != '"' || value.size % 2 != 0)
    return false;
  for (size_t i = 1; i + 1 < value.size; i += 2) {
    int high = hsc__hex_value(value.data[i]);
    int low = hsc__hex_value(value.data[i + 1]);
    if (high < 0 || low < 0)
      return false;
    hsc_bytes_append_char(out, (char)(high << 4 | low));
  }
  return true;
}

static bool write_ragged_dims(hsc_view name, hsc_view value, hsc_bytes *out) {
  hsc__scan scan = hsc__scan_of(value);
  int64_t dims[HSC_MAX_RANK];
  int count;
  uint32_t field;
  if (hsc_view_equals_text(name, "lhs_ragged_dims"))
    field = 2;
  else if (hsc_view_equals_text(name, "rhs_group_dims"))
    field = 3;
  else
    field = 0;
  if (!field || !hsc__scan_ints(&scan, '{', '}', dims, HSC_MAX_RANK, &count))
    return false;
  hsc_wire_put_packed(out, field, dims, (size_t)count);
  return true;
}

// What a field was made from goes back to it; what has no field goes to our own, so that nothing is
// lost.
static void write_extra(const hsc_instr *instr, hsc_bytes *out) {
  if (!instr->extra_attributes)
    return;
  hsc_bytes other = {0};
  hsc_bytes ragged = {0};
  hsc__scan scan = hsc__scan_of(hsc_view_of(instr->extra_attributes));
  for (hsc_view name, value; next_attribute(&scan, &name, &value);) {
    size_t before = out->size;
    bool done = hsc_view_equals_text(name, "proto_fields") && write_hex(value, out);
    if (!done && instr->op == HSC_OP_RAGGED_DOT) {
      done = write_ragged_dims(name, value, &ragged);
      if (done)
        continue;
    }
    for (int k = 0; k < hsc__proto_row_count && !done; k++) {
      const hsc__proto_row *row = &hsc__proto_rows[k];
      if (!row->text || !hsc_view_equals_text(name, row->text) ||
          !hsc__proto_row_is_of(row, instr->op))
        continue;
      done = hsc__proto_text_to(row, value, out);
      if (!done && !out->failed)
        out->size = before;
    }
    if (done)
      continue;
    if (!out->failed)
      out->size = before;
    hsc_bytes_printf(&other, "%s%.*s=%.*s", other.size ? ", " : "", (int)name.size, name.data,
                     (int)value.size, value.data);
  }
  if (instr->op == HSC_OP_RAGGED_DOT) {
    static const hsc__proto_row dims_row = {.kind = HSC__PROTO_DOT_DIMS, .number = 1};
    hsc_instr plain = *instr;
    plain.op = HSC_OP_DOT;
    size_t mark = hsc_wire_begin(out, 90);
    hsc_status_free(hsc__proto_write_attr(out, &dims_row, &plain));
    hsc_bytes_append(out, hsc_bytes_text(&ragged), ragged.size);
    hsc_wire_end(out, mark);
  }
  if (other.size)
    hsc_wire_put_bytes(out, HSC__INSTR_OTHER_ATTRIBUTES, other.data, other.size);
  out->failed |= other.failed || ragged.failed;
  hsc_bytes_deinit(&other);
  hsc_bytes_deinit(&ragged);
}

static void write_metadata_extra(const char *text, hsc_bytes *out) {
  hsc__scan scan = hsc__scan_of(hsc_view_of(text));
  hsc_bytes string = {0};
  int64_t values[16];
  int count;
  while (!hsc__scan_done(&scan)) {
    hsc_view name = hsc__scan_ident(&scan);
    if (name.size == 0 || !hsc__scan_char(&scan, '='))
      break;
    uint32_t field;
    if (hsc_view_equals_text(name, "deduplicated_name"))
      field = 12;
    else if (hsc_view_equals_text(name, "scheduling_name"))
      field = 16;
    else if (hsc_view_equals_text(name, "size_of_generated_code_in_bytes"))
      field = 8;
    else if (hsc_view_equals_text(name, "size_of_memory_working_set_in_bytes"))
      field = 9;
    else if (hsc_view_equals_text(name, "profile_type"))
      field = 5;
    else if (hsc_view_equals_text(name, "metadata_payload"))
      field = 20;
    else
      field = 0;
    if (hsc__scan_peek(&scan, '"')) {
      if (!hsc__scan_string(&scan, &string))
        break;
      if (field == 20) {
        size_t mark = hsc_wire_begin(out, field);
        hsc_wire_put_bytes(out, 1, hsc_bytes_text(&string), string.size);
        hsc_wire_end(out, mark);
      } else if (field) {
        hsc_wire_put_bytes(out, field, hsc_bytes_text(&string), string.size);
      }
    } else if (hsc__scan_peek(&scan, '{')) {
      if (!hsc__scan_ints(&scan, '{', '}', values, 16, &count))
        break;
      if (field)
        hsc_wire_put_packed(out, field, values, (size_t)count);
    } else if (hsc__scan_int(&scan, values)) {
      if (field)
        hsc_wire_put_int(out, field, values[0]);
    } else {
      hsc__scan_ident(&scan);
    }
  }
  hsc_bytes_deinit(&string);
}

static void write_metadata(const hsc_metadata *metadata, hsc_bytes *out) {
  size_t mark = hsc_wire_begin(out, HSC__INSTR_METADATA);
  hsc_wire_put_text(out, 1, metadata->op_type);
  hsc_wire_put_text(out, 2, metadata->op_name);
  hsc_wire_put_text(out, 3, metadata->source_file);
  hsc_wire_put_int(out, 4, metadata->source_line);
  if (metadata->extra)
    write_metadata_extra(metadata->extra, out);
  hsc_wire_put_int(out, 15, metadata->stack_frame_id);
  hsc_wire_put_int(out, 17, metadata->source_end_line);
  hsc_wire_put_int(out, 18, metadata->source_column);
  hsc_wire_put_int(out, 19, metadata->source_end_column);
  hsc_wire_end(out, mark);
}

static void write_backend_config(const hsc_instr *instr, hsc_bytes *out) {
  const char *text = instr->backend_config;
  if (!text) {
    if (instr->op == HSC_OP_CUSTOM_CALL)
      hsc_wire_put_text(out, HSC__INSTR_BACKEND_CONFIG, instr->attr.custom.opaque);
  } else if (*text == '"') {
    hsc_bytes value = {0};
    hsc__scan scan = hsc__scan_of(hsc_view_of(text));
    if (hsc__scan_string(&scan, &value))
      hsc_wire_put_bytes(out, HSC__INSTR_BACKEND_CONFIG, hsc_bytes_text(&value), value.size);
    hsc_bytes_deinit(&value);
  } else {
    hsc_wire_put_text(out, HSC__INSTR_BACKEND_CONFIG, text);
  }
}

// ---- instructions, computations -----------------------------------------------------------------

static hsc_status *write_instr(writer *w,
                               const hsc_instr *instr,
                               const numbers *computations,
                               const instr_numbers *ids,
                               int64_t computation) {
  hsc_bytes *out = w->out;
  size_t mark = hsc_wire_begin(out, HSC__COMPUTATION_INSTRUCTIONS);
  hsc_wire_put_text(out, HSC__INSTR_NAME, instr->name);
  hsc_wire_put_text(out, HSC__INSTR_OPCODE, hsc_op_text(instr->op));
  HSC_TRY(hsc__proto_write_shape(out, HSC__INSTR_SHAPE, &instr->shape));
  if (instr->metadata)
    write_metadata(instr->metadata, out);
  for (int k = 0; k < hsc__proto_row_count; k++) {
    const hsc__proto_row *row = &hsc__proto_rows[k];
    if (!row->text && hsc__proto_row_is_of(row, instr->op))
      HSC_TRY_NOTE(hsc__proto_write_attr(out, row, instr), "in the instruction '%s'", instr->name);
  }
  hsc_wire_put_int(out, HSC__INSTR_ID, id_of(ids, computation, instr));
  if (instr->operand_count > 0) {
    size_t list = hsc_wire_begin(out, HSC__INSTR_OPERANDS);
    for (int i = 0; i < instr->operand_count; i++)
      hsc_wire_put_raw_varint(out, (uint64_t)id_of(ids, computation, instr->operands[i]));
    hsc_wire_end(out, list);
  }
  if (instr->control_count > 0) {
    size_t list = hsc_wire_begin(out, HSC__INSTR_CONTROL);
    for (int i = 0; i < instr->control_count; i++)
      hsc_wire_put_raw_varint(out,
                              (uint64_t)id_of(ids, computation, instr->control_predecessors[i]));
    hsc_wire_end(out, list);
  }
  int called_count = instr->called_count;
  hsc_computation *const *called = instr->called;
  if (called_count > 0) {
    size_t list = hsc_wire_begin(out, HSC__INSTR_CALLED);
    // XLA has the body of a while before its condition.
    for (int i = 0; i < called_count; i++)
      hsc_wire_put_raw_varint(
          out, (uint64_t)find_number(computations,
                                     called[instr->op == HSC_OP_WHILE ? called_count - 1 - i : i]));
    hsc_wire_end(out, list);
  }
  if (instr->sharding &&
      !hsc__proto_sharding_write(hsc_view_of(instr->sharding), out, HSC__INSTR_SHARDING))
    return HSC_ERR(UNIMPLEMENTED, "'%s': sharding=%s: not built yet: writing it as OpSharding",
                   instr->name, instr->sharding);
  write_backend_config(instr, out);
  if (instr->frontend_attributes &&
      !hsc__proto_frontend_write(hsc_view_of(instr->frontend_attributes), out,
                                 HSC__INSTR_FRONTEND_ATTRIBUTES))
    return HSC_ERR(INVALID_ARGUMENT, "'%s': frontend_attributes=%s cannot be read", instr->name,
                   instr->frontend_attributes);
  write_extra(instr, out);
  hsc_wire_end(out, mark);
  return NULL;
}

static hsc_status *write_program_shape(hsc_bytes *out,
                                       uint32_t field,
                                       const hsc_computation *computation) {
  size_t mark = hsc_wire_begin(out, field);
  for (int i = 0; i < computation->parameter_count; i++)
    HSC_TRY(hsc__proto_write_shape(out, 1, &computation->parameters[i]->shape));
  HSC_TRY(hsc__proto_write_shape(out, 2, &computation->root->shape));
  for (int i = 0; i < computation->parameter_count; i++) {
    const char *name = computation->parameters[i]->name;
    hsc_wire_put_bytes(out, 3, name, strlen(name));
  }
  hsc_wire_end(out, mark);
  return NULL;
}

// From the module's entry layout when it has one: its shapes may have other layouts than the
// parameters.
static hsc_status *write_entry_shape(writer *w, uint32_t field) {
  const hsc_module *module = w->module;
  if (!module->layout_text)
    return write_program_shape(w->out, field, module->entry);
  hsc_arena *arena;
  HSC_TRY(hsc_arena_create(&arena));
  hsc_shape *parameters, result;
  int count;
  hsc_status *status = hsc_hlo_text_parse_entry_layout(arena, hsc_view_of(module->layout_text),
                                                       &count, &parameters, &result);
  size_t mark = hsc_wire_begin(w->out, field);
  for (int i = 0; i < count && !status; i++)
    status = hsc__proto_write_shape(w->out, 1, &parameters[i]);
  if (!status)
    status = hsc__proto_write_shape(w->out, 2, &result);
  for (int i = 0; i < module->entry->parameter_count && !status; i++)
    hsc_wire_put_bytes(w->out, 3, module->entry->parameters[i]->name,
                       strlen(module->entry->parameters[i]->name));
  hsc_wire_end(w->out, mark);
  hsc_arena_destroy(arena);
  return status;
}

static hsc_status *write_computation(writer *w,
                                     const hsc_computation *computation,
                                     const numbers *computations,
                                     instr_numbers *ids,
                                     int64_t number) {
  HSC_TRY(number_instrs(ids, computation));
  size_t mark = hsc_wire_begin(w->out, HSC__MODULE_COMPUTATIONS);
  hsc_wire_put_text(w->out, HSC__COMPUTATION_NAME, computation->name);
  for (const hsc_instr *it = computation->first; it; it = it->next)
    HSC_TRY(write_instr(w, it, computations, ids, number));
  HSC_TRY(write_program_shape(w->out, HSC__COMPUTATION_PROGRAM_SHAPE, computation));
  hsc_wire_put_int(w->out, HSC__COMPUTATION_ID, number);
  hsc_wire_put_int(w->out, HSC__COMPUTATION_ROOT_ID, id_of(ids, number, computation->root));
  hsc_wire_put_bool(w->out, HSC__COMPUTATION_IS_FUSION, w->fused[number - 1]);
  hsc_wire_put_text(w->out, HSC__COMPUTATION_THREAD, computation->execution_thread);
  hsc_wire_end(w->out, mark);
  return hsc_bytes_status(w->out);
}

// ---- module -------------------------------------------------------------------------------------

static void write_aliases(const hsc_alias *aliases, int count, bool donors, hsc_bytes *out) {
  if (count == 0)
    return;
  size_t mark = hsc_wire_begin(out, donors ? HSC__MODULE_DONORS : HSC__MODULE_ALIASES);
  for (int i = 0; i < count; i++) {
    const hsc_alias *it = &aliases[i];
    size_t entry = hsc_wire_begin(out, 1);
    if (!donors)
      hsc_wire_put_packed(out, 1, it->output_index.v, (size_t)it->output_index.count);
    hsc_wire_put_int(out, donors ? 1 : 2, it->parameter);
    hsc_wire_put_packed(out, donors ? 2 : 3, it->parameter_index.v,
                        (size_t)it->parameter_index.count);
    if (!donors)
      hsc_wire_put_int(out, 4, it->must_alias ? 2 : 1);
    hsc_wire_end(out, entry);
  }
  hsc_wire_end(out, mark);
}

static void write_stack_index(const hsc_stack_index *index, hsc_bytes *out) {
  if (!index)
    return;
  size_t mark = hsc_wire_begin(out, HSC__MODULE_STACK_INDEX);
  for (int i = 0; i < index->file_name_count; i++)
    hsc_wire_put_bytes(out, 1, index->file_names[i], strlen(index->file_names[i]));
  for (int i = 0; i < index->function_name_count; i++)
    hsc_wire_put_bytes(out, 2, index->function_names[i], strlen(index->function_names[i]));
  for (int i = 0; i < index->location_count; i++) {
    const hsc_file_location *it = &index->locations[i];
    size_t record = hsc_wire_begin(out, 3);
    hsc_wire_put_int(out, 1, it->file_name);
    hsc_wire_put_int(out, 2, it->function_name);
    hsc_wire_put_int(out, 3, it->line);
    hsc_wire_put_int(out, 4, it->column);
    hsc_wire_put_int(out, 5, it->end_line);
    hsc_wire_put_int(out, 6, it->end_column);
    hsc_wire_end(out, record);
  }
  for (int i = 0; i < index->frame_count; i++) {
    size_t record = hsc_wire_begin(out, 4);
    hsc_wire_put_int(out, 1, index->frames[i].location);
    hsc_wire_put_int(out, 2, index->frames[i].parent);
    hsc_wire_end(out, record);
  }
  hsc_wire_end(out, mark);
}

// A fused computation has no schedule of its own.
static hsc_status *write_schedule(writer *w) {
  if (!w->module->is_scheduled)
    return NULL;
  size_t mark = hsc_wire_begin(w->out, HSC__MODULE_SCHEDULE);
  for (int i = 0; i < w->module->computation_count; i++) {
    if (w->fused[i])
      continue;
    size_t entry = hsc_wire_begin(w->out, 1);
    hsc_wire_put_varint(w->out, 1, (uint64_t)i + 1);
    size_t sequence = hsc_wire_begin(w->out, 2);
    size_t list = hsc_wire_begin(w->out, 1);
    for (int64_t k = 0; k < w->module->computations[i]->instr_count; k++)
      hsc_wire_put_raw_varint(w->out, (uint64_t)((int64_t)(i + 1) << 32 | k));
    hsc_wire_end(w->out, list);
    hsc_wire_end(w->out, sequence);
    hsc_wire_end(w->out, entry);
  }
  hsc_wire_end(w->out, mark);
  return hsc_bytes_status(w->out);
}

static void write_module_extra(const char *text, hsc_bytes *out) {
  if (!text)
    return;
  hsc_bytes other = {0};
  hsc__scan scan = hsc__scan_of(hsc_view_of(text));
  for (hsc_view name, value; next_attribute(&scan, &name, &value);) {
    size_t before = out->size;
    if (hsc_view_equals_text(name, "frontend_attributes") &&
        hsc__proto_frontend_write(value, out, HSC__MODULE_FRONTEND_ATTRIBUTES))
      continue;
    if (!out->failed)
      out->size = before;
    if (hsc_view_equals_text(name, "proto_fields") && write_hex(value, out))
      continue;
    if (!out->failed)
      out->size = before;
    hsc_bytes_printf(&other, "%s%.*s=%.*s", other.size ? ", " : "", (int)name.size, name.data,
                     (int)value.size, value.data);
  }
  if (other.size)
    hsc_wire_put_bytes(out, HSC__MODULE_OTHER_ATTRIBUTES, other.data, other.size);
  out->failed |= other.failed;
  hsc_bytes_deinit(&other);
}

static hsc_status *write_module(writer *w) {
  const hsc_module *module = w->module;
  size_t count = (size_t)module->computation_count;
  hsc_status *status = NULL;
  instr_numbers ids = {0};
  numbers computations = {.items = hsc_alloc((count + 1) * sizeof(number_of)), .count = count};
  w->fused = hsc_alloc(count + 1);
  if (!computations.items || !w->fused) {
    status = hsc_status_out_of_memory();
    goto done;
  }
  for (size_t i = 0; i < count; i++)
    computations.items[i] = (number_of){module->computations[i], (int64_t)i + 1};
  qsort(computations.items, count, sizeof *computations.items, by_pointer);
  for (size_t i = 0; i < count; i++)
    for (const hsc_instr *it = module->computations[i]->first; it; it = it->next)
      if (it->op == HSC_OP_FUSION && it->called_count == 1 &&
          find_number(&computations, it->called[0]) > 0)
        w->fused[find_number(&computations, it->called[0]) - 1] = true;
  hsc_wire_put_text(w->out, HSC__MODULE_NAME, module->name);
  hsc_wire_put_text(w->out, HSC__MODULE_ENTRY_NAME, module->entry->name);
  for (size_t i = 0; i < count; i++)
    HSC_GOTO(write_computation(w, module->computations[i], &computations, &ids, (int64_t)i + 1));
  HSC_GOTO(write_entry_shape(w, HSC__MODULE_PROGRAM_SHAPE));
  hsc_wire_put_int(w->out, HSC__MODULE_ENTRY_ID, find_number(&computations, module->entry));
  HSC_GOTO(write_schedule(w));
  write_aliases(module->aliases, module->alias_count, false, w->out);
  write_stack_index(module->stack_index, w->out);
  write_aliases(module->donors, module->donor_count, true, w->out);
  write_module_extra(module->extra_attributes, w->out);
  if (module->replica_count != 1)
    hsc_wire_put_int(w->out, HSC__MODULE_REPLICAS, module->replica_count);
  if (module->num_partitions != 1)
    hsc_wire_put_int(w->out, HSC__MODULE_PARTITIONS, module->num_partitions);
  status = hsc_bytes_status(w->out);
done:
  hsc_free(computations.items);
  hsc_free(w->fused);
  w->fused = NULL;
  hsc_free(ids.keys);
  hsc_free(ids.values);
  return status;
}

hsc_status *hsc_hlo_proto_write(const hsc_module *module, hsc_bytes *out_bytes) {
  writer w = {.module = module, .out = out_bytes};
  return write_module(&w);
}

hsc_status *hsc_hlo_proto_write_with_config(const hsc_module *module, hsc_bytes *out_bytes) {
  writer w = {.module = module, .out = out_bytes};
  size_t mark = hsc_wire_begin(out_bytes, 1);
  HSC_TRY(write_module(&w));
  hsc_wire_end(out_bytes, mark);
  mark = hsc_wire_begin(out_bytes, 2);
  HSC_TRY(write_entry_shape(&w, 1));
  hsc_wire_put_int(out_bytes, 4, module->replica_count);
  hsc_wire_put_int(out_bytes, 5, module->num_partitions);
  hsc_wire_end(out_bytes, mark);
  return hsc_bytes_status(out_bytes);
}
