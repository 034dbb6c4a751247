// Every check of `doctor` that reads the machine, against a fake /dev, /proc and /sys that is made
// for the case: what it must see, say and advise.
#include "base/files/file_io.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/doctor.h"

typedef struct machine {
  const char *check;
  // "path=content"; a path that ends with '/' is a directory; "path->target" is a link
  const char *files[12];
  hsc_verdict verdict;
  const char *evidence, *fix;  // a piece of each; NULL = whatever
} machine;

#define PCI(card, vendor, kind) \
  "sys/bus/pci/devices/" card "/vendor=" vendor, "sys/bus/pci/devices/" card "/class=" kind
#define NEURON_CARD \
  PCI("0000:00:1e.0", "0x1d0f", "0x0c8000"), "sys/bus/pci/devices/0000:00:1e.0/device=0x7164"
#define LIMITS(locked, files) \
  "proc/self/limits=Limit                     Soft Limit           Hard Limit           Units    " \
  " \n" \
  "Max locked memory         " locked \
  "                unlimited            bytes     \n" \
  "Max open files            " files "                1048576              files     \n"
#define ENVIRONMENT(text) "proc/self/environ=" text
#define NONE HSC_VERDICT_NOT_APPLICABLE
#define OK HSC_VERDICT_OK
#define WARN HSC_VERDICT_WARNING
#define BAD HSC_VERDICT_ERROR

