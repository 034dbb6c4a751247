// test_serialize.c - compiled executables as bytes: what is loaded runs as what was compiled; what
// is not whole, or not of this machine, is refused.
#include <stdlib.h>

#include "base/core/random.h"
#include "cpu/kernels/gemm/contraction.h"
#include "cpu/serial/serial_format.h"
#include "cpu/thunks/fft.h"
#include "cpu/thunks/kernels.h"
#include "cpu/thunks/moves.h"
#include "cpu/thunks/scatter.h"
#include "cpu/thunks/sort.h"
#include "formats/common/formats.h"
#include "hlo/ir/custom.h"
#include "random_module.h"
#include "unit.h"

static hsc_cpu_device *device, *other_device;

static int open_devices(void **state) {
  hsc_cpu_device_options options = {.thread_count = 2};
  return hsc_cpu_device_create(&options, &device) || hsc_cpu_device_create(&options, &other_device)
             ? -1
             : 0;
}

static int close_devices(void **state) {
  hsc_cpu_device_destroy(device);
  hsc_cpu_device_destroy(other_device);
  return 0;
}

static hsc_cpu_executable *compile_text(const char *text) {
  hsc_module *module;
  hsc_cpu_executable *executable;
  EXPECT_OK(hsc_program_read(hsc_view_of(text), "test", &module));
  EXPECT_OK(hsc_cpu_compile(device, module, NULL, &executable));
  hsc_module_destroy(module);
  return executable;
}

// Both run on the same inputs; equal bits.
static void expect_same_results(hsc_cpu_executable *a, hsc_cpu_executable *b) {
  int inputs = hsc_cpu_executable_input_count(a);
  int outputs = hsc_cpu_executable_output_count(a);
  assert_int_equal(inputs, hsc_cpu_executable_input_count(b));
  assert_int_equal(outputs, hsc_cpu_executable_output_count(b));
  hsc_arena *arena;
  EXPECT_OK(hsc_arena_create(&arena));
  void **in = HSC_NEW_ARRAY(arena, void *, inputs + 1);
  void **first = HSC_NEW_ARRAY(arena, void *, outputs + 1);
  void **second = HSC_NEW_ARRAY(arena, void *, outputs + 1);
  for (int i = 0; i < inputs; i++) {
    assert_true(hsc_shape_equal(hsc_cpu_executable_input_shape(a, i),
                                hsc_cpu_executable_input_shape(b, i)));
    hsc_literal *literal;
    EXPECT_OK(hsc_literal_create(arena, hsc_cpu_executable_input_shape(a, i), &literal));
    hsc_literal_fill(literal, 5, (uint32_t)i);
    size_t bytes = (size_t)hsc_shape_bytes(&literal->shape);
    assert_int_equal(posix_memalign(&in[i], 64, bytes + 64), 0);
    if (bytes)
      memcpy(in[i], literal->data, bytes);
  }
  for (int o = 0; o < outputs; o++) {
    size_t bytes = (size_t)hsc_shape_bytes(hsc_cpu_executable_output_shape(a, o));
    assert_true(hsc_shape_equal(hsc_cpu_executable_output_shape(a, o),
                                hsc_cpu_executable_output_shape(b, o)));
    assert_int_equal(hsc_cpu_executable_output_alias(a, o), hsc_cpu_executable_output_alias(b, o));
    assert_int_equal(
        posix_memalign(&first[o], 64, bytes + 64) | posix_memalign(&second[o], 64, bytes + 64), 0);
    memset(first[o], 1, bytes);
    memset(second[o], 2, bytes);
  }
  EXPECT_OK(hsc_cpu_execute(a, (const void *const *)in, first));
  EXPECT_OK(hsc_cpu_execute(b, (const void *const *)in, second));
  for (int o = 0; o < outputs; o++)
    if (memcmp(first[o], second[o], (size_t)hsc_shape_bytes(hsc_cpu_executable_output_shape(a, o))))
      fail_msg("output %d differs", o);
  for (int i = 0; i < inputs; i++)
    free(in[i]);
  for (int o = 0; o < outputs; o++) {
    free(first[o]);
    free(second[o]);
  }
  hsc_arena_destroy(arena);
}

