// answers.c - records by their layout: one writer and one reader for all rows of answers.def.
#include "worker/answers.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef enum member_kind {
  KIND_COUNT,
  KIND_REAL,
  KIND_TEXT,
  KIND_FLAG,
  KIND_IF_TEXT,
} member_kind;

typedef struct member {
  const char *name;  // NULL after the last
  member_kind kind;
  size_t offset;
} member;

struct hsc_answer_layout {
  const member *members;
};

#define RECORD(record, doc) static const member record##_members[] = {
#define MEMBER(record, kind, name, doc) {#name, KIND_##kind, offsetof(hsc_answer_##record, name)},
#define END_RECORD(record) \
  { NULL, KIND_COUNT, 0 } \
  } \
  ; \
  const hsc_answer_layout hsc_answer_##record##_layout = {record##_members};
#include "worker/answers.def"
#undef RECORD
#undef MEMBER
#undef END_RECORD

void hsc_answer_write_members(hsc_json *json, const hsc_answer_layout *layout, const void *values) {
  for (const member *m = layout->members; m->name; m++) {
    const void *at = (const char *)values + m->offset;
    switch (m->kind) {
      case KIND_COUNT: {
        int64_t count = *(const int64_t *)at;
        if (count >= 0)
          hsc_json_kv_int(json, m->name, count);
        else
          hsc_json_kv_string(json, m->name, NULL);
        break;
      }
      case KIND_REAL:
        hsc_json_kv_double(json, m->name, *(const double *)at);
        break;
      case KIND_TEXT:
      case KIND_IF_TEXT: {
        const char *text = *(const char *const *)at;
        if (text || m->kind == KIND_TEXT)
          hsc_json_kv_string(json, m->name, text);
        break;
      }
      case KIND_FLAG:
        hsc_json_kv_bool(json, m->name, *(const bool *)at);
        break;
    }
  }
}

void hsc_answer_write(hsc_json *json, const hsc_answer_layout *layout, const void *values) {
  hsc_json_begin_object(json);
  hsc_answer_write_members(json, layout, values);
  hsc_json_end_object(json);
}

void hsc_answer_read(const hsc_answer_layout *layout, const json_t *object, void *out_values) {
  for (const member *m = layout->members; m->name; m++) {
    const json_t *value = json_object_get(object, m->name);
    void *at = (char *)out_values + m->offset;
    switch (m->kind) {
      case KIND_COUNT:
        // workers in other languages may write a count as 5.0
        *(int64_t *)at = json_is_number(value) ? (int64_t)json_number_value(value) : -1;
        break;
      case KIND_REAL:
        *(double *)at = json_is_number(value) ? json_number_value(value) : NAN;
        break;
      case KIND_TEXT:
      case KIND_IF_TEXT:
        *(const char **)at = json_string_value(value);
        break;
      case KIND_FLAG:
        *(bool *)at = json_is_true(value);
        break;
    }
  }
}

json_t *hsc_answer_members(const hsc_answer_layout *layout, const json_t *object) {
  json_t *out = json_object();
  for (const member *m = layout->members; out && m->name; m++) {
    json_t *value = json_object_get(object, m->name);
    if (value)
      json_object_set(out, m->name, value);
  }
  return out;
}

static bool is_of_kind(const json_t *value, member_kind kind) {
  switch (kind) {
    case KIND_COUNT:
      return json_is_integer(value) || json_is_null(value);
    case KIND_REAL:
      return json_is_number(value) || json_is_null(value);
    case KIND_TEXT:
      return json_is_string(value) || json_is_null(value);
    case KIND_FLAG:
      return json_is_boolean(value);
    case KIND_IF_TEXT:
      return !value || json_is_string(value);
  }
  return false;
}

const char *hsc_answer_mismatch(const hsc_answer_layout *layout, const json_t *object) {
  const char *name;
  json_t *value;
  for (const member *m = layout->members; m->name; m++)
    if (!is_of_kind(json_object_get(object, m->name), m->kind))
      return m->name;
  json_object_foreach ((json_t *)(uintptr_t)object, name, value) {
    const member *m = layout->members;
    while (m->name && strcmp(m->name, name) != 0)
      m++;
    if (!m->name)
      return name;
  }
  return NULL;
}

json_t *hsc_answer_run_record(const json_t *answer, int which) {
  const json_t *records = json_object_get(answer, "records");
  size_t last = json_array_size(records) - 1;  // of none: past every element
  return json_array_get(records, which < 0 ? last : (size_t)which);
}

double hsc_answer_memory_need(const json_t *answer) {
  hsc_answer_memory memory;
  hsc_answer_read(&hsc_answer_memory_layout, json_object_get(answer, "memory"), &memory);
  return (double)(memory.peak_bytes > 0 ? memory.peak_bytes : memory.total_bytes);
}

double hsc_answer_execute_ns(const json_t *answer, int which) {
  hsc_answer_record record;
  hsc_answer_read(&hsc_answer_record_layout, hsc_answer_run_record(answer, which), &record);
  if (record.enqueue_ns < 0 || record.wait_ns < 0)
    return NAN;
  return (double)record.enqueue_ns + (double)record.wait_ns;
}
