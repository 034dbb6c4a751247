// hlo_proto_read.c - reads HloModuleProto, also inside HloProto, HloModuleProtoWithConfig and
// HloSnapshot.
//
// Two walks: the first makes the computations and knows their ids, the second fills them. Within a
// computation operands are before their users. Ids of the proto are mapped to instructions; our
// ids count from 0. What the IR has no place for is kept as text, and fields that are not known
// here by their bytes, as proto_fields="hex of the fields".
#include "formats/hlo_proto/hlo_proto_internal.h"
#include "hlo/ir/attr_text.h"

#include <inttypes.h>

enum { MAX_FIELDS = 96, MAX_LATE = 64 };  // fields of one instruction that are looked at twice

typedef struct id_slot {
  int64_t id;
  hsc_instr *instr;  // NULL = free
} id_slot;

typedef struct called_fixup {
  hsc_instr *instr;
  int32_t index;
  int64_t id;
} called_fixup;

typedef struct computation_id {
  int64_t id;
  hsc_computation *computation;
} computation_id;

typedef struct reader {
  hsc_module *module;
  hsc_arena *arena;
  hsc_view *payloads;  // HloModuleProto.payloads
  size_t payload_count;
  id_slot *ids;        // of the computation that is being read
  size_t id_capacity;  // a power of two
  size_t id_allocated;
  computation_id *computations;  // open addressing
  size_t computation_capacity;
  called_fixup *called;
  size_t called_count, called_capacity;
  hsc_bytes text, name;
  struct {
    uint8_t count;     // 0 = not made yet
    uint8_t rows[31];  // of hsc__proto_rows
  } rows[HSC_OP_COUNT];
  hsc__proto_cache cache;
} reader;

// ---- ids ----------------------------------------------------------------------------------------

static uint64_t mix(uint64_t x) {
  x *= 0x9e3779b97f4a7c15u;
  return x ^ (x >> 32);
}

// Ids of a computation are mostly 0, 1, 2, ...: the slot is the id itself. One that is taken goes
// where its hash says.
static size_t id_slot_of(const reader *r, int64_t id) {
  size_t mask = r->id_capacity - 1;
  size_t at = (size_t)id & mask;
  if (!r->ids[at].instr || r->ids[at].id == id)
    return at;
  for (at = mix((uint64_t)id) & mask; r->ids[at].instr && r->ids[at].id != id;
       at = (at + 1) & mask) {
  }
  return at;
}

static hsc_status *id_put(reader *r, int64_t id, hsc_instr *instr) {
  id_slot *slot = &r->ids[id_slot_of(r, id)];
  if (slot->instr)
    return HSC_ERR(DATA_LOSS, "'%s' and '%s' have the same id %" PRId64, slot->instr->name,
                   instr->name, id);
  *slot = (id_slot){id, instr};
  return NULL;
}

static hsc_instr *id_get(const reader *r, int64_t id) {
  return r->ids[id_slot_of(r, id)].instr;
}

static hsc_status *ids_reset(reader *r, size_t count) {
  size_t capacity = 64;
  while (capacity < count * 2)
    capacity *= 2;
  r->id_capacity = capacity;
  if (capacity > r->id_allocated) {
    hsc_free(r->ids);
    r->ids = hsc_alloc(capacity * sizeof *r->ids);
    r->id_allocated = r->ids ? capacity : 0;
    return r->ids ? NULL : hsc_status_out_of_memory();
  }
  // A large table is not cleared for a small computation: a part of it does.
  memset(r->ids, 0, capacity * sizeof *r->ids);
  return NULL;
}

static hsc_computation **computation_slot(reader *r, int64_t id) {
  size_t at = mix((uint64_t)id) & (r->computation_capacity - 1);
  while (r->computations[at].computation && r->computations[at].id != id)
    at = (at + 1) & (r->computation_capacity - 1);
  r->computations[at].id = id;
  return &r->computations[at].computation;
}

// ---- one instruction ----------------------------------------------------------------------------

static hsc_status *append_text(hsc_arena *arena, const char **text, hsc_view more) {
  if (more.size == 0)
    return NULL;
  const char *before = *text;
  *text = hsc_arena_printf(arena, "%s%s%.*s", before ? before : "", before ? ", " : "",
                           (int)more.size, more.data);
  return *text ? NULL : hsc_status_out_of_memory();
}

static const char *copy_view(hsc_arena *arena, hsc_view view) {
  return view.size ? hsc_arena_strndup(arena, view.data, view.size) : NULL;
}

// A Payload: its own bytes, or the number of one that the module has.
static hsc_view payload_of(const reader *r, hsc_view bytes) {
  hsc_view value = {0};
  uint64_t id = UINT64_MAX;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 1)
      value = f.bytes;
    else if (f.number == 2)
      id = f.value;
  }
  if (value.data)
    return value;
  if (id < r->payload_count)
    return r->payloads[id];
  return (hsc_view){"", 0};
}