static void expect_loads(hsc_cpu_executable *compiled, hsc_cpu_device *on) {
  hsc_bytes bytes = {0};
  hsc_bytes again = {0};
  hsc_cpu_executable *loaded;
  // After other bytes, so that nothing is aligned.
  hsc_bytes_append_text(&bytes, "odd");
  EXPECT_OK(hsc_cpu_executable_serialize(compiled, &bytes));
  hsc_view view = {bytes.data + 3, bytes.size - 3};
  EXPECT_OK(hsc_cpu_executable_deserialize(on, view, &loaded));
  const hsc_cpu_stats *was = hsc_cpu_executable_stats(compiled);
  const hsc_cpu_stats *is = hsc_cpu_executable_stats(loaded);
  assert_true(is->from_cache && !was->from_cache);
  assert_true(is->argument_bytes == was->argument_bytes && is->output_bytes == was->output_bytes &&
              is->alias_bytes == was->alias_bytes && is->temp_bytes == was->temp_bytes &&
              is->constant_bytes == was->constant_bytes &&
              is->instruction_count == was->instruction_count &&
              is->fusion_count == was->fusion_count && is->thunk_count == was->thunk_count &&
              is->kernel_count == was->kernel_count);
  assert_string_equal(hsc_cpu_executable_name(loaded), hsc_cpu_executable_name(compiled));
  expect_same_results(compiled, loaded);
  hsc_hash128 a = hsc_module_fingerprint(hsc_cpu_executable_module(compiled));
  hsc_hash128 b = hsc_module_fingerprint(hsc_cpu_executable_module(loaded));
  assert_true(a.low == b.low && a.high == b.high);
  // What was loaded can be written again, to the same bytes but for where it was made.
  EXPECT_OK(hsc_cpu_executable_serialize(loaded, &again));
  assert_int_equal(again.size, view.size);
  hsc_cpu_executable_release(loaded);
  hsc_bytes_deinit(&bytes);
  hsc_bytes_deinit(&again);
}

static const char network[] =
    "HloModule network, input_output_alias={ {1}: (2, {}, may-alias) }\n"
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
    "condition { p = (s32[], f32[8,16]) parameter(0) i = s32[] get-tuple-element(p), index=0 n = "
    "s32[] constant(3) ROOT c = pred[] compare(i, n), direction=LT }\n"
    "body { p = (s32[], f32[8,16]) parameter(0) i = s32[] get-tuple-element(p), index=0 x = "
    "f32[8,16] get-tuple-element(p), index=1\n"
    "  one = s32[] constant(1) j = s32[] add(i, one) y = f32[8,16] tanh(x) z = f32[8,16] "
    "multiply(y, x) ROOT t = (s32[], f32[8,16]) tuple(j, z) }\n"
    "ENTRY main {\n"
    "  x = f32[8,32] parameter(0)\n"
    "  w = f32[32,16] parameter(1)\n"
    "  g = f32[16] parameter(2)\n"
    "  h = f32[8,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  b = f32[8,16] broadcast(g), dimensions={1}\n"
    "  s = f32[8,16] add(h, b)\n"
    "  zero = s32[] constant(0)\n"
    "  init = (s32[], f32[8,16]) tuple(zero, s)\n"
    "  loop = (s32[], f32[8,16]) while(init), condition=condition, body=body\n"
    "  y = f32[8,16] get-tuple-element(loop), index=1\n"
    "  z = f32[] constant(0)\n"
    "  r = f32[16] reduce(y, z), dimensions={0}, to_apply=add\n"
    "  k = f32[16] constant({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})\n"
    "  n = f32[16] subtract(g, k)\n"
    "  t = f32[16,8] transpose(y), dimensions={1,0}\n"
    "  ROOT out = (f32[16], f32[16], f32[16,8]) tuple(r, n, t)\n"
    "}\n";

