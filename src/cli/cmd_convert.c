// cmd_convert.c - hloscope convert: a program in another format, or transformed.
#include "base/text/text.h"
#include "cli/command.h"

#include <errno.h>

#include "formats/common/formats.h"
#include "worker/program_spec.h"

typedef struct convert_args {
  const char *program, *output, *to, *vmap_parameters, *stablehlo_version;
  int64_t repeat, vmap, scan;
  int randomness;
  bool generic, locations;
  hsc_list constants;
} convert_args;

static const char *const randomness_names[] = {"error", "same", "different", NULL};
static const hsc_option options[] = {
    HSC_POSITIONAL(convert_args,
                   program,
                   "PROGRAM",
                   HSC_REQUIRED,
                   "HLO text, HLO proto, MLIR text or MLIR bytecode, plain or compressed; - reads "
                   "standard input"),
    HSC_OPTION_STRING(
        convert_args, output, "output|o", "FILE", NULL, "output file; default: standard output"),
    HSC_OPTION_STRING(
        convert_args,
        to,
        "to",
        "FORMAT",
        NULL,
        "hlo, hlo-proto, mlir or mlirbc; default: by the name of the output, else hlo"),
    HSC_OPTION_STRING(convert_args,
                      stablehlo_version,
                      "stablehlo-version",
                      "X.Y.Z",
                      NULL,
                      "mlirbc: target version of StableHLO, 0.9.0 to 1.20.0; default: the newest"),
    HSC_OPTION_FLAG(convert_args,
                    generic,
                    "generic",
                    "mlir: the generic form of operations, with all their attributes"),
    HSC_OPTION_FLAG(
        convert_args, locations, "locations", "mlir: with the source locations of operations"),
    HSC_OPTION_INT(convert_args,
                   repeat,
                   "repeat",
                   "N",
                   0,
                   "apply the program N times, each on the result of the one before"),
    HSC_OPTION_INT(convert_args,
                   vmap,
                   "vmap",
                   "N",
                   0,
                   "apply the program to N inputs at once, along a new first dimension"),
    HSC_OPTION_STRING(
        convert_args,
        vmap_parameters,
        "vmap-parameters",
        "I,J",
        NULL,
        "parameters that get the new dimension; default: the one that has the shape of the result"),
    HSC_OPTION_CHOICE(convert_args,
                      randomness,
                      "randomness",
                      randomness_names,
                      0,
                      "what a random operation gives under --vmap: an error, the same numbers for "
                      "every input, or different ones"),
    HSC_OPTION_INT(convert_args,
                   scan,
                   "scan",
                   "N",
                   0,
                   "apply the program N times in a loop that stacks what it carries"),
    HSC_OPTION_LIST(convert_args,
                    constants,
                    "constant",
                    "I=V",
                    NULL,
                    "parameter I becomes the constant V; may be repeated"),
    HSC_OPTION_END,
};

static hsc_status *choose_format(const convert_args *args, hsc_cli *cli, hsc_format *out_format) {
  *out_format = HSC_FORMAT_HLO_TEXT;
  if (args->to) {
    if (hsc_format_parse(hsc_view_of(args->to), out_format))
      return NULL;
    const char *names[HSC_FORMAT_COUNT];
    for (int i = 0; i < HSC_FORMAT_COUNT; i++)
      names[i] = hsc_format_text((hsc_format)i);
    const char *near = hsc_did_you_mean(args->to, names, HSC_FORMAT_COUNT);
    return near ? hsc_cli_usage(cli, "unknown program format '%s'; did you mean '%s'?", args->to,
                                near)
                : hsc_cli_usage(cli, "unknown program format '%s'", args->to);
  }
  hsc_format by_name;
  if (args->output && hsc_format_detect((hsc_view){0}, args->output, &by_name))
    *out_format = by_name;
  return NULL;
}

