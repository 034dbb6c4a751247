// test_plugin_programs.c - programs on our device, through the client and the interface: numbers,
// donation, errors, saving and loading.
#include <stdlib.h>

#include "unit.h"
#include "base/core/random.h"
#include "pjrt/client.h"
#include "plugin/plugin_internal.h"

static const PJRT_Api *api;
static hsc_plugin *plugin;
static hsc_client *client;

#define ARGS_OF(function, ...) {.struct_size = function##_Args_STRUCT_SIZE, __VA_ARGS__}

static const char sum_and_product[] =
    "HloModule sum_and_product\n"
    "ENTRY main {\n"
    "  x = f32[4] parameter(0)\n"
    "  y = f32[4] parameter(1)\n"
    "  s = f32[4] add(x, y)\n"
    "  p = f32[4] multiply(x, y)\n"
    "  ROOT t = (f32[4], f32[4]) tuple(s, p)\n"
    "}\n";
// A training step in small: parameter 0 is updated in place.
static const char step[] =
    "HloModule step, input_output_alias={ {0}: (0, {}, may-alias) }\n"
    "ENTRY main {\n"
    "  w = f32[4] parameter(0)\n"
    "  g = f32[4] parameter(1)\n"
    "  n = f32[4] subtract(w, g)\n"
    "  ROOT t = (f32[4]) tuple(n)\n"
    "}\n";

static int open_device(void **state) {
  api = hsc__plugin_table();
  assert_null(hsc_plugin_open_table(api, "built-in", &plugin));
  assert_null(hsc_plugin_initialize(plugin));
  assert_null(hsc_client_create(plugin, NULL, 0, &client));
  return 0;
}

static int close_device(void **state) {
  hsc_client_destroy(client);
  hsc_plugin_close(plugin);
  return 0;
}

static void fail_with(hsc_status *status) {
  fail_msg("%s (%s)", hsc_status_message(status), hsc_status_notes(status));
}

static void expect_status(hsc_status *status, hsc_code code, const char *words) {
  if (!status)
    fail_msg("no error, but '%s' expected", words);
  if (hsc_status_code(status) != code || !strstr(hsc_status_message(status), words))
    fail_msg("code %d, message '%s'; expected %d, '%s'", (int)hsc_status_code(status),
             hsc_status_message(status), (int)code, words);
  hsc_status_free(status);
}

static hsc_executable *compile(const char *text) {
  hsc_executable *executable;
  hsc_bytes options = {0};
  hsc_compile_options o = hsc_compile_options_default();
  assert_null(hsc_compile_options_write(&o, &options));
  hsc_status *status =
      hsc_client_compile(client, hsc_view_of(text), "hlo", hsc_bytes_view(&options), &executable);
  if (status)
    fail_with(status);
  hsc_bytes_deinit(&options);
  return executable;
}

static hsc_buffer *put(float a, float b, float c, float d) {
  static const int64_t dims[1] = {4};
  const float data[4] = {a, b, c, d};
  hsc_buffer *buffer;
  hsc_status *status =
      hsc_buffer_from_host(client, 0, &(hsc_host_array){PJRT_Buffer_Type_F32, 1, dims, data},
                           HSC_HOST_COPY, NULL, &buffer);
  if (status)
    fail_with(status);
  return buffer;
}

static void expect_numbers(hsc_buffer *buffer, float a, float b, float c, float d) {
  const float expected[4] = {a, b, c, d};
  float found[4];
  hsc_status *status = hsc_buffer_to_host(buffer, found, sizeof found);
  if (status)
    fail_with(status);
  for (int i = 0; i < 4; i++)
    if (found[i] != expected[i])
      fail_msg("element %d is %g, expected %g", i, found[i], expected[i]);
}

static hsc_execution *prepare(hsc_executable *executable, hsc_buffer *x, hsc_buffer *y) {
  hsc_execution *run;
  hsc_status *status = hsc_execution_create(executable, 2, &run);
  if (status)
    fail_with(status);
  hsc_execution_set_argument(run, 0, x);
  hsc_execution_set_argument(run, 1, y);
  return run;
}

static void run_and_wait(hsc_execution *run) {
  hsc_status *status = hsc_execution_run(run);
  if (status)
    fail_with(status);
  status = hsc_execution_await(run);
  if (status)
    fail_with(status);
}

// ---- running ------------------------------------------------------------------------------------

static void a_program_gives_numbers(void **state) {
  hsc_executable *executable = compile(sum_and_product);
  hsc_buffer *x = put(1, 2, 3, 4);
  hsc_buffer *y = put(10, 20, 30, 40);
  hsc_execution *run = prepare(executable, x, y);
  run_and_wait(run);
  expect_numbers(hsc_execution_output(run, 0), 11, 22, 33, 44);
  expect_numbers(hsc_execution_output(run, 1), 10, 40, 90, 160);
  expect_numbers(x, 1, 2, 3, 4);
  hsc_execution_destroy(run);
  hsc_buffer_destroy(x);
  hsc_buffer_destroy(y);
  hsc_executable_destroy(executable);
}

