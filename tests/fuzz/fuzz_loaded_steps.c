// fuzz_loaded_steps.c - serialized executables with changed numbers, loaded and run: what the
// loader accepts reads and writes its own buffers only.
//
// The input names a program, one for each kind of step, and changes to what its steps say: thunks,
// slices, payloads, constants, the interface. Machine code and what it was made for stay, since
// nothing can check them (SECURITY.md). Buffers have exactly their sizes, so that a sanitizer sees
// a step that leaves them.
//
//   byte 0            the program
//   then 10 bytes     section, offset (4 bytes, modulo the section), how, value (4 bytes)
#include <stdlib.h>

#include "base/core/random.h"
#include "cpu/serial/serial_format.h"
#include "cpu/thunks/thunk_payloads.h"
#include "cpu/thunks/windows.h"
#include "formats/common/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ADD_F32 "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
static const char *const programs[] = {
    // tiny, while, swap
    "HloModule tiny\n"
    "c { p = (s32[], f32[4], f32[4]) parameter(0) i = s32[] get-tuple-element(p), index=0 n = "
    "s32[] constant(5) ROOT r = pred[] compare(i, n), direction=LT }\n"
    "b { p = (s32[], f32[4], f32[4]) parameter(0) i = s32[] get-tuple-element(p), index=0 x = "
    "f32[4] get-tuple-element(p), index=1 y = f32[4] get-tuple-element(p), index=2 one = s32[] "
    "constant(1) j = s32[] add(i, one) ROOT t = (s32[], f32[4], f32[4]) tuple(j, y, x) }\n"
    "ENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1) z = s32[] constant(0) i = (s32[], "
    "f32[4], f32[4]) tuple(z, x, y) ROOT w = (s32[], f32[4], f32[4]) while(i), condition=c, "
    "body=b }\n",
    // conditional, kernel
    "HloModule branches\n"
    "f { p = f32[64] parameter(0) ROOT r = f32[64] exponential(p) }\n"
    "g { p = f32[64] parameter(0) ROOT r = f32[64] negate(p) }\n"
    "ENTRY e { i = s32[] parameter(0) x = f32[64] parameter(1) ROOT c = f32[64] conditional(i, x, "
    "x), branch_computations={f, g} }\n",
    // contraction: batched, transposed, with an epilogue and a conversion
    "HloModule dots\nENTRY e { x = f32[3,8,16] parameter(0) w = f32[3,16,5] parameter(1) h = "
    "f16[6,7] parameter(2) d = f32[3,8,5] dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, "
    "lhs_contracting_dims={2}, rhs_contracting_dims={1} t = f32[3,8,5] tanh(d) k = f16[7,7] dot(h, "
    "h), lhs_contracting_dims={0}, rhs_contracting_dims={0} ROOT o = (f32[3,8,5], f16[7,7]) "
    "tuple(t, k) }\n",
    // convolution by rows, depthwise, packed
    "HloModule convolutions\nENTRY e { x = f32[2,9,9,4] parameter(0) k = f32[3,3,4,6] parameter(1) "
    "d = f32[3,3,1,4] parameter(2) a = f32[2,9,9,6] convolution(x, k), window={size=3x3 "
    "pad=1_1x1_1}, dim_labels=b01f_01io->b01f b = f32[2,5,5,4] convolution(x, d), window={size=3x3 "
    "stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=4 g = f32[3,3,4,6] "
    "convolution(x, a), window={size=9x9 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf ROOT o = "
    "(f32[2,9,9,6], f32[2,5,5,4], f32[3,3,4,6]) tuple(a, b, g) }\n",
    // windows of all sorts
    "HloModule windows\n" ADD_F32
    "ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = pred[] compare(a, b), "
    "direction=GE }\n"
    "ENTRY e { x = f32[2,8,8,3] parameter(0) z = f32[] constant(0) p = f32[2,4,4,3] "
    "reduce-window(x, z), window={size=1x2x2x1 stride=1x2x2x1}, to_apply=add s = f32[2,8,8,3] "
    "reduce-window(x, z), window={size=1x8x1x1 pad=0_0x7_0x0_0x0_0}, to_apply=add q = f32[2,8,8,3] "
    "select-and-scatter(x, p, z), window={size=1x2x2x1 stride=1x2x2x1}, select=ge, scatter=add "
    "ROOT o = (f32[2,4,4,3], f32[2,8,8,3], f32[2,8,8,3]) tuple(p, s, q) }\n",
    // scatter, sort, topk
    "HloModule orders\n" ADD_F32
    "lt { a = f32[] parameter(0) b = f32[] parameter(1) c = s32[] parameter(2) d = s32[] "
    "parameter(3) ROOT s = pred[] compare(a, b), direction=LT }\n"
    "mod { a = s32[] parameter(0) b = s32[] parameter(1) k = s32[] constant(7) x = s32[] "
    "remainder(a, k) y = s32[] remainder(b, k) l = pred[] compare(x, y), direction=LT g = pred[] "
    "compare(a, b), direction=NE ROOT r = pred[] and(l, g) }\n"
    "ENTRY e { x = f32[10,6] parameter(0) i = s32[3,1] parameter(1) u = f32[3,6] parameter(2) n = "
    "s32[10,6] parameter(3) s = f32[10,6] scatter(x, i, u), update_window_dims={1}, "
    "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add "
    "o = (f32[10,6], s32[10,6]) sort(x, n), dimensions={0}, to_apply=lt m = s32[10,6] sort(n), "
    "dimensions={1}, to_apply=mod k = (f32[10,2], s32[10,2]) topk(x), k=2, largest=true a = "
    "f32[10,6] get-tuple-element(o), index=0 b = f32[10,2] get-tuple-element(k), index=0 c = "
    "s32[10,2] get-tuple-element(k), index=1 ROOT t = (f32[10,6], f32[10,6], s32[10,6], f32[10,2], "
    "s32[10,2]) tuple(s, a, m, b, c) }\n",
    // fft, linalg
    "HloModule algebra\nENTRY e { x = f32[3,12] parameter(0) c = c64[4,6] parameter(1) a = "
    "f32[2,40,40] parameter(2) b = f32[2,40,5] parameter(3) r = c64[3,7] fft(x), fft_type=RFFT, "
    "fft_length={12} i = f32[3,12] fft(r), fft_type=IRFFT, fft_length={12} f = c64[4,6] fft(c), "
    "fft_type=FFT, fft_length={4,6} l = f32[2,40,40] cholesky(a), lower=true s = f32[2,40,5] "
    "triangular-solve(a, b), left_side=true, lower=true, unit_diagonal=false, "
    "transpose_a=NO_TRANSPOSE ROOT o = (f32[3,12], c64[4,6], f32[2,40,40], f32[2,40,5]) tuple(i, "
    "f, l, s) }\n",
    // moves
    "HloModule moves\nENTRY e { x = f32[6,9,4] parameter(0) i = s32[] parameter(1) j = s32[] "
    "parameter(2) z = f32[] constant(2) y = f32[2,3,4] parameter(3) t = f32[4,6,9] transpose(x), "
    "dimensions={2,0,1} p = f32[9,9,4] pad(x, z), padding=1_2x0_0x0_0 s = f32[2,3,4] "
    "dynamic-slice(x, i, j, i), dynamic_slice_sizes={2,3,4} u = f32[6,9,4] dynamic-update-slice(x, "
    "y, i, j, i) c = f32[6,18,4] concatenate(x, x), dimensions={1} r = f32[6,9,4] reverse(x), "
    "dimensions={0,1} ROOT o = (f32[4,6,9], f32[9,9,4], f32[2,3,4], f32[6,9,4], f32[6,18,4], "
    "f32[6,9,4]) tuple(t, p, s, u, c, r) }\n",
    // evaluator, reductions in parts
    "HloModule others\n" ADD_F32
    "ENTRY e { x = f32[512,64] parameter(0) g = f32[2,3] parameter(1) z = f32[] constant(0) r = "
    "f32[] reduce(x, z), dimensions={0,1}, to_apply=add i = s32[4,1] parameter(2) h = f32[4,64] "
    "gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
    "index_vector_dim=1, slice_sizes={1,64} w = c64[2,3] complex(g, g) ROOT o = (f32[], f32[4,64], "
    "c64[2,3]) tuple(r, h, w) }\n",
};

