// cmd_sweep.c - hloscope sweep: many tasks as data, run anywhere, merged into one table.
//
// How to read: run, at the end, finds the verb; each has a section: plan, run (here, over MPI, or
// by somebody else's scheduler), merge and script, clocks. The work itself is in lab/sweep.
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files/file_io.h"
#include "base/files/places.h"
#include "base/process/child.h"
#include "base/process/python.h"
#include "base/text/text.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/document.h"
#include "cli/sweep_short.h"
#include "lab/devices/devices.h"
#include "lab/store/store.h"
#include "lab/sweep/sweep.h"
#include "lab/sweep/sweep_scripts.h"
#include "worker/lab_compile.h"

typedef struct sweep_args {
  int verb, backend;
  const char *what;  // plan: the kind; else the folder
  hsc_list programs, devices, releases, off, settings;
  const char *output, *baseline, *share, *results, *store, *image, *volume, *program;
  hsc_list tasks;
  int64_t placebos, repeats, series, seed, jobs, shares;
  double limit_s, silence_s;
  bool times, effects, all;
} sweep_args;

enum { FIRST_ROWS = 30 };
enum { VERB_PLAN, VERB_RUN, VERB_MERGE, VERB_SHOW, VERB_SCRIPT, VERB_CLOCKS };
static const char *const verbs[] = {"plan", "run", "merge", "show", "script", "clocks", NULL};
enum { BACKEND_LOCAL, BACKEND_MPI, BACKEND_SLURM, BACKEND_RAY, BACKEND_DASK, BACKEND_KUBERNETES };
static const char *const backends[] = {"local", "mpi", "slurm", "ray", "dask", "kubernetes", NULL};

static const char what_text[] =
    "plan: what its tasks are, one of"
#define KIND(name, job, command, about) " " #name
#include "lab/sweep/sweep_kinds.def"
#undef KIND
    "; clocks: the file that measurements are added to; else the folder of a plan";

