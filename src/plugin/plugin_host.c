// plugin_host.c - see plugin_host.h.
#include "hlo/ir/custom.h"
#include "plugin/plugin_host.h"
#include "plugin/plugin_internal.h"

enum { MESSAGE_BYTES = 4096 };

static int32_t code_of(hsc_status *status) {
  int32_t code = status ? (int32_t)hsc_status_code(status) : 0;
  hsc_status_free(status);
  return code;
}

static int copy_arrays(const hsc_literal *from, int count, hloscope_host_array *to) {
  int kept = 0;
  for (int i = 0; i < count; i++) {
    if (from[i].shape.type == HSC_TYPE_TOKEN)
      continue;
    to[kept++] = (hloscope_host_array){(int32_t)hsc__type_to_pjrt(from[i].shape.type),
                                       from[i].shape.rank, from[i].shape.dims, from[i].data};
  }
  return kept;
}

static hsc_status *call_host(void *user, const hsc_custom_call *call) {
  hloscope_host_function function = (hloscope_host_function)user;
  hsc_status *status = NULL;
  hsc_arena *arena = NULL;
  const hsc_config *config;
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(hsc_config_parse(call->config, arena, &config));
  if (!hsc_config_get(config, "id"))
    HSC_GOTO(
        HSC_ERR(INVALID_ARGUMENT, "custom-call %s: its backend_config has no id", call->target));
  hloscope_host_array *operands =
      HSC_NEW_ARRAY(arena, hloscope_host_array, call->operand_count + 1);
  hloscope_host_array *results = HSC_NEW_ARRAY(arena, hloscope_host_array, call->result_count + 1);
  char *message = hsc_arena_alloc(arena, MESSAGE_BYTES);
  HSC_GOTO(hsc_arena_status(arena));
  // Called for the whole arrays of a program on several devices, it runs on the one that is named;
  // the program sends the results around.
  if (hsc_config_get(config, "device") && hsc_config_int(config, "device", 0) != hsc__current.rank)
    goto done;
  int operand_count = copy_arrays(call->operands, call->operand_count, operands);
  int result_count = copy_arrays(call->results, call->result_count, results);
  int32_t code = function((uint64_t)hsc_config_int(config, "id", 0), operand_count, operands,
                          result_count, results, message, MESSAGE_BYTES);
  message[MESSAGE_BYTES - 1] = '\0';
  if (code)
    HSC_GOTO(HSC_ERR(INTERNAL, "%s", message));
done:
  hsc_arena_destroy(arena);
  return status;
}

static _Atomic(hloscope_host_function) host_function;

static hsc_status *tell_sharding(const hsc_instr *call) {
  char message[MESSAGE_BYTES] = "";
  hsc_arena *arena = NULL;
  hsc_status *status = NULL;
  const hsc_config *config, *sharding;
  hloscope_host_function function = atomic_load(&host_function);
  if (!function)
    return HSC_ERR(UNIMPLEMENTED,
                   "%s: the process has no function that is told shardings; hloscope's Python "
                   "package brings it",
                   HSC_INSPECT_SHARDING);
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(hsc_config_parse(call->backend_config, arena, &config));
  sharding = hsc_config_get(config, "sharding");
  if (!hsc_config_get(config, "id") || !sharding || sharding->kind != HSC_CONFIG_STRING)
    HSC_GOTO(HSC_ERR(INVALID_ARGUMENT,
                     "custom-call %s: its backend_config has no id or no sharding",
                     HSC_INSPECT_SHARDING));
  int64_t size = (int64_t)sharding->text_bytes;
  hloscope_host_array text = {PJRT_Buffer_Type_U8, 1, &size, (void *)(uintptr_t)sharding->text};
  int32_t code = function((uint64_t)hsc_config_int(config, "id", 0), 1, &text, 0, NULL, message,
                          sizeof message);
  message[sizeof message - 1] = '\0';
  if (code)
    status = HSC_ERR(INTERNAL, "%s", message);
done:
  hsc_arena_destroy(arena);
  return status;
}

hsc_status *hsc__host_tell_shardings(hsc_module *module) {
  HSC_FOR_EACH_COMPUTATION (module, computation) {
    for (hsc_instr *instr = computation->first, *next; instr; instr = next) {
      next = instr->next;
      if (instr->op != HSC_OP_CUSTOM_CALL ||
          strcmp(instr->attr.custom.target, HSC_INSPECT_SHARDING) != 0)
        continue;
      HSC_TRY(tell_sharding(instr));
      if (instr->user_count > 0 || instr == computation->root)
        return HSC_ERR(INVALID_ARGUMENT, "%s: its result is used", HSC_INSPECT_SHARDING);
      hsc_instr_remove(instr);
    }
  }
  return NULL;
}

int32_t hsc__host_set_function(hloscope_host_function function) {
  atomic_store(&host_function, function);
  return code_of(hsc_custom_register("hloscope_host_callback", call_host, (void *)function));
}

int32_t hsc__host_provide_lapack(const char *name, void *function) {
  return code_of(hsc_lapack_provide(name, function));
}
