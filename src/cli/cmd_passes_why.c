// cmd_passes_why.c - hloscope passes why: why two operations were not fused.
#include "base/core/clock.h"
#include "base/text/text.h"
#include "cli/cmd_passes.h"
#include "cli/interrupt.h"
#include "cli/document.h"
#include "lab/passes/passes_why.h"
#include "lab/run/json_tree.h"

static void show_progress(void *user, int64_t done, int64_t total, const char *text) {
  hsc_cli_progress_of(user, done, total, text);
}

static const char *text_at(json_t *tree, const char *a, const char *b) {
  const char *text = json_string_value(hsc_json_path(tree, a, b, NULL));
  return text ? text : "";
}

// What is under a pair, broken at the end of the line.
static void print_under(hsc_cli *cli, const char *label, const char *text, const char *more) {
  hsc_bytes line = {0};
  hsc_bytes wrapped = {0};
  int width = cli->out_style.width > 20 ? cli->out_style.width : 100;
  hsc_bytes_printf(&line, "%s%s%s", label, text, more);
  hsc_text_wrap(hsc_bytes_text(&line), 4, width - 2, &wrapped);
  hsc_cli_print(cli, "  %s", hsc_bytes_text(&wrapped));
  hsc_bytes_deinit(&wrapped);
  hsc_bytes_deinit(&line);
}

static void print_pair(hsc_cli *cli, json_t *pair, bool all) {
  char bytes[32];
  const char *text = json_string_value(json_object_get(pair, "text"));
  const char *remedy = json_string_value(json_object_get(pair, "remedy"));
  bool confirmed = json_is_true(json_object_get(pair, "confirmed"));
  hsc_format_quantity(hsc_json_number(json_object_get(pair, "bytes")), "bytes",
                      cli->out_style.unicode, bytes);
  hsc_cli_print(cli, "%s %s -> %s %s, %s through memory\n", text_at(pair, "producer", "name"),
                text_at(pair, "producer", "shape"), text_at(pair, "consumer", "name"),
                text_at(pair, "consumer", "shape"), bytes);
  if (text)
    print_under(cli, "because ", text,
                confirmed ? "" : " (so by themselves; not confirmed on the whole program)");
  else
    hsc_cli_print(cli, "  no single change made them one kernel\n");
  if (remedy)
    print_under(cli, "instead: ", remedy, "");
  if (!all) {
    hsc_cli_print(cli, "\n");
    return;
  }
  hsc_bytes tried = {0};
  json_t *row;
  size_t i;
  json_array_foreach (json_object_get(pair, "decided"), i, row) {
    const char *pass = text_at(row, "pass", NULL);
    print_under(cli, "decided", hsc_arena_printf(cli->arena, "%s%s: ", *pass ? " by " : "", pass),
                text_at(row, "text", NULL));
  }
  json_array_foreach (json_object_get(pair, "tried"), i, row)
    hsc_bytes_printf(&tried, "%s%s in %s: %s", i ? "; " : "", text_at(row, "change", NULL),
                     text_at(row, "place", NULL), text_at(row, "outcome", NULL));
  print_under(cli, "tried: ", hsc_bytes_text(&tried), "");
  hsc_cli_print(cli, "\n");
  hsc_bytes_deinit(&tried);
}

static hsc_status *print_result(const passes_args *args, hsc_cli *cli, json_t *result) {
  json_t *pair;
  size_t i;
  long long unfused = json_integer_value(json_object_get(result, "unfused"));
  long long examined = json_integer_value(json_object_get(result, "examined"));
  long long explained = json_integer_value(json_object_get(result, "explained"));
  hsc_cli_paragraph(cli,
                    "%s: %lld %s not fused; of the %lld looked into, the dearest first, "
                    "%lld %s a cause that the whole program confirms\n\n",
                    text_at(result, "device", NULL), unfused,
                    hsc_plural((double)unfused, "pair is", "pairs are"), examined, explained,
                    hsc_plural((double)explained, "has", "have"));
  json_t *decided = json_object_get(result, "decided");
  if (json_is_integer(decided))
    hsc_cli_paragraph(cli, "Its passes recorded why they left %lld of the %lld pairs apart.\n\n",
                      (long long)json_integer_value(decided), unfused);
  json_array_foreach (json_object_get(result, "pairs"), i, pair)
    print_pair(cli, pair, args->all);
  if (i && !args->all)
    hsc_cli_print(cli, "which pass decided it, and what was tried: --all\n");
  return hsc_arena_status(cli->arena);
}

// "A,B" as its two names.
static hsc_status *read_pair(const passes_args *args, hsc_cli *cli, hsc_why_options *o) {
  const char *comma = args->not_fused ? strchr(args->not_fused, ',') : NULL;
  if (!args->not_fused)
    return NULL;
  if (!comma || comma == args->not_fused || !comma[1] || strchr(comma + 1, ','))
    return hsc_cli_usage(cli, "--not-fused takes two names: PRODUCER,CONSUMER");
  o->producer = hsc_arena_strndup(cli->arena, args->not_fused, (size_t)(comma - args->not_fused));
  o->consumer = comma + 1;
  return hsc_arena_status(cli->arena);
}

hsc_status *hsc__passes_why(const passes_args *args, hsc_cli *cli) {
  hsc_device_spec device;
  json_t *overrides = NULL;
  json_t *result = NULL;
  hsc_status *status = NULL;
  hsc_why_options o = {.program = args->program,
                       .transforms = args->transforms.items,
                       .transform_count = args->transforms.count,
                       .device = &device,
                       .executable = NULL,
                       .most = (int)args->top,
                       .limit_ns = (int64_t)(args->limit_s * 1e9),
                       .progress = cli->talk_is_terminal ? show_progress : NULL,
                       .user = cli,
                       .stop = &hsc_cli_stop};
  if (args->budget_s > 0)
    o.deadline_ns = hsc_now_ns() + (int64_t)(args->budget_s * 1e9);
  HSC_TRY(read_pair(args, cli, &o));
  HSC_TRY(hsc__passes_device(args, cli, &device));
  HSC_GOTO(hsc__passes_overrides(args, cli, true, &overrides));
  o.overrides = overrides;
  HSC_GOTO(hsc_passes_why(&o, &result));
  // for reports: how to make it again
  json_object_set_new(result, "command", json_string(cli->command_line));
  HSC_GOTO(cli->format == HSC_FORMAT_JSON ? hsc_cli_document(cli, result)
                                          : print_result(args, cli, result));
done:
  json_decref(overrides);
  json_decref(result);
  return status;
}