static hsc_cpu_device *device;
static hsc_bytes originals[HSC_COUNT_OF(programs)];
// They stay: their kernels are found in the store, and nothing is linked for each input.
static hsc_cpu_executable *compiled[HSC_COUNT_OF(programs)];

static void stop(hsc_status *status, const char *what) {
  if (!status)
    return;
  fprintf(stderr, "fuzz_loaded_steps: %s: %s\n", what, hsc_status_message(status));
  abort();
}

static void prepare(void) {
  hsc_cpu_device_options options = {.thread_count = 1};
  stop(hsc_cpu_device_create(&options, &device), "device");
  for (size_t i = 0; i < HSC_COUNT_OF(programs); i++) {
    hsc_module *module;
    stop(hsc_program_read(hsc_view_of(programs[i]), "program", &module), programs[i]);
    stop(hsc_cpu_compile(device, module, NULL, &compiled[i]), programs[i]);
    stop(hsc_cpu_executable_serialize(compiled[i], &originals[i]), programs[i]);
    hsc_module_destroy(module);
  }
}

// Loops that would run for ever, and memory that nobody has, are for the caller to bound.
static bool is_quick(const hsc_cpu_executable *e) {
  if (e->temp_bytes > 1 << 26 || e->worker_scratch_bytes > 1 << 26)
    return false;
  for (int i = 0; i < e->input_count + e->output_count; i++)
    if (hsc_shape_bytes(i < e->input_count ? e->input_shapes[i]
                                           : e->output_shapes[i - e->input_count]) > 1 << 26)
      return false;
  int64_t trips = 1;
  for (int32_t t = 0; t < e->thunk_count; t++) {
    if (e->thunks[t].kind == HSC_CPU_THUNK_WINDOWS) {
      const hsc_windows *w = (const void *)(e->data + e->thunks[t].data);
      double positions = (double)w->last.size;
      for (int i = 0; i < HSC_WINDOWS_MAX_DIMS; i++)
        positions *= w->axes[i].size > 1 ? (double)w->axes[i].size : 1;
      if (positions > 1e5)
        return false;
    }
    if (e->thunks[t].kind != HSC_CPU_THUNK_WHILE)
      continue;
    const hsc_cpu_while *loop = (const void *)(e->data + e->thunks[t].data);
    if (loop->trip_count < 0 || loop->trip_count > 100)
      return false;
    trips *= loop->trip_count + 1;
    if (trips > 1000)
      return false;
  }
  return true;
}

