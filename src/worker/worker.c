// worker.c - the loop of a worker: read a job, do it, answer.
#include "base/process/child.h"
#include "base/text/text.h"
#include "worker/pressure.h"
#include "worker/worker_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
  const char *name;
  worker_job run;
} JOBS[] = {
#define JOB(job_name, function, doc) {job_name, hsc__job_##function},
#include "worker/worker_jobs.def"
#undef JOB
};

// ---- what a job is at ---------------------------------------------------------------------------

// ---- request members ----------------------------------------------------------------------------

// ---- jobs of the loop itself --------------------------------------------------------------------

hsc_status *hsc__job_hello(hsc_worker *worker, json_t *request, hsc_json *answer) {
  hsc_json_kv_int(answer, "protocol", HSC_WORKER_PROTOCOL);
  hsc_json_kv_string(answer, "hloscope", HSC_VERSION);
  hsc_json_kv_int(answer, "pid", getpid());
  return NULL;
}

hsc_status *hsc__job_quit(hsc_worker *worker, json_t *request, hsc_json *answer) {
  worker->quit = true;
  return NULL;
}

// ---- answers ------------------------------------------------------------------------------------

static void write_error(hsc_json *answer, const hsc_status *status, const char *step) {
  hsc_json_kv_bool(answer, "ok", false);
  hsc_json_key(answer, "error");
  hsc_json_begin_object(answer);
  hsc_json_kv_string(answer, "code", hsc_code_name(hsc_status_code(status)));
  hsc_json_kv_string(answer, "message", hsc_status_message(status));
  if (step)
    hsc_json_kv_string(answer, "step", step);
  if (hsc_status_path(status))
    hsc_json_kv_string(answer, "path", hsc_status_path(status));
  if (hsc_status_line(status))
    hsc_json_kv_int(answer, "line", hsc_status_line(status));
  if (hsc_status_column(status))
    hsc_json_kv_int(answer, "column", hsc_status_column(status));
  if (hsc_status_source_line(status))
    hsc_json_kv_string(answer, "source_line", hsc_status_source_line(status));
  if (hsc_status_hint_text(status))
    hsc_json_kv_string(answer, "hint", hsc_status_hint_text(status));
  if (*hsc_status_notes(status))
    hsc_json_kv_string(answer, "notes", hsc_status_notes(status));
  hsc_json_end_object(answer);
}

static hsc_status *do_job(hsc_worker *worker, json_t *request, hsc_json *answer) {
  const char *name = NULL;
  HSC_TRY(hsc__request_text(request, "job", true, &name));
  for (size_t i = 0; i < HSC_COUNT_OF(JOBS); i++)
    if (!strcmp(JOBS[i].name, name))
      return JOBS[i].run(worker, request, answer);
  const char *names[HSC_COUNT_OF(JOBS)];
  for (size_t i = 0; i < HSC_COUNT_OF(JOBS); i++)
    names[i] = JOBS[i].name;
  const char *near = hsc_did_you_mean(name, names, HSC_COUNT_OF(JOBS));
  return near ? HSC_ERR(INVALID_ARGUMENT, "unknown job '%s'; did you mean '%s'?", name, near)
              : HSC_ERR(INVALID_ARGUMENT, "unknown job '%s'", name);
}

// The id of a request as JSON text, so that it comes back as it was.
static char *id_text(json_t *request) {
  json_t *id = json_object_get(request, "id");
  return id ? json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
}

static void begin_answer(hsc_json *answer, hsc_bytes *line, const char *id) {
  hsc_bytes_reset(line);
  hsc_json_init(answer, line, 0);
  hsc_json_begin_object(answer);
  if (id) {
    hsc_json_key(answer, "id");
    hsc_json_raw(answer, id);
  }
}

static void answer_line(hsc_worker *worker, const char *text, size_t size, hsc_bytes *line) {
  hsc_json answer;
  json_error_t parse_error;
  json_t *request = json_loadb(text, size, 0, &parse_error);
  char *id = json_is_object(request) ? id_text(request) : NULL;
  hsc_status *status;
  hsc__worker_at(worker, NULL);
  begin_answer(&answer, line, id);
  if (!json_is_object(request)) {
    status = request ? HSC_ERR(INVALID_ARGUMENT, "a job must be a JSON object")
                     : HSC_ERR(INVALID_ARGUMENT, "not JSON: %s (column %d)", parse_error.text,
                               parse_error.column);
  } else {
    hsc_json_kv_bool(&answer, "ok", true);
    status = do_job(worker, request, &answer);
  }
  if (!status) {
    hsc_usage usage;
    hsc_usage_get(&usage);
    hsc_json_kv_int(&answer, "max_rss_bytes", usage.max_rss_bytes);
  } else {
    begin_answer(&answer, line, id);
    write_error(&answer, status, worker->step);
  }
  hsc_json_end_object(&answer);
  hsc_bytes_append_char(line, '\n');
  hsc_status_free(status);
  free(id);
  json_decref(request);
}

static hsc_status *write_all(int fd, const char *data, size_t size) {
  while (size > 0) {
    ssize_t written = write(fd, data, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return hsc_status_errno(errno, "cannot answer", "worker");
    data += written;
    size -= (size_t)written;
  }
  return NULL;
}

hsc_status *hsc_worker_serve(FILE *in, int answer_fd) {
  hsc_pressure_watch_stops();
  hsc_worker worker = {0};
  char *text = NULL;
  size_t capacity = 0;
  ssize_t size;
  hsc_bytes line = {0};
  hsc_status *status = NULL;
  while (!status && !worker.quit && (size = getline(&text, &capacity, in)) >= 0) {
    if (size == 0 || (size == 1 && text[0] == '\n'))
      continue;
    answer_line(&worker, text, (size_t)size, &line);
    status = hsc_bytes_status(&line);
    if (!status)
      status = write_all(answer_fd, line.data, line.size);
  }
  hsc__worker_close(&worker);
  hsc_bytes_deinit(&line);
  free(text);
  return status;
}