// What the IR has no member for: it is kept as the text that the printer of HLO gives it. `between`
// comes before it.
static hsc_status *append_metadata_text(const reader *r,
                                        const hsc_wire_field *f,
                                        const char *between,
                                        hsc_bytes *extra) {
  static const struct {
    uint32_t field;
    const char *key;
  } numbers[] = {{8, "size_of_generated_code_in_bytes"},
                 {9, "size_of_memory_working_set_in_bytes"}},
    texts[] = {{12, "deduplicated_name"}, {16, "scheduling_name"}, {20, "metadata_payload"}};
  for (size_t i = 0; i < HSC_COUNT_OF(numbers); i++)
    if (f->number == numbers[i].field)
      hsc_bytes_printf(extra, "%s%s=%" PRId64, between, numbers[i].key, (int64_t)f->value);
  for (size_t i = 0; i < HSC_COUNT_OF(texts); i++) {
    if (f->number != texts[i].field)
      continue;
    hsc_view value = f->number == 20 ? payload_of(r, f->bytes) : f->bytes;
    if (value.size == 0)
      continue;
    hsc_bytes_printf(extra, "%s%s=", between, texts[i].key);
    hsc__append_quoted(extra, value);
  }
  if (f->number != 5)
    return NULL;
  int64_t types[16];
  size_t count = 0;
  if (!hsc_wire_ints(f, types, 16, &count))
    return HSC_ERR(DATA_LOSS, "OpMetadata: malformed numbers");
  if (count > 16)
    count = 16;
  for (size_t i = 0; i < count; i++)
    hsc_bytes_printf(extra, "%s%s%" PRId64, i ? "," : between, i ? "" : "profile_type={", types[i]);
  if (count)
    hsc_bytes_append_char(extra, '}');
  return NULL;
}

static hsc_status *read_metadata(reader *r, hsc_view bytes, const hsc_metadata **out_metadata) {
  if (bytes.size == 0)
    return NULL;
  size_t slot = hsc_hash64(bytes.data, bytes.size, 3) % HSC_COUNT_OF(r->cache.metadata);
  if (r->cache.metadata[slot].metadata && hsc_view_equals(r->cache.metadata[slot].bytes, bytes)) {
    *out_metadata = r->cache.metadata[slot].metadata;
    return NULL;
  }
  hsc_metadata *metadata = HSC_NEW(r->arena, hsc_metadata);
  hsc_bytes *extra = &r->text;
  hsc_bytes_reset(extra);
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    switch (f.number) {
      case 1:
        metadata->op_type = copy_view(r->arena, f.bytes);
        break;
      case 2:
        metadata->op_name = copy_view(r->arena, f.bytes);
        break;
      case 3:
        metadata->source_file = copy_view(r->arena, f.bytes);
        break;
      case 4:
        metadata->source_line = (int32_t)f.value;
        break;
      case 15:
        metadata->stack_frame_id = (int32_t)f.value;
        break;
      case 17:
        metadata->source_end_line = (int32_t)f.value;
        break;
      case 18:
        metadata->source_column = (int32_t)f.value;
        break;
      case 19:
        metadata->source_end_column = (int32_t)f.value;
        break;
      default:
        HSC_TRY(append_metadata_text(r, &f, extra->size ? " " : "", extra));
        break;
    }
  }
  HSC_TRY(hsc_wire_status(&in, "OpMetadata"));
  HSC_TRY(hsc_bytes_status(extra));
  if (extra->size)
    metadata->extra = hsc_arena_strndup(r->arena, extra->data, extra->size);
  r->cache.metadata[slot].bytes = bytes;
  r->cache.metadata[slot].metadata = metadata;
  *out_metadata = metadata;
  return NULL;
}

// A backend configuration is JSON, or (custom calls) any bytes.
static hsc_status *read_backend_config(reader *r, hsc_instr *instr, hsc_view value) {
  if (value.size == 0)
    return NULL;
  if (instr->op == HSC_OP_CUSTOM_CALL)
    instr->attr.custom.opaque = copy_view(r->arena, value);
  if (value.data[0] == '{' && value.data[value.size - 1] == '}') {
    instr->backend_config = copy_view(r->arena, value);
    return NULL;
  }
  hsc_bytes_reset(&r->text);
  hsc__append_quoted(&r->text, value);
  instr->backend_config = hsc_arena_strndup(r->arena, hsc_bytes_text(&r->text), r->text.size);
  return hsc_bytes_status(&r->text);
}

static hsc_status *unknown_id(const hsc_instr *instr, bool control, int64_t id) {
  return HSC_ERR(DATA_LOSS, "'%s': %s with the id %" PRId64 ", which no instruction before it has",
                 instr->name, control ? "a control predecessor" : "an operand", id);
}

static hsc_status *read_operands(reader *r,
                                 hsc_instr *instr,
                                 const hsc_wire_field *field,
                                 bool control) {
  if (!control) {
    size_t count = hsc_wire_int_count(field);
    hsc_instr **operands =
        HSC_NEW_ARRAY(r->arena, hsc_instr *, (size_t)instr->operand_count + count);
    HSC_TRY(hsc_arena_status(r->arena));
    if (instr->operand_count)
      memcpy(operands, instr->operands, sizeof(hsc_instr *) * (size_t)instr->operand_count);
    instr->operands = operands;
  }
  hsc_wire packed = hsc_wire_of(field->bytes);
  bool single = field->type == HSC_WIRE_VARINT;
  while (single || packed.p < packed.end) {
    uint64_t id = field->value;
    if (!single && !hsc_wire_varint(&packed, &id))
      return HSC_ERR(DATA_LOSS, "'%s': malformed operands", instr->name);
    hsc_instr *from = id_get(r, (int64_t)id);
    if (!from)
      return unknown_id(instr, control, (int64_t)id);
    if (control)
      hsc_instr_add_control_predecessor(instr, from);
    else
      instr->operands[instr->operand_count++] = from;
    if (single)
      break;
  }
  return NULL;
}