// Once warm, no allocation may be asked for: each one would fail.
static void a_run_in_the_steady_state_allocates_nothing(void **state) {
  hsc_executable *executable = compile(
      "HloModule dot\nENTRY main {\n  x = f32[2,2] parameter(0)\n  y = f32[2,2] parameter(1)\n"
      "  ROOT d = f32[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n");
  static const int64_t dims[2] = {2, 2};
  static const float data[4] = {1, 2, 3, 4};
  hsc_buffer *x;
  assert_null(hsc_buffer_from_host(
      client, 0, &(hsc_host_array){PJRT_Buffer_Type_F32, 2, dims, data}, HSC_HOST_COPY, NULL, &x));
  hsc_execution *run = prepare(executable, x, x);
  for (int i = 0; i < 3; i++)
    run_and_wait(run);
  hsc_alloc_fail_after(1);
  for (int i = 0; i < 100; i++) {
    hsc_status *status = hsc_execution_run(run);
    if (!status)
      status = hsc_execution_await(run);
    if (!status)
      continue;
    hsc_alloc_fail_after(0);
    fail_msg("run %d allocates", i);
  }
  hsc_alloc_fail_after(0);
  expect_numbers(hsc_execution_output(run, 0), 7, 10, 15, 22);
  hsc_execution_destroy(run);
  hsc_buffer_destroy(x);
  hsc_executable_destroy(executable);
}

static void dependent_runs_feed_back(void **state) {
  hsc_executable *executable = compile(step);
  hsc_buffer *w = put(10, 10, 10, 10);
  hsc_buffer *g = put(1, 2, 3, 4);
  hsc_execution *run = prepare(executable, w, g);
  hsc_execution_allow_donation(run, true);
  hsc_execution *keep = prepare(executable, w, g);
  run_and_wait(keep);  // without donation: w stays
  expect_numbers(w, 10, 10, 10, 10);
  hsc_execution_destroy(keep);
  for (int i = 0; i < 3; i++) {
    run_and_wait(run);
    hsc_status *status = hsc_execution_feed(run, 0, 0);
    if (status)
      fail_with(status);
  }
  run_and_wait(run);
  expect_numbers(hsc_execution_output(run, 0), 6, 2, -2, -6);
  hsc_execution_destroy(run);
  hsc_buffer_destroy(w);
  hsc_buffer_destroy(g);
  hsc_executable_destroy(executable);
}

// ---- donation, through the interface ------------------------------------------------------------

static PJRT_Client *raw_client;
static PJRT_LoadedExecutable *raw_compile(const char *text) {
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                          .code = (char *)text,
                          .code_size = strlen(text),
                          .format = "hlo",
                          .format_size = 3};
  PJRT_Client_Compile_Args args =
      ARGS_OF(PJRT_Client_Compile, .client = raw_client, .program = &program);
  assert_null(api->PJRT_Client_Compile(&args));
  return args.executable;
}

static PJRT_Buffer *raw_put(float value) {
  static const int64_t dims[1] = {4};
  const float data[4] = {value, value, value, value};
  PJRT_Client_BufferFromHostBuffer_Args args =
      ARGS_OF(PJRT_Client_BufferFromHostBuffer, .client = raw_client, .data = data,
              .type = PJRT_Buffer_Type_F32, .dims = dims, .num_dims = 1);
  assert_null(api->PJRT_Client_BufferFromHostBuffer(&args));
  return args.buffer;
}

static void *address(PJRT_Buffer *buffer) {
  PJRT_Buffer_UnsafePointer_Args args = ARGS_OF(PJRT_Buffer_UnsafePointer, .buffer = buffer);
  assert_null(api->PJRT_Buffer_UnsafePointer(&args));
  return (void *)args.buffer_pointer;
}

static float first_number(PJRT_Buffer *buffer) {
  return *(float *)address(buffer);
}

static bool is_deleted(PJRT_Buffer *buffer) {
  PJRT_Buffer_IsDeleted_Args args = ARGS_OF(PJRT_Buffer_IsDeleted, .buffer = buffer);
  assert_null(api->PJRT_Buffer_IsDeleted(&args));
  return args.is_deleted;
}

static void raw_drop(PJRT_Buffer *buffer) {
  PJRT_Buffer_Destroy_Args args = ARGS_OF(PJRT_Buffer_Destroy, .buffer = buffer);
  assert_null(api->PJRT_Buffer_Destroy(&args));
}

static int raw_run(PJRT_LoadedExecutable *executable,
                   PJRT_Buffer *x,
                   PJRT_Buffer *y,
                   const int64_t *keep,
                   size_t keep_count,
                   PJRT_Buffer **out) {
  PJRT_Buffer *const arguments[2] = {x, y};
  PJRT_Buffer *const *const argument_lists[1] = {arguments};
  PJRT_Buffer **const output_lists[1] = {out};
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                 .non_donatable_input_indices = keep,
                                 .num_non_donatable_input_indices = keep_count};
  PJRT_LoadedExecutable_Execute_Args args =
      ARGS_OF(PJRT_LoadedExecutable_Execute, .executable = executable, .options = &options,
              .argument_lists = argument_lists, .num_devices = 1, .num_args = 2,
              .output_lists = output_lists);
  PJRT_Error *error = api->PJRT_LoadedExecutable_Execute(&args);
  if (!error)
    return 0;
  int code = error->vtable->get_code(error);
  error->vtable->destroy(error);
  return code;
}