static void *exact(const hsc_shape *shape, uint64_t seed) {
  size_t bytes = (size_t)hsc_shape_bytes(shape);
  void *memory = NULL;
  hsc_random random;
  if (posix_memalign(&memory, HSC_CPU_ALIGNMENT, bytes ? bytes : 1))
    abort();
  hsc_random_init(&random, seed);
  for (size_t i = 0; i < bytes; i++)
    ((uint8_t *)memory)[i] = (uint8_t)hsc_random_below(&random, 64);
  return memory;
}

static void run(hsc_cpu_executable *e) {
  void **memory = calloc((size_t)(e->input_count + e->output_count) + 1, sizeof *memory);
  if (!memory)
    return;
  for (int i = 0; i < e->input_count; i++)
    memory[i] = exact(e->input_shapes[i], (uint64_t)i);
  for (int o = 0; o < e->output_count; o++)
    memory[e->input_count + o] = exact(e->output_shapes[o], 99);
  hsc_status_free(hsc_cpu_execute(e, (const void *const *)memory, memory + e->input_count));
  for (int i = 0; i < e->input_count + e->output_count; i++)
    free(memory[i]);
  free(memory);
}

// One change: bytes, words and quadwords, to a value, by a difference, to a number at an edge.
static void change(char *bytes, const hsc_serial_header *header, const uint8_t *edit) {
  static const int sections[] = {HSC_SERIAL_THUNKS, HSC_SERIAL_SLICES, HSC_SERIAL_DATA,
                                 HSC_SERIAL_DATA,   HSC_SERIAL_DATA,   HSC_SERIAL_CONSTANTS,
                                 HSC_SERIAL_LAYOUT, HSC_SERIAL_ALIAS};
  static const int64_t edges[] = {0,  1,         -1,        2,         16,        63,
                                  64, INT32_MAX, INT32_MIN, 1ll << 32, 1ll << 60, INT64_MAX};
  const hsc_serial_range *range = &header->sections[sections[edit[0] % HSC_COUNT_OF(sections)]];
  uint32_t offset, value;
  memcpy(&offset, edit + 1, 4);
  memcpy(&value, edit + 6, 4);
  size_t width = (size_t)1 << (edit[5] % 4);
  if (range->bytes < width)
    return;
  char *at = bytes + range->offset + offset % (range->bytes / width) * width;
  int64_t number = 0;
  memcpy(&number, at, width);
  switch (edit[5] / 4 % 4) {
    case 0:
      number = (int32_t)value;
      break;
    case 1:
      number = (int64_t)((uint64_t)number + (uint64_t)(int64_t)(int8_t)value);
      break;
    case 2:
      number = edges[value % HSC_COUNT_OF(edges)];
      break;
    default:
      number ^= (int64_t)((uint64_t)1 << value % (8 * width));
      break;
  }
  memcpy(at, &number, width);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { EDIT_BYTES = 10, MAX_EDITS = 8 };
  if (size < 1)
    return 0;
  if (!device)
    prepare();
  const hsc_bytes *original = &originals[data[0] % HSC_COUNT_OF(originals)];
  hsc_cpu_executable *executable = NULL;
  hsc_serial_header header;
  char *copy = malloc(original->size);
  if (!copy)
    return 0;
  memcpy(copy, original->data, original->size);
  memcpy(&header, copy, sizeof header);
  for (size_t at = 1, edits = 0; at + EDIT_BYTES <= size && edits < MAX_EDITS; edits++) {
    change(copy, &header, data + at);
    at += EDIT_BYTES;
  }
  hsc__serial_seal(copy, original->size);
  hsc_status *status =
      hsc_cpu_executable_deserialize(device, (hsc_view){copy, original->size}, &executable);
  if (!status && is_quick(executable))
    run(executable);
  hsc_cpu_executable_release(executable);
  hsc_status_free(status);
  free(copy);
  return 0;
}