static hsc_status *read_called(reader *r, hsc_instr *instr, const hsc_wire_field *field) {
  hsc_dims ids = {0};
  HSC_TRY(hsc__proto_read_dims(r->arena, field, &ids));
  int before = instr->called_count;
  int count = before + ids.count;
  hsc_computation **called = HSC_NEW_ARRAY(r->arena, hsc_computation *, count);
  HSC_TRY(hsc_arena_status(r->arena));
  if (before)
    memcpy(called, instr->called, sizeof(hsc_computation *) * (size_t)before);
  instr->called = called;
  instr->called_count = count;
  for (int i = 0; i < ids.count; i++) {
    if (!HSC_GROW(r->called, r->called_count, r->called_capacity))
      return hsc_status_out_of_memory();
    r->called[r->called_count++] = (called_fixup){instr, before + i, ids.v[i]};
  }
  return NULL;
}

// Bytes of a field that has no row: kept unless they say nothing.
static hsc_status *keep_unknown(const hsc_wire_field *field, hsc_bytes *hex) {
  if (field->type == HSC_WIRE_BYTES ? field->bytes.size == 0 : field->value == 0)
    return NULL;
  hsc_bytes bytes = {0};
  if (field->type == HSC_WIRE_BYTES)
    hsc_wire_put_bytes(&bytes, field->number, field->bytes.data, field->bytes.size);
  else if (field->type == HSC_WIRE_VARINT)
    hsc_wire_put_varint(&bytes, field->number, field->value);
  else {
    size_t size = field->type == HSC_WIRE_FIXED64 ? 8 : 4;
    hsc_wire_put_raw_varint(&bytes, (uint64_t)field->number << 3 | field->type);
    hsc_bytes_append(&bytes, &field->value, size);
  }
  for (size_t i = 0; i < bytes.size; i++)
    hsc_bytes_printf(hex, "%02x", (unsigned char)bytes.data[i]);
  hsc_status *status = hsc_bytes_status(&bytes);
  hsc_bytes_deinit(&bytes);
  return status;
}

static hsc_status *append_hex(hsc_arena *arena, const char **text, const hsc_bytes *hex) {
  if (hex->size == 0)
    return NULL;
  HSC_TRY(hsc_bytes_status(hex));
  const char *quoted = hsc_arena_printf(arena, "proto_fields=\"%s\"", hex->data);
  return quoted ? append_text(arena, text, hsc_view_of(quoted)) : hsc_status_out_of_memory();
}

static hsc_status *read_ragged(reader *r, hsc_instr *instr, hsc_view bytes, hsc_bytes *text) {
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 1) {
      static const hsc__proto_row dot_row = {.kind = HSC__PROTO_DOT_DIMS};
      HSC_TRY(hsc__proto_read_attr(r->arena, &dot_row, &f, &instr->attr));
    } else if (f.number == 2 || f.number == 3) {
      hsc_dims dims = {0};
      HSC_TRY(hsc__proto_read_dims(r->arena, &f, &dims));
      hsc_bytes_printf(text, "%s%s={", text->size ? ", " : "",
                       f.number == 2 ? "lhs_ragged_dims" : "rhs_group_dims");
      for (int i = 0; i < dims.count; i++)
        hsc_bytes_printf(text, "%s%" PRId64, i ? "," : "", dims.v[i]);
      hsc_bytes_append_char(text, '}');
    }
  }
  return hsc_wire_status(&in, "RaggedDotDimensionNumbers");
}

static void make_rows(reader *r, hsc_op op) {
  for (int k = 0; k < hsc__proto_row_count; k++)
    if (hsc__proto_row_is_of(&hsc__proto_rows[k], op) &&
        r->rows[op].count < sizeof r->rows[op].rows)
      r->rows[op].rows[r->rows[op].count++] = (uint8_t)k;
}

// The fields that depend on the op, in the order of the table, so that the text that is kept has
// the order in which XLA prints it.
static hsc_status *read_op_fields(reader *r,
                                  hsc_instr *instr,
                                  const hsc_wire_field *fields,
                                  int count) {
  if (count == 0)
    return NULL;
  bool used[MAX_FIELDS] = {false};
  hsc_bytes text = {0};
  hsc_bytes hex = {0};
  hsc_status *status = NULL;
  if (r->rows[instr->op].count == 0)
    make_rows(r, instr->op);
  for (int k = 0; k < r->rows[instr->op].count; k++) {
    const hsc__proto_row *row = &hsc__proto_rows[r->rows[instr->op].rows[k]];
    for (int i = 0; i < count; i++) {
      if (fields[i].number != row->number || used[i])
        continue;
      used[i] = true;
      if (row->text)
        HSC_GOTO(hsc__proto_text_of(row, &fields[i], instr, &text));
      else if (row->kind == HSC__PROTO_RAGGED_DIMS)
        HSC_GOTO(read_ragged(r, instr, fields[i].bytes, &text));
      else
        HSC_GOTO(hsc__proto_read_attr(r->arena, row, &fields[i], &instr->attr));
    }
  }
  for (int i = 0; i < count; i++) {
    if (used[i])
      continue;
    if (instr->op == HSC_OP_COMPARE && fields[i].number == HSC__INSTR_COMPARE_ORDER &&
        fields[i].type == HSC_WIRE_BYTES && hsc__compare_take_order(instr, fields[i].bytes))
      continue;
    if (fields[i].number == HSC__INSTR_OTHER_ATTRIBUTES)
      HSC_GOTO(append_text(r->arena, &instr->extra_attributes, fields[i].bytes));
    else
      HSC_GOTO(keep_unknown(&fields[i], &hex));
  }
  HSC_GOTO(hsc_bytes_status(&text));
  HSC_GOTO(append_text(r->arena, &instr->extra_attributes, hsc_bytes_view(&text)));
  HSC_GOTO(append_hex(r->arena, &instr->extra_attributes, &hex));
done:
  hsc_bytes_deinit(&text);
  hsc_bytes_deinit(&hex);
  return status;
}