static const hsc_option options[] = {
    HSC_POSITIONAL_CHOICE(
        sweep_args,
        verb,
        "VERB",
        verbs,
        HSC_REQUIRED,
        VERB_PLAN,
        "plan: write tasks down; run: do what is left of them; merge: one table of "
        "what came of them; show: how far it is; script: for a cluster's scheduler; clocks: "
        "under mpirun, how far the hosts' clocks are apart"),
    HSC_POSITIONAL(sweep_args, what, "KIND|PLAN", HSC_REQUIRED, what_text),
    HSC_POSITIONAL_REST(
        sweep_args,
        programs,
        "PROGRAM",
        HSC_OPTIONAL,
        "plan: HLO, StableHLO, gzipped too; after --: words for the command of each "
        "task"),
    HSC_OPTION_STRING(sweep_args,
                      output,
                      "output|o",
                      "PATH",
                      NULL,
                      "plan: the folder to write; merge, script: a file in place of stdout",
                      .verbs = "plan,merge,script"),
    HSC_OPTION_LIST(sweep_args,
                    devices,
                    "device|d",
                    "DEVICES",
                    NULL,
                    "where, several with commas; default: $HLOSCOPE_DEVICE, else cpu",
                    .verbs = "plan"),
    HSC_OPTION_LIST(sweep_args,
                    releases,
                    "releases",
                    "VERSIONS",
                    NULL,
                    "each device in each of these releases (xla-cpu@0.7.1)",
                    .verbs = "plan"),
    HSC_OPTION_LIST(sweep_args,
                    off,
                    "off",
                    "PASSES",
                    NULL,
                    "each of these passes off by itself; a+b: both at once",
                    .verbs = "plan"),
    HSC_OPTION_LIST(sweep_args,
                    settings,
                    "option",
                    "NAME=VALUE",
                    NULL,
                    "a compile option of the device; may be repeated",
                    .verbs = "plan"),
    HSC_OPTION_INT(sweep_args,
                   placebos,
                   "placebos",
                   "N",
                   1,
                   "ablate, time: names that no pass has, which must change nothing",
                   .verbs = "plan"),
    HSC_OPTION_INT_FROM(sweep_args,
                        repeats,
                        "repeats",
                        "N",
                        1,
                        1,
                        "each task so often; hunt: mutants of each program",
                        .verbs = "plan"),
    HSC_OPTION_INT(sweep_args, series, "series", "N", 0, "run: timed runs", .verbs = "plan"),
    HSC_OPTION_INT(sweep_args,
                   seed,
                   "seed",
                   "N",
                   0,
                   "seed for the generated inputs; hunt: of the first mutant",
                   .verbs = "plan"),
    HSC_OPTION_DOUBLE(
        sweep_args, limit_s, "limit", "S", 120, "seconds that a task gets", .verbs = "plan"),
    HSC_OPTION_STRING(sweep_args,
                      baseline,
                      "baseline",
                      "FILE",
                      NULL,
                      "gate: what to compare with",
                      .verbs = "plan"),
    HSC_OPTION_CHOICE(sweep_args,
                      backend,
                      "backend",
                      backends,
                      BACKEND_LOCAL,
                      "who dispatches the tasks; mpi: under mpirun, every rank runs this command",
                      .verbs = "run,script"),
    HSC_OPTION_INT_FROM(sweep_args,
                        jobs,
                        "jobs|j",
                        "N",
                        1,
                        1,
                        "tasks at the same time, in each process",
                        .verbs = "run,script"),
    HSC_OPTION_LIST(sweep_args,
                    tasks,
                    "tasks",
                    "NUMBERS",
                    NULL,
                    "only these tasks, counted from 0: 0,5,9-12",
                    .verbs = "run"),
    HSC_OPTION_STRING(sweep_args,
                      share,
                      "share",
                      "I/N",
                      NULL,
                      "only each N-th task from the I-th, I from 0: what array jobs run",
                      .verbs = "run"),
    HSC_OPTION_STRING(sweep_args,
                      results,
                      "results",
                      "DIR",
                      NULL,
                      "this process's results go there in place of PLAN/results",
                      .verbs = "run"),
    HSC_OPTION_DOUBLE(sweep_args,
                      silence_s,
                      "silence",
                      "S",
                      30,
                      "mpi: a rank that says nothing for so long is given up",
                      .verbs = "run,clocks"),
    HSC_OPTION_STRING(sweep_args,
                      store,
                      "store",
                      "FILE",
                      NULL,
                      "also keep results in this store; see hloscope results",
                      .verbs = "run"),
    HSC_OPTION_FLAG(sweep_args,
                    times,
                    "times",
                    "also what depends on machine and moment: times, hosts",
                    .verbs = "merge"),
    HSC_OPTION_FLAG(sweep_args,
                    effects,
                    "effects",
                    "of kind time: what each pass gains, hosts as a random effect",
                    .verbs = "merge"),
    HSC_OPTION_FLAG(sweep_args,
                    all,
                    "all",
                    "every row and column as text, not only the first screen",
                    .verbs = "merge"),
    HSC_OPTION_INT_FROM(sweep_args,
                        shares,
                        "shares",
                        "N",
                        1,
                        16,
                        "slurm, kubernetes: parts of the plan, each a job of its own",
                        .verbs = "run,script"),
    HSC_OPTION_STRING(sweep_args,
                      image,
                      "image",
                      "NAME",
                      "hloscope:latest",
                      "kubernetes: the container image",
                      .verbs = "script"),
    HSC_OPTION_STRING(sweep_args,
                      volume,
                      "volume",
                      "NAME",
                      "hloscope-plan",
                      "kubernetes: the volume claim that holds the plan",
                      .verbs = "script"),
    HSC_OPTION_STRING(sweep_args,
                      program,
                      "program",
                      "FILE",
                      NULL,
                      "hloscope where tasks run; default: this one",
                      .verbs = "script"),
    HSC_OPTION_END,
};

// Takes the document.
static hsc_status *print_document(hsc_cli *cli, json_t *document) {
  hsc_status *status = hsc_cli_document(cli, document);
  json_decref(document);
  return status;
}

