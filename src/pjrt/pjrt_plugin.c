// pjrt_plugin.c - loads a plugin, checks its version and table, turns its errors into statuses.
//
// The table is copied slot by slot into one of our size: a slot is taken only when the plugin's
// struct_size covers it and its minor version is not older than the slot. A missing function is
// then a NULL test, whatever the plugin's age.
#include "base/text/text.h"
#include "pjrt/pjrt_internal.h"

#include <dlfcn.h>
#include <unistd.h>

void hsc__pjrt_ignore(hsc_status *status) {
  hsc_status_free(status);
}

hsc_status *hsc__plugin_lacks(hsc_plugin *plugin, hsc_pjrt_function function) {
  return HSC_ERR(UNIMPLEMENTED, "%s is not supported by plugin %s (PJRT API 0.%d)",
                 hsc_pjrt_function_get(function)->name, plugin->name, plugin->minor);
}

hsc_status *hsc__pjrt_error(hsc_plugin *plugin, hsc_pjrt_function function, PJRT_Error *error) {
  int code = HSC_UNKNOWN;
  const char *text = "(the plugin gives no message)";
  size_t size = strlen(text);
  PJRT_Error_GetCode_Args code_args = HSC_PJRT_ARGS(PJRT_Error_GetCode, .error = error);
  if (plugin->table.PJRT_Error_GetCode) {
    PJRT_Error *second = plugin->table.PJRT_Error_GetCode(&code_args);
    if (second) {
      PJRT_Error_Destroy_Args destroy = HSC_PJRT_ARGS(PJRT_Error_Destroy, .error = second);
      if (plugin->table.PJRT_Error_Destroy)
        plugin->table.PJRT_Error_Destroy(&destroy);
    } else if (code_args.code > PJRT_Error_Code_OK &&
               code_args.code <= PJRT_Error_Code_UNAUTHENTICATED) {
      code = (int)code_args.code;
    }
  }
  PJRT_Error_Message_Args message_args = HSC_PJRT_ARGS(PJRT_Error_Message, .error = error);
  if (plugin->table.PJRT_Error_Message) {
    plugin->table.PJRT_Error_Message(&message_args);
    if (message_args.message) {
      text = message_args.message;
      size = message_args.message_size;
    }
  }
  if (size > 1 << 20)
    size = 1 << 20;
  while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\0'))
    size--;
  // Plugins that insist on their own struct sizes say so in words like these; then the versions are
  // what the user must know.
  bool strict = memmem(text, size, "struct_size", 11) || memmem(text, size, "Unexpected PJRT_", 16);
  hsc_status *status =
      strict
          ? hsc_status_make(
                (hsc_code)code, __FILE__, __LINE__,
                "%s speaks PJRT API 0.%d, takes no other version, and hloscope speaks 0.%d: %.*s",
                plugin->name, plugin->minor, PJRT_API_MINOR, (int)size, text)
          : hsc_status_make((hsc_code)code, __FILE__, __LINE__, "%s: %.*s", plugin->name, (int)size,
                            text);
  status = hsc_status_note(status, "in %s", hsc_pjrt_function_get(function)->name);
  if (strict)
    status =
        hsc_status_hint(status, "a plugin of API 0.%d, from a newer release of the vendor, will do",
                        PJRT_API_MINOR);
  PJRT_Error_Destroy_Args destroy = HSC_PJRT_ARGS(PJRT_Error_Destroy, .error = error);
  if (plugin->table.PJRT_Error_Destroy)
    plugin->table.PJRT_Error_Destroy(&destroy);
  return status;
}

// ---- opening ------------------------------------------------------------------------------------

