// jaxlib_flags.c - the options of a jaxlib's compiler, and what they are set to.
#include "base/files/file_io.h"
#include "base/process/child.h"
#include "base/process/python.h"
#include "base/wire/wire.h"
#include "lab/devices/compiler_flags.h"

// jaxlib's libraries, and what its options are set to: into files of the scratch directory.
static hsc_status *ask_jaxlib(const hsc_device_spec *device,
                              const char *scratch,
                              hsc_arena *arena,
                              const char **out_library,
                              hsc_bytes *out_settings) {
  static const char question[] = HSC_PYTHON_SAFE
      "import os, glob, jaxlib\n"
      "here = os.path.dirname(jaxlib.__file__)\n"
      "found = sorted(glob.glob(here + '/*.so'), key=os.path.getsize)\n"
      "open(sys.argv[1], 'w').write(found[-1] if found else '')\n"
      "from jaxlib import xla_client\n"
      "options = xla_client.CompileOptions()\n"
      "options.executable_build_options.debug_options\n"
      "open(sys.argv[2], 'wb').write(options.SerializeAsString())\n";
  const int64_t LIMIT_NS = (int64_t)60 * 1000000000;
  const char *path_file = hsc_arena_printf(arena, "%s/library", scratch);
  const char *options_file = hsc_arena_printf(arena, "%s/options", scratch);
  HSC_TRY(hsc_arena_status(arena));
  const char *argv[] = {device->plugin_path, "-c", question, path_file, options_file, NULL};
  hsc_child *child = NULL;
  hsc_child_exit end = {0};
  hsc_bytes path = {0};
  HSC_TRY(hsc_child_start(&(hsc_child_options){.argv = argv, .extra_env = device->environment},
                          &child));
  hsc_status *status = hsc_child_wait(child, LIMIT_NS, &end);
  if (!end.exited)
    hsc_child_kill(child);
  hsc_child_destroy(child);
  HSC_TRY(status);
  status = hsc_file_read(path_file, &path);
  if (!status)
    *out_library = hsc_arena_strndup(arena, path.data ? path.data : "", path.size);
  hsc_status_free(status);  // what it did not tell is not known
  hsc_bytes_deinit(&path);
  hsc_status_free(hsc_file_read(options_file, out_settings));
  return hsc_arena_status(arena);
}

// CompileOptionsProto: executable_build_options = 3, debug_options = 3 in them.
static hsc_view field_of(hsc_view message, uint32_t number) {
  hsc_wire wire = hsc_wire_of(message);
  for (hsc_wire_field f; hsc_wire_next(&wire, &f);)
    if (f.number == number && f.type == HSC_WIRE_BYTES)
      return f.bytes;
  return (hsc_view){0};
}

hsc_status *hsc_flags_of_jaxlib(const hsc_device_spec *device,
                                const char *scratch,
                                hsc_arena *arena,
                                hsc_flags *flags,
                                const char **out_library,
                                const char **out_untold) {
  const char *library = NULL;
  hsc_bytes settings = {0};
  *out_library = *out_untold = NULL;
  hsc_status *status = ask_jaxlib(device, scratch, arena, &library, &settings);
  if (!status && library && *library) {
    status = hsc_flags_read(library, arena, flags);
    *out_library = library;
  }
  hsc_view debug = field_of(field_of(hsc_bytes_view(&settings), 3), 3);
  if (!status && debug.size)
    status = hsc_flags_take_wire(flags, debug, arena);
  else if (!status)
    *out_untold = "its jaxlib does not tell what its options are set to";
  hsc_bytes_deinit(&settings);
  return status;
}