static hsc_status *own_path(hsc_cli *cli, const char **out_path) {
  char path[4200];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length < 0)
    return HSC_ERR(INTERNAL, "cannot tell which program this is");
  *out_path = hsc_arena_strndup(cli->arena, path, (size_t)length);
  return hsc_arena_status(cli->arena);
}

// ---- how far a plan is --------------------------------------------------------------------------

// {"plan", "folder", "kind", "tasks", "done", "left", "outcomes", "expected_s", "processes", ...}
static hsc_status *state_json(const hsc_sweep *sweep, json_t **out) {
  hsc_sweep_results results;
  HSC_TRY(hsc_sweep_results_read(sweep, &results));
  json_t *outcomes = json_object();
  double left_s = 0;
  for (int64_t i = 0; i < sweep->count; i++) {
    const json_t *row = results.rows[i];
    if (!hsc_sweep_is_result(row)) {
      left_s += sweep->tasks[i].cost_s;
      continue;
    }
    const char *outcome = json_string_value(json_object_get(row, "outcome"));
    json_t *count = json_object_get(outcomes, outcome ? outcome : "");
    json_object_set_new(outcomes, outcome ? outcome : "",
                        json_integer(json_integer_value(count) + 1));
  }
  *out = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:o, s:f, s:I, s:I, s:I}", "plan", sweep->id,
                   "folder", sweep->folder, "kind", sweep->kind, "tasks", (json_int_t)sweep->count,
                   "done", (json_int_t)results.done, "left",
                   (json_int_t)(sweep->count - results.done), "outcomes", outcomes, "expected_s",
                   left_s, "processes", (json_int_t)results.files, "torn_lines",
                   (json_int_t)results.torn, "foreign_lines", (json_int_t)results.foreign);
  hsc_sweep_results_deinit(sweep, &results);
  return *out ? NULL : hsc_status_out_of_memory();
}

static hsc_status *print_state(hsc_cli *cli, const hsc_sweep *sweep, json_t *run) {
  json_t *state = NULL;
  json_t *count;
  const char *outcome;
  hsc_bytes words = {0};
  HSC_TRY(state_json(sweep, &state));
  if (cli->format == HSC_FORMAT_JSON) {
    json_object_set_new(state, "run", run ? run : json_null());
    return print_document(cli, state);
  }
  json_object_foreach (json_object_get(state, "outcomes"), outcome, count)
    hsc_bytes_printf(&words, "%s%lld %s", words.size ? ", " : "",
                     (long long)json_integer_value(count), outcome);
  long long left = (long long)json_integer_value(json_object_get(state, "left"));
  hsc_bytes text = {0};
  hsc_bytes_printf(&text, "%s: plan %.8s, %lld %s of %s: ", sweep->folder, sweep->id,
                   (long long)sweep->count, hsc_plural((double)sweep->count, "task", "tasks"),
                   sweep->kind);
  if (left)
    hsc_bytes_printf(&text, "%lld left, about %.2g s on one processor%s%s\n", left,
                     json_number_value(json_object_get(state, "expected_s")),
                     words.size ? "; " : "", hsc_bytes_text(&words));
  else
    hsc_bytes_printf(&text, "all done: %s\n", hsc_bytes_text(&words));
  hsc_cli_paragraph(cli, "%s", hsc_bytes_text(&text));
  hsc_cli_print(cli, "next: hloscope sweep %s %s\n", left ? "run" : "merge", sweep->folder);
  hsc_bytes_deinit(&text);
  hsc_status *status = hsc_bytes_status(&words);
  hsc_bytes_deinit(&words);
  json_decref(state);
  json_decref(run);
  return status;
}

// ---- plan ---------------------------------------------------------------------------------------

static void show_planning(void *user, int64_t done, int64_t total, const char *what) {
  hsc_cli_progress_of(user, done, total, what);
}