static const machine machines[] = {
    {"cores",
     {"sys/devices/system/cpu/online=0-15", "proc/self/status=Cpus_allowed_list:\t0-3,8\n"},
     OK,
     "16 online, 5 allowed",
     NULL},
    {"cores",
     {"sys/devices/system/cpu/online=0-15", "sys/fs/cgroup/cpu.max=150000 100000"},
     WARN,
     "allows the time of 1.5",
     "OMP_NUM_THREADS"},
    {"cores", {"sys/devices/system/cpu/online=0"}, WARN, "only one core", "taskset"},
    {"governor",
     {"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor=powersave",
      "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor=performance"},
     WARN,
     "1 of 2 cores save power",
     "cpupower frequency-set"},
    {"governor",
     {"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor=performance"},
     OK,
     "0 of 1 cores save power",
     NULL},
    {"memory",
     {"proc/meminfo=MemTotal: 32000000 kB\nMemAvailable: 30000000 kB\nSwapTotal: 0 kB\n"},
     OK,
     "28.6 GiB of 30.5 GiB",
     NULL},
    {"memory",
     {"proc/meminfo=MemTotal: 32000000 kB\nMemAvailable: 30000000 kB\nSwapTotal: 0 kB\n",
      "sys/fs/cgroup/memory.max=1073741824", "sys/fs/cgroup/memory.current=1000000000"},
     BAD,
     "the control group allows 1.0 GiB",
     "no swap"},
    {"huge-pages",
     {"sys/kernel/mm/transparent_hugepage/enabled=always madvise [never]"},
     WARN,
     "never",
     "madvise"},
    {"huge-pages",
     {"sys/kernel/mm/transparent_hugepage/enabled=always [madvise] never"},
     OK,
     "madvise",
     NULL},

    {"limits", {LIMITS("65536", "256")}, WARN, "open files 256", "ulimit -n"},
    {"limits",
     {LIMITS("65536", "65536"), "sys/class/infiniband/efa_0/"},
     WARN,
     "locked memory",
     "ulimit -l unlimited"},
    {"clock",
     {"sys/devices/system/clocksource/clocksource0/current_clocksource=hpet"},
     WARN,
     "hpet",
     "tsc"},
    {"clock",
     {"sys/devices/system/clocksource/clocksource0/current_clocksource=tsc"},
     OK,
     "tsc",
     NULL},
    {"load",
     {"proc/loadavg=9.50 8.00 7.00 3/500 1", "sys/devices/system/cpu/online=0-3"},
     WARN,
     "load 9.50 on 4 cores",
     "idle"},
    {"platform",
     {"sys/devices/virtual/dmi/id/sys_vendor=Amazon EC2",
      "sys/devices/virtual/dmi/id/product_name=trn1.32xlarge", "proc/sys/kernel/arch=x86_64",
      "opt/aws_neuronx_venv_pytorch_2_7/bin/activate="},
     OK,
     "platform target trn1; a Deep Learning AMI with Neuron (/opt/aws_neuronx_venv_pytorch_2_7)",
     NULL},
    {"platform",
     {"sys/devices/virtual/dmi/id/sys_vendor=Amazon EC2",
      "sys/devices/virtual/dmi/id/product_name=trn1.32xlarge", "proc/sys/kernel/arch=x86_64"},
     WARN,
     "not a Deep Learning AMI with Neuron",
     "aws ssm get-parameter --name /aws/service/neuron/dlami/"},
    {"platform",
     {"sys/devices/virtual/dmi/id/sys_vendor=Amazon EC2",
      "sys/devices/virtual/dmi/id/product_name=trn1.2xlarge", "proc/sys/kernel/arch=aarch64"},
     BAD,
     "x86_64, not aarch64",
     NULL},
    {"platform",
     {"sys/devices/virtual/dmi/id/sys_vendor=Amazon EC2",
      "sys/devices/virtual/dmi/id/product_name=trn2.48xlarge", "proc/sys/kernel/arch=x86_64",
      ENVIRONMENT("NEURON_PLATFORM_TARGET_OVERRIDE=trn1")},
     WARN,
     "compiled for trn1",
     NULL},
    {"neuron-device",
     {NEURON_CARD, "sys/module/neuron/version=2.21.37.0", "dev/neuron0="},
     OK,
     "driver 2.21.37.0",
     NULL},
    {"neuron-device",
     {NEURON_CARD},
     BAD,
     "the kernel module neuron is not loaded",
     "aws-neuronx-dkms"},
    {"neuron-device",
     {NEURON_CARD, "sys/module/neuron/version=2.21.37.0"},
     BAD,
     "no /dev/neuron*",
     "--device=/dev/neuron0"},
    {"neuron-device", {"dev/null="}, NONE, NULL, NULL},
    {"nvidia-device",
     {PCI("0000:01:00.0", "0x10de", "0x030000"), "sys/module/nvidia/version=570.86.10",
      "dev/nvidia0=", "dev/nvidiactl=", "dev/nvidia-uvm="},
     OK,
     "1 device node",
     NULL},
    {"nvidia-device",
     {PCI("0000:01:00.0", "0x10de", "0x030000")},
     BAD,
     "the kernel module nvidia is not loaded",
     "nouveau"},
    {"nvidia-device",
     {PCI("0000:01:00.0", "0x10de", "0x030000"), "sys/module/nvidia/version=570.86.10",
      "dev/nvidia0=", "dev/nvidiactl="},
     WARN,
     "/dev/nvidia-uvm is missing",
     "nvidia-modprobe -u"},
    {"nvidia-device",
     {PCI("0000:01:00.0", "0x10de", "0x030000"), "sys/module/nvidia/version=570.86.10"},
     BAD,
     "device nodes are missing",
     "--gpus=all"},
    {"nvidia-device",
     {PCI("0000:01:00.0", "0x10de", "0x030000"), "sys/module/nvidia/version=470.57.02",
      "dev/nvidia0=", "dev/nvidiactl=", "dev/nvidia-uvm="},
     WARN,
     "older than CUDA 12 needs",
     "update"},
    {"nvidia-device", {PCI("0000:01:00.0", "0x10de", "0x040300")}, NONE, NULL, NULL},  // its sound
    {"tpu-device",
     {PCI("0000:00:04.0", "0x1ae0", "0x120000"), "dev/accel0="},
     OK,
     "1 Google card",
     NULL},
    {"tpu-device",
     {PCI("0000:00:04.0", "0x1ae0", "0x120000"), "dev/vfio/vfio=", "dev/vfio/0="},
     OK,
     "2 /dev/vfio groups",
     NULL},
    {"tpu-device",
     {PCI("0000:00:04.0", "0x1ae0", "0x120000")},
     BAD,
     "no device node",
     "--privileged"},
    {"amd-device",
     {PCI("0000:03:00.0", "0x1002", "0x030000"), "sys/module/amdgpu/"},
     WARN,
     "/dev/kfd is missing",
     "--device=/dev/kfd"},
    {"amd-device",
     {PCI("0000:03:00.0", "0x1002", "0x120000"), "sys/module/amdgpu/", "dev/kfd="},
     OK,
     "driver amdgpu",
     NULL},
    {"device-holders",
     {"dev/neuron0=", "proc/4242/comm=python3", "proc/4242/fd/7->/dev/neuron0"},
     WARN,
     "/dev/neuron0 is held by 4242 (python3)",
     NULL},
    {"device-holders",
     {"dev/neuron0=", "proc/4242/comm=python3", "proc/4242/fd/7->/dev/null"},
     OK,
     "no process",
     NULL},
    {"network", {"sys/class/infiniband/efa_0/"}, OK, "1 fast network card (efa_0)", NULL},
    {"network",
     {PCI("0000:00:05.0", "0x1d0f", "0x020000"), "sys/bus/pci/devices/0000:00:05.0/device=0xefa1"},
     BAD,
     "but no driver",
     NULL},
    {"network",
     {ENVIRONMENT("FI_PROVIDER=efa")},
     BAD,
     "FI_PROVIDER=efa, but there is no EFA",
     NULL},
    {"variables", {ENVIRONMENT("JAX_PLATFORM=cpu")}, WARN, "did you mean JAX_PLATFORMS", NULL},
    {"variables",
     {ENVIRONMENT("JAX_PLATFORMS=cuda\nCUDA_VISIBLE_DEVICES=")},
     BAD,
     "CUDA_VISIBLE_DEVICES is empty",
     "unset"},
    {"variables",
     {ENVIRONMENT("PJRT_DEVICE=NEURN")},
     BAD,
     "did you mean NEURON",
     "PJRT_DEVICE=NEURON"},
    {"variables",
     {ENVIRONMENT("XLA_PYTHON_CLIENT_MEM_FRACTION=75")},
     BAD,
     "no share between 0 and 1",
     ".75"},
    {"variables",
     {ENVIRONMENT("NEURON_RT_VISIBLE_CORES=0-1\nNEURON_RT_NUM_CORES=2")},
     WARN,
     "the first wins",
     NULL},
    {"xla-flags",
     {ENVIRONMENT("XLA_FLAGS=flags.txt")},
     BAD,
     "taken as the name of a file",
     "flags begin with --"},
    {"xla-flags",
     {ENVIRONMENT("XLA_FLAGS=--xla_cpu_ok xla_gpu_bad=1")},
     BAD,
     "does not begin with --",
     "write --"},
    {"jax-cache",
     {ENVIRONMENT("JAX_COMPILATION_CACHE_DIR=/cache"), "cache/jit_f-0123-cache=x"},
     OK,
     "in 1 file",
     NULL},
    {"jax-cache",
     {ENVIRONMENT("JAX_COMPILATION_CACHE_DIR=/nowhere")},
     WARN,
     "is not there yet",
     "writable"},
    {"jax-cache",
     {ENVIRONMENT("JAX_COMPILATION_CACHE_DIR=gs://bucket/cache")},
     OK,
     "object store",
     NULL},
    {"neuron-cache",
     {"var/tmp/neuron-compile-cache/neuronxcc-2.21.1/MODULE_1+a/model.done=",
      "var/tmp/neuron-compile-cache/neuronxcc-2.21.1/MODULE_1+a/model.log=failed"},
     WARN,
     "remembered failure",
     "--retry_failed_compilation"},
    {"hloscope-cache",
     {ENVIRONMENT("HOME=/root"), "root/.cache/hloscope/executables/x=12"},
     OK,
     "hloscope's cache",
     NULL},
    {"hloscope-cache", {"dev/null="}, WARN, "no home directory", "HLOSCOPE_CACHE_DIR"},
};

