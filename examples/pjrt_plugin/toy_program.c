// toy_program.c - reads one function of elementwise operations on f32 arrays, and runs it.
#include "toy_program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  PJRT_Buffer_Type type;
  size_t bytes;
  const char *name;
} types[] = {{PJRT_Buffer_Type_PRED, 1, "i1"}, {PJRT_Buffer_Type_S8, 1, "i8"},
             {PJRT_Buffer_Type_S32, 4, "i32"}, {PJRT_Buffer_Type_S64, 8, "i64"},
             {PJRT_Buffer_Type_U8, 1, "ui8"},  {PJRT_Buffer_Type_U32, 4, "ui32"},
             {PJRT_Buffer_Type_F32, 4, "f32"}, {PJRT_Buffer_Type_F64, 8, "f64"}};
enum { TYPES = sizeof types / sizeof types[0] };

// A row of toy_ops.def becomes a loop over whole arrays.
#define OP(name, operands, value) \
  static void run_##name(size_t count, const float *xs, const float *ys, float *out) { \
    for (size_t i = 0; i < count; i++) { \
      float x = xs[i], y = ys[i]; \
      (void)y; \
      out[i] = value; \
    } \
  }
#include "toy_ops.def"
#undef OP
static const struct {
  const char *name;
  int operands;
  toy_run *run;
} ops[] = {
#define OP(name, operands, value) {"stablehlo." #name, operands, run_##name},
#include "toy_ops.def"
#undef OP
};

size_t toy_type_bytes(PJRT_Buffer_Type type) {
  for (size_t i = 0; i < TYPES; i++)
    if (types[i].type == type)
      return types[i].bytes;
  return 0;
}

bool toy_shape_measure(toy_shape *shape) {
  shape->bytes = toy_type_bytes(shape->type);
  for (size_t i = 0; i < shape->rank; i++)
    if (shape->dims[i] < 0 ||
        __builtin_mul_overflow(shape->bytes, (size_t)shape->dims[i], &shape->bytes))
      return false;
  return toy_type_bytes(shape->type) > 0 && shape->bytes <= PTRDIFF_MAX;
}

bool toy_shape_equal(const toy_shape *a, const toy_shape *b) {
  return a->type == b->type && a->rank == b->rank &&
         !memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]);
}

typedef struct reader {
  const char *at;
  toy_program *p;
  PJRT_Error_Code code;
  const char *wrong;
} reader;

static bool refuse(reader *r, PJRT_Error_Code code, const char *wrong) {
  if (r->code == PJRT_Error_Code_OK) {
    r->code = code;
    r->wrong = wrong;
  }
  return false;
}
#define INVALID(r, wrong) refuse((r), PJRT_Error_Code_INVALID_ARGUMENT, (wrong))
#define ABSENT(r, wrong) refuse((r), PJRT_Error_Code_UNIMPLEMENTED, (wrong))

static bool accept(reader *r, const char *text) {
  size_t size = strlen(text);
  r->at += strspn(r->at, " \t\n");
  if (strncmp(r->at, text, size))
    return false;
  r->at += size;
  return true;
}

static bool read_name(reader *r, char out[NAME_BYTES]) {
  int size = 0;
  if (sscanf(r->at, " %63[%%A-Za-z0-9_.$]%n", out, &size) != 1)
    return INVALID(r, "a name is missing");
  r->at += size;
  return true;
}

static bool read_shape(reader *r, toy_shape *out) {
  if (!accept(r, "tensor<"))
    return ABSENT(r, "types are tensors in this plugin");
  int size = 0;
  while (sscanf(r->at, "%lldx%n", &(long long){0}, &size) == 1 && size > 0) {
    if (out->rank == RANK_MAX)
      return ABSENT(r, "arrays have at most 8 dimensions in this plugin");
    out->dims[out->rank++] = strtoll(r->at, NULL, 10);
    r->at += size;
    size = 0;
  }
  for (size_t i = 0; i < TYPES && out->type == PJRT_Buffer_Type_INVALID; i++) {
    size_t length = strlen(types[i].name);
    if (!strncmp(r->at, types[i].name, length) && r->at[length] == '>') {
      out->type = types[i].type;
      r->at += length + 1;
    }
  }
  if (out->type == PJRT_Buffer_Type_INVALID)
    return ABSENT(r, "this plugin does not have the element type");
  return toy_shape_measure(out) || INVALID(r, "no memory could hold the array");
}