static hsc_status *read_op(hsc_view opcode, hsc_op *out_op) {
  if (hsc_op_parse(opcode, out_op))
    return NULL;
  return HSC_ERR(UNIMPLEMENTED, "HloInstructionProto: unknown operation '%.*s'",
                 hsc_view_shown(opcode, 60), opcode.data);
}

// The fields of an instruction that cannot be read as they come: errors of operands give the name,
// and what most other fields mean depends on the op; both may come after them.
typedef struct instr_fields {
  hsc_view name, opcode, config;
  int64_t id;
  hsc_wire_field of_op[MAX_FIELDS], late[MAX_LATE];  // late: operands, predecessors, computations
  int of_op_count, late_count;
} instr_fields;

// One field: common ones go to the instruction, the others to *io_fields.
static hsc_status *take_field(reader *r,
                              hsc_instr *instr,
                              const hsc_wire_field *f,
                              instr_fields *io_fields) {
  switch (f->number) {
    case HSC__INSTR_NAME:
      io_fields->name = f->bytes;
      return NULL;
    case HSC__INSTR_OPCODE:
      io_fields->opcode = f->bytes;
      return NULL;
    case HSC__INSTR_SHAPE:
      return hsc__proto_read_shape(r->arena, &r->cache, f->bytes, &instr->shape);
    case HSC__INSTR_METADATA:
      return read_metadata(r, f->bytes, &instr->metadata);
    case HSC__INSTR_ID:
      io_fields->id = (int64_t)f->value;
      return NULL;
    case HSC__INSTR_OPERANDS:
    case HSC__INSTR_CONTROL:
    case HSC__INSTR_CALLED:
      if (io_fields->late_count == MAX_LATE)
        return HSC_ERR(
            UNIMPLEMENTED,
            "HloInstructionProto: %d operands one by one: not built yet: they must be packed",
            MAX_LATE);
      io_fields->late[io_fields->late_count++] = *f;
      return NULL;
    case HSC__INSTR_SHARDING:
      if (f->bytes.size == 0 && f->type != HSC_WIRE_BYTES)
        return NULL;
      hsc_bytes_reset(&r->text);
      HSC_TRY(hsc__proto_sharding_text(f->bytes, 0, &r->text));
      instr->sharding = hsc_arena_strndup(r->arena, hsc_bytes_text(&r->text), r->text.size);
      return NULL;
    case HSC__INSTR_BACKEND_CONFIG:
      io_fields->config = f->bytes;
      return NULL;
    case HSC__INSTR_BACKEND_CONFIG_PAYLOAD:
      io_fields->config = payload_of(r, f->bytes);
      return NULL;
    case HSC__INSTR_FRONTEND_ATTRIBUTES:
      hsc_bytes_reset(&r->text);
      hsc__proto_frontend_text(f->bytes, &r->text);
      if (r->text.size)
        instr->frontend_attributes = hsc_arena_strndup(r->arena, r->text.data, r->text.size);
      return NULL;
    default:
      // an empty message says nothing (but an alias of all, and the pair {0,0})
      if (f->type == HSC_WIRE_BYTES && f->bytes.size == 0 && f->number != 74 && f->number != 52)
        return NULL;
      if (io_fields->of_op_count == MAX_FIELDS)
        return HSC_ERR(RESOURCE_EXHAUSTED,
                       "HloInstructionProto: more than %d fields of one instruction", MAX_FIELDS);
      io_fields->of_op[io_fields->of_op_count++] = *f;
      return NULL;
  }
}

