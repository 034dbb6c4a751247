// answers.h - the records of answers.def as structs: written by the worker, read by the lab.
//
//   hsc_answer_code code;
//   hsc_answer_read(&hsc_answer_code_layout, answer.body, &code);
//   if (code.temp_bytes >= 0) ...
//
// Texts of a record that was read are borrowed from the JSON.
#pragma once

#include <jansson.h>

#include "base/json/json_write.h"

#define HSC__ANSWER_COUNT int64_t
#define HSC__ANSWER_REAL double
#define HSC__ANSWER_TEXT const char *
#define HSC__ANSWER_FLAG bool
#define HSC__ANSWER_IF_TEXT const char *

typedef struct hsc_answer_layout hsc_answer_layout;

#define RECORD(record, doc) \
  extern const hsc_answer_layout hsc_answer_##record##_layout; \
  typedef struct hsc_answer_##record {
#define MEMBER(record, kind, name, doc) HSC__ANSWER_##kind name;
#define END_RECORD(record) \
  } \
  hsc_answer_##record;
#include "worker/answers.def"
#undef RECORD
#undef MEMBER
#undef END_RECORD

// Writes the members of `values`, a struct of this layout, into the object that is open.
void hsc_answer_write_members(hsc_json *json, const hsc_answer_layout *layout, const void *values);
// The same as an object.
void hsc_answer_write(hsc_json *json, const hsc_answer_layout *layout, const void *values);
// Fills the struct: what is missing or of another kind is unknown. `object` may be NULL.
void hsc_answer_read(const hsc_answer_layout *layout, const json_t *object, void *out_values);
// A new object with the record's members of `object`, as they are; NULL = no memory.
json_t *hsc_answer_members(const hsc_answer_layout *layout, const json_t *object);
// The name of the first member of `object` that is not in the layout, or whose kind is another;
// NULL = all are as the rows say and none is missing. Borrowed.
const char *hsc_answer_mismatch(const hsc_answer_layout *layout, const json_t *object);

// Record number `which` of an answer to `run` (-1 = the last one), borrowed; NULL = there is none.
json_t *hsc_answer_run_record(const json_t *answer, int which);
// What the executions of a recorded run took, enqueue and wait, in nanoseconds; NaN = there is no
// such record.
double hsc_answer_execute_ns(const json_t *answer, int which);
// The memory that an execution needs, in bytes, from an answer to `describe` or `compile`: its
// peak, else all that it was given. Not over 0 = unknown.
double hsc_answer_memory_need(const json_t *answer);
