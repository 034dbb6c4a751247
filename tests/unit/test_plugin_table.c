// test_plugin_table.c - our device's table: every slot answers, whatever is asked of it; what hosts
// need is there.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "pjrt/client.h"
#include "plugin/plugin_internal.h"

static const void *slot_of(const PJRT_Api *api, int function) {
  void *slot;
  memcpy(&slot, (const char *)api + hsc_pjrt_function_get((hsc_pjrt_function)function)->offset,
         sizeof slot);
  return slot;
}

static void expect_error(PJRT_Error *error, PJRT_Error_Code code, const char *words) {
  const PJRT_Api *api = hsc__plugin_table();
  assert_non_null(error);
  PJRT_Error_GetCode_Args code_args = {.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE,
                                       .error = error};
  assert_null(api->PJRT_Error_GetCode(&code_args));
  PJRT_Error_Message_Args message = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE,
                                     .error = error};
  api->PJRT_Error_Message(&message);
  assert_true(strlen(message.message) == message.message_size);
  if (code_args.code != code || !strstr(message.message, words))
    fail_msg("code %d: %s; expected '%s'", code_args.code, message.message, words);
  // Hosts of new versions use the table that leads the object.
  const char *text;
  size_t size;
  assert_int_equal(error->vtable->get_code(error), code);
  error->vtable->message(error, &text, &size);
  assert_ptr_equal(text, message.message);
  assert_true(error->vtable->struct_size == PJRT_Error_FunctionTable_STRUCT_SIZE);
  PJRT_Error_Destroy_Args destroy = {.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE,
                                     .error = error};
  api->PJRT_Error_Destroy(&destroy);
}

static void no_slot_is_null_and_hosts_find_what_they_need(void **state) {
  const PJRT_Api *api = hsc__plugin_table();
  assert_ptr_equal(api, hsc__plugin_table());
  assert_int_equal(api->struct_size, 1144);
  assert_int_equal(api->pjrt_api_version.major_version, 0);
  assert_int_equal(api->pjrt_api_version.minor_version, 112);
  for (int f = 0; f < HSC_PJRT_FUNCTION_COUNT; f++) {
    const hsc_pjrt_function_info *info = hsc_pjrt_function_get((hsc_pjrt_function)f);
    assert_non_null(slot_of(api, f));
    if (info->required && hsc__is_stub(slot_of(api, f)))
      fail_msg("%s is required, and only a stub", info->name);
  }
}

static void stubs_answer_with_their_name(void **state) {
  const PJRT_Api *api = hsc__plugin_table();
  int stubs = 0;
  for (int f = 0; f < HSC_PJRT_FUNCTION_COUNT; f++) {
    if (!hsc__is_stub(slot_of(api, f)))
      continue;
    PJRT_Error *(*call)(void *);
    const void *slot = slot_of(api, f);
    memcpy(&call, &slot, sizeof call);
    size_t args[64] = {sizeof args};
    expect_error(call(args), PJRT_Error_Code_UNIMPLEMENTED,
                 hsc_pjrt_function_get((hsc_pjrt_function)f)->name);
    stubs++;
  }
  assert_true(stubs > 0 && stubs < 10);
}