static hsc_status *plan(const sweep_args *args, hsc_cli *cli) {
  const char *device = hsc_default_device();
  json_t *overrides = NULL;
  hsc_sweep *sweep = NULL;
  size_t more = cli->after_dashes < args->programs.count ? cli->after_dashes : args->programs.count;
  size_t count = args->programs.count - more;
  if (!args->output)
    return hsc_cli_usage(cli, "-o FOLDER says where the plan goes");
  if (!(args->limit_s > 0))
    return hsc_cli_usage(cli, "--limit must be above 0 s");
  for (size_t i = 0; i < count; i++)
    HSC_TRY(hsc_cli_program_file(cli, &args->programs.items[i]));
  hsc_status *status = NULL;
  HSC_GOTO(hsc_overrides_parse(args->settings.items, args->settings.count, &overrides));
  hsc_sweep_plan_options o = {
      .kind = args->what,
      .programs = args->programs.items,
      .program_count = count,
      .devices = args->devices.count ? args->devices.items : &device,
      .device_count = args->devices.count ? args->devices.count : 1,
      .releases = args->releases.items,
      .release_count = args->releases.count,
      .off = args->off.items,
      .off_count = args->off.count,
      .placebo_count =
          !strcmp(args->what, "compile") || !strcmp(args->what, "run") ? 0 : (int)args->placebos,
      .overrides = overrides,
      .baseline = args->baseline,
      .more = args->programs.items + count,
      .more_count = more,
      .repeats = args->repeats,
      .series = args->series,
      .seed = (uint64_t)args->seed,
      .limit_s = args->limit_s,
      .folder = args->output,
      .command = cli->command_line,
      .progress = show_planning,
      .user = cli};
  HSC_GOTO(hsc_sweep_plan(&o));
  HSC_GOTO(hsc_sweep_open(args->output, &sweep));
  status = print_state(cli, sweep, NULL);
done:
  hsc_sweep_close(sweep);
  json_decref(overrides);
  return status;
}

// ---- run ----------------------------------------------------------------------------------------

static void show_progress(void *user, int64_t done, int64_t total, double seconds_left) {
  hsc_cli *cli = user;
  if (!cli->talk_is_terminal && done % 100 != 0)
    return;
  if (seconds_left >= 0)
    hsc_cli_progress(cli, "task %lld of %lld, about %.0f s left", (long long)done, (long long)total,
                     seconds_left);
  else
    hsc_cli_progress(cli, "task %lld of %lld", (long long)done, (long long)total);
}

static void show_words(void *user, const char *text) {
  hsc_cli_say(user, "%s", text);
}

// "0,5,9-12" as numbers.
static hsc_status *read_tasks(const sweep_args *args,
                              const hsc_sweep *sweep,
                              hsc_cli *cli,
                              int64_t **out,
                              int64_t *out_count) {
  int64_t *numbers = HSC_NEW_ARRAY(cli->arena, int64_t, sweep->count + 1);
  bool *seen = HSC_NEW_ARRAY(cli->arena, bool, sweep->count + 1);
  HSC_TRY(hsc_arena_status(cli->arena));
  for (size_t i = 0; i < args->tasks.count; i++) {
    char *end = NULL;
    const char *text = args->tasks.items[i];
    long long from = strtoll(text, &end, 10);
    long long to = *end == '-' ? strtoll(end + 1, &end, 10) : from;
    if (end == text || *end || from < 0 || to < from || to >= sweep->count)
      return hsc_cli_usage(cli, "--tasks %s: numbers from 0 to %lld are needed, like 0,5,9-12",
                           text, (long long)sweep->count - 1);
    for (long long n = from; n <= to; n++) {
      if (!seen[n])
        numbers[(*out_count)++] = n;
      seen[n] = true;
    }
  }
  *out = numbers;
  return NULL;
}

static hsc_status *read_share(const sweep_args *args,
                              hsc_cli *cli,
                              int64_t *share,
                              int64_t *count) {
  char *end = NULL;
  if (!args->share)
    return NULL;
  *share = strtoll(args->share, &end, 10);
  *count = *end == '/' && end != args->share ? strtoll(end + 1, &end, 10) : 0;
  if (*end || *count < 1 || *share < 0 || *share >= *count)
    return hsc_cli_usage(cli, "--share %s: I/N is needed, I from 0 to N - 1, like 0/4",
                         args->share);
  return NULL;
}