static void what_is_loaded_runs_as_what_was_compiled(void **state) {
  hsc_cpu_executable *executable = compile_text(network);
  expect_loads(executable, device);        // kernels that are there already
  expect_loads(executable, other_device);  // kernels that are linked
  hsc_cpu_executable_release(executable);
}

static void a_loaded_one_outlives_all_else(void **state) {
  hsc_cpu_executable *compiled = compile_text(network);
  hsc_cpu_executable *loaded;
  hsc_bytes bytes = {0};
  hsc_cpu_device *own;
  EXPECT_OK(hsc_cpu_device_create(NULL, &own));
  EXPECT_OK(hsc_cpu_executable_serialize(compiled, &bytes));
  EXPECT_OK(hsc_cpu_executable_deserialize(own, hsc_bytes_view(&bytes), &loaded));
  memset(bytes.data, 0, bytes.size);
  hsc_bytes_deinit(&bytes);
  hsc_cpu_device_destroy(own);
  expect_same_results(compiled, loaded);
  hsc_cpu_executable_release(compiled);
  hsc_cpu_executable_release(loaded);
}

static void random_programs_load(void **state) {
  for (uint64_t seed = 1; seed <= 60; seed++) {
    hsc_module *module;
    hsc_cpu_executable *executable = NULL;
    EXPECT_OK(random_module_create(seed, NULL, &module));
    hsc_status *status = hsc_cpu_compile(device, module, NULL, &executable);
    hsc_module_destroy(module);
    if (hsc_status_code(status) == HSC_UNIMPLEMENTED) {
      hsc_status_free(status);
      continue;
    }
    EXPECT_OK(status);
    expect_loads(executable, other_device);
    hsc_cpu_executable_release(executable);
  }
}

static void expect_refused(hsc_view bytes, hsc_code code, const char *words) {
  hsc_cpu_executable *loaded = NULL;
  hsc_status *status = hsc_cpu_executable_deserialize(other_device, bytes, &loaded);
  if (hsc_status_code(status) != code || !strstr(hsc_status_message(status), words))
    fail_msg("%s: %s; expected '%s'", hsc_code_name(hsc_status_code(status)),
             hsc_status_message(status), words);
  assert_null(loaded);
  hsc_status_free(status);
}

static void what_is_not_whole_or_not_ours_is_refused(void **state) {
  hsc_cpu_executable *executable = compile_text(network);
  hsc_bytes bytes = {0};
  EXPECT_OK(hsc_cpu_executable_serialize(executable, &bytes));
  hsc_cpu_executable_release(executable);
  hsc_view view = hsc_bytes_view(&bytes);
  hsc_serial_header *header = (hsc_serial_header *)bytes.data;
  hsc_serial_header saved = *header;
  expect_refused((hsc_view){"", 0}, HSC_INVALID_ARGUMENT, "no serialized executable");
  expect_refused(HSC_VIEW("ELF and more than eight bytes"), HSC_INVALID_ARGUMENT,
                 "no serialized executable");
  for (size_t cut = sizeof header->magic; cut < view.size; cut += 1 + view.size / 500)
    expect_refused((hsc_view){view.data, cut}, HSC_DATA_LOSS, "cut off");
  for (size_t bit = 64; bit < 8 * view.size; bit += 1 + 8 * view.size / 700) {
    if (bit / 8 >= 16 && bit / 8 < 24)
      continue;  // the size: the case above
    bytes.data[bit / 8] ^= (char)(1 << bit % 8);
    expect_refused(view, HSC_DATA_LOSS, "");
    bytes.data[bit / 8] ^= (char)(1 << bit % 8);
  }
  header->version++;
  hsc__serial_seal(bytes.data, bytes.size);
  expect_refused(view, HSC_FAILED_PRECONDITION, "format version 3, this hloscope reads version 2");
  *header = saved;
  header->build[0] ^= 1;
  hsc__serial_seal(bytes.data, bytes.size);
  expect_refused(view, HSC_FAILED_PRECONDITION, "made by build");
  hsc_cpu_serialized_info info;
  EXPECT_OK(hsc_cpu_serialized_info_read(view, &info));
  assert_string_equal(info.name, "network");
  EXPECT_CODE(FAILED_PRECONDITION, info.machine);
  *header = saved;
  header->features[3] = UINT32_MAX;
  hsc__serial_seal(bytes.data, bytes.size);
  expect_refused(view, HSC_FAILED_PRECONDITION, "a processor with more");
  *header = saved;
  header->isa_level = 7;
  hsc__serial_seal(bytes.data, bytes.size);
  expect_refused(view, HSC_FAILED_PRECONDITION, "instruction set level 7");
  *header = saved;
  hsc__serial_seal(bytes.data, bytes.size);
  hsc_cpu_executable *loaded;
  EXPECT_OK(hsc_cpu_executable_deserialize(other_device, view, &loaded));
  hsc_cpu_executable_release(loaded);
  hsc_bytes_deinit(&bytes);
}