// f32[2,3] of i * factor in the order of dimensions that is given; NULL = row-major.
static PJRT_Buffer *raw_matrix(float factor, const int64_t *minor_to_major) {
  static const int64_t dims[2] = {2, 3};
  float data[6];
  for (int i = 0; i < 6; i++)
    data[i] = factor * (float)i;
  PJRT_Buffer_MemoryLayout layout = {
      .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
      .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                .minor_to_major = minor_to_major,
                .minor_to_major_size = 2}};
  PJRT_Client_BufferFromHostBuffer_Args args =
      ARGS_OF(PJRT_Client_BufferFromHostBuffer, .client = raw_client, .data = data,
              .type = PJRT_Buffer_Type_F32, .dims = dims, .num_dims = 2,
              .device_layout = minor_to_major ? &layout : NULL);
  assert_null(api->PJRT_Client_BufferFromHostBuffer(&args));
  return args.buffer;
}

static void arguments_and_results_have_the_layout_that_is_asked_for(void **state) {
  static const char text[] =
      "func.func @main(%x: tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\"}, %y: tensor<2x3xf32> "
      "{mhlo.layout_mode = \"default\"})"
      " -> (tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\"}, tensor<3x2xf32> {mhlo.layout_mode = "
      "\"auto\"}) {\n"
      "  %0 = stablehlo.subtract %x, %y : tensor<2x3xf32>\n"
      "  %1 = stablehlo.transpose %y, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
      "  return %0, %1 : tensor<2x3xf32>, tensor<3x2xf32>\n}\n";
  static const int64_t columns[2] = {0, 1};
  static const float difference[6] = {0, -27, -9, -36, -18, -45};
  static const float same[6] = {0, 10, 20, 30, 40, 50};
  PJRT_Client_Create_Args create = ARGS_OF(PJRT_Client_Create);
  assert_null(api->PJRT_Client_Create(&create));
  raw_client = create.client;
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                          .code = (char *)text,
                          .code_size = strlen(text),
                          .format = "mlir",
                          .format_size = 4};
  PJRT_Client_Compile_Args compiled =
      ARGS_OF(PJRT_Client_Compile, .client = raw_client, .program = &program);
  assert_null(api->PJRT_Client_Compile(&compiled));
  hsc__program *p = compiled.executable->program;
  hsc__program *again;
  PJRT_Buffer *x = raw_matrix(1, columns);
  PJRT_Buffer *y = raw_matrix(10, NULL);
  PJRT_Buffer *out[2];
  PJRT_Buffer *first;
  assert_float_equal(((float *)address(x))[1], 3, 0);
  assert_int_equal(raw_run(compiled.executable, x, y, NULL, 0, out), 0);
  assert_memory_equal(address(out[0]), difference, sizeof difference);  // column by column
  assert_memory_equal(address(out[1]), same, sizeof same);              // nothing moved
  assert_string_equal(out[0]->layout->text, "{0,1}");
  assert_int_equal(out[1]->dims[0], 3);
  assert_string_equal(out[1]->layout->text, "{0,1}");
  raw_drop(out[1]);
  first = out[0];
  // row by row is not what it takes
  assert_int_equal(raw_run(compiled.executable, y, y, NULL, 0, out), HSC_INVALID_ARGUMENT);
  hsc_bytes bytes = {0};
  assert_null(hsc__program_serialize(p, &bytes));
  assert_null(hsc__program_load(raw_client->device, hsc_bytes_view(&bytes), (hsc_view){0},
                                raw_client->device_count, &again));
  assert_ptr_equal(again->in_layouts[0], p->in_layouts[0]);
  assert_null(again->in_layouts[1]);
  assert_int_equal(again->outputs[0].dims[1], 3);
  hsc__program_release(again);
  hsc_bytes_deinit(&bytes);
  raw_drop(x);
  raw_drop(y);
  raw_drop(first);
  PJRT_LoadedExecutable_Destroy_Args destroy =
      ARGS_OF(PJRT_LoadedExecutable_Destroy, .executable = compiled.executable);
  assert_null(api->PJRT_LoadedExecutable_Destroy(&destroy));
  PJRT_Client_Destroy_Args end = ARGS_OF(PJRT_Client_Destroy, .client = raw_client);
  assert_null(api->PJRT_Client_Destroy(&end));
}

