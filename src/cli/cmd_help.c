// cmd_help.c - hloscope help: the overview, one command's options, and the generated parts of the
// pages.
#include "cli/command.h"

typedef struct help_args {
  const char *command, *verb;
  bool all;
} help_args;

static const hsc_option options[] = {
    HSC_POSITIONAL(
        help_args,
        command,
        "COMMAND",
        HSC_OPTIONAL,
        "command whose options to show; environment: the variables; default: all commands"),
    HSC_POSITIONAL(help_args,
                   verb,
                   "VERB",
                   HSC_OPTIONAL,
                   "for a command with verbs: only the options of this verb"),
    HSC_OPTION_FLAG(help_args, all, "all|a", "everything in full, not the first screen"),
    HSC_OPTION_END,
};

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const help_args *args = args_of_command;
  hsc_bytes text = {0};
  const hsc_command *command = NULL;
  bool environment = args->command && !strcmp(args->command, "environment");
  if (args->command && !environment) {
    command = hsc_command_find(args->command);
    const char *near = hsc_command_near(args->command);
    if (!command)
      return hsc_cli_usage(cli, "there is no command '%s'%s%s%s", args->command,
                           near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  }
  char *words[] = {(char *)args->verb};
  const char *verb = command && args->verb ? hsc_command_verb(command, 1, words) : NULL;
  if (args->verb && !verb)
    return hsc_cli_usage(cli, "%s has no verb '%s'", args->command, args->verb);
  bool markdown = cli->format == HSC_FORMAT_MARKDOWN;
  if (command && markdown)
    hsc_help_command_markdown(command, &text);
  else if (command && args->all)
    hsc_help_command_full(command, verb, &cli->out_style, &text);
  else if (command)
    hsc_help_command(command, verb, &cli->out_style, &text);
  else if (environment)
    hsc_help_environment(args->all, &cli->out_style, &text);
  else if (markdown)
    hsc_help_overview_markdown(&text);
  else
    hsc_help_overview(&cli->out_style, &text);
  hsc_status *status = hsc_bytes_status(&text);
  if (!status)
    hsc_cli_put(cli, &text);
  hsc_bytes_deinit(&text);
  return status;
}

const hsc_command_body hsc_command_help = {
    .options = options,
    .args_bytes = sizeof(help_args),
    .run = run,
    .examples = "hloscope help version\nhloscope help version --format=markdown"};
