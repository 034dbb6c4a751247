// emit_values.c - LLVM's types for ours, constants, lanes from scalars, intrinsics; where in the
// open loops the next instruction goes.
#include "cpu/emit/emit_internal.h"

static LLVMTypeRef int_type(hsc_emitter *e, size_t bytes) {
  if (bytes == 1)
    return e->i8;
  if (bytes == 2)
    return e->i16;
  if (bytes == 4)
    return e->i32;
  return e->i64;
}

LLVMTypeRef hsc__emit_type(hsc_emitter *e, hsc_type type) {
  switch (hsc_type_class_of(type)) {
    case HSC_CLASS_PRED:
      return e->i1;
    case HSC_CLASS_FLOAT:
      return type == HSC_TYPE_F64 ? e->f64 : e->f32;
    case HSC_CLASS_COMPLEX:
      return type == HSC_TYPE_C128 ? e->f64 : e->f32;
    default:
      return int_type(e, hsc_type_bytes(type));
  }
}

LLVMTypeRef hsc__emit_memory_type(hsc_emitter *e, hsc_type type) {
  switch (type) {
    case HSC_TYPE_PRED:
      return e->i8;
    case HSC_TYPE_F16:
      return e->f16;
    case HSC_TYPE_BF16:
      return e->i16;
    case HSC_TYPE_F32:
    case HSC_TYPE_C64:
      return e->f32;
    case HSC_TYPE_F64:
    case HSC_TYPE_C128:
      return e->f64;
    default:
      return int_type(e, hsc_type_bytes(type));
  }
}

LLVMTypeRef hsc__emit_lanes_of(hsc_emitter *e, LLVMTypeRef type, bool vector) {
  return vector ? hsc_ll.VectorType(type, (unsigned)e->lanes) : type;
}

void hsc__emit_at(hsc_emitter *e, int level) {
  hsc_ll.PositionBuilderAtEnd(e->builder, e->tails[level]);
}

hsc_lv hsc__emit_int(hsc_emitter *e, LLVMTypeRef type, int64_t value) {
  return hsc_ll.ConstInt(type, (unsigned long long)value, 1);
}

hsc_lv hsc__emit_real(hsc_emitter *e, LLVMTypeRef type, double value) {
  return hsc_ll.ConstReal(type, value);
}

static hsc_lv constant_lanes(hsc_emitter *e, hsc_lv constant) {
  hsc_lv all[HSC_EMIT_MAX_LANES];
  for (int i = 0; i < e->lanes; i++)
    all[i] = constant;
  return hsc_ll.ConstVector(all, (unsigned)e->lanes);
}

hsc_lv hsc__emit_int_like(hsc_emitter *e, LLVMTypeRef type, int64_t value, bool vector) {
  hsc_lv constant = hsc__emit_int(e, type, value);
  return vector ? constant_lanes(e, constant) : constant;
}

hsc_lv hsc__emit_real_like(hsc_emitter *e, LLVMTypeRef type, double value, bool vector) {
  hsc_lv constant = hsc__emit_real(e, type, value);
  return vector ? constant_lanes(e, constant) : constant;
}

static hsc_lv splat(hsc_emitter *e, hsc_lv scalar, int level) {
  for (int i = 0; i < e->splat_count; i++)
    if (e->splats[i].base == scalar)
      return e->splats[i].address;
  hsc__emit_at(e, level);
  LLVMTypeRef type = hsc_ll.VectorType(hsc_ll.TypeOf(scalar), (unsigned)e->lanes);
  hsc_lv one = hsc_ll.BuildInsertElement(e->builder, hsc_ll.GetPoison(type), scalar,
                                         hsc__emit_int(e, e->i64, 0), "");
  hsc_lv zeros = hsc_ll.ConstNull(hsc_ll.VectorType(e->i32, (unsigned)e->lanes));
  hsc_lv all = hsc_ll.BuildShuffleVector(e->builder, one, hsc_ll.GetPoison(type), zeros, "");
  if (e->splat_count < HSC_EMIT_CACHE)
    e->splats[e->splat_count++] =
        (hsc_emit_address){.base = scalar, .address = all, .level = level};
  return all;
}

hsc_emit_value hsc__emit_widen(hsc_emitter *e, hsc_emit_value value) {
  if (value.vector || e->lanes == 1)
    return value;
  value.v = splat(e, value.v, value.level);
  if (value.im)
    value.im = splat(e, value.im, value.level);
  value.vector = true;
  return value;
}

hsc_lv hsc__emit_intrinsic(
    hsc_emitter *e, const char *name, LLVMTypeRef overload, hsc_lv *arguments, int count) {
  unsigned id = hsc_ll.LookupIntrinsicID(name, strlen(name));
  hsc_lv function = hsc_ll.GetIntrinsicDeclaration(e->module, id, &overload, overload ? 1 : 0);
  return hsc_ll.BuildCall2(e->builder, hsc_ll.GlobalGetValueType(function), function, arguments,
                           (unsigned)count, "");
}