// A call about nothing: an answer by name, where the function is about an object at all.
static void a_handle_that_is_null_is_refused(void **state) {
  const PJRT_Api *api = hsc__plugin_table();
  int refused = 0;
#define BIND(function)
#define HANDLE(function, field) \
  { \
    function##_Args args = {.struct_size = function##_Args_STRUCT_SIZE}; \
    expect_error(api->function(&args), PJRT_Error_Code_INVALID_ARGUMENT, "args->" #field); \
    refused++; \
  }
#include "plugin/bound.def"
#undef HANDLE
#undef BIND
  assert_true(refused > 100);
  // Destroying NULL is deleting it, as in XLA's wrapper.
#define DESTROY(function) \
  { \
    function##_Args args = {.struct_size = function##_Args_STRUCT_SIZE}; \
    assert_null(api->function(&args)); \
  }
  DESTROY(PJRT_Client_Destroy)
  DESTROY(PJRT_Buffer_Destroy)
  DESTROY(PJRT_Event_Destroy)
  DESTROY(PJRT_Executable_Destroy)
  DESTROY(PJRT_LoadedExecutable_Destroy)
  DESTROY(PJRT_TopologyDescription_Destroy)
  DESTROY(PJRT_ExecuteContext_Destroy)
  DESTROY(PJRT_AsyncHostToDeviceTransferManager_Destroy)
#undef DESTROY
}

// A caller that knows nothing (struct_size 0, as garbage or a much older host): an answer, no
// crash, no byte read past the size.
static void a_struct_that_is_too_short_is_refused(void **state) {
  const PJRT_Api *api = hsc__plugin_table();
  for (int f = HSC_FN_PJRT_Error_GetCode; f < HSC_PJRT_FUNCTION_COUNT; f++) {
    const void *slot = slot_of(api, f);
    if (hsc__is_stub(slot))
      continue;
    PJRT_Error *(*call)(void *);
    memcpy(&call, &slot, sizeof call);
    size_t args[64] = {0};
    expect_error(call(args), PJRT_Error_Code_INVALID_ARGUMENT,
                 hsc_pjrt_function_get((hsc_pjrt_function)f)->name);
  }
  PJRT_Error_Destroy_Args destroy = {0};
  api->PJRT_Error_Destroy(&destroy);
  PJRT_Error_Message_Args message = {0};
  api->PJRT_Error_Message(&message);
  destroy.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE;
  api->PJRT_Error_Destroy(&destroy);  // NULL is fine
}

static void old_hosts_get_no_byte_more_than_they_have_room_for(void **state) {
  // The struct that PyTorch/XLA 2.9 gives: 112 bytes, without total_size.
  assert_int_equal(
      HSC_PJRT_SIZE_TO(PJRT_Executable_GetCompiledMemoryStats_Args, peak_memory_in_bytes), 112);
}

static void the_extensions_are_listed(void **state) {
  hsc_plugin *plugin;
  assert_null(hsc_plugin_open_table(hsc__plugin_table(), "built-in", &plugin));
  const PJRT_Layouts_Extension *layouts =
      (const PJRT_Layouts_Extension *)hsc_plugin_extension(plugin, PJRT_Extension_Type_Layouts);
  assert_non_null(layouts);
  PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args args = {
      .struct_size = PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args_STRUCT_SIZE,
      .type = PJRT_Buffer_Type_F32,
      .num_dims = 3};
  assert_null(layouts->PJRT_Layouts_PJRT_Client_GetDefaultLayout(&args));
  PJRT_Layouts_MemoryLayout_Serialize_Args text = {
      .struct_size = PJRT_Layouts_MemoryLayout_Serialize_Args_STRUCT_SIZE, .layout = args.layout};
  assert_null(layouts->PJRT_Layouts_MemoryLayout_Serialize(&text));
  assert_int_equal(text.serialized_bytes_size, 7);
  assert_memory_equal(text.serialized_bytes, "{2,1,0}", 7);
  text.serialized_layout_deleter(text.serialized_layout);
  PJRT_Layouts_MemoryLayout_Destroy_Args destroy = {
      .struct_size = PJRT_Layouts_MemoryLayout_Destroy_Args_STRUCT_SIZE, .layout = args.layout};
  assert_null(layouts->PJRT_Layouts_MemoryLayout_Destroy(&destroy));
  hsc_plugin_close(plugin);
}

static void types_map_both_ways(void **state) {
  int known = 0;
  for (int t = 1; t < HSC_TYPE_COUNT; t++) {
    PJRT_Buffer_Type pjrt = hsc__type_to_pjrt((hsc_type)t);
    if (pjrt == PJRT_Buffer_Type_INVALID)
      continue;
    assert_int_equal(hsc__type_of_pjrt(pjrt), t);
    assert_string_equal(hsc_pjrt_type_text(pjrt), hsc_type_text((hsc_type)t));
    assert_int_equal(hsc_pjrt_type_bytes(pjrt), hsc_type_bytes((hsc_type)t));
    known++;
  }
  assert_int_equal(known, PJRT_Buffer_Type_U1);  // every one of PJRT's
  assert_int_equal(hsc__type_of_pjrt((PJRT_Buffer_Type)99), HSC_TYPE_INVALID);
  assert_int_equal(hsc__type_of_pjrt(PJRT_Buffer_Type_INVALID), HSC_TYPE_INVALID);
}

static void errors_carry_place_notes_and_hint(void **state) {
  hsc_status *status = HSC_ERR(INVALID_ARGUMENT, "dot: extents differ");
  status = hsc_status_at(status, "a.hlo", 7, 12, "%d = f32[] dot(...)");
  status = hsc_status_note(status, "while compiling m");
  status = hsc_status_hint(status, "look there");
  PJRT_Error *error = hsc__error_of(status);
  const char *text;
  size_t size;
  error->vtable->message(error, &text, &size);
  assert_non_null(strstr(text, "dot: extents differ\n"));
  assert_non_null(strstr(text, "a.hlo:7:12"));
  assert_non_null(strstr(text, "while compiling m"));
  assert_non_null(strstr(text, "hint: look there"));
  error->vtable->destroy(error);
  hsc_alloc_fail_after(1);
  error = hsc__error_of_code(3, "text", 4);
  hsc_alloc_fail_after(0);
  assert_int_equal(error->vtable->get_code(error), PJRT_Error_Code_RESOURCE_EXHAUSTED);
  error->vtable->destroy(error);  // immortal
  assert_null(hsc__error_of(NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_slot_is_null_and_hosts_find_what_they_need),
      cmocka_unit_test(stubs_answer_with_their_name),
      cmocka_unit_test(a_struct_that_is_too_short_is_refused),
      cmocka_unit_test(a_handle_that_is_null_is_refused),
      cmocka_unit_test(old_hosts_get_no_byte_more_than_they_have_room_for),
      cmocka_unit_test(the_extensions_are_listed),
      cmocka_unit_test(types_map_both_ways),
      cmocka_unit_test(errors_carry_place_notes_and_hint),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
