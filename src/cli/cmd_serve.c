// cmd_serve.c - hloscope serve: the report page for a whole directory, for captures that are too
// big for a file.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "cli/serve_folder.h"

typedef struct serve_args {
  const char *dir;
  int64_t port, limit;
} serve_args;

static const hsc_option options[] = {
    HSC_POSITIONAL(serve_args,
                   dir,
                   "DIR",
                   HSC_REQUIRED,
                   "a directory with results (JSON), captures (*.hsc), profiles (*.xplane.pb) and "
                   "dumps of compiles"),
    HSC_OPTION_INT(serve_args, port, "port", "N", 0, "port on 127.0.0.1; 0: any free one"),
    HSC_OPTION_INT(serve_args,
                   limit,
                   "limit",
                   "N",
                   2000,
                   "at most N rows of each table of a capture or profile; 0: all"),
    HSC_OPTION_END,
};

enum { END_SECONDS = 3 };

static void end_now(int signal_number) {
  _exit(0);
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const serve_args *args = args_of_command;
  if (!args->dir)
    return hsc_cli_usage(cli, "DIR is missing: which directory?");
  if (args->port > 65535)
    return hsc_cli_usage(cli, "--port is a number up to 65535, not %lld", (long long)args->port);
  hsc_serve *serve = NULL;
  hsc_http_server *http = NULL;
  int port = 0;
  // Taken by this thread alone: the server's threads inherit the mask.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, NULL);
  hsc_status *status = hsc_serve_open(args->dir, args->limit, cli, &serve);
  if (!status)
    status = hsc_http_start((int)args->port, hsc_serve_token(serve), hsc_serve_answer, serve, &http,
                            &port);
  if (!status) {
    hsc_cli_print(cli, "http://127.0.0.1:%d/%s/\n", port, hsc_serve_token(serve));
    // Nobody could come without the address; cli_main says why it was not printed.
    if (fflush(stdout) == 0 && !cli->lost_output) {
      hsc_cli_say(cli,
                  "%s is served to this machine only, to whoever has the address; Ctrl-C ends it",
                  hsc_serve_root(serve));
      int which = 0;
      sigwait(&ends, &which);
      hsc_cli_say(cli, "ended");
    }
    // A page that is being made is not waited for longer than this.
    signal(SIGALRM, end_now);
    alarm(END_SECONDS);
  }
  hsc_http_stop(http);
  hsc_serve_close(serve);
  return status;
}

const hsc_command_body hsc_command_serve = {
    .options = options,
    .args_bytes = sizeof(serve_args),
    .run = run,
    .description =
        "Lists what a directory holds and opens each in the page of `hloscope report`. The page "
        "fetches only the visible part of a timeline, so a capture of any size opens. Listens on "
        "127.0.0.1 only; the printed address contains a token, without which every request is "
        "refused.",
    .examples = "hloscope serve results\nhloscope serve . --port 8080",
};
