// sweep_scripts.c - an array job of Slurm, an Indexed Job of Kubernetes.
#include "lab/sweep/sweep_scripts.h"

#include <math.h>

// In single quotes, as sh and YAML's flow in block text take it.
static void put_word(const char *word, hsc_bytes *out) {
  hsc_bytes_append_char(out, '\'');
  for (; *word; word++)
    if (*word == '\'')
      hsc_bytes_append_text(out, "'\\''");
    else
      hsc_bytes_append_char(out, *word);
  hsc_bytes_append_char(out, '\'');
}

// Minutes that the largest share may take: twice what is expected, an hour at least.
static int64_t minutes(const hsc_sweep_script_options *o) {
  double total_s = 0;
  for (int64_t i = 0; i < o->sweep->count; i++)
    total_s += o->sweep->tasks[i].cost_s;
  double share_s = total_s / (double)o->shares / (o->jobs < 1 ? 1 : o->jobs);
  return 60 + (int64_t)ceil(share_s / 30);
}

hsc_status *hsc_sweep_slurm_script(const hsc_sweep_script_options *o, hsc_bytes *out) {
  hsc_bytes_printf(
      out,
      "#!/bin/sh\n"
      "# hloscope sweep, plan %.8s: %lld tasks in %lld shares. A share that was cut off "
      "is submitted again:\n"
      "# what is in results/ is not done twice. sbatch --array=3,7 picks shares.\n"
      "#SBATCH --job-name=hloscope-%.8s\n"
      "#SBATCH --array=0-%lld\n"
      "#SBATCH --ntasks=1\n"
      "#SBATCH --cpus-per-task=%d\n"
      "#SBATCH --time=%lld\n"
      "#SBATCH --requeue\n"
      "#SBATCH --output=/dev/null\n"
      "set -eu\nexec ",
      o->sweep->id, (long long)o->sweep->count, (long long)o->shares, o->sweep->id,
      (long long)o->shares - 1, o->jobs < 1 ? 1 : o->jobs, (long long)minutes(o));
  put_word(o->program, out);
  hsc_bytes_append_text(out, " sweep run ");
  put_word(o->folder, out);
  hsc_bytes_printf(out, " --quiet --jobs %d --share \"$SLURM_ARRAY_TASK_ID/%lld\"\n",
                   o->jobs < 1 ? 1 : o->jobs, (long long)o->shares);
  return hsc_bytes_status(out);
}

// A JSON string is a YAML scalar.
static void put_scalar(const char *text, hsc_bytes *out) {
  hsc_bytes_append_char(out, '"');
  for (; *text; text++)
    if (*text == '"' || *text == '\\')
      hsc_bytes_printf(out, "\\%c", *text);
    else if ((unsigned char)*text < ' ')
      hsc_bytes_printf(out, "\\u%04x", (unsigned)(unsigned char)*text);
    else
      hsc_bytes_append_char(out, *text);
  hsc_bytes_append_char(out, '"');
}

hsc_status *hsc_sweep_kubernetes_manifest(const hsc_sweep_script_options *o, hsc_bytes *out) {
  int jobs = o->jobs < 1 ? 1 : o->jobs;
  hsc_bytes command = {0};
  hsc_bytes_append_text(&command, "exec ");
  put_word(o->program, &command);
  hsc_bytes_append_text(&command, " sweep run ");
  put_word(o->folder, &command);
  hsc_bytes_printf(&command, " --quiet --jobs %d --share \"$JOB_COMPLETION_INDEX/%lld\"", jobs,
                   (long long)o->shares);
  hsc_bytes_printf(out,
                   "# hloscope sweep, plan %.8s: %lld tasks in %lld shares. A pod that is lost is "
                   "started again and does what is left of its share.\n"
                   "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: hloscope-%.8s\nspec:\n"
                   "  completionMode: Indexed\n  completions: %lld\n  parallelism: %lld\n"
                   "  backoffLimit: %lld\n  template:\n    spec:\n      restartPolicy: OnFailure\n"
                   "      containers:\n        - name: hloscope\n          image: ",
                   o->sweep->id, (long long)o->sweep->count, (long long)o->shares, o->sweep->id,
                   (long long)o->shares, (long long)o->shares, (long long)(6 + o->shares));
  put_scalar(o->image, out);
  hsc_bytes_append_text(out, "\n          command: [\"/bin/sh\", \"-c\", ");
  put_scalar(hsc_bytes_text(&command), out);
  hsc_bytes_printf(out,
                   "]\n          resources:\n            requests:\n              cpu: \"%d\"\n"
                   "          volumeMounts:\n            - name: plan\n              mountPath: ",
                   jobs);
  put_scalar(o->folder, out);
  hsc_bytes_append_text(out,
                        "\n      volumes:\n        - name: plan\n          persistentVolumeClaim:\n"
                        "            claimName: ");
  put_scalar(o->volume, out);
  hsc_bytes_append_char(out, '\n');
  hsc_status *status = hsc_bytes_status(&command);
  hsc_bytes_deinit(&command);
  return status ? status : hsc_bytes_status(out);
}