static hsc_status *check_version(const PJRT_Api *api, const char *name) {
  if (api->struct_size < offsetof(PJRT_Api, PJRT_Error_Destroy))
    return HSC_ERR(INVALID_ARGUMENT,
                   "%s: the PJRT table is truncated: %zu bytes, its header alone has %zu", name,
                   api->struct_size, offsetof(PJRT_Api, PJRT_Error_Destroy));
  int major = api->pjrt_api_version.major_version;
  int minor = api->pjrt_api_version.minor_version;
  if (major != PJRT_API_MAJOR)
    return HSC_ERR(UNIMPLEMENTED,
                   "%s speaks PJRT API %d.%d; hloscope speaks %d.%d to %d.%d, another major "
                   "version is another interface",
                   name, major, minor, PJRT_API_MAJOR, HSC_PJRT_MINOR_OLDEST, PJRT_API_MAJOR,
                   PJRT_API_MINOR);
  if (minor < HSC_PJRT_MINOR_OLDEST)
    return HSC_ERR(UNIMPLEMENTED,
                   "%s speaks PJRT API 0.%d, older than the oldest that is supported, 0.%d", name,
                   minor, HSC_PJRT_MINOR_OLDEST);
  if (minor == HSC_PJRT_MINOR_REORDERED)
    return HSC_ERR(UNIMPLEMENTED,
                   "%s speaks PJRT API 0.%d, the one version with another order of functions; 0.%d "
                   "and 0.%d work",
                   name, minor, minor - 1, minor + 1);
  if (api->struct_size < HSC_PJRT_SIZE_TO(PJRT_Api, PJRT_Error_GetCode))
    return HSC_ERR(INVALID_ARGUMENT,
                   "%s: the PJRT table is truncated: %zu bytes do not cover the error functions",
                   name, api->struct_size);
  return NULL;
}

static void copy_table(hsc_plugin *plugin) {
  const PJRT_Api *api = plugin->api;
  for (int f = 0; f < HSC_PJRT_FUNCTION_COUNT; f++) {
    const hsc_pjrt_function_info *info = hsc_pjrt_function_get((hsc_pjrt_function)f);
    bool covered = api->struct_size >= info->offset + sizeof(void *);
    bool known = plugin->minor >= info->minor;
    if (covered && known)
      memcpy((char *)&plugin->table + info->offset, (const char *)api + info->offset,
             sizeof(void *));
  }
}

// Before 0.45 an extension had no struct_size of its own: another layout, left alone.
static void walk_extensions(hsc_plugin *plugin) {
  if (plugin->minor < 45)
    return;
  for (const PJRT_Extension_Base *e = plugin->api->extension_start;
       e && plugin->extension_count < HSC_PJRT_EXTENSION_LIMIT; e = e->next) {
    if (e->struct_size < PJRT_Extension_Base_STRUCT_SIZE)
      return;
    for (size_t i = 0; i < plugin->extension_count; i++)
      if (plugin->extensions[i] == e)
        return;
    plugin->extensions[plugin->extension_count++] = e;
  }
}

static hsc_status *open_table(const PJRT_Api *api, const char *path, hsc_plugin **out_plugin) {
  hsc_status *status = NULL;
  const char *name = hsc_path_file(path);
  HSC_TRY(check_version(api, name));
  hsc_plugin *plugin = hsc_alloc(sizeof *plugin);
  if (!plugin)
    return hsc_status_out_of_memory();
  plugin->api = api;
  plugin->minor = api->pjrt_api_version.minor_version;
  plugin->path = hsc_strdup(path);
  plugin->name = hsc_strdup(name);
  if (!plugin->path || !plugin->name)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(hsc_arena_create(&plugin->arena));
  copy_table(plugin);
  walk_extensions(plugin);
  *out_plugin = plugin;
  return NULL;
done:
  hsc_plugin_close(plugin);
  return status;
}

hsc_status *hsc_plugin_open_table(const PJRT_Api *api, const char *name, hsc_plugin **out_plugin) {
  *out_plugin = NULL;
  if (!api)
    return HSC_ERR(INVALID_ARGUMENT, "%s: GetPjrtApi gave no table", name);
  return open_table(api, name, out_plugin);
}

