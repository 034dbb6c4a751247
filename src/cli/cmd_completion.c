// cmd_completion.c - hloscope completion: prints the script that makes a shell complete commands,
// options and their values.
#include "cli/command.h"

typedef struct completion_args {
  int shell;
} completion_args;

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static const hsc_option options[] = {
    HSC_POSITIONAL_CHOICE(completion_args, shell, "SHELL", shells, HSC_REQUIRED, 0, "the shell"),
    HSC_OPTION_END,
};

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  static void (*const writers[])(hsc_bytes *) = {hsc_completion_bash, hsc_completion_zsh,
                                                 hsc_completion_fish};
  const completion_args *args = args_of_command;
  hsc_bytes text = {0};
  writers[args->shell](&text);
  hsc_status *status = hsc_bytes_status(&text);
  if (!status)
    hsc_cli_put(cli, &text);
  hsc_bytes_deinit(&text);
  return status;
}

const hsc_command_body hsc_command_completion = {.options = options,
                                                 .args_bytes = sizeof(completion_args),
                                                 .run = run,
                                                 .examples = "source <(hloscope completion bash)"};
