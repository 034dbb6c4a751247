// capture_hlo.c - what a profile's programs say of their operators: what a custom call calls, and
// which name the framework gave. Read from the HLO that lies beside the events (plane
// "/host:metadata", stat "Hlo Proto"), field by field: the IR is above this folder.
// Fields: hlo.proto and xla_data.proto of XLA.
#include "base/core/map.h"
#include "base/wire/wire.h"
#include "trace/capture_internal.h"

enum {
  HLO_PROTO_MODULE = 1,
  MODULE_COMPUTATIONS = 3,
  COMPUTATION_INSTRUCTIONS = 2,
  INSTRUCTION_NAME = 1,
  INSTRUCTION_OPCODE = 2,
  INSTRUCTION_METADATA = 7,
  INSTRUCTION_TARGET = 28,
  METADATA_OP_NAME = 2
};

struct hsc__op_facts {
  hsc_arena *arena;
  hsc_map *by_name;  // "program id/operator" -> hsc__op_fact
};

hsc_status *hsc__op_facts_create(hsc_arena *arena, hsc__op_facts **out_facts) {
  *out_facts = NULL;
  hsc__op_facts *facts = HSC_NEW(arena, hsc__op_facts);
  if (!facts)
    return hsc_status_out_of_memory();
  facts->arena = arena;
  HSC_TRY(hsc_map_create(&facts->by_name));
  *out_facts = facts;
  return NULL;
}

void hsc__op_facts_destroy(hsc__op_facts *facts) {
  if (facts)
    hsc_map_destroy(facts->by_name);
}

static hsc_status *put(hsc__op_facts *facts, int64_t program, hsc_view name, hsc__op_fact fact) {
  hsc_bytes key = {0};
  hsc_bytes_printf(&key, "%lld/", (long long)program);
  hsc_bytes_append(&key, name.data, name.size);
  hsc_status *status = hsc_bytes_status(&key);
  hsc__op_fact *kept = status ? NULL : HSC_NEW(facts->arena, hsc__op_fact);
  if (kept) {
    *kept = fact;
    status = hsc_map_put(facts->by_name, hsc_bytes_view(&key), kept);
  } else if (!status) {
    status = hsc_status_out_of_memory();
  }
  hsc_bytes_deinit(&key);
  return status;
}

static hsc_view field_of(hsc_view message, uint32_t number) {
  hsc_wire in = hsc_wire_of(message);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    if (f.number == number && f.type == HSC_WIRE_BYTES)
      return f.bytes;
  return (hsc_view){0};
}

// Instructions that say neither are left out.
static hsc_status *add_instruction(hsc__op_facts *facts, int64_t program, hsc_view message) {
  hsc_view name = {0};
  hsc_view opcode = {0};
  hsc_view target = {0};
  hsc_view path = {0};
  hsc_wire in = hsc_wire_of(message);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.type != HSC_WIRE_BYTES)
      continue;
    if (f.number == INSTRUCTION_NAME)
      name = f.bytes;
    else if (f.number == INSTRUCTION_OPCODE)
      opcode = f.bytes;
    else if (f.number == INSTRUCTION_TARGET)
      target = f.bytes;
    else if (f.number == INSTRUCTION_METADATA)
      path = field_of(f.bytes, METADATA_OP_NAME);
  }
  hsc__op_fact fact = {0};
  if (target.size && hsc_view_equals_text(opcode, "custom-call"))
    fact.category =
        hsc_arena_printf(facts->arena, "custom-call %.*s", (int)target.size, target.data);
  if (path.size)
    fact.op_name = hsc_arena_strndup(facts->arena, path.data, path.size);
  return name.size && (fact.category || fact.op_name) ? put(facts, program, name, fact) : NULL;
}

hsc_status *hsc__op_facts_add(hsc__op_facts *facts, int64_t program, hsc_view hlo_proto) {
  hsc_wire module = hsc_wire_of(field_of(hlo_proto, HLO_PROTO_MODULE));
  for (hsc_wire_field c; hsc_wire_next(&module, &c);) {
    if (c.number != MODULE_COMPUTATIONS || c.type != HSC_WIRE_BYTES)
      continue;
    hsc_wire computation = hsc_wire_of(c.bytes);
    for (hsc_wire_field i; hsc_wire_next(&computation, &i);)
      if (i.number == COMPUTATION_INSTRUCTIONS && i.type == HSC_WIRE_BYTES)
        HSC_TRY(add_instruction(facts, program, i.bytes));
  }
  return hsc_arena_status(facts->arena);
}

hsc__op_fact hsc__op_facts_of(const hsc__op_facts *facts, int64_t program, const char *name) {
  char text[300];
  int size = snprintf(text, sizeof text, "%lld/%s", (long long)program, name);
  const hsc__op_fact *found = size > 0 && size < (int)sizeof text
                                  ? hsc_map_get(facts->by_name, (hsc_view){text, (size_t)size})
                                  : NULL;
  return found ? *found : (hsc__op_fact){0};
}