static hsc_status *read_instruction(reader *r, hsc_computation *computation, hsc_view bytes) {
  instr_fields fields;  // not cleared whole: it is large, and there are many instructions
  fields.name = fields.opcode = (hsc_view){"", 0};
  fields.config = (hsc_view){0};
  fields.id = 0;
  fields.of_op_count = fields.late_count = 0;
  hsc_instr *instr = HSC_NEW(r->arena, hsc_instr);
  instr->parent = computation;
  instr->name = "";
  instr->id = r->module->next_id++;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    HSC_TRY(take_field(r, instr, &f, &fields));
  HSC_TRY(hsc_wire_status(&in, "HloInstructionProto"));
  HSC_TRY(read_op(fields.opcode, &instr->op));
  hsc__instr_defaults(instr);
  hsc_bytes_reset(&r->name);
  hsc_bytes_append(&r->name, fields.name.data, fields.name.size);
  HSC_TRY(hsc_bytes_status(&r->name));
  HSC_TRY(hsc_arena_status(r->arena));
  HSC_TRY(hsc_instr_set_name(instr, hsc_bytes_text(&r->name)));
  for (int i = 0; i < fields.late_count; i++) {
    const hsc_wire_field *f = &fields.late[i];
    if (f->number == HSC__INSTR_CALLED)
      HSC_TRY(read_called(r, instr, f));
    else
      HSC_TRY(read_operands(r, instr, f, f->number == HSC__INSTR_CONTROL));
  }
  if (instr->op == HSC_OP_TOPK)
    instr->attr.topk.largest = false;  // left out when false
  HSC_TRY_NOTE(read_op_fields(r, instr, fields.of_op, fields.of_op_count),
               "in the instruction '%s'", instr->name);
  HSC_TRY(read_backend_config(r, instr, fields.config));
  if (instr->op == HSC_OP_CONSTANT && !instr->attr.literal.value) {  // the values were left out
    instr->attr.literal.value = HSC_NEW(r->arena, hsc_literal);
    *instr->attr.literal.value = (hsc_literal){.shape = instr->shape, .elided = true};
  }
  HSC_TRY(id_put(r, fields.id, instr));
  hsc__computation_append(computation, instr);
  return NULL;
}

// ---- computations and module --------------------------------------------------------------------

// async-update and async-done carry the wrapped computation in the proto; the IR has it at the
// start alone.
static void drop_inherited_calls(hsc_computation *computation) {
  for (hsc_instr *it = computation->first; it; it = it->next)
    if (it->op == HSC_OP_ASYNC_UPDATE || it->op == HSC_OP_ASYNC_DONE)
      it->called_count = 0;
}

static hsc_status *read_computation(reader *r, hsc_computation *computation, hsc_view bytes) {
  size_t count = 0;
  int64_t root_id = 0;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == HSC__COMPUTATION_INSTRUCTIONS)
      count++;
    else if (f.number == HSC__COMPUTATION_ROOT_ID)
      root_id = (int64_t)f.value;
    else if (f.number == HSC__COMPUTATION_THREAD && f.bytes.size &&
             !hsc_view_equals_text(f.bytes, "main"))
      computation->execution_thread = copy_view(r->arena, f.bytes);
  }
  HSC_TRY(hsc_wire_status(&in, "HloComputationProto"));
  HSC_TRY(ids_reset(r, count));
  in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    if (f.number == HSC__COMPUTATION_INSTRUCTIONS)
      HSC_TRY(read_instruction(r, computation, f.bytes));
  computation->root = id_get(r, root_id);
  if (!computation->root)
    return HSC_ERR(DATA_LOSS, "HloComputationProto: no instruction has the root's id %" PRId64,
                   root_id);
  drop_inherited_calls(computation);
  return hsc__computation_link(computation);
}

static hsc_status *read_aliases(
    reader *r, hsc_view bytes, bool donors, const hsc_alias **out_aliases, int32_t *out_count) {
  size_t count = 0;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    count += f.number == 1;
  HSC_TRY(hsc_wire_status(&in, "HloInputOutputAliasProto"));
  if (count == 0)
    return NULL;
  hsc_alias *aliases = HSC_NEW_ARRAY(r->arena, hsc_alias, count);
  HSC_TRY(hsc_arena_status(r->arena));
  size_t at = 0;
  in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != 1)
      continue;
    hsc_alias *alias = &aliases[at++];
    hsc_wire entry = hsc_wire_of(f.bytes);
    for (hsc_wire_field e; hsc_wire_next(&entry, &e);) {
      uint32_t number = donors ? e.number + 1 : e.number;
      if (number == 1)
        HSC_TRY(hsc__proto_read_dims(r->arena, &e, &alias->output_index));
      else if (number == 2)
        alias->parameter = (int64_t)e.value;
      else if (number == 3)
        HSC_TRY(hsc__proto_read_dims(r->arena, &e, &alias->parameter_index));
      else if (number == 4 && !donors)
        alias->must_alias = e.value == 2;
    }
    HSC_TRY(hsc_wire_status(&entry, "AliasEntryProto"));
  }
  *out_aliases = aliases;
  *out_count = (int32_t)count;
  return NULL;
}

static hsc_status *read_stack_index(reader *r, hsc_view bytes) {
  hsc_stack_index *index = HSC_NEW(r->arena, hsc_stack_index);
  int32_t *const counts[] = {&index->file_name_count, &index->function_name_count,
                             &index->location_count, &index->frame_count};
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    if (f.number >= 1 && f.number <= 4)
      ++*counts[f.number - 1];
  HSC_TRY(hsc_wire_status(&in, "StackFrameIndexProto"));
  const char **files = HSC_NEW_ARRAY(r->arena, const char *, index->file_name_count);
  const char **functions = HSC_NEW_ARRAY(r->arena, const char *, index->function_name_count);
  hsc_file_location *locations = HSC_NEW_ARRAY(r->arena, hsc_file_location, index->location_count);
  hsc_stack_frame *frames = HSC_NEW_ARRAY(r->arena, hsc_stack_frame, index->frame_count);
  HSC_TRY(hsc_arena_status(r->arena));
  size_t at[5] = {0};
  in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number < 1 || f.number > 4)
      continue;
    size_t i = at[f.number]++;
    if (f.number <= 2) {
      (f.number == 1 ? files : functions)[i] =
          hsc_arena_strndup(r->arena, f.bytes.data, f.bytes.size);
      continue;
    }
    int32_t values[7] = {0};
    hsc_wire record = hsc_wire_of(f.bytes);
    for (hsc_wire_field v; hsc_wire_next(&record, &v);)
      if (v.number <= 6)
        values[v.number] = (int32_t)v.value;
    HSC_TRY(hsc_wire_status(&record, "StackFrameIndexProto"));
    if (f.number == 3)
      locations[i] =
          (hsc_file_location){values[1], values[2], values[3], values[5], values[4], values[6]};
    else
      frames[i] = (hsc_stack_frame){values[1], values[2]};
  }
  index->file_names = files;
  index->function_names = functions;
  index->locations = locations;
  index->frames = frames;
  r->module->stack_index = index;
  return NULL;
}