static hsc_status *open_mpi(const hsc_transport **out_transport) {
  static const char *const none[] = {NULL};
  char problem[512] = "";
  const char *why = NULL;
  void *module =
      hsc_place_open("libhloscope_mpi.so", none, RTLD_NOW | RTLD_GLOBAL, problem, sizeof problem);
  hsc_transport_open *open = NULL;
  if (module)
    *(void **)&open = dlsym(module, HSC_TRANSPORT_SYMBOL);
  if (!open)
    return hsc_status_hint(
        HSC_ERR(UNIMPLEMENTED, "MPI is not to be had: %s",
                *problem ? problem : "this hloscope was built without it (libhloscope_mpi.so)"),
        "Debian: apt install openmpi-bin, and libopenmpi-dev to build with it; --backend local, "
        "slurm, ray and dask need no MPI");
  *out_transport = open(HSC_TRANSPORT_ABI, &why);
  return *out_transport ? NULL : HSC_ERR(UNAVAILABLE, "MPI does not start: %s", why);
}

static json_t *summary_json(const hsc_sweep_summary *s, const char *backend) {
  double share = 0;
  if (s->seconds > 0)
    share = s->busy_seconds / s->seconds / (s->slots > 0 ? s->slots : 1);
  return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:f, s:f, s:f, s:I, s:f, s:b}",
                   "backend", backend, "planned", (json_int_t)s->planned, "before",
                   (json_int_t)s->before, "done", (json_int_t)s->done, "left", (json_int_t)s->left,
                   "lost_ranks", (json_int_t)s->lost_ranks, "full_ranks", (json_int_t)s->full_ranks,
                   "slots", s->slots, "seconds", s->seconds, "busy_seconds", s->busy_seconds,
                   "efficiency", share, "messages", (json_int_t)s->messages, "message_seconds",
                   s->message_seconds, "interrupted", s->interrupted);
}

static hsc_status *run_tasks(const sweep_args *args, hsc_sweep *sweep, hsc_cli *cli) {
  const hsc_transport *transport = NULL;
  hsc_store *store = NULL;
  int64_t *only = NULL;
  hsc_sweep_run_options o = {.sweep = sweep,
                             .jobs = (int)args->jobs,
                             .results = args->results,
                             .command = cli->command_line,
                             .silence_s = args->silence_s,
                             .stop = &hsc_cli_stop,
                             .progress = show_progress,
                             .say = show_words,
                             .user = cli};
  hsc_sweep_summary s = {0};
  HSC_TRY(read_share(args, cli, &o.share, &o.share_count));
  HSC_TRY(read_tasks(args, sweep, cli, &only, &o.only_count));
  o.only = args->tasks.count ? only : NULL;
  if (args->backend == BACKEND_MPI)
    HSC_TRY(open_mpi(&transport));
  o.transport = transport;
  hsc_cli_catch_interrupt();
  hsc_status *status = NULL;
  if (args->store && (!transport || transport->rank == 0))
    HSC_GOTO(hsc_store_open(args->store, &store));
  o.store = store;
  HSC_GOTO(hsc_sweep_run(&o, &s));
  if (transport && transport->rank != 0)
    goto done;
  HSC_GOTO(print_state(cli, sweep, summary_json(&s, backends[args->backend])));
  cli->exit_code = s.interrupted || s.left > 0;
  if (s.interrupted)
    hsc_cli_say(cli, "interrupted; the same command goes on with it");
done:
  hsc_store_close(store);
  return status;
}