static void donated_memory_is_taken_when_nobody_else_has_it(void **state) {
  static const int64_t first[1] = {0};
  PJRT_Client_Create_Args create = ARGS_OF(PJRT_Client_Create);
  assert_null(api->PJRT_Client_Create(&create));
  raw_client = create.client;
  PJRT_LoadedExecutable *executable = raw_compile(step);
  PJRT_Buffer *g = raw_put(1);
  PJRT_Buffer *w = raw_put(10);
  PJRT_Buffer *out = NULL;
  void *memory = address(w);
  // Donated: the output lies where w was, and w is gone.
  assert_int_equal(raw_run(executable, w, g, NULL, 0, &out), 0);
  assert_true(is_deleted(w));
  assert_ptr_equal(address(out), memory);
  assert_true(first_number(out) == 9.0f);
  // w is deleted
  assert_int_equal(raw_run(executable, w, g, NULL, 0, &w), PJRT_Error_Code_INVALID_ARGUMENT);
  raw_drop(w);
  // Kept by the host: a new place, w stays.
  w = out;
  assert_int_equal(raw_run(executable, w, g, first, 1, &out), 0);
  assert_false(is_deleted(w));
  assert_ptr_not_equal(address(out), address(w));
  assert_true(first_number(out) == 8.0f && first_number(w) == 9.0f);
  raw_drop(out);
  // Shared with a copy: taken from the host all the same, but not written.
  PJRT_Buffer_CopyToDevice_Args copy =
      ARGS_OF(PJRT_Buffer_CopyToDevice, .buffer = w, .dst_device = raw_client->device_list[0]);
  assert_null(api->PJRT_Buffer_CopyToDevice(&copy));
  assert_int_equal(raw_run(executable, w, g, NULL, 0, &out), 0);
  assert_true(is_deleted(w));
  assert_true(first_number(out) == 8.0f && first_number(copy.dst_buffer) == 9.0f);
  raw_drop(w);
  raw_drop(copy.dst_buffer);
  // Seen by foreign code: not written.
  w = out;
  PJRT_Buffer_IncreaseExternalReferenceCount_Args hold =
      ARGS_OF(PJRT_Buffer_IncreaseExternalReferenceCount, .buffer = w);
  assert_null(api->PJRT_Buffer_IncreaseExternalReferenceCount(&hold));
  const float *seen = address(w);
  assert_int_equal(raw_run(executable, w, g, NULL, 0, &out), 0);
  assert_true(*seen == 8.0f && first_number(out) == 7.0f);
  PJRT_Buffer_DecreaseExternalReferenceCount_Args release =
      ARGS_OF(PJRT_Buffer_DecreaseExternalReferenceCount, .buffer = w);
  assert_null(api->PJRT_Buffer_DecreaseExternalReferenceCount(&release));
  raw_drop(w);
  // Given twice: refused, nothing is taken.
  PJRT_Buffer *none = NULL;
  assert_int_equal(raw_run(executable, out, out, NULL, 0, &none), PJRT_Error_Code_INVALID_ARGUMENT);
  assert_false(is_deleted(out));
  assert_null(none);
  assert_int_equal(raw_run(executable, out, out, first, 1, &none), 0);  // not donated: fine
  assert_true(first_number(none) == 0.0f);
  raw_drop(none);
  raw_drop(out);
  raw_drop(g);
  PJRT_LoadedExecutable_Destroy_Args destroy =
      ARGS_OF(PJRT_LoadedExecutable_Destroy, .executable = executable);
  assert_null(api->PJRT_LoadedExecutable_Destroy(&destroy));
  PJRT_Client_Destroy_Args close = ARGS_OF(PJRT_Client_Destroy, .client = raw_client);
  assert_null(api->PJRT_Client_Destroy(&close));
}

static void the_hosts_read_only_memory_is_never_written(void **state) {
  static const int64_t dims[1] = {4};
  PJRT_Client_Create_Args create = ARGS_OF(PJRT_Client_Create);
  assert_null(api->PJRT_Client_Create(&create));
  raw_client = create.client;
  PJRT_LoadedExecutable *executable = raw_compile(step);
  for (int mutable = 0; mutable < 2; mutable ++) {
    float *data = aligned_alloc(64, 64);
    for (int i = 0; i < 4; i++)
      data[i] = 5;
    PJRT_Client_BufferFromHostBuffer_Args args =
        ARGS_OF(PJRT_Client_BufferFromHostBuffer, .client = raw_client, .data = data,
                .type = PJRT_Buffer_Type_F32, .dims = dims, .num_dims = 1,
                .host_buffer_semantics = mutable ? PJRT_HostBufferSemantics_kMutableZeroCopy
                                                 : PJRT_HostBufferSemantics_kImmutableZeroCopy);
    assert_null(api->PJRT_Client_BufferFromHostBuffer(&args));
    PJRT_Buffer *g = raw_put(1);
    PJRT_Buffer *out;
    assert_int_equal(raw_run(executable, args.buffer, g, NULL, 0, &out), 0);
    assert_true(first_number(out) == 4.0f);
    assert_true(data[0] == (mutable ? 4.0f : 5.0f));
    assert_int_equal(address(out) == data, mutable);
    PJRT_Event_IsReady_Args ready =
        ARGS_OF(PJRT_Event_IsReady, .event = args.done_with_host_buffer);
    raw_drop(args.buffer);
    raw_drop(out);
    assert_null(api->PJRT_Event_IsReady(&ready));
    assert_true(ready.is_ready);
    PJRT_Event_Destroy_Args destroy =
        ARGS_OF(PJRT_Event_Destroy, .event = args.done_with_host_buffer);
    assert_null(api->PJRT_Event_Destroy(&destroy));
    raw_drop(g);
    free(data);
  }
  PJRT_LoadedExecutable_Destroy_Args destroy =
      ARGS_OF(PJRT_LoadedExecutable_Destroy, .executable = executable);
  assert_null(api->PJRT_LoadedExecutable_Destroy(&destroy));
  PJRT_Client_Destroy_Args close = ARGS_OF(PJRT_Client_Destroy, .client = raw_client);
  assert_null(api->PJRT_Client_Destroy(&close));
}

// ---- refusals -----------------------------------------------------------------------------------