// The schedule says the order in which the instructions of a computation run and are printed.
static hsc_status *apply_sequence(reader *r,
                                  hsc_computation *computation,
                                  hsc_view computation_bytes,
                                  const hsc_dims *sequence) {
  if (sequence->count != computation->instr_count)
    return HSC_ERR(DATA_LOSS,
                   "HloScheduleProto: %d instructions in the schedule of '%s', it has %d",
                   sequence->count, computation->name, computation->instr_count);
  HSC_TRY(ids_reset(r, (size_t)computation->instr_count));
  hsc_instr *it = computation->first;
  hsc_wire in = hsc_wire_of(computation_bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != HSC__COMPUTATION_INSTRUCTIONS)
      continue;
    int64_t id = 0;
    hsc_wire instr = hsc_wire_of(f.bytes);
    for (hsc_wire_field g; hsc_wire_next(&instr, &g);)
      if (g.number == HSC__INSTR_ID)
        id = (int64_t)g.value;
    HSC_TRY(id_put(r, id, it));
    it->index = 0;
    it = it->next;
  }
  computation->first = computation->last = NULL;
  computation->instr_count = 0;
  for (int i = 0; i < sequence->count; i++) {
    it = id_get(r, sequence->v[i]);
    if (!it || it->index)
      return HSC_ERR(DATA_LOSS, "HloScheduleProto: the id %" PRId64 " in the schedule of '%s' %s",
                     sequence->v[i], computation->name, it ? "is twice" : "is unknown");
    for (int k = 0; k < it->operand_count; k++)
      if (!it->operands[k]->index)
        return HSC_ERR(DATA_LOSS, "HloScheduleProto: '%s' is before its operand '%s'", it->name,
                       it->operands[k]->name);
    it->index = 1;
    hsc__computation_append(computation, it);
  }
  return NULL;
}

static hsc_status *read_schedule(reader *r, hsc_view module_bytes, hsc_view bytes) {
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != 1)
      continue;
    int64_t id = 0;
    hsc_dims sequence = {0};
    hsc_wire entry = hsc_wire_of(f.bytes);
    for (hsc_wire_field e; hsc_wire_next(&entry, &e);) {
      if (e.number == 1)
        id = (int64_t)e.value;
      if (e.number != 2)
        continue;
      hsc_wire ids = hsc_wire_of(e.bytes);
      for (hsc_wire_field s; hsc_wire_next(&ids, &s);)
        if (s.number == 1)
          HSC_TRY(hsc__proto_read_dims(r->arena, &s, &sequence));
    }
    hsc_computation *computation = *computation_slot(r, id);
    if (!computation)
      return HSC_ERR(DATA_LOSS,
                     "HloScheduleProto: a computation with the id %" PRId64 " is unknown", id);
    int at = computation->index;  // which of the computations of the proto it is
    hsc_wire module = hsc_wire_of(module_bytes);
    for (hsc_wire_field m; hsc_wire_next(&module, &m);)
      if (m.number == HSC__MODULE_COMPUTATIONS && at-- == 0)
        HSC_TRY(apply_sequence(r, computation, m.bytes, &sequence));
  }
  HSC_TRY(hsc_wire_status(&in, "HloScheduleProto"));
  r->module->is_scheduled = true;
  return NULL;
}

static hsc_status *make_computations(reader *r, hsc_view bytes, size_t count) {
  r->computation_capacity = 16;
  while (r->computation_capacity < count * 2 + 2)
    r->computation_capacity *= 2;
  r->computations = hsc_alloc(r->computation_capacity * sizeof *r->computations);
  if (!r->computations)
    return hsc_status_out_of_memory();
  hsc_wire in = hsc_wire_of(bytes);
  int index = 0;
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != HSC__MODULE_COMPUTATIONS)
      continue;
    hsc_view name = {"", 0};
    int64_t id = 0;
    hsc_wire computation = hsc_wire_of(f.bytes);
    for (hsc_wire_field c; hsc_wire_next(&computation, &c);) {
      if (c.number == HSC__COMPUTATION_NAME)
        name = c.bytes;
      else if (c.number == HSC__COMPUTATION_ID)
        id = (int64_t)c.value;
    }
    HSC_TRY(hsc_wire_status(&computation, "HloComputationProto"));
    hsc_bytes_reset(&r->name);
    hsc_bytes_append(&r->name, name.data, name.size);
    HSC_TRY(hsc_bytes_status(&r->name));
    hsc_computation *made = hsc_module_add_computation(r->module, hsc_bytes_text(&r->name));
    hsc_computation **slot = computation_slot(r, id);
    if (!made)
      return hsc_status_out_of_memory();
    if (*slot)
      return HSC_ERR(DATA_LOSS, "HloModuleProto: '%s' and '%s' have the same id %" PRId64,
                     (*slot)->name, made->name, id);
    made->index = index++;
    *slot = made;
  }
  return NULL;
}