static bool read_operand(reader *r, int *out) {
  char name[NAME_BYTES];
  if (!read_name(r, name))
    return false;
  for (*out = r->p->value_count - 1; *out >= 0; --*out)
    if (!strcmp(r->p->values[*out].name, name))
      return true;
  return INVALID(r, "a value is used that is not defined");
}

// From the "=" on, in either of MLIR's forms:
//   %0 = stablehlo.add %a, %b : tensor<4xf32>
//   %0 = "stablehlo.add"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
static bool read_operation(reader *r, toy_value *v) {
  char op[NAME_BYTES];
  bool is_generic = accept(r, "=") && accept(r, "\"");
  if (!read_name(r, op))
    return false;
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    if (strcmp(op, ops[i].name))
      continue;
    v->run = ops[i].run;
    if ((is_generic && !accept(r, "\"(")) || !read_operand(r, &v->x))
      return INVALID(r, "the operands are missing");
    v->y = v->x;
    if (ops[i].operands == 2 && (!accept(r, ",") || !read_operand(r, &v->y)))
      return INVALID(r, "the second operand is missing");
    if ((is_generic && !accept(r, ")")) || !accept(r, ":"))
      return INVALID(r, "the type is missing");
    const char *arrow = is_generic ? strstr(r->at, "->") : NULL;
    if (arrow)
      r->at = arrow + 2;
    if (!read_shape(r, &v->shape))
      return false;
    if (!toy_shape_equal(&r->p->values[v->x].shape, &v->shape) ||
        !toy_shape_equal(&r->p->values[v->y].shape, &v->shape))
      return INVALID(r, "an operand has another type than the result");
    return v->shape.type == PJRT_Buffer_Type_F32 || ABSENT(r, "this plugin computes in f32 only");
  }
  return ABSENT(r, "the operation is not among toy_ops.def");
}

static bool read_main(reader *r) {
  const char *main = strstr(r->at, "@main(");
  if (!main)
    return INVALID(r, "there is no function @main");
  r->at = main + strlen("@main(");
  for (bool inside = false;;) {  // its parameters, then its operations
    if (!inside && accept(r, ")")) {
      r->p->input_count = r->p->value_count;
      r->at += strcspn(r->at, "{");  // the results' types: `return` has them too
      inside = true;
      if (!accept(r, "{"))
        return INVALID(r, "the function has no body");
    }
    if (inside && (accept(r, "return") || accept(r, "func.return")))
      break;
    if (r->p->value_count == VALUES_MAX)
      return ABSENT(r, "the program has too many values for this plugin");
    toy_value *v = &r->p->values[r->p->value_count];
    if (!read_name(r, v->name))
      return false;
    if (inside ? !read_operation(r, v) : !accept(r, ":") || !read_shape(r, &v->shape))
      return INVALID(r, "a type is missing");
    r->p->value_count++;
    if (!inside && accept(r, "{"))
      return ABSENT(r, "this plugin takes no attributes of parameters");
    if (!inside)
      accept(r, ",");
  }
  do {
    if (!read_operand(r, &r->p->outputs[r->p->output_count++]))
      return false;
  } while (accept(r, ",") && r->p->output_count < VALUES_MAX);
  return accept(r, ":") || INVALID(r, "the types of the results are missing");
}

PJRT_Error_Code toy_program_read(const char *text, toy_program *out, const char **out_wrong) {
  *out = (toy_program){0};
  reader r = {.at = text, .p = out};
  read_main(&r);
  *out_wrong = r.wrong;
  return r.code;
}

bool toy_program_run(const toy_program *p, const void *const *inputs, void *const *outputs) {
  const void *data[VALUES_MAX];
  void *made[VALUES_MAX] = {NULL};
  bool is_fine = true;
  for (int i = 0; is_fine && i < p->value_count; i++) {
    const toy_value *v = &p->values[i];
    if (v->run)
      is_fine = (made[i] = malloc(v->shape.bytes + 1)) != NULL;
    data[i] = v->run ? made[i] : inputs[i];
    if (v->run && is_fine)
      v->run(v->shape.bytes / sizeof(float), data[v->x], data[v->y], made[i]);
  }
  for (int o = 0; is_fine && o < p->output_count; o++)
    memcpy(outputs[o], data[p->outputs[o]], p->values[p->outputs[o]].shape.bytes);
  for (int i = 0; i < p->value_count; i++)
    free(made[i]);
  return is_fine;
}