// Starts a program of others, shows what it says, and takes its exit code.
static hsc_status *run_other(hsc_cli *cli, const char *const *argv, const char *missing) {
  hsc_child *child = NULL;
  hsc_child_exit ended = {0};
  hsc_status *status = NULL;
  static const char *const environment[] = {HSC_PYTHON_ENVIRONMENT, NULL};
  status = hsc_child_start(
      &(hsc_child_options){.argv = argv, .extra_env = environment, .echo_stderr = true}, &child);
  if (status)
    return hsc_status_hint(status, "%s", missing);
  while (!status && !ended.exited) {
    status = hsc_child_wait(child, 200000000, &ended);
    if (hsc_cli_stop)
      hsc_child_kill(child);
  }
  if (!status && (ended.exit_code != 0 || ended.signal))
    status = hsc_status_hint(
        HSC_ERR(UNAVAILABLE, "%s ended with %s %d", argv[0], ended.signal ? "signal" : "exit code",
                ended.signal ? ended.signal : ended.exit_code),
        "%s", missing);
  hsc_child_destroy(child);
  return status;
}

static hsc_status *python_dir(hsc_cli *cli, const char **out) {
  return hsc_python_package_dir(cli->arena, out);
}

// ray and dask: python/hloscope/sweep_<backend>.py starts `hloscope sweep run --tasks` where they
// say.
static hsc_status *run_python(const sweep_args *args, hsc_sweep *sweep, hsc_cli *cli) {
  const char *executable;
  const char *package;
  const char *python = getenv("HLOSCOPE_PYTHON");
  const char *name = backends[args->backend];
  HSC_TRY(own_path(cli, &executable));
  HSC_TRY(python_dir(cli, &package));
  const char *script = hsc_arena_printf(cli->arena, "%s/hloscope/sweep_%s.py", package, name);
  const char *jobs = hsc_arena_printf(cli->arena, "%lld", (long long)args->jobs);
  const char *missing =
      hsc_arena_printf(cli->arena, "pip install %s, or HLOSCOPE_PYTHON names a Python that has it",
                       args->backend == BACKEND_RAY ? "ray" : "dask distributed");
  HSC_TRY(hsc_arena_status(cli->arena));
  const char *const argv[] = {python && *python ? python : "python3",
                              script,
                              sweep->folder,
                              "--hloscope",
                              executable,
                              "--jobs",
                              jobs,
                              NULL};
  hsc_cli_catch_interrupt();
  return run_other(cli, argv, missing);
}

static hsc_status *write_script(const sweep_args *args,
                                const hsc_sweep *sweep,
                                hsc_cli *cli,
                                hsc_bytes *out) {
  const char *executable;
  char folder[4200];
  HSC_TRY(own_path(cli, &executable));
  if (!realpath(sweep->folder, folder))
    return HSC_ERR(NOT_FOUND, "%s: no such folder", sweep->folder);
  hsc_sweep_script_options o = {.sweep = sweep,
                                .folder = folder,
                                .shares = args->shares < sweep->count ? args->shares : sweep->count,
                                .jobs = (int)args->jobs,
                                .program = args->program ? args->program : executable,
                                .image = args->image,
                                .volume = args->volume};
  if (o.shares < 1)
    o.shares = 1;
  return args->backend == BACKEND_KUBERNETES ? hsc_sweep_kubernetes_manifest(&o, out)
                                             : hsc_sweep_slurm_script(&o, out);
}

// Submits and waits: sbatch --wait ends when the last job of the array does.
static hsc_status *run_slurm(const sweep_args *args, hsc_sweep *sweep, hsc_cli *cli) {
  hsc_bytes text = {0};
  const char *path = hsc_arena_printf(cli->arena, "%s/slurm.sh", sweep->folder);
  const char *const argv[] = {"sbatch", "--wait", path, NULL};
  HSC_TRY(hsc_arena_status(cli->arena));
  hsc_status *status = write_script(args, sweep, cli, &text);
  if (!status)
    status = hsc_file_write_atomic(path, text.data, text.size);
  hsc_bytes_deinit(&text);
  hsc_cli_catch_interrupt();
  return status ? status
                : run_other(cli, argv,
                            "Debian: apt install slurm-wlm; hloscope sweep script PLAN --backend "
                            "slurm prints what would be submitted");
}