static void make_file(const char *root, const char *text) {
  char path[600], parent[600], *slash;
  const char *link_to = strstr(text, "->");
  const char *content = strchr(text, '=');
  size_t name;
  if (link_to)
    name = (size_t)(link_to - text);
  else if (content)
    name = (size_t)(content - text);
  else
    name = strlen(text);
  snprintf(path, sizeof path, "%s/%.*s", root, (int)name, text);
  snprintf(parent, sizeof parent, "%s", path);
  slash = strrchr(parent, '/');
  *slash = 0;
  EXPECT_OK(hsc_dir_make(parent));
  if (link_to) {
    assert_int_equal(symlink(link_to + 2, path), 0);
  } else if (content) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content + 1, file);
    fclose(file);
  }
}

static void each_check_sees_what_is_there(void **state) {
  int wrong = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(machines); i++) {
    const machine *m = &machines[i];
    char root[] = "/tmp/hsc-doctor-XXXXXX";
    char command[100];
    hsc_check_result result;
    size_t check = 0;
    assert_non_null(mkdtemp(root));
    for (size_t f = 0; f < HSC_COUNT_OF(m->files) && m->files[f]; f++)
      make_file(root, m->files[f]);
    while (check < hsc_check_count() && strcmp(hsc_check_at(check)->id, m->check) != 0)
      check++;
    assert_true(check < hsc_check_count());
    EXPECT_OK(hsc_check_run(check, &(hsc_check_options){.root = root}, &result));
    if (result.verdict != m->verdict || (m->evidence && !strstr(result.evidence, m->evidence)) ||
        (m->fix && !strstr(result.fix, m->fix))) {
      print_error("case %zu, %s: %s (%s): %s -> %s\n", i, m->check,
                  hsc_verdict_name(result.verdict), hsc_verdict_name(m->verdict), result.evidence,
                  result.fix);
      wrong++;
    }
    if ((result.verdict == WARN || result.verdict == BAD) && !*result.fix) {
      print_error("case %zu, %s: no advice\n", i, m->check);
      wrong++;
    }
    hsc_check_result_deinit(&result);
    snprintf(command, sizeof command, "rm -rf %s", root);
    assert_int_equal(system(command), 0);
  }
  assert_int_equal(wrong, 0);
}

// Checks that a fake tree can tell nothing of have a reason here.
static void no_check_is_left_out(void **state) {
  // golden cases with Python environments
  static const char *const elsewhere[] = {"shared-memory", "disk",  // sizes of real file systems
                                          "frameworks",    "plugins", "sync-api", "late-settings"};
  for (size_t c = 0; c < hsc_check_count(); c++) {
    bool found = false;
    for (size_t i = 0; i < HSC_COUNT_OF(machines); i++)
      found |= !strcmp(machines[i].check, hsc_check_at(c)->id);
    for (size_t i = 0; i < HSC_COUNT_OF(elsewhere); i++)
      found |= !strcmp(elsewhere[i], hsc_check_at(c)->id);
    if (!found)
      fail_msg("no case for the check %s", hsc_check_at(c)->id);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_check_sees_what_is_there),
      cmocka_unit_test(no_check_is_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
