// pjrt_functions.c - the table of functions as data, and the texts of enums.
#include "pjrt/pjrt_internal.h"

enum { REQUIRED = 1, OPTIONAL = 0 };

static const hsc_pjrt_function_info functions[HSC_PJRT_FUNCTION_COUNT] = {
#define FN(function, need, minor_version, text) \
  [HSC_FN_##function] = {.name = #function, \
                         .required = need, \
                         .minor = minor_version, \
                         .offset = offsetof(PJRT_Api, function), \
                         .doc = text},
#include "pjrt/functions.def"
#undef FN
};

const hsc_pjrt_function_info *hsc_pjrt_function_get(hsc_pjrt_function function) {
  return &functions[function];
}

const char *hsc_pjrt_extension_text(int type) {
  static const char *const texts[] = {
      "Gpu_Custom_Call",
      "Profiler",
      "Custom_Partitioner",
      "Stream",
      "Layouts",
      "FFI",
      "MemoryDescriptions",
      "Triton",
      "RawBuffer",
      "PhaseCompile",
      "Example",
      "Unknown",
      "CrossHostTransfers",
      "ExecutableMetadata",
      "Callback",
      "HostAllocator",
      "TpuTopology",
      "TpuExecutable",
      "Megascale",
      "Shardings",
      "AbiVersion",
      "Collectives",
      "MultiSlice",
      "HostMemoryAllocator",
      "XlaTransform",
  };
  static _Thread_local char other[24];
  if (type >= 0 && (size_t)type < HSC_COUNT_OF(texts))
    return texts[type];
  snprintf(other, sizeof other, "type %d", type);
  return other;
}

static const struct {
  const char *text;
  unsigned char bytes;
} types[] = {
    [PJRT_Buffer_Type_INVALID] = {"invalid", 0},
    [PJRT_Buffer_Type_PRED] = {"pred", 1},
    [PJRT_Buffer_Type_S8] = {"s8", 1},
    [PJRT_Buffer_Type_S16] = {"s16", 2},
    [PJRT_Buffer_Type_S32] = {"s32", 4},
    [PJRT_Buffer_Type_S64] = {"s64", 8},
    [PJRT_Buffer_Type_U8] = {"u8", 1},
    [PJRT_Buffer_Type_U16] = {"u16", 2},
    [PJRT_Buffer_Type_U32] = {"u32", 4},
    [PJRT_Buffer_Type_U64] = {"u64", 8},
    [PJRT_Buffer_Type_F16] = {"f16", 2},
    [PJRT_Buffer_Type_F32] = {"f32", 4},
    [PJRT_Buffer_Type_F64] = {"f64", 8},
    [PJRT_Buffer_Type_BF16] = {"bf16", 2},
    [PJRT_Buffer_Type_C64] = {"c64", 8},
    [PJRT_Buffer_Type_C128] = {"c128", 16},
    [PJRT_Buffer_Type_F8E5M2] = {"f8e5m2", 1},
    [PJRT_Buffer_Type_F8E4M3FN] = {"f8e4m3fn", 1},
    [PJRT_Buffer_Type_F8E4M3B11FNUZ] = {"f8e4m3b11fnuz", 1},
    [PJRT_Buffer_Type_F8E5M2FNUZ] = {"f8e5m2fnuz", 1},
    [PJRT_Buffer_Type_F8E4M3FNUZ] = {"f8e4m3fnuz", 1},
    [PJRT_Buffer_Type_S4] = {"s4", 1},
    [PJRT_Buffer_Type_U4] = {"u4", 1},
    [PJRT_Buffer_Type_TOKEN] = {"token", 0},
    [PJRT_Buffer_Type_S2] = {"s2", 1},
    [PJRT_Buffer_Type_U2] = {"u2", 1},
    [PJRT_Buffer_Type_F8E4M3] = {"f8e4m3", 1},
    [PJRT_Buffer_Type_F8E3M4] = {"f8e3m4", 1},
    [PJRT_Buffer_Type_F8E8M0FNU] = {"f8e8m0fnu", 1},
    [PJRT_Buffer_Type_F4E2M1FN] = {"f4e2m1fn", 1},
    [PJRT_Buffer_Type_S1] = {"s1", 1},
    [PJRT_Buffer_Type_U1] = {"u1", 1},
};

size_t hsc_pjrt_type_bytes(PJRT_Buffer_Type type) {
  return (size_t)type < HSC_COUNT_OF(types) ? types[type].bytes : 0;
}

const char *hsc_pjrt_type_text(PJRT_Buffer_Type type) {
  return (size_t)type < HSC_COUNT_OF(types) ? types[type].text : "invalid";
}