// Bytes with a right checksum around wrong content (another writer, an enemy): errors or
// executables that are taken apart again, never a crash.
static void sealed_nonsense_never_crashes(void **state) {
  hsc_cpu_executable *executable = compile_text(network);
  hsc_bytes bytes = {0};
  EXPECT_OK(hsc_cpu_executable_serialize(executable, &bytes));
  hsc_cpu_executable_release(executable);
  hsc_random random;
  hsc_random_init(&random, 11);
  char *copy = malloc(bytes.size);
  int refused = 0;
  for (int round = 0; round < 3000; round++) {
    memcpy(copy, bytes.data, bytes.size);
    size_t from = offsetof(hsc_serial_header, features);
    for (int change = 0; change < 1 + round % 4; change++) {
      size_t at =
          from + (size_t)hsc_random_below(&random, round % 3 == 0 ? sizeof(hsc_serial_header) - from
                                                                  : bytes.size - from);
      copy[at] = (char)(round & 1 ? copy[at] ^ 1 << hsc_random_below(&random, 8)
                                  : (int)hsc_random_below(&random, 256));
    }
    hsc__serial_seal(copy, bytes.size);
    hsc_cpu_executable *loaded = NULL;
    hsc_status *status =
        hsc_cpu_executable_deserialize(other_device, (hsc_view){copy, bytes.size}, &loaded);
    refused += status != NULL;
    hsc_status_free(status);
    if (loaded)
      hsc_cpu_executable_module(loaded);
    hsc_cpu_executable_release(loaded);
  }
  assert_true(refused > 100);
  free(copy);
  hsc_bytes_deinit(&bytes);
}

// Serializes a program, lets `damage` change one step's payload, and seals it again.
typedef void (*damage)(void *payload, hsc_cpu_thunk *thunk);
static void expect_payload_refused(const char *text, hsc_cpu_thunk_kind kind, damage change) {
  hsc_cpu_executable *executable = compile_text(text);
  hsc_bytes bytes = {0};
  int changed = 0;
  EXPECT_OK(hsc_cpu_executable_serialize(executable, &bytes));
  hsc_cpu_executable_release(executable);
  const hsc_serial_header *header = (const hsc_serial_header *)bytes.data;
  const hsc_serial_range *section = &header->sections[HSC_SERIAL_THUNKS];
  hsc_cpu_thunk *thunks = (hsc_cpu_thunk *)(void *)(bytes.data + section->offset);
  for (size_t t = 0; t < section->bytes / sizeof *thunks; t++) {
    if (thunks[t].kind != (int32_t)kind)
      continue;
    change(bytes.data + header->sections[HSC_SERIAL_DATA].offset + thunks[t].data, &thunks[t]);
    changed++;
  }
  if (!changed)
    fail_msg("no step of kind %d in %s", (int)kind, text);
  hsc__serial_seal(bytes.data, bytes.size);
  expect_refused(hsc_bytes_view(&bytes), HSC_DATA_LOSS, "payload of step");
  hsc_bytes_deinit(&bytes);
}