static hsc_status *read_payloads(reader *r, hsc_view bytes, size_t count) {
  r->payloads = hsc_alloc(count * sizeof *r->payloads);
  if (!r->payloads)
    return hsc_status_out_of_memory();
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    if (f.number == HSC__MODULE_PAYLOADS && r->payload_count < count)
      r->payloads[r->payload_count++] = f.bytes;
  return NULL;
}

// What the module's fields say that is needed after all of them were seen.
typedef struct module_facts {
  size_t computations, payloads;  // count
  int64_t entry_id;
  hsc_view entry_name, schedule;
  hsc_bytes unknown;  // fields that we do not know, in hex
} module_facts;

static hsc_status *read_module_attributes(reader *r, hsc_view bytes) {
  hsc_bytes_reset(&r->text);
  hsc__proto_frontend_text(bytes, &r->text);
  if (!r->text.size)
    return NULL;
  hsc_bytes_reset(&r->name);
  hsc_bytes_printf(&r->name, "frontend_attributes=%s", hsc_bytes_text(&r->text));
  return append_text(r->arena, &r->module->extra_attributes, hsc_bytes_view(&r->name));
}

static hsc_status *read_module_field(reader *r, const hsc_wire_field *f, module_facts *facts) {
  hsc_module *module = r->module;
  switch (f->number) {
    case HSC__MODULE_NAME:
      module->name = hsc_arena_strndup(r->arena, f->bytes.data, f->bytes.size);
      return NULL;
    case HSC__MODULE_ENTRY_NAME:
      facts->entry_name = f->bytes;
      return NULL;
    case HSC__MODULE_ENTRY_ID:
      facts->entry_id = (int64_t)f->value;
      return NULL;
    case HSC__MODULE_COMPUTATIONS:
      facts->computations++;
      return NULL;
    case HSC__MODULE_PROGRAM_SHAPE:
      return hsc__proto_read_program_shape(r->arena, f->bytes, &module->layout_text);
    case HSC__MODULE_SCHEDULE:
      facts->schedule = f->bytes;
      return NULL;
    case HSC__MODULE_ALIASES:
      return read_aliases(r, f->bytes, false, &module->aliases, &module->alias_count);
    case HSC__MODULE_DONORS:
      return read_aliases(r, f->bytes, true, &module->donors, &module->donor_count);
    case HSC__MODULE_STACK_INDEX:
      return f->bytes.size ? read_stack_index(r, f->bytes) : NULL;
    case HSC__MODULE_FRONTEND_ATTRIBUTES:
      return read_module_attributes(r, f->bytes);
    case HSC__MODULE_PAYLOADS:
      facts->payloads++;
      return NULL;
    case HSC__MODULE_OTHER_ATTRIBUTES:
      return append_text(r->arena, &module->extra_attributes, f->bytes);
    case HSC__MODULE_REPLICAS:
      if (f->value > 1 && f->value <= INT32_MAX)
        module->replica_count = (int32_t)f->value;
      return NULL;
    case HSC__MODULE_PARTITIONS:
      if (f->value > 1 && f->value <= INT32_MAX)
        module->num_partitions = (int32_t)f->value;
      return NULL;
    case HSC__MODULE_ID:
      return NULL;  // a number of the process that wrote it
    default:
      return keep_unknown(f, &facts->unknown);
  }
}

static hsc_status *read_computations(reader *r, hsc_view bytes) {
  int at = 0;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != HSC__MODULE_COMPUTATIONS)
      continue;
    HSC_TRY_NOTE(read_computation(r, r->module->computations[at], f.bytes),
                 "in the computation '%s'", r->module->computations[at]->name);
    at++;
  }
  return NULL;
}

// Ids of called computations become pointers. *out_ordered: callees come before callers, as XLA
// writes them.
static hsc_status *link_calls(reader *r, bool *out_ordered) {
  *out_ordered = true;
  for (size_t i = 0; i < r->called_count; i++) {
    hsc_instr *instr = r->called[i].instr;
    int32_t index = (int32_t)r->called[i].index;
    if (index >= instr->called_count)
      continue;  // dropped
    hsc_computation *to = *computation_slot(r, r->called[i].id);
    if (!to)
      return HSC_ERR(DATA_LOSS,
                     "'%s' calls a computation with the id %" PRId64 ", which is unknown",
                     instr->name, r->called[i].id);
    *out_ordered = *out_ordered && to->index < instr->parent->index;
    // XLA has the body of a while before its condition, the IR after it.
    instr->called[instr->op == HSC_OP_WHILE ? instr->called_count - 1 - index : index] = to;
  }
  return NULL;
}