static hsc_status *run_sweep(const sweep_args *args, hsc_sweep *sweep, hsc_cli *cli) {
  hsc_status *status = NULL;
  switch (args->backend) {
    case BACKEND_LOCAL:
    case BACKEND_MPI:
      return run_tasks(args, sweep, cli);
    case BACKEND_SLURM:
      status = run_slurm(args, sweep, cli);
      break;
    case BACKEND_RAY:
    case BACKEND_DASK:
      status = run_python(args, sweep, cli);
      break;
    default:
      return hsc_cli_usage(cli,
                           "hloscope sweep script %s --backend kubernetes prints the manifest for "
                           "kubectl apply",
                           sweep->folder);
  }
  return status ? status : print_state(cli, sweep, NULL);
}

// ---- merge, script ------------------------------------------------------------------------------

static hsc_status *merge(const sweep_args *args, hsc_sweep *sweep, hsc_cli *cli) {
  hsc_sweep_results results;
  hsc_table *table = NULL;
  hsc_bytes text = {0};
  HSC_TRY(hsc_sweep_results_read(sweep, &results));
  long long left = (long long)(sweep->count - results.done);
  unsigned columns =
      (args->times ? HSC_SWEEP_TIMES : 0) | (cli->format == HSC_FORMAT_TEXT ? HSC_SWEEP_LEAN : 0);
  hsc_status *status = args->effects ? hsc_sweep_effects(sweep, &results, &table)
                                     : hsc_sweep_table(sweep, &results, columns, &table);
  hsc_sweep_results_deinit(sweep, &results);
  HSC_TRY(status);
  if (left)
    hsc_table_note(table, "%lld of %lld tasks have no result yet", left, (long long)sweep->count);
  cli->exit_code = left > 0;
  if (!args->output && cli->format == HSC_FORMAT_TEXT && !args->all && !args->effects) {
    status = hsc_cli_sweep_short(table, FIRST_ROWS, cli);
    hsc_table_destroy(table);
    return status;
  }
  if (!args->output)
    return hsc_cli_table(cli, table);
  status = hsc_table_print(table, cli->format, NULL, &text);
  if (!status)
    status = hsc_cli_write_to(cli, args->output, &text);
  hsc_bytes_deinit(&text);
  hsc_table_destroy(table);
  return status;
}

static hsc_status *script(const sweep_args *args, hsc_sweep *sweep, hsc_cli *cli) {
  hsc_bytes text = {0};
  if (args->backend != BACKEND_SLURM && args->backend != BACKEND_KUBERNETES)
    return hsc_cli_usage(cli, "script needs --backend slurm or --backend kubernetes");
  hsc_status *status = write_script(args, sweep, cli, &text);
  if (!status)
    status = hsc_cli_write_to(cli, args->output, &text);
  hsc_bytes_deinit(&text);
  return status;
}

// ---- clocks -------------------------------------------------------------------------------------

static hsc_status *clocks_table(const hsc_host_clocks *clocks, const char *path, hsc_table **out) {
  const char *reference = clocks->rows[0].host;
  HSC_TRY(hsc_table_create("clocks", out));
  hsc_table_column(*out, "host", "");
  hsc_table_column(*out, "ahead", "s");
  hsc_table_column(*out, "error", "s");
  for (size_t i = 0; i < clocks->count; i++) {
    hsc_table_row(*out);
    hsc_table_text(*out, clocks->rows[i].host);
    hsc_table_double(*out, (double)clocks->rows[i].offset_ns * 1e-9);
    hsc_table_double(*out, (double)clocks->rows[i].error_ns * 1e-9);
  }
  if (clocks->count == 1)
    hsc_table_note(*out, "every rank is on %s: one clock, nothing to measure", reference);
  hsc_table_note(*out, "ahead of %s; added to %s", reference, path);
  return NULL;
}