static void wrong_calls_are_refused_with_words(void **state) {
  static const int64_t dims[1] = {4};
  static const int64_t other[2] = {2, 2};
  static const int64_t longer[1] = {5};
  const float data[5] = {0};
  hsc_executable *executable = compile(sum_and_product);
  hsc_buffer *x = put(1, 2, 3, 4);
  hsc_buffer *square;
  hsc_buffer *five;
  hsc_buffer *integers;
  hsc_execution *run = prepare(executable, x, x);
  run_and_wait(run);  // the same buffer twice is fine when nothing is donated
  expect_numbers(hsc_execution_output(run, 1), 1, 4, 9, 16);
  assert_null(hsc_buffer_from_host(client, 0,
                                   &(hsc_host_array){PJRT_Buffer_Type_F32, 2, other, data},
                                   HSC_HOST_COPY, NULL, &square));
  assert_null(hsc_buffer_from_host(client, 0,
                                   &(hsc_host_array){PJRT_Buffer_Type_S32, 1, dims, data},
                                   HSC_HOST_COPY, NULL, &integers));
  assert_null(hsc_buffer_from_host(client, 0,
                                   &(hsc_host_array){PJRT_Buffer_Type_F32, 1, longer, data},
                                   HSC_HOST_COPY, NULL, &five));
  // as many elements: hosts are loose about dimensions, and so are XLA's devices
  hsc_execution_set_argument(run, 1, square);
  run_and_wait(run);
  hsc_execution_set_argument(run, 1, five);
  expect_status(hsc_execution_run(run), HSC_INVALID_ARGUMENT,
                "sum_and_product: argument 1 is f32[5]; the program wants f32[4]");
  hsc_execution_set_argument(run, 1, integers);
  expect_status(hsc_execution_run(run), HSC_INVALID_ARGUMENT, "argument 1 is s32[4]");
  hsc_execution_destroy(run);
  assert_null(hsc_execution_create(executable, 1, &run));
  hsc_execution_set_argument(run, 0, x);
  expect_status(hsc_execution_run(run), HSC_INVALID_ARGUMENT,
                "Execution supplied 1 buffers but compiled program expected 2 buffers");
  hsc_execution_destroy(run);
  hsc_buffer_destroy(x);
  hsc_buffer_destroy(square);
  hsc_buffer_destroy(five);
  hsc_buffer_destroy(integers);
  hsc_executable_destroy(executable);
}

static void bad_programs_and_options_are_refused_with_words(void **state) {
  hsc_executable *executable;
  hsc_status *status = hsc_client_compile(
      client, hsc_view_of("HloModule m\nENTRY main {\n  ROOT x = f32[4] parmeter(0)\n}\n"), "hlo",
      (hsc_view){0}, &executable);
  assert_non_null(strstr(hsc_status_message(status), ":3:"));  // line of the mistake
  expect_status(status, HSC_INVALID_ARGUMENT, "parmeter");
  expect_status(hsc_client_compile(client, HSC_VIEW("x"), "stablehlo", (hsc_view){0}, &executable),
                HSC_INVALID_ARGUMENT, "Unknown program format 'stablehlo'");
  hsc_view code = hsc_view_of(sum_and_product);
  static const char cut[] = "\x1a\x04\x20";
  expect_status(hsc_client_compile(client, code, "hlo", (hsc_view){cut, 3}, &executable),
                HSC_INVALID_ARGUMENT, "CompileOptionsProto");
  hsc_compile_options options = hsc_compile_options_default();
  hsc_override override = {
      .name = "xla_backend_optimization_level", .type = HSC_OVERRIDE_TEXT, .text = "seven"};
  static const struct {
    hsc_override override;
    const char *words;  // NULL = accepted
  } cases[] = {
      {{.name = "xla_backend_optimization_level", .type = HSC_OVERRIDE_TEXT, .text = "seven"},
       "While setting option xla_backend_optimization_level, 'seven' is not a valid int value."},
      {{.name = "xla_backend_optimization_level", .type = HSC_OVERRIDE_INT, .integer = 9},
       "0 to 3"},
      {{.name = "xla_backend_optimization_level", .type = HSC_OVERRIDE_INT, .integer = 1}, NULL},
      {{.name = "xla_backend_optimization_level", .type = HSC_OVERRIDE_TEXT, .text = "1"}, NULL},
      {{.name = "xla_dump_module_metadata", .type = HSC_OVERRIDE_TEXT, .text = "1"},
       "is not a valid bool value."},
      {{.name = "xla_dump_module_metadata", .type = HSC_OVERRIDE_DOUBLE, .real = 1},
       "another type"},
      {{.name = "xla_disable_hlo_passes", .type = HSC_OVERRIDE_INT, .integer = 1}, "another type"},
      {{.name = "xla_disable_hlo_passes", .type = HSC_OVERRIDE_TEXT, .text = "cse,dce"}, NULL},
      {{.name = "xla_gpu_autotune_level", .type = HSC_OVERRIDE_INT, .integer = 4}, NULL},
      {{.name = "xla_embed_ir_in_executable", .type = HSC_OVERRIDE_TEXT, .text = "invalid_value"},
       "While setting option xla_embed_ir_in_executable, 'invalid_value' is not a valid bool "
       "value."},
      {{.name = "xla_embed_ir_in_executable", .type = HSC_OVERRIDE_BOOL, .boolean = true}, NULL},
      {{.name = "xla_disable_hlo_pases", .type = HSC_OVERRIDE_TEXT, .text = "cse"},
       "did you mean xla_disable_hlo_passes?"},
      {{.name = "no_such_thing", .type = HSC_OVERRIDE_BOOL},
       "No such compile option: 'no_such_thing'"},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_bytes bytes = {0};
    override = cases[i].override;
    options.overrides = &override;
    options.override_count = 1;
    assert_null(hsc_compile_options_write(&options, &bytes));
    status = hsc_client_compile(client, code, "hlo", hsc_bytes_view(&bytes), &executable);
    if (cases[i].words)
      expect_status(status, HSC_INVALID_ARGUMENT, cases[i].words);
    else if (status)
      fail_with(status);
    hsc_executable_destroy(executable);
    hsc_bytes_deinit(&bytes);
  }
  hsc_bytes bytes = {0};
  options = hsc_compile_options_default();
  options.partition_count = 2;
  assert_null(hsc_compile_options_write(&options, &bytes));
  expect_status(hsc_client_compile(client, code, "hlo", hsc_bytes_view(&bytes), &executable),
                HSC_INVALID_ARGUMENT, "for 2 devices; there is 1");
  hsc_bytes_deinit(&bytes);
}

