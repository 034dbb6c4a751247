// cli_output.c - what commands print with: data to stdout, talk and progress to stderr.
#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "cli/command.h"

#include <errno.h>
#include <time.h>

#include <math.h>
#include <unistd.h>

// Texts are written with "us", as JSON has them; readers of Unicode get "µs". False, with nothing
// written, where there was no memory for it.
static bool put_units(const hsc_bytes *text, const hsc_text_style *style, FILE *to) {
  hsc_bytes plain = {0};
  hsc_bytes shown = {0};
  hsc_text_plain(hsc_bytes_view(text), style->color, &plain);
  hsc_text_units(hsc_bytes_text(&plain), style->unicode, &shown);
  shown.failed |= plain.failed;
  hsc_bytes_deinit(&plain);
  // without memory for the units, as it is: what a command has to say is not lost
  const hsc_bytes *out = shown.failed && to == stderr ? text : &shown;
  bool whole = !text->failed && !out->failed;
  if (whole && out->size)
    fwrite(out->data, 1, out->size, to);
  hsc_bytes_deinit(&shown);
  return whole;
}

void hsc_cli_print(hsc_cli *cli, const char *format, ...) {
  hsc_bytes text = {0};
  va_list args;
  va_start(args, format);
  hsc_bytes_printf_v(&text, format, args);
  va_end(args);
  cli->lost_output |= !put_units(&text, &cli->out_style, stdout);
  hsc_bytes_deinit(&text);
}

static void put_lines(hsc_cli *cli, int column, const char *format, va_list args) {
  hsc_bytes text = {0};
  hsc_bytes out = {0};
  int width = cli->out_style.width > 20 ? cli->out_style.width : 20;
  hsc_bytes_printf_v(&text, format, args);
  if (cli->out_style.width > 0) {
    hsc_text_wrap(hsc_bytes_text(&text), column, width, &out);
    // the text has its own end of line
    if (text.size && text.data[text.size - 1] == '\n' && out.size)
      out.data[--out.size] = '\0';
  }
  cli->lost_output |=
      text.failed || !put_units(cli->out_style.width > 0 ? &out : &text, &cli->out_style, stdout);
  hsc_bytes_deinit(&text);
  hsc_bytes_deinit(&out);
}

void hsc_cli_paragraph(hsc_cli *cli, const char *format, ...) {
  va_list args;
  va_start(args, format);
  put_lines(cli, 0, format, args);
  va_end(args);
}

void hsc_cli_beside(hsc_cli *cli, const char *label, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs(label, stdout);
  put_lines(cli, hsc_text_width(label, strlen(label)), format, args);
  va_end(args);
}

void hsc_cli_write(hsc_cli *cli, hsc_view data) {
  if (data.size)
    fwrite(data.data, 1, data.size, stdout);
}

void hsc_cli_put(hsc_cli *cli, const hsc_bytes *text) {
  hsc_bytes plain = {0};
  const hsc_bytes *out = text;
  if (cli->format == HSC_FORMAT_TEXT) {  // the other formats have escapes of their own
    hsc_text_plain(hsc_bytes_view(text), cli->out_style.color, &plain);
    out = &plain;
  }
  cli->lost_output |= text->failed || out->failed;
  if (!text->failed && !out->failed)
    hsc_cli_write(cli, hsc_bytes_view(out));
  hsc_bytes_deinit(&plain);
}

hsc_status *hsc_cli_write_to(hsc_cli *cli, const char *path, const hsc_bytes *data) {
  HSC_TRY(hsc_bytes_status(data));
  if (path && strcmp(path, "-") != 0)
    return hsc_file_write_atomic(path, hsc_bytes_text(data), data->size);
  hsc_cli_write(cli, hsc_bytes_view(data));
  return NULL;
}

static hsc_status *write_piece(void *cli, hsc_view bytes) {
  hsc_cli_write(cli, bytes);
  return NULL;  // what could not be written is reported at the end of every command
}

hsc_status *hsc_cli_table(hsc_cli *cli, hsc_table *table) {
  hsc_status *status = hsc_table_write(table, cli->format, &cli->out_style, write_piece, cli);
  hsc_table_destroy(table);
  return status;
}

static void end_progress(hsc_cli *cli) {
  if (cli->progress_shown)
    fputs("\r\x1b[K", stderr);
  cli->progress_shown = false;
}