static void more_elements(void *payload, hsc_cpu_thunk *thunk) {
  ((int32_t *)payload)[1] = 1 << 20;
}
static void far_register(void *payload, hsc_cpu_thunk *thunk) {
  ((int32_t *)payload)[2] = 5000;
}
static void longer_transform(void *payload, hsc_cpu_thunk *thunk) {
  ((hsc_fft *)payload)->passes[0].n = (int64_t)1 << 60;
}
static void a_swap_of_one(void *payload, hsc_cpu_thunk *thunk) {
  thunk->kind = HSC_CPU_THUNK_SWAP;
}
static void far_offset(void *payload, hsc_cpu_thunk *thunk) {
  ((hsc_cpu_moves *)payload)->moves[0].from_offset = 1 << 20;
}
static void more_rows(void *payload, hsc_cpu_thunk *thunk) {
  ((hsc_contraction *)payload)->m = ((hsc_contraction *)payload)->m_task = 5000;
}
static void more_trips(void *payload, hsc_cpu_thunk *thunk) {
  ((hsc_cpu_kernel_call *)payload)->count += 1000;
}
static void longer_rows(void *payload, hsc_cpu_thunk *thunk) {
  ((hsc_sort *)payload)->length = 1 << 20;
}

// The second rank says that it is the first of its group, as the first does: a row of its table is
// group, position, size and two members.
static void two_first_members(void *payload, hsc_cpu_thunk *thunk) {
  int32_t *rows_end = (int32_t *)(void *)((char *)payload + thunk->data_bytes);
  assert_int_equal(rows_end[-4], 1);
  rows_end[-4] = 0;
}
// One rank of two waits for a third.
static void a_larger_group(void *payload, hsc_cpu_thunk *thunk) {
  int32_t *rows_end = (int32_t *)(void *)((char *)payload + thunk->data_bytes);
  assert_int_equal(rows_end[-3], 2);
  rows_end[-3] = rows_end[-8] = 3;
}

// Every kind of step says what makes its payload sound; nothing is taken for granted.
static void changed_payloads_are_refused(void **state) {
  static const char tiny[] =
      "HloModule t\nENTRY e { x = s32[] parameter(0) y = s32[] parameter(1) ROOT z = s32[] add(x, "
      "y) }\n";
  static const char fft[] =
      "HloModule f\nENTRY e { x = c64[4,12] parameter(0) ROOT y = c64[4,12] fft(x), fft_type=FFT, "
      "fft_length={12} }\n";
  static const char slice[] =
      "HloModule m\nENTRY e { x = f32[64,8] parameter(0) ROOT y = f32[32,4] slice(x), "
      "slice={[4:36], [2:6]} }\n";
  static const char sort[] =
      "HloModule o\nlt { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = pred[] compare(a, "
      "b), direction=LT }\nENTRY e { x = f32[64,8] parameter(0) ROOT y = f32[64,8] sort(x), "
      "dimensions={1}, to_apply=lt }\n";
  static const char sum[] =
      "HloModule c, replica_count=2\nadd { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = "
      "f32[] add(a, b) }\nENTRY e { x = f32[64] parameter(0) ROOT y = f32[64] all-reduce(x), "
      "replica_groups={{0,1}}, to_apply=add }\n";
  expect_payload_refused(sum, HSC_CPU_THUNK_COLLECTIVE, two_first_members);
  expect_payload_refused(sum, HSC_CPU_THUNK_COLLECTIVE, a_larger_group);
  expect_payload_refused(tiny, HSC_CPU_THUNK_SCALAR_INTERPRETER, more_elements);
  expect_payload_refused(tiny, HSC_CPU_THUNK_SCALAR_INTERPRETER, far_register);
  expect_payload_refused(fft, HSC_CPU_THUNK_FFT, longer_transform);
  expect_payload_refused(network, HSC_CPU_THUNK_COPY, a_swap_of_one);
  expect_payload_refused(slice, HSC_CPU_THUNK_MOVES, far_offset);
  expect_payload_refused(sort, HSC_CPU_THUNK_SORT, longer_rows);
  expect_payload_refused(network, HSC_CPU_THUNK_CONTRACTION, more_rows);
  expect_payload_refused(network, HSC_CPU_THUNK_KERNEL, more_trips);
}