static hsc_status *transform(const convert_args *args, hsc_cli *cli, hsc_module **module) {
  const char *vmap_more = hsc_arena_printf(cli->arena, "%s%s:%s", args->vmap_parameters ? ":" : "",
                                           args->vmap_parameters ? args->vmap_parameters : "",
                                           randomness_names[args->randomness]);
  const struct {
    const char *word;
    int64_t count;
    const char *more;
  } wanted[] = {
      {"repeat", args->repeat, ""}, {"vmap", args->vmap, vmap_more}, {"scan", args->scan, ""}};
  for (size_t i = 0; i < args->constants.count; i++)
    HSC_TRY(hsc_program_transform(
        hsc_arena_printf(cli->arena, "constant:%s", args->constants.items[i]), module));
  for (size_t i = 0; i < HSC_COUNT_OF(wanted); i++) {
    if (wanted[i].count == 0)
      continue;
    const char *text = hsc_arena_printf(cli->arena, "%s:%lld%s", wanted[i].word,
                                        (long long)wanted[i].count, wanted[i].more);
    HSC_TRY(hsc_arena_status(cli->arena));
    HSC_TRY(hsc_program_transform(text, module));
  }
  return NULL;
}

// What the format has no place for: one line of talk.
static void tell_notes(hsc_cli *cli, hsc_format format, hsc_bytes *notes) {
  if (!notes->size)
    return;
  notes->data[notes->size - 1] = 0;
  for (char *newline; (newline = strchr(notes->data, '\n'));)
    *newline = ';';
  hsc_cli_say(cli, "%s has no place for, and leaves out: %s", hsc_format_text(format), notes->data);
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const convert_args *args = args_of_command;
  hsc_format format;
  hsc_module *module = NULL;
  hsc_bytes out = {0};
  hsc_bytes notes = {0};
  hsc_write_options write = {.generic = args->generic, .locations = args->locations};
  HSC_TRY(choose_format(args, cli, &format));
  if (args->stablehlo_version) {
    hsc_status *known =
        hsc_stablehlo_version_parse(hsc_view_of(args->stablehlo_version), &write.stablehlo_version);
    if (known) {
      const char *message = hsc_arena_strdup(cli->arena, hsc_status_message(known));
      hsc_status_free(known);
      return hsc_cli_usage(cli, "%s", message ? message : "--stablehlo-version");
    }
    if (format != HSC_FORMAT_MLIR_BYTECODE)
      return hsc_cli_usage(
          cli, "--stablehlo-version is for MLIR bytecode (--to mlirbc), and this writes %s",
          hsc_format_text(format));
  }
  if ((args->generic || args->locations) && format != HSC_FORMAT_MLIR_TEXT)
    return hsc_cli_usage(cli, "--%s is for MLIR text (--to mlir), and this writes %s",
                         args->generic ? "generic" : "locations", hsc_format_text(format));
  if (args->vmap_parameters && !args->vmap)
    return hsc_cli_usage(
        cli, "--vmap-parameters says which parameters --vmap N batches, and there is no --vmap");
  HSC_TRY(hsc_program_read_file(args->program, &module));
  hsc_status *status = transform(args, cli, &module);
  if (!status)
    status = hsc_program_write_with(module, format, &write, &notes, &out);
  if (!status)
    status = hsc_cli_write_to(cli, args->output, &out);
  if (!status)
    tell_notes(cli, format, &notes);
  hsc_bytes_deinit(&notes);
  hsc_bytes_deinit(&out);
  hsc_module_destroy(module);
  return status;
}

const hsc_command_body hsc_command_convert = {
    .options = options,
    .args_bytes = sizeof(convert_args),
    .run = run,
    .description =
        "Reads a program, transforms it when asked to (constants first, then repeat, vmap, scan, "
        "in this order), "
        "checks it, and writes it.",
    .examples =
        "hloscope convert model.hlo -o model.mlir\nhloscope convert model.hlo -o model.mlirbc "
        "--stablehlo-version 1.9.0\n"
        "hloscope convert model.hlo --vmap 8 -o batched.hlo\nhloscope convert "
        "model.hlo.gz\nhloscope convert model.hlo "
        "--constant 2=1 --repeat 3 -o three.hlo",
};