void hsc_cli_say(hsc_cli *cli, const char *format, ...) {
  va_list args;
  va_start(args, format);
  end_progress(cli);
  fflush(stdout);  // in the order of the calls where both go to one file
  hsc_bytes text = {0};
  hsc_bytes_printf_v(&text, format, args);
  hsc_bytes_append_char(&text, '\n');
  put_units(&text, &cli->talk_style, stderr);
  hsc_bytes_deinit(&text);
  va_end(args);
}

void hsc_cli_progress(hsc_cli *cli, const char *format, ...) {
  if (cli->quiet)
    return;
  hsc_bytes text = {0};
  hsc_bytes line = {0};
  va_list args;
  va_start(args, format);
  hsc_bytes_printf_v(&text, format, args);
  va_end(args);
  hsc_text_plain(hsc_bytes_view(&text), false, &line);
  hsc_bytes_deinit(&text);
  end_progress(cli);
  if (cli->talk_is_terminal) {
    int room = cli->talk_style.width > 1 ? cli->talk_style.width - 1 : 79;
    size_t keep = line.size;
    while (keep > 0 && hsc_text_width(hsc_bytes_text(&line), keep) > room)
      keep--;
    fprintf(stderr, "%.*s", (int)keep, hsc_bytes_text(&line));
    cli->progress_shown = keep > 0;
  } else {
    fprintf(stderr, "%s\n", hsc_bytes_text(&line));
  }
  fflush(stderr);
  hsc_bytes_deinit(&line);
}

hsc_status *hsc_cli_check_sampling(hsc_cli *cli, double precision, double budget_s, bool exact) {
  if (!(precision >= 0) || precision > 1000)
    return hsc_cli_usage(cli, "--precision must be from 0 to 1000 percent, got %g", precision);
  if (!(budget_s >= 0) || budget_s > 1e7)
    return hsc_cli_usage(cli, "--time-budget must be from 0 to 1e7 s, got %g", budget_s);
  if (!exact && precision == 0 && budget_s == 0)
    return hsc_cli_usage(
        cli, "neither --precision nor --time-budget would end it; one of them must be above 0");
  return NULL;
}

void hsc_cli_progress_of(hsc_cli *cli, int64_t done, int64_t total, const char *text) {
  int64_t now = hsc_now_ns();
  if (done <= cli->progress_from || !cli->progress_since_ns) {
    cli->progress_since_ns = now;
    cli->progress_from = done;
  }
  double spent = (double)(now - cli->progress_since_ns) / 1e9;
  double rate = spent > 0 ? (double)(done - cli->progress_from) / spent : 0;
  // A rate is worth saying after a second and three steps.
  if (!cli->talk_is_terminal || spent < 1 || done - cli->progress_from < 3) {
    hsc_cli_progress(cli, "%s: %lld of %lld", text, (long long)done, (long long)total);
    return;
  }
  char left[32];
  hsc_format_quantity(total > done ? ceil((double)(total - done) / rate) : 0, "s",
                      cli->talk_style.unicode, left);
  hsc_cli_progress(cli, "%s: %lld of %lld, %.3g/s, about %s left", text, (long long)done,
                   (long long)total, rate, left);
}

hsc_status *hsc_cli_usage(hsc_cli *cli, const char *format, ...) {
  va_list args;
  va_start(args, format);
  cli->is_usage_error = true;
  hsc_status *status = hsc_status_make_v(HSC_INVALID_ARGUMENT, __FILE__, __LINE__, format, args);
  va_end(args);
  return hsc_status_hint(status, "hloscope %s --help shows what it takes", cli->command_name);
}

const char *hsc_cli_new_name(hsc_cli *cli, const char *extension) {
  char stamp[32] = "";
  struct tm local;
  time_t now = time(NULL);
  if (localtime_r(&now, &local))
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
  const char *stem = hsc_arena_printf(cli->arena, "hloscope-%s-%s", cli->command_name, stamp);
  const char *name = hsc_arena_printf(cli->arena, "%s%s", stem, extension);
  for (int i = 2; hsc_file_exists(name); i++)
    name = hsc_arena_printf(cli->arena, "%s-%d%s", stem, i, extension);
  return name;
}
