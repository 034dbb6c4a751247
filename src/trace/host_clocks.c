// host_clocks.c - reads measured clocks of hosts, and says what a clock was off at a moment.
#include "trace/host_clocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/bytes.h"
#include "base/files/file_io.h"

static int compare_rows(const void *left, const void *right) {
  const hsc_host_clock *a = left;
  const hsc_host_clock *b = right;
  int hosts = strcmp(a->host, b->host);
  return hosts ? hosts : (a->wall_ns > b->wall_ns) - (a->wall_ns < b->wall_ns);
}

// A whole number within a century of nanoseconds, and the tab or the end after it.
static bool read_number(const char **at, int64_t *out) {
  const int64_t longest = (int64_t)1 << 62;
  char *end = NULL;
  long long value = strtoll(*at, &end, 10);
  if (end == *at || (*end && *end != '\t') || value > longest || value < -longest)
    return false;
  *at = *end ? end + 1 : end;
  *out = value;
  return true;
}

static bool read_row(char *line, hsc_host_clock *out) {
  char *tab = strchr(line, '\t');
  if (!tab || tab == line)
    return false;
  *tab = 0;
  const char *at = tab + 1;
  out->host = line;
  return read_number(&at, &out->wall_ns) && read_number(&at, &out->offset_ns) &&
         read_number(&at, &out->error_ns) && !*at && out->error_ns >= 0;
}

hsc_status *hsc_host_clocks_read(const char *path, hsc_arena *arena, hsc_host_clocks *out_clocks) {
  hsc_bytes file = {0};
  hsc_bytes rows = {0};
  hsc_status *status = hsc_file_read(path, &file);
  *out_clocks = (hsc_host_clocks){0};
  HSC_TRY(status);
  char *text = hsc_arena_strndup(arena, file.data, file.size);
  hsc_bytes_deinit(&file);
  HSC_TRY(hsc_arena_status(arena));
  int number = 0;
  for (char *next = NULL; text && *text && !status; text = next) {
    next = strchr(text, '\n');
    if (next)
      *next++ = 0;
    number++;
    hsc_host_clock row;
    if (!*text || *text == '#')
      continue;
    if (read_row(text, &row))
      hsc_bytes_append(&rows, &row, sizeof row);
    else
      status = HSC_ERR(DATA_LOSS,
                       "%s:%d: host, wall_ns, offset_ns and error_ns are needed, with tabs between",
                       path, number);
  }
  if (!status)
    status = hsc_bytes_status(&rows);
  size_t count = rows.size / sizeof(hsc_host_clock);
  if (!status && count) {
    out_clocks->rows = HSC_NEW_ARRAY(arena, hsc_host_clock, count);
    status = hsc_arena_status(arena);
  }
  if (!status && count) {
    memcpy(out_clocks->rows, rows.data, rows.size);
    qsort(out_clocks->rows, count, sizeof *out_clocks->rows, compare_rows);
    out_clocks->count = count;
  }
  hsc_bytes_deinit(&rows);
  return status;
}

static int64_t grown(int64_t error_ns, int64_t away_ns) {
  const double ppm_of_rfc_5905 = 15e-6;
  return error_ns + (int64_t)((double)away_ns * ppm_of_rfc_5905);
}

bool hsc_host_clocks_at(const hsc_host_clocks *clocks,
                        const char *host,
                        int64_t wall_ns,
                        int64_t *out_offset_ns,
                        int64_t *out_error_ns) {
  const hsc_host_clock *before = NULL;
  const hsc_host_clock *after = NULL;
  for (size_t i = 0; i < clocks->count; i++) {
    const hsc_host_clock *row = &clocks->rows[i];
    if (strcmp(row->host, host) != 0)
      continue;
    // rows have the reference's time: this clock showed offset_ns more
    if (row->wall_ns + row->offset_ns <= wall_ns)
      before = row;
    else if (!after)
      after = row;
  }
  const hsc_host_clock *near = before ? before : after;
  if (!near)
    return false;
  *out_offset_ns = near->offset_ns;
  int64_t away = wall_ns - (near->wall_ns + near->offset_ns);
  *out_error_ns = grown(near->error_ns, away < 0 ? -away : away);
  if (before && after && after->wall_ns > before->wall_ns) {
    double share = (double)away / (double)(after->wall_ns - before->wall_ns);
    *out_offset_ns += (int64_t)(share * (double)(after->offset_ns - before->offset_ns));
    *out_error_ns = before->error_ns > after->error_ns ? before->error_ns : after->error_ns;
  }
  return true;
}

// "# clocks of hosts against NAME\n" is how a file begins.
static const char first_words[] = "# clocks of hosts against ";

static hsc_status *check_reference(const char *path, const char *reference, hsc_view text) {
  size_t known = sizeof first_words - 1;
  size_t length = strlen(reference);
  if (text.size > known + length && !memcmp(text.data, first_words, known) &&
      !memcmp(text.data + known, reference, length) && text.data[known + length] == '\n')
    return NULL;
  return hsc_status_hint(
      HSC_ERR(FAILED_PRECONDITION, "%s was not measured against %s", path, reference),
      "another file, or rank 0 on the host that its first line names");
}

hsc_status *hsc_host_clocks_append(const char *path,
                                   const char *reference,
                                   const hsc_host_clock *rows,
                                   size_t count) {
  hsc_bytes text = {0};
  hsc_status *status = hsc_file_read(path, &text);
  if (hsc_status_code(status) == HSC_NOT_FOUND) {
    hsc_status_free(status);
    status = NULL;
    hsc_bytes_printf(&text, "%s%s\n# host\twall_ns\toffset_ns\terror_ns\n", first_words, reference);
  } else if (!status) {
    status = check_reference(path, reference, hsc_bytes_view(&text));
  }
  for (size_t i = 0; i < count && !status; i++)
    hsc_bytes_printf(&text, "%s\t%lld\t%lld\t%lld\n", rows[i].host, (long long)rows[i].wall_ns,
                     (long long)rows[i].offset_ns, (long long)rows[i].error_ns);
  if (!status)
    status = hsc_bytes_status(&text);
  if (!status)
    status = hsc_file_write_atomic(path, text.data, text.size);
  hsc_bytes_deinit(&text);
  return status;
}