// "host-b's clock is furthest off: 3.50 s ahead of host-a's, give or take 1.54 µs."
static void say_worst(const hsc_host_clocks *clocks, hsc_cli *cli) {
  const hsc_host_clock *worst = &clocks->rows[1];
  char offset[32];
  char error[32];
  for (size_t i = 2; i < clocks->count; i++)
    if (llabs((long long)clocks->rows[i].offset_ns) > llabs((long long)worst->offset_ns))
      worst = &clocks->rows[i];
  if (llabs((long long)worst->offset_ns) <= worst->error_ns) {
    hsc_cli_paragraph(cli, "No clock is off by more than the error of its measurement.\n\n");
    return;
  }
  bool unicode = cli->out_style.unicode;
  hsc_format_quantity(fabs((double)worst->offset_ns) * 1e-9, "s", unicode, offset);
  hsc_format_quantity((double)worst->error_ns * 1e-9, "s", unicode, error);
  hsc_cli_paragraph(cli, "%s's clock is furthest off: %s %s %s's, give or take %s.\n\n",
                    worst->host, offset, worst->offset_ns < 0 ? "behind" : "ahead of",
                    clocks->rows[0].host, error);
}

static hsc_status *measure_clocks(const sweep_args *args, hsc_cli *cli) {
  const hsc_transport *transport = NULL;
  hsc_host_clocks clocks = {0};
  hsc_table *table = NULL;
  HSC_TRY(open_mpi(&transport));
  hsc_status *status = hsc_sweep_clocks(transport, args->silence_s, cli->arena, &clocks);
  if (!status && clocks.count)
    status = hsc_host_clocks_append(args->what, clocks.rows[0].host, clocks.rows, clocks.count);
  if (!status && clocks.count)
    status = clocks_table(&clocks, args->what, &table);
  transport->finish(transport->user, !status);
  HSC_TRY(status);
  if (clocks.count > 1 && cli->format == HSC_FORMAT_TEXT)
    say_worst(&clocks, cli);
  return table ? hsc_cli_table(cli, table) : NULL;
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const sweep_args *args = args_of_command;
  hsc_sweep *sweep = NULL;
  hsc_status *status = NULL;
  bool tables = args->verb == VERB_MERGE || args->verb == VERB_CLOCKS;
  if (!tables && cli->format != HSC_FORMAT_TEXT && cli->format != HSC_FORMAT_JSON)
    return hsc_cli_usage(cli, "sweep %s prints text or json", verbs[args->verb]);
  if (args->verb == VERB_PLAN)
    return plan(args, cli);
  if (args->programs.count)
    return hsc_cli_usage(cli, "sweep %s takes one %s and nothing after it", verbs[args->verb],
                         args->verb == VERB_CLOCKS ? "file" : "plan");
  if (args->verb == VERB_CLOCKS)
    return measure_clocks(args, cli);
  HSC_TRY(hsc_sweep_open(args->what, &sweep));
  if (args->verb == VERB_RUN)
    status = run_sweep(args, sweep, cli);
  else if (args->verb == VERB_MERGE)
    status = merge(args, sweep, cli);
  else if (args->verb == VERB_SCRIPT)
    status = script(args, sweep, cli);
  else
    status = print_state(cli, sweep, NULL);
  hsc_sweep_close(sweep);
  return status;
}

const hsc_command_body hsc_command_sweep = {
    .options = options,
    .args_bytes = sizeof(sweep_args),
    .run = run,
    .description =
        "Many independent compiles, runs or experiments: written down once as a folder, done by "
        "any "
        "number of processes on any number of machines, merged into one table.\n"
        "Every task is done in a process that may die. A run that was killed is gone on with by "
        "the "
        "same command, by another backend or on another machine; only tasks that were running are "
        "done again. Exit code 1 of run and merge: tasks are left.",
    .examples =
        "hloscope sweep plan ablate models/*.hlo.gz --device cpu,xla-cpu -o plan\n"
        "hloscope sweep run plan --jobs 4\n"
        "mpirun --enable-recovery -n 64 hloscope sweep run plan --backend mpi\n"
        "hloscope sweep merge plan --format=parquet -o ablation.parquet\n"
        "mpirun -n 64 hloscope sweep clocks run.hsc/clocks.tsv",
};
