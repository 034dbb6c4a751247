// test_plugin_ffi.c - handlers of XLA's FFI: what they are given, in which order of stages and
// dimensions, and what becomes of their errors.
#include "unit.h"

#include <stdlib.h>

#include "formats/common/formats.h"
#include "plugin/ffi_abi.h"
#include "plugin/plugin_host.h"

static hsc_arena *arena;
static int instantiated, freed, executed;
static XLA_FFI_TypeId state_type;

static void free_state(void *state) {
  freed++;
  free(state);
}

// scale(x; attributes by: f32, name: text, sizes: i64[]): result = by * x. Keeps a state from
// instantiation to execution.
static XLA_FFI_Error *instantiate(XLA_FFI_CallFrame *frame) {
  instantiated++;
  assert_int_equal(frame->stage, XLA_FFI_INSTANTIATE);
  XLA_FFI_State_Args set = {.struct_size = sizeof set,
                            .ctx = frame->ctx,
                            .stage = XLA_FFI_INSTANTIATE,
                            .type_id = &state_type,
                            .state = calloc(1, sizeof(int))};
  *(int *)set.state = 41;
  assert_null(frame->api->State_Set(&set));
  XLA_FFI_Error *again = frame->api->State_Set(&set);
  assert_non_null(again);
  frame->api->Error_Destroy(&(XLA_FFI_Error_Destroy_Args){.error = again});
  return NULL;
}

static XLA_FFI_Error *execute(XLA_FFI_CallFrame *frame) {
  executed++;
  assert_int_equal(frame->api->api_version.minor_version, XLA_FFI_API_MINOR);
  assert_int_equal(frame->args.size, 1);
  assert_int_equal(frame->rets.size, 1);
  assert_int_equal(frame->attrs.size, 3);  // by name: by, name, sizes
  assert_memory_equal(frame->attrs.names[0]->ptr, "by", 2);
  assert_memory_equal(frame->attrs.names[2]->ptr, "sizes", 5);
  const XLA_FFI_Scalar *by = frame->attrs.attrs[0];
  const XLA_FFI_ByteSpan *name = frame->attrs.attrs[1];
  const XLA_FFI_Array *sizes = frame->attrs.attrs[2];
  assert_int_equal(frame->attrs.types[0], XLA_FFI_ATTR_SCALAR);
  assert_int_equal(by->dtype, 11);  // f32
  if (name->len == 4 && memcmp(name->ptr, "fail", 4) == 0)
    return frame->api->Error_Create(
        &(XLA_FFI_Error_Create_Args){.struct_size = sizeof(XLA_FFI_Error_Create_Args),
                                     .message = "as was asked",
                                     .errc = HSC_OUT_OF_RANGE});
  assert_int_equal(sizes->size, 2);
  assert_int_equal(((const int64_t *)sizes->data)[1], 3);
  XLA_FFI_State_Args get = {.struct_size = sizeof get,
                            .ctx = frame->ctx,
                            .stage = XLA_FFI_INSTANTIATE,
                            .type_id = &state_type};
  assert_null(frame->api->State_Get(&get));
  assert_int_equal(*(int *)get.state, 41);
  const XLA_FFI_Buffer *in = frame->args.args[0];
  const XLA_FFI_Buffer *out = frame->rets.rets[0];
  assert_int_equal(in->rank, 2);
  assert_int_equal(in->dims[0], 2);
  assert_int_equal(in->dims[1], 3);
  for (int i = 0; i < 6; i++)
    ((float *)out->data)[i] = *(const float *)by->value * ((const float *)in->data)[i];
  // The first elements that this handler saw, beside each other in its layout.
  if (name->len == 4 && memcmp(name->ptr, "seen", 4) == 0)
    memcpy(out->data, in->data, 6 * sizeof(float));
  return NULL;
}

static hsc_status *run(const char *name,
                       const char *operand_layout,
                       const char *result_layout,
                       hsc_literal **out_result) {
  char text[1024];
  snprintf(
      text, sizeof text,
      "HloModule ffi\nENTRY main {\n  x = f32[2,3] parameter(0)\n  ROOT r = f32[2,3]%s "
      "custom-call(x), custom_call_target=\"test_scale\", operand_layout_constraints={f32[2,3]%s}, "
      "api_version=API_VERSION_TYPED_FFI, backend_config={sizes = array<i64: 2, 3>, name = \"%s\", "
      "by = 2.5 : f32}\n}\n",
      result_layout, operand_layout, name);
  hsc_module *module = NULL;
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), "test.hlo", &module));
  hsc_literal *x = NULL;
  EXPECT_OK(hsc_literal_create(arena, &module->entry->parameters[0]->shape, &x));
  for (int i = 0; i < 6; i++)
    hsc_literal_set_double(x, i, i);
  hsc_status *status = hsc_evaluate(module, 1, &x, arena, out_result);
  hsc_module_destroy(module);
  return status;
}

static void expect_numbers(const hsc_literal *result, const double *expected) {
  for (int i = 0; i < 6; i++)
    if (hsc_literal_get_double(result, i) != expected[i])
      fail_msg("element %d is %g, not %g", i, hsc_literal_get_double(result, i), expected[i]);
}

static void a_handler_is_given_buffers_attributes_and_its_state(void **state) {
  hsc_literal *result = NULL;
  instantiated = executed = freed = 0;
  EXPECT_OK(run("plain", "{1,0}", "{1,0}", &result));
  expect_numbers(result, (const double[]){0, 2.5, 5, 7.5, 10, 12.5});
  assert_int_equal(instantiated, 1);
  assert_int_equal(executed, 1);
  assert_int_equal(freed, 1);
}

static void layouts_are_the_handlers(void **state) {
  hsc_literal *result = NULL;
  EXPECT_OK(run("plain", "{0,1}", "{0,1}", &result));  // columns in, columns out: the same numbers
  expect_numbers(result, (const double[]){0, 2.5, 5, 7.5, 10, 12.5});
  EXPECT_OK(run("seen", "{0,1}", "{1,0}", &result));  // what lay in columns, read by rows
  expect_numbers(result, (const double[]){0, 3, 1, 4, 2, 5});
}

static void errors_come_with_code_and_words(void **state) {
  hsc_literal *result = NULL;
  freed = 0;
  hsc_status *status = run("fail", "{1,0}", "{1,0}", &result);
  assert_int_equal(hsc_status_code(status), HSC_OUT_OF_RANGE);
  assert_non_null(strstr(hsc_status_message(status), "test_scale: as was asked"));
  hsc_status_free(status);
  assert_int_equal(freed, 1);
}

static void a_handler_without_execute_is_refused(void **state) {
  assert_int_equal(hsc__host_register_ffi("test_none", NULL, NULL, NULL, NULL),
                   HSC_INVALID_ARGUMENT);
}

static int open_all(void **state) {
  EXPECT_OK(hsc_arena_create(&arena));
  XLA_FFI_TypeInfo info = {.struct_size = sizeof info, .deleter = free_state};
  assert_int_equal(hsc__host_register_ffi_type("test_state", &state_type.type_id, &info), 0);
  assert_int_not_equal(state_type.type_id, 0);
  return hsc__host_register_ffi("test_scale", (void *)instantiate, NULL, NULL, (void *)execute);
}

static int close_all(void **state) {
  hsc_arena_destroy(arena);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_handler_is_given_buffers_attributes_and_its_state),
      cmocka_unit_test(layouts_are_the_handlers),
      cmocka_unit_test(errors_come_with_code_and_words),
      cmocka_unit_test(a_handler_without_execute_is_refused),
  };
  return cmocka_run_group_tests(tests, open_all, close_all);
}