// Every prefix and many mutations of real options: an answer, never a crash.
static void mutated_options_never_crash(void **state) {
  hsc_override overrides[] = {
      {.name = "xla_disable_hlo_passes", .type = HSC_OVERRIDE_TEXT, .text = "cse"},
      {.name = "hloscope_pass_fuel", .type = HSC_OVERRIDE_INT, .integer = 5}};
  hsc_compile_options options = {.replica_count = 1,
                                 .partition_count = 1,
                                 .device_assignment = true,
                                 .overrides = overrides,
                                 .override_count = 2};
  hsc_bytes bytes = {0};
  hsc_random random;
  hsc_random_init(&random, 7);
  assert_null(hsc_compile_options_write(&options, &bytes));
  for (int round = 0; round < cases_of(2000, 20000); round++) {
    char *copy = malloc(bytes.size + 1);  // exact size: reads past it are seen by the sanitizer
    size_t size = round < (int)bytes.size ? (size_t)round : bytes.size;
    memcpy(copy, bytes.data, size);
    for (uint64_t k = hsc_random_below(&random, 4); size > 0 && k > 0; k--)
      copy[hsc_random_below(&random, size)] = (char)hsc_random_u64(&random);
    char *exact = malloc(size ? size : 1);
    memcpy(exact, copy, size);
    hsc__compile_settings settings;
    hsc_status *status = hsc__compile_settings_read((hsc_view){exact, size}, &settings);
    if (status)
      hsc_status_free(status);
    else
      hsc__compile_settings_deinit(&settings);
    free(exact);
    free(copy);
  }
  hsc_bytes_deinit(&bytes);
}

// ---- facts --------------------------------------------------------------------------------------

static void facts_of_a_program(void **state) {
  hsc_executable *executable = compile(sum_and_product);
  hsc_executable *again = compile(sum_and_product);
  hsc_executable *different = compile(step);
  const hsc_array_spec *specs;
  const hsc_named_value *costs;
  hsc_compiled_memory memory;
  hsc_view a, b, c;
  size_t count;
  assert_string_equal(hsc_executable_name(executable), "sum_and_product");
  assert_int_equal(hsc_executable_output_count(executable), 2);
  assert_null(hsc_executable_outputs(executable, &specs));
  assert_int_equal(specs[1].rank, 1);
  assert_int_equal(specs[1].dims[0], 4);
  assert_null(hsc_executable_memory(executable, &memory));
  assert_int_equal(memory.arguments, 32);
  assert_int_equal(memory.outputs, 32);
  assert_null(hsc_executable_cost_analysis(executable, &costs, &count));
  assert_true(hsc_named_value_find(costs, count, "flops")->real == 8.0);
  assert_true(hsc_named_value_find(costs, count, "hloscope instructions")->real > 0);
  assert_null(hsc_executable_fingerprint(executable, &a));
  assert_null(hsc_executable_fingerprint(again, &b));
  assert_null(hsc_executable_fingerprint(different, &c));
  assert_int_equal(a.size, 32);
  assert_true(hsc_view_equals(a, b));
  assert_false(hsc_view_equals(a, c));
  hsc_executable_destroy(executable);
  hsc_executable_destroy(again);
  hsc_executable_destroy(different);
}

// As PyTorch/XLA 2.9: a struct without total_size. What lies after it must stay.
static void memory_statistics_fit_the_callers_struct(void **state) {
  PJRT_Client_Create_Args create = ARGS_OF(PJRT_Client_Create);
  assert_null(api->PJRT_Client_Create(&create));
  raw_client = create.client;
  PJRT_LoadedExecutable *loaded = raw_compile(sum_and_product);
  PJRT_LoadedExecutable_GetExecutable_Args get =
      ARGS_OF(PJRT_LoadedExecutable_GetExecutable, .loaded_executable = loaded);
  assert_null(api->PJRT_LoadedExecutable_GetExecutable(&get));
  PJRT_Executable_GetCompiledMemoryStats_Args args;
  memset(&args, 0x5a, sizeof args);
  args.struct_size = 112;
  args.executable = get.executable;
  assert_null(api->PJRT_Executable_GetCompiledMemoryStats(&args));
  assert_int_equal(args.argument_size_in_bytes, 32);
  assert_int_equal(args.total_size_in_bytes, 0x5a5a5a5a5a5a5a5a);
  // DeviceAssignmentProto, as JAX reads it; the description outlives its executable.
  PJRT_LoadedExecutable_GetDeviceAssignment_Args assignment =
      ARGS_OF(PJRT_LoadedExecutable_GetDeviceAssignment, .executable = loaded);
  assert_null(api->PJRT_LoadedExecutable_GetDeviceAssignment(&assignment));
  assert_int_equal(assignment.serialized_bytes_size, 9);
  assert_memory_equal(assignment.serialized_bytes, "\x08\x01\x10\x01\x1a\x03\x0a\x01\x00", 9);
  assignment.serialized_device_assignment_deleter(assignment.serialized_device_assignment);
  PJRT_LoadedExecutable_Destroy_Args destroy =
      ARGS_OF(PJRT_LoadedExecutable_Destroy, .executable = loaded);
  assert_null(api->PJRT_LoadedExecutable_Destroy(&destroy));
  PJRT_Client_Destroy_Args close = ARGS_OF(PJRT_Client_Destroy, .client = raw_client);
  assert_null(api->PJRT_Client_Destroy(&close));
  PJRT_Executable_NumOutputs_Args outputs =
      ARGS_OF(PJRT_Executable_NumOutputs, .executable = get.executable);
  assert_null(api->PJRT_Executable_NumOutputs(&outputs));
  assert_int_equal(outputs.num_outputs, 2);
  PJRT_Executable_Destroy_Args drop =
      ARGS_OF(PJRT_Executable_Destroy, .executable = get.executable);
  assert_null(api->PJRT_Executable_Destroy(&drop));
}