hsc_status *hsc_plugin_open(const char *path, hsc_plugin **out_plugin) {
  *out_plugin = NULL;
  if (strchr(path, '/') && access(path, F_OK) != 0)
    return hsc_status_hint(HSC_ERR(NOT_FOUND, "%s: no such plugin file", path),
                           "hloscope devices shows which plugins are here");
  void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    const char *reason = dlerror();
    const char *lacks = reason ? strstr(reason, ": cannot open shared object file") : NULL;
    // a library that it needs, not the plugin itself
    if (lacks && strncmp(reason, path, (size_t)(lacks - reason)) != 0)
      return hsc_status_hint(
          HSC_ERR(FAILED_PRECONDITION,
                  "%s: the library does not load: it needs %.*s, which is not on this machine",
                  path, (int)(lacks - reason), reason),
          "install the vendor's package that brings %.*s, or name its directory in LD_LIBRARY_PATH",
          (int)(lacks - reason), reason);
    return HSC_ERR(FAILED_PRECONDITION, "%s: the library does not load: %s", path,
                   reason ? reason : "no reason given");
  }
  GetPjrtApi_Fn *get_api;
  *(void **)&get_api = dlsym(library, "GetPjrtApi");
  if (!get_api)
    return HSC_ERR(INVALID_ARGUMENT, "%s is not a PJRT plugin: it has no function GetPjrtApi",
                   path);
  const PJRT_Api *api = get_api();
  if (!api)
    return HSC_ERR(INVALID_ARGUMENT, "%s: GetPjrtApi gave no table", path);
  return open_table(api, path, out_plugin);
}

void hsc_plugin_close(hsc_plugin *plugin) {
  if (!plugin)
    return;
  hsc_arena_destroy(plugin->arena);
  hsc_free(plugin->path);
  hsc_free(plugin->name);
  hsc_free(plugin);
}

hsc_status *hsc_plugin_initialize(hsc_plugin *plugin) {
  PJRT_Plugin_Initialize_Args args = HSC_PJRT_ARGS(PJRT_Plugin_Initialize);
  return HSC_PJRT_CALL(plugin, PJRT_Plugin_Initialize, &args);
}

// ---- facts --------------------------------------------------------------------------------------

const char *hsc_plugin_name(const hsc_plugin *plugin) {
  return plugin->name;
}
const char *hsc_plugin_path(const hsc_plugin *plugin) {
  return plugin->path;
}
int hsc_plugin_minor(const hsc_plugin *plugin) {
  return plugin->minor;
}

bool hsc_plugin_has(const hsc_plugin *plugin, hsc_pjrt_function function) {
  void *slot;
  memcpy(&slot, (const char *)&plugin->table + hsc_pjrt_function_get(function)->offset,
         sizeof slot);
  return slot != NULL;
}

hsc_status *hsc_plugin_attributes(hsc_plugin *plugin,
                                  const hsc_named_value **out_values,
                                  size_t *out_count) {
  if (!plugin->attributes_read) {
    PJRT_Plugin_Attributes_Args args = HSC_PJRT_ARGS(PJRT_Plugin_Attributes);
    HSC_TRY(HSC_PJRT_CALL(plugin, PJRT_Plugin_Attributes, &args));
    HSC_TRY(
        hsc__values_copy(plugin->arena, args.attributes, args.num_attributes, &plugin->attributes));
    plugin->attribute_count = plugin->attributes ? args.num_attributes : 0;
    plugin->attributes_read = true;
  }
  *out_values = plugin->attributes;
  *out_count = plugin->attribute_count;
  return NULL;
}

const PJRT_Extension_Base *hsc_plugin_extension(const hsc_plugin *plugin, int type) {
  for (size_t i = 0; i < plugin->extension_count; i++)
    if ((int)plugin->extensions[i]->type == type)
      return plugin->extensions[i];
  return NULL;
}

size_t hsc_plugin_extension_count(const hsc_plugin *plugin) {
  return plugin->extension_count;
}

const PJRT_Extension_Base *hsc_plugin_extension_at(const hsc_plugin *plugin, size_t index) {
  return index < plugin->extension_count ? plugin->extensions[index] : NULL;
}
