// cmd_version.c - hloscope version: what this binary is.
#include "base/files/file_io.h"
#include "cli/command.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static hsc_status *run(const void *args, hsc_cli *cli) {
  char *directory = NULL;
  HSC_TRY(hsc_self_dir((const void *)(uintptr_t)&run, &directory));
  if (cli->format == HSC_FORMAT_JSON) {
    hsc_bytes text = {0};
    hsc_json json;
    hsc_json_init(&json, &text, 2);
    hsc_json_begin_object(&json);
    hsc_json_kv_string(&json, "version", HSC_VERSION);
    hsc_json_kv_string(&json, "compiler", COMPILER);
    hsc_json_kv_string(&json, "directory", directory);
    hsc_json_end_object(&json);
    hsc_cli_print(cli, "%s\n", hsc_bytes_text(&text));
    hsc_bytes_deinit(&text);
  } else {
    hsc_cli_print(cli, "hloscope %s\ncompiler   %s\ndirectory  %s\n", HSC_VERSION, COMPILER,
                  directory);
  }
  hsc_free(directory);
  return NULL;
}

const hsc_command_body hsc_command_version = {.run = run};