static void a_serialized_program_loads_and_runs(void **state) {
  hsc_executable *executable = compile(step);
  hsc_executable *loaded;
  hsc_bytes bytes = {0};
  hsc_status *status = hsc_executable_serialize(executable, &bytes);
  hsc_executable_destroy(executable);
  if (status)
    fail_with(status);
  status = hsc_client_load(client, hsc_bytes_view(&bytes), (hsc_view){0}, &loaded);
  if (status)
    fail_with(status);
  hsc_buffer *w = put(1, 1, 1, 1);
  hsc_buffer *g = put(1, 2, 3, 4);
  hsc_execution *run = prepare(loaded, w, g);
  hsc_execution_allow_donation(run, true);
  run_and_wait(run);
  expect_numbers(hsc_execution_output(run, 0), 0, -1, -2, -3);
  // the donation was saved as well
  expect_status(hsc_execution_run(run), HSC_INVALID_ARGUMENT, "deleted or donated");
  hsc_execution_destroy(run);
  hsc_buffer_destroy(w);
  hsc_buffer_destroy(g);
  hsc_executable_destroy(loaded);
  // Cut and changed bytes: an error each.
  hsc_random random;
  hsc_random_init(&random, 3);
  for (int round = 0; round < 400; round++) {
    size_t size = round < 200 ? (size_t)hsc_random_below(&random, bytes.size) : bytes.size;
    char *copy = malloc(size ? size : 1);
    memcpy(copy, bytes.data, size);
    if (round >= 200)
      copy[hsc_random_below(&random, round & 1 || size < 64 ? size : 64)] ^=
          (char)(1 << hsc_random_below(&random, 8));
    status = hsc_client_load(client, (hsc_view){copy, size}, (hsc_view){0}, &loaded);
    assert_true(hsc_status_code(status) == HSC_DATA_LOSS ||
                hsc_status_code(status) == HSC_INVALID_ARGUMENT);
    hsc_status_free(status);
    free(copy);
  }
  hsc_bytes_deinit(&bytes);
}

static void ahead_of_time_for_a_topology(void **state) {
  hsc_topology *topology;
  hsc_executable *ahead;
  const hsc_named_value *costs;
  size_t count;
  assert_null(hsc_topology_create(plugin, "cpu:2", NULL, 0, &topology));
  hsc_status *status =
      hsc_topology_compile(topology, hsc_view_of(sum_and_product), "hlo", (hsc_view){0}, &ahead);
  if (status)
    fail_with(status);
  hsc_topology_destroy(topology);  // the executable keeps what it needs
  assert_false(hsc_executable_is_loaded(ahead));
  assert_null(hsc_executable_cost_analysis(ahead, &costs, &count));
  assert_true(hsc_named_value_find(costs, count, "flops")->real == 8.0);
  hsc_executable_destroy(ahead);
}

// HloModuleProtoWithConfig: the module, which compiles again to the same program, and
// config.entry_computation_layout, without which hosts end.
static void the_optimized_program_is_what_hosts_read(void **state) {
  hsc_executable *executable = compile(sum_and_product);
  hsc_executable *again;
  hsc_bytes program = {0};
  const char *format;
  hsc_status *status = hsc_executable_optimized_program(executable, &program, &format);
  if (status)
    fail_with(status);
  assert_string_equal(format, "hlo_with_config");
  const unsigned char *at = (const unsigned char *)program.data;
  assert_int_equal(at[0], 0x0a);
  size_t size = 0;
  size_t shift = 0;
  for (at++; *at & 0x80; at++, shift += 7)
    size |= (size_t)(*at & 0x7f) << shift;
  size |= (size_t)*at++ << shift;
  const unsigned char *config = at + size;
  assert_true(config < (const unsigned char *)program.data + program.size);
  assert_int_equal(config[0], 0x12);
  assert_int_equal(config[2], 0x0a);  // entry_computation_layout
  assert_true(config[3] > 10);        // two parameters and a result
  assert_memory_equal(config + 4 + config[3], "\x20\x01\x28\x01", 4);  // one replica, one partition
  status = hsc_client_compile(client, hsc_bytes_view(&program), format, (hsc_view){0}, &again);
  if (status)
    fail_with(status);
  hsc_buffer *x = put(1, 2, 3, 4);
  hsc_buffer *y = put(5, 6, 7, 8);
  hsc_execution *run = prepare(again, x, y);
  run_and_wait(run);
  expect_numbers(hsc_execution_output(run, 1), 5, 12, 21, 32);
  hsc_execution_destroy(run);
  hsc_buffer_destroy(x);
  hsc_buffer_destroy(y);
  hsc_executable_destroy(again);
  // The module alone is what PyTorch/XLA sends, with its options: arguments in one tuple, given
  // flat.
  static const char options[] =
      "\x10\x01\x1a\x23\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01\x4a\x09\x08\x01"
      "\x10\x01\x1a\x03\x0a\x01\x00"
      "\x90\x01\x00\xb8\x01\x01\xc0\x01\x00";
  status = hsc_client_compile(client, (hsc_view){(const char *)at, size}, "hlo",
                              (hsc_view){options, sizeof options - 1}, &again);
  if (status)
    fail_with(status);
  hsc_executable_destroy(again);
  hsc_bytes_deinit(&program);
  hsc_executable_destroy(executable);
}