// By its id, or by its name where there is no id or the two disagree.
static hsc_status *find_entry(reader *r, const module_facts *facts) {
  hsc_module *module = r->module;
  module->entry = *computation_slot(r, facts->entry_id);
  bool by_name = facts->entry_id == 0 && facts->entry_name.size &&
                 !hsc_view_equals_text(facts->entry_name, module->entry ? module->entry->name : "");
  if (!module->entry || by_name)
    for (int i = 0; i < module->computation_count; i++)
      if (hsc_view_equals_text(facts->entry_name, module->computations[i]->name))
        module->entry = module->computations[i];
  if (module->entry)
    return NULL;
  return HSC_ERR(DATA_LOSS, "HloModuleProto: no computation has the entry's id %" PRId64,
                 facts->entry_id);
}

static hsc_status *read_module(reader *r, hsc_view bytes) {
  hsc_module *module = r->module;
  module_facts facts = {0};
  bool ordered;
  hsc_status *status = NULL;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    HSC_GOTO(read_module_field(r, &f, &facts));
  HSC_GOTO(hsc_wire_status(&in, "HloModuleProto"));
  HSC_GOTO(append_hex(r->arena, &module->extra_attributes, &facts.unknown));
  if (facts.computations == 0)
    HSC_GOTO(HSC_ERR(DATA_LOSS, "HloModuleProto: has no computations"));
  if (facts.payloads)
    HSC_GOTO(read_payloads(r, bytes, facts.payloads));
  HSC_GOTO(make_computations(r, bytes, facts.computations));
  HSC_GOTO(read_computations(r, bytes));
  HSC_GOTO(link_calls(r, &ordered));
  HSC_GOTO(find_entry(r, &facts));
  if (facts.schedule.data)
    HSC_GOTO(read_schedule(r, bytes, facts.schedule));
  if (!ordered)
    HSC_GOTO(hsc__module_order(module));
  hsc__module_normalize(module);
  status = hsc_arena_status(r->arena);
done:
  hsc_bytes_deinit(&facts.unknown);
  return status;
}

// ---- messages around the module -----------------------------------------------------------------

// A message without errors that has computations: fields 3 that are messages themselves, with a
// name and instructions.
static bool looks_like_module(hsc_view bytes) {
  hsc_wire in = hsc_wire_of(bytes);
  bool computations = false;
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != HSC__MODULE_COMPUTATIONS || f.type != HSC_WIRE_BYTES)
      continue;
    bool name = false;
    bool instructions = false;
    hsc_wire computation = hsc_wire_of(f.bytes);
    for (hsc_wire_field c; hsc_wire_next(&computation, &c);) {
      name |= c.number == 1 && c.type == HSC_WIRE_BYTES;
      instructions |= c.number == 2 && c.type == HSC_WIRE_BYTES;
    }
    computations = name && instructions && !computation.error;
    if (!computations)
      return false;
  }
  return computations && !in.error;
}

// The HloModuleProto inside `bytes`, and the HloModuleConfigProto beside it when there is one.
hsc_view hsc__proto_unwrap(hsc_view bytes, int depth, hsc_view *out_config) {
  hsc_view inner = {0};
  hsc_view second = {0};
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 1 && f.type == HSC_WIRE_BYTES && !inner.data)
      inner = f.bytes;
    if (f.number == 2 && f.type == HSC_WIRE_BYTES && !second.data)
      second = f.bytes;
  }
  if (in.error || inner.size < 4)
    return bytes;
  if (looks_like_module(inner)) {
    *out_config = second;
    return inner;
  }
  if (depth > 0) {
    hsc_view deeper = hsc__proto_unwrap(inner, depth - 1, out_config);
    if (deeper.data != inner.data && looks_like_module(deeper))
      return deeper;
  }
  return bytes;
}

static hsc_status *read_config(reader *r, hsc_view config) {
  hsc_wire in = hsc_wire_of(config);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 1 && f.type == HSC_WIRE_BYTES)
      HSC_TRY(hsc__proto_read_program_shape(r->arena, f.bytes, &r->module->layout_text));
    else if (f.number == 4 && f.value > 1 && f.value <= INT32_MAX)
      r->module->replica_count = (int32_t)f.value;
    else if (f.number == 5 && f.value > 1 && f.value <= INT32_MAX)
      r->module->num_partitions = (int32_t)f.value;
  }
  return hsc_wire_status(&in, "HloModuleConfigProto");
}

hsc_status *hsc_hlo_proto_read(hsc_view bytes, const char *path, hsc_module **out_module) {
  hsc_status *status = NULL;
  hsc_view config = {0};
  reader *r = hsc_alloc(sizeof *r);
  if (!r)
    return hsc_status_out_of_memory();
  HSC_GOTO(hsc_module_create("", &r->module));
  r->arena = r->module->arena;
  if (path)
    r->module->source_path = hsc_arena_strdup(r->arena, path);
  hsc_view module = hsc__proto_unwrap(bytes, 1, &config);
  HSC_GOTO(read_module(r, module));
  if (config.data)
    HSC_GOTO(read_config(r, config));
  HSC_GOTO(hsc_arena_status(r->arena));
  *out_module = r->module;
  r->module = NULL;
done:
  hsc_module_destroy(r->module);
  hsc_free(r->payloads);
  hsc_free(r->ids);
  hsc_free(r->computations);
  hsc_free(r->called);
  hsc_bytes_deinit(&r->text);
  hsc_bytes_deinit(&r->name);
  hsc_free(r);
  return status ? hsc_status_at(status, path, 0, 0, NULL) : NULL;
}