// A step with nothing to do is accepted with anything else in its payload, and then looks none of
// it up.
static void a_scatter_without_updates_runs(void **state) {
  static const char text[] =
      "HloModule s\nput { a = f32[] parameter(0) ROOT b = f32[] parameter(1) }\nENTRY e { x = "
      "f32[10,6] parameter(0) i = s32[3,1] parameter(1) u = f32[3,6] parameter(2) ROOT s = "
      "f32[10,6] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=put }\n";
  hsc_cpu_executable *executable = compile_text(text);
  hsc_bytes bytes = {0};
  int changed = 0;
  EXPECT_OK(hsc_cpu_executable_serialize(executable, &bytes));
  hsc_cpu_executable_release(executable);
  const hsc_serial_header *header = (const hsc_serial_header *)bytes.data;
  const hsc_serial_range *section = &header->sections[HSC_SERIAL_THUNKS];
  hsc_cpu_thunk *thunks = (hsc_cpu_thunk *)(void *)(bytes.data + section->offset);
  hsc_cpu_slice *slices =
      (hsc_cpu_slice *)(void *)(bytes.data + header->sections[HSC_SERIAL_SLICES].offset);
  for (size_t t = 0; t < section->bytes / sizeof *thunks; t++) {
    if (thunks[t].kind != HSC_CPU_THUNK_SCATTER)
      continue;
    hsc_scatter *payload = (hsc_scatter *)(void *)(bytes.data + thunks[t].data +
                                                   header->sections[HSC_SERIAL_DATA].offset);
    payload->op = 1 << 28;
    payload->kernel = 1 << 28;
    payload->type = 1 << 28;
    slices[thunks[t].slice_first + 2].bytes = 0;
    changed++;
  }
  assert_int_equal(changed, 1);
  hsc__serial_seal(bytes.data, bytes.size);
  EXPECT_OK(hsc_cpu_executable_deserialize(device, hsc_bytes_view(&bytes), &executable));
  expect_same_results(executable, executable);
  hsc_cpu_executable_release(executable);
  hsc_bytes_deinit(&bytes);
}

static hsc_status *nothing(void *user, const hsc_custom_call *call) {
  return NULL;
}

// A function of this process has a number here that means another one elsewhere.
static void programs_with_host_functions_are_not_written(void **state) {
  EXPECT_OK(hsc_custom_register("hloscope_host_callback", nothing, NULL));
  hsc_cpu_executable *executable = compile_text(
      "HloModule calls\nENTRY main { x = f32[4] parameter(0) ROOT y = f32[4] custom-call(x), "
      "custom_call_target=\"hloscope_host_callback\" }\n");
  hsc_bytes bytes = {0};
  EXPECT_CODE(UNIMPLEMENTED, hsc_cpu_executable_serialize(executable, &bytes));
  hsc_bytes_deinit(&bytes);
  hsc_cpu_executable_release(executable);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_loaded_runs_as_what_was_compiled),
      cmocka_unit_test(a_loaded_one_outlives_all_else),
      cmocka_unit_test(random_programs_load),
      cmocka_unit_test(programs_with_host_functions_are_not_written),
      cmocka_unit_test(what_is_not_whole_or_not_ours_is_refused),
      cmocka_unit_test(sealed_nonsense_never_crashes),
      cmocka_unit_test(changed_payloads_are_refused),
      cmocka_unit_test(a_scatter_without_updates_runs),
  };
  return cmocka_run_group_tests(tests, open_devices, close_devices);
}