// One tuple parameter (more than 3200 tensors in PyTorch/XLA): arguments come as its leaves.
static void a_tuple_argument_is_given_flat(void **state) {
  hsc_executable *executable = compile(
      "HloModule tupled\nENTRY main {\n  t = (f32[4], f32[4]) parameter(0)\n  x = f32[4] "
      "get-tuple-element(t), index=0\n"
      "  y = f32[4] get-tuple-element(t), index=1\n  ROOT d = f32[4] subtract(x, y)\n}\n");
  hsc_buffer *x = put(5, 6, 7, 8);
  hsc_buffer *y = put(1, 2, 3, 4);
  hsc_execution *run = prepare(executable, x, y);
  run_and_wait(run);
  expect_numbers(hsc_execution_output(run, 0), 4, 4, 4, 4);
  hsc_execution_destroy(run);
  hsc_buffer_destroy(x);
  hsc_buffer_destroy(y);
  hsc_executable_destroy(executable);
}

static PJRT_Error_Code code_of(PJRT_Error *error) {
  PJRT_Error_GetCode_Args code = ARGS_OF(PJRT_Error_GetCode, .error = error);
  PJRT_Error_Destroy_Args destroy = ARGS_OF(PJRT_Error_Destroy, .error = error);
  assert_non_null(error);
  assert_null(api->PJRT_Error_GetCode(&code));
  api->PJRT_Error_Destroy(&destroy);
  return code.code;
}

static void numbers_out_of_their_range_are_refused(void **state) {
  static const int64_t dims[1] = {4};
  static const float data[4] = {0};
  PJRT_Client_Create_Args made = ARGS_OF(PJRT_Client_Create, .client = NULL);
  assert_null(api->PJRT_Client_Create(&made));
  static const int wrong[] = {-1, 4, 77, INT32_MAX};
  for (size_t i = 0; i < HSC_COUNT_OF(wrong); i++) {
    PJRT_Client_BufferFromHostBuffer_Args args =
        ARGS_OF(PJRT_Client_BufferFromHostBuffer, .client = made.client, .data = data,
                .type = PJRT_Buffer_Type_F32, .dims = dims, .num_dims = 1);
    args.host_buffer_semantics = (PJRT_HostBufferSemantics)wrong[i];
    assert_int_equal(code_of(api->PJRT_Client_BufferFromHostBuffer(&args)),
                     PJRT_Error_Code_INVALID_ARGUMENT);
  }
  // CompileOptionsProto { executable_build_options (3) { device_ordinal (1), num_replicas (4) } }
  static const char ordinal[] = "\x1a\x02\x08\x63";
  static const char replicas[] = "\x1a\x0b\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  hsc_executable *program = NULL;
  expect_status(hsc_client_compile(client, hsc_view_of(step), "hlo",
                                   (hsc_view){ordinal, sizeof ordinal - 1}, &program),
                HSC_INVALID_ARGUMENT, "the device ordinal is 99");
  expect_status(hsc_client_compile(client, hsc_view_of(step), "hlo",
                                   (hsc_view){replicas, sizeof replicas - 1}, &program),
                HSC_INVALID_ARGUMENT, "-1 replicas");
  PJRT_Client_Destroy_Args destroy = ARGS_OF(PJRT_Client_Destroy, .client = made.client);
  assert_null(api->PJRT_Client_Destroy(&destroy));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_out_of_their_range_are_refused),
      cmocka_unit_test(a_program_gives_numbers),
      cmocka_unit_test(a_run_in_the_steady_state_allocates_nothing),
      cmocka_unit_test(dependent_runs_feed_back),
      cmocka_unit_test(donated_memory_is_taken_when_nobody_else_has_it),
      cmocka_unit_test(the_hosts_read_only_memory_is_never_written),
      cmocka_unit_test(wrong_calls_are_refused_with_words),
      cmocka_unit_test(bad_programs_and_options_are_refused_with_words),
      cmocka_unit_test(mutated_options_never_crash),
      cmocka_unit_test(facts_of_a_program),
      cmocka_unit_test(memory_statistics_fit_the_callers_struct),
      cmocka_unit_test(a_serialized_program_loads_and_runs),
      cmocka_unit_test(arguments_and_results_have_the_layout_that_is_asked_for),
      cmocka_unit_test(ahead_of_time_for_a_topology),
      cmocka_unit_test(the_optimized_program_is_what_hosts_read),
      cmocka_unit_test(a_tuple_argument_is_given_flat),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
